"""How whole a record is, how its faults were located, and what it cost: numbers about one trace.

The definitions are those of the paper's appendices D and H. Over several runs, the sum of
their shares is the micro average, and the mean of their rates the macro average; `audit` and
`cost` add up many.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum

import msgspec

from auditcoder.domain.contract import sig_match
from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.graph import Node, TaskGraph, graph_faults
from auditcoder.domain.ids import NodeId, allocated_under
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.repair import Transaction, TransactionKind, rank
from auditcoder.domain.targets import AtNode, AtProgram, Target
from auditcoder.domain.task import example_check
from auditcoder.domain.trace import DiagnosisRecord, RecordedEvidence, Trace
from auditcoder.domain.usage import Count, Phase, Scope, Usage, total
from auditcoder.domain.values import CheckId, Digest, Value


class Ratio(Value):
    """So many of so many; or so many for so many, where one counts changes."""

    part: Count = 0
    whole: Count = 0

    @property
    def rate(self) -> float | None:
        """The share as a number; None if there was nothing to count."""
        return self.part / self.whole if self.whole else None

    def __add__(self, other: "Ratio") -> "Ratio":
        """Pool what was counted here and there."""
        return Ratio(part=self.part + other.part, whole=self.whole + other.whole)


def _share(holds: Iterable[bool]) -> Ratio:
    each = list(holds)
    return Ratio(part=sum(each), whole=len(each))


def trace_coverage(trace: Trace, read: ReadBlob) -> Ratio:
    """DCTC: leaves with code, a contract, input sources and a verdict on that code, of all leaves.

    A verdict counts whatever it says, and even if it no longer stands: this measures what is
    on record, not what is right.
    """
    graph = trace.working.graph
    code = {node: owned.digest for node, owned in trace.working.code.items()}
    return _covered(trace, graph.leaves if graph else (), code, trace.evidence, read)


def initial_trace_coverage(trace: Trace, read: ReadBlob) -> Ratio:
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
    evidence: Iterable[RecordedEvidence],
    read: ReadBlob,
) -> Ratio:
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


def signature_consistency(trace: Trace, read: ReadBlob) -> Ratio:
    """CSCR: nodes whose code carries the signature they promise, of all that implement something.

    Those are the leaves and the inner nodes that own code, but for a root that promises no
    function.
    """
    graph, code = trace.working.graph, trace.working.code
    if graph is None:
        return Ratio()
    return _share(
        node.contract is not None
        and node.id in code
        and sig_match(node.contract, read(code[node.id].digest).decode())
        for node in _implementing(trace, graph)
        if not _is_functionless_root(node, graph)
    )


def functionless_roots(trace: Trace) -> int:
    """How many nodes CSCR leaves out: one, if the root owns code and promises no function."""
    graph = trace.working.graph
    if graph is None:
        return 0
    return sum(_is_functionless_root(node, graph) for node in _implementing(trace, graph))


def _implementing(trace: Trace, graph: TaskGraph) -> list[Node]:
    """U: the leaves, and the inner nodes that own code."""
    leaves = set(graph.leaves)
    return [n for n in graph.nodes if n.id in trace.working.code or n.id in leaves]


def _is_functionless_root(node: Node, graph: TaskGraph) -> bool:
    return node.id == graph.root and node.contract is None


def frozen_intact(trace: Trace) -> Ratio:
    """Decided repairs that left what they froze as it was; fallbacks freeze nothing, nor count."""
    return _share(
        intact for repair in trace.history if (intact := keeps_frozen(repair)) is not None
    )


def keeps_frozen(repair: Transaction) -> bool | None:
    """Whether what a repair froze is as it was; None for a fallback, or while it is open."""
    if repair.decision is None or repair.kind is TransactionKind.FALLBACK:
        return None
    return _touched(repair).isdisjoint({f.node for f in repair.frozen} - set(repair.region))


def _touched(repair: Transaction) -> set[NodeId]:
    """Existing nodes whose code, description or local evidence the candidate changed."""
    touched = {delta.node for delta in repair.code_deltas}
    touched |= {e.subject.node for e in repair.local_evidence if isinstance(e.subject, AtNode)}
    return touched | (repair.graph_delta.touched if repair.graph_delta else set())


def failed_at_first(trace: Trace) -> bool | None:
    """Whether the first program did not pass every check that decides, before any diagnosis.

    A check that did not run is no pass, as in a rank. None if there is no program, or if nobody
    asked for a diagnosis and what ran neither passes in full nor fails.
    """
    if not trace.programs:
        return None
    until = trace.diagnoses[0].when.seq if trace.diagnoses else trace.last.seq + 1
    decisive, seen = _first_checks(trace, until)
    if rank(seen, decisive).full:
        return False
    failed = any(v is not Verdict.PASSED for c, v in seen.items() if c in decisive)
    return True if failed or trace.diagnoses else None


def _first_checks(trace: Trace, until: int) -> tuple[dict[CheckId, Trust], dict[CheckId, Verdict]]:
    """The checks that a program must pass, and what the first one made of them."""
    ran = [
        w.evidence
        for w in trace.evidence
        if w.when.seq < until
        and isinstance(w.evidence.subject, AtProgram)
        and w.evidence.against == trace.programs[0].program
    ]
    checks = {example_check(n): Trust.GIVEN for n, _ in enumerate(trace.task.examples, start=1)}
    checks |= {e.check: e.trust for e in ran}
    decides = Trust.GIVEN if Trust.GIVEN in checks.values() else Trust.DERIVED
    return {c: t for c, t in checks.items() if t is decides}, {e.check: e.verdict for e in ran}


def admitted(trace: Trace) -> bool:
    """Whether the run failed at first and its locator was asked: F_repair."""
    return bool(trace.diagnoses) and failed_at_first(trace) is True


class Boundary(Value):
    """What a diagnosis names, and how it came by it."""

    rule: str
    level: Level
    target: str
    """`node`, `nodes`, `branch` or `interface`."""


def boundary_of(diagnosis: Localised) -> Boundary:
    """Leave out all of a diagnosis that cannot be counted."""
    return Boundary(rule=diagnosis.rule, level=diagnosis.level, target=_kind_of(diagnosis.target))


def _kind_of(target: Target) -> str:
    return str(target.__struct_config__.tag)


def recorded_boundary(trace: Trace) -> Boundary | None:
    """RecordedLocate: the boundary that the run counts under; None if it was never localised.

    It is the last one that a repair acted on; else the locator's last word, if that names one. A
    boundary that was taken back before a repair began, as too narrow or as wrong, does not count.
    """
    acted = [answer for answer in trace.diagnoses if answer.transaction is not None]
    for answer in (*reversed(acted), *trace.diagnoses[-1:]):
        if isinstance(answer.diagnosis, Localised):
            return boundary_of(answer.diagnosis)
    return None


class Localisation(Value):
    """What the locator answered over a run: every answer, also one that another replaced."""

    localised: dict[str, dict[str, int]]
    """How often each rule answered, at each level."""
    abstained: int
    targets: dict[str, int] = {}
    """How often a node, nodes, a branch, an interface was named."""

    @property
    def coverage(self) -> Ratio:
        """Diagnoses that name a boundary, of all. LocCov counts runs, and is in `audit`."""
        found = sum(sum(levels.values()) for levels in self.localised.values())
        return Ratio(part=found, whole=found + self.abstained)


def localisation(trace: Trace) -> Localisation:
    """Count the diagnoses by rule and level; an abstention has neither."""
    answers = [answer.diagnosis for answer in trace.diagnoses]
    found = [boundary_of(answer) for answer in answers if isinstance(answer, Localised)]
    return Localisation(
        localised=by_rule_and_level(Counter((b.rule, b.level) for b in found)),
        abstained=len(answers) - len(found),
        targets=dict(sorted(Counter(b.target for b in found).items())),
    )


class Looks(Value):
    """What diagnoses cost beyond the checks that had failed."""

    runs: int = 0
    """Of the sandbox."""
    milliseconds: float = 0.0
    questions: int = 0
    """That a model was asked to find out which part is at fault."""
    usage: Usage = Usage()
    """What the answers took."""


_ASKED = frozenset({"second opinion", "verifier"})
"""The roles that are asked only to find out which part is at fault."""


def looks(trace: Trace, read: ReadBlob) -> Looks:
    """Add up what was run to watch failures, and run and asked to try other code in a place."""
    seen = [w.evidence for w in trace.evidence if not w.evidence.kind.judges]
    asked = [billed.reply.usage for billed in trace.replies if billed.reply.role in _ASKED]
    return Looks(
        runs=sum(_runs_told(read(e.observed)) for e in seen if e.observed),
        milliseconds=sum(e.milliseconds or 0.0 for e in seen),
        questions=len(asked),
        usage=total(asked),
    )


class _Told(msgspec.Struct):
    """Of what was noticed, how many runs it took."""

    runs: int = 0


def _runs_told(observed: bytes) -> int:
    try:
        return msgspec.json.decode(observed, type=_Told).runs
    except msgspec.DecodeError:  # somebody else's record
        return 0


def by_rule_and_level(found: Mapping[tuple[str, Level], int]) -> dict[str, dict[str, int]]:
    """Write counts as a table: rules by name, levels from high to low."""
    return {
        rule: {level.value: found[rule, level] for level in Level if (rule, level) in found}
        for rule in sorted({rule for rule, _ in found})
    }


class Path(Enum):
    """What came of an attempt to repair."""

    LOCALISED = "localised"
    """A boundary, and a repair within it."""
    FALLBACK = "fallback"
    """An abstention, and a graph-wide repair after it."""
    ABSTAINED = "abstained"
    """An abstention, and nothing after it."""
    UNDIAGNOSED = "undiagnosed"
    """The record ends before a diagnosis."""


def attempts(trace: Trace) -> list[tuple[Path, int | None]]:
    """Every attempt to repair, in order: its path, and the event that ended it, if one did.

    An attempt is a transaction and what led to it since the one before. What led to none is one as
    well, if it came to a diagnosis or to a call.
    """
    found: list[tuple[Path, int | None]] = [
        (Path.FALLBACK if t.kind is TransactionKind.FALLBACK else Path.LOCALISED, t.closed)
        for t in trace.history
    ]
    ended = found[-1][1] if found else 0
    if ended is None:
        return found
    answers = [answer for answer in trace.diagnoses if answer.when.seq > ended]
    asked = any(b.reply.scope is Scope.REPAIR and b.when.seq > ended for b in trace.replies)
    if answers or asked:
        found.append((_path_of(answers), None))
    return found


def _path_of(answers: list[DiagnosisRecord]) -> Path:
    if not answers:
        return Path.UNDIAGNOSED
    return Path.LOCALISED if isinstance(answers[-1].diagnosis, Localised) else Path.ABSTAINED


class OwnedLine(Value):
    """What calls of one kind cost."""

    scope: Scope
    phase: Phase
    role: str
    usage: Usage
    path: Path | None = None
    """The attempt that a repair's call was made for; None for the first program's."""


def lines(trace: Trace) -> tuple[OwnedLine, ...]:
    """Divide what a run's calls cost, refused ones too, as finely as anyone asks.

    Every reply names its scope, phase and role, so none is left over. A call belongs to the first
    attempt that was not over when it was made: what was asked before a transaction, to find out
    what was wrong, was asked for it.
    """
    tried = attempts(trace)
    parts: dict[tuple[Scope, Phase, str, Path | None], list[Usage]] = {}
    for billed in trace.replies:
        reply = billed.reply
        path = None
        if reply.scope is Scope.REPAIR:
            path = next(p for p, ended in tried if ended is None or billed.when.seq < ended)
        parts.setdefault((reply.scope, reply.phase, reply.role, path), []).append(reply.usage)
    return tuple(
        OwnedLine(scope=scope, phase=phase, role=role, path=path, usage=total(usages))
        for (scope, phase, role, path), usages in parts.items()
    )


class TokenUse(Value):
    """What a run's model calls cost, and three ways to divide it: each accounts for all of it."""

    total: Usage
    by_scope: dict[str, Usage]
    by_phase: dict[str, Usage]
    by_role: dict[str, Usage]


def spent(trace: Trace) -> TokenUse:
    """Add up every reply, refused ones too.

    Calls and tokens of each division close exactly to the total; money, being a float, to the
    last rounding.
    """
    bill = lines(trace)
    return TokenUse(
        total=_cost(bill),
        by_scope={scope.value: _cost(x for x in bill if x.scope is scope) for scope in Scope},
        by_phase={phase.value: _cost(x for x in bill if x.phase is phase) for phase in Phase},
        by_role={
            role: _cost(x for x in bill if x.role == role)
            for role in sorted({x.role for x in bill})
        },
    )


def _cost(bill: Iterable[OwnedLine]) -> Usage:
    return total(line.usage for line in bill)
