"""Reads the configuration: user file, project file, environment; each overrides the former."""

import os
import stat
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from auditcoder.adapters.user_folders import config_folder
from auditcoder.domain.errors import AuditCoderError
from auditcoder.domain.request import Price
from auditcoder.domain.toml_reader import read_toml
from auditcoder.domain.values import Value
from auditcoder.lifecycle.options import Options, option_specs
from auditcoder.lifecycle.retry_policy import RetryPolicy


class ProviderSettings(Value):
    """The settings of one provider; its NAME is used in `--model NAME:model`."""

    base_url: str = ""
    """Address of a server with an OpenAI-compatible API; empty for the provider's own address."""
    key_env: str = ""
    """The environment variable that holds the key; by default NAME_API_KEY."""
    key: str = ""
    """The key itself; an environment variable is safer."""
    seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 300.0
    parallel: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 4
    per_minute: Annotated[float, msgspec.Meta(gt=0, le=1e6)] | None = None
    attempts: Annotated[int, msgspec.Meta(ge=1, le=100)] = 5
    constrains: bool = True
    """Whether the server can constrain replies to a JSON Schema."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The longest reply that its models allow, reasoning included; None if it is unknown."""
    price: Price | None = None
    """US dollars per million tokens; by default the published price, if there is one."""

    @property
    def retry_policy(self) -> RetryPolicy:
        """The retry policy for calls of this provider."""
        return RetryPolicy(attempts=self.attempts)

    def __repr__(self) -> str:
        """Show everything but the key."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__ if name != "key"}
        return f"ProviderSettings({shown})"


class Settings(Value):
    """Everything that the configuration sets."""

    model: str = "embedded"
    packages: tuple[str, ...] = ()
    """Packages that generated programs may import."""
    providers: dict[str, ProviderSettings] = {}
    store: str | None = None
    """The store of runs: a path or an address; None for a file in the data folder."""
    options: dict[str, Any] = {}
    """The configured options of a run, by name."""


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the user's configuration file, whether or not it exists."""
    if chosen := environment.get("AUDITCODER_CONFIG"):
        return Path(chosen)
    return (config_folder() or Path(os.devnull)) / "config.toml"


PROJECT_FILE = "auditcoder.toml"
_FILE_KEYS = ("model", "packages", "store", "providers")
_USER_ADVICE = "correct it, or set AUDITCODER_CONFIG to another file"
_PROJECT_ADVICE = "correct it, or run the command outside the folder that holds it"
_LARGEST_PYPROJECT = 1 << 22
"""Other tools keep their settings in pyproject.toml, too. Parsing this much takes two seconds."""


def read_settings(
    environment: Mapping[str, str] = os.environ, folder: Path | None = None
) -> Settings:
    """Read the configuration of the user and of the project around a folder.

    The environment overrides the project's file, and that overrides the user's. A missing user
    file is an error only if AUDITCODER_CONFIG names it.
    """
    user = _SettingsFile(config_path(environment), _USER_ADVICE)
    values = _settings_of(user, _user_table(user, environment))
    if (project := _project_table(folder)) is not None:
        file, table = project
        if "providers" in table:
            raise file.invalid(
                "'providers' is not allowed in a project's file, since it says where keys are sent"
            )
        own = _settings_of(file, table)
        values = {**values, **own, "options": {**values["options"], **own["options"]}}
    values["options"] = {**values["options"], **_from_environment(environment)}
    for key in ("model", "store"):
        if chosen := environment.get(f"AUDITCODER_{key.upper()}"):
            values[key] = chosen
    settings = Settings(**values)
    if address := environment.get("AUDITCODER_BASE_URL"):
        server = ProviderSettings(base_url=address, key_env="AUDITCODER_API_KEY")
        settings = msgspec.structs.replace(
            settings, providers={"server": server, **settings.providers}
        )
    return settings


def configured_options(given: Mapping[str, Any], settings: Settings) -> Options:
    """Return the options of a run: those given, else the configured ones, else the defaults."""
    return Options(**{**settings.options, **given})


