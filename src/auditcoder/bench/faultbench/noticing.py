"""Noticing: what the collectors put on record about an injected failure, and what rules say."""

import random
import time
from collections.abc import Collection

from msgspec.structs import replace

from auditcoder.bench.faultbench.gathering import Noticed
from auditcoder.bench.faultbench.injected import BETWEEN, CHECK, TWO, Injected, Open
from auditcoder.bench.faultbench.injecting import variants
from auditcoder.bench.faultbench.material import Solved
from auditcoder.bench.faultbench.records import INTERFACE, MULTI, SINGLE, UNFIXABLE
from auditcoder.bench.faultbench.staging import put_together, stage
from auditcoder.domain.diagnosis import Diagnosis, Localised
from auditcoder.domain.graph import named_in, region_of
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.lifecycle.locating.case import Case, case_of
from auditcoder.lifecycle.locating.clues import alternatives, scene_of, watch_it_fail
from auditcoder.lifecycle.locating.collecting import intervene
from auditcoder.lifecycle.locating.ranked import Traceback
from auditcoder.lifecycle.locating.rules import PaperRules
from auditcoder.lifecycle.locating.weighed import signs_of
from auditcoder.lifecycle.loop import passes
from auditcoder.lifecycle.validating import validate_program

_KINDS = {TWO: MULTI, BETWEEN: INTERFACE, CHECK: UNFIXABLE}


def notice(open_tools: Open, solved: Solved, fault: Injected) -> Noticed | None:
    """Stage a failure and watch it; None if it does not fail any more."""
    workshop = stage(open_tools(), fault.into(solved))
    began = time.monotonic()  # what it took to see that it fails is no part of diagnosing it
    watch_it_fail(workshop, solved.plan.graph.order)
    case = case_of(workshop)
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
        traceback="".join(_answer(case, Traceback().locate(case))[:1]),
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


def by_rules(open_tools: Open, solved: Solved) -> tuple[str, ...] | None:
    """Say which methods of a class that fails the paper's rules name; None if it does not fail."""
    workshop = stage(open_tools(), solved)
    if passes(workshop):
        return None
    case = case_of(workshop)
    names = {n.id: n.contract.name for n in case.graph.nodes if n.contract}
    found = _answer(case, PaperRules().locate(case))
    return tuple(names[NodeId(node)] for node in found if node in names)


def notice_more(
    open_tools: Open,
    solved: Solved,
    fault: Injected,
    before: Noticed,
    plausible: Collection[str],
    spoiled: float = 0.0,
) -> Noticed:
    """Try second opinions in the places of the nodes that may be at fault.

    A share of them is `spoiled` with a fault of its own: not everybody who is asked is right.
    """
    workshop = put_together(open_tools(), fault.into(solved))
    validate_program(workshop)  # which cases pass must be known
    began = time.monotonic()
    known = ((NodeId(n), s) for n in plausible for s in solved.others.get(NodeId(n), ()))
    tries = [(node, _opinion(solved, fault, node, source, spoiled)) for node, source in known]
    scene = scene_of(workshop)
    assert scene is not None
    others = list(alternatives(workshop, scene, tries))
    found = intervene(workshop.sandbox, scene.failing, others)
    return replace(
        before,
        swaps={str(scene.nodes[function]): own for function, own in found.swapped.items()},
        failing=found.failing,
        runs=before.runs + found.runs,
        milliseconds=before.milliseconds + 1000 * (time.monotonic() - began),
    )


def _opinion(solved: Solved, fault: Injected, node: NodeId, source: str, spoiled: float) -> str:
    """Return an opinion as it is or, as chance has it, with a fault in it."""
    chance = random.Random(f"{fault.id} {node}")  # noqa: S311 - a draw, not a secret
    contract = solved.plan.graph.by_id[node].contract
    if contract is None or chance.random() >= spoiled:
        return source
    wrong = [variant.source for variant in variants(source, contract.name)]
    return chance.choice(wrong) if wrong else source


def _answer(case: Case, diagnosis: Diagnosis) -> tuple[str, ...]:
    """Return the nodes that a diagnosis names; all of a branch."""
    if not isinstance(diagnosis, Localised):
        return ()
    first = named_in(diagnosis.target)
    return (*first, *sorted(region_of(diagnosis.target, case.graph) - set(first)))
