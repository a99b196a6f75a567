"""The paths that a candidate may read."""

import sys
from pathlib import Path

import pytest

from auditcoder.adapters.sandboxes import visible_paths
from auditcoder.adapters.sandboxes.visible_paths import (
    hidden_folders,
    interpreter,
    library_folder,
    package_files,
    standard_library,
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


def test_installed_packages_inside_visible_folders_are_hidden() -> None:
    folder = Path(library_folder())
    installed = [folder / name for name in ("site-packages", "dist-packages")]
    assert {str(path) for path in installed if path.is_dir()} <= set(hidden_folders())


def test_our_own_folders_are_hidden_where_they_are_inside_visible_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visible = tmp_path / "lib"
    for name in ("python3.9/site-packages", "project", "usr/share/auditcoder", "python3"):
        (visible / name).mkdir(parents=True)
    alias = tmp_path / "lib64"
    alias.symlink_to(visible)
    monkeypatch.setattr(visible_paths, "library_folder", lambda: str(visible / "python3"))
    monkeypatch.setattr(visible_paths, "shared_libraries", lambda: [str(alias)])
    monkeypatch.setattr(sys, "path", [str(visible / "project"), str(visible / "python3")])
    monkeypatch.setenv("XDG_DATA_HOME", str(visible / "usr/share"))
    assert set(hidden_folders()) == {
        f"{alias}/{name}" for name in ("python3.9/site-packages", "project", "usr/share/auditcoder")
    }


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
