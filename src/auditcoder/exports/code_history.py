"""All versions of a node's code: when, why and by whom each was written, and what became of it."""

from collections.abc import Mapping
from datetime import datetime

from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.repair import Decision, RollbackStatus, Transaction
from auditcoder.domain.trace import CodeVersion, Trace
from auditcoder.domain.values import Digest, Value
from auditcoder.exports.repair_report import code_diff, one_sentence, text_of


class RecordedVersion(Value):
    """One version of a node's code."""

    number: int
    event: int
    at: datetime
    code: Digest
    source: str
    fate: str
    """`current`, `replaced`, `rejected, rolled back`, `current, of an open repair`, …"""
    why: str
    agent: str = ""
    reply: int | None = None
    """Number of the event with the reply that it comes from; None if no model wrote it."""
    cause: NodeId | None = None
    """The node for whose sake it was written, if that is another one."""
    transaction: int | None = None
    draft: int | None = None
    """The draft that it is; None if it is no draft."""
    replaced: int | None = None
    """Number of the version that it replaced; None for the first code."""
    diff: str = ""
    """A unified diff from the version that it replaced; empty if there is none or nothing changed.
    """


def code_history(trace: Trace, node: NodeId, read: ReadBlob) -> tuple[RecordedVersion, ...]:
    """Return all versions of a node's code, oldest first."""
    transactions = {t.number: t for t in trace.history}
    working = trace.working.code.get(node)
    current = working.written if working else None
    history: list[RecordedVersion] = []
    standing: RecordedVersion | None = None
    for number, version in enumerate(trace.versions_of(node), start=1):
        within = transactions.get(version.transaction or 0)
        while standing is not None and _was_undone(transactions, standing, version):
            standing = next((v for v in history if v.number == standing.replaced), None)
        source = text_of(read(version.code))
        entry = RecordedVersion(
            number=number,
            event=version.when.seq,
            at=version.when.at,
            code=version.code,
            source=source,
            fate=_fate(version, within, current),
            why=_why(version, within, standing),
            agent=version.agent,
            reply=version.reply,
            cause=version.cause,
            transaction=version.transaction,
            draft=version.draft,
            replaced=standing.number if standing else None,
            diff=code_diff(standing.source, source) if standing else "",
        )
        history.append(entry)
        standing = entry
    return tuple(history)


def _was_undone(
    transactions: Mapping[int, Transaction], standing: RecordedVersion, later: CodeVersion
) -> bool:
    """Whether a version no longer stood when a later one was written."""
    t = transactions.get(standing.transaction or 0)
    return (
        t is not None
        and t.rollback is RollbackStatus.RESTORED
        and t.closed is not None
        and t.closed < later.when.seq
    )


def _fate(version: CodeVersion, within: Transaction | None, current: int | None) -> str:
    if within is not None and within.decision is None:
        return f"{'current' if version.when.seq == current else 'replaced'}, of an open repair"
    if within is not None and within.decision is Decision.REJECTED:
        undone = within.rollback is RollbackStatus.RESTORED
        return "rejected, rolled back" if undone else "rejected"
    accepted = "accepted, " if within is not None else ""
    return f"{accepted}{'current' if version.when.seq == current else 'replaced'}"


def _why(version: CodeVersion, within: Transaction | None, standing: RecordedVersion | None) -> str:
    if within is not None:
        reason = one_sentence(within.reason)
        return f"repair {within.number}" + (f": {reason}" if reason else "")
    if version.draft is not None:
        return f"draft {version.draft}, chosen by execution"
    if version.reply is None:
        return "no model wrote it"
    return "first code" if standing is None else "written again outside a repair"
