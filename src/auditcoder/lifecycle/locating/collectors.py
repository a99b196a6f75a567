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
    SecondOpinion,
    diagnosis_input_of,
)
from auditcoder.lifecycle.locating.features import FeatureKind, feature_strengths, kind_of
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

    def clue(node: NodeId) -> tuple[Clue, float]:
        (evidence, flaky), milliseconds = traced()
        features = feature_strengths(
            f for f in evidence.features if failing_program.nodes.get(f.node) == node
        )
        own = {name: strength for each in features.values() for name, strength in each.items()}
        return _clue_of(
            failing_program, evidence, node, own, sandbox.runs, flaky=flaky
        ), milliseconds

    _record_clues(
        context,
        failing_program,
        CheckKind.CLUE,
        "watched",
        "failing cases do not point to it",
        clue,
    )
    return state


def substitute_known_versions(
    context: RunContext, state: DiagnosisState, nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Substitute earlier versions, references and second opinions, in one run each."""
    tried_before = (
        n
        for n, (_, c) in diagnosis_input_of(context).swapped.items()
        if FeatureKind.TRIED.name in c.features
    )
    others = [
        (node, text)
        for node in dict.fromkeys((*nodes, *tried_before))  # the new clues replace the old
        for text in _other_versions(context, state, node)
    ]
    return substitute_versions(context, state, others)


def _other_versions(context: RunContext, state: DiagnosisState, node: NodeId) -> Iterable[str]:
    """Return all known code for a node that fits its contract and differs from its current code."""
    recorder = context.recorder
    contract = recorder.ledger.graph.by_id[node].contract
    present = recorder.ledger.working.code[node].digest
    written = (v.code for v in recorder.history.versions(node) if v.agent not in GIVEN_BY)
    known = [v for v in dict.fromkeys(written) if v != present]
    reference = recorder.history.reference(node, contract)
    texts = [recorder.text(each) for each in (*known, *([reference] if reference else []))]
    texts.append(state.opinions.get((node, contract), SecondOpinion()).source)
    # Code for another interface, or the same code again, gives no evidence.
    fitting = {normal_form(t): t for t in texts if contract and sig_match(contract, t)}
    fitting.pop(normal_form(recorder.text(present)), None)
    return fitting.values()


def substitute_second_opinion(
    context: RunContext, state: DiagnosisState, nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Substitute a second opinion on the likeliest node.

    One request asks for the second opinions on all open nodes, up to `ASKED` of them.
    """
    contracts = code_builder.contracts(context.recorder.ledger.graph, nodes)
    wanted = [(n, c) for n, c in contracts.items() if n != ROOT and (n, c) not in state.opinions]
    if (
        context.options.second_opinions is SecondOpinions.NONE
        or not wanted
        or failing_program_of(context) is None
    ):
        return state
    likeliest = wanted[0]
    if likeliest not in state.replies:
        asked = [each for each in wanted if each not in state.replies][:MAX_SECOND_OPINIONS]
        opinions = _request_opinions(context, [node for node, _ in asked])
        replies = dict(state.replies)
        replies.update({each: opinions.get(each[0], SecondOpinion()) for each in asked})
        state = dataclasses.replace(state, replies=replies)
    return substitute_known_versions(context, state.with_opinion(likeliest), nodes)


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
    context: RunContext, state: DiagnosisState, versions: Iterable[tuple[NodeId, str]]
) -> DiagnosisState:
    """Substitute other code for nodes, one at a time, and record how the failure changes."""
    failing_program = failing_program_of(context)
    others = list(alternatives(context, failing_program, versions)) if failing_program else []
    if failing_program is None or not others:
        return state
    sandbox, uncached = _CachedSandbox(context, state.outcomes), _CachedSandbox(context, {})

    def run() -> tuple[SubstitutionResults, dict[str, dict[str, float]], bool]:
        results = run_substitutions(sandbox, failing_program.failing, others, uncached)
        features = substitution.substitution_features(
            results.swapped, failing_program.nodes, results.failing
        )
        return (
            results,
            feature_strengths(features),
            results.passes and _passes_again(context, uncached),
        )

    substituted = cache(lambda: _timed(run))
    functions = {node: function for function, node in failing_program.nodes.items()}

    def clue(node: NodeId) -> tuple[Clue, float]:
        (results, features, flaky), milliseconds = substituted()
        own = results.swapped.get(functions[node], SubstitutionResult())
        observed = Clue(
            features=features.get(functions[node], {}),
            runs=sandbox.runs + uncached.runs,
            passes=flaky,
            blind=not results.failing and not flaky,
            healers=own.healers,
            unfit=own.unfit,
        )
        return observed, milliseconds

    requirement = "failing cases stay as they are with another implementation of it"
    _record_clues(context, failing_program, CheckKind.SWAP, "swapped", requirement, clue)
    return dataclasses.replace(state, outcomes=sandbox.outcomes)


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
    failed = {s.evidence.check for s in known if s.evidence.verdict is not Verdict.PASSED}
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
    planned = list(checks(context))
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
    failing_program: FailingProgram,
    kind: CheckKind,
    name: str,
    requirement: str,
    clue: Callable[[NodeId], tuple[Clue, float]],
) -> None:
    """Record an observation for every node; the first one carries the cost of the runs."""
    recorded: list[NodeId] = []
    for node in _in_order(context.recorder.ledger, failing_program.nodes.values()):
        check = CheckSpec(
            CheckId(f"{node}.{name}"), AtNode(node=node), kind, Trust.DERIVED, requirement
        )

        def run(node: NodeId = node) -> CheckObservation:
            observed, milliseconds = clue(node)
            if recorded:
                observed, milliseconds = msgspec.structs.replace(observed, runs=0), 0.0
            recorded.append(node)
            kinds = dict.fromkeys(kind_of(name) for name in sorted(observed.features))
            points = [kind.value for kind in kinds if kind.points]
            return CheckObservation(
                Verdict.FAILED if points else Verdict.PASSED,
                "; ".join(points),
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
