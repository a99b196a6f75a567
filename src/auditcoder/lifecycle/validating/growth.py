"""How a node's cost grows, measured against what it promises."""

import math

from auditcoder.domain.contract import Contract
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Ending, Outcome, Returned
from auditcoder.domain.graph import Node
from auditcoder.lifecycle.validating.evidence import Seen, node_check, record
from auditcoder.lifecycle.validating.inputs import sized
from auditcoder.lifecycle.validating.running import NODE_BOUNDS, run_calls, value_of
from auditcoder.lifecycle.workshop import Workshop

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
_SLACK = 0.7
_ENOUGH = 0.15
"""Seconds: what takes less is measured again, since a busy machine only ever adds time; after
what takes longer, nothing larger is tried."""
_DOUBLINGS = 2
_TELLING = 0.001
"""Seconds: what takes less says nothing about growth on a busy machine."""


def validate_growth(
    workshop: Workshop, node: Node, contract: Contract, program: str
) -> list[Evidence]:
    """Time the node on inputs of growing size, against the cost that it was given."""
    allowed = _GROWTH.get(contract.cost.time.replace(" ", "").lower().replace("o(", "O("))
    arguments = sized(contract)
    if allowed is None or not arguments:
        return []
    harness = f"""{program}


_audit_last = 0.0


def _audit_time(n):
    import time
    global _audit_last
    if _audit_last > {_ENOUGH}:
        return None
    times = []
    while len(times) < 3 and sum(times) < {_ENOUGH}:
        arguments = ({arguments},)
        start = time.perf_counter()
        {contract.name}(*arguments)
        times.append(time.perf_counter() - start)
    _audit_last = min(times)
    return _audit_last
"""
    check = node_check(
        node.id,
        "growth",
        CheckKind.PROBE,
        Trust.GENERATED,
        requirement=f"its cost grows no faster than {contract.cost.time}",
        given=arguments,
    )

    def run() -> Seen:
        calls = tuple(f"_audit_time({n})" for n in _SIZES)
        outcome = run_calls(workshop, harness, calls, NODE_BOUNDS)
        times = [value_of(c.value) for c in outcome.calls if isinstance(c, Returned)]
        return grown([t for t in times if isinstance(t, float)], allowed, outcome)

    return [record(workshop, check, run)]


def grown(times: list[float], allowed: float, outcome: Outcome) -> Seen:
    """Judge the times of growing sizes; too few that tell anything decide nothing."""
    told = ", ".join(f"{n}: {t * 1000:.1f} ms" for n, t in zip(_SIZES, times, strict=False))
    if outcome.ending is Ending.TIMEOUT:
        return Seen(
            Verdict.TIMEOUT,
            f"too slow for {_SIZES[min(len(times), len(_SIZES) - 1)]} items ({told})",
            outcome=outcome,
        )
    telling = [i for i, t in enumerate(times) if t >= _TELLING]
    doublings = telling[-1] - telling[0] if telling else 0
    if doublings >= _DOUBLINGS:
        # Over all of them: one measurement that a busy machine disturbed decides nothing.
        slope = math.log2(times[telling[-1]] / times[telling[0]]) / doublings
        if slope > allowed + _SLACK:
            return Seen(Verdict.FAILED, f"it grows as n^{slope:.1f} ({told})", told, outcome)
    return Seen(Verdict.PASSED, told or "it could not be measured", outcome=outcome)
