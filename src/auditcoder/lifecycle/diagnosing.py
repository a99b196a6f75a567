"""Diagnosing: what the locator is shown, what it answers, and what will be done about it."""

from auditcoder.domain.diagnosis import Abstained, Diagnosis
from auditcoder.domain.events import Located
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.places import AtBranch, AtNode, Target
from auditcoder.domain.task import ClassForm
from auditcoder.domain.values import digest
from auditcoder.lifecycle.considering import HEALED, Cause, Finding, consider, top_of
from auditcoder.lifecycle.locating.case import Locator, case_of, retargeted, weightiest
from auditcoder.lifecycle.locating.clues import with_code
from auditcoder.lifecycle.repairing import Repair
from auditcoder.lifecycle.workshop import SecondOpinion, Workshop


def choose(
    workshop: Workshop,
    locator: Locator,
    tried: tuple[Target, ...],
    known: dict[tuple[int, ...], Finding],
) -> Repair | Abstained:
    """Diagnose, ask what was wrong, and settle what will be repaired, or that nothing will.

    What was wrong is asked once for the same evidence: a rejected repair restores the state, and
    with it the question. Nothing is asked where another implementation was seen to pass already.
    """
    diagnosis = diagnose(workshop, locator, tried)
    if isinstance(diagnosis, Abstained):
        return diagnosis
    failing = weightiest(workshop)
    if known_to_pass := _healing(workshop, diagnosis.target):
        return Repair(diagnosis.target, failing, HEALED, known_to_pass)
    finding = known.get(diagnosis.evidence) or consider(workshop, diagnosis.target, failing)
    known[diagnosis.evidence] = finding
    graph = workshop.recorder.ledger.graph
    match finding.cause, diagnosis.target:
        case Cause.DECOMPOSITION, AtNode(node=node):
            branch = AtBranch(root=graph.branch_root(node))
            given = isinstance(workshop.task.form, ClassForm)
            if node != graph.root and branch not in tried and not given:
                why = "the task was cut in the wrong places"
                lifted = retargeted(case_of(workshop, tried), diagnosis, branch, why)
                _record(workshop, locator, lifted)
                return Repair(branch, failing, finding)
        case Cause.GLOBAL, _ if len(graph.order) > 1:
            abstained = Abstained(
                reason=f"no single part can be right alone: {finding.explanation}",
                evidence=diagnosis.evidence,
            )
            _record(workshop, locator, abstained)
            return abstained
        case _:
            pass
    return Repair(diagnosis.target, failing, finding)


def _healing(workshop: Workshop, target: Target) -> SecondOpinion | None:
    """Return the second opinion with which everything passes in the place of what is named."""
    node = top_of(target)
    contract = workshop.recorder.ledger.graph.by_id[node].contract
    opinion = workshop.opinions.get((node, contract), SecondOpinion())
    _, clue = case_of(workshop).swapped.get(node, (0, None))
    if clue is None or not opinion.source or isinstance(target, AtBranch):
        return None
    # What healed may also have been a slow reference, and that is no candidate.
    healed = digest(with_code(workshop, node, opinion.source).encode()) in clue.healers
    return opinion if healed else None


def diagnose(workshop: Workshop, locator: Locator, tried: tuple[Target, ...]) -> Diagnosis:
    """Ask for evidence, the cheapest first, while the locator wants more; then for its answer."""
    for collect in locator.collectors:
        wanted = locator.unsettled(case_of(workshop, tried))
        if not wanted:
            break
        collect(workshop, wanted)
    diagnosis = locator.locate(case_of(workshop, tried))
    _record(workshop, locator, diagnosis)
    return diagnosis


def _record(workshop: Workshop, locator: Locator, diagnosis: Diagnosis) -> None:
    workshop.recorder.record(Located(diagnosis=diagnosis, locator=locator.name))


def local_evidence(workshop: Workshop) -> list[Evidence]:
    """Return what stands about single nodes."""
    return [s.evidence for s in case_of(workshop).local]
