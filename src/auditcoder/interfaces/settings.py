"""What the user has set: a file, and the environment over it."""

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from auditcoder.adapters.models.patient import Patience
from auditcoder.domain.errors import AuditCoderError
from auditcoder.domain.request import Price
from auditcoder.domain.values import Value


class ProviderSettings(Value):
    """One provider, named as `--model NAME:model` will name it."""

    base_url: str = ""
    """Of a server that speaks OpenAI's protocol; empty for the provider's own address."""
    key_env: str = ""
    """The environment variable that holds its key; by default NAME_API_KEY."""
    key: str = ""
    """The key itself, where there is no better place."""
    seconds: float = 300.0
    parallel: int = 4
    per_minute: float | None = None
    attempts: int = 5
    constrains: bool = True
    """Whether it can be held to a JSON Schema."""
    price: Price | None = None
    """US dollars for a million tokens; by default the published price, if there is one."""

    @property
    def patience(self) -> Patience:
        """How long to bear with it."""
        return Patience(attempts=self.attempts, parallel=self.parallel, per_minute=self.per_minute)


class Settings(Value):
    """Everything that can be set in `config.toml`."""

    model: str = "embedded"
    packages: tuple[str, ...] = ()
    """Packages that generated programs may import."""
    providers: dict[str, ProviderSettings] = {}


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where the configuration is, or would be."""
    if chosen := environment.get("AUDITCODER_CONFIG"):
        return Path(chosen)
    folder = environment.get("XDG_CONFIG_HOME")
    base = Path(folder) if folder else Path(environment.get("HOME", "~")).expanduser() / ".config"
    return base / "auditcoder" / "config.toml"


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the configuration; none is as good as an empty one, unless it was named."""
    path = config_path(environment)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        if "AUDITCODER_CONFIG" in environment:
            raise _invalid(path, "there is no such file") from None
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise _invalid(path, str(error)) from error
    try:
        settings = msgspec.convert(tomllib.loads(text), Settings)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise _invalid(path, str(error)) from error
    if chosen := environment.get("AUDITCODER_MODEL"):
        settings = msgspec.structs.replace(settings, model=chosen)
    if address := environment.get("AUDITCODER_BASE_URL"):
        server = ProviderSettings(base_url=address, key_env="AUDITCODER_API_KEY")
        settings = msgspec.structs.replace(
            settings, providers={"server": server, **settings.providers}
        )
    return settings


def exposed_keys(settings: Settings, path: Path) -> bool:
    """Whether a key lies in a file that others can read."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    shared = bool(mode & (stat.S_IRGRP | stat.S_IROTH))
    return shared and any(provider.key for provider in settings.providers.values())


class SettingsInvalid(AuditCoderError):
    """The configuration cannot be used."""


def _invalid(path: Path, why: str) -> SettingsInvalid:
    return SettingsInvalid(
        "config.invalid",
        f"the configuration {path} cannot be used: {why}",
        "correct it, or name another with AUDITCODER_CONFIG; see docs/reference/configuration.md",
    )
