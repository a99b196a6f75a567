"""Diagnosing: what the locator is shown, what it answers, and what will be done about it."""

from auditcoder.domain.diagnosis import Abstained, Diagnosis
from auditcoder.domain.events import Located
from auditcoder.domain.evidence import Evidence, Verdict
from auditcoder.domain.places import AtBranch, AtNode, AtProgram, Target
from auditcoder.domain.task import ClassForm
from auditcoder.lifecycle.considering import Cause, Finding, consider
from auditcoder.lifecycle.locating.case import Case, Locator, Standing, retargeted, weight
from auditcoder.lifecycle.repairing import Repair
from auditcoder.lifecycle.validating.reviewing import review
from auditcoder.lifecycle.workshop import Workshop


def choose(
    workshop: Workshop,
    locator: Locator,
    tried: tuple[Target, ...],
    known: dict[tuple[int, ...], Finding],
) -> Repair | Abstained:
    """Diagnose, ask what was wrong, and settle what will be repaired, or that nothing will.

    What was wrong is asked once for the same evidence: a rejected repair restores the state, and
    with it the question.
    """
    diagnosis = diagnose(workshop, locator, tried)
    if isinstance(diagnosis, Abstained):
        return diagnosis
    failing = weightiest(workshop)
    finding = known.get(diagnosis.evidence) or consider(workshop, diagnosis.target, failing)
    known[diagnosis.evidence] = finding
    graph = workshop.recorder.ledger.graph
    match finding.cause, diagnosis.target:
        case Cause.DECOMPOSITION, AtNode(node=node):
            branch = AtBranch(root=graph.branch_root(node))
            given = isinstance(workshop.task.form, ClassForm)
            if node != graph.root and branch not in tried and not given:
                why = "the task was cut in the wrong places"
                lifted = retargeted(_case(workshop, tried), diagnosis, branch, why)
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


def diagnose(workshop: Workshop, locator: Locator, tried: tuple[Target, ...]) -> Diagnosis:
    """Ask the locator; if nothing points anywhere, ask for opinions, and the locator again."""
    diagnosis = locator.locate(_case(workshop, tried))
    failing = weightiest(workshop)
    unsure = isinstance(diagnosis, Abstained) and failing.verdict is Verdict.FAILED
    if unsure and not tried and review(workshop, failing):
        diagnosis = locator.locate(_case(workshop, tried))
    _record(workshop, locator, diagnosis)
    return diagnosis


def _record(workshop: Workshop, locator: Locator, diagnosis: Diagnosis) -> None:
    workshop.recorder.record(Located(diagnosis=diagnosis, locator=locator.name))


def weightiest(workshop: Workshop) -> Evidence:
    """Return the failing check of the program that weighs most."""
    case = _case(workshop, ())
    return next(s.evidence for s in case.program if s.evidence.verdict is not Verdict.PASSED)


def local_evidence(workshop: Workshop) -> list[Evidence]:
    """Return what stands about single nodes."""
    return [s.evidence for s in _case(workshop, ()).local]


def _case(workshop: Workshop, tried: tuple[Target, ...]) -> Case:
    working = workshop.recorder.ledger.working
    standing = [Standing(s.seq, workshop.witnessed[s.seq]) for s in working.evidence.values()]
    program = [s for s in standing if isinstance(s.evidence.subject, AtProgram)]
    return Case(
        graph=workshop.recorder.ledger.graph,
        agents={node: code.agent for node, code in working.code.items()},
        program=tuple(sorted(program, key=lambda s: weight(s.evidence))),
        local=tuple(s for s in standing if not isinstance(s.evidence.subject, AtProgram)),
        tried=tried,
        replannable=not isinstance(workshop.task.form, ClassForm),
    )
