"""Configuration: discovery, precedence, errors that name file and key, and hidden secrets."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from auditcoder.interfaces.cli.exit_codes import Exit, exit_for
from auditcoder.interfaces.settings import (
    Settings,
    SettingsInvalid,
    config_path,
    configured_options,
    exposed_keys,
    read_settings,
)
from tests.support.commands import run_as_user

CONFIG = """
model = "shop:big"
packages = ["numpy"]

[providers.shop]
base_url = "http://127.0.0.1:9/v1"
key_env = "SHOP_KEY"
seconds = 30
parallel = 2
per_minute = 60
price = { prompt = 0.5, completion = 1.5 }
"""


def _config(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return {"AUDITCODER_CONFIG": str(path)}


def test_the_default_is_the_embedded_model(tmp_path: Path) -> None:
    assert read_settings({"HOME": str(tmp_path)}) == Settings()
    assert Settings().model == "embedded"


def test_settings_are_read_from_a_file(tmp_path: Path) -> None:
    settings = read_settings(_config(tmp_path, CONFIG))
    shop = settings.providers["shop"]
    assert (settings.model, settings.packages) == ("shop:big", ("numpy",))
    assert (shop.seconds, shop.parallel, shop.per_minute) == (30.0, 2, 60.0)
    assert shop.price is not None
    assert shop.price.of(1_000_000, 1_000_000) == 2.0


def test_environment_variables_override_the_file(tmp_path: Path) -> None:
    environment = _config(tmp_path, CONFIG) | {
        "AUDITCODER_MODEL": "embedded",
        "AUDITCODER_BASE_URL": "http://127.0.0.1:1/v1",
    }
    settings = read_settings(environment)
    assert settings.model == "embedded"
    assert settings.providers["server"].base_url == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("model = ", "Invalid value"),
        ("modle = 'x'", "modle"),
        ("[providers.a]\nseconds = 'long'", "seconds"),
        ("packages = 'numpy'", "packages"),
        ("[providers.a]\nparallel = 0", "parallel"),
        ("[providers.a]\nper_minute = 0", "per_minute"),
        ("[providers.a]\nseconds = nan", "seconds"),
        ("[providers.a]\nattempts = -1", "attempts"),
        ("x = " + "[" * 5000, "config.toml"),
        ("x = " + "9" * 5001, "config.toml"),
        ("#" * 70_000, "larger than 65,536 bytes"),
        ("[providers.a]\nprice = { prompt = -1, completion = 0 }", ">= 0"),
    ],
)
def test_an_invalid_file_is_reported_with_its_name_and_the_reason(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(SettingsInvalid, match=why) as invalid:
        read_settings(_config(tmp_path, text))
    assert invalid.value.code == "config.invalid"
    assert "config.toml" in str(invalid.value)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="no such file"):
        read_settings({"AUDITCODER_CONFIG": str(tmp_path / "none.toml")})


def test_an_empty_variable_is_ignored(tmp_path: Path) -> None:
    assert read_settings({"HOME": str(tmp_path), "AUDITCODER_CONFIG": ""}) == Settings()
    assert read_settings({}) == Settings()


def test_a_path_that_is_not_a_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for odd in (tmp_path / "pipe", tmp_path):
        with pytest.raises(SettingsInvalid, match="not a regular file"):
            read_settings({"AUDITCODER_CONFIG": str(odd)})


_READ_AS_NOBODY = """
import os, sys
from auditcoder.interfaces.settings import SettingsInvalid, read_settings

if os.geteuid() == 0:
    os.seteuid(65534)  # root can read every file
try:
    read_settings({"AUDITCODER_CONFIG": sys.argv[1]})
except SettingsInvalid as invalid:
    print(invalid)
