"""Measures how the running time of a node grows and compares it with the promised cost."""

import math

from auditcoder.domain.contract import Contract
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Ending, ExecutionOutcome, Returned
from auditcoder.domain.graph import Node
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder.lifecycle.validation.check_recorder import (
    VERDICTS,
    CheckObservation,
    node_check,
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
    context: RunContext, node: Node, contract: Contract, program: str
) -> list[Evidence]:
    """Time the node on inputs of growing size and compare the growth with its cost budget."""
    allowed = _GROWTH.get(contract.cost.time.replace(" ", "").lower().replace("o(", "O("))
    arguments = sized(contract)
    if allowed is None or not arguments:
        return []
    harness = f"{program}\n\n\n{joined_source(call_timer.__name__)}"
    check = node_check(
        node.id,
        "growth",
        CheckKind.PROBE,
        Trust.GENERATED,
        requirement=f"its cost grows no faster than {contract.cost.time}",
        given=arguments,
    )

    def run() -> CheckObservation:
        calls = tuple(
            f"_audit_time({contract.name}, lambda n: ({arguments},), {n}, {_ENOUGH_SECONDS})"
            for n in _SIZES
        )
        outcome = run_calls(context, harness, calls, NODE_BOUNDS)
        times = [value_of(c.value) for c in outcome.calls if isinstance(c, Returned)]
        return grown([t for t in times if isinstance(t, float)], allowed, outcome)

    return record_unless_dropped(context, check, run)


def grown(times: list[float], allowed: float, outcome: ExecutionOutcome) -> CheckObservation:
    """Compare the growth of the times with the allowed one; too few reliable times pass."""
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
    if doublings >= _MIN_DOUBLINGS:
        # The slope over the whole range limits the effect of one disturbed measurement.
        slope = math.log2(times[reliable[-1]] / times[reliable[0]]) / doublings
        if slope > allowed + _SLACK:
            return CheckObservation(
                Verdict.FAILED, f"it grows as n^{slope:.1f} ({measured})", measured, outcome
            )
    return CheckObservation(Verdict.PASSED, measured or "it could not be measured", outcome=outcome)
