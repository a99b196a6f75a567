"""The repair log of a run (the paper's appendix E): its repair cases and their denominators.

Repair success and regression are results of hidden tests. Without a judgement they are unknown,
which is written as null and counted in no denominator.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from auditcoder.domain.diagnosis import Abstained, Localised
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.repair import Decision, RollbackStatus, Transaction, TransactionKind
from auditcoder.domain.trace import DiagnosisRecord, Trace
from auditcoder.domain.values import Digest
from auditcoder.metrics.repair_metrics import (
    changed_code,
    kept_program,
    region_size,
    regressed,
    selected_size,
)

_SYMPTOMS = {
    Verdict.FAILED: "wrong_answer",
    Verdict.CRASH: "exception",
    Verdict.TIMEOUT: "timeout",
    Verdict.MEMORY: "memory",
}


def repair_log(trace: Trace, read: ReadBlob, judgement: Judgement | None = None) -> dict[str, Any]:
    """Return the repair log of one run as plain data."""
    if judgement is not None:
        judgement.require_about(trace)
    transactions = {t.number: t for t in trace.history}
    cases = [
        _case(answer, transactions.get(answer.transaction or 0), read, judgement)
        for answer in trace.diagnoses
    ]
    return {
        "task_id": trace.task.source or trace.task.title,
        "record_source": {"run": trace.run, "head": trace.head.digest},
        "judged_by": judgement.suite if judgement else None,
        "cases": cases,
        "denominators": _denominators(trace.history, cases),
    }


def _case(
    answer: DiagnosisRecord,
    transaction: Transaction | None,
    read: ReadBlob,
    judgement: Judgement | None,
) -> dict[str, Any]:
    located = answer.diagnosis if isinstance(answer.diagnosis, Localised) else None
    case: dict[str, Any] = {
        "diagnosis": answer.when.seq,
        "transaction": transaction.number if transaction else None,
        "path": "localised" if located else ("fallback" if transaction else "abstained"),
        "failure_type": _SYMPTOMS[answer.symptom] if answer.symptom else None,
        "evidence_type": {
            "rule": located.rule if located else "R4",
            "locator": answer.locator,
            "evidence": list(answer.diagnosis.evidence),
            "reason": answer.diagnosis.reason
            if isinstance(answer.diagnosis, Abstained)
            else answer.diagnosis.explanation,
        },
        "selected_unit": msgspec.to_builtins(located.target) if located else None,
        "confidence": located.level.value if located else None,
        "probability": located.probability if located else None,
    }
    return case | (_outcome(transaction, read, judgement) if transaction else {})


def _outcome(t: Transaction, read: ReadBlob, judgement: Judgement | None) -> dict[str, Any]:
    bounded = t.kind is TransactionKind.BOUNDED
    final = kept_program(t) or t.program_before
    before, after = _judged(judgement, t.program_before), _judged(judgement, final)
    lost = regressed(before, after) if before is not None and after is not None else None
    return {
        "repair_region": list(t.region),
        "frozen_region": [f.node for f in t.frozen if f.node not in t.region],
        "RRS_nodes": region_size(t) if bounded else None,
        "RRS_selected": selected_size(t) if bounded else None,
        "CCR_LOC": changed_code(_text(read, t.program_before), _text(read, final))
        if bounded and final
        else None,
        "repair_success": all(after.values()) if after else None,
        "regression_rate": lost[0] / lost[1] if lost and lost[1] else None,
        "regression_observations": list(lost) if lost else None,
        "acceptance": {
            "decision": t.decision.value if t.decision else None,
            "initial_rank": msgspec.to_builtins(t.before),
            "candidate_rank": msgspec.to_builtins(t.after),
            "regressed_in_run": list(t.regressions),
        },
        "snapshots": {
            "initial_code": t.program_before,
            "candidate_code": t.program_after,
            "final_code": final,
            "snippets": [msgspec.to_builtins(d) for d in t.code_deltas],
            "initial_results": {c: v.value for c, v in t.verdicts_before.items()},
            "candidate_results": {
                e.check: e.verdict.value for e in t.global_evidence if e.check in t.pinned
            },
            "hidden_initial": before,
            "hidden_final": after,
        },
        "rollback": t.rollback.value,
        "exceptions": [msgspec.to_builtins(e) for e in t.exceptions],
    }


def _judged(judgement: Judgement | None, program: Digest | None) -> dict[str, bool] | None:
    return judgement.results.get(program) if judgement and program else None


def _text(read: ReadBlob, name: Digest) -> str:
    return read(name).decode("utf-8", "replace")


def _denominators(history: Sequence[Transaction], cases: list[dict[str, Any]]) -> dict[str, int]:
    localised = [c for c in cases if c["path"] == "localised" and c["transaction"] is not None]
    decided = [t for t in history if t.decision is not None]
    observed = [c["regression_observations"] for c in localised if c["regression_observations"]]
    return {
        "repair_cases": len(cases),
        "localised": sum(c["path"] == "localised" for c in cases),
        "abstained": sum(c["path"] != "localised" for c in cases),
        "fallbacks": sum(t.kind is TransactionKind.FALLBACK for t in history),
        "localised_repairs": len(localised),
        "localised_repairs_judged": sum(c["repair_success"] is not None for c in localised),
        "localised_repairs_passing": sum(bool(c["repair_success"]) for c in localised),
        "acceptance_decisions": len(decided),
        "accepted": sum(t.decision is Decision.ACCEPTED for t in decided),
        "rolled_back": sum(t.rollback is RollbackStatus.RESTORED for t in decided),
        "without_decision": len(history) - len(decided),
        "regression_observations": sum(total for _, total in observed),
        "regressions": sum(lost for lost, _ in observed),
        "comparable_rollbacks": sum(t.rollback is RollbackStatus.RESTORED for t in history),
    }
