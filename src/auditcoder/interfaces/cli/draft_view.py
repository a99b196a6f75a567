"""Prints the drafts of a run: how many there were, which was chosen and why, how they differ."""

from collections.abc import Mapping, Sequence

from auditcoder.domain.errors import NotFound
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import CheckId
from auditcoder.exports.draft_report import (
    ChosenVariant,
    DraftSummary,
    NodeDraft,
    draft_summary,
    drafted_nodes,
    node_drafts,
)
from auditcoder.interfaces.cli.repair_view import diff_line
from auditcoder.interfaces.cli.terminal import count, emit_json, one_line, paint, say, verdict_words

_DIGEST_LENGTH = 64
_MOST_NAMED = 8
"""Maximum number of checks that are named."""


def say_drafts(summary: DraftSummary | None) -> None:
    """Print how many drafts were requested and tried, which was chosen, and why."""
    if summary is None:
        return
    usable = f", {summary.written} usable" if summary.written < summary.requested else ""
    tried = count(summary.variants, "variant") + " tried"
    say(
        f"drafts: {summary.requested} requested of at most {summary.slots}{usable}, {tried};"
        f" {chosen_drafts(summary.chosen)}"
    )
    if summary.chosen is not None:
        say(f"  {one_line(summary.chosen.reason)}")


def chosen_drafts(chosen: ChosenVariant | None) -> str:
    """Say which drafts were chosen, for which nodes if there are several."""
    if chosen is None:
        return "none is chosen"
    nodes: dict[int, list[NodeId]] = {}
    for node, draft in sorted(chosen.versions.items()):
        nodes.setdefault(draft, []).append(node)
    named = (
        f"draft {draft}" + (f" for {', '.join(owned)}" if len(nodes) > 1 else "")
        for draft, owned in sorted(nodes.items())
    )
    return f"chosen at event {chosen.event}: {', '.join(named)}"


def draft_origin(trace: Trace, node: NodeId) -> tuple[str, str]:
    """Return which draft a node's present code is, and why it was chosen; empty if it is none."""
    draft, record = trace.draft_of(node), trace.drafting
    if draft is None or record is None or record.choice is None:
        return "", ""
    why = f"chosen at event {record.choice.seq}: {one_line(record.choice.reason)}"
    return f"draft {draft} of {len(record.requested)}", why


def show_drafts(trace: Trace, node: NodeId | None, read: ReadBlob, *, as_json: bool) -> None:
    """Show all drafts of one node, or of every drafted node."""
    summary, drafted = draft_summary(trace), drafted_nodes(trace)
    if summary is None:
        raise NotFound(
            "drafts.none",
            f"run {trace.run} has no drafts",
            f"`auditcoder show {trace.run} --history` shows all versions of its code",
        )
    if node is not None and node not in drafted:
        raise NotFound(
            "drafts.none",
            f"run {trace.run} has no drafts of {node}",
            f"it has drafts of {', '.join(drafted)}",
        )
    nodes = drafted if node is None else (node,)
    drafts = {each: node_drafts(trace, each, read) for each in nodes}
    if as_json:
        emit_json({"run": trace.run, "drafting": summary, "drafts": drafts})
        return
    chosen = trace.drafting.choice.versions if trace.drafting and trace.drafting.choice else {}
    for number, each in enumerate(nodes):
        if number:
            say()
        present = trace.draft_of(each) == chosen.get(each)
        _show_node(trace.nodes[each].goal, each, summary, drafts[each], present=present)


def _show_node(
    title: str, node: NodeId, summary: DraftSummary, drafts: Sequence[NodeDraft], *, present: bool
) -> None:
    """Print every draft of a node: the chosen code whole, the others as diffs.

    `present` says whether the node's code still is the chosen draft.
    """
    say(f"{paint(node, 'bold')}  {one_line(title)}")
    say_drafts(summary)
    if len(summary.nodes) > 1:
        say(f"each draft has code for {', '.join(summary.nodes)}, and is tried as a whole")
    if combined := _combined(summary):
        say(f"the chosen combination: {combined}")
    if summary.chosen is not None and not present:
        say("the chosen code was replaced since; `--history` shows all versions")
    for draft in drafts:
        say()
        _show_draft(draft, summary)


def _combined(summary: DraftSummary) -> str:
    """Return the results of the chosen variant if it is no whole draft."""
    chosen = summary.chosen
    if chosen is None or len(set(chosen.versions.values())) == 1:
        return ""
    votes = f"; {count(chosen.votes, 'vote')}" if summary.inputs else ""
    return f"{_checks(chosen.verdicts)}{votes}"


def _show_draft(draft: NodeDraft, summary: DraftSummary) -> None:
    chosen = f"  {paint('chosen', 'green')}" if draft.chosen else ""
    say(f"{paint(f'Draft {draft.draft}', 'bold')}{chosen}  {_origin(draft)}")
    for reason in dict.fromkeys(draft.rejected):
        say(f"  rejected  {one_line(reason)}")
    if draft.event is None:
        usable = len(draft.rejected) < len(draft.replies)
        say(f"  no draft: {'its code is not on record' if usable else 'no usable reply'}")
        return
    if draft.verdicts is None:
        why = ": no program can be made of it" if summary.chosen is not None else ""
        say(f"  not tried{why}")
    else:
        say(f"  checks    {_checks(draft.verdicts)}")
        if summary.inputs:
            say(f"  votes     {draft.votes}, from {count(summary.inputs, 'input')}")
    for loss in draft.losses:
        say(f"  lost      {one_line(loss)}")
    if draft.note:
        say(f"  note      {one_line(draft.note)}")
    _show_code(draft)


def _origin(draft: NodeDraft) -> str:
    """Say how a draft was sampled, and what it cost."""
    seed = "no seed" if draft.seed is None else f"seed {draft.seed}"
    prompt = draft.prompt if len(draft.prompt) < _DIGEST_LENGTH else draft.prompt[:12]
    least = "at least " if draft.usage.unmeasured else ""
    event = f"event {draft.event}, " if draft.event is not None else ""
    replies = ", ".join(map(str, draft.replies)) or "none"
    return (
        f"{event}reply {replies}, prompt {one_line(prompt)}, temperature {draft.temperature:g},"
        f" {seed}, {least}{draft.usage.tokens} tokens"
    )


def _checks(verdicts: Mapping[CheckId, Verdict]) -> str:
    """Say which checks pass, and how the others ended."""
    passed = [check for check, verdict in verdicts.items() if verdict is Verdict.PASSED]
    others = [
        f"{check} {verdict_words(verdict)}"
        for check, verdict in verdicts.items()
        if verdict is not Verdict.PASSED
    ]
    if not verdicts:
        return "there are none"
    named = "; ".join(_some(names) for names in (passed, others) if names)
    return f"{len(passed)} of {len(verdicts)} pass: {named}"


def _some(names: Sequence[str]) -> str:
    """Return the first of some names, and the number of the others."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _show_code(draft: NodeDraft) -> None:
    """Print the code whole, or as a diff from the chosen code; the same code only once."""
    if draft.source is None:
        say("  code      none of its own: that from before the drafts")
    elif draft.same_as is not None:
        say(f"  code      the same as that of draft {draft.same_as}")
    elif draft.diff:
        say("  code      difference from the chosen code")
        for line in draft.diff.split("\n")[2:]:
            say(f"    {diff_line(line)}")
    else:
        say(f"  code      {'a stub, because the reply has none' if draft.is_stub else ''}".rstrip())
        for number, line in enumerate(draft.source.splitlines(), 1):
            say(f"  {number:>4}  {line}")
