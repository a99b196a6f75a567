"""The user's folders for configuration, data and caches, as the platform defines them."""

from collections.abc import Callable
from pathlib import Path


def config_folder() -> Path | None:
    """Return the folder of the user's configuration; None if the user has no home folder."""
    from platformdirs import user_config_path

    return _folder(user_config_path)


def data_folder() -> Path | None:
    """Return the folder of the user's runs; None if the user has no home folder."""
    from platformdirs import user_data_path

    return _folder(user_data_path)


def cache_folder() -> Path | None:
    """Return the folder of downloaded files; None if the user has no home folder."""
    from platformdirs import user_cache_path

    return _folder(user_cache_path)


def _folder(find: Callable[..., Path]) -> Path | None:
    try:
        path = find("auditcoder", appauthor=False)
    except RuntimeError:
        return None
    return path if path.is_absolute() else None  # earlier versions of platformdirs leave `~` in it
