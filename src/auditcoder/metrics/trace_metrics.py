"""Metrics of one trace: completeness of the record, localisation, and cost.

The definitions are those of the paper's appendices D and H. Over several runs, the sum of the
ratios gives the micro average and the mean of the rates the macro average; `audit_metrics` and
`cost_metrics` compute them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

import msgspec

from auditcoder.domain.code import UnitKind
from auditcoder.domain.contract import sig_match
from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.graph import Node, TaskGraph, graph_faults
from auditcoder.domain.ids import ROOT, NodeId, allocated_under
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.repair import Transaction, TransactionKind, rank
from auditcoder.domain.targets import AtNode, AtProgram, Target
from auditcoder.domain.task import example_check
from auditcoder.domain.trace import DiagnosisRecord, RecordedEvidence, Trace
from auditcoder.domain.usage import Count, Phase, Scope, Usage, total
from auditcoder.domain.values import CheckId, Digest, Value


class Ratio(Value):
    """A numerator and a denominator. For changed code, the part may exceed the whole."""

    part: Count = 0
    whole: Count = 0

    @property
    def rate(self) -> float | None:
        """The ratio as a number; None if there was nothing to count."""
        return self.part / self.whole if self.whole else None

    def __add__(self, other: "Ratio") -> "Ratio":
        """Add numerators and denominators."""
        return Ratio(part=self.part + other.part, whole=self.whole + other.whole)


def _share(holds: Iterable[bool]) -> Ratio:
    values = list(holds)
    return Ratio(part=sum(values), whole=len(values))


def trace_coverage(trace: Trace, read: ReadBlob) -> Ratio:
    """DCTC: leaves with code, a contract, input sources and a verdict on that code, of all leaves.

    Every conclusive verdict of a check counts, also a failure or one that no longer stands: the
    metric measures whether the record is complete, not whether the code is correct.
    """
    graph = trace.working.graph
    code = {node: owned.digest for node, owned in trace.working.code.items()}
    return _covered(trace, graph.leaves if graph else (), code, trace.evidence, read)


def initial_trace_coverage(trace: Trace, read: ReadBlob) -> Ratio:
    """DCTC before the first repair; at the end of the run if there was no repair.

    Contracts and sources are the latest ones, since a trace keeps no earlier description.
    """
    if not trace.history:
        return trace_coverage(trace, read)
    opened = trace.history[0].opened
    planned = [node for node, when in trace.committed.items() if when.seq < opened]
    parents = {allocated_under(node) for node in planned}  # an id contains its first parent
    return _covered(
        trace,
        [node for node in planned if node not in parents],
        {v.node: v.code for v in trace.versions if v.when.seq < opened},
        [w for w in trace.evidence if w.when.seq < opened],
        read,
    )


def _covered(
    trace: Trace,
    leaves: Iterable[NodeId],
    code: Mapping[NodeId, Digest],
    evidence: Iterable[RecordedEvidence],
    read: ReadBlob,
) -> Ratio:
    leaves = tuple(leaves)
    judged = {
        (w.evidence.subject.node, w.evidence.against)
        for w in evidence
        if isinstance(w.evidence.subject, AtNode)
        and w.evidence.kind.judges
        and w.evidence.verdict.conclusive
    }
    return _share(
        (leaf, code.get(leaf)) in judged
        and bool(read(code[leaf]).strip())
        and (
            _is_described(trace.nodes[leaf])
            or _has_definitions(trace, leaf)
            or _is_whole_program(trace, leaves)
        )
        for leaf in leaves
    )


def _is_described(node: Node) -> bool:
    """Whether a node has a contract with a name, and a source for every input."""
    return node.contract is not None and bool(node.contract.name) and _has_sources(node)


def _has_sources(node: Node) -> bool:
    return all(slot.source is not None for slot in node.inputs)


def _is_whole_program(trace: Trace, leaves: Sequence[NodeId]) -> bool:
    """Whether the only leaf is a whole program, described by sources and outputs, not a function.

    The node of a method that plans nothing declares no outputs.
    """
    if len(leaves) != 1 or trace.nodes[ROOT].contract is not None:
        return False
    node = trace.nodes[leaves[0]]
    return node.contract is None and bool(node.outputs) and _has_sources(node)


def graph_integrity(trace: Trace) -> bool:
    """GraphValid: whether the present graph is valid; False if there is none."""
    return trace.working.graph is not None and not graph_faults(trace.working.graph)


def signature_consistency(trace: Trace, read: ReadBlob) -> Ratio:
    """CSCR: nodes whose code has the signature of their contract, of all implementing nodes.

    These are the leaves and the inner nodes that own code, except for a root without a contract,
    leaves that own definitions, and a leaf that is a whole program.
    """
    graph, code = trace.working.graph, trace.working.code
    if graph is None:
        return Ratio()
    return _share(
        node.contract is not None
        and node.id in code
        and sig_match(node.contract, read(code[node.id].digest).decode())
        for node in _implementing(trace, graph)
        if not _is_functionless(trace, node)
    )


def functionless_roots(trace: Trace) -> int:
    """Return the number of nodes with code that CSCR excludes, because they are no function."""
    graph = trace.working.graph
    if graph is None:
        return 0
    return sum(_is_functionless(trace, node) for node in _implementing(trace, graph))


def _implementing(trace: Trace, graph: TaskGraph) -> list[Node]:
    """Return the set U: the leaves, and the inner nodes that own code."""
    leaves = set(graph.leaves)
    return [n for n in graph.nodes if n.id in trace.working.code or n.id in leaves]


def _is_functionless(trace: Trace, node: Node) -> bool:
    graph = trace.working.graph
    return node.contract is None and (
        node.id == ROOT
        or _has_definitions(trace, node.id)
        or (graph is not None and _is_whole_program(trace, graph.leaves))
    )


def _has_definitions(trace: Trace, node: NodeId) -> bool:
    """Whether a node owns definitions and no function, so that no contract describes its code.

    Another node has a contract; else the node is a whole program, whatever its code defines.
    """
    code, described = trace.working.code.get(node), trace.nodes[node].contract is not None
    return (
        not described
        and any(other.contract for other in trace.nodes.values())
        and code is not None
        and all(unit.kind is not UnitKind.FUNCTION for unit in code.units)
    )


def frozen_intact(trace: Trace) -> Ratio:
    """Decided repairs that left their frozen nodes unchanged, of all decided bounded repairs."""
    return _share(
        intact for repair in trace.history if (intact := keeps_frozen(repair)) is not None
    )


def keeps_frozen(repair: Transaction) -> bool | None:
    """Whether a repair left its frozen nodes unchanged; None for a fallback or an open repair."""
    if repair.decision is None or repair.kind is TransactionKind.FALLBACK:
        return None
    return _touched(repair).isdisjoint({f.node for f in repair.frozen} - set(repair.region))


def _touched(repair: Transaction) -> set[NodeId]:
    """Return the existing nodes whose code, description or local evidence a repair changed."""
    touched = {delta.node for delta in repair.code_deltas}
    touched |= {e.subject.node for e in repair.local_evidence if isinstance(e.subject, AtNode)}
    return touched | (repair.graph_delta.touched if repair.graph_delta else set())


def failed_at_first(trace: Trace) -> bool | None:
    """Whether the first program failed a check that counts for its rank, before any diagnosis.

    A check that did not run counts as not passed. None if there is no program, or if there is no
    diagnosis, no check failed and some did not run.
    """
    if not trace.programs:
        return None
    until = trace.diagnoses[0].when.seq if trace.diagnoses else trace.last.seq + 1
    decisive, verdicts = _first_checks(trace, until)
    if rank(verdicts, decisive).full:
        return False
    failed = any(v.failing for c, v in verdicts.items() if c in decisive)
    return True if failed or trace.diagnoses else None


def _first_checks(trace: Trace, until: int) -> tuple[dict[CheckId, Trust], dict[CheckId, Verdict]]:
    """Return the checks that a program must pass, and the verdicts on the first program."""
    ran = [
        w.evidence
        for w in trace.evidence
        if w.when.seq < until
        and isinstance(w.evidence.subject, AtProgram)
        and w.evidence.against == trace.programs[0].program
    ]
    checks = {example_check(n): Trust.GIVEN for n, _ in enumerate(trace.task.examples, start=1)}
    checks |= {e.check: e.trust for e in ran}
    decisive = Trust.GIVEN if Trust.GIVEN in checks.values() else Trust.DERIVED
    return {c: t for c, t in checks.items() if t is decisive}, {e.check: e.verdict for e in ran}


def needs_repair(trace: Trace) -> bool:
    """Whether a run belongs to F_repair: its first program failed and was diagnosed."""
    return bool(trace.diagnoses) and failed_at_first(trace) is True


class Boundary(Value):
    """The rule, level and kind of target of a diagnosis."""

    rule: str
    level: Level
    target: str
    """`node`, `nodes`, `branch` or `interface`."""


def boundary_of(diagnosis: Localised) -> Boundary:
    """Return the countable part of a diagnosis."""
    return Boundary(rule=diagnosis.rule, level=diagnosis.level, target=_kind_of(diagnosis.target))


def _kind_of(target: Target) -> str:
    return str(target.__struct_config__.tag)


def recorded_boundary(trace: Trace) -> Boundary | None:
    """RecordedLocate: the boundary that counts for the run; None if it was not localised.

    It is the last one that a repair acted on; else that of the last diagnosis, if it has one. A
    boundary that was replaced before a repair began does not count.
    """
    acted = [answer for answer in trace.diagnoses if answer.transaction is not None]
    for answer in (*reversed(acted), *trace.diagnoses[-1:]):
        if isinstance(answer.diagnosis, Localised):
            return boundary_of(answer.diagnosis)
    return None


class Localisation(Value):
    """Counts of all diagnoses of a run, including those that a later one replaced."""

    localised: dict[str, dict[str, int]]
    """Number of diagnoses by rule, then by level."""
    abstained: int
    targets: dict[str, int] = {}
    """Number of diagnoses by kind of target: node, nodes, branch or interface."""

    @property
    def coverage(self) -> Ratio:
        """Diagnoses with a boundary, of all. LocCov counts runs instead; see `audit_metrics`."""
        localised = sum(sum(levels.values()) for levels in self.localised.values())
        return Ratio(part=localised, whole=localised + self.abstained)


def localisation(trace: Trace) -> Localisation:
    """Count the diagnoses by rule and level; an abstention has neither."""
    answers = [answer.diagnosis for answer in trace.diagnoses]
    boundaries = [boundary_of(answer) for answer in answers if isinstance(answer, Localised)]
    return Localisation(
        localised=by_rule_and_level(Counter((b.rule, b.level) for b in boundaries)),
        abstained=len(answers) - len(boundaries),
        targets=dict(sorted(Counter(b.target for b in boundaries).items())),
    )


class DiagnosisCost(Value):
    """The cost of diagnoses, beyond the failed checks themselves."""

    runs: int = 0
    """Number of sandbox executions."""
    milliseconds: float = 0.0
    questions: int = 0
    """Number of model requests."""
    usage: Usage = Usage()
    """Tokens and cost of these requests."""


_DIAGNOSTIC_ROLES = frozenset({"second opinion", "informed second opinion", "verifier"})
"""The roles that are asked only to locate a fault."""


def diagnosis_cost(trace: Trace, read: ReadBlob) -> DiagnosisCost:
    """Add up the executions and requests that were made only to locate faults."""
    observations = [w.evidence for w in trace.evidence if not w.evidence.kind.judges]
    usages = [r.reply.usage for r in trace.replies if r.reply.role in _DIAGNOSTIC_ROLES]
    return DiagnosisCost(
        runs=sum(_executions(read(e.observed)) for e in observations if e.observed),
        milliseconds=sum(e.milliseconds or 0.0 for e in observations),
        questions=len(usages),
        usage=total(usages),
    )


class _Observation(msgspec.Struct):
    """The part of a recorded observation that counts its sandbox executions."""

    runs: int = 0


def _executions(observed: bytes) -> int:
    try:
        return msgspec.json.decode(observed, type=_Observation).runs
    except msgspec.DecodeError:  # an observation in another format
        return 0


def by_rule_and_level(found: Mapping[tuple[str, Level], int]) -> dict[str, dict[str, int]]:
    """Return counts by rule, in alphabetical order, then by level from high to low."""
    return {
        rule: {level.value: found[rule, level] for level in Level if (rule, level) in found}
        for rule in sorted({rule for rule, _ in found})
    }


class RepairPath(Enum):
    """The course of a repair attempt."""

    LOCALISED = "localised"
    """A diagnosis with a boundary, and a repair within it."""
    FALLBACK = "fallback"
    """An abstention, followed by a graph-wide repair."""
    ABSTAINED = "abstained"
    """An abstention without a repair."""
    UNDIAGNOSED = "undiagnosed"
    """The record ends before a diagnosis."""


def attempts(trace: Trace) -> list[tuple[RepairPath, int | None]]:
    """Return every repair attempt, in order: its path, and the event that ended it, if any.

    An attempt is a transaction together with the diagnoses and calls since the one before.
    Diagnoses or calls after the last transaction are one more attempt.
    """
    repairs: list[tuple[RepairPath, int | None]] = [
        (
            RepairPath.FALLBACK if t.kind is TransactionKind.FALLBACK else RepairPath.LOCALISED,
            t.closed,
        )
        for t in trace.history
    ]
    ended = repairs[-1][1] if repairs else 0
    if ended is None:
        return repairs
    answers = [answer for answer in trace.diagnoses if answer.when.seq > ended]
    called = any(b.reply.scope is Scope.REPAIR and b.when.seq > ended for b in trace.replies)
    if answers or called:
        repairs.append((_path_of(answers), None))
    return repairs


def _path_of(answers: list[DiagnosisRecord]) -> RepairPath:
    if not answers:
        return RepairPath.UNDIAGNOSED
    return (
        RepairPath.LOCALISED
        if isinstance(answers[-1].diagnosis, Localised)
        else RepairPath.ABSTAINED
    )


class CostLine(Value):
    """The cost of the calls of one scope, phase, role and path."""

    scope: Scope
    phase: Phase
    role: str
    usage: Usage
    path: RepairPath | None = None
    """The path of the repair attempt; None for calls of the initial scope."""


def cost_lines(trace: Trace) -> tuple[CostLine, ...]:
    """Return the cost of a run's calls, including rejected ones, by scope, phase, role and path.

    Every reply names its scope, phase and role, so each is counted. A call belongs to the first
    attempt that had not ended when it was made, so the calls for a diagnosis belong to the
    transaction after it.
    """
    repairs = attempts(trace)
    parts: dict[tuple[Scope, Phase, str, RepairPath | None], list[Usage]] = {}
    for billed in trace.replies:
        reply = billed.reply
        path = None
        if reply.scope is Scope.REPAIR:
            path = next(p for p, ended in repairs if ended is None or billed.when.seq < ended)
        parts.setdefault((reply.scope, reply.phase, reply.role, path), []).append(reply.usage)
    return tuple(
        CostLine(scope=scope, phase=phase, role=role, path=path, usage=total(usages))
        for (scope, phase, role, path), usages in parts.items()
    )


class TokenUse(Value):
    """The cost of a run's model calls, with three breakdowns that each add up to the total."""

    total: Usage
    by_scope: dict[str, Usage]
    by_phase: dict[str, Usage]
    by_role: dict[str, Usage]


def token_use(trace: Trace) -> TokenUse:
    """Add up the cost of every reply, including rejected ones.

    Calls and tokens of each breakdown add up exactly; money is a float and adds up to rounding.
    """
    bill = cost_lines(trace)
    return TokenUse(
        total=_cost(bill),
        by_scope={scope.value: _cost(x for x in bill if x.scope is scope) for scope in Scope},
        by_phase={phase.value: _cost(x for x in bill if x.phase is phase) for phase in Phase},
        by_role={
            role: _cost(x for x in bill if x.role == role)
            for role in sorted({x.role for x in bill})
        },
    )


def _cost(bill: Iterable[CostLine]) -> Usage:
    return total(line.usage for line in bill)