"""


def test_a_file_without_read_permission_is_named() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "config.toml")
        path.write_text(CONFIG)
        path.chmod(0)
        Path(folder).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", _READ_AS_NOBODY, str(path)],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
        )
    assert done.stdout == f"the configuration {path} cannot be used: Permission denied\n"


def test_a_key_is_not_shown_by_its_representation(tmp_path: Path) -> None:
    settings = read_settings(_config(tmp_path, "[providers.a]\nkey = 'sk-1234'"))
    assert settings.providers["a"].key == "sk-1234"
    assert "sk-1234" not in repr(settings)


def test_the_users_file_is_in_the_configuration_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/x")
    assert config_path({}) == Path("/x/auditcoder/config.toml")
    assert config_path({"AUDITCODER_CONFIG": "/c.toml"}) == Path("/c.toml")


def test_a_key_that_others_can_read_is_reported(tmp_path: Path) -> None:
    settings = read_settings(_config(tmp_path, "[providers.a]\nkey = 'sk-1234'"))
    path = tmp_path / "config.toml"
    path.chmod(0o644)
    assert exposed_keys(settings, path)
    path.chmod(0o600)
    assert not exposed_keys(settings, path)


PROJECT_FILES = ["auditcoder.toml", "pyproject.toml"]


def _project(folder: Path, name: str, text: str) -> Path:
    """Write a project's configuration, as a file of its own or as a section."""
    section = "[tool.auditcoder]\n" if name == "pyproject.toml" else ""
    (folder / name).write_text(section + text)
    return folder / name


def _error(folder: Path, environment: dict[str, str] | None = None) -> str:
    with pytest.raises(SettingsInvalid) as invalid:
        read_settings(environment or {}, folder)
    assert invalid.value.code == "config.invalid"
    assert exit_for(invalid.value) == Exit.UNREADABLE
    return str(invalid.value)


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_the_project_file_of_a_folder_above_is_found(tmp_path: Path, name: str) -> None:
    _project(tmp_path, name, "max_repairs = 7\nmodel = 'ollama:small'\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    settings = read_settings({}, below)
    assert (settings.options, settings.model) == ({"max_repairs": 7}, "ollama:small")


def test_the_nearest_project_file_is_used_alone(tmp_path: Path) -> None:
    _project(tmp_path, "auditcoder.toml", "max_repairs = 7\nfallback = true\n")
    below = tmp_path / "a"
    below.mkdir()
    _project(below, "pyproject.toml", "max_repairs = 1\n")
    assert read_settings({}, below).options == {"max_repairs": 1}


def test_a_pyproject_without_a_section_is_skipped(tmp_path: Path) -> None:
    _project(tmp_path, "auditcoder.toml", "max_repairs = 7\n")
    below = tmp_path / "a"
    below.mkdir()
    (below / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert read_settings({}, below).options == {"max_repairs": 7}


def test_a_large_pyproject_is_read(tmp_path: Path) -> None:
    path = _project(tmp_path, "pyproject.toml", "max_repairs = 7\n" + "# other tools\n" * 50_000)
    assert path.stat().st_size > 500_000
    assert read_settings({}, tmp_path).options == {"max_repairs": 7}


def test_a_large_pyproject_of_other_tools_stops_no_command(home: Path) -> None:
    (home / "pyproject.toml").write_text("[tool.other]\n" + "# other tools\n" * 10_000)
    assert run_as_user(home, "models").code == Exit.OK


@pytest.mark.parametrize(
    ("name", "size", "limit"),
    [("auditcoder.toml", 70_000, "65,536"), ("pyproject.toml", 5_000_000, "4,194,304")],
)
def test_a_project_file_above_its_limit_is_refused(
    tmp_path: Path, name: str, size: int, limit: str
) -> None:
    (tmp_path / name).write_text("#" * size)
    assert f"{tmp_path / name} cannot be used: it is larger than {limit} bytes" in _error(tmp_path)


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_the_advice_fits_the_kind_of_file(tmp_path: Path, name: str) -> None:
    _project(tmp_path, name, "modle = 'x'\n")
    with pytest.raises(SettingsInvalid) as of_project:
        read_settings({}, tmp_path)
    with pytest.raises(SettingsInvalid) as of_user:
        read_settings(_config(tmp_path, "modle = 'x'"))
    assert "run the command outside the folder" in of_project.value.advice
    assert "AUDITCODER_CONFIG" not in of_project.value.advice
    assert "set AUDITCODER_CONFIG to another file" in of_user.value.advice


def test_flag_environment_project_user_and_default_override_in_this_order(tmp_path: Path) -> None:
    layers = [3]
    assert configured_options({}, read_settings({}, tmp_path)).max_repairs == 3
    environment = _config(tmp_path, "max_repairs = 4")
    layers.append(configured_options({}, read_settings(environment, tmp_path)).max_repairs)
    _project(tmp_path, "auditcoder.toml", "max_repairs = 5")
    layers.append(configured_options({}, read_settings(environment, tmp_path)).max_repairs)
    environment["AUDITCODER_MAX_REPAIRS"] = "6"
    settings = read_settings(environment, tmp_path)
    layers.append(configured_options({}, settings).max_repairs)
    layers.append(configured_options({"max_repairs": 7}, settings).max_repairs)
    assert layers == [3, 4, 5, 6, 7]


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_an_unknown_key_is_reported_with_a_suggestion(tmp_path: Path, name: str) -> None:
    path = _project(tmp_path, name, "max_repiars = 2\n")
    message = _error(tmp_path)
    assert str(path) in message
    assert "unknown key 'max_repiars'; did you mean 'max_repairs'?" in message


@pytest.mark.parametrize("name", PROJECT_FILES)
@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("max_repairs = 'many'", "max_repairs"),
        ("max_repairs = -1", "max_repairs"),
        ("fallback = 'perhaps'", "fallback"),
        ("planner = 'crystal'", "planner"),
        ("temperature = 3", "temperature"),
        ("budget_usd = 0", "budget_usd"),
        ("packages = 'numpy'", "packages"),
        ("model = 3", "model"),
    ],
)
def test_a_wrong_type_names_file_and_key(tmp_path: Path, name: str, line: str, key: str) -> None:
    path = _project(tmp_path, name, line + "\n")
    message = _error(tmp_path)
    assert str(path) in message
    assert key in message


