"""The worker imports packages in advance and reports those that it could not import."""

import sys
from pathlib import Path

import pytest

from auditcoder.sandboxed import zygote
from auditcoder.sandboxed.supervisor import HostEnvironment


def test_a_package_that_cannot_be_imported_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "half_package"
    package.mkdir()
    (package / "__init__.py").write_text("import half_package.part\nraise RuntimeError('half')")
    (package / "part.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("HOME", "/")
    missing: dict[str, str] = {}
    zygote._import_packages(["half_package"], missing)
    assert missing == {"package half_package": "RuntimeError: half"}
    assert not [name for name in sys.modules if name.startswith("half_package")]


def test_a_file_is_shown_in_the_new_root_only_if_it_exists(tmp_path: Path) -> None:
    zygote._show(str(tmp_path), "/no/such/file")
    assert list(tmp_path.iterdir()) == []


def test_layers_that_were_not_asked_for_are_named_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    config = {
        "layers": [],
        "private": str(tmp_path),
        "package_folder": str(tmp_path),
        "package_files": [],
        "library": ["/lib"],
    }
    missing: dict[str, str] = {}
    world = zygote._build(config, missing)
    assert world.layers == ("rlimits",)
    assert missing.keys() == {"namespaces", "landlock", "seccomp"}
    assert sys.path[-1] == str(tmp_path)


def test_rules_are_prepared_once_only_in_a_restricted_root() -> None:
    world = HostEnvironment(("seccomp",), 1, "/private", [], [])
    assert zygote._with_rules(world) is world
    inside = zygote._with_rules(world._replace(layers=("mount", "seccomp")))
    assert inside.call_rules
