"""Measures how the running time of a node grows and compares it with the promised cost."""

import math
from collections.abc import Iterator

from auditcoder.domain.contract import Contract
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Ending, ExecutionOutcome, Raised, Returned
from auditcoder.domain.graph import Node
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder.lifecycle.validation.check_recorder import (
    VERDICTS,
    CheckObservation,
    node_check,
    not_assembled,
    record_unless_dropped,
)
from auditcoder.lifecycle.validation.function_calls import NODE_BOUNDS, run_calls, value_of
from auditcoder.lifecycle.validation.input_generator import sized
from auditcoder.sandboxed import call_timer

_SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
_GROWTH = {
    "O(1)": 0.0,
    "O(logn)": 0.3,
    "O(n)": 1.0,
    "O(nlogn)": 1.25,
    "O(n^2)": 2.0,
    "O(n**2)": 2.0,
    "O(n^3)": 3.0,
    "O(n**3)": 3.0,
}
"""The exponent of n that each cost allows."""
_SLACK = 0.7
"""Tolerance of the measured exponent."""
_ENOUGH_SECONDS = 0.15
"""A shorter call is measured again, because load on the machine only adds time; after a longer
call, no larger input is tried."""
_MIN_DOUBLINGS = 2
_RELIABLE_SECONDS = 0.001
"""Shorter times are too noisy to measure growth."""


def validate_growth(
    context: RunContext, node: Node, contract: Contract, program: str | None
) -> list[Evidence]:
    """Time the node on inputs of growing size and compare the growth with its cost budget."""
    allowed = _GROWTH.get(contract.cost.time.replace(" ", "").lower().replace("o(", "O("))
    arguments = sized(contract)
    if allowed is None or not arguments:
        return []
    check = node_check(
        node.id,
        "growth",
        CheckKind.PROBE,
        Trust.GENERATED,
        requirement=f"its cost grows no faster than {contract.cost.time}",
        given=arguments,
    )

    def run() -> CheckObservation:
        if program is None:
            return not_assembled()
        harness = f"{program}\n\n\n{joined_source(call_timer.__name__)}"
        calls = tuple(
            f"_audit_time({contract.name}, lambda n: ({arguments},), {n}, {_ENOUGH_SECONDS})"
            for n in _SIZES
        )
        outcome = run_calls(context, harness, calls, NODE_BOUNDS)
        return grown(list(_times(outcome)), allowed, outcome)

    return record_unless_dropped(context, check, run)


def _times(outcome: ExecutionOutcome) -> Iterator[float]:
    """Yield the time of each size, up to the first that has none."""
    for call in outcome.calls:
        time = value_of(call.value) if isinstance(call, Returned) else None
        if not isinstance(time, float):
            return
        yield time


def grown(times: list[float], allowed: float, outcome: ExecutionOutcome) -> CheckObservation:
    """Compare the growth of the times with the allowed one; too few reliable times say nothing."""
    measured = ", ".join(f"{n}: {t * 1000:.1f} ms" for n, t in zip(_SIZES, times, strict=False))
    if outcome.ending is Ending.TIMEOUT:
        return CheckObservation(
            Verdict.TIMEOUT,
            f"too slow for {_SIZES[min(len(times), len(_SIZES) - 1)]} items ({measured})",
            outcome=outcome,
        )
    if outcome.ending is not Ending.OK:
        return CheckObservation(VERDICTS[outcome.ending], outcome.note, outcome=outcome)
    reliable = [i for i, t in enumerate(times) if t >= _RELIABLE_SECONDS]
    doublings = reliable[-1] - reliable[0] if reliable else 0
    if doublings < _MIN_DOUBLINGS:
        why = f"too few times of at least {1000 * _RELIABLE_SECONDS:.0f} ms"
        message = f"{why} ({measured})" if measured else _failed_call(outcome)
        return CheckObservation(Verdict.UNMEASURABLE, message, outcome=outcome, tried=0)
    # The slope over the whole range limits the effect of one disturbed measurement.
    slope = math.log2(times[reliable[-1]] / times[reliable[0]]) / doublings
    if slope > allowed + _SLACK:
        message = f"it grows as n^{slope:.1f} ({measured})"
        return CheckObservation(Verdict.FAILED, message, measured, outcome, tried=len(reliable))
    return CheckObservation(Verdict.PASSED, measured, outcome=outcome, tried=len(reliable))


def _failed_call(outcome: ExecutionOutcome) -> str:
    """Say why there is no time at all."""
    first = next(iter(outcome.calls), None)
    if isinstance(first, Raised):
        return f"the generated input raises {first.exception}: {first.message}"
    return "no call was timed"
