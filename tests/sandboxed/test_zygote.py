"""The worker imports packages in advance and reports those that it could not import."""

import sys
import sysconfig
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


def test_rules_are_prepared_once_in_a_restricted_root() -> None:
    host = HostEnvironment(("mount", "seccomp"), 1, "/private", [], [])
    assert zygote.with_rules(host).call_rules
    assert not zygote.with_rules(host._replace(layers=("mount",))).call_rules


def test_the_folder_of_the_installation_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"prefix": "/opt/mine", "LIBDEST": "/opt/mine/lib/python3", "SIZEOF_LONG": 8}
    monkeypatch.setattr(sysconfig, "get_config_vars", lambda: variables)
    monkeypatch.setattr(sysconfig, "_PROJECT_BASE", "/opt/mine/bin")
    monkeypatch.setattr(sysconfig, "_PREFIX", "/real/place/lib")
    monkeypatch.setattr(sys, "executable", "/real/place/bin/python3")
    monkeypatch.setitem(sys.modules, "_sysconfigdata_of_a_machine", sys)
    zygote._rename_installation("/python")
    told = vars(sysconfig)
    assert (told["_PROJECT_BASE"], told["_PREFIX"]) == ("/python/bin", "/python/lib")
    assert variables == {"prefix": "/python", "LIBDEST": "/python/lib/python3", "SIZEOF_LONG": 8}
    assert "_sysconfigdata_of_a_machine" not in sys.modules
