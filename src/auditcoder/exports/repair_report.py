"""What each repair of a run was about: the failure before it, its cause, the change, the result.

Everything is derived from the record. A cause is stated as what was observed and what was changed,
and only as far as the decision confirms it.
"""

from collections.abc import Iterable, Sequence
from difflib import unified_diff

from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict, is_claim
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.repair import (
    FAULT_ELSEWHERE,
    PLAN_AT_FAULT,
    CodeDelta,
    Decision,
    RollbackStatus,
    Transaction,
)
from auditcoder.domain.targets import AtBranch, AtNode, AtProgram
from auditcoder.domain.trace import RecordedEvidence, RulingRecord, Trace
from auditcoder.domain.values import CheckId, Digest, Value


class FailedCheck(Value):
    """A check of the program that failed before a repair, with its content."""

    event: int
    check: CheckId
    kind: CheckKind
    verdict: Verdict
    trust: Trust
    requirement: str = ""
    input: str | None = None
    expected: str | None = None
    got: str | None = None
    """The result; None if there was none."""
    message: str = ""


class CodeChange(Value):
    """The code of one node before and after a repair, as a unified diff."""

    node: NodeId
    name: str
    before: Digest | None
    after: Digest | None
    removed: int
    """Number of lines that only the old code has."""
    added: int
    diff: str


class VerdictChange(Value):
    """A check whose verdict differs before and after a repair."""

    check: CheckId
    before: Verdict
    after: Verdict


class RepairReport(Value):
    """One repair: what failed, which nodes were named and why, what changed, and the result."""

    transaction: int
    decision: Decision | None
    rolled_back: bool
    cause: str
    failures: tuple[FailedCheck, ...]
    """All pinned checks that failed before it; the one that was diagnosed comes first."""
    changes: tuple[CodeChange, ...]
    verdicts: tuple[VerdictChange, ...]
    """The checks that ran on the candidate with another verdict than before."""
    checked: bool
    """Whether any check of the program ran on the candidate."""


def repair_reports(trace: Trace, read: ReadBlob) -> tuple[RepairReport, ...]:
    """Return a report of every repair, in their order."""
    return tuple(repair_report(trace, t, read) for t in trace.history)


def repair_report(trace: Trace, t: Transaction, read: ReadBlob) -> RepairReport:
    """Return the report of one repair."""
    changes = tuple(_change(trace, delta, read) for delta in t.code_deltas)
    verdicts = _verdict_changes(t)
    return RepairReport(
        transaction=t.number,
        decision=t.decision,
        rolled_back=t.rollback is RollbackStatus.RESTORED,
        cause=_cause(trace, t, changes, verdicts),
        failures=tuple(_failed_check(w, read) for w in _failures(trace, t)),
        changes=changes,
        verdicts=verdicts,
        checked=bool(t.global_evidence),
    )


def present_failures(trace: Trace, read: ReadBlob) -> tuple[FailedCheck, ...]:
    """Return the checks that the present program fails, the most trusted first."""
    trusts = list(Trust)
    failing = [
        witness
        for witness in trace.evidence
        if isinstance(witness.evidence.subject, AtProgram)
        and witness.evidence.verdict.failing
        and trace.judges(witness)
    ]
    failing.sort(key=lambda w: (trusts.index(w.evidence.trust), w.when.seq))
    return tuple(_failed_check(witness, read) for witness in failing)


def ruled_check(trace: Trace, ruling: RulingRecord, read: ReadBlob) -> FailedCheck:
    """Return the failed check that a ruling is about, with its content."""
    event = ruling.ruling.evidence
    return _failed_check(next(w for w in trace.evidence if w.when.seq == event), read)


def text_of(content: bytes) -> str:
    """Return content as text, or a description of bytes that are not text."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"({len(content):,} bytes that are not text, beginning with {content[:32].hex(' ')})"


def code_diff(before: str, after: str) -> str:
    """Return a unified diff with three lines of context; empty if the texts are equal."""
    lines = unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return "\n".join(lines)


def named_node(trace: Trace, node: NodeId) -> str:
    """Return a node by its function's name, with its id: `merge (S3)`."""
    contract = trace.nodes[node].contract
    return f"`{contract.name}` ({node})" if contract else node


def _failures(trace: Trace, t: Transaction) -> list[RecordedEvidence]:
    """Return the failing evidence about the program that stood when a repair began."""
    standing: dict[CheckId, RecordedEvidence] = {}
    for witness in trace.evidence:
        if witness.when.seq < t.opened and witness.evidence.against == t.program_before:
            standing[witness.evidence.check] = witness
    failing = [
        standing[check]
        for check, verdict in t.verdicts_before.items()
        if verdict.failing and check in standing
    ]
    trusts = list(Trust)
    cited = t.diagnosis.evidence
    return sorted(
        failing, key=lambda w: (w.when.seq not in cited, trusts.index(w.evidence.trust), w.when.seq)
    )


