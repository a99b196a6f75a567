"""The life of a run, on one page: plan, build, assemble, validate, locate, repair."""

import msgspec

from auditcoder.domain.assembly import AssemblyConflict
from auditcoder.domain.diagnosis import Abstained, Diagnosis, Localised
from auditcoder.domain.errors import BudgetExceeded, RecordRefused
from auditcoder.domain.events import (
    BriefCommitted,
    GraphCommitted,
    Located,
    Outcome,
    RunFinished,
)
from auditcoder.domain.evidence import Evidence, Verdict
from auditcoder.domain.places import AtBranch, AtNode, AtProgram, Target
from auditcoder.domain.repair import Decision
from auditcoder.domain.task import ClassForm
from auditcoder.lifecycle import building
from auditcoder.lifecycle.locating import Case, Locator, PaperRules, Standing, weight
from auditcoder.lifecycle.planning import skeleton, sketch, staged
from auditcoder.lifecycle.planning.plan import Plan
from auditcoder.lifecycle.repairing import Cause, Finding, Repair, consider, fall_back, repair
from auditcoder.lifecycle.validating import validate_program, validate_region
from auditcoder.lifecycle.validating.contradictions import (
    drop_contradicted_cases,
    drop_contradicted_promises,
)
from auditcoder.lifecycle.validating.reviewing import review
from auditcoder.lifecycle.workshop import Planner, Workshop


def live(workshop: Workshop, locator: Locator | None = None) -> Outcome:
    """Take a run from its task to its end. A spent budget ends it; what stands is kept."""
    try:
        outcome, reason = _live(workshop, locator or PaperRules())
    except BudgetExceeded as spent:
        if workshop.recorder.ledger.transaction is not None:
            workshop.recorder.decide("the budget was spent before the candidate was complete")
        outcome, reason = Outcome.STOPPED, str(spent)
    assembly = workshop.recorder.ledger.working.assembly
    program = assembly.program if assembly else None
    workshop.recorder.record(RunFinished(outcome=outcome, program=program, reason=reason))
    return outcome


def _live(workshop: Workshop, locator: Locator) -> tuple[Outcome, str]:
    plan = make_plan(workshop)
    workshop.recorder.record(BriefCommitted(brief=plan.brief))
    workshop.recorder.record(
        GraphCommitted(graph=plan.graph, planner=plan.planner, granularity=plan.granularity)
    )
    drop_contradicted_cases(workshop)
    building.build(workshop, plan.given)
    local = validate_region(workshop, plan.graph.ids)
    assemble(workshop)
    validate_program(workshop)
    drop_contradicted_promises(workshop, local)
    return _mend(workshop, locator)


def _mend(workshop: Workshop, locator: Locator) -> tuple[Outcome, str]:
    """Repair within bounds until the program passes, nothing is supported, or K is reached."""
    tried: list[Target] = []
    known: dict[tuple[int, ...], Finding] = {}
    fallen_back = False
    for _ in range(workshop.options.max_repairs):
        if passes(workshop):
            return Outcome.PASSED, ""
        chosen = choose(workshop, locator, tuple(tried), known)
        match chosen:
            case Repair():
                decision = repair(workshop, chosen)
                tried = [] if decision is Decision.ACCEPTED else [*tried, chosen.target]
            case Abstained() if workshop.options.fallback and not fallen_back:
                fallen_back = True
                if fall_back(workshop, weightiest(workshop)) is Decision.ACCEPTED:
                    tried = []
            case Abstained():
                return Outcome.ABSTAINED, chosen.reason
        if workshop.recorder.ledger.working.assembly is not None:
            drop_contradicted_promises(workshop, _local(workshop))
    if passes(workshop):
        return Outcome.PASSED, ""
    return Outcome.FAILED, f"the program still fails after {workshop.options.max_repairs} repairs"


def make_plan(workshop: Workshop) -> Plan:
    """Plan as the task's form and the options say."""
    form = workshop.task.form
    if isinstance(form, ClassForm):
        return skeleton.plan(workshop.task, form)
    if workshop.options.planner is Planner.STAGED:
        return staged.plan(workshop)
    return sketch.plan(workshop)


def assemble(workshop: Workshop) -> None:
    """Put the program together; a part that cannot stand beside the others is not used."""
    graph = workshop.recorder.ledger.graph
    inner = sorted(graph.ids - set(graph.order), key=lambda n: (-len(graph.path(n)), n))
    promising = [n for n in (*reversed(graph.order), *inner) if graph.by_id[n].contract]
    for node in (None, *promising):
        if node is not None:
            building.replace(workshop, node, "it clashes with another part of the program")
        try:
            workshop.recorder.assemble()
        except (AssemblyConflict, RecordRefused):
            continue
        return
    raise AssertionError("what only says that it was never written clashes with nothing")


def passes(workshop: Workshop) -> bool:
    """Whether every check that decides has passed."""
    ledger = workshop.recorder.ledger
    return ledger.working.rank(ledger.program_checks()).full


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
                lifted = _retarget(diagnosis, branch, "the task was cut in the wrong places")
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


def _retarget(diagnosis: Localised, target: Target, why: str) -> Localised:
    return msgspec.structs.replace(
        diagnosis, target=target, explanation=f"{diagnosis.explanation}; {why}"
    )


def weightiest(workshop: Workshop) -> Evidence:
    """Return the failing check of the program that weighs most."""
    case = _case(workshop, ())
    return next(s.evidence for s in case.program if s.evidence.verdict is not Verdict.PASSED)


def _local(workshop: Workshop) -> list[Evidence]:
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
