"""`blame`: show which responsibility owns a line of the program, and its evidence."""

from argparse import ArgumentParser
from typing import Any

import msgspec

from auditcoder.domain.assembly import Segment, owner_of_line
from auditcoder.domain.errors import NotFound
from auditcoder.domain.ids import NodeId
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.command import Command, add_run, add_store
from auditcoder.interfaces.cli.draft_view import draft_origin
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.show_command import show_evidence
from auditcoder.interfaces.cli.terminal import clock, count, emit_json, one_line, paint, rank, say
from auditcoder.interfaces.record_sources import opened_run
from auditcoder.lifecycle.export_import import verified_trace


class BlameArguments(Value):
    """The arguments of `blame`."""

    run: str
    line: int | None = None
    store: str | None = None
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `blame` to its parser."""
    add_run(parser)
    parser.add_argument(
        "line", metavar="LINE", nargs="?", type=int, help="a line number (default: all lines)"
    )
    add_store(parser)


def run(options: BlameArguments) -> int:
    """Show the owner of one line, or of all lines."""
    with opened_run(options.run, options.store) as (source, name):
        trace = verified_trace(source, name)
        assembly = trace.working.assembly
        if assembly is None:
            raise NotFound("program.none", f"run {name} has no program yet")
        lines = (
            source.blob(assembly.program).decode("utf-8", "replace").removesuffix("\n").split("\n")
        )
    if options.line is None:
        _show_all_lines(trace, lines, assembly.segments, as_json=options.json)
        return Exit.OK
    segment = owner_of_line(assembly.segments, options.line)
    if segment is None:
        raise NotFound(
            "line.unknown",
            f"the program has no line {options.line}",
            f"it has lines 1 to {len(lines)}",
        )
    facts = _line_facts(trace, options.line, lines[options.line - 1], segment)
    if options.json:
        emit_json(facts)
    else:
        _show_line(trace, facts, segment)
    return Exit.OK


def _show_all_lines(
    trace: Trace, lines: list[str], segments: tuple[Segment, ...], *, as_json: bool
) -> None:
    owners = [s for s in segments for _ in range(s.lines)]
    if as_json:
        emit_json(
            {
                "run": trace.run,
                "lines": [
                    {"line": n, "text": text, "node": s.node, "asked": s.asked}
                    for n, (text, s) in enumerate(zip(lines, owners, strict=True), 1)
                ],
            }
        )
        return
    width = max((len(str(s.node)) for s in owners if s.node), default=2)
    for number, (text, segment) in enumerate(zip(lines, owners, strict=True), 1):
        owner = segment.node or (",".join(segment.asked) if segment.asked else "")
        say(f"{paint(owner.ljust(width), 'blue')} {number:>4}  {text}".rstrip())


def _line_facts(trace: Trace, line: int, text: str, segment: Segment) -> dict[str, Any]:
    """Return everything that the record says about a line."""
    result: dict[str, Any] = {
        "run": trace.run,
        "line": line,
        "text": text,
        "node": segment.node,
        "asked": list(segment.asked),
    }
    if segment.node is None:
        return result
    node = trace.nodes[segment.node]
    code = trace.working.code[segment.node]
    committed = trace.committed[segment.node]
    return result | {
        "goal": node.goal,
        "committed": msgspec.to_builtins(committed),
        "code": {
            "digest": code.digest,
            "event": code.written,
            "agent": code.agent,
            "unit": _unit(trace, segment.node, segment, line),
            "versions": len(trace.versions_of(segment.node)),
            "draft": _draft(trace, segment.node),
        },
        "evidence": [
            {
                "event": w.when.seq,
                "check": w.evidence.check,
                "verdict": w.evidence.verdict.value,
                "trust": w.evidence.trust.value,
            }
            for w in trace.evidence_of(segment.node)
            if trace.judges(w)
        ],
        "interventions": [
            {
                "transaction": t.number,
                "decision": t.decision.value if t.decision else None,
                "changed": any(d.node == segment.node for d in t.code_deltas),
                "before": msgspec.to_builtins(t.before),
                "after": msgspec.to_builtins(t.after),
            }
            for t in trace.history_of(segment.node)
        ],
    }


def _draft(trace: Trace, node: NodeId) -> dict[str, Any] | None:
    """Return the draft that a node's present code is; None if it is no draft."""
    slot, record = trace.draft_of(node), trace.drafting
    if slot is None or record is None or record.choice is None:
        return None
    return {
        "draft": slot,
        "event": record.requested[slot].seq,
        "reply": record.requested[slot].reply,
        "requested": len(record.requested),
        "slots": len(record.slots),
        "chosen": record.choice.seq,
        "reason": record.choice.reason,
    }


def _unit(trace: Trace, node: NodeId, segment: Segment, line: int) -> str | None:
    """Return the name of the innermost registered unit that contains the line."""
    assembly = trace.working.assembly
    assert assembly is not None
    start = 1
    for each in assembly.segments:
        if each is segment:
            break
        start += each.lines
    own_line = segment.source + line - start
    units = [u for u in trace.working.code[node].units if u.first <= own_line <= u.last]
    return min(units, key=lambda u: u.last - u.first).registered if units else None


def _show_line(trace: Trace, facts: dict[str, Any], segment: Segment) -> None:
    say(f"{facts['line']:>4}  {facts['text']}")
    if segment.node is None:
        asked = ", ".join(segment.asked)
        say(f"added by assembly{f' for {asked}' if asked else ''}: no responsibility owns it")
        return
    node, code = segment.node, facts["code"]
    committed = trace.committed[node]
    by = f" by {code['agent']}" if code["agent"] else ""
    say(f"owner      {paint(node, 'bold')}  {one_line(facts['goal'])}")
    say(f"committed  event {committed.seq}, {clock(committed.at)}")
    say(
        f"written    event {code['event']}{by},"
        f" {count(code['event'] - committed.seq, 'event')} after the id was committed"
    )
    draft, why = draft_origin(trace, node)
    if draft:
        say(f"code       {draft}, {why}")
    if code["unit"]:
        say(f"unit       {code['unit']}")
    say("evidence")
    show_evidence(trace, node)
    for t in trace.history_of(node):
        touched = "changed" if any(d.node == node for d in t.code_deltas) else "unchanged"
        decision = t.decision.value if t.decision else "open"
        say(f"repair {t.number}   {touched}, {decision}, rank {rank(t.before)} to {rank(t.after)}")


COMMAND = Command(BlameArguments, declare, run)
