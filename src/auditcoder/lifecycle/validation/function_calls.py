"""Calls functions of a module in the sandbox and reads their results."""

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from auditcoder.domain.assembly import AssemblyConflict, assemble
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.execution import (
    Bounds,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    Raised,
    Returned,
)
from auditcoder.domain.python_names import LITERAL_ERRORS, literal_value
from auditcoder.domain.task import CallExample
from auditcoder.domain.value_decoder import Instance, Opaque, read
from auditcoder.lifecycle.plan_excerpts import defined_names, definitions
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import VERDICTS

NODE_BOUNDS = Bounds(seconds=3.0)
"""The resource limits of a check of one node."""


class NoValue(NamedTuple):
    """Why an example says nothing that can be compared."""

    reason: str


UNKNOWN_RESULT = NoValue("the expected result cannot be evaluated without the program")
_PROGRAM = "program"
"""The module of a program's classes in the sandbox."""


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


def expected_value(context: RunContext, example: CallExample) -> object:
    """Return the expected value of an example; a `NoValue` if it cannot be evaluated or compared.

    An expression that is no literal is evaluated in a run of its own, without the functions of the
    program. One that a model wrote sees the definitions that they share. An example of the task
    does not, because definitions are code of the program, too.
    """
    try:
        return literal_value(example.result)
    except LITERAL_ERRORS:
        pass
    given = example in context.task.examples
    source = "" if given else shared_code(context, example.result)
    match _evaluated(context, example.result, source):
        case Returned(value=encoded):
            try:
                value = read(encoded)
            except ValueError:  # it is too large
                return UNKNOWN_RESULT
            kinds = sorted(set(_kinds_without_fields(value)))
            return NoValue(f"objects of {kinds[0]} cannot be compared") if kinds else value
        case _:
            return UNKNOWN_RESULT


def argument_fault(context: RunContext, arguments: str) -> str:
    """Return why the arguments of a generated example have no values; empty if they have."""
    try:
        literal_value(f"[{arguments}]")
    except LITERAL_ERRORS:
        pass
    else:
        return ""
    match _evaluated(context, f"[{arguments}] and None", shared_code(context, arguments)):
        case Returned():
            return ""
        case Raised(exception=exception, message=message):
            return f"the arguments of the example have no values: {exception}: {message}"
        case _:
            return "the arguments of the example have no values"


def _evaluated(context: RunContext, text: str, source: str | None) -> Returned | Raised | None:
    """Evaluate an expression in a module; return None if it did not end, or there is no module."""
    if source is None:
        return None
    outcome = context.sandbox.run(Execution(source=source, action=CallFunction(calls=(text,))))
    return outcome.calls[0] if outcome.ending is Ending.OK and len(outcome.calls) == 1 else None


def shared_code(context: RunContext, text: str) -> str | None:
    """Return a module with the shared definitions if a text names one; None if they clash."""
    ledger = context.recorder.ledger
    graph, working = ledger.graph, ledger.working
    if defined_names(graph, working).keys().isdisjoint(re.findall(r"\w+", text)):
        return ""
    code = {node: working.code[node] for node, _ in definitions(graph, working)}
    try:
        return assemble(graph, code, working.bundles).text
    except AssemblyConflict:
        return None


def _kinds_without_fields(value: object) -> Iterator[str]:
    """Yield the classes of a program whose objects were only described: such text proves nothing.

    It can hold an address, or leave out what two objects differ in.
    """
    match value:
        case Opaque(type=kind) if kind.startswith(f"{_PROGRAM}."):
            yield kind.removeprefix(f"{_PROGRAM}.")
        case Instance(fields=fields):
            for _, inner in fields:
                yield from _kinds_without_fields(inner)
        case dict():
            for inner in (*value, *value.values()):
                yield from _kinds_without_fields(inner)
        case list() | tuple() | set() | frozenset() | deque():
            for inner in value:
                yield from _kinds_without_fields(inner)


def ended(outcome: ExecutionOutcome) -> Verdict:
    """Return the verdict on a run that ended before its call returned."""
    return Verdict.CRASH if outcome.ending is Ending.OK else VERDICTS[outcome.ending]
