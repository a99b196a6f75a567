"""Calls functions of a module in the sandbox and reads their results."""

from auditcoder.domain.evidence import Verdict
from auditcoder.domain.execution import Bounds, CallFunction, Ending, Execution, ExecutionOutcome
from auditcoder.domain.value_decoder import read
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import VERDICTS

NODE_BOUNDS = Bounds(seconds=3.0)
"""The resource limits of a check of one node."""


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


def ended(outcome: ExecutionOutcome) -> Verdict:
    """Return the verdict on a run that ended before its call returned."""
    return Verdict.CRASH if outcome.ending is Ending.OK else VERDICTS[outcome.ending]
