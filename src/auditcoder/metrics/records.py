"""How whole a record is, how its faults were located, and what it cost: numbers about one trace.

The definitions are those of the paper's appendices D and H. Over several runs, the sum of
their shares is the micro average, and the mean of their rates the macro average.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from auditcoder.domain.contract import sig_match
from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.graph import Node, graph_faults
from auditcoder.domain.ids import NodeId, allocated_under
from auditcoder.domain.law import ReadBlob
from auditcoder.domain.places import AtNode
from auditcoder.domain.repair import Transaction, TransactionKind
from auditcoder.domain.trace import Trace, Witness
from auditcoder.domain.usage import Count, Phase, Scope, Usage, total
from auditcoder.domain.values import Digest, Value


class Share(Value):
    """So many of so many."""

    part: Count = 0
    whole: Count = 0

    @property
    def rate(self) -> float | None:
        """The share as a number; None if there was nothing to count."""
        return self.part / self.whole if self.whole else None

    def __add__(self, other: "Share") -> "Share":
        """Pool what was counted here and there."""
        return Share(part=self.part + other.part, whole=self.whole + other.whole)


def _share(holds: Iterable[bool]) -> Share:
    each = list(holds)
    return Share(part=sum(each), whole=len(each))


def trace_coverage(trace: Trace, read: ReadBlob) -> Share:
    """DCTC: leaves with code, a contract, input sources and a verdict on that code, of all leaves.

    A verdict counts whatever it says, and even if it no longer stands: this measures what is
    on record, not what is right.
    """
    graph = trace.working.graph
    code = {node: owned.digest for node, owned in trace.working.code.items()}
    return _covered(trace, graph.leaves if graph else (), code, trace.evidence, read)


def initial_trace_coverage(trace: Trace, read: ReadBlob) -> Share:
    """DCTC as the first repair found it; as the run left it, if it never came to a repair.

    Contracts and sources are read as last described, since a trace keeps no earlier description.
    """
    if not trace.history:
        return trace_coverage(trace, read)
    opened = trace.history[0].opened
    planned = [node for node, when in trace.committed.items() if when.seq < opened]
    parents = {allocated_under(node) for node in planned}  # an id is given under its first parent
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
    evidence: Iterable[Witness],
    read: ReadBlob,
) -> Share:
    judged = {
        (w.evidence.subject.node, w.evidence.against)
        for w in evidence
        if isinstance(w.evidence.subject, AtNode)
    }
    return _share(
        (leaf, code.get(leaf)) in judged
        and bool(read(code[leaf]).strip())
        and _is_described(trace.nodes[leaf])
        for leaf in leaves
    )


def _is_described(node: Node) -> bool:
    """Whether it promises a function and says of every input, if it has any, whence it comes."""
    named = node.contract is not None and bool(node.contract.name)
    return named and all(slot.source is not None for slot in node.inputs)


def graph_integrity(trace: Trace) -> bool:
    """GraphValid of the graph as it stands; a run that has none has no valid one."""
    return trace.working.graph is not None and not graph_faults(trace.working.graph)


def signature_consistency(trace: Trace, read: ReadBlob) -> Share:
    """CSCR: nodes whose code carries the signature they promise, of all that implement something.

    Those are the leaves and the inner nodes that own code, but for a root that promises no
    function.
    """
    graph, code = trace.working.graph, trace.working.code
    if graph is None:
        return Share()
    return _share(
        node.contract is not None
        and node.id in code
        and sig_match(node.contract, read(code[node.id].digest).decode())
        for node in graph.nodes
        if (node.id in code or node.id in graph.leaves)
        and (node.id != graph.root or node.contract is not None)
    )


def frozen_intact(trace: Trace) -> Share:
    """Decided repairs that left what they froze as it was; fallbacks freeze nothing, nor count."""
    return _share(
        _touched(repair).isdisjoint({f.node for f in repair.frozen} - set(repair.region))
        for repair in trace.history
        if repair.decision is not None and repair.kind is TransactionKind.BOUNDED
    )


def _touched(repair: Transaction) -> set[NodeId]:
    """Existing nodes whose code, description or local evidence the candidate changed."""
    touched = {delta.node for delta in repair.code_deltas}
    touched |= {e.subject.node for e in repair.local_evidence if isinstance(e.subject, AtNode)}
    return touched | (repair.graph_delta.touched if repair.graph_delta else set())


class Localisation(Value):
    """What the locator answered over a run."""

    localised: dict[str, dict[str, int]]
    """How often each rule answered, at each level."""
    abstained: int

    @property
    def coverage(self) -> Share:
        """Diagnoses that name a boundary, of all."""
        found = sum(sum(levels.values()) for levels in self.localised.values())
        return Share(part=found, whole=found + self.abstained)


def localisation(trace: Trace) -> Localisation:
    """Count the diagnoses by rule and level; an abstention has neither."""
    answers = [answer.diagnosis for answer in trace.diagnoses]
    found = Counter((a.rule, a.level) for a in answers if isinstance(a, Localised))
    return Localisation(
        localised={
            rule: {level.value: found[rule, level] for level in Level if (rule, level) in found}
            for rule in sorted({rule for rule, _ in found})
        },
        abstained=len(answers) - found.total(),
    )


class Spent(Value):
    """What a run's model calls cost, and three ways to divide it: each accounts for all of it."""

    total: Usage
    by_scope: dict[str, Usage]
    by_phase: dict[str, Usage]
    by_role: dict[str, Usage]


def spent(trace: Trace) -> Spent:
    """Add up every reply, refused ones too.

    Calls and tokens of each division close exactly to the total; money, being a float, to the
    last rounding.
    """
    replies = [billed.reply for billed in trace.replies]
    return Spent(
        total=_cost(replies),
        by_scope={scope.value: _cost(r for r in replies if r.scope is scope) for scope in Scope},
        by_phase={phase.value: _cost(r for r in replies if r.phase is phase) for phase in Phase},
        by_role={
            role: _cost(r for r in replies if r.role == role)
            for role in sorted({r.role for r in replies})
        },
    )


def _cost(replies: Iterable[ReplyRecorded]) -> Usage:
    return total(reply.usage for reply in replies)
