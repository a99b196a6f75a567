"""Recombination: parts of several drafts give a better program, without a request."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.events import DraftChosen, RunOutcome, VariantTried
from auditcoder.domain.task import ClassForm, CodeExample, Task
from auditcoder.lifecycle.options import Options, Planner
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripted_runs import FinishedRun, python, run, sandboxed

NAMES = ("one", "two", "three")
SKELETON = "class C:\n" + "".join(f"    def {name}(self):\n        ...\n\n" for name in NAMES)
TASK = Task(
    title="C",
    statement="Write the class C.",
    form=ClassForm(name="C", skeleton=SKELETON),
    examples=tuple(
        CodeExample(code=f"assert C().{name}() == {number}\n")
        for number, name in enumerate(NAMES, start=1)
    ),
)


def draft(*values: int) -> str:
    """Return a class whose methods return these values; 1, 2 and 3 are right."""
    methods = (
        f"    def {name}(self):\n        return {value}\n"
        for name, value in zip(NAMES, values, strict=True)
    )
    return python("class C:\n" + "".join(methods))


def solve(sandbox: Sandbox, *drafts: str, runs: int = 60) -> FinishedRun:
    options = Options(planner=Planner.TASK, drafts=len(drafts), max_search_runs=runs, max_repairs=0)
    return run(sandbox, TASK, {"draft": drafts}, options)


def tried(finished: FinishedRun) -> list[dict[str, int]]:
    return [{str(n): s for n, s in e.versions.items()} for e in finished.all(VariantTried)]


def test_the_right_method_of_each_draft_is_found(sandbox: Sandbox) -> None:
    finished = solve(sandbox, draft(1, 0, 0), draft(0, 2, 0), draft(0, 0, 3))
    assert finished.outcome is RunOutcome.PASSED
    (chosen,) = finished.all(DraftChosen)
    assert chosen.versions == {"S1": 1, "S2": 2, "S3": 3}
    assert finished.prompts == ["draft"] * 3


def test_nothing_is_searched_if_a_draft_passes(sandbox: Sandbox) -> None:
    finished = solve(sandbox, draft(0, 2, 3), draft(1, 2, 3))
    assert tried(finished) == [{"S1": n, "S2": n, "S3": n} for n in (1, 2)]


def test_versions_that_are_the_same_code_are_tried_once(sandbox: Sandbox) -> None:
    finished = solve(sandbox, draft(0, 0, 0), draft(0, 0, 0), draft(9, 0, 0))
    assert tried(finished)[3:] == [{"S1": 3, "S2": 1, "S3": 1}]


@pytest.mark.parametrize("runs", [0, 1, 3])
def test_the_search_ends_after_its_runs(sandbox: Sandbox, runs: int) -> None:
    finished = solve(sandbox, draft(0, 0, 0), draft(9, 9, 9), draft(8, 8, 8), runs=runs)
    assert len(tried(finished)) == 3 + runs


def test_without_an_improvement_the_first_draft_stays(sandbox: Sandbox) -> None:
    finished = solve(sandbox, draft(1, 0, 0), draft(9, 8, 7))
    (chosen,) = finished.all(DraftChosen)
    assert chosen.versions == {"S1": 1, "S2": 1, "S3": 1}
    assert finished.outcome is RunOutcome.FAILED


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()
