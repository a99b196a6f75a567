"""Hostile programs end as expected, leave no process and no change on the host, leave the next
run clean, and produce output that is safe to read."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from _pytest.mark import ParameterSet

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.adapters.sandboxes.isolation import Strength, strength_of
from auditcoder.domain.execution import Ending, Execution, ExecutionOutcome, Returned, RunProgram
from auditcoder.domain.values import digest
from tests.faults import corpus
from tests.faults.hostile import CORPUS, Hostile
from tests.support.campaigns import HOSTILE_PROGRAMS, spread

assert corpus  # importing it fills CORPUS
HUNG = 120.0
"""Seconds after which a process counts as hung."""
SECRET = b"the host's own secret"


class Host(NamedTuple):
    """The parts of this machine that must stay unchanged and unseen."""

    sandbox: LocalSandbox
    folder: Path
    victim: "subprocess.Popen[bytes]"
    others: frozenset[int]
    """Processes that earlier tests left in this worker."""

    def state(self) -> tuple[str, ...]:
        """Describe the files of the folder."""
        files = sorted(self.folder.rglob("*"))
        return tuple(
            f"{path.name} {path.stat().st_mode:o} {digest(path.read_bytes())}" for path in files
        )


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    folder.chmod(0o755)
    (folder / "secret").write_bytes(SECRET)
    others = frozenset(_descendants(os.getpid()))
    with (
        LocalSandbox() as sandbox,
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(900)"]) as victim,
    ):
        # Some programs would kill every process that a weaker sandbox does not hide.
        assert strength_of(sandbox.kind) is Strength.FULL
        yield Host(sandbox, folder, victim, others)
        victim.kill()


def _descendants(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):  # a process may end meanwhile
        for listing in Path(f"/proc/{pid}/task").glob("*/children"):
            children += map(int, listing.read_text().split())
    return [*children, *(below for child in children for below in _descendants(child))]


def _processes(host: Host) -> int:
    return len(set(_descendants(os.getpid())) - host.others)


def _check_readable(outcome: ExecutionOutcome) -> None:
    """Check that the outcome can be encoded, and its values decoded within limits."""
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=ExecutionOutcome) == outcome
    values = [call.value for call in outcome.calls if isinstance(call, Returned)]
    if not values:
        return
    reader = (
        "import sys, json\nfrom auditcoder.domain.value_decoder import read\n"
        "for text in json.load(sys.stdin):\n"
        "    try: read(text) == 42\n"
        "    except ValueError: pass\n"
    )
    subprocess.run(
        [sys.executable, "-c", reader],
        input=msgspec.json.encode(values),
        check=True,
        timeout=HUNG,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
    )


def _escaped(outcome: ExecutionOutcome) -> bool:
    """Whether the program printed ESCAPED; a traceback that quotes the line does not count."""
    errors = b"\n".join(
        line for line in outcome.stderr.splitlines() if b"print(" not in line.lower()
    )
    return b"ESCAPED" in outcome.stdout or b"ESCAPED" in errors


def _programs() -> list[ParameterSet]:
    """Return the corpus, with all but a few spread-out programs marked as a campaign."""
    few = spread(len(CORPUS), HOSTILE_PROGRAMS.small)
    return [
        pytest.param(program, id=program.name, marks=() if n in few else pytest.mark.campaign)
        for n, program in enumerate(CORPUS)
    ]


@pytest.mark.parametrize("program", _programs())
def test_a_hostile_program_does_not_escape_the_sandbox(program: Hostile, host: Host) -> None:
    before = host.state()
    outcome = host.sandbox.run(
        Execution(source=program.source, action=program.action, bounds=program.bounds)
    )
    assert not _escaped(outcome), outcome
    assert outcome.ending in program.endings, outcome
    assert host.state() == before
    assert host.victim.poll() is None
    assert SECRET not in outcome.stdout + outcome.stderr
    _check_readable(outcome)
    after = host.sandbox.run(
        Execution(source="import os; print(os.listdir(), 6 * 7)", action=RunProgram())
    )
    assert (after.ending, after.stdout) == (Ending.OK, b"[] 42\n")


def test_the_corpus_has_at_least_80_distinct_programs() -> None:
    names = [program.name for program in CORPUS]
    assert len(set(names)) == len(names) >= 80


def test_no_process_of_a_hostile_program_survives(host: Host) -> None:
    """Only the worker, its shell, and a spare supervisor and candidate remain."""
    host.sandbox.run(Execution(source="pass", action=RunProgram()))
    hung_at = time.monotonic() + HUNG
    while _processes(host) > 6 + 1 and time.monotonic() < hung_at:  # and the victim
        time.sleep(0.05)
    assert _processes(host) <= 6 + 1
