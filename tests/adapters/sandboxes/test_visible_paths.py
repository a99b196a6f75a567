"""The paths that a candidate may read."""

import sys
from pathlib import Path

import pytest

from auditcoder.adapters.sandboxes.visible_paths import (
    interpreter,
    package_files,
    standard_library,
    undeclared_packages,
)
from auditcoder.domain.errors import SandboxError


def test_the_interpreter_is_a_file_outside_of_any_virtual_environment() -> None:
    path = Path(interpreter())
    assert path.is_file()
    assert not path.is_symlink()
    assert path.is_relative_to(Path(sys.base_prefix).resolve())


def test_the_standard_library_holds_its_modules_and_only_paths_that_exist() -> None:
    folders = standard_library()
    assert any((Path(folder) / "json" / "__init__.py").is_file() for folder in folders)
    assert all(Path(folder).exists() for folder in folders)
    assert len(folders) == len(set(folders))


def test_installed_packages_inside_the_standard_library_are_undeclared() -> None:
    for folder in map(Path, undeclared_packages()):
        assert (folder.parent / "os.py").is_file()
        assert folder.name in {"site-packages", "dist-packages"}


def test_the_files_of_a_package_include_its_requirements() -> None:
    names = {path.name for path in package_files(["pytest"])}
    assert {"pytest", "_pytest", "pluggy"} <= names
    assert "__pycache__" not in names
    assert "hypothesis" not in names


def test_no_packages_have_no_files() -> None:
    assert package_files([]) == []


def test_a_package_that_is_not_installed_is_reported_by_name() -> None:
    with pytest.raises(SandboxError, match="no_such_package") as raised:
        package_files(["no_such_package"])
    assert raised.value.code == "sandbox.package"
