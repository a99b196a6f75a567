"""The laws of a history. One function decides what may follow what.

The writer asks it before it appends, and verification asks it again for every event of a
record, from the bytes alone. Nothing an event claims is believed where it can be derived:
units are read from the code, frozen digests, ranks, deltas and restored states are computed.
"""

from collections.abc import Callable
from enum import Enum
from typing import NoReturn, TypeAlias, assert_never

from msgspec.structs import replace

from auditcoder.domain.assembly import Assembly, assembly_faults
from auditcoder.domain.code import Bundle, NodeCode, read_bundle, units_of
from auditcoder.domain.diagnosis import Abstained, Localised
from auditcoder.domain.events import (
    Assembled,
    BriefCommitted,
    CheckDropped,
    CheckRan,
    CodeWritten,
    Event,
    ExceptionRaised,
    GraphCommitted,
    GraphRevised,
    Located,
    Outcome,
    ReplyRecorded,
    RolledBack,
    RunFinished,
    RunResumed,
    RunStarted,
    TransactionDecided,
    TransactionOpened,
)
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.graph import (
    Node,
    Region,
    TaskGraph,
    apply,
    diff,
    graph_faults,
    named_in,
    order_faults,
    region_of,
)
from auditcoder.domain.ids import ROOT, NodeId, allocated_under, is_node_id
from auditcoder.domain.ledger import Ledger, OpenTransaction, Standing, Working, change, rework
from auditcoder.domain.places import AtBranch, AtNode, AtProgram, Subject
from auditcoder.domain.repair import CodeDelta, Decision, TransactionKind, decide
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, Digest

ReadBlob: TypeAlias = Callable[[Digest], bytes]
"""Gives the content that a digest names."""


class Law(Enum):
    """What a history can be guilty of. The values are stable and documented."""

    OUT_OF_PLACE = "out-of-place"
    CODE_BEFORE_ID = "code-before-id"
    SECOND_OWNER = "second-owner"
    ID_REUSED = "id-reused"
    ID_REPURPOSED = "id-repurposed"
    GRAPH_INVALID = "graph-invalid"
    MISDECLARED = "misdeclared"
    UNFAITHFUL_ASSEMBLY = "unfaithful-assembly"
    STALE_EVIDENCE = "stale-evidence"
    UNSUPPORTED_DIAGNOSIS = "unsupported-diagnosis"
    WRONG_REGION = "wrong-region"
    FROZEN_CHANGED = "frozen-changed"
    BOUNDARY_CROSSED = "boundary-crossed"
    WRONG_DECISION = "wrong-decision"
    ROLLBACK_INCOMPLETE = "rollback-incomplete"
    UNEARNED_OUTCOME = "unearned-outcome"


class IllegalHistory(Exception):
    """An event that cannot follow what came before it."""

    def __init__(self, law: Law, seq: int, message: str) -> None:
        super().__init__(message)
        self.law = law
        self.seq = seq


def advance(ledger: Ledger, event: Event, read: ReadBlob) -> Ledger:  # noqa: C901  one case an event
    """Return the ledger after `event`, or raise IllegalHistory if it cannot follow."""
    _refuse_out_of_place(ledger, event)
    match event:
        case CheckRan():
            after = _check_ran(ledger, event)
        case ReplyRecorded():
            after = _reply_recorded(ledger, event)
        case CodeWritten():
            after = _code_written(ledger, event, read)
        case Assembled():
            after = _assembled(ledger, event, read)
        case RunStarted():
            after = change(ledger, run=event.run, allocated={ROOT: 0})
        case RunResumed():
            after = ledger
        case BriefCommitted():
            after = _brief_committed(ledger, event)
        case GraphCommitted():
            after = _graph_committed(ledger, event)
        case GraphRevised():
            after = _graph_revised(ledger, event)
        case CheckDropped():
            after = _check_dropped(ledger, event)
        case Located():
            after = _located(ledger, event)
        case TransactionOpened():
            after = _transaction_opened(ledger, event)
        case ExceptionRaised():
            after = _exception_raised(ledger, event)
        case TransactionDecided():
            after = _transaction_decided(ledger, event)
        case RolledBack():
            after = _rolled_back(ledger, event)
        case RunFinished():
            after = _run_finished(ledger, event)
        case _:
            assert_never(event)
    return change(after, seq=ledger.seq + 1)


def _refuse(law: Law, ledger: Ledger, message: str) -> NoReturn:
    raise IllegalHistory(law, ledger.seq, message)


