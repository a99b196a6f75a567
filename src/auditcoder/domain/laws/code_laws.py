"""The laws of building: every unit has one owner, and the program is exactly the owned code."""

from msgspec.structs import replace

from auditcoder.domain.assembly import Assembly, assembly_faults, build_order, is_readable
from auditcoder.domain.code import (
    CodeBundle,
    NodeCode,
    UnitKind,
    all_definitions,
    definitions,
    foreign_target,
    is_from_the_future,
    program_name,
    read_bundle,
    units_of,
)
from auditcoder.domain.events import Assembled, CodeWritten, ExceptionRaised, ReplyRecorded
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws.common import (
    Law,
    ReadBlob,
    committed_graph,
    listed,
    refuse,
    still_standing,
    task_of,
)
from auditcoder.domain.ledger import Ledger, UsableReply, WorkingState, change, rework
from auditcoder.domain.python_names import BUILTINS, MODULE_NAMES, is_identifier
from auditcoder.domain.reply_code import foreign_statement
from auditcoder.domain.request import FinishReason
from auditcoder.domain.task import main_block
from auditcoder.domain.usage import Phase, Scope
from auditcoder.domain.values import Digest

_FINISHES = frozenset({"", *(reason.value for reason in FinishReason)})
"""How a reply may end; it is empty where no model was asked."""


def reply_recorded(ledger: Ledger, event: ReplyRecorded) -> Ledger:
    """Register a reply: code may be requested only for committed node ids."""
    if event.finish not in _FINISHES:
        refuse(Law.MISDECLARED, ledger, f"a reply does not end with {event.finish!r}")
    if (event.scope is Scope.REPAIR) is not ledger.assembled:
        refuse(Law.MISDECLARED, ledger, "a call is for a repair once there is a program")
    if len(set(event.nodes)) != len(event.nodes):
        refuse(Law.MISDECLARED, ledger, "a reply names a node twice")
    for node in {event.node, *event.nodes} - {None, ROOT}:
        if node not in committed_graph(ledger).ids:
            refuse(Law.CODE_BEFORE_ID, ledger, f"{node} was requested before its id was committed")
    if event.phase is Phase.GENERATION and ledger.working.graph is None:
        refuse(Law.CODE_BEFORE_ID, ledger, "code was requested before any id was committed")
    if event.phase is Phase.GENERATION and not ledger.code_requested:
        ledger = change(ledger, code_requested=True)
    if event.rejected:
        return ledger
    plans = event.phase is Phase.PLANNING
    reply = UsableReply(
        seq=ledger.seq,
        text=event.reply,
        request=event.request,
        node=event.node,
        plans=plans,
    )
    after = change(ledger, answers=ledger.answers | {ledger.seq})
    if event.phase is Phase.VERIFICATION:
        opinions = {n: reply for n in (event.node, *event.nodes) if n is not None}
        return change(after, opinions=ledger.opinions | opinions)
    return change(after, replies=ledger.replies | {ledger.seq: reply})


def code_written(ledger: Ledger, event: CodeWritten, read: ReadBlob) -> Ledger:
    """Register code: its id is committed, the edit is allowed, and the units match the code."""
    node, working = event.node, ledger.working
    if working.graph is None or node not in working.graph.ids:
        refuse(Law.CODE_BEFORE_ID, ledger, f"{node} has code but no committed id")
    reply = None if event.reply is None else _usable_reply(ledger, event, event.reply)
    _refuse_writing_outside(ledger, event)
    bundle = read_bundle(_text(ledger, read, event.code))
    if not bundle.source.strip():
        refuse(Law.MISDECLARED, ledger, f"the code of {node} is empty")
    if any(imported.name == "*" for imported in bundle.imported):
        refuse(Law.MISDECLARED, ledger, "a star import binds unknown names")
    if any(is_from_the_future(p.imported) and not p.lifted for p in bundle.parts):
        refuse(Law.MISDECLARED, ledger, "an import from __future__ needs a line of its own")
    if event.scope and not is_identifier(event.scope):
        refuse(Law.MISDECLARED, ledger, "the class name is not an identifier")
    before = working.code.get(node)
    if before is not None and before.scope != event.scope:
        refuse(Law.MISDECLARED, ledger, f"the code of {node} cannot move to another class")
    if reply is not None:
        _refuse_other_origin(ledger, event, bundle, read(reply.text))
        planned = reply.seq <= ledger.allocated[node]
        if planned and any(p.kind is UnitKind.FUNCTION for p in bundle.parts):
            refuse(Law.CODE_BEFORE_ID, ledger, f"a plan has a function of {node}")
    _refuse_wrong_units(ledger, event, bundle)
    if before is not None and (before.digest, before.units) == (event.code, event.units):
        return ledger
    code = NodeCode(
        digest=event.code,
        units=event.units,
        scope=event.scope,
        agent=event.agent,
        written=ledger.seq,
    )
    after = rework(
        ledger,
        code=working.code | {node: code},
        bundles=working.bundles | {node: bundle},
        assembly=None,
    )
    return rework(after, evidence=still_standing(after.working))


