"""`show`: print a run as a tree of responsibilities, one responsibility in full, or one event."""

from argparse import ArgumentParser, ArgumentTypeError
from itertools import islice
from typing import Any

from auditcoder.domain.contract import Clause
from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.doubts import described_doubts
from auditcoder.domain.errors import NotFound
from auditcoder.domain.evidence import CheckKind
from auditcoder.domain.graph import FromLocal, FromNode, FromSelf, FromTask, Source
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.repair import Transaction
from auditcoder.domain.targets import AtProgram
from auditcoder.domain.trace import RecordedEvidence, Trace
from auditcoder.domain.usage import total
from auditcoder.domain.values import Value
from auditcoder.exports.code_history import code_history
from auditcoder.exports.draft_report import draft_summary
from auditcoder.exports.event_content import event_content
from auditcoder.exports.repair_report import (
    present_failures,
    repair_report,
    repair_reports,
    ruled_check,
)
from auditcoder.exports.responsibility_record import responsibility_record, responsibility_records
from auditcoder.interfaces.cli.command import Command, add_run, add_store
from auditcoder.interfaces.cli.draft_view import draft_origin, say_drafts, show_drafts
from auditcoder.interfaces.cli.event_view import show_event
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.history_view import show_history
from auditcoder.interfaces.cli.observation_view import show_observations
from auditcoder.interfaces.cli.repair_view import show_failures, show_repair, show_values
from auditcoder.interfaces.cli.run_output import say_doubts
from auditcoder.interfaces.cli.terminal import (
    clock,
    count,
    emit_json,
    header,
    one_line,
    paint,
    place,
    rank,
    say,
    verdict,
    verdict_words,
)
from auditcoder.interfaces.record_sources import opened_run
from auditcoder.lifecycle.export_import import verified_head, verified_trace
from auditcoder.lifecycle.intake.title import cut_title
from auditcoder.metrics.trace_metrics import DiagnosisCost, diagnosis_cost

_LONGEST_NUMBER = 18