def _refuse_out_of_place(ledger: Ledger, event: Event) -> None:
    if isinstance(event, RunStarted) != (ledger.seq == 0):
        _refuse(Law.OUT_OF_PLACE, ledger, "a run starts once, with its first event")
    if ledger.finished:
        _refuse(Law.OUT_OF_PLACE, ledger, "nothing follows the end of a run")
    awaiting = ledger.transaction is not None and ledger.transaction.rejected
    if awaiting != isinstance(event, RolledBack) and (awaiting or ledger.transaction is None):
        _refuse(
            Law.ROLLBACK_INCOMPLETE if awaiting else Law.OUT_OF_PLACE,
            ledger,
            "a rejected candidate is rolled back at once, and nothing else is",
        )


def _graph_of(ledger: Ledger) -> TaskGraph:
    if ledger.working.graph is None:
        _refuse(Law.OUT_OF_PLACE, ledger, "no graph has been committed yet")
    return ledger.working.graph


def _open_transaction(ledger: Ledger) -> OpenTransaction:
    if ledger.transaction is None:
        _refuse(Law.OUT_OF_PLACE, ledger, "no transaction is open")
    return ledger.transaction


# Planning


def _brief_committed(ledger: Ledger, event: BriefCommitted) -> Ledger:
    if ledger.working.brief is not None and not event.reason:
        _refuse(Law.OUT_OF_PLACE, ledger, "a brief is revised only with a reason")
    return rework(ledger, brief=event.brief)


def _graph_committed(ledger: Ledger, event: GraphCommitted) -> Ledger:
    if ledger.working.graph is not None:
        _refuse(Law.ID_REPURPOSED, ledger, "the graph is committed once; a later one is a delta")
    _refuse_faulty_graph(ledger, event.graph)
    allocated = dict(ledger.allocated)
    for node in event.graph.nodes:
        if node.id != ROOT:
            _allocate(ledger, allocated, node)
    return change(rework(ledger, graph=event.graph), allocated=allocated)


def _refuse_faulty_graph(ledger: Ledger, graph: TaskGraph) -> None:
    if graph.root != ROOT or not graph.leaves:
        _refuse(Law.GRAPH_INVALID, ledger, "the root is S0, and it is never a leaf")
    if faults := graph_faults(graph) + order_faults(graph):
        _refuse(Law.GRAPH_INVALID, ledger, "; ".join(faults))
    names = [n.contract.name for n in graph.nodes if n.contract is not None]
    if len(set(names)) != len(names):
        _refuse(Law.SECOND_OWNER, ledger, "two contracts promise a function of the same name")


def _allocate(ledger: Ledger, allocated: dict[NodeId, int], node: Node) -> None:
    if node.id in allocated:
        _refuse(Law.ID_REUSED, ledger, f"{node.id} was given before, and an id is given once")
    if not is_node_id(node.id) or allocated_under(node.id) != node.parent:
        _refuse(Law.GRAPH_INVALID, ledger, f"{node.id} is not an id given under {node.parent}")
    allocated[node.id] = ledger.seq


def _graph_revised(ledger: Ledger, event: GraphRevised) -> Ledger:
    graph, transaction, delta = _graph_of(ledger), _open_transaction(ledger), event.delta
    if unknown := delta.touched - graph.ids:
        _refuse(Law.ID_REUSED, ledger, f"{_list(unknown)} cannot be changed: there is no such node")
    if outside := delta.touched - transaction.region:
        _refuse(Law.BOUNDARY_CROSSED, ledger, f"the delta reaches {_list(outside)}, out of bounds")
    if ROOT in delta.retired:
        _refuse(Law.GRAPH_INVALID, ledger, "the root cannot be retired")
    allocated = dict(ledger.allocated)
    for node in delta.added:
        _allocate(ledger, allocated, node)
    added = frozenset(node.id for node in delta.added)
    region = transaction.region | added
    for node in (*delta.added, *delta.revised):
        if node.id != ROOT and node.parent not in region:
            survivor = graph.by_id.get(node.id)
            if survivor is None or survivor.parent != node.parent:
                _refuse(Law.BOUNDARY_CROSSED, ledger, f"{node.id} would hang outside the region")
    for node in delta.revised:
        _refuse_repurposing(ledger, graph.by_id[node.id], node)
        _refuse_moved_interface(ledger, graph, region, node)
    after = apply(graph, delta)
    _refuse_faulty_graph(ledger, after)
    gone = frozenset(delta.retired)
    code = {n: c for n, c in ledger.working.code.items() if n not in gone}
    changed = {n.id for n in delta.revised if n.contract != graph.by_id[n.id].contract}
    lost = gone | changed
    revised = rework(
        ledger,
        graph=after,
        code=code,
        assembly=None if lost else ledger.working.assembly,
        evidence=_evidence_after(ledger.working, after, lost, program=bool(lost)),
    )
    return change(
        revised,
        allocated=allocated,
        transaction=replace(transaction, region=region),
    )


