"""Clues: what collectors notice about a failing program, on record under the nodes it is about."""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple, TypeVar

import msgspec

from auditcoder.domain.assembly import AssemblyConflict, assemble
from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.contract import sig_match
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.execution import Execution, Outcome
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.law.building import taken_names
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.places import AtNode
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, Digest, digest_of
from auditcoder.lifecycle import building
from auditcoder.lifecycle.asking import SECOND_OPINION
from auditcoder.lifecycle.locating import swapping
from auditcoder.lifecycle.locating.believing import ASKED
from auditcoder.lifecycle.locating.blaming import spectrum
from auditcoder.lifecycle.locating.case import Clue, case_of
from auditcoder.lifecycle.locating.collecting import Failing, Look, Tried, intervene, look
from auditcoder.lifecycle.locating.outline import does
from auditcoder.lifecycle.locating.signs import Kind, gathered, kind_of
from auditcoder.lifecycle.locating.swapping import Alternative, Swapped
from auditcoder.lifecycle.locating.trials import own_examples, trial_of
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validating.evidence import Check, Seen, record
from auditcoder.lifecycle.validating.program import checks, run_example
from auditcoder.lifecycle.workshop import SecondOpinion, Workshop

Result = TypeVar("Result")


class Scene(NamedTuple):
    """A failing program, and which node each of its functions is."""

    failing: Failing
    nodes: Mapping[str, NodeId]


def watch_it_fail(workshop: Workshop, _nodes: tuple[NodeId, ...]) -> None:
    """Drive the program through its checks once more, and note what that shows of each node."""
    scene = scene_of(workshop)
    if scene is None or case_of(workshop).looked:
        return  # there is nothing to drive, or it was done with this very program

    sandbox = _Remembering(workshop, {})

    def run() -> tuple[Look, bool]:
        found = look(sandbox, scene.failing)
        return found, found.seen.passes and _passes_again(workshop, sandbox)

    looked = cache(lambda: _timed(run))

    def clue(node: NodeId) -> tuple[Clue, float]:
        (found, flaky), milliseconds = looked()
        signs = gathered(sign for sign in found.signs if scene.nodes.get(sign.node) == node)
        own = {name: strength for each in signs.values() for name, strength in each.items()}
        return _clue_of(scene, found, node, own, sandbox.runs, flaky=flaky), milliseconds

    _keep(workshop, scene, CheckKind.CLUE, "watched", "failing cases do not point to it", clue)


def try_what_is_known(workshop: Workshop, nodes: tuple[NodeId, ...]) -> None:
    """Put rejected versions, references and opinions in places of nodes in doubt: a run each."""
    present, graph = workshop.recorder.ledger.working.code, workshop.recorder.ledger.graph
    before = (n for n, (_, c) in case_of(workshop).swapped.items() if Kind.TRIED.name in c.signs)
    others = []
    for node in dict.fromkeys((*nodes, *before)):  # what was tried is not forgotten
        contract = graph.by_id[node].contract
        earlier = [v for v in workshop.versions.get(node, ()) if v != present[node].digest]
        texts = [workshop.recorder.text(version) for version in dict.fromkeys(earlier)]
        opinion = workshop.opinions.get((node, contract), SecondOpinion())
        texts += [workshop.references.get((node, contract), ""), opinion.source]
        # What was written for another interface says nothing, nor does the same once more.
        fitting = {does(t): t for t in texts if contract and sig_match(contract, t)}
        fitting.pop(does(workshop.recorder.text(present[node].digest)), None)
        others += [(node, text) for text in fitting.values()]
    try_others(workshop, others)


def try_another(workshop: Workshop, nodes: tuple[NodeId, ...]) -> None:
    """Try a second opinion on the likeliest node in doubt; ask for those on all of them at once."""
    contracts = building.contracts(workshop.recorder.ledger.graph, nodes)
    wanted = [(n, c) for n, c in contracts.items() if n != ROOT and (n, c) not in workshop.opinions]
    if not workshop.options.second_opinions or not wanted or scene_of(workshop) is None:
        return
    likeliest = wanted[0]
    if likeliest not in workshop.heard:
        asked = [each for each in wanted if each not in workshop.heard][:ASKED]
        said = _opinions(workshop, [node for node, _ in asked])
        workshop.heard.update({each: said.get(each[0], SecondOpinion()) for each in asked})
    workshop.opinions[likeliest] = workshop.heard[likeliest]
    try_what_is_known(workshop, nodes)