class ShowArguments(Value):
    """The arguments of `show`."""

    run: str
    node: str | None = None
    event: int | None = None
    history: bool = False
    drafts: bool = False
    store: str | None = None
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `show` to its parser."""
    add_run(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "node",
        metavar="NODE",
        nargs="?",
        help="a responsibility, such as S1_2 (default: the whole run)",
    )
    what.add_argument(
        "--event",
        metavar="N",
        type=event_number,
        help="one event whole: its prompt, reply, code, input and output",
    )
    versions = parser.add_mutually_exclusive_group()
    versions.add_argument(
        "--history",
        action="store_true",
        help="all versions of the code: when, why and by whom each was written, with differences",
    )
    versions.add_argument(
        "--drafts",
        action="store_true",
        help="all drafts of the first code: how each was requested, what it cost, its checks and"
        " votes, and its difference from the chosen one",
    )
    add_store(parser)


def event_number(text: str) -> int:
    """Parse the number of an event."""
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise ArgumentTypeError("must be the number of an event: 0, 1, 2, …")
    return int(text)


def run(options: ShowArguments) -> int:
    """Show a run, a node or an event."""
    with opened_run(options.run, options.store) as (source, name):
        if options.event is not None:
            head = verified_head(source, name)
            entries = islice(source.read(name), head.entries)
            event = event_content(name, entries, options.event, source.blob)
            emit_json(event) if options.json else show_event(event)
            return Exit.OK
        trace = verified_trace(source, name)
        node = None if options.node is None else _known_node(trace, options.node)
        if options.drafts:
            show_drafts(trace, node, source.blob, as_json=options.json)
        elif options.history:
            _history(trace, node, source.blob, as_json=options.json)
        elif options.json:
            emit_json(_records(trace, node, source.blob))
        elif node is None:
            show_run(trace, source.blob)
        else:
            show_node(trace, node, source.blob)
    return Exit.OK


def _known_node(trace: Trace, name: str) -> NodeId:
    node = NodeId(name)
    if node not in trace.nodes:
        raise NotFound(
            "node.unknown",
            f"run {trace.run} has no responsibility {node}",
            f"it has {', '.join(trace.nodes) or 'none yet'}",
        )
    return node


def _records(trace: Trace, node: NodeId | None, read: ReadBlob) -> dict[str, Any]:
    """Return the content of `show` as plain data."""
    if node is not None:
        return responsibility_record(trace, node, read)
    return responsibility_records(trace, read) | {
        "repairs": repair_reports(trace, read),
        "failing": present_failures(trace, read),
    }


def _history(trace: Trace, node: NodeId | None, read: ReadBlob, *, as_json: bool) -> None:
    """Show all versions of one node's code, or of every node's."""
    nodes = [node] if node is not None else list(dict.fromkeys(v.node for v in trace.versions))
    histories = {each: code_history(trace, each, read) for each in nodes}
    if as_json:
        emit_json({"run": trace.run, "history": histories})
        return
    for number, each in enumerate(nodes):
        if number:
            say()
        show_history(trace.nodes[each].goal, each, histories[each])


def show_run(trace: Trace, read: ReadBlob) -> None:
    """Print the tree, the program's checks and the history."""
    ended = trace.finish.outcome.value if trace.finish else "open"
    task = cut_title(one_line(trace.task.title or trace.task.statement))
    say(f"{paint(trace.run, 'bold')}  {task}")
    say(f"{ended}, {count(trace.head.entries, 'event')}, from {clock(trace.started.at)}")
    if trace.finish and trace.finish.reason:
        say(f"  {one_line(trace.finish.reason)}")
    say_doubts(described_doubts(trace, read))
    if trace.granularity:
        planner = f" by {trace.planner}" if trace.planner else ""
        say(f"planned{planner}: {one_line(trace.granularity)}")
    say_drafts(draft_summary(trace))
    say()
    graph = trace.working.graph
    if graph is None:
        say("no responsibilities are committed yet")
    else:
        _tree(trace, graph.root, graph.children, "", "")
    for retired in sorted(trace.retired):
        say(f"{retired}  retired at event {trace.retired[retired].seq}")
    _program_checks(trace)
    _rulings(trace, read)
    for transaction in trace.history:
        say()
        _transaction_heading(transaction)
        show_repair(trace.run, repair_report(trace, transaction, read))
        _transaction_details(transaction)
    for answer in trace.diagnoses:
        if answer.transaction is None and not isinstance(answer.diagnosis, Localised):
            say()
            say(f"Abstained at event {answer.when.seq}: {one_line(answer.diagnosis.reason)}")
    if trace.finish and (failing := present_failures(trace, read)):
        say()
        say(paint("What the program fails", "bold"))
        show_failures(trace.run, failing)
    spent = diagnosis_cost(trace, read)
    if spent.runs or spent.questions:
        say()
        runs = count(spent.runs, "more sandbox run")
        requests = f", and {_requests(spent)}" if spent.questions else ""
        say(f"diagnosis took {runs}, {spent.milliseconds:.0f} ms{requests}")
    if trace.replies:
        usage = total(b.reply.usage for b in trace.replies)
        least = "at least " if usage.unmeasured else ""
        say()
        replies = count(len(trace.replies), "model reply", "model replies")
        say(f"{replies}, {least}{usage.tokens} tokens")


def _requests(spent: DiagnosisCost) -> str:
    least = "at least " if spent.usage.unmeasured else ""
    return f"{count(spent.questions, 'model request')}, {least}{spent.usage.tokens} tokens"


def _tree(
    trace: Trace,
    node_id: NodeId,
    children: dict[NodeId, tuple[NodeId, ...]],
    lead: str,
    below: str,
) -> None:
    node = trace.nodes[node_id]
    say(f"{lead}{paint(node_id, 'bold')}  {one_line(node.goal)}  {paint(node.kind.value, 'dim')}")
    kids = children[node_id]
    stem = below + ("│  " if kids else "   ")
    say(f"{stem} {paint(one_line(header(node)), 'blue')}")
    say(f"{stem} {_status(trace, node_id)}")
    for kid in kids:
        last = kid == kids[-1]
        _tree(
            trace,
            kid,
            children,
            below + ("└─ " if last else "├─ "),
            below + ("   " if last else "│  "),
        )


