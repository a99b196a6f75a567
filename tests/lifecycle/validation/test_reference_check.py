"""A node is compared with a slow reference, which a model writes, on small inputs."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.events import CheckDropped
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.response_formats import FormatMismatch
from auditcoder.lifecycle.validation.reference_check import (
    reference_shape,
    validate_differential,
)
from tests.support.checked_programs import WrittenFunction, written_program
from tests.support.scripted_runs import python, sandboxed
from tests.support.sketched_runs import sketching

CONTRACT = Contract(name="double", params=(Param(name="x", type="int"),), returns="int")
ROOT_CODE = "def solve(data: str) -> str:\n    return str(double(int(data)))\n"
REFERENCE = """\
def double(x):
    return x + x


def small_input(rng):
    return (rng.randint(1, 9),)
"""
DIFFERENTIAL = sketching(differential=True)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def compared(
    sandbox: Sandbox, body: str, *replies: str, options: Options = DIFFERENTIAL, node: str = "S1"
) -> list[Evidence]:
    function = WrittenFunction(CONTRACT, f"def double(x):\n    {body}\n")
    with written_program(
        sandbox, [function], ROOT_CODE, replies=replies, options=options
    ) as context:
        return validate_differential(context, NodeId(node))


@pytest.mark.parametrize(
    ("body", "verdict", "message"),
    [
        ("return 2 * x", Verdict.PASSED, "they agree on 20 of 20 inputs"),
        ("return 3 * x", Verdict.FAILED, ", the reference "),
        ("raise ValueError('no')", Verdict.CRASH, "raises ValueError: no"),
    ],
)
def test_a_node_is_compared_with_the_reference(
    sandbox: Sandbox, body: str, verdict: Verdict, message: str
) -> None:
    (seen,) = compared(sandbox, body, python(REFERENCE))
    assert seen.verdict is verdict
    assert message in seen.message
    assert (seen.kind, seen.trust) == (CheckKind.DIFFERENTIAL, Trust.GENERATED)
    assert seen.check.startswith("S1.differential-")


def test_a_dropped_comparison_does_not_run_again(sandbox: Sandbox) -> None:
    function = WrittenFunction(CONTRACT, "def double(x):\n    return 3 * x\n")
    replies = [python(REFERENCE)] * 2
    with written_program(
        sandbox, [function], ROOT_CODE, replies=replies, options=DIFFERENTIAL
    ) as context:
        (seen,) = validate_differential(context, NodeId("S1"))
        context.recorder.record(CheckDropped(check=seen.check, reason="it is wrong"))
        assert validate_differential(context, NodeId("S1")) == []


def test_a_reference_that_makes_no_input_decides_nothing(sandbox: Sandbox) -> None:
    failing = REFERENCE.replace("return (rng", "return 1 / 0, (rng")
    (seen,) = compared(sandbox, "return 0", python(failing))
    assert (seen.verdict, seen.exit_code) == (Verdict.NOT_RUN, None)
    why = "the reference made no usable case: it raises ZeroDivisionError: division by zero"
    assert seen.message == why


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("return x + x", "return 1 << 5_000_000", "it ended with output limit"),
        ("def double", "import os\n\nos._exit(3)\n\n\ndef double", "it ended with wrong exit"),
    ],
)
def test_it_is_said_why_a_reference_makes_no_case(
    sandbox: Sandbox, old: str, new: str, why: str
) -> None:
    (seen,) = compared(sandbox, "return 0", python(REFERENCE.replace(old, new)))
    assert (seen.verdict, seen.message.partition(": ")[2]) == (Verdict.NOT_RUN, why)


def test_a_comparison_says_on_how_many_inputs_it_was_made(sandbox: Sandbox) -> None:
    some = REFERENCE.replace("return (rng.randint(1, 9),)", "return (1 // rng.choice([0, 1]),)")
    (seen,) = compared(sandbox, "return 2 * x", python(some))
    assert seen.verdict is Verdict.PASSED
    assert seen.tried is not None
    assert 0 < seen.tried < 20
    assert seen.message == f"they agree on {seen.tried} of 20 inputs"


def test_an_unusable_reply_leaves_the_node_without_the_check(sandbox: Sandbox) -> None:
    assert compared(sandbox, "return 0", "no code", "still none") == []


def test_no_reference_is_asked_for_unless_the_option_is_set(sandbox: Sandbox) -> None:
    assert compared(sandbox, "return 0", options=sketching(differential=False)) == []


def test_the_root_is_not_compared(sandbox: Sandbox) -> None:
    assert compared(sandbox, "return 0", node=ROOT) == []


class TestReferenceFormat:
    def read(self, code: str) -> str:
        reply = Reply(text=python(code), finish=FinishReason.STOP, usage=Usage(), model="m")
        return reference_shape(CONTRACT).read(reply)

    def test_missing_imports_are_completed(self) -> None:
        code = REFERENCE.replace("x + x", "math.floor(x + x)")
        assert self.read(code).startswith("import math\n")

    @pytest.mark.parametrize(
        ("old", "new", "why"),
        [
            ("def double(x)", "def double(y)", "parameters are"),
            ("def double(x)", "def triple(x)", "double"),
            ("small_input", "inputs", "there is no function small_input in it"),
        ],
    )
    def test_a_reference_without_its_two_functions_is_refused(
        self, old: str, new: str, why: str
    ) -> None:
        with pytest.raises(FormatMismatch, match=why):
            self.read(REFERENCE.replace(old, new))
