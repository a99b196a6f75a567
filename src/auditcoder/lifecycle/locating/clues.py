"""Clues: what collectors notice about a failing program, on record under the nodes it is about."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple, TypeVar

import msgspec

from auditcoder.domain.assembly import AssemblyConflict, assemble
from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.law.building import taken_names
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.places import AtNode
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle import building
from auditcoder.lifecycle.locating.blaming import spectrum
from auditcoder.lifecycle.locating.case import Clue
from auditcoder.lifecycle.locating.collecting import Failing, Look, intervene, look
from auditcoder.lifecycle.locating.signs import Kind, gathered
from auditcoder.lifecycle.locating.swapping import Alternative
from auditcoder.lifecycle.locating.trials import trial_of
from auditcoder.lifecycle.validating.evidence import Check, Seen, record
from auditcoder.lifecycle.validating.program import checks
from auditcoder.lifecycle.workshop import Workshop

Result = TypeVar("Result")
_ASKED = 3
"""Nodes that another implementation is asked for, the likeliest first."""
_TOKENS = 500
_POINTING = frozenset(
    kind.name
    for kind in Kind
    if not kind.name.startswith(("FINE", "ACCEPTED", "OTHER", "TRIED", "UNTRIED", "NO_MATTER"))
    and kind not in (Kind.ROOT, Kind.CONSTRUCTOR, Kind.UNCALLED, Kind.HARMS, Kind.WAS_FINE)
)
"""Signs that say something against a node."""


class Scene(NamedTuple):
    """A failing program, and which node each of its functions is."""

    failing: Failing
    nodes: Mapping[str, NodeId]


def watch_it_fail(workshop: Workshop, _nodes: tuple[NodeId, ...]) -> bool:
    """Drive the program through its checks once more, and note what that shows of each node."""
    scene = scene_of(workshop)
    if scene is None:
        return False
    looked = cache(lambda: _timed(lambda: look(workshop.sandbox, scene.failing)))

    def clue(node: NodeId) -> tuple[Clue, float]:
        found, milliseconds = looked()
        signs = gathered(sign for sign in found.signs if scene.nodes.get(sign.node) == node)
        own = {name: strength for each in signs.values() for name, strength in each.items()}
        return _clue_of(scene, found, node, own), milliseconds

    _keep(workshop, scene, CheckKind.CLUE, "watched", "failing cases do not point to it", clue)
    return True


def try_what_was_rejected(workshop: Workshop, nodes: tuple[NodeId, ...]) -> bool:
    """Put earlier versions of nodes in doubt in their places: they cost no more than a run."""
    present = workshop.recorder.ledger.working.code
    earlier = [
        (node, workshop.recorder.text(version))
        for node in nodes
        for version in workshop.versions.get(node, ())
        if node in present and version != present[node].digest
    ]
    return bool(earlier) and try_others(workshop, earlier)


def ask_for_others(workshop: Workshop, nodes: tuple[NodeId, ...]) -> bool:
    """Ask for another implementation of nodes in doubt, by their contracts alone; try them."""
    graph = workshop.recorder.ledger.graph
    wanted = [n for n in nodes if graph.by_id[n].contract and n != ROOT][:_ASKED]
    if not workshop.options.second_opinions:
        return False
    drafts = ((node, _another(workshop, node)) for node in wanted)
    found = [(node, source) for node, source in drafts if source]
    return bool(found) and try_others(workshop, found)


def _another(workshop: Workshop, node: NodeId) -> str:
    """Ask, without showing it, how a node could be written; empty if no answer can be used."""
    chosen = workshop.recorder.ledger.graph.by_id[node]
    assert chosen.contract is not None
    try:
        answer = workshop.ask(
            "method" if isinstance(workshop.task.form, ClassForm) else "node",
            building.draft_shape(workshop, [node]),
            Phase.VERIFICATION,
            _TOKENS,
            role="second opinion",
            node=node,
            temperature=workshop.options.repair_temperature,
            statement=workshop.statement,
            header=chosen.contract.header(),
            hints="",
            advice=building.advice_for(workshop, chosen),
            **building.around(workshop, [node]),
        )
    except ReplyUnusable:
        return ""  # both answers are on record
    piece = answer.value.pieces.get(node)
    return piece.source if piece else ""


def try_others(workshop: Workshop, versions: Iterable[tuple[NodeId, str]]) -> bool:
    """Put other code in nodes' places, one at a time, and note what becomes of the failure."""
    scene = scene_of(workshop)
    if scene is None:
        return False
    functions = {node: function for function, node in scene.nodes.items()}
    others = [
        Alternative(functions[node], program)
        for node, source in versions
        if node in functions and (program := with_code(workshop, node, source))
    ]
    if not others:
        return False

    def run() -> dict[NodeId, dict[str, float]]:
        before = look(workshop.sandbox, scene.failing).seen
        found = gathered(intervene(workshop.sandbox, scene.failing, before, others))
        return {scene.nodes[function]: own for function, own in found.items()}

    tried = cache(lambda: _timed(run))

    def clue(node: NodeId) -> tuple[Clue, float]:
        found, milliseconds = tried()
        return Clue(signs=found.get(node, {}), runs=1 + len(others)), milliseconds

    said = "failing cases stay as they are with another implementation of it"
    _keep(workshop, scene, CheckKind.SWAP, "swapped", said, clue)
    return True