def _refuse_repurposing(ledger: Ledger, before: Node, after: Node) -> None:
    if before.goal != after.goal:
        _refuse(
            Law.ID_REPURPOSED, ledger, f"{after.id} keeps its goal; another goal needs another id"
        )


def _refuse_moved_interface(ledger: Ledger, graph: TaskGraph, region: Region, after: Node) -> None:
    """An interface may move only if everyone who relies on it may change too."""
    before = graph.by_id[after.id]
    if _signature(before) == _signature(after):
        return
    if relying := graph.callers(after.id) - region:
        _refuse(
            Law.BOUNDARY_CROSSED,
            ledger,
            f"{after.id}'s interface changes under {_list(relying)}, outside the region",
        )


def _signature(node: Node) -> object:
    return node.contract.signature if node.contract else None


# Building


def _reply_recorded(ledger: Ledger, event: ReplyRecorded) -> Ledger:
    if event.node is not None and event.node != ROOT:
        graph = _graph_of(ledger)
        if event.node not in graph.ids:
            _refuse(Law.CODE_BEFORE_ID, ledger, f"{event.node} was asked for before it had an id")
    if event.phase is Phase.GENERATION and ledger.working.graph is None:
        _refuse(Law.CODE_BEFORE_ID, ledger, "code was asked for before any id was committed")
    if event.rejected:
        return ledger
    return change(ledger, replies=ledger.replies | {ledger.seq})


def _code_written(ledger: Ledger, event: CodeWritten, read: ReadBlob) -> Ledger:
    node, working = event.node, ledger.working
    if working.graph is None or node not in working.graph.ids:
        _refuse(Law.CODE_BEFORE_ID, ledger, f"{node} has code but no committed id")
    if event.reply is not None:
        if event.reply not in ledger.replies:
            _refuse(Law.MISDECLARED, ledger, f"event {event.reply} is no reply to take code from")
        if event.reply <= ledger.allocated[node]:
            _refuse(Law.CODE_BEFORE_ID, ledger, f"{node}'s code was sampled before its id")
    _refuse_writing_outside(ledger, event)
    bundle = read_bundle(read(event.code).decode("utf-8", "replace"))
    if not bundle.source.strip():
        _refuse(Law.MISDECLARED, ledger, f"{node} is given no code at all")
    _refuse_wrong_units(ledger, event, bundle)
    if node in working.code and working.code[node].digest == event.code:
        same = working.code[node]
        if same.units == event.units and same.scope == event.scope:
            return ledger
    code = NodeCode(
        digest=event.code,
        units=event.units,
        scope=event.scope,
        agent=event.agent,
        written=ledger.seq,
    )
    return rework(
        ledger,
        code=working.code | {node: code},
        bundles=working.bundles | {node: bundle},
        assembly=None,
        evidence=_evidence_after(working, working.graph, frozenset({node}), program=True),
    )


def _refuse_writing_outside(ledger: Ledger, event: CodeWritten) -> None:
    node, cause = event.node, event.cause
    transaction = ledger.transaction
    if transaction is not None:
        if node not in transaction.region:
            law = Law.FROZEN_CHANGED if cause in {None, node} else Law.BOUNDARY_CROSSED
            _refuse(law, ledger, f"{node} is frozen while transaction {transaction.number} is open")
    elif ledger.assembled:
        _refuse(Law.FROZEN_CHANGED, ledger, f"{node}'s code changes outside any transaction")
    elif cause is not None and cause != node and (cause, node) not in ledger.exceptions:
        _refuse(Law.BOUNDARY_CROSSED, ledger, f"{cause} writes {node}'s code without an exception")


def taken_names(working: Working, node: NodeId) -> frozenset[str]:
    """Return the names that nodes other than `node` own already."""
    return frozenset(u.registered for n, c in working.code.items() if n != node for u in c.units)


