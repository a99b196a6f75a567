"""Isolation: the strength of a sandbox, and which sandbox is opened on a machine."""

import platform
import subprocess
import sys

import pytest

from auditcoder.adapters.sandboxes.isolation import (
    Strength,
    open_sandbox,
    remedies,
    strength_of,
)
from auditcoder.domain.errors import SandboxError

FULL = "user+pid+ipc+net+uts+mount+landlock+seccomp+rlimits"

# System call numbers differ between the architectures.
UNSHARE, MOUNT, PIVOT_ROOT = (272, 165, 155) if platform.machine() == "x86_64" else (97, 40, 41)
LANDLOCK_CREATE_RULESET = 444


class TestStrength:
    @pytest.mark.parametrize(
        ("kind", "strength"),
        [
            (FULL, Strength.FULL),
            ("user+pid+ipc+net+uts+mount+seccomp+rlimits", Strength.PARTIAL),
            ("landlock+seccomp+rlimits", Strength.PARTIAL),
            ("seccomp+rlimits", Strength.BARE),
            ("landlock+rlimits", Strength.BARE),
            ("rlimits", Strength.BARE),
        ],
    )
    def test_the_strength_follows_from_the_isolation_layers(
        self, kind: str, strength: Strength
    ) -> None:
        assert strength_of(kind) is strength

    def test_full_isolation_is_used_without_a_notice(self) -> None:
        notices: list[str] = []
        with open_sandbox(say=notices.append) as sandbox:
            assert sandbox.kind == FULL
        assert notices == []

    def test_weaker_isolation_is_used_with_a_notice(self) -> None:
        notices: list[str] = []
        with open_sandbox(layers=("landlock", "seccomp"), say=notices.append) as sandbox:
            assert sandbox.kind == "landlock+seccomp+rlimits"
        assert "weaker" in notices[0]
        assert "namespaces" in notices[0]

    @pytest.mark.parametrize(
        ("forbidden", "kind"),
        [
            (UNSHARE, "landlock+seccomp+rlimits"),
            (MOUNT, "landlock+seccomp+rlimits"),
            (PIVOT_ROOT, "landlock+seccomp+rlimits"),
            (LANDLOCK_CREATE_RULESET, "user+pid+ipc+net+uts+mount+seccomp+rlimits"),
        ],
        ids=["no namespaces", "no mounts in them", "no root of their own", "no Landlock"],
    )
    def test_the_layers_that_the_kernel_allows_are_used(self, forbidden: int, kind: str) -> None:
        """As in containers, and where AppArmor restricts namespaces."""
        code = (
            "import struct\n"
            "from auditcoder.sandboxed import kernel, seccomp\n"
            "steps = [(0x20, 0, 0, 0)]\n"
            f"steps += [(0x15, 0, 1, {forbidden}), (0x06, 0, 0, 0x00050001)]\n"
            "steps += [(0x06, 0, 0, 0x7FFF0000)]\n"
            "kernel.set_no_new_privileges()\n"
            "seccomp.install(b''.join(struct.pack('=HBBI', *s) for s in steps))\n"
            "from auditcoder.adapters.sandboxes.isolation import open_sandbox\n"
            "from auditcoder.domain.execution import *\n"
            "e = Execution(source='print(6 * 7)', action=RunProgram())\n"
            "with open_sandbox(say=print) as s: print(s.kind, s.run(e).stdout)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
        )
        notices, ran = done.stdout.strip().rsplit("\n", 1)
        assert "weaker" in notices
        assert ran == f"{kind} b'42\\n'"

    def test_a_sandbox_without_isolation_is_refused_unless_accepted(self) -> None:
        with pytest.raises(SandboxError) as refused:
            open_sandbox(layers=(), say=lambda _: None)
        assert refused.value.code == "sandbox.bare"
        with open_sandbox(layers=(), accept_bare=True, say=lambda _: None) as sandbox:
            assert sandbox.kind == "rlimits"

    def test_another_operating_system_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(platform, "system", lambda: "Darwin")
        with pytest.raises(SandboxError, match="Darwin") as refused:
            open_sandbox(say=lambda _: None)
        assert refused.value.code == "sandbox.platform"
        assert "Linux" in refused.value.advice

    def test_every_remedy_contains_a_command(self) -> None:
        assert all("`" in remedy for remedy in remedies())