def _text(ledger: Ledger, read: ReadBlob, name: Digest) -> str:
    """Return code or a program as text; it must be plain UTF-8 with line feeds."""
    try:
        text = read(name).decode("utf-8")
    except UnicodeDecodeError:
        refuse(Law.MISDECLARED, ledger, "the code is not valid UTF-8")
    if "\r" in text or "\ufeff" in text:
        refuse(Law.MISDECLARED, ledger, "the code has a carriage return or a byte order mark")
    return text


def _usable_reply(ledger: Ledger, event: CodeWritten, seq: int) -> UsableReply:
    """Return the reply that code names; it is for this node and newer than the node's id."""
    opinion_on = {node: reply for node, reply in ledger.opinions.items() if reply.seq == seq}
    reply = next(iter(opinion_on.values()), None) or ledger.replies.get(seq)
    if reply is None:
        refuse(Law.MISDECLARED, ledger, f"event {seq} is not a reply that code may come from")
    # Definitions are part of the plan, like the ids; functions are written for an existing id.
    defines = ledger.graph.by_id[event.node].contract is None
    if seq <= ledger.allocated[event.node] and not (defines and reply.plans):
        refuse(Law.CODE_BEFORE_ID, ledger, f"the reply is older than the id of {event.node}")
    asked_for = set(opinion_on) or {reply.node} - {None}
    if asked_for and asked_for.isdisjoint({event.node, event.cause}):
        refuse(
            Law.BOUNDARY_CROSSED, ledger, f"the reply was for {listed(asked_for)}, not {event.node}"
        )
    return reply


def _refuse_other_origin(
    ledger: Ledger, event: CodeWritten, bundle: CodeBundle, reply: bytes
) -> None:
    """Refuse code with a statement that its reply does not have.

    The root also has what its task gives, and keeps its code when a class gets shared helpers.
    """
    sources = [reply.decode("utf-8", "replace")]
    if event.node == ROOT:
        task = task_of(ledger)
        sources += [task.statement, main_block(task.form)]
        if (present := ledger.working.bundles.get(ROOT)) is not None:
            sources.append(present.source)
    if statement := foreign_statement(bundle, sources):
        refuse(
            Law.MISDECLARED,
            ledger,
            f"`{statement.strip()[:60]}` in the code of {event.node} is not in the reply",
        )


def _refuse_writing_outside(ledger: Ledger, event: CodeWritten) -> None:
    node, cause = event.node, event.cause
    transaction = ledger.transaction
    if cause is not None and (cause == node or cause not in ledger.graph.ids):
        refuse(Law.MISDECLARED, ledger, "the cause is not another node of this run")
    if transaction is not None:
        if cause is not None and cause not in transaction.region:
            refuse(Law.BOUNDARY_CROSSED, ledger, f"{cause} is frozen and cannot cause an edit")
        if node not in transaction.region:
            law = Law.FROZEN_CHANGED if cause is None else Law.BOUNDARY_CROSSED
            refuse(law, ledger, f"{node} is frozen while transaction {transaction.number} is open")
    elif ledger.assembled:
        refuse(Law.FROZEN_CHANGED, ledger, f"the code of {node} changes outside a transaction")
    elif cause is not None and (cause, node) not in ledger.exceptions:
        refuse(Law.BOUNDARY_CROSSED, ledger, f"{cause} writes {node}'s code without an exception")


def taken_names(ledger: Ledger, node: NodeId) -> frozenset[str]:
    """Return the names that `node` may not define: those of other nodes, and built-in ones."""
    code = ledger.working.code.items()
    owned = {u.registered for n, c in code if n != node for u in c.units}
    known = committed_graph(ledger).by_id.get(node)
    contract = known.contract if known else None
    return frozenset(owned | MODULE_NAMES | BUILTINS - {contract.name if contract else ""})


def _refuse_wrong_units(ledger: Ledger, event: CodeWritten, bundle: CodeBundle) -> None:
    taken = taken_names(ledger, event.node)
    if reserved := sorted({i.name for i in bundle.imported} & MODULE_NAMES):
        refuse(Law.SECOND_OWNER, ledger, f"{listed(reserved)} is a name of the interpreter")
    promised = ledger.graph.promises
    # Until a node has code, its promise may be for this class.
    scopes = {n: c.scope for n, c in ledger.working.code.items()}
    in_class = {program_name(m, scopes.get(n, event.scope)): n for m, n in promised.items()}
    promisers = promised | in_class
    for unit in event.units:
        if unit.registered in taken:
            refuse(Law.SECOND_OWNER, ledger, f"{unit.registered} is owned elsewhere or built in")
        promiser = promisers.get(unit.registered, event.node)
        if promiser != event.node or (unit.name in promised and unit.name in taken):
            refuse(Law.SECOND_OWNER, ledger, f"the contract of {promiser} promises {unit.name}")
    if bundle.targets:
        _refuse_foreign_target(ledger, event, bundle)
    if event.units != units_of(bundle, event.node, event.scope, taken):
        refuse(Law.MISDECLARED, ledger, f"the units of {event.node} do not match its code")


