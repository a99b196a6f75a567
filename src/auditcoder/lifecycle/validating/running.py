"""Calling a module's functions in the sandbox, and reading what came of it."""

from auditcoder.domain.evidence import Verdict
from auditcoder.domain.execution import Bounds, CallFunction, Ending, Execution, Outcome
from auditcoder.domain.observed import read
from auditcoder.lifecycle.validating.evidence import VERDICTS
from auditcoder.lifecycle.workshop import Workshop

NODE_BOUNDS = Bounds(seconds=3.0)
"""What a check of one node may use."""


def run_calls(workshop: Workshop, source: str, calls: tuple[str, ...], bounds: Bounds) -> Outcome:
    """Load a module and make the calls, one after another."""
    return workshop.sandbox.run(
        Execution(source=source, action=CallFunction(calls=calls), bounds=bounds)
    )


def value_of(text: str) -> object:
    """Return the value that a call gave back; its text if it cannot be read."""
    try:
        return read(text)
    except ValueError:
        return text


def ended(outcome: Outcome) -> Verdict:
    """Judge a run that ended before its call gave anything back."""
    return Verdict.CRASH if outcome.ending is Ending.OK else VERDICTS[outcome.ending]
