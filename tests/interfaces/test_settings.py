"""What is set is read, what is wrong is said, and a key is never shown."""

import os
from pathlib import Path

import pytest

from auditcoder.interfaces.settings import (
    Settings,
    SettingsInvalid,
    config_path,
    exposed_keys,
    read_settings,
)

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


def test_nothing_set_is_the_embedded_model(tmp_path: Path) -> None:
    assert read_settings({"HOME": str(tmp_path)}) == Settings()
    assert Settings().model == "embedded"


def test_a_file_sets_what_it_says(tmp_path: Path) -> None:
    settings = read_settings(_config(tmp_path, CONFIG))
    shop = settings.providers["shop"]
    assert (settings.model, settings.packages) == ("shop:big", ("numpy",))
    assert (shop.seconds, shop.parallel, shop.per_minute) == (30.0, 2, 60.0)
    assert shop.price is not None
    assert shop.price.of(1_000_000, 1_000_000) == 2.0


def test_the_environment_comes_over_the_file(tmp_path: Path) -> None:
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
        ("#" * 70_000, "too large"),
        ("[providers.a]\nprice = { prompt = -1, completion = 0 }", ">= 0"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(SettingsInvalid, match=why) as invalid:
        read_settings(_config(tmp_path, text))
    assert invalid.value.code == "config.invalid"
    assert "config.toml" in str(invalid.value)


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="no such file"):
        read_settings({"AUDITCODER_CONFIG": str(tmp_path / "none.toml")})


def test_a_variable_that_is_empty_says_nothing(tmp_path: Path) -> None:
    assert read_settings({"HOME": str(tmp_path), "AUDITCODER_CONFIG": ""}) == Settings()
    assert read_settings({}) == Settings()


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for odd in (tmp_path / "pipe", tmp_path):
        with pytest.raises(SettingsInvalid, match="not an ordinary file"):
            read_settings({"AUDITCODER_CONFIG": str(odd)})


def test_a_key_does_not_show_itself(tmp_path: Path) -> None:
    settings = read_settings(_config(tmp_path, "[providers.a]\nkey = 'sk-1234'"))
    assert settings.providers["a"].key == "sk-1234"
    assert "sk-1234" not in repr(settings)


def test_it_is_where_such_files_are() -> None:
    assert config_path({"XDG_CONFIG_HOME": "/x"}) == Path("/x/auditcoder/config.toml")
    assert config_path({"HOME": "/h"}) == Path("/h/.config/auditcoder/config.toml")


def test_a_key_that_others_can_read_is_noticed(tmp_path: Path) -> None:
    settings = read_settings(_config(tmp_path, "[providers.a]\nkey = 'sk-1234'"))
    path = tmp_path / "config.toml"
    path.chmod(0o644)
    assert exposed_keys(settings, path)
    path.chmod(0o600)
    assert not exposed_keys(settings, path)
