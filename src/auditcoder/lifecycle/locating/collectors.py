"""Collectors: they run a failing program again and record what that shows of each node."""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple, TypeVar

import msgspec

from auditcoder.domain.contract import sig_match
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.execution import Execution, ExecutionOutcome
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, Digest, digest_of
from auditcoder.lifecycle import code_builder
from auditcoder.lifecycle.locating import substitution
from auditcoder.lifecycle.locating.contract_blame import spectrum
from auditcoder.lifecycle.locating.diagnosis_input import (
    Clue,
    DiagnosisState,
    SecondOpinion,
    diagnosis_input_of,
)
from auditcoder.lifecycle.locating.features import FeatureKind, gathered, kind_of
from auditcoder.lifecycle.locating.program_outline import does
from auditcoder.lifecycle.locating.scoring import ASKED
from auditcoder.lifecycle.locating.substitution import (
    SubstitutedProgram,
    SubstitutionResult,
    SubstitutionResults,
    intervene,
    with_code,
)
from auditcoder.lifecycle.locating.test_driver import own_examples, trial_of
from auditcoder.lifecycle.locating.trace_analysis import TraceEvidence, collect_evidence
from auditcoder.lifecycle.locating.trace_run import FailingRun
from auditcoder.lifecycle.model_client import SECOND_OPINION
from auditcoder.lifecycle.planning.plan import GIVEN_BY
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import CheckObservation, CheckSpec, record
from auditcoder.lifecycle.validation.program_checks import checks, run_example

Result = TypeVar("Result")


class FailingProgram(NamedTuple):
    """A failing program, and which node each of its functions is."""

    failing: FailingRun
    nodes: Mapping[str, NodeId]