def _opinions(workshop: Workshop, nodes: list[NodeId]) -> dict[NodeId, SecondOpinion]:
    """Ask, without showing them, how nodes could be written; return what can be used."""
    of_class = isinstance(workshop.task.form, ClassForm)
    wanted = building.contracts(workshop.recorder.ledger.graph, nodes).values()
    try:
        answer = workshop.ask(
            "second_opinion_methods" if of_class else "second_opinion",
            building.draft_shape(workshop, nodes, strict=False),
            Phase.VERIFICATION,
            building.room_for(nodes),
            role=SECOND_OPINION,
            node=tuple(nodes),
            temperature=workshop.options.repair_temperature,
            statement=workshop.statement,
            functions=", ".join(f"`{contract.header()}`" for contract in wanted),
            **building.around(workshop, nodes),
        )
    except ReplyUnusable:
        return {}  # both answers are on record
    if answer.value.shared:
        return {}  # each must stand alone
    return {n: SecondOpinion(p.source, answer.seq) for n, p in answer.value.pieces.items()}


def try_others(workshop: Workshop, versions: Iterable[tuple[NodeId, str]]) -> None:
    """Put other code in nodes' places, one at a time, and note what becomes of the failure."""
    scene = scene_of(workshop)
    others = list(alternatives(workshop, scene, versions)) if scene else []
    if scene is None or not others:
        return
    sandbox, afresh = _Remembering(workshop, workshop.tried), _Remembering(workshop, {})

    def run() -> tuple[Tried, dict[str, dict[str, float]], bool]:
        found = intervene(sandbox, scene.failing, others, afresh)
        signs = swapping.signs(found.swapped, scene.nodes, found.failing)
        return found, gathered(signs), found.passes and _passes_again(workshop, afresh)

    tried = cache(lambda: _timed(run))
    functions = {node: function for function, node in scene.nodes.items()}

    def clue(node: NodeId) -> tuple[Clue, float]:
        (found, signs, flaky), milliseconds = tried()
        own = found.swapped.get(functions[node], Swapped())
        told = Clue(
            signs=signs.get(functions[node], {}),
            runs=sandbox.runs + afresh.runs,
            passes=flaky,
            blind=not found.failing and not flaky,
            healers=own.healers,
            unfit=own.unfit,
        )
        return told, milliseconds

    said = "failing cases stay as they are with another implementation of it"
    _keep(workshop, scene, CheckKind.SWAP, "swapped", said, clue)


def alternatives(
    workshop: Workshop, scene: Scene, versions: Iterable[tuple[NodeId, str]]
) -> Iterator[Alternative]:
    """Yield the program with other code in one node's place, where that can stand."""
    functions = {node: function for function, node in scene.nodes.items()}
    for node, source in versions:
        if node in functions and (program := with_code(workshop, node, source)):
            contract = scene.failing.contracts[functions[node]]
            own = None if isinstance(workshop.task.form, ClassForm) else own_examples(contract)
            yield Alternative(functions[node], program, own)


class _Remembering:
    """The sandbox, for runs that are known already: they are not made again."""

    def __init__(self, workshop: Workshop, known: dict[Digest, Outcome]) -> None:
        self._sandbox = workshop.sandbox
        self._known = known
        self.kind = workshop.sandbox.kind
        self.runs = 0
        """Those that were made."""

    def run(self, execution: Execution) -> Outcome:
        """Remember how it ended, or see."""
        name = digest_of(execution)
        if name not in self._known:
            self.runs += 1
            self._known[name] = self._sandbox.run(execution)
        return self._known[name]

    def close(self) -> None:
        """Leave the sandbox to its owner."""