def _refuse_wrong_units(ledger: Ledger, event: CodeWritten, bundle: Bundle) -> None:
    taken = taken_names(ledger.working, event.node)
    promised = {n.contract.name: n.id for n in ledger.graph.nodes if n.contract}
    for unit in event.units:
        if unit.registered in taken:
            _refuse(Law.SECOND_OWNER, ledger, f"{unit.registered} has another owner already")
        promiser = event.node if event.scope else promised.get(unit.name, event.node)
        if promiser != event.node or (unit.name in promised and unit.name in taken):
            _refuse(Law.SECOND_OWNER, ledger, f"{unit.name} is {promiser}'s to define, by contract")
    if event.units != units_of(bundle, event.node, event.scope, taken):
        _refuse(Law.MISDECLARED, ledger, f"{event.node}'s units are not those of its code")


def _evidence_after(
    working: Working, graph: TaskGraph, changed: Region | set[NodeId], *, program: bool
) -> dict[CheckId, Standing]:
    """Return the evidence that still speaks about the present after `changed` nodes changed."""

    def stands(subject: Subject) -> bool:
        match subject:
            case AtNode(node=node):
                return node not in changed
            case AtBranch(root=root):
                return root in graph.ids and not graph.subtree(root) & changed
            case AtProgram():
                return not program

    return {check: s for check, s in working.evidence.items() if stands(s.subject)}


# Validating


def _check_ran(ledger: Ledger, event: CheckRan) -> Ledger:
    evidence, working, transaction = event.evidence, ledger.working, ledger.transaction
    if evidence.check in ledger.dropped:
        _refuse(Law.STALE_EVIDENCE, ledger, f"check {evidence.check} was dropped")
    known = working.evidence.get(evidence.check)
    if known is not None and (known.subject, known.trust, known.kind) != (
        evidence.subject,
        evidence.trust,
        evidence.kind,
    ):
        _refuse(Law.MISDECLARED, ledger, f"check {evidence.check} was another check before")
    if evidence.against != _present(ledger, evidence.subject):
        _refuse(Law.STALE_EVIDENCE, ledger, f"check {evidence.check} is not about the present code")
    if transaction is not None:
        if transaction.pinned.get(evidence.check, evidence.trust) is not evidence.trust:
            _refuse(Law.MISDECLARED, ledger, f"check {evidence.check} changed its trust")
        if not _covered(ledger, evidence.subject) <= transaction.region:
            _refuse(Law.FROZEN_CHANGED, ledger, "the evidence of frozen nodes is frozen too")
    standing = Standing(
        seq=ledger.seq,
        kind=evidence.kind,
        subject=evidence.subject,
        trust=evidence.trust,
        verdict=evidence.verdict,
    )
    return rework(ledger, evidence=working.evidence | {evidence.check: standing})


def _present(ledger: Ledger, subject: Subject) -> Digest | None:
    """Return the digest of what `subject` is at present."""
    working = ledger.working
    match subject:
        case AtNode(node=node):
            return _digest_in(working, node)
        case AtBranch():
            return working.codes_of(_covered(ledger, subject))
        case AtProgram():
            return working.assembly.program if working.assembly else None


def _covered(ledger: Ledger, subject: Subject) -> Region:
    """Return the nodes whose own evidence a check of `subject` is."""
    match subject:
        case AtNode(node=node):
            return frozenset({node})
        case AtBranch(root=root):
            if root not in _graph_of(ledger).ids:
                _refuse(Law.STALE_EVIDENCE, ledger, f"{root} is no responsibility of this run")
            return ledger.graph.subtree(root)
        case AtProgram():
            return frozenset()


def _check_dropped(ledger: Ledger, event: CheckDropped) -> Ledger:
    known = ledger.working.evidence.get(event.check)
    if known is not None and known.trust is Trust.GIVEN:
        _refuse(Law.MISDECLARED, ledger, f"{event.check} came with the task and cannot be dropped")
    if ledger.transaction is not None:
        _refuse(Law.WRONG_DECISION, ledger, "no check is dropped while a transaction is open")
    evidence = {c: s for c, s in ledger.working.evidence.items() if c != event.check}
    return change(rework(ledger, evidence=evidence), dropped=ledger.dropped | {event.check})


