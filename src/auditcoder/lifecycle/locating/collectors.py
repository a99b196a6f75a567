"""Collectors: they run a failing program again and record observations about each node."""

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
from auditcoder.lifecycle.locating.check_driver import own_examples, trace_plan_of
from auditcoder.lifecycle.locating.contract_blame import spectrum
from auditcoder.lifecycle.locating.diagnosis_input import (
    Clue,
    DiagnosisState,
    Implemented,
    SecondOpinion,
    diagnosis_input_of,
)
from auditcoder.lifecycle.locating.features import (
    feature_strengths,
    is_statable,
    kind_of,
)
from auditcoder.lifecycle.locating.program_outline import normal_form
from auditcoder.lifecycle.locating.scoring import MAX_SECOND_OPINIONS
from auditcoder.lifecycle.locating.substitution import (
    SubstitutedProgram,
    SubstitutionResult,
    SubstitutionResults,
    run_substitutions,
    with_code,
)
from auditcoder.lifecycle.locating.trace_analysis import TraceEvidence, collect_evidence
from auditcoder.lifecycle.locating.trace_run import FailingRun
from auditcoder.lifecycle.options import SecondOpinions
from auditcoder.lifecycle.planning.plan import GIVEN_BY
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.second_opinions import opinion_request
from auditcoder.lifecycle.token_limits import code_size
from auditcoder.lifecycle.validation.check_recorder import CheckObservation, CheckSpec, record
from auditcoder.lifecycle.validation.program_checks import checks, run_example

Result = TypeVar("Result")


class FailingProgram(NamedTuple):
    """A failing program and the node that owns each of its functions."""

    failing: FailingRun
    nodes: Mapping[str, NodeId]