def _refuse_foreign_target(ledger: Ledger, event: CodeWritten, bundle: CodeBundle) -> None:
    working = ledger.working
    others = all_definitions(
        (definitions(c, working.bundles[n]) for n, c in working.code.items() if n != event.node),
        promised=ledger.graph.promises,
    )
    if target := foreign_target(bundle, event.units, event.scope, others):
        refuse(Law.SECOND_OWNER, ledger, f"{target} is an attribute of another node's code")


def assembled(ledger: Ledger, event: Assembled, read: ReadBlob) -> Ledger:
    """Register a program: it has exactly the nodes' code, and changes only in transactions."""
    graph, working = committed_graph(ledger), ledger.working
    if missing := set(graph.leaves) - set(working.code):
        refuse(Law.UNFAITHFUL_ASSEMBLY, ledger, f"{listed(missing)} have no code yet")
    text = _text(ledger, read, event.program)
    order = build_order(graph, working.code)
    _refuse_promises_of_others(ledger, graph)
    if faults := assembly_faults(text, event.segments, order, working.code, working.bundles):
        refuse(Law.UNFAITHFUL_ASSEMBLY, ledger, "; ".join(faults))
    assembly = Assembly(program=event.program, segments=event.segments)
    if assembly == working.assembly:
        return ledger
    transaction = ledger.transaction
    if ledger.assembled and transaction is None:
        refuse(Law.FROZEN_CHANGED, ledger, "the program changes outside a transaction")
    if transaction is not None and event.program != transaction.program:
        before = transaction.before
        if (before.code, before.graph) == (working.code, graph):
            refuse(Law.UNFAITHFUL_ASSEMBLY, ledger, "the program changes, but no code does")
        frozen = working.code.keys() - transaction.region
        if frozen and _has_late_annotations(working) and not _has_late_annotations(before):
            refuse(
                Law.FROZEN_CHANGED,
                ledger,
                f"a future import changes the meaning of annotations in {listed(frozen)}",
            )
    after = rework(
        ledger, assembly=assembly, readable=is_readable(text, working.code, working.bundles)
    )
    return change(rework(after, evidence=still_standing(after.working)), assembled=True)


def _has_late_annotations(working: WorkingState) -> bool:
    return any(bundle.has_late_annotations for bundle in working.bundles.values())


def _refuse_promises_of_others(ledger: Ledger, graph: TaskGraph) -> None:
    owners = ledger.working.owners()
    for name, node in graph.promises.items():
        code = ledger.working.code.get(node)
        promised = program_name(name, code.scope if code else "")
        if (owner := owners.get(promised, node)) != node:
            refuse(Law.SECOND_OWNER, ledger, f"{owner} owns {promised}, which {node} promises")


def exception_raised(ledger: Ledger, event: ExceptionRaised) -> Ledger:
    """Register an integration exception, which precedes an edit across a boundary."""
    exception, graph = event.exception, committed_graph(ledger)
    wider = frozenset(exception.region)
    if not exception.rationale.strip():
        refuse(Law.BOUNDARY_CROSSED, ledger, "an integration exception needs a reason")
    if len(wider) != len(exception.region):
        refuse(Law.WRONG_REGION, ledger, "the region names a node twice")
    if exception.child not in wider or not (wider | {exception.parent}) <= graph.ids:
        refuse(Law.WRONG_REGION, ledger, "the region needs existing nodes and the child")
    if not wider <= graph.subtree(exception.child):
        refuse(Law.WRONG_REGION, ledger, "an exception adds only the child and nodes below it")
    if exception.parent == exception.child:
        refuse(Law.WRONG_REGION, ledger, "parent and child of an exception are the same node")
    transaction = ledger.transaction
    if transaction is None:
        if ledger.assembled:
            refuse(Law.OUT_OF_PLACE, ledger, "after assembly an exception needs a transaction")
        pairs = ledger.exceptions | {(exception.parent, node) for node in wider}
        return change(ledger, exceptions=pairs)
    if exception.parent not in transaction.region or exception.child in transaction.region:
        refuse(Law.WRONG_REGION, ledger, "an exception leads from the region to a frozen node")
    return change(ledger, transaction=replace(transaction, region=transaction.region | wider))