def _assembled(ledger: Ledger, event: Assembled, read: ReadBlob) -> Ledger:
    graph, working = _graph_of(ledger), ledger.working
    if missing := set(graph.leaves) - set(working.code):
        _refuse(Law.UNFAITHFUL_ASSEMBLY, ledger, f"{_list(missing)} have no code yet")
    text = read(event.program).decode("utf-8", "replace")
    if faults := assembly_faults(text, event.segments, working.code, working.bundles):
        _refuse(Law.UNFAITHFUL_ASSEMBLY, ledger, "; ".join(faults))
    assembly = Assembly(program=event.program, segments=event.segments)
    if assembly == working.assembly:
        return ledger
    evidence = _evidence_after(working, graph, frozenset(), program=True)
    return change(rework(ledger, assembly=assembly, evidence=evidence), assembled=True)


# Locating


def _located(ledger: Ledger, event: Located) -> Ledger:
    if ledger.transaction is not None:
        _refuse(Law.OUT_OF_PLACE, ledger, "a diagnosis comes before its transaction")
    standing = {s.seq for s in ledger.working.evidence.values()}
    if all(s.verdict is Verdict.PASSED for s in ledger.working.evidence.values()):
        _refuse(Law.UNSUPPORTED_DIAGNOSIS, ledger, "nothing stands that failed")
    if strangers := set(event.diagnosis.evidence) - standing:
        _refuse(
            Law.UNSUPPORTED_DIAGNOSIS,
            ledger,
            f"events {_list(strangers)} are not standing evidence",
        )
    match event.diagnosis:
        case Localised(target=target, evidence=evidence):
            named = named_in(target)
            if not named or not named <= _graph_of(ledger).ids:
                _refuse(
                    Law.UNSUPPORTED_DIAGNOSIS, ledger, "the target is no responsibility of this run"
                )
            if not evidence:
                _refuse(Law.UNSUPPORTED_DIAGNOSIS, ledger, "a boundary needs evidence")
        case Abstained():
            pass
    return change(ledger, diagnosis=(ledger.seq, event.diagnosis))


# Repairing


def opening(ledger: Ledger, kind: TransactionKind) -> TransactionOpened:
    """Return the one legal way to open a transaction on the newest diagnosis."""
    if ledger.diagnosis is None:
        _refuse(Law.OUT_OF_PLACE, ledger, "no diagnosis is waiting for a transaction")
    seq, diagnosis = ledger.diagnosis
    graph, working = _graph_of(ledger), ledger.working
    match diagnosis, kind:
        case Localised(target=target), TransactionKind.BOUNDED:
            region = region_of(target, graph)
        case Abstained(), TransactionKind.FALLBACK:
            region = graph.ids
        case _:
            _refuse(
                Law.WRONG_REGION,
                ledger,
                "a boundary is repaired within it, an abstention only by a graph-wide fallback",
            )
    pinned = working.program_checks()
    return TransactionOpened(
        number=ledger.transactions + 1,
        kind=kind,
        diagnosis=seq,
        selected=tuple(sorted(region)),
        frozen=working.freeze(region),
        snapshot=working.digest(),
        pinned=tuple(sorted(pinned)),
        rank=working.rank(pinned),
    )


def _transaction_opened(ledger: Ledger, event: TransactionOpened) -> Ledger:
    if ledger.transaction is not None:
        _refuse(Law.OUT_OF_PLACE, ledger, "one transaction at a time")
    if ledger.working.assembly is None:
        _refuse(Law.OUT_OF_PLACE, ledger, "there is no program to repair")
    legal = opening(ledger, event.kind)
    if event.selected != legal.selected:
        _refuse(
            Law.WRONG_REGION,
            ledger,
            f"the diagnosis gives {_list(legal.selected)}, not more or less",
        )
    if event.frozen != legal.frozen:
        _refuse(Law.FROZEN_CHANGED, ledger, "the frozen digests are not those of the complement")
    if event != legal:
        _refuse(
            Law.MISDECLARED, ledger, "snapshot, rank or pinned checks are not those of the state"
        )
    return change(
        ledger,
        diagnosis=None,
        transactions=event.number,
        replies=frozenset(),
        transaction=OpenTransaction(
            number=event.number,
            kind=event.kind,
            before=ledger.working,
            snapshot=event.snapshot,
            region=frozenset(event.selected),
            frozen=event.frozen,
            pinned=ledger.working.program_checks(),
            rank=event.rank,
        ),
    )


