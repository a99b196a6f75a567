"""Checks the promises of a node: its executable `ensures`, on inputs that its `requires` admit.

The inputs are arguments of its calls while the examples of the task ran, then generated ones. A
generated input that is unlike all of those may be nonsense, so a promise that fails only for such
an input is weak evidence, and against the promise first.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

from msgspec.structs import replace

from auditcoder.domain.assembly import AssemblyConflict, assemble
from auditcoder.domain.contract import RESULT, Contract
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Ending, ExecutionOutcome, Raised, Returned
from auditcoder.domain.graph import Node
from auditcoder.domain.python_names import LITERAL_ERRORS, literal_value
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder.lifecycle.validation.check_recorder import (
    VERDICTS,
    CheckObservation,
    node_check,
    not_assembled,
    record_unless_dropped,
)
from auditcoder.lifecycle.validation.contradicted_checks import call_of
from auditcoder.lifecycle.validation.function_calls import NODE_BOUNDS, ended, run_calls, value_of
from auditcoder.lifecycle.validation.input_generator import inputs_for
from auditcoder.sandboxed import argument_recorder, contract_tester

UNLIKE = "an input unlike those of the example runs, for which it held "
"""Begins the mark of weak evidence in a message; the number of those inputs follows."""
_FEW_ADMITTED = 8
"""With fewer inputs that the requirements admit, more are generated."""
_POOL = 240
_MOST_EXAMPLES = 8
_MOST_SEEN = 16
_LONGEST_SEEN = 2000


class Inputs(NamedTuple):
    """The inputs of a node, as argument lists."""

    seen: tuple[str, ...]
    """Arguments of its calls while the examples ran."""
    generated: tuple[str, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        """All inputs, those of the example runs first."""
        return self.seen + self.generated


def validate_promises(
    context: RunContext, node: Node, contract: Contract, program: str | None
) -> list[Evidence]:
    """Check each executable `ensures` on inputs that every `requires` admits."""
    promised = [c.expression for c in contract.ensures if c.expression]
    brief = context.recorder.ledger.working.brief
    ranges = brief.parsed.ranges if brief else ()
    generated = inputs_for(contract, ranges)
    required = [c.expression for c in contract.requires if c.expression]
    clauses = ([p.name for p in contract.params], required, promised)
    harness = "\n\n".join(
        [program or "", joined_source(contract_tester.__name__), f"_audit_contract = {clauses!r}"]
    )

    @cache
    def outcome() -> tuple[Inputs, ExecutionOutcome]:
        seen = _seen_arguments(context, contract)
        inputs = Inputs(seen, tuple(row for row in generated if row not in seen))
        ran = run_calls(context, harness, _calls(contract, inputs.rows), NODE_BOUNDS)
        if not required or ran.ending is not Ending.OK or _admitted(ran) >= _FEW_ADMITTED:
            return inputs, ran
        pool = inputs_for(contract, ranges, _POOL)
        more = tuple(row for row in pool if row not in inputs.rows)
        again = run_calls(context, harness, _calls(contract, more), NODE_BOUNDS)
        added = inputs._replace(generated=inputs.generated + more)
        return added, replace(again, calls=(*ran.calls, *again.calls))

    evidence = []
    for number, expression in enumerate(promised):
        # Only the generated inputs define the check: the others change with the program.
        check = node_check(
            node.id,
            "ensures",
            CheckKind.CONTRACT,
            Trust.GENERATED,
            requirement=expression,
            given="\n".join(generated),
        )
        run = _holds(outcome, number, bool(required)) if program else not_assembled
        if any(p.name == RESULT for p in contract.params):
            run = partial(_not_run, f"a parameter has the name `{RESULT}` of the result")
        evidence += record_unless_dropped(context, check, run)
    return evidence


def _calls(contract: Contract, rows: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"_audit({contract.name}, ({row},), _audit_contract)" for row in rows)


def _admitted(outcome: ExecutionOutcome) -> int:
    """Return the number of inputs that every requirement admitted."""
    return sum(not isinstance(c, Returned) or value_of(c.value) != [] for c in outcome.calls)


def is_weak(evidence: Evidence) -> bool:
    """Whether a promise failed only for an input unlike those of the example runs."""
    return evidence.kind is CheckKind.CONTRACT and UNLIKE in evidence.message


def held_before(evidence: Evidence) -> int:
    """Return for how many inputs of the example runs a weakly failing promise held."""
    number = evidence.message.rpartition(UNLIKE)[2].split(" ")[0]
    return int(number) if number.isdecimal() else 0


def _seen_arguments(context: RunContext, contract: Contract) -> tuple[str, ...]:
    """Return the arguments of a function's calls while the examples of the task ran."""
    ledger = context.recorder.ledger
    examples = context.task.examples[:_MOST_EXAMPLES]
    calls = [call for e in examples if (call := call_of(context, e))]
    try:
        program = assemble(ledger.graph, ledger.working.code, ledger.working.bundles).text
    except AssemblyConflict:
        return ()
    wrapped = f"_audit_arguments({contract.name}, {_MOST_SEEN}, {_LONGEST_SEEN})"
    source = "\n\n".join(
        [
            program,
            joined_source(argument_recorder.__name__),
            f"{contract.name} = {wrapped}",
        ]
    )
    outcome = run_calls(context, source, (*calls, "_audit_seen"), NODE_BOUNDS)
    last = outcome.calls[-1] if len(outcome.calls) == len(calls) + 1 else None
    texts = value_of(last.value) if isinstance(last, Returned) else []
    known = [t for t in texts if isinstance(t, str)] if isinstance(texts, list) else []
    return tuple(t for t in known[:_MOST_SEEN] if _values(t) is not None)