def _status(trace: Trace, node: NodeId) -> str:
    code = trace.working.code.get(node)
    draft = trace.draft_of(node)
    origin = f" (draft {draft})" if draft is not None else ""
    parts = [f"code from event {code.written}{origin}" if code else "no code"]
    standing = [w for w in trace.evidence_of(node) if trace.judges(w)]
    failing = sum(w.evidence.verdict.failing for w in standing)
    inconclusive = sum(not w.evidence.verdict.conclusive for w in standing)
    conclusive = len(standing) - inconclusive
    if not standing:
        parts.append("no evidence of its own")
    elif failing:
        parts.append(paint(f"{failing} of {count(conclusive, 'check')} fail", "red"))
    elif conclusive:
        parts.append(paint(f"{count(conclusive, 'check')} passed", "green"))
    if inconclusive:
        parts.append(paint(f"{count(inconclusive, 'check')} inconclusive", "dim"))
    parts.extend(
        f"repair {t.number} {t.decision.value if t.decision else 'open'}"
        for t in trace.history_of(node)
    )
    return ", ".join(parts)


def _program_checks(trace: Trace) -> None:
    standing = [
        w for w in trace.evidence if isinstance(w.evidence.subject, AtProgram) and trace.stands(w)
    ]
    if standing:
        say()
        say(paint("Program", "bold"))
        for recorded in standing:
            _show_check(trace, recorded)


def _rulings(trace: Trace, read: ReadBlob) -> None:
    for recorded in trace.rulings:
        ruling = recorded.ruling
        said = ruling.ruling.value.replace("_", " ")
        say()
        say(f"Ruling at event {recorded.when.seq} on {ruling.check}: {said}")
        ruled = ruled_check(trace, recorded, read)
        if ruled.expected is not None:  # else the input is all that the check tries
            show_values(trace.run, ruled)
        for opinion in ruling.opinions:
            said = opinion.ruling.value.replace("_", " ")
            reply = f" (event {opinion.reply})" if opinion.reply is not None else ""
            say(f"  {opinion.source}{reply}: {said}: {one_line(opinion.reason)}")


def _show_check(trace: Trace, recorded: RecordedEvidence) -> None:
    evidence = recorded.evidence
    notes = [evidence.kind.value, evidence.trust.value, f"event {recorded.when.seq}"]
    if recorded.transaction is not None:
        notes.append(f"repair {recorded.transaction}")
    shown = verdict(evidence.verdict)
    if not trace.stands(recorded):
        notes.append("no longer stands")
        shown = paint(verdict_words(evidence.verdict), "dim")
    message = f"  {one_line(evidence.message)}" if evidence.message else ""
    test = f" {one_line(evidence.requirement)}" if evidence.kind is CheckKind.TEST else ""
    say(f"  {shown}  {evidence.check}{test}  ({', '.join(notes)}){message}")


def _transaction_heading(t: Transaction) -> None:
    decision = t.decision.value if t.decision else "open"
    say(f"{paint(f'Repair {t.number}', 'bold')}  {t.kind.value}, {decision}")


def _transaction_details(t: Transaction) -> None:
    match t.diagnosis:
        case Localised() as diagnosis:
            chance = diagnosis.probability
            probability = f", probability {chance:.2f}" if chance else ""
            say(
                f"  {diagnosis.rule} points to {place(diagnosis.target)} with"
                f" {diagnosis.level.value} confidence{probability},"
                f" on events {', '.join(map(str, diagnosis.evidence))}"
            )
            if diagnosis.explanation:
                say(f"  reasons       {one_line(diagnosis.explanation)}")
        case abstained:
            say(f"  abstained: {one_line(abstained.reason)}")
    say(f"  region        {', '.join(t.region)}")
    frozen = [f.node for f in t.frozen if f.node not in t.region]
    say(f"  frozen        {', '.join(frozen) or 'nothing'}")
    for exception in t.exceptions:
        say(
            f"  exception     {exception.parent} needs {exception.child}:"
            f" {one_line(exception.rationale)}"
        )
    changed = [d.node for d in t.code_deltas]
    say(f"  changed       {', '.join(changed) or 'no code'}")
    say(f"  rank          {rank(t.before)} to {rank(t.after)}")
    if t.regressions:
        say(f"  regressed     {', '.join(t.regressions)}")
    if t.reason:
        say(f"  reason        {one_line(t.reason)}")
    if t.rollback.value == "restored":
        say("  the state before the repair was restored")


