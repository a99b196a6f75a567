"""The user's folders follow the platform's variables and the home folder."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from auditcoder.adapters.user_folders import cache_folder, config_folder, data_folder

FOLDERS = [
    (config_folder, "XDG_CONFIG_HOME", ".config"),
    (data_folder, "XDG_DATA_HOME", ".local/share"),
    (cache_folder, "XDG_CACHE_HOME", ".cache"),
]


@pytest.mark.parametrize(("folder", "variable", "_default"), FOLDERS)
def test_an_environment_variable_sets_the_folder(
    monkeypatch: pytest.MonkeyPatch,
    folder: Callable[[], Path | None],
    variable: str,
    _default: str,
) -> None:
    monkeypatch.setenv(variable, "/elsewhere")
    assert folder() == Path("/elsewhere/auditcoder")


@pytest.mark.parametrize(("folder", "variable", "default"), FOLDERS)
def test_without_a_variable_the_folder_is_in_the_home_folder(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    folder: Callable[[], Path | None],
    variable: str,
    default: str,
) -> None:
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder() == tmp_path / default / "auditcoder"


@pytest.mark.parametrize(("folder", "variable", "_default"), FOLDERS)
def test_without_a_home_folder_there_is_no_user_folder(
    monkeypatch: pytest.MonkeyPatch,
    folder: Callable[[], Path | None],
    variable: str,
    _default: str,
) -> None:
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert folder() is None
