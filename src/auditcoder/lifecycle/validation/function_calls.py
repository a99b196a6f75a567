"""Calls functions of a module in the sandbox and reads their results."""

from contextlib import suppress

from auditcoder.domain.evidence import Verdict
from auditcoder.domain.execution import (
    Bounds,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    Returned,
)
from auditcoder.domain.python_names import LITERAL_ERRORS, literal_value
from auditcoder.domain.value_decoder import read
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import VERDICTS

NODE_BOUNDS = Bounds(seconds=3.0)
"""The resource limits of a check of one node."""

NO_VALUE = object()
"""What an example expects that names no value; it equals no result."""
UNKNOWN_RESULT = "the expected result cannot be evaluated without the program"


def run_calls(
    context: RunContext, source: str, calls: tuple[str, ...], bounds: Bounds
) -> ExecutionOutcome:
    """Load a module and make the calls, one after another."""
    return context.sandbox.run(
        Execution(source=source, action=CallFunction(calls=calls), bounds=bounds)
    )


def value_of(text: str) -> object:
    """Return the value that a call returned; its text if it cannot be decoded."""
    try:
        return read(text)
    except ValueError:
        return text


def expected_value(context: RunContext, text: str) -> object:
    """Return the expected value of an example; `NO_VALUE` if it cannot be evaluated.

    An expression that is no literal is evaluated in a run of its own, without the program.
    """
    try:
        return literal_value(text)
    except LITERAL_ERRORS:
        pass
    outcome = context.sandbox.run(Execution(source="", action=CallFunction(calls=(text,))))
    match outcome.calls:
        case (Returned(value=value),) if outcome.ending is Ending.OK:
            with suppress(ValueError):  # it is too large
                return read(value)
    return NO_VALUE


def ended(outcome: ExecutionOutcome) -> Verdict:
    """Return the verdict on a run that ended before its call returned."""
    return Verdict.CRASH if outcome.ending is Ending.OK else VERDICTS[outcome.ending]