class _SettingsFile(NamedTuple):
    """A file that can hold settings; it need not exist."""

    path: Path
    advice: str
    """What to do if it is invalid."""
    largest: int = 1 << 16
    """Maximum size in bytes."""

    def read(self) -> dict[str, Any] | None:
        """Return its content; None if there is no such file."""
        try:
            return read_toml(self._text())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self.invalid(error.strerror or str(error)) from error
        except (ValueError, RecursionError) as error:
            raise self.invalid(str(error)) from error

    def _text(self) -> str:
        status = self.path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        if status.st_size > self.largest:
            raise OSError(f"it is larger than {self.largest:,} bytes")
        return self.path.read_text("utf-8")

    def invalid(self, why: str) -> "SettingsInvalid":
        """Return the error to raise, with the reason."""
        return SettingsInvalid(
            "config.invalid",
            f"the configuration {self.path} cannot be used: {why}",
            f"{self.advice}; see docs/reference/configuration.md",
        )


def _user_table(file: _SettingsFile, environment: Mapping[str, str]) -> dict[str, Any]:
    table = file.read()
    if table is None and environment.get("AUDITCODER_CONFIG"):
        raise file.invalid("there is no such file")
    return table or {}


def _project_table(folder: Path | None) -> tuple[_SettingsFile, dict[str, Any]] | None:
    """Return the project's configuration, from the nearest folder upward that has one."""
    try:
        start = (folder or Path.cwd()).resolve()
    except OSError:  # the current folder was removed
        return None
    for each in (start, *start.parents):
        own = _SettingsFile(each / PROJECT_FILE, _PROJECT_ADVICE)
        shared = _SettingsFile(each / "pyproject.toml", _PROJECT_ADVICE, _LARGEST_PYPROJECT)
        table, section = own.read(), _section(shared)
        if table is not None and section is not None:
            raise own.invalid(f"{shared.path} also has [tool.auditcoder]; keep only one of them")
        if table is not None:
            return own, table
        if section is not None:
            return shared, section
    return None


def _section(file: _SettingsFile) -> dict[str, Any] | None:
    """Return [tool.auditcoder] of a pyproject.toml, if there is one."""
    tool = (file.read() or {}).get("tool", {})
    section = tool.get("auditcoder") if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise file.invalid("'tool.auditcoder' must be a table")
    return section


def _settings_of(file: _SettingsFile, table: dict[str, Any]) -> dict[str, Any]:
    """Check a configuration table and return it as the fields of `Settings`."""
    specs = {spec.name: spec for spec in option_specs()}
    known = (*_FILE_KEYS, *specs)
    options: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            close = get_close_matches(key, known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise file.invalid(f"unknown key {key!r}{hint}")
        if key in specs:
            try:
                options[key] = specs[key].convert(value)
            except ValueError as error:
                raise file.invalid(f"{key!r} {error}") from error
    files = {key: value for key, value in table.items() if key in _FILE_KEYS}
    try:
        checked = msgspec.convert(files, Settings)
    except (ValueError, RecursionError) as error:
        raise file.invalid(str(error)) from error
    return {**{key: getattr(checked, key) for key in files}, "options": options}


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read the options that environment variables set; an empty one counts as unset."""
    options = {}
    for spec in option_specs():
        if text := environment.get(spec.variable):
            try:
                options[spec.name] = spec.convert(text)
            except ValueError as error:
                raise SettingsInvalid(
                    "config.invalid",
                    f"the environment variable {spec.variable} {error}",
                    "correct it or unset it; see docs/reference/configuration.md",
                ) from error
    return options


def exposed_keys(settings: Settings, path: Path) -> bool:
    """Whether the configuration holds a key and other users can read its file."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    shared = bool(mode & (stat.S_IRGRP | stat.S_IROTH))
    return shared and any(provider.key for provider in settings.providers.values())


class SettingsInvalid(AuditCoderError):
    """The configuration cannot be used."""