def show_node(trace: Trace, node_id: NodeId, read: ReadBlob) -> None:
    """Print everything that the record has on one responsibility."""
    node = trace.nodes[node_id]
    when = trace.committed[node_id]
    say(f"{paint(node_id, 'bold')}  {one_line(node.goal)}")
    say(f"id committed at event {when.seq}, {clock(when.at)}")
    if node_id in trace.retired:
        say(f"retired at event {trace.retired[node_id].seq}")
    say(
        f"kind {node.kind.value}, parent {node.parent or 'none'}",
    )
    say(f"depends on {', '.join(node.dependencies) or 'nothing'}")
    _contract(trace, node_id)
    _code(trace, node_id, read)
    say()
    say(paint("Evidence", "bold"))
    show_evidence(trace, node_id)
    say()
    say(paint("History", "bold"))
    for version in trace.versions_of(node_id):
        by = f" by {version.agent}" if version.agent else ""
        within = f" in repair {version.transaction}" if version.transaction else ""
        draft = f", draft {version.draft}" if version.draft is not None else ""
        say(f"  event {version.when.seq}  code {version.code[:12]} written{by}{within}{draft}")
    for transaction in trace.history_of(node_id):
        _transaction_heading(transaction)
        _transaction_details(transaction)


def show_evidence(trace: Trace, node_id: NodeId) -> None:
    """Print the checks of a responsibility, and what was observed when the program failed."""
    checks = trace.checks_of(node_id)
    for recorded in checks:
        _show_check(trace, recorded)
    if not checks:
        say("  none of its own")
    show_observations(trace, node_id)


def _contract(trace: Trace, node_id: NodeId) -> None:
    node = trace.nodes[node_id]
    say()
    say(paint("Contract", "bold"))
    say(f"  {one_line(header(node))}")
    if node.contract:
        for name, clauses in (
            ("requires", node.contract.requires),
            ("ensures", node.contract.ensures),
            ("invariant", node.contract.invariants),
        ):
            for clause in clauses:
                say(f"  {name:<10} {_clause(clause)}")
        cost = node.contract.cost
        if cost.time or cost.space:
            say(f"  cost       time {cost.time or 'unset'}, space {cost.space or 'unset'}")
    for name, source in node.provenance().items():
        say(f"  input      {name}: {_source(source)}")
    if not node.inputs:
        say("  input      none declared")
    for slot in node.outputs:
        say(f"  output     {slot.name}{f': {slot.type}' if slot.type else ''}")
    for line in node.context.splitlines():
        say(f"  context    {one_line(line)}")
    # What the plan requires; only the evidence tells whether it was checked.
    for requirement in node.validation:
        say(f"  to validate: {one_line(requirement)}")
    for hint in node.hints:
        say(f"  hint       {one_line(hint)}")


def _clause(clause: Clause) -> str:
    if clause.expression and clause.text:
        return f"{one_line(clause.text)}  [{one_line(clause.expression)}]"
    return one_line(clause.text or clause.expression)


def _source(source: Source | None) -> str:
    match source:
        case FromTask():
            return "from the task"
        case FromNode(node=node, slot=slot):
            return f"from {node}.{slot}"
        case FromLocal():
            return "a local intermediate"
        case FromSelf():
            return "the object's own state"
        case None:
            return "not declared"


def _code(trace: Trace, node_id: NodeId, read: ReadBlob) -> None:
    code = trace.working.code.get(node_id)
    say()
    if code is None:
        say(paint("Code", "bold") + "  none")
        return
    draft, why = draft_origin(trace, node_id)
    origin = f", {draft}" if draft else ""
    say(f"{paint('Code', 'bold')}  {code.digest[:12]}, event {code.written}{origin}")
    if why:
        say(f"  {why}")
    for number, line in enumerate(read(code.digest).decode("utf-8", "replace").splitlines(), 1):
        say(f"  {number:>4}  {line}")


COMMAND = Command(ShowArguments, declare, run)