def _failed_check(witness: RecordedEvidence, read: ReadBlob) -> FailedCheck:
    def text(name: Digest | None) -> str | None:
        return None if name is None else text_of(read(name))

    seen = witness.evidence
    return FailedCheck(
        event=witness.when.seq,
        check=seen.check,
        kind=seen.kind,
        verdict=seen.verdict,
        trust=seen.trust,
        requirement=seen.requirement,
        input=text(seen.input),
        expected=text(seen.expected),
        got=text(seen.observed),
        message=seen.message,
    )


def _change(trace: Trace, delta: CodeDelta, read: ReadBlob) -> CodeChange:
    before, after = ("" if d is None else text_of(read(d)) for d in (delta.before, delta.after))
    diff = code_diff(before, after)
    lines = diff.split("\n")[2:]
    contract = trace.nodes[delta.node].contract
    return CodeChange(
        node=delta.node,
        name=contract.name if contract else "",
        before=delta.before,
        after=delta.after,
        removed=sum(line.startswith("-") for line in lines),
        added=sum(line.startswith("+") for line in lines),
        diff=diff,
    )


def _verdict_changes(t: Transaction) -> tuple[VerdictChange, ...]:
    after: dict[CheckId, Verdict] = {e.check: e.verdict for e in t.global_evidence}
    return tuple(
        VerdictChange(check=check, before=before, after=after[check])
        for check, before in t.verdicts_before.items()
        if t.decision is not None and after.get(check, before) is not before
    )


def _cause(
    trace: Trace,
    t: Transaction,
    changes: Sequence[CodeChange],
    verdicts: Sequence[VerdictChange],
) -> str:
    """Return one sentence about the cause that says no more than the record."""
    text = f"{_attribution(trace, t)}; {_outcome(trace, t, changes, verdicts)}."
    return text[0].upper() + text[1:]


def _attribution(trace: Trace, t: Transaction) -> str:
    """Say what the diagnosis named, and the observations that it cites."""
    if not isinstance(t.diagnosis, Localised):
        reason = one_sentence(t.diagnosis.reason)
        return f"No part was named, because {reason}" if reason else "No part was named"
    likely = t.diagnosis.probability
    confidence = f"{t.diagnosis.level.value} confidence" + (f", {likely:.2f}" if likely else "")
    match t.diagnosis.target:
        case AtBranch(root=root):
            named, verb = f"the branch of {named_node(trace, root)}", "was"
        case _:
            named = joined([named_node(trace, n) for n in t.selected])
            verb = "was" if len(t.selected) == 1 else "were"
    cited, further = _observations(trace, t)
    reasons = listed(cited) or one_sentence(t.diagnosis.explanation)
    events = ", ".join(map(str, t.diagnosis.evidence)) or "none"
    why = f"because {reasons}" if reasons else f"by {t.diagnosis.rule} on events {events}"
    also = f"; also on record: {listed(further)}" if further else ""
    return f"{named} {verb} named ({confidence}) {why}{also}"


def _observations(trace: Trace, t: Transaction) -> tuple[list[str], list[str]]:
    """Return what was observed about the named nodes before the repair, each with its event.

    The first list is what the diagnosis cites. The second is further checks of these nodes.
    """
    selected, evidence = set(t.selected), set(t.diagnosis.evidence)
    latest: dict[CheckId, RecordedEvidence] = {}
    for witness in trace.evidence:
        if witness.when.seq < t.opened and _lasting(trace, witness.transaction):
            latest[witness.evidence.check] = witness
    cited, further = [], []
    for witness in latest.values():
        seen = witness.evidence
        if seen.verdict.failing and _nodes(seen) & selected:
            if witness.when.seq in evidence:
                cited.append(_observation(trace, t, witness))
            elif _is_further_reason(trace, t, seen):
                further.append(_observation(trace, t, witness))
    return cited, further


def _is_further_reason(trace: Trace, t: Transaction, seen: Evidence) -> bool:
    """Whether evidence is a check of the code that a node had when the repair began."""
    return (
        seen.kind.judges
        and seen.kind is not CheckKind.REVIEW
        and isinstance(seen.subject, AtNode)
        and seen.against == _code_at(trace, t, seen.subject.node)
    )


