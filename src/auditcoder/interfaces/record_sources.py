"""Opens the store or the bundle that a user names."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from difflib import get_close_matches
from pathlib import Path

from auditcoder.adapters.stores.bundle import SUFFIX, BundleFile
from auditcoder.adapters.stores.sql import SqlStore
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.adapters.user_folders import data_folder
from auditcoder.domain.errors import NotFound, StoreUnavailable
from auditcoder.domain.values import RunId
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.ports import TraceReader


def default_store() -> str:
    """Return the address of the configured store, else of `runs.db` in the user's data folder."""
    if chosen := os.environ.get("AUDITCODER_STORE") or read_settings().store:
        return chosen
    folder = data_folder()
    if folder is None:
        raise StoreUnavailable(
            "store.homeless",
            "there is no home folder for the store of runs",
            "name a store with --store or AUDITCODER_STORE",
        )
    return str(folder / "runs.db")


def open_store(named: str | None, *, create: bool = False) -> SqlStore:
    """Open the store that the user named, or the default one."""
    where = named or default_store()
    if where.lower().startswith(("postgresql://", "postgres://")):
        try:
            from auditcoder.adapters.stores.postgres import PostgresStore
        except ImportError as error:
            raise StoreUnavailable(
                "store.extra-missing",
                "the PostgreSQL driver is not installed",
                "pip install 'auditcoder[postgres]'",
            ) from error
        return PostgresStore(where)
    if "://" in where or "password=" in where or where == ":memory:":
        raise StoreUnavailable(
            "store.unknown-kind",
            "that is not where runs can be kept",
            "give the path of a file, or postgresql://USER@HOST/DATABASE",
        )
    if not create and not _holds_something(where):
        raise NotFound(
            "store.missing",
            f"there is no store at {where} yet",
            "import a bundle, or name another with --store or AUDITCODER_STORE",
        )
    return SqliteStore(where)


@contextmanager
def opened_run(named: str, store: str | None) -> Iterator[tuple[TraceReader, RunId]]:
    """Open a bundle, or find the run that `named` is the id of or the beginning of."""
    path = Path(named)
    if path.suffix == SUFFIX or len(path.parts) > 1 or _exists(path):
        with closing(BundleFile(path)) as bundle:
            yield bundle, bundle.manifest.run
        return
    with closing(open_store(store)) as opened:
        yield opened, resolve(named, opened)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long a name, or one that no file can have
        return False


def _holds_something(where: str) -> bool:
    """Whether a store may be there. One that may not be looked at is left to say so itself."""
    try:
        found = Path(where).stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return found.st_size > 0


def resolve(named: str, store: SqlStore) -> RunId:
    """Return the run that `named` is the id of or the beginning of."""
    runs = store.runs()
    if named in runs:
        return RunId(named)
    matching = [run for run in runs if run.startswith(named)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise NotFound(
            "run.ambiguous",
            f"{named} could be {', '.join(matching[:5])}{' …' if matching[5:] else ''}",
            "give more of the id",
        )
    advice = "`auditcoder runs` lists them"
    if named.endswith(SUFFIX):
        advice = "a bundle has to be in the store for this: `auditcoder import` takes it there"
    close = get_close_matches(named[:200], runs, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise NotFound("run.unknown", f"no run {named!r}{hint}", advice)