def _holds(
    outcome: Callable[[], tuple[Inputs, ExecutionOutcome]], number: int, bounded: bool
) -> Callable[[], CheckObservation]:
    """Return the check that promise `number` held for every input; `bounded`: with `requires`."""

    def run() -> CheckObservation:
        inputs, seen = outcome()
        if not inputs.rows:
            return _not_run("no inputs can be generated for its parameters")
        like = _Envelope(inputs.seen)
        held = raised = refused = before = 0
        weak: CheckObservation | None = None
        for index, (row, call) in enumerate(zip(inputs.rows, seen.calls, strict=False)):
            if isinstance(call, Raised):
                # Without a requirement, the function need not accept this input.
                if not bounded or call.exception.startswith("_audit"):
                    raised += 1
                    continue
                verdict, message = (
                    Verdict.CRASH,
                    f"({row}) raises {call.exception}: {call.message}",
                )
            else:
                results = value_of(call.value)
                if not isinstance(results, list) or len(results) <= number:
                    refused += 1
                    continue
                if results[number] is not False:
                    held += results[number] is True
                    before += results[number] is True and index < len(inputs.seen)
                    continue
                verdict, message = Verdict.FAILED, f"it does not hold for ({row})"
            if index < len(inputs.seen) or (bounded and like.covers(row)):
                return CheckObservation(verdict, message, outcome=seen, tried=held + 1)
            marked = f"{message}, {UNLIKE}{before} times"
            weak = weak or CheckObservation(verdict, marked, outcome=seen, tried=held + 1)
        if weak is not None:
            return weak
        if not seen.calls and seen.ending is not Ending.OK:
            return CheckObservation(ended(seen), "it cannot be loaded", outcome=seen)
        if seen.ending is not Ending.OK:
            return CheckObservation(VERDICTS[seen.ending], f"after {held} inputs", outcome=seen)
        others = (
            f"; {number} {what}"
            for number, what in (
                (refused, "do not meet its preconditions"),
                (raised, "raise an exception"),
                (len(seen.calls) - held - refused - raised, "give it no value"),
            )
            if number
        )
        return CheckObservation(
            Verdict.PASSED if held else Verdict.VACUOUS,
            f"held for {held} of {len(inputs.rows)} inputs{''.join(others)}",
            outcome=seen,
            tried=held,
        )

    return run


def _not_run(why: str) -> CheckObservation:
    return CheckObservation(Verdict.NOT_RUN, why, judge="input generator")


class _Envelope:
    """The values that occurred in the example runs, for each parameter."""

    def __init__(self, rows: tuple[str, ...]) -> None:
        self._known: list[list[object]] = []
        for row in rows:
            for place, value in enumerate(_values(row) or ()):
                if place == len(self._known):
                    self._known.append([])
                self._known[place] += _scalars(value)

    def covers(self, row: str) -> bool:
        """Whether every number of an input lies between known ones, and every text is known.

        Without any known input every input is covered: nothing says that it is unlike them.
        """
        values = _values(row) or ()
        return not self._known or all(
            _covers(known, scalar)
            for known, value in zip(self._known, values, strict=False)
            for scalar in _scalars(value)
        )


def _covers(known: list[object], scalar: object) -> bool:
    if isinstance(scalar, int | float) and not isinstance(scalar, bool):
        numbers = [n for n in known if isinstance(n, int | float)]
        return bool(numbers) and min(numbers) <= scalar <= max(numbers)
    return any(type(k) is type(scalar) and k == scalar for k in known)


def _scalars(value: object) -> Iterator[object]:
    """Yield the numbers and texts in a value, and the type of each empty container."""
    if isinstance(value, dict):
        parts: tuple[object, ...] = (*value, *value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        parts = tuple(value)
    else:
        yield value
        return
    if not parts:
        yield type(value)
    for part in parts:
        yield from _scalars(part)


@cache
def _values(row: str) -> tuple[object, ...] | None:
    """Return the values of an argument list; None if they are no literals."""
    try:
        values: tuple[object, ...] = literal_value(f"({row},)")
    except LITERAL_ERRORS:
        return None
    return values
