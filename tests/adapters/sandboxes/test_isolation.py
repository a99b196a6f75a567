"""Isolation: the strength of a sandbox, and which sandbox is opened on a machine."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from auditcoder.adapters.sandboxes.isolation import (
    Strength,
    open_sandbox,
    remedies,
    strength_of,
)
from auditcoder.domain.errors import SandboxError
from tests.support.weaker_machines import (
    LANDLOCK_CREATE_RULESET,
    MOUNT,
    PIVOT_ROOT,
    UNSHARE,
    refusing,
)

FULL = "user+pid+ipc+net+uts+mount+landlock+seccomp+rlimits"


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
            f"{refusing(forbidden)}"
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

    @pytest.mark.parametrize(
        ("setting", "value", "command"),
        [
            (
                "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                "1",
                "`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
            ),
            (
                "proc/sys/kernel/unprivileged_userns_clone",
                "0",
                "`sudo sysctl -w kernel.unprivileged_userns_clone=1`",
            ),
            (
                "proc/sys/user/max_user_namespaces",
                "0",
                "`sudo sysctl -w user.max_user_namespaces=10000`",
            ),
            (".dockerenv", "", "`--security-opt seccomp=unconfined"),
        ],
    )
    def test_a_setting_that_forbids_namespaces_is_named_with_its_remedy(
        self, tmp_path: Path, setting: str, value: str, command: str
    ) -> None:
        assert remedies(tmp_path) == []
        (tmp_path / setting).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / setting).write_text(value)
        (remedy,) = remedies(tmp_path)
        assert command in remedy
