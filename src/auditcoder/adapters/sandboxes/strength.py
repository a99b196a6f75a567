"""How strong a sandbox is, and which may be used after saying what."""

import platform
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path

from auditcoder.adapters.sandboxes.local import LAYERS, LocalSandbox
from auditcoder.domain.errors import SandboxError


class Strength(Enum):
    """What a candidate is kept from."""

    FULL = "full"
    """Every wall stands, each behind another."""
    PARTIAL = "partial"
    """No network, no other process, no file of yours; but fewer walls, one behind the other."""
    BARE = "bare"
    """Only limits on time, memory and size. Generated code could read and send your files."""


_ALL = {"user", "pid", "ipc", "net", "mount", "landlock", "seccomp"}


def strength_of(kind: str) -> Strength:
    """Judge a sandbox by the walls that its kind names."""
    walls = set(kind.split("+"))
    if walls >= _ALL:
        return Strength.FULL
    if "seccomp" in walls and walls & {"mount", "landlock"}:
        return Strength.PARTIAL
    return Strength.BARE


def open_sandbox(
    packages: Iterable[str] = (),
    *,
    layers: Iterable[str] = LAYERS,
    accept_bare: bool = False,
    say: Callable[[str], None],
) -> LocalSandbox:
    """Open the strongest sandbox that this machine offers, and say so if it is a weaker one.

    One without walls is used only where `accept_bare` says that somebody decided it.
    """
    if platform.system() != "Linux":
        raise SandboxError(
            "sandbox.platform",
            f"programs are sandboxed with the means of Linux, and this is {platform.system()}",
            "run auditcoder on Linux: a container, a virtual machine, or WSL 2 on Windows",
        )
    sandbox = LocalSandbox(packages, layers)
    strength = strength_of(sandbox.kind)
    lacks = "; ".join(f"{wall}: {why}" for wall, why in sandbox.missing.items())
    if strength is Strength.BARE and not accept_bare:
        sandbox.close()
        raise SandboxError(
            "sandbox.bare",
            f"this machine offers no walls around generated code ({lacks})",
            "`auditcoder doctor` says how to get them; AUDITCODER_SANDBOX=bare accepts the risk",
        )
    if strength is not Strength.FULL:
        say(f"a weaker sandbox is used: {sandbox.kind} ({lacks}); see `auditcoder doctor`")
    return sandbox


def remedies() -> list[str]:
    """Say what keeps this machine from offering user namespaces, and what would help."""
    found = []
    for path, blocked, remedy in (
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            (
                "AppArmor keeps users from making namespaces:"
                " `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` allows it"
            ),
        ),
        (
            "kernel/unprivileged_userns_clone",
            "0",
            (
                "only root may make namespaces:"
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
        setting = Path("/proc/sys", path)
        if setting.exists() and setting.read_text().strip() == blocked:
            found.append(remedy)
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        found.append(
            "this is a container, whose own filter forbids namespaces:"
            " start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
        )
    return found
