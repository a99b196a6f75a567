"""Resolves doubts: checks that fail although the program passes all that decide."""

from auditcoder.domain.repair import Decision
from auditcoder.lifecycle.locating.diagnosis_input import DiagnosisState, Locator
from auditcoder.lifecycle.options import AutoSwitch
from auditcoder.lifecycle.repair_choice import after_repair, choose, local_evidence
from auditcoder.lifecycle.repair_transaction import PlannedRepair, repair
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.adjudication import Adjudicator, drop_overbroad_promises
from auditcoder.lifecycle.validation.contradicted_checks import drop_contradicted_clauses


def settle_doubts(context: RunContext, locator: Locator) -> None:
    """Ask about the failing checks of a passing program, then repair what they show.

    A check that is wrong is dropped. A repair obeys the same laws as any other, so the program
    still passes after it. What is neither dropped nor repaired stays an open doubt.
    """
    if context.recorder.ledger.passes():
        drop_overbroad_promises(context)
    if context.options.adjudication is not AutoSwitch.ON:
        return
    adjudicator = Adjudicator(context)
    rulings, repairs = context.options.max_adjudications, context.options.max_repairs
    repairs -= context.recorder.ledger.transactions
    while context.recorder.ledger.passes():
        while rulings > 0 and (doubt := adjudicator.next_doubt()) is not None:
            rulings -= 1
            adjudicator.rule(doubt)
        if repairs <= 0 or adjudicator.confirmed() is None:
            return
        repairs = _repair(context, locator, adjudicator, repairs)
        drop_overbroad_promises(context)


def _repair(context: RunContext, locator: Locator, adjudicator: Adjudicator, repairs: int) -> int:
    """Repair the program until one confirmed check less fails; return the repairs that are left."""
    state = DiagnosisState()
    while repairs > 0 and (doubt := adjudicator.confirmed()) is not None:
        chosen, state = choose(context, locator, state, doubt.evidence)
        if not isinstance(chosen, PlannedRepair):
            return 0
        repairs -= 1
        result = repair(context, chosen)
        drop_contradicted_clauses(context, local_evidence(context))
        if result.decision is Decision.ACCEPTED:
            break
        state = after_repair(state, chosen, result)
    return repairs