def _passes_again(workshop: Workshop, sandbox: Sandbox) -> bool:
    """Whether all that failed passes if it is checked once more, as it was: then it is flaky.

    That it passes when it is driven does not say so: what it prints besides, for one, is not seen.
    """
    known = case_of(workshop).program
    failed = {s.evidence.check for s in known if s.evidence.verdict is not Verdict.PASSED}
    again = {check.id: example for check, example in checks(workshop) if check.id in failed}
    there = dataclasses.replace(workshop, sandbox=sandbox)
    return set(again) == failed and all(
        run_example(there, workshop.program, example).verdict is Verdict.PASSED
        for example in again.values()
    )


def scene_of(workshop: Workshop) -> Scene | None:
    """Return the program with everything it is checked by; None if there is nothing to drive."""
    graph, form = workshop.recorder.ledger.graph, workshop.task.form
    known = case_of(workshop).program
    passed = {s.evidence.check for s in known if s.evidence.verdict is Verdict.PASSED}
    put = list(checks(workshop))
    fine = [place for place, (check, _) in enumerate(put) if check.id in passed]
    trial = trial_of(workshop.task, [example for _, example in put], graph, fine)
    if trial is None:
        return None
    prefix = f"{form.name}." if isinstance(form, ClassForm) else ""
    contracts = {f"{prefix}{n.contract.name}": n.contract for n in graph.nodes if n.contract}
    nodes = {f"{prefix}{n.contract.name}": n.id for n in graph.nodes if n.contract}
    root = graph.by_id[ROOT].contract
    verdicts = (standing.evidence.verdict for standing in known)
    trial = trial._replace(memory_ran_out=Verdict.MEMORY in verdicts)
    failing = Failing(
        workshop.program, tuple(nodes), trial, contracts, f"{prefix}{root.name}" if root else ""
    )
    return Scene(failing, nodes)


def with_code(workshop: Workshop, node: NodeId, source: str) -> str:
    """Return the program with other code for one node; empty if that cannot stand there."""
    return with_codes(workshop, {node: source})


def with_codes(workshop: Workshop, sources: Mapping[NodeId, str]) -> str:
    """Return the program with other code for some nodes; empty if that cannot stand there."""
    ledger = workshop.recorder.ledger
    working, graph = ledger.working, ledger.graph
    code, bundles = dict(working.code), dict(working.bundles)
    for node, source in sources.items():
        bundle = bundles[node] = read_bundle(source)
        known = working.code[node]
        units = units_of(bundle, node, known.scope, taken_names(ledger, node))
        code[node] = msgspec.structs.replace(known, units=units)
    try:
        return assemble(graph, code, bundles).text
    except AssemblyConflict:
        return ""


def _clue_of(
    scene: Scene, found: Look, node: NodeId, signs: dict[str, float], runs: int, *, flaky: bool
) -> Clue:
    takers = (
        scene.nodes[breach.consumer]
        for breach in found.breaches
        if scene.nodes.get(breach.provider) == node and breach.consumer in scene.nodes
    )
    function = next(f for f, n in scene.nodes.items() if n == node)
    calls = [place for place, call in enumerate(found.seen.calls) if call.node == function]
    return Clue(
        signs=signs,
        hands_badly_to=tuple(dict.fromkeys(taker for taker in takers if taker != node)),
        ran=spectrum(found.seen).get(function),
        calls=len(calls),
        place=calls[0] if calls else None,
        runs=runs,
        passes=flaky,
        blind=found.seen.blind and not flaky,
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
    paid: list[NodeId] = []
    for node in _in_order(workshop.recorder.ledger, scene.nodes.values()):
        check = Check(
            CheckId(f"{node}.{name}"), AtNode(node=node), kind, Trust.DERIVED, requirement
        )

        def run(node: NodeId = node) -> Seen:
            found, milliseconds = clue(node)
            if paid:
                found, milliseconds = msgspec.structs.replace(found, runs=0), 0.0
            paid.append(node)
            kinds = dict.fromkeys(kind_of(name) for name in sorted(found.signs))
            points = [kind.value for kind in kinds if kind.points]
            return Seen(
                Verdict.FAILED if points else Verdict.PASSED,
                "; ".join(points),
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
