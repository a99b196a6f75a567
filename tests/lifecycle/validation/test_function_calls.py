"""Functions of a module are called in the sandbox, and their results are read."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.contract import Contract
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.execution import Bounds, Ending, ExecutionOutcome, Raised, Returned
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validation.function_calls import ended, run_calls, value_of
from tests.support.checked_programs import WrittenFunction, written_program
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_calls_are_made_one_after_another_in_one_module(sandbox: Sandbox) -> None:
    source = "seen = []\ndef f(x):\n    seen.append(x)\n    return seen\n"
    unused = WrittenFunction(Contract(name="g", params=()), "def g():\n    return 1\n")
    with written_program(sandbox, [unused], "def solve(data):\n    return data\n") as context:
        outcome = run_calls(context, source, ("f(1)", "f(1 / 0)", "f(2)"), Bounds(seconds=5.0))
    first, second, third = outcome.calls
    assert isinstance(first, Returned)
    assert value_of(first.value) == [1]
    assert isinstance(second, Raised)
    assert second.exception == "ZeroDivisionError"
    assert isinstance(third, Returned)
    assert value_of(third.value) == [1, 2]


def test_a_value_that_cannot_be_read_is_its_text() -> None:
    assert value_of("not a value") == "not a value"


@pytest.mark.parametrize(
    ("ending", "verdict"),
    [
        (Ending.OK, Verdict.CRASH),
        (Ending.EXCEPTION, Verdict.CRASH),
        (Ending.TIMEOUT, Verdict.TIMEOUT),
        (Ending.MEMORY, Verdict.MEMORY),
        (Ending.KILLED, Verdict.CRASH),
    ],
)
def test_a_run_without_a_result_never_passes(ending: Ending, verdict: Verdict) -> None:
    assert ended(ExecutionOutcome(ending=ending, sandbox="none")) is verdict