def trace_failing_check(
    context: RunContext, state: DiagnosisState, _nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Trace the program once while it runs its checks, and record the features of each node."""
    failing_program = failing_program_of(context)
    if failing_program is None or diagnosis_input_of(context).traced:
        return state  # there is nothing to trace, or this program was traced before

    sandbox = _CachedSandbox(context, {})

    def run() -> tuple[TraceEvidence, bool]:
        evidence = collect_evidence(sandbox, failing_program.failing)
        return evidence, evidence.seen.passes and _passes_again(context, sandbox)

    traced = cache(lambda: _timed(run))

    def clue(node: NodeId) -> tuple[Clue, str, float]:
        (evidence, flaky), milliseconds = traced()
        features = feature_strengths(
            f for f in evidence.features if failing_program.nodes.get(f.node) == node
        )
        own = {name: strength for each in features.values() for name, strength in each.items()}
        seen = _clue_of(failing_program, evidence, node, own, sandbox.runs, flaky=flaky)
        unobserved = _FLAKY if seen.passes else _NO_FAILURE if seen.blind else ""
        if unobserved:
            seen = msgspec.structs.replace(seen, features={})
        return seen, unobserved, milliseconds

    nodes = failing_program.nodes.values()
    requirement = "failing cases do not point to it"
    _record_clues(context, nodes, CheckKind.CLUE, "watched", requirement, clue)
    return state


def substitute_known_versions(
    context: RunContext, state: DiagnosisState, nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Substitute earlier versions, references and second opinions, in one run each.

    Every second opinion at hand is tried, also those of nodes that are not in doubt.
    """
    contracts = code_builder.contracts(
        context.recorder.ledger.graph, context.recorder.ledger.graph.ids
    )
    answered = (node for node, contract in state.opinions if contracts.get(node) == contract)
    wanted = dict.fromkeys((*nodes, *answered))
    known = {node: _other_versions(context, state, node) for node in wanted}
    return substitute_versions(context, state, known)


class OtherVersions(NamedTuple):
    """Other code for a node that can be substituted, and why further code cannot."""

    sources: tuple[str, ...] = ()
    unusable: str = ""
    """Why some other code is not substituted; empty if all is."""


def _other_versions(context: RunContext, state: DiagnosisState, node: NodeId) -> OtherVersions:
    """Return all known code for a node that fits its contract and differs from its current code."""
    recorder = context.recorder
    contract = recorder.ledger.graph.by_id[node].contract
    present = recorder.ledger.working.code[node].digest
    written = (v.code for v in recorder.history.versions(node) if v.agent not in GIVEN_BY)
    known = [v for v in dict.fromkeys(written) if v != present]
    reference = recorder.history.reference(node, contract)
    texts = [recorder.text(each) for each in (*known, *([reference] if reference else []))]
    opinion = state.opinions.get((node, contract))
    if opinion is not None and opinion.source:
        texts.append(opinion.source)
    # Code for another interface, or the same code again, gives no evidence.
    fitting = {normal_form(t): t for t in texts if contract and sig_match(contract, t)}
    same = fitting.pop(normal_form(recorder.text(present)), None)
    if same is not None:
        unusable = "another implementation of it is the same code"
    elif texts and not fitting:
        unusable = "other code for it has another signature"
    elif opinion is not None and not opinion.source:
        unusable = "no usable implementation of it was written"
    else:
        unusable = ""
    return OtherVersions(tuple(fitting.values()), unusable)


def substitute_second_opinion(
    context: RunContext, state: DiagnosisState, nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Request second opinions on open nodes that have none, and substitute every opinion."""
    contracts = code_builder.contracts(context.recorder.ledger.graph, nodes)
    open_nodes = [
        (n, c) for n, c in contracts.items() if n != ROOT and (n, c) not in state.opinions
    ]
    wanted = open_nodes[:MAX_SECOND_OPINIONS]
    if (
        context.options.second_opinions is SecondOpinions.NONE
        or not wanted
        or failing_program_of(context) is None
    ):
        return state
    replies = _request_opinions(context, [node for node, _ in wanted])
    opinions: dict[Implemented, SecondOpinion] = {
        each: replies.get(each[0], SecondOpinion()) for each in wanted
    }
    return substitute_known_versions(context, state.with_opinions(opinions), nodes)


def _request_opinions(context: RunContext, nodes: list[NodeId]) -> dict[NodeId, SecondOpinion]:
    """Request new implementations of nodes.

    Nodes without a usable implementation in the reply are missing from the result.
    """
    role, prompt, values = opinion_request(context, nodes)
    try:
        answer = context.ask(
            prompt,
            code_builder.draft_shape(context, nodes, strict=False),
            Phase.VERIFICATION,
            code_size(nodes),
            role=role,
            node=tuple(nodes),
            statement=context.statement,
            **values,
        )
    except ReplyUnusable:
        return {}  # both unusable replies are recorded
    if answer.value.shared:
        return {}  # each implementation is substituted alone, so it must not need shared code
    return {n: SecondOpinion(p.source, answer.seq) for n, p in answer.value.pieces.items()}


def substitute_versions(
    context: RunContext, state: DiagnosisState, versions: Mapping[NodeId, OtherVersions]
) -> DiagnosisState:
    """Substitute other code for nodes, one at a time, and record how the failure changes.

    A node whose other code could not be tried is recorded as untried, with the reason.
    """
    failing_program = failing_program_of(context)
    if failing_program is None:
        return state
    flat = [(node, text) for node, known in versions.items() for text in known.sources]
    others = list(alternatives(context, failing_program, flat))
    sandbox, uncached = _CachedSandbox(context, state.outcomes), _CachedSandbox(context, {})

    def run() -> tuple[SubstitutionResults, dict[str, dict[str, float]], bool]:
        if not others:
            return SubstitutionResults(), {}, False
        results = run_substitutions(sandbox, failing_program.failing, others, uncached)
        features = feature_strengths(
            substitution.substitution_features(results.swapped, results.failing)
        )
        return results, features, results.passes and _passes_again(context, uncached)

    substituted = cache(lambda: _timed(run))
    functions = {node: function for function, node in failing_program.nodes.items()}
    assembled = {failing_program.nodes[other.node] for other in others}

    def clue(node: NodeId) -> tuple[Clue, str, float]:
        (results, features, flaky), milliseconds = substituted()
        own = results.swapped.get(functions[node], SubstitutionResult())
        observed = Clue(
            features=features.get(functions[node], {}),
            runs=sandbox.runs + uncached.runs,
            passes=flaky,
            blind=bool(others) and not results.failing and not flaky,
            healers=own.healers,
            unfit=own.unfit,
        )
        untried = _why_untried(observed, own, versions[node], assembled=node in assembled)
        return observed, untried, milliseconds

    requirement = "failing cases stay as they are with another implementation of it"
    recorded = [n for n, v in versions.items() if n in functions and (v.sources or v.unusable)]
    _record_clues(context, recorded, CheckKind.SWAP, "swapped", requirement, clue)
    return dataclasses.replace(state, outcomes=sandbox.outcomes)


def _why_untried(
    clue: Clue, own: SubstitutionResult, versions: OtherVersions, *, assembled: bool
) -> str:
    """Return why no other code for a node was tried; empty if some was."""
    if own.tried:
        return ""
    if not versions.sources:
        return versions.unusable
    if not assembled:
        return "other code for it cannot be assembled with the rest"
    if clue.passes:
        return _FLAKY
    if clue.blind:
        return _NO_FAILURE
    if own.unfit:
        return "other code for it fails the examples of its own contract and changes nothing"
    return "the program with other code for it cannot be loaded"


_FLAKY = "what failed passed when it was run again"
_NO_FAILURE = "no failing step was observed"


def alternatives(
    context: RunContext, failing_program: FailingProgram, versions: Iterable[tuple[NodeId, str]]
) -> Iterator[SubstitutedProgram]:
    """Yield the program with one node's code replaced, for each version that can be assembled."""
    functions = {node: function for function, node in failing_program.nodes.items()}
    for node, source in versions:
        if node in functions and (program := with_code(context, node, source)):
            contract = failing_program.failing.contracts[functions[node]]
            own = None if isinstance(context.task.form, ClassForm) else own_examples(contract)
            yield SubstitutedProgram(functions[node], program, own)


class _CachedSandbox:
    """A sandbox with a cache: an execution whose outcome is known is not repeated."""

    def __init__(self, context: RunContext, known: Mapping[Digest, ExecutionOutcome]) -> None:
        self._sandbox = context.sandbox
        self.outcomes = dict(known)
        self.kind = context.sandbox.kind
        self.runs = 0
        """Number of executions that were not in the cache."""

    def run(self, execution: Execution) -> ExecutionOutcome:
        """Return the cached outcome, or run and cache it."""
        name = digest_of(execution)
        if name not in self.outcomes:
            self.runs += 1
            self.outcomes[name] = self._sandbox.run(execution)
        return self.outcomes[name]

    def close(self) -> None:
        """Do nothing: the wrapped sandbox is closed by its owner."""


def _passes_again(context: RunContext, sandbox: Sandbox) -> bool:
    """Whether every failed check passes when it is repeated unchanged: the failure is flaky.

    A pass under the test driver does not show this: the driver ignores printed output, for example.
    """
    known = diagnosis_input_of(context).program
    failed = {s.evidence.check for s in known if s.evidence.verdict.failing}
    again = {check.id: example for check, example in checks(context) if check.id in failed}
    rerun = dataclasses.replace(context, sandbox=sandbox)
    return set(again) == failed and all(
        run_example(rerun, context.program, example).verdict is Verdict.PASSED
        for example in again.values()
    )


def failing_program_of(context: RunContext) -> FailingProgram | None:
    """Return the program with a trace plan of its checks; None if no check can be traced."""
    graph, form = context.recorder.ledger.graph, context.task.form
    known = diagnosis_input_of(context).program
    passed = {s.evidence.check for s in known if s.evidence.verdict is Verdict.PASSED}
    undecided = {s.evidence.check for s in known if not s.evidence.verdict.conclusive}
    planned = [(check, e) for check, e in checks(context) if check.id not in undecided]
    passing = [index for index, (check, _) in enumerate(planned) if check.id in passed]
    trial = trace_plan_of(context.task, [example for _, example in planned], graph, passing)
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
    failing_program: FailingProgram,
    evidence: TraceEvidence,
    node: NodeId,
    features: dict[str, float],
    runs: int,
    *,
    flaky: bool,
) -> Clue:
    consumers = (
        failing_program.nodes[breach.consumer]
        for breach in evidence.breaches
        if failing_program.nodes.get(breach.provider) == node
        and breach.consumer in failing_program.nodes
    )
    function = next(f for f, n in failing_program.nodes.items() if n == node)
    calls = [index for index, call in enumerate(evidence.seen.calls) if call.node == function]
    return Clue(
        features=features,
        hands_badly_to=tuple(dict.fromkeys(consumer for consumer in consumers if consumer != node)),
        ran=spectrum(evidence.seen).get(function),
        calls=len(calls),
        place=calls[0] if calls else None,
        runs=runs,
        passes=flaky,
        blind=evidence.seen.blind and not flaky,
    )


def _record_clues(
    context: RunContext,
    nodes: Iterable[NodeId],
    kind: CheckKind,
    name: str,
    requirement: str,
    clue: Callable[[NodeId], tuple[Clue, str, float]],
) -> None:
    """Record an observation for each node; the first one carries the cost of the runs.

    `clue` also returns why nothing was observed; then the verdict is inconclusive.
    """
    inconclusive = Verdict.NOT_RUN if kind is CheckKind.CLUE else Verdict.UNTRIED
    recorded: list[NodeId] = []
    for node in _in_order(context.recorder.ledger, nodes):
        check = CheckSpec(
            CheckId(f"{node}.{name}"), AtNode(node=node), kind, Trust.DERIVED, requirement
        )

        def run(node: NodeId = node) -> CheckObservation:
            observed, unobserved, milliseconds = clue(node)
            if recorded:
                observed, milliseconds = msgspec.structs.replace(observed, runs=0), 0.0
            recorded.append(node)
            kinds = {
                kind_of(name): strength for name, strength in sorted(observed.features.items())
            }
            points = [kind for kind in kinds if kind.points]
            verdict = Verdict.FAILED if points else Verdict.PASSED
            said = [kind.value for kind in points if is_statable(kind, kinds[kind])]
            return CheckObservation(
                inconclusive if unobserved else verdict,
                unobserved or "; ".join(said),
                msgspec.json.encode(observed).decode(),
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
