"""Doubts about passing programs: who is wrong, the program or a generated check that it fails.

Each run here verifies and replays to the same head; `run` checks that.
"""

import json
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from auditcoder.adapters.models.scripted import Line
from auditcoder.domain.events import Adjudicated, CheckDropped, Ruling, RunFinished, RunOutcome
from auditcoder.domain.repair import Decision
from auditcoder.domain.request import GENEROUS, TIGHT, Request, TokenLimits, Traits
from auditcoder.domain.targets import AtNode
from auditcoder.lifecycle.options import AutoSwitch, LocatorName, Options
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import ADD, ADDS, READ, READS, S2, TASK, promising, targets
from tests.support.scripted_runs import (
    FinishedRun,
    ScriptedReplies,
    costly,
    python,
    resume_after,
    run,
    sandboxed,
    stub,
)
from tests.support.sketched_runs import sketching

ASKING = sketching(adjudication=AutoSwitch.ON, review=False)
RIGHT = "def solve(data):\n    return str(sum(int(word) for word in data.split()))\n"
FORGETS_SIGNS = "def add_up(numbers):\n    return sum(abs(n) for n in numbers)\n"
"""Passes the examples of the task, which have no negative number."""


def sketch(*cases: tuple[str, str]) -> str:
    """Return the sketch with cases that the planner expects the program to pass."""
    facts = [f"example: solve({given!r}) == {expected!r}" for given, expected in cases]
    solve = stub("solve(data: str) -> str", "Solve.", *facts)
    return python(READ + ADD + solve.replace("...", "return str(add_up(read_numbers(data)))"))


def answers(right: str) -> Callable[[Request], str]:
    """Return a model that says that this result is right, wherever it is shown."""

    def reply(request: Request) -> str:
        text = request.messages[-1].text
        shown = {
            letter: text.split(f"Result {letter}:\n")[1].split("\n\n")[0] for letter in ("A", "B")
        }
        side = next((letter for letter, value in shown.items() if value == right), "neither")
        return json.dumps({"derivation": "added by hand", "right": side})

    return reply