def test_two_project_files_in_a_folder_are_refused(tmp_path: Path) -> None:
    paths = [_project(tmp_path, name, "max_repairs = 1\n") for name in PROJECT_FILES]
    message = _error(tmp_path)
    assert all(str(path) in message for path in paths)
    assert "[tool.auditcoder]" in message


@pytest.mark.parametrize("name", PROJECT_FILES)
@pytest.mark.parametrize("content", [b"max_repairs = ", b"model = '\xff\xfe'"])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert str(tmp_path / name) in _error(tmp_path)


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_a_folder_in_place_of_a_project_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    message = _error(tmp_path)
    assert str(tmp_path / name) in message
    assert "not a regular file" in message


def test_a_section_that_is_not_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nauditcoder = 3\n")
    assert "'tool.auditcoder' must be a table" in _error(tmp_path)


@pytest.mark.parametrize("name", PROJECT_FILES)
def test_a_project_file_cannot_set_where_keys_are_sent(tmp_path: Path, name: str) -> None:
    table = "tool.auditcoder.providers.a" if name == "pyproject.toml" else "providers.a"
    (tmp_path / name).write_text(f"[{table}]\nbase_url = 'http://elsewhere'\n")
    assert "'providers' is not allowed" in _error(tmp_path)


def test_an_invalid_environment_variable_is_named(tmp_path: Path) -> None:
    message = _error(tmp_path, {"AUDITCODER_MAX_REPAIRS": "many"})
    assert "AUDITCODER_MAX_REPAIRS must be a non-negative integer, not 'many'" in message


def test_a_command_reports_the_project_file_and_its_key(home: Path) -> None:
    path = _project(home, "auditcoder.toml", "modle = 'x'\n")
    result = run_as_user(home, "models")
    assert result.code == Exit.UNREADABLE
    assert f"{path}" in result.err
    assert "did you mean 'model'?" in result.err
    assert "[config.invalid]" in result.err