def _observation(trace: Trace, t: Transaction, witness: RecordedEvidence) -> str:
    """Return failing evidence about a node as a clause."""
    seen, event = witness.evidence, f"(event {witness.when.seq})"
    if is_claim(seen):
        return f"{_on_one_line(seen.message)} {event}"
    said = one_sentence(seen.message)
    if not seen.kind.judges:
        whose = "" if len(t.selected) == 1 else f"of {listed(_names(trace, seen))}: "
        return f"{whose}{said or seen.check} {event}"
    what = f"`{seen.requirement}`" if seen.requirement else f"its check {seen.check}"
    return f"{what} {_ENDINGS[seen.verdict]}{f' ({said})' if said else ''} {event}"


def _names(trace: Trace, seen: Evidence) -> list[str]:
    return [named_node(trace, node) for node in sorted(_nodes(seen))]


def one_sentence(text: str) -> str:
    """Return a text as part of a sentence: on one line, without a full stop or semicolons."""
    return " ".join(text.split()).rstrip(". ").replace("; ", ", ")


def _on_one_line(text: str) -> str:
    """Return a quoted text on one line without a full stop; its semicolons are kept."""
    return " ".join(text.split()).rstrip(". ")


def _code_at(trace: Trace, t: Transaction, node: NodeId) -> Digest | None:
    """Return the code that a node had when a repair began."""
    versions = [
        v.code
        for v in trace.versions_of(node)
        if v.when.seq < t.opened and _lasting(trace, v.transaction)
    ]
    return versions[-1] if versions else None


def _lasting(trace: Trace, transaction: int | None) -> bool:
    """Whether what was recorded outside of or within a transaction outlasted it."""
    return transaction is None or any(
        t.number == transaction and t.decision is Decision.ACCEPTED for t in trace.history
    )


def _nodes(seen: Evidence) -> set[NodeId]:
    match seen.subject:
        case AtNode(node=node):
            return {node}
        case AtBranch(root=root):
            return {root}
        case AtProgram():
            return set()


_ENDINGS = {
    Verdict.FAILED: "failed",
    Verdict.CRASH: "crashed",
    Verdict.TIMEOUT: "ran out of time",
    Verdict.MEMORY: "ran out of memory",
}


def _outcome(
    trace: Trace,
    t: Transaction,
    changes: Sequence[CodeChange],
    verdicts: Sequence[VerdictChange],
) -> str:
    """Say what was changed, and what the decision confirms about it."""
    if t.decision is None:
        return "the repair is not decided yet"
    edited = [c for c in changes if c.diff]
    removed, added = sum(c.removed for c in edited), sum(c.added for c in edited)
    what = (
        f"changing {joined([named_node(trace, c.node) for c in edited])}"
        f" (lines removed: {removed}, added: {added})"
        if edited
        else "a repair without changed code"
    )
    if t.decision is Decision.ACCEPTED:
        return f"{what} {_effects(t, verdicts)} and was accepted"
    if t.global_evidence:
        result = f"{what} {_effects(t, verdicts)} and was rejected"
    elif not edited and (claim := _claim(t.reason)):
        result = f"the author of the repair answered that {claim}; nothing was changed or checked"
    else:
        why = f" ({one_sentence(t.reason)})" if t.reason else ""
        result = f"{what} was rejected before any check ran{why}"
    return f"{result}, so this attribution is not confirmed"


def _claim(reason: str) -> str:
    """Return the answer without code that ended a repair, as a clause; empty if there was none."""
    for start in (FAULT_ELSEWHERE, PLAN_AT_FAULT):
        if reason.startswith(start):
            return f"{start.removesuffix(': ')} ({_on_one_line(reason.removeprefix(start))})"
    return ""


def _effects(t: Transaction, verdicts: Sequence[VerdictChange]) -> str:
    """Say which checks passed or failed only after a repair."""
    healed = [v.check for v in verdicts if v.after is Verdict.PASSED]
    broken = [v.check for v in verdicts if v.before is Verdict.PASSED and v.after.failing]
    effects = [
        *([f"made {listed(healed)} pass"] if healed else []),
        *([f"made {listed(broken)} fail"] if broken else []),
    ]
    if effects:
        return joined(effects)
    ran = {e.check for e in t.global_evidence}
    return "changed no verdict" + ("" if ran >= t.verdicts_before.keys() else " of those that ran")


_MOST_LISTED = 4


def listed(names: Sequence[str]) -> str:
    """Return names as a list in prose, shortened if there are many."""
    if len(names) <= _MOST_LISTED:
        return joined(names)
    return f"{', '.join(names[: _MOST_LISTED - 1])} and {len(names) - _MOST_LISTED + 1} more"


def joined(parts: Iterable[str]) -> str:
    """Return texts as a list in prose."""
    *others, last = [*parts] or [""]
    return f"{', '.join(others)} and {last}" if others else last
