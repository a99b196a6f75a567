"""Noticing: what the collectors put on record about an injected failure, and what rules say."""

import random
import time
from collections.abc import Collection

from msgspec.structs import replace

from auditcoder.domain.diagnosis import Diagnosis, Localised
from auditcoder.domain.graph import named_in, region_of
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.lifecycle.locating.collectors import (
    alternatives,
    failing_program_of,
    trace_failing_check,
)
from auditcoder.lifecycle.locating.diagnosis_input import (
    DiagnosisInput,
    DiagnosisState,
    diagnosis_input_of,
)
from auditcoder.lifecycle.locating.evidence_model import signs_of
from auditcoder.lifecycle.locating.paper_rules import PaperRules
from auditcoder.lifecycle.locating.sbfl import TracebackLocator
from auditcoder.lifecycle.locating.substitution import intervene
from auditcoder.lifecycle.loop import passes
from auditcoder.lifecycle.validation import validate_program
from auditcoder_bench.faultbench.failure_records import INTERFACE, MULTI, SINGLE, UNFIXABLE
from auditcoder_bench.faultbench.fault_injector import variants
from auditcoder_bench.faultbench.injected_failures import BETWEEN, CHECK, TWO, InjectedFailure, Open
from auditcoder_bench.faultbench.injection_targets import SolvedProgram
from auditcoder_bench.faultbench.observations import Noticed
from auditcoder_bench.faultbench.prepared_run import put_together, stage

_KINDS = {TWO: MULTI, BETWEEN: INTERFACE, CHECK: UNFIXABLE}


def notice(open_tools: Open, solved: SolvedProgram, fault: InjectedFailure) -> Noticed | None:
    """Stage a failure and watch it; None if it does not fail any more."""
    context = stage(open_tools(), fault.into(solved))
    began = time.monotonic()  # what it took to see that it fails is no part of diagnosing it
    trace_failing_check(context, DiagnosisState(), solved.plan.graph.order)
    case = diagnosis_input_of(context)
    if not case.looked or any(clue.passes for _, clue in case.looked.values()):
        return None
    return Noticed(
        id=fault.id,
        task=solved.task.title,
        kind=_KINDS.get(fault.where, SINGLE),
        truth=tuple(fault.nodes),
        signs=signs_of(case),
        swaps=None,
        remote=False,
        traceback="".join(_answer(case, TracebackLocator().locate(case))[:1]),
        counts={str(n): clue.ran for n, (_, clue) in case.looked.items() if clue.ran},
        runs=1,
        milliseconds=1000 * (time.monotonic() - began),
        fault=" and ".join(fault.faults) if fault.where != TWO else TWO,
        where=fault.where,
        rules=_answer(case, PaperRules().locate(case)),
        crossings=tuple(
            (str(n), str(taker))
            for n, (_, clue) in case.looked.items()
            for taker in clue.hands_badly_to
        ),
        rooted=solved.plan.graph.by_id[ROOT].contract is not None,
        blind=any(clue.blind for _, clue in case.looked.values()),
    )


def by_rules(open_tools: Open, solved: SolvedProgram) -> tuple[str, ...] | None:
    """Say which methods of a class that fails the paper's rules name; None if it does not fail."""
    context = stage(open_tools(), solved)
    if passes(context):
        return None
    case = diagnosis_input_of(context)
    names = {n.id: n.contract.name for n in case.graph.nodes if n.contract}
    found = _answer(case, PaperRules().locate(case))
    return tuple(names[NodeId(node)] for node in found if node in names)


def notice_more(
    open_tools: Open,
    solved: SolvedProgram,
    fault: InjectedFailure,
    before: Noticed,
    plausible: Collection[str],
    spoiled: float = 0.0,
) -> Noticed:
    """Try second opinions in the places of the nodes that may be at fault.

    A share of them is `spoiled` with a fault of its own: not everybody who is asked is right.
    """
    context = put_together(open_tools(), fault.into(solved))
    validate_program(context)  # which cases pass must be known
    began = time.monotonic()
    known = ((NodeId(n), s) for n in plausible for s in solved.others.get(NodeId(n), ()))
    tries = [(node, _opinion(solved, fault, node, source, spoiled)) for node, source in known]
    scene = failing_program_of(context)
    assert scene is not None
    others = list(alternatives(context, scene, tries))
    found = intervene(context.sandbox, scene.failing, others)
    return replace(
        before,
        swaps={str(scene.nodes[function]): own for function, own in found.swapped.items()},
        failing=found.failing,
        runs=before.runs + found.runs,
        milliseconds=before.milliseconds + 1000 * (time.monotonic() - began),
    )


def _opinion(
    solved: SolvedProgram, fault: InjectedFailure, node: NodeId, source: str, spoiled: float
) -> str:
    """Return an opinion as it is or, as chance has it, with a fault in it."""
    chance = random.Random(f"{fault.id} {node}")  # noqa: S311 - a draw, not a secret
    contract = solved.plan.graph.by_id[node].contract
    if contract is None or chance.random() >= spoiled:
        return source
    wrong = [variant.source for variant in variants(source, contract.name)]
    return chance.choice(wrong) if wrong else source


def _answer(case: DiagnosisInput, diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return the nodes that a diagnosis names; all of a branch."""
    if not isinstance(diagnosis, Localised):
        return ()
    first = named_in(diagnosis.target)
    return (*first, *sorted(region_of(diagnosis.target, case.graph) - set(first)))
