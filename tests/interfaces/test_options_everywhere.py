"""An option that is declared in one line is offered, documented, configurable and recorded.

The tests add one line to a copy of both packages and run the copy.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.values import RunId
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.lifecycle.runs import started
from tests.support.fault_server import FaultServer
from tests.support.modest_model import DOUBLE

ROOT = Path(__file__).parents[2]
DECLARATION = (
    '    example_limit: Annotated[_Count, Option("an added limit", "N", before="7")] = 7\n'
)
PLACE = "\n    def __post_init__(self)"
RUN = RunId("double")
BENCH_RUN = RunId("aerocomm.crc16.direct.server-modest")

RunCopy = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of both packages, with one more line in the declared options."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("auditcoder", "auditcoder_bench"):
        shutil.copytree(ROOT / "src" / name, folder / name, ignore=ignored)
    options = folder / "auditcoder" / "lifecycle" / "options.py"
    text = options.read_text(encoding="utf-8")
    assert text.count(PLACE) == 1
    options.write_text(text.replace(PLACE, DECLARATION + PLACE), encoding="utf-8")
    return folder


@pytest.fixture
def run_copy(package: Path, tmp_path: Path) -> RunCopy:
    """Runs Python with the copy of the packages, as a user without configuration."""

    def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            env={
                **os.environ,
                "PYTHONPATH": str(package),
                "AUDITCODER_STORE": str(tmp_path / "runs.db"),
                "COLUMNS": "200",
                **variables,
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def _recorded_limit(tmp_path: Path, run: RunId = RUN) -> str:
    with closing(SqliteStore(tmp_path / "runs.db")) as store:
        return started(store, run).manifest.settings["example_limit"]


@pytest.mark.parametrize("command", [("solve",), ("bench", "run"), ("faults", "repair")])
def test_the_help_shows_a_new_option(run_copy: RunCopy, command: tuple[str, ...]) -> None:
    done = run_copy("-m", "auditcoder", *command, "--help")
    assert done.returncode == Exit.OK, done.stderr
    assert "--example-limit N an added limit (default: 7)" in " ".join(done.stdout.split())


def test_the_python_signature_has_a_new_option(run_copy: RunCopy) -> None:
    program = (
        "import inspect, auditcoder\n"
        "print(inspect.signature(auditcoder.Options).parameters['example_limit'].default)\n"
        "print(auditcoder.Options(example_limit=3).example_limit)\n"
        "auditcoder.Options(example_limit=-1)\n"
    )
    done = run_copy("-c", program)
    assert done.stdout.split() == ["7", "3"]
    last = done.stderr.splitlines()[-1]
    assert "option example_limit must be a non-negative integer, not -1" in last


def test_the_reference_page_lists_a_new_option(run_copy: RunCopy, tmp_path: Path) -> None:
    page = tmp_path / "configuration.md"
    shutil.copy(ROOT / "docs" / "reference" / "configuration.md", page)
    tool = ROOT / "tools" / "option_reference.py"
    assert run_copy(tool, "--check", "--page", page).returncode == 1
    assert run_copy(tool, "--page", page).returncode == 0
    row = (
        "| `example_limit` | `--example-limit` | `AUDITCODER_EXAMPLE_LIMIT` "
        "| a non-negative integer | `7` | an added limit |"
    )
    assert row in page.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("flag", "variable", "file", "recorded"),
    [
        pytest.param("", "", "", "7", id="default"),
        pytest.param("", "", "4", "4", id="file"),
        pytest.param("", "5", "4", "5", id="variable over file"),
        pytest.param("6", "5", "4", "6", id="flag over variable"),
    ],
)
def test_a_manifest_records_a_new_option_from_every_source(
    run_copy: RunCopy,
    server: FaultServer,
    tmp_path: Path,
    flag: str,
    variable: str,
    file: str,
    recorded: str,
) -> None:
    if file:
        (tmp_path / "auditcoder.toml").write_text(f"example_limit = {file}\n")
    flags = ["--example-limit", flag] if flag else []
    done = run_copy(
        *("-m", "auditcoder", "solve", DOUBLE, "--run-id", RUN, *flags),
        AUDITCODER_EXAMPLE_LIMIT=variable,
    )
    assert done.returncode == Exit.OK, done.stderr
    assert server.asked
    assert _recorded_limit(tmp_path) == recorded


@pytest.mark.parametrize("source", ["flag", "variable", "file"])
def test_every_source_rejects_an_invalid_value_of_a_new_option(
    run_copy: RunCopy, server: FaultServer, tmp_path: Path, source: str
) -> None:
    if source == "file":
        (tmp_path / "auditcoder.toml").write_text("example_limit = -1\n")
    flags = ["--example-limit", "-1"] if source == "flag" else []
    done = run_copy(
        *("-m", "auditcoder", "solve", DOUBLE, *flags),
        AUDITCODER_EXAMPLE_LIMIT="-1" if source == "variable" else "",
    )
    assert done.returncode == (Exit.USAGE if source == "flag" else Exit.UNREADABLE)
    assert "must be a non-negative integer" in done.stderr
    assert not server.asked


def test_a_run_with_a_new_option_is_replayed_with_its_recorded_value(
    run_copy: RunCopy, server: FaultServer
) -> None:
    solve = ("solve", DOUBLE, "--run-id", RUN, "--example-limit", "5")
    assert run_copy("-m", "auditcoder", *solve).returncode == Exit.OK
    requests = len(server.asked)
    done = run_copy("-m", "auditcoder", "replay", RUN, AUDITCODER_EXAMPLE_LIMIT="9")
    assert done.returncode == Exit.OK, done.stderr
    assert len(server.asked) == requests


def test_a_benchmark_run_records_a_new_option_and_is_not_repeated_with_another_value(
    run_copy: RunCopy, server: FaultServer, tmp_path: Path
) -> None:
    chosen = ("aerocomm", "--methods", "direct", "--ids", "crc16")
    bench = ("-m", "auditcoder", "bench", "run", *chosen, "--example-limit")
    done = run_copy(*bench, "5")
    assert done.returncode == Exit.OK, done.stderr
    assert _recorded_limit(tmp_path, BENCH_RUN) == "5"
    requests = len(server.asked)
    assert run_copy(*bench, "5").returncode == Exit.OK
    other = run_copy(*bench, "6")
    assert (other.returncode, "settings" in other.stderr) == (Exit.REFUSED, True)
    assert len(server.asked) == requests