def trace_failing_check(
    context: RunContext, state: DiagnosisState, _nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Trace the program through its checks once, and record what that shows of each node."""
    scene = failing_program_of(context)
    if scene is None or diagnosis_input_of(context).looked:
        return state  # there is nothing to trace, or this very program was traced before

    sandbox = _CachedSandbox(context, {})

    def run() -> tuple[TraceEvidence, bool]:
        found = collect_evidence(sandbox, scene.failing)
        return found, found.seen.passes and _passes_again(context, sandbox)

    looked = cache(lambda: _timed(run))

    def clue(node: NodeId) -> tuple[Clue, float]:
        (found, flaky), milliseconds = looked()
        signs = gathered(sign for sign in found.signs if scene.nodes.get(sign.node) == node)
        own = {name: strength for each in signs.values() for name, strength in each.items()}
        return _clue_of(scene, found, node, own, sandbox.runs, flaky=flaky), milliseconds

    _record_clues(
        context, scene, CheckKind.CLUE, "watched", "failing cases do not point to it", clue
    )
    return state


def substitute_known_versions(
    context: RunContext, state: DiagnosisState, nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Substitute earlier versions, references and second opinions: one run each."""
    before = (
        n
        for n, (_, c) in diagnosis_input_of(context).swapped.items()
        if FeatureKind.TRIED.name in c.signs
    )
    others = [
        (node, text)
        for node in dict.fromkeys((*nodes, *before))  # what was tried before is tried again
        for text in _other_versions(context, state, node)
    ]
    return substitute_versions(context, state, others)


def _other_versions(context: RunContext, state: DiagnosisState, node: NodeId) -> Iterable[str]:
    """Return all known code for a node that fits its contract and differs from the present one."""
    recorder = context.recorder
    contract = recorder.ledger.graph.by_id[node].contract
    present = recorder.ledger.working.code[node].digest
    written = (v.code for v in recorder.history.versions(node) if v.agent not in GIVEN_BY)
    known = [v for v in dict.fromkeys(written) if v != present]
    reference = recorder.history.reference(node, contract)
    texts = [recorder.text(each) for each in (*known, *([reference] if reference else []))]
    texts.append(state.opinions.get((node, contract), SecondOpinion()).source)
    # Code for another interface says nothing, nor does the same code once more.
    fitting = {does(t): t for t in texts if contract and sig_match(contract, t)}
    fitting.pop(does(recorder.text(present)), None)
    return fitting.values()


def substitute_second_opinion(
    context: RunContext, state: DiagnosisState, nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Substitute a second opinion on the likeliest node; ask about all open nodes in one call."""
    contracts = code_builder.contracts(context.recorder.ledger.graph, nodes)
    wanted = [(n, c) for n, c in contracts.items() if n != ROOT and (n, c) not in state.opinions]
    if not context.options.second_opinions or not wanted or failing_program_of(context) is None:
        return state
    likeliest = wanted[0]
    if likeliest not in state.replies:
        asked = [each for each in wanted if each not in state.replies][:ASKED]
        found = _opinions(context, [node for node, _ in asked])
        replies = dict(state.replies)
        replies.update({each: found.get(each[0], SecondOpinion()) for each in asked})
        state = dataclasses.replace(state, replies=replies)
    return substitute_known_versions(context, state.with_opinion(likeliest), nodes)


def _opinions(context: RunContext, nodes: list[NodeId]) -> dict[NodeId, SecondOpinion]:
    """Ask, without showing them, how nodes could be written; return what can be used."""
    of_class = isinstance(context.task.form, ClassForm)
    wanted = code_builder.contracts(context.recorder.ledger.graph, nodes).values()
    try:
        answer = context.ask(
            "second_opinion_methods" if of_class else "second_opinion",
            code_builder.draft_shape(context, nodes, strict=False),
            Phase.VERIFICATION,
            code_builder.room_for(nodes),
            role=SECOND_OPINION,
            node=tuple(nodes),
            temperature=context.options.repair_temperature,
            statement=context.statement,
            functions=", ".join(f"`{contract.header()}`" for contract in wanted),
            **code_builder.around(context, nodes),
        )
    except ReplyUnusable:
        return {}  # both answers are on record
    if answer.value.shared:
        return {}  # each must stand alone
    return {n: SecondOpinion(p.source, answer.seq) for n, p in answer.value.pieces.items()}


def substitute_versions(
    context: RunContext, state: DiagnosisState, versions: Iterable[tuple[NodeId, str]]
) -> DiagnosisState:
    """Substitute other code for nodes, one at a time, and record what becomes of the failure."""
    scene = failing_program_of(context)
    others = list(alternatives(context, scene, versions)) if scene else []
    if scene is None or not others:
        return state
    sandbox, afresh = _CachedSandbox(context, state.outcomes), _CachedSandbox(context, {})

    def run() -> tuple[SubstitutionResults, dict[str, dict[str, float]], bool]:
        found = intervene(sandbox, scene.failing, others, afresh)
        signs = substitution.signs(found.swapped, scene.nodes, found.failing)
        return found, gathered(signs), found.passes and _passes_again(context, afresh)

    tried = cache(lambda: _timed(run))
    functions = {node: function for function, node in scene.nodes.items()}

    def clue(node: NodeId) -> tuple[Clue, float]:
        (found, signs, flaky), milliseconds = tried()
        own = found.swapped.get(functions[node], SubstitutionResult())
        told = Clue(
            signs=signs.get(functions[node], {}),
            runs=sandbox.runs + afresh.runs,
            passes=flaky,
            blind=not found.failing and not flaky,
            healers=own.healers,
            unfit=own.unfit,
        )
        return told, milliseconds

    requirement = "failing cases stay as they are with another implementation of it"
    _record_clues(context, scene, CheckKind.SWAP, "swapped", requirement, clue)
    return dataclasses.replace(state, outcomes=sandbox.outcomes)


def alternatives(
    context: RunContext, scene: FailingProgram, versions: Iterable[tuple[NodeId, str]]
) -> Iterator[SubstitutedProgram]:
    """Yield the program with other code in one node's place, where that can stand."""
    functions = {node: function for function, node in scene.nodes.items()}
    for node, source in versions:
        if node in functions and (program := with_code(context, node, source)):
            contract = scene.failing.contracts[functions[node]]
            own = None if isinstance(context.task.form, ClassForm) else own_examples(contract)
            yield SubstitutedProgram(functions[node], program, own)


class _CachedSandbox:
    """The sandbox behind a cache: an execution whose outcome is known is not repeated."""

    def __init__(self, context: RunContext, known: Mapping[Digest, ExecutionOutcome]) -> None:
        self._sandbox = context.sandbox
        self.outcomes = dict(known)
        self.kind = context.sandbox.kind
        self.runs = 0
        """Number of executions that were not in the cache."""

    def run(self, execution: Execution) -> ExecutionOutcome:
        """Return the known outcome, or run and keep it."""
        name = digest_of(execution)
        if name not in self.outcomes:
            self.runs += 1
            self.outcomes[name] = self._sandbox.run(execution)
        return self.outcomes[name]

    def close(self) -> None:
        """Leave the sandbox to its owner."""


def _passes_again(context: RunContext, sandbox: Sandbox) -> bool:
    """Whether all that failed passes if it is checked once more, as it was: then it is flaky.

    That it passes when it is driven does not say so: what it prints besides, for one, is not seen.
    """
    known = diagnosis_input_of(context).program
    failed = {s.evidence.check for s in known if s.evidence.verdict is not Verdict.PASSED}
    again = {check.id: example for check, example in checks(context) if check.id in failed}
    there = dataclasses.replace(context, sandbox=sandbox)
    return set(again) == failed and all(
        run_example(there, context.program, example).verdict is Verdict.PASSED
        for example in again.values()
    )


def failing_program_of(context: RunContext) -> FailingProgram | None:
    """Return the program with everything it is checked by; None if there is nothing to drive."""
    graph, form = context.recorder.ledger.graph, context.task.form
    known = diagnosis_input_of(context).program
    passed = {s.evidence.check for s in known if s.evidence.verdict is Verdict.PASSED}
    put = list(checks(context))
    fine = [place for place, (check, _) in enumerate(put) if check.id in passed]
    trial = trial_of(context.task, [example for _, example in put], graph, fine)
    if trial is None:
        return None
    prefix = f"{form.name}." if isinstance(form, ClassForm) else ""
    contracts = {f"{prefix}{n.contract.name}": n.contract for n in graph.nodes if n.contract}
    nodes = {f"{prefix}{n.contract.name}": n.id for n in graph.nodes if n.contract}
    root = graph.by_id[ROOT].contract
    verdicts = (standing.evidence.verdict for standing in known)
    trial = trial._replace(memory_ran_out=Verdict.MEMORY in verdicts)
    failing = FailingRun(
        context.program, tuple(nodes), trial, contracts, f"{prefix}{root.name}" if root else ""
    )
    return FailingProgram(failing, nodes)


def _clue_of(
    scene: FailingProgram,
    found: TraceEvidence,
    node: NodeId,
    signs: dict[str, float],
    runs: int,
    *,
    flaky: bool,
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


def _record_clues(
    context: RunContext,
    scene: FailingProgram,
    kind: CheckKind,
    name: str,
    requirement: str,
    clue: Callable[[NodeId], tuple[Clue, float]],
) -> None:
    """Put what was noticed on record under every node; what it cost, with the first of them."""
    paid: list[NodeId] = []
    for node in _in_order(context.recorder.ledger, scene.nodes.values()):
        check = CheckSpec(
            CheckId(f"{node}.{name}"), AtNode(node=node), kind, Trust.DERIVED, requirement
        )

        def run(node: NodeId = node) -> CheckObservation:
            found, milliseconds = clue(node)
            if paid:
                found, milliseconds = msgspec.structs.replace(found, runs=0), 0.0
            paid.append(node)
            kinds = dict.fromkeys(kind_of(name) for name in sorted(found.signs))
            points = [kind.value for kind in kinds if kind.points]
            return CheckObservation(
                Verdict.FAILED if points else Verdict.PASSED,
                "; ".join(points),
                msgspec.json.encode(found).decode(),
                judge=context.sandbox.kind,
                milliseconds=milliseconds,
            )

        record(context, check, run)


def _in_order(ledger: Ledger, nodes: Iterable[NodeId]) -> Iterator[NodeId]:
    known = set(nodes) & set(ledger.working.code)
    return (node for node in (*ledger.graph.order, *ledger.graph.inner) if node in known)


def _timed(act: Callable[[], Result]) -> tuple[Result, float]:
    began = time.monotonic()
    return act(), 1000 * (time.monotonic() - began)
