"""What the user has set: a file, and the environment over it."""

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from auditcoder.domain.errors import AuditCoderError
from auditcoder.domain.request import Price
from auditcoder.domain.values import Value
from auditcoder.lifecycle.patience import Patience

_LARGEST = 1 << 16


class ProviderSettings(Value):
    """One provider, named as `--model NAME:model` will name it."""

    base_url: str = ""
    """Of a server that speaks OpenAI's protocol; empty for the provider's own address."""
    key_env: str = ""
    """The environment variable that holds its key; by default NAME_API_KEY."""
    key: str = ""
    """The key itself, where there is no better place."""
    seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 300.0
    parallel: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 4
    per_minute: Annotated[float, msgspec.Meta(gt=0, le=1e6)] | None = None
    attempts: Annotated[int, msgspec.Meta(ge=1, le=100)] = 5
    constrains: bool = True
    """Whether it can be held to a JSON Schema."""
    price: Price | None = None
    """US dollars for a million tokens; by default the published price, if there is one."""

    @property
    def patience(self) -> Patience:
        """How long to bear with it."""
        return Patience(attempts=self.attempts)

    def __repr__(self) -> str:
        """Show everything but the key."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__ if name != "key"}
        return f"ProviderSettings({shown})"


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
    home = environment.get("HOME")
    base = Path(folder) if folder else Path(home or os.devnull) / ".config"
    return base / "auditcoder" / "config.toml"


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the configuration; none is as good as an empty one, unless it was named."""
    path = config_path(environment)
    try:
        text = _text(path)
    except (FileNotFoundError, NotADirectoryError):
        if environment.get("AUDITCODER_CONFIG"):
            raise _invalid(path, "there is no such file") from None
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise _invalid(path, str(error)) from error
    try:
        settings = msgspec.convert(tomllib.loads(text), Settings)
    except (ValueError, RecursionError) as error:
        raise _invalid(path, str(error)) from error
    if chosen := environment.get("AUDITCODER_MODEL"):
        settings = msgspec.structs.replace(settings, model=chosen)
    if address := environment.get("AUDITCODER_BASE_URL"):
        server = ProviderSettings(base_url=address, key_env="AUDITCODER_API_KEY")
        settings = msgspec.structs.replace(
            settings, providers={"server": server, **settings.providers}
        )
    return settings


def _text(path: Path) -> str:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is not an ordinary file")
    if status.st_size > _LARGEST:
        raise OSError("it is far too large")
    return path.read_text("utf-8")


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
