"""Fixtures of the command line: an isolated user, a finished run and a model server."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.values import RunId
from tests.support.commands import RunCommand, command_runner
from tests.support.fault_server import FaultServer, serving
from tests.support.modest_model import answer_request
from tests.support.record_builders import ticking

EXAMPLE = Path(__file__).parents[2] / "examples" / "helpful_currents"


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the configuration of the repository and of the user who runs the tests."""
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home folder."""
    return tmp_path


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the worked example."""
    sys.path.insert(0, str(EXAMPLE))
    from record import build

    path = tmp_path_factory.mktemp("example") / "runs.db"
    store = SqliteStore(path)
    build(store, RunId("helpful-currents"), ticking())
    store.close()
    sys.path.remove(str(EXAMPLE))
    return path


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> RunCommand:
    """Runs commands with a store in the test's folder."""
    monkeypatch.setenv("AUDITCODER_STORE", str(tmp_path / "runs.db"))
    return command_runner(capsys, monkeypatch)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """A server that answers as the modest model, configured as the model to use."""
    with serving(*[answer_request] * 50) as running:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running.address)
        monkeypatch.setenv("AUDITCODER_MODEL", "server:modest")
        yield running