def _exception_raised(ledger: Ledger, event: ExceptionRaised) -> Ledger:
    exception, graph = event.exception, _graph_of(ledger)
    wider = frozenset(exception.region)
    if not exception.rationale.strip():
        _refuse(Law.BOUNDARY_CROSSED, ledger, "an integration exception gives its reason")
    if exception.child not in wider or not (wider | {exception.parent}) <= graph.ids:
        _refuse(
            Law.WRONG_REGION,
            ledger,
            "the exception's region must name existing nodes, the child too",
        )
    if ledger.transaction is not None:
        region = ledger.transaction.region | wider
        return change(ledger, transaction=replace(ledger.transaction, region=region))
    if ledger.assembled:
        _refuse(Law.OUT_OF_PLACE, ledger, "after assembly an exception belongs to a transaction")
    pairs = ledger.exceptions | {(exception.parent, node) for node in wider}
    return change(ledger, exceptions=pairs)


def deciding(ledger: Ledger, reason: str = "") -> TransactionDecided:
    """Return the one legal decision on the open transaction."""
    transaction = _open_transaction(ledger)
    before, now = transaction.before, ledger.working
    after = now.rank(transaction.pinned)
    nodes = sorted(set(before.code) | set(now.code))
    codes = [(n, _digest_in(before, n), _digest_in(now, n)) for n in nodes]
    passed = [c for c in transaction.pinned if _passes(before, c)]
    assert before.graph is not None
    return TransactionDecided(
        number=transaction.number,
        decision=decide(transaction.rank, after),
        before=transaction.rank,
        after=after,
        program=now.assembly.program if now.assembly else None,
        graph_delta=diff(before.graph, ledger.graph),
        code_deltas=tuple(CodeDelta(node=n, before=b, after=a) for n, b, a in codes if b != a),
        regressions=tuple(sorted(c for c in passed if not _passes(now, c))),
        reason=reason,
    )


def _digest_in(working: Working, node: NodeId) -> Digest | None:
    return working.code[node].digest if node in working.code else None


def _passes(working: Working, check: CheckId) -> bool:
    standing = working.evidence.get(check)
    return standing is not None and standing.verdict is Verdict.PASSED


def _transaction_decided(ledger: Ledger, event: TransactionDecided) -> Ledger:
    transaction = _open_transaction(ledger)
    _refuse_changed_complement(ledger, transaction)
    legal = deciding(ledger, event.reason)
    if (event.before, event.after) != (legal.before, legal.after):
        _refuse(Law.WRONG_DECISION, ledger, "the ranks are not those of the evidence")
    if event.decision is not legal.decision:
        _refuse(Law.WRONG_DECISION, ledger, "a candidate is accepted exactly when it ranks higher")
    if event != legal:
        _refuse(Law.MISDECLARED, ledger, "the deltas are not what was changed")
    if event.decision is Decision.REJECTED:
        return change(ledger, transaction=replace(transaction, rejected=True))
    return change(ledger, transaction=None, replies=frozenset())


def _refuse_changed_complement(ledger: Ledger, transaction: OpenTransaction) -> None:
    """Every node that is still outside the region has the code and evidence it had."""
    now = {f.node: f for f in ledger.working.freeze(transaction.region)}
    for frozen in transaction.frozen:
        if frozen.node not in transaction.region and now.get(frozen.node) != frozen:
            _refuse(Law.FROZEN_CHANGED, ledger, f"{frozen.node} changed although it was frozen")


def _rolled_back(ledger: Ledger, event: RolledBack) -> Ledger:
    transaction = _open_transaction(ledger)
    if not transaction.rejected or event.number != transaction.number:
        _refuse(Law.OUT_OF_PLACE, ledger, "only a rejected candidate is rolled back")
    if event.restored != transaction.snapshot:
        _refuse(Law.ROLLBACK_INCOMPLETE, ledger, "what was restored is not the whole state before")
    return change(ledger, working=transaction.before, transaction=None, replies=frozenset())


def _run_finished(ledger: Ledger, event: RunFinished) -> Ledger:
    if ledger.transaction is not None:
        _refuse(Law.OUT_OF_PLACE, ledger, "a transaction is still open")
    assembly = ledger.working.assembly
    if event.program != (assembly.program if assembly else None):
        _refuse(Law.UNEARNED_OUTCOME, ledger, "the program returned is not the one that stands")
    full = ledger.working.rank(ledger.working.program_checks()).full
    if event.outcome is Outcome.PASSED and not full:
        _refuse(Law.UNEARNED_OUTCOME, ledger, "not every deciding check passed")
    return change(ledger, finished=True)


def _list(items: object) -> str:
    return ", ".join(sorted(str(i) for i in items))  # type: ignore[attr-defined]
