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
from auditcoder.domain.errors import NotFound, StoreError, StoreUnavailable
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
            "the user has no home folder for the store",
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
    if "://" in where or "password=" in where or "\0" in where or where == ":memory:":
        raise StoreUnavailable(
            "store.unknown-kind",
            "the store is neither a file nor a PostgreSQL address",
            "give the path of a file, or postgresql://USER@HOST/DATABASE",
        )
    if not create and not _may_hold_a_store(where):
        raise NotFound(
            "store.missing",
            f"there is no store at {where} yet",
            "`auditcoder solve` creates it; or name another with --store or AUDITCODER_STORE",
        )
    return SqliteStore(where)


@contextmanager
def opened_run(named: str, store: str | None) -> Iterator[tuple[TraceReader, RunId]]:
    """Open the bundle at the path `named`, or the store and its run with that id or prefix.

    A file that is named like a run or the unique prefix of one does not hide it: such a file is
    opened as `./NAME`.
    """
    path = Path(named)
    is_path = path.suffix == SUFFIX or path.name != named
    if is_path or (_is_file(path) and not _is_run(named, store)):
        with closing(BundleFile(path)) as bundle:
            yield bundle, bundle.manifest.run
        return
    with closing(open_store(store)) as opened:
        yield opened, resolve(named, opened)


def _is_run(named: str, store: str | None) -> bool:
    """Whether the store can be read, and this is the id or the unique prefix of one of its runs."""
    try:
        with closing(open_store(store)) as opened:
            resolve(named, opened)
    except (NotFound, StoreError):
        return False
    return True


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # the name is too long or invalid
        return False


def _may_hold_a_store(where: str) -> bool:
    """Whether the file exists and is not empty; if that is unknown, opening it reports why."""
    try:
        status = Path(where).stat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return status.st_size > 0


def resolve(named: str, store: SqlStore) -> RunId:
    """Return the run whose id is `named`, or the only one whose id begins with it."""
    runs = store.runs()
    if named in runs:
        return RunId(named)
    matching = [run for run in runs if run.startswith(named)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise NotFound(
            "run.ambiguous",
            f"{named!r} is ambiguous: {', '.join(matching[:5])}{' …' if matching[5:] else ''}",
            "give more characters of the id",
        )
    advice = "`auditcoder runs` lists them"
    if named.endswith(SUFFIX):
        advice = "this command needs the run in a store: `auditcoder import` copies a bundle there"
    close = get_close_matches(named[:200], runs, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise NotFound("run.unknown", f"no run {named!r}{hint}", advice)