def solved(
    sandbox: Sandbox,
    cases: tuple[tuple[str, str], ...],
    adds: str,
    options: Options = ASKING,
    **said: Line,
) -> FinishedRun:
    replies: ScriptedReplies = {
        "sketch": sketch(*cases),
        "joint": python(READS + adds),
        "independent": python(RIGHT),
        "repair_node": python(ADDS),
        **said,
    }
    return run(sandbox, TASK, replies, options, locator=LocatorName.WEIGHED)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestSettlingDoubts:
    def test_a_check_that_is_wrong_is_dropped_and_the_program_stays(self, sandbox: Sandbox) -> None:
        finished = solved(sandbox, (("4 5", "10"),), ADDS, adjudicator=answers("9"))
        assert finished.prompts == ["sketch", "joint", "independent", "adjudicator"]
        (event,) = finished.all(Adjudicated)
        assert event.ruling is Ruling.CHECK_WRONG
        assert [o.source for o in event.opinions] == ["independent implementation", "model"]
        gives = "the independent implementation gives the result of the program"
        assert event.opinions[0].reason == gives
        assert gives in event.reason
        (dropped,) = finished.all(CheckDropped)
        assert (dropped.check, dropped.reason) == (event.check, event.reason)
        assert finished.history == ()
        assert finished.solution.doubts == ()

    def test_a_program_that_is_wrong_is_repaired_within_one_node(self, sandbox: Sandbox) -> None:
        case = ("-1 -2 -3", "-6")
        finished = solved(
            sandbox,
            (case,),
            FORGETS_SIGNS,
            adjudicator=answers("-6"),
            second_opinion=python(READS + ADDS),
        )
        (event,) = finished.all(Adjudicated)
        assert event.ruling is Ruling.PROGRAM_WRONG
        (done,) = finished.history
        assert done.decision is Decision.ACCEPTED
        assert targets(finished) == [AtNode(node=S2)]
        assert finished.code("S2") == ADDS
        assert finished.solution.doubts == ()

    def test_a_program_that_no_part_can_be_blamed_for_keeps_the_doubt(
        self, sandbox: Sandbox
    ) -> None:
        finished = solved(
            sandbox,
            (("-1 -2 -3", "-6"),),
            FORGETS_SIGNS,
            adjudicator=answers("-6"),
            second_opinion="I cannot.",
        )
        assert finished.outcome is RunOutcome.PASSED
        assert finished.history == ()
        (doubt,) = finished.solution.doubts
        assert doubt.line.endswith("got '6' (program wrong)")

    def test_opinions_that_differ_leave_a_named_doubt(self, sandbox: Sandbox) -> None:
        finished = solved(sandbox, (("4 5", "10"),), ADDS, adjudicator=answers("10"))
        (event,) = finished.all(Adjudicated)
        assert event.ruling is Ruling.UNDECIDED
        assert finished.outcome is RunOutcome.PASSED
        (doubt,) = finished.solution.doubts
        assert doubt.line == f"{event.check} expects '10' for '4 5', got '9' (undecided)"
        assert doubt.reason == event.reason
        assert finished.all(RunFinished)[0].doubts == (event.check,)

    def test_no_opinion_alone_changes_anything(self, sandbox: Sandbox) -> None:
        finished = solved(
            sandbox, (("4 5", "10"),), ADDS, adjudicator=answers("9"), independent="I cannot."
        )
        (event,) = finished.all(Adjudicated)
        assert [o.source for o in event.opinions] == ["model"]
        assert event.ruling is Ruling.UNDECIDED

    def test_an_independent_implementation_that_fails_an_example_decides_nothing(
        self, sandbox: Sandbox
    ) -> None:
        wrong = python("def solve(data):\n    return '10'\n")
        finished = solved(
            sandbox, (("4 5", "10"),), ADDS, adjudicator=answers("10"), independent=wrong
        )
        (event,) = finished.all(Adjudicated)
        assert event.ruling is Ruling.UNDECIDED
        assert event.opinions[0].reason == ("the independent implementation fails example-1 itself")
        assert finished.history == ()

    def test_the_model_is_not_told_whose_result_is_whose(self, sandbox: Sandbox) -> None:
        cases = tuple((f"{n} 1", f"{n}") for n in range(3))
        finished = solved(sandbox, cases, ADDS, adjudicator=answers("none of them"))
        texts = [r.messages[-1].text for name, r in finished.asked if name == "adjudicator"]
        firsts = [text.split("Result A:\n")[1].split("\n")[0] for text in texts]
        programs = [str(n + 1) for n in range(3)]
        assert 0 < sum(a == b for a, b in zip(firsts, programs, strict=True)) < len(cases)
        case = texts[0].split("# A disputed case")[1]
        assert "program" not in case
        assert "check" not in case

    def test_the_independent_implementation_is_requested_once(self, sandbox: Sandbox) -> None:
        cases = (("4 5", "10"), ("4 6", "11"))
        finished = solved(sandbox, cases, ADDS, adjudicator=answers("nothing"))
        assert finished.prompts.count("independent") == 1
        assert finished.prompts.count("adjudicator") == 2

    def test_the_number_of_rulings_is_bounded(self, sandbox: Sandbox) -> None:
        cases = (("4 5", "10"), ("4 6", "11"))
        options = replace(ASKING, max_adjudications=1)
        finished = solved(sandbox, cases, ADDS, options, adjudicator=answers("9"))
        assert len(finished.all(Adjudicated)) == 1
        assert len(finished.solution.doubts) == 1

    def test_nothing_is_asked_of_a_model_that_costs_nothing(self, sandbox: Sandbox) -> None:
        finished = solved(sandbox, (("4 5", "10"),), ADDS, sketching())
        assert finished.prompts == ["sketch", "joint"]
        (doubt,) = finished.solution.doubts
        assert doubt.line.endswith("expects '10' for '4 5', got '9'")

    def test_nothing_is_asked_if_every_check_passes(self, sandbox: Sandbox) -> None:
        finished = solved(sandbox, (("4 5", "9"),), ADDS)
        assert finished.prompts == ["sketch", "joint"]

    def test_a_spent_budget_leaves_the_doubt_open(self, sandbox: Sandbox) -> None:
        options = replace(ASKING, budget_tokens=50_000)
        spent = costly(python(READS + ADDS), 50_000)
        finished = solved(sandbox, (("4 5", "10"),), ADDS, options, joint=spent)
        assert finished.outcome is RunOutcome.PASSED
        (event,) = finished.all(Adjudicated)
        assert (event.ruling, event.opinions) == (Ruling.UNDECIDED, ())
        assert "budget" in event.reason
        assert len(finished.solution.doubts) == 1

    def test_an_interrupted_adjudication_is_resumed(self, sandbox: Sandbox) -> None:
        whole = solved(sandbox, (("4 5", "10"),), ADDS, adjudicator=answers("9"))
        events = whole.raw.events()
        ruling = next(n for n, e in enumerate(events) if isinstance(e, Adjudicated))
        for entries in range(ruling - 2, len(events)):
            solution, _ = resume_after(whole, entries, sandbox)
            assert solution.outcome is RunOutcome.PASSED
            assert solution.trace.rulings[0].ruling.ruling is Ruling.CHECK_WRONG
            assert solution.doubts == ()


