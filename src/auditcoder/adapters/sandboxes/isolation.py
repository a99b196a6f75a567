"""Rates how strongly a sandbox isolates, and opens one that is strong enough."""

import platform
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path

from auditcoder.adapters.sandboxes.forkserver import LAYERS, LocalSandbox
from auditcoder.domain.errors import SandboxError


class Strength(Enum):
    """How strongly a sandbox isolates a candidate."""

    FULL = "full"
    """All isolation layers, so that another one still holds if one fails."""
    PARTIAL = "partial"
    """No network, no other processes, no files of the user; but fewer layers."""
    BARE = "bare"
    """Only limits on time, memory and size: generated code could read and send files."""


_ALL = {"user", "pid", "ipc", "net", "mount", "landlock", "seccomp"}


def strength_of(kind: str) -> Strength:
    """Return the strength of a sandbox from the layers that its kind names."""
    layers = set(kind.split("+"))
    if layers >= _ALL:
        return Strength.FULL
    if "seccomp" in layers and layers & {"mount", "landlock"}:
        return Strength.PARTIAL
    return Strength.BARE


def open_sandbox(
    packages: Iterable[str] = (),
    *,
    layers: Iterable[str] = LAYERS,
    accept_bare: bool = False,
    say: Callable[[str], None],
) -> LocalSandbox:
    """Open the strongest sandbox that this machine offers; warn by `say` if it is not full.

    A sandbox with resource limits only is refused unless `accept_bare` is set.
    """
    if platform.system() != "Linux":
        raise SandboxError(
            "sandbox.platform",
            f"the sandbox needs Linux, and this system is {platform.system()}",
            "run auditcoder on Linux: a container, a virtual machine, or WSL 2 on Windows",
        )
    sandbox = LocalSandbox(packages, layers)
    strength = strength_of(sandbox.kind)
    lacks = "; ".join(f"{layer}: {why}" for layer, why in sandbox.missing.items())
    if strength is Strength.BARE and not accept_bare:
        sandbox.close()
        raise SandboxError(
            "sandbox.bare",
            f"this machine offers no isolation for generated code ({lacks})",
            "`auditcoder doctor` shows how to enable it; AUDITCODER_SANDBOX=bare accepts the risk",
        )
    if strength is not Strength.FULL:
        say(f"a weaker sandbox is used: {sandbox.kind} ({lacks}); see `auditcoder doctor`")
    return sandbox


def remedies(root: Path = Path("/")) -> list[str]:
    """Return the settings of a machine that prevent user namespaces, with their remedies."""
    hints = []
    for path, blocked, remedy in (
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            (
                "AppArmor forbids user namespaces:"
                " `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` allows it"
            ),
        ),
        (
            "kernel/unprivileged_userns_clone",
            "0",
            (
                "only root may create namespaces:"
                " `sudo sysctl -w kernel.unprivileged_userns_clone=1` allows it"
            ),
        ),
        (
            "user/max_user_namespaces",
            "0",
            (
                "user namespaces are switched off:"
                " `sudo sysctl -w user.max_user_namespaces=10000` switches them on"
            ),
        ),
    ):
        setting = root / "proc/sys" / path
        if setting.exists() and setting.read_text().strip() == blocked:
            hints.append(remedy)
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        hints.append(
            "this is a container, whose own filter forbids namespaces:"
            " start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
        )
    return hints