def scene_of(workshop: Workshop) -> Scene | None:
    """Return the program with everything it is checked by; None if there is nothing to drive."""
    graph, form = workshop.recorder.ledger.graph, workshop.task.form
    examples = [example for _, example in checks(workshop)]
    trial = trial_of(workshop.task, examples, graph)
    if trial is None:
        return None
    prefix = f"{form.name}." if isinstance(form, ClassForm) else ""
    contracts = {f"{prefix}{n.contract.name}": n.contract for n in graph.nodes if n.contract}
    nodes = {f"{prefix}{n.contract.name}": n.id for n in graph.nodes if n.contract}
    root = graph.by_id[ROOT].contract
    failing = Failing(
        workshop.program, tuple(nodes), trial, contracts, f"{prefix}{root.name}" if root else ""
    )
    return Scene(failing, nodes)


def with_code(workshop: Workshop, node: NodeId, source: str) -> str:
    """Return the program with other code for one node; empty if that cannot stand there."""
    ledger = workshop.recorder.ledger
    working, graph = ledger.working, ledger.graph
    known, bundle = working.code[node], read_bundle(source)
    units = units_of(bundle, node, known.scope, taken_names(ledger, node))
    code = {**working.code, node: msgspec.structs.replace(known, units=units)}
    try:
        return assemble(graph, code, {**working.bundles, node: bundle}).text
    except AssemblyConflict:
        return ""


def _clue_of(scene: Scene, found: Look, node: NodeId, signs: dict[str, float]) -> Clue:
    takers = (
        scene.nodes[breach.consumer]
        for breach in found.breaches
        if scene.nodes.get(breach.provider) == node and breach.consumer in scene.nodes
    )
    function = next(f for f, n in scene.nodes.items() if n == node)
    return Clue(
        signs=signs,
        hands_badly_to=tuple(dict.fromkeys(taker for taker in takers if taker != node)),
        ran=spectrum(found.seen).get(function),
        runs=1,
        passes=found.seen.passes,
    )


def _keep(
    workshop: Workshop,
    scene: Scene,
    kind: CheckKind,
    name: str,
    requirement: str,
    clue: Callable[[NodeId], tuple[Clue, float]],
) -> None:
    """Put what was noticed on record under every node; what it cost, with the first of them."""
    nodes = list(_in_order(workshop.recorder.ledger, scene.nodes.values()))
    for node in nodes:
        check = Check(
            CheckId(f"{node}.{name}"), AtNode(node=node), kind, Trust.DERIVED, requirement
        )

        def run(node: NodeId = node) -> Seen:
            found, milliseconds = clue(node)
            if node != nodes[0]:
                found, milliseconds = msgspec.structs.replace(found, runs=0), 0.0
            points = sorted(n for n in found.signs if n.removesuffix("_FIRST") in _POINTING)
            told = dict.fromkeys(Kind[n.removesuffix("_FIRST")].value for n in points)
            return Seen(
                Verdict.FAILED if points else Verdict.PASSED,
                "; ".join(told),
                msgspec.json.encode(found).decode(),
                judge=workshop.sandbox.kind,
                milliseconds=milliseconds,
            )

        record(workshop, check, run)


def _in_order(ledger: Ledger, nodes: Iterable[NodeId]) -> Iterator[NodeId]:
    known = set(nodes) & set(ledger.working.code)
    return (node for node in (*ledger.graph.order, *ledger.graph.inner) if node in known)


def _timed(act: Callable[[], Result]) -> tuple[Result, float]:
    began = time.monotonic()
    return act(), 1000 * (time.monotonic() - began)
