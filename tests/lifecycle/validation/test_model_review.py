"""A model's verdict on each function that took part in a failing case."""

from collections.abc import Sequence
from typing import cast

import pytest
from msgspec.structs import replace

from auditcoder.domain.contract import Contract
from auditcoder.domain.events import CheckDropped
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Ending, ExecutionOutcome
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtProgram
from auditcoder.domain.task import StdioExample
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validation.check_recorder import CheckObservation, record
from auditcoder.lifecycle.validation.model_review import review
from auditcoder.lifecycle.validation.program_checks import check_for
from tests.support.checked_programs import PROGRAM_TASK, WrittenFunction, written_program
from tests.support.scripted_runs import opinions
from tests.support.sketched_runs import sketching

EXAMPLE = StdioExample(input="1\n", output="2\n")
TASK = replace(PROGRAM_TASK, examples=(EXAMPLE,))
FUNCTIONS = [
    WrittenFunction(Contract(name=n, params=()), f"def {n}():\n    return 1\n") for n in "fg"
]
ROOT_CODE = "def solve(data: str) -> str:\n    return str(f() + g())\n"


def reviewed(
    *replies: str,
    ran: Sequence[str] = ("S1", "S2"),
    options: Options | None = None,
    dropped: Sequence[str] = (),
) -> list[Evidence]:
    """Review a program whose only example failed while some nodes ran."""
    with written_program(
        cast("Sandbox", None), FUNCTIONS, ROOT_CODE, TASK, replies=replies, options=options
    ) as context:
        check = check_for(CheckId("example-1"), AtProgram(), Trust.GIVEN, EXAMPLE)
        outcome = ExecutionOutcome(ending=Ending.OK, sandbox="test", exit_code=0)
        seen = CheckObservation(
            Verdict.FAILED, "wrong", "3\n", outcome, ran=tuple(map(NodeId, ran))
        )
        failing = record(context, check, lambda: seen)
        for name in dropped:
            review(context, failing)
            context.recorder.record(CheckDropped(check=CheckId(name), reason="it is wrong"))
        return review(context, failing)


@pytest.mark.parametrize("word", ["reject", " Rejected", "wrong", "incorrect"])
def test_a_rejection_is_a_failed_check_of_the_node(word: str) -> None:
    seen = reviewed(opinions(f=word, g="accept"))
    assert [(e.check, e.verdict) for e in seen] == [
        ("S1.review", Verdict.FAILED),
        ("S2.review", Verdict.PASSED),
    ]
    assert {(e.kind, e.trust, e.judge, e.message) for e in seen} == {
        (CheckKind.REVIEW, Trust.GENERATED, "verifier", "I see")
    }


@pytest.mark.parametrize("word", ["unsure", "", "accept or reject"])
def test_a_verdict_for_neither_side_is_no_opinion(word: str) -> None:
    assert [e.check for e in reviewed(opinions(f=word, g="accept"))] == ["S2.review"]


def test_functions_without_an_opinion_have_no_check() -> None:
    assert [e.check for e in reviewed(opinions(g="reject", h="reject"))] == ["S2.review"]


def test_the_first_of_two_opinions_on_a_function_counts() -> None:
    twice = (
        '{"opinions": [{"function": "`f()`", "verdict": "accept", "reason": "a"},'
        ' {"function": "f", "verdict": "reject", "reason": "b"}]}'
    )
    (seen,) = reviewed(twice)
    assert (seen.verdict, seen.message) == (Verdict.PASSED, "a")


def test_a_dropped_opinion_is_not_given_again() -> None:
    twice = [opinions(f="reject", g="reject")] * 2
    assert [e.check for e in reviewed(*twice, dropped=["S1.review"])] == ["S2.review"]


def test_no_opinion_is_asked_for_where_one_function_ran() -> None:
    assert reviewed(ran=("S1",)) == []


def test_no_opinion_is_asked_for_unless_the_option_is_set() -> None:
    assert reviewed(options=sketching(review=False)) == []


def test_an_unusable_reply_gives_no_evidence() -> None:
    assert reviewed("no", "still no") == []
