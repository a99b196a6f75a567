"""Collects evidence about injected failures as a run does, and the answers of the paper's rules."""

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
from auditcoder.lifecycle.locating.evidence_model import features_of
from auditcoder.lifecycle.locating.paper_rules import PaperRules
from auditcoder.lifecycle.locating.sbfl import TracebackLocator
from auditcoder.lifecycle.locating.substitution import run_substitutions
from auditcoder.lifecycle.loop import passes
from auditcoder.lifecycle.validation import validate_program
from auditcoder_bench.faultbench.failure_records import INTERFACE, MULTI, SINGLE, UNFIXABLE
from auditcoder_bench.faultbench.fault_injector import variants
from auditcoder_bench.faultbench.injected_failures import BETWEEN, CHECK, TWO, InjectedFailure, Open
from auditcoder_bench.faultbench.injection_targets import SolvedProgram
from auditcoder_bench.faultbench.observations import FailureEvidence
from auditcoder_bench.faultbench.prepared_run import prepare_assembled_run, prepare_validated_run

_KINDS = {TWO: MULTI, BETWEEN: INTERFACE, CHECK: UNFIXABLE}


def trace_fault(
    open_tools: Open, solved: SolvedProgram, fault: InjectedFailure
) -> FailureEvidence | None:
    """Trace an injected failure; None if it does not fail any more."""
    context = prepare_validated_run(open_tools(), fault.into(solved))
    began = time.monotonic()  # after validation, which is not part of the diagnosis
    trace_failing_check(context, DiagnosisState(), solved.plan.graph.order)
    case = diagnosis_input_of(context)
    if not case.traced or any(clue.passes for _, clue in case.traced.values()):
        return None
    return FailureEvidence(
        id=fault.id,
        task=solved.task.title,
        kind=_KINDS.get(fault.where, SINGLE),
        truth=tuple(fault.nodes),
        features=features_of(case),
        swaps=None,
        remote=False,
        traceback="".join(_answer(case, TracebackLocator().locate(case))[:1]),
        counts={str(n): clue.ran for n, (_, clue) in case.traced.items() if clue.ran},
        runs=1,
        milliseconds=1000 * (time.monotonic() - began),
        fault=" and ".join(fault.faults) if fault.where != TWO else TWO,
        where=fault.where,
        rules=_answer(case, PaperRules().locate(case)),
        crossings=tuple(
            (str(n), str(consumer))
            for n, (_, clue) in case.traced.items()
            for consumer in clue.hands_badly_to
        ),
        rooted=solved.plan.graph.by_id[ROOT].contract is not None,
        blind=any(clue.blind for _, clue in case.traced.values()),
    )


def by_rules(open_tools: Open, solved: SolvedProgram) -> tuple[str, ...] | None:
    """Return the methods of a failing class that the paper's rules name; None if it passes."""
    context = prepare_validated_run(open_tools(), solved)
    if passes(context):
        return None
    case = diagnosis_input_of(context)
    names = {n.id: n.contract.name for n in case.graph.nodes if n.contract}
    answer = _answer(case, PaperRules().locate(case))
    return tuple(names[NodeId(node)] for node in answer if node in names)


def try_fault_substitutions(
    open_tools: Open,
    solved: SolvedProgram,
    fault: InjectedFailure,
    before: FailureEvidence,
    plausible: Collection[str],
    spoiled: float = 0.0,
) -> FailureEvidence:
    """Substitute second opinions for the plausible nodes.

    A share of them, `spoiled`, gets a fault injected, because real second opinions may be wrong.
    """
    context = prepare_assembled_run(open_tools(), fault.into(solved))
    validate_program(context)  # to know which cases pass
    began = time.monotonic()
    known = ((NodeId(n), s) for n in plausible for s in solved.others.get(NodeId(n), ()))
    tries = [(node, _maybe_spoiled(solved, fault, node, source, spoiled)) for node, source in known]
    traced = failing_program_of(context)
    assert traced is not None
    others = list(alternatives(context, traced, tries))
    result = run_substitutions(context.sandbox, traced.failing, others)
    return replace(
        before,
        swaps={str(traced.nodes[function]): own for function, own in result.swapped.items()},
        failing=result.failing,
        runs=before.runs + result.runs,
        milliseconds=before.milliseconds + 1000 * (time.monotonic() - began),
    )


def _maybe_spoiled(
    solved: SolvedProgram, fault: InjectedFailure, node: NodeId, source: str, spoiled: float
) -> str:
    """Return a second opinion, with an injected fault in the share `spoiled` of all cases."""
    chance = random.Random(f"{fault.id} {node}")  # noqa: S311 - a draw, not a secret
    contract = solved.plan.graph.by_id[node].contract
    if contract is None or chance.random() >= spoiled:
        return source
    wrong = [variant.source for variant in variants(source, contract.name)]
    return chance.choice(wrong) if wrong else source


def _answer(case: DiagnosisInput, diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return the nodes that a diagnosis names, including all nodes of a branch."""
    if not isinstance(diagnosis, Localised):
        return ()
    first = named_in(diagnosis.target)
    return (*first, *sorted(region_of(diagnosis.target, case.graph) - set(first)))
