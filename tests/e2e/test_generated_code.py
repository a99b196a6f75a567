"""What a model writes runs in the sandbox only: nothing of it takes effect outside."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from auditcoder.domain.events import CheckRan, RunOutcome
from auditcoder.domain.evidence import CheckKind
from auditcoder.domain.task import CallExample
from auditcoder.lifecycle.options import LocatorName
from auditcoder.lifecycle.ports import Sandbox
from tests.support.adder_task import ROOT, TASK, function
from tests.support.scripted_runs import (
    ScriptedReplies,
    opinions,
    python,
    run,
    sandboxed,
    stub,
)
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def leaving(folder: Path, name: str) -> str:
    """Return an expression that leaves a file, and whose value is true."""
    return f"[open({str(folder / name)!r}, 'w')]"


def leaving_if_possible(folder: Path, name: str, code: str) -> str:
    """Return a function that leaves a file, or does only its work where it cannot."""
    header, _, body = code.partition("\n")
    attempt = f"    try: {leaving(folder, name)}\n    except OSError: pass\n"
    return f"{header}\n{attempt}{body}"


def test_code_clauses_references_and_examples_leave_nothing_outside_the_sandbox(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    read = leaving_if_possible(
        tmp_path, "read", "def read(text):\n    return [int(word) for word in text.split()]\n"
    )
    good, bad, slow = (
        leaving_if_possible(tmp_path, name, f"def add(numbers):\n    return sum(numbers{part})\n")
        for name, part in (("good", ""), ("bad", "[1:]"), ("slow", "[:]"))
    )
    made = leaving_if_possible(
        tmp_path, "made", "def small_input(rng):\n    return ([rng.randint(0, 9)],)\n"
    )
    sketch = (
        stub("read(text: str) -> list[int]", "Read the numbers.")
        + stub(
            "add(numbers: list[int]) -> int",
            "Add them up.",
            f"requires: all(isinstance(n, int) for n in numbers) or {leaving(tmp_path, 'asked')}",
            "ensures: result == sum(numbers)",
            f"ensures: {leaving(tmp_path, 'promised')}",
            f"example: add({leaving(tmp_path, 'argument')} and [1]) == 1",
        )
        + ROOT
    )
    replies: ScriptedReplies = {
        "sketch": python(sketch),
        "joint": python(read + bad),
        "brute_force": python(slow + made),
        "second_opinion": python(read + good),
        "verdict": opinions(add="fail", read="pass"),
        "repair_node": lambda request: function(request, read, good),
    }
    expected = CallExample(arguments="'4'", result=f"{leaving(tmp_path, 'expected')} and 4")
    task = replace(TASK, examples=(*TASK.examples, expected))
    options = sketching(differential=True, review=True, max_repairs=2)
    finished = run(sandbox, task, replies, options, locator=LocatorName.WEIGHED)
    kinds = {event.evidence.kind for event in finished.all(CheckRan)}
    assert kinds >= {CheckKind.CLUE, CheckKind.CONTRACT, CheckKind.DIFFERENTIAL, CheckKind.EXAMPLE}
    assert finished.history, "the wrong program was repaired"
    assert finished.outcome is not RunOutcome.STOPPED
    assert list(tmp_path.iterdir()) == []
    subprocess.run([sys.executable, "-c", f"{finished.program}\ntotal('1')"], check=True)
    assert {path.name for path in tmp_path.iterdir()} == {"read", "good"}, "outside, it does"
