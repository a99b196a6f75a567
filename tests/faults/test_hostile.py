"""Hostile programs end as expected, leave no process and no change on the host, leave the next
run clean, and produce output that is safe to read.

They run in the full sandbox and as in a container, where only Landlock and seccomp remain.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet

from auditcoder.adapters.sandboxes.forkserver import LAYERS, LocalSandbox
from auditcoder.adapters.sandboxes.isolation import Strength, strength_of
from auditcoder.domain.execution import Ending, Execution, RunProgram
from auditcoder.domain.values import digest
from tests.faults import corpus, machine_corpus
from tests.faults.hostile import CORPUS, HUNG, Hostile, Result, attacked
from tests.support.campaigns import HOSTILE_PROGRAMS, spread

assert corpus, machine_corpus  # importing them fills CORPUS
CONTAINER = ("landlock", "seccomp")
"""The layers that most containers leave."""
SECRET = b"the host's own secret"


class Host(NamedTuple):
    """The parts of this machine that must stay unchanged and unseen."""

    sandbox: LocalSandbox
    folder: Path
    victim: "subprocess.Popen[bytes]"

    def state(self) -> tuple[str, ...]:
        """Describe the files of the folder."""
        files = sorted(self.folder.rglob("*"))
        return tuple(
            f"{path.name} {path.stat().st_mode:o} {digest(path.read_bytes())}" for path in files
        )


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with _host(tmp_path_factory, LAYERS) as host:
        # Some programs would kill every process that a weaker sandbox does not hide.
        assert strength_of(host.sandbox.kind) is Strength.FULL
        yield host


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with _host(tmp_path_factory, CONTAINER) as host:
        assert host.sandbox.kind == "landlock+seccomp+rlimits"
        yield host


@contextmanager
def _host(tmp_path_factory: pytest.TempPathFactory, layers: tuple[str, ...]) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    folder.chmod(0o755)
    (folder / "secret").write_bytes(SECRET)
    with (
        LocalSandbox(layers=layers) as sandbox,
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"]) as victim,
    ):
        yield Host(sandbox, folder, victim)
        victim.kill()


def _descendants(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):  # a process may end meanwhile
        for listing in Path(f"/proc/{pid}/task").glob("*/children"):
            children += map(int, listing.read_text().split())
    return [*children, *(below for child in children for below in _descendants(child))]


def _programs() -> list[ParameterSet]:
    """Return the corpus, with all but a few spread-out programs marked as a campaign."""
    few = spread(len(CORPUS), HOSTILE_PROGRAMS.small)
    return [
        pytest.param(program, id=program.name, marks=() if n in few else pytest.mark.campaign)
        for n, program in enumerate(CORPUS)
    ]


@pytest.mark.parametrize("program", _programs())
def test_a_hostile_program_does_not_escape_the_sandbox(program: Hostile, host: Host) -> None:
    _check(program, host, Result.CONTAINED)


@pytest.mark.parametrize("program", _programs())
def test_in_a_container_a_hostile_program_achieves_no_more_than_is_documented(
    program: Hostile, container: Host
) -> None:
    _check(program, container, Result.LEAKED if program.without_namespaces else Result.CONTAINED)


def _check(program: Hostile, host: Host, expected: Result) -> None:
    before = host.state()
    result, outcome = attacked(host.sandbox, program)
    assert result is expected, outcome
    assert outcome is not None
    assert result is Result.LEAKED or outcome.ending in program.endings, outcome
    assert host.state() == before
    assert host.victim.poll() is None
    assert SECRET not in outcome.stdout + outcome.stderr
    after = host.sandbox.run(
        Execution(source="import os; print(os.listdir(), 6 * 7)", action=RunProgram())
    )
    assert (after.ending, after.stdout) == (Ending.OK, b"[] 42\n")


def test_every_leak_of_a_container_is_documented() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "sandbox.md"
    text = " ".join(guide.read_text(encoding="utf-8").split())
    reasons = {program.without_namespaces for program in CORPUS if program.without_namespaces}
    assert {reason for reason in reasons if reason not in text} == set()


def test_the_corpus_has_at_least_80_distinct_programs() -> None:
    names = [program.name for program in CORPUS]
    assert len(set(names)) == len(names) >= 80


@pytest.mark.parametrize("layers", [LAYERS, CONTAINER], ids=["full", "container"])
def test_no_process_of_a_hostile_program_survives(layers: tuple[str, ...]) -> None:
    """Only the worker, its shell, and a spare supervisor and candidate remain."""
    before = set(_descendants(os.getpid()))

    def remaining(most: int) -> set[int]:
        hung_at = time.monotonic() + HUNG
        while len(left := set(_descendants(os.getpid())) - before) > most:
            if time.monotonic() > hung_at:
                break
            time.sleep(0.05)
        return left

    with LocalSandbox(layers=layers) as sandbox:
        for number in spread(len(CORPUS), HOSTILE_PROGRAMS.small):
            attacked(sandbox, CORPUS[number])
        sandbox.run(Execution(source="pass", action=RunProgram()))
        assert len(remaining(6)) <= 6
    assert remaining(0) == set()