class TestDoubtsAboutOneNode:
    """Examples of a function's contract, which no example of the task contradicts."""

    def solved(self, sandbox: Sandbox, fact: str, adds: str, right: str) -> FinishedRun:
        replies: ScriptedReplies = {
            "sketch": promising(f"example: {fact}"),
            "joint": python(READS + adds),
            "independent": python(ADDS),
            "adjudicator": answers(right),
        }
        return run(sandbox, TASK, replies, ASKING)

    def test_an_example_that_is_wrong_is_dropped(self, sandbox: Sandbox) -> None:
        finished = self.solved(sandbox, "add_up([-2, 5]) == 7", ADDS, "3")
        (event,) = finished.all(Adjudicated)
        assert event.ruling is Ruling.CHECK_WRONG
        assert event.check.startswith("S2.example")
        assert finished.solution.doubts == ()
        assert "add_up(numbers: list[int]) -> int" in finished.request("independent")

    def test_a_function_that_is_wrong_stays_a_doubt_because_no_check_of_the_program_fails(
        self, sandbox: Sandbox
    ) -> None:
        finished = self.solved(sandbox, "add_up([-2, 5]) == 3", FORGETS_SIGNS, "3")
        (event,) = finished.all(Adjudicated)
        assert event.ruling is Ruling.PROGRAM_WRONG
        assert finished.history == ()
        (doubt,) = finished.solution.doubts
        assert doubt.line.endswith("expects '3' for '[-2, 5]', got '7' (program wrong)")


@pytest.mark.parametrize(
    ("switch", "limits", "decided"),
    [
        (AutoSwitch.AUTO, TIGHT, AutoSwitch.OFF),
        (AutoSwitch.AUTO, GENEROUS, AutoSwitch.ON),
        (AutoSwitch.ON, TIGHT, AutoSwitch.ON),
        (AutoSwitch.OFF, GENEROUS, AutoSwitch.OFF),
    ],
)
def test_small_models_are_asked_only_on_request(
    switch: AutoSwitch, limits: TokenLimits, decided: AutoSwitch
) -> None:
    options = sketching(adjudication=switch, edge_cases=switch).decided(Traits(limits=limits))
    assert (options.adjudication, options.edge_cases) == (decided, decided)
