"""From what a sandbox saw to evidence on record."""

from collections.abc import Callable
from typing import NamedTuple

from auditcoder.domain.assembly import owner_of_line
from auditcoder.domain.events import CheckRan
from auditcoder.domain.evidence import CheckKind, Evidence, Frame, Trust, Verdict
from auditcoder.domain.execution import PROGRAM_FILE, Ending, Outcome, Raised
from auditcoder.domain.ids import NodeId
from auditcoder.domain.law.common import present
from auditcoder.domain.ledger import Working
from auditcoder.domain.places import AtNode, Subject
from auditcoder.domain.values import CheckId, Digest, digest, whole
from auditcoder.lifecycle.workshop import Workshop

_MESSAGE = 2000
_KEPT = 100_000
"""Characters of an output that are kept: enough to compare, and bounded."""


class Check(NamedTuple):
    """What a check is. It stays that for the whole run."""

    id: CheckId
    subject: Subject
    kind: CheckKind
    trust: Trust
    requirement: str = ""
    input: str | None = None
    expected: str | None = None


def node_check(
    node: NodeId,
    name: str,
    kind: CheckKind,
    trust: Trust = Trust.DERIVED,
    *,
    requirement: str = "",
    given: str | None = None,
    expected: str | None = None,
) -> Check:
    """Name a check of a node; one that demands something else is another check."""
    demanded = digest(f"{requirement}\n{given}\n{expected}".encode())[:6]
    mark = f"-{demanded}" if requirement else ""
    return Check(
        CheckId(f"{node}.{name}{mark}"),
        AtNode(node=node),
        kind,
        trust,
        requirement,
        given,
        expected,
    )


class Seen(NamedTuple):
    """What one run of a check saw."""

    verdict: Verdict
    message: str = ""
    observed: str | None = None
    outcome: Outcome | None = None
    frames: tuple[Frame, ...] = ()
    ran: tuple[NodeId, ...] | None = None
    judge: str = ""
    milliseconds: float | None = None
    """Where it is not the outcome's."""


VERDICTS = {
    Ending.OK: Verdict.PASSED,
    Ending.WRONG_EXIT: Verdict.CRASH,
    Ending.EXCEPTION: Verdict.CRASH,
    Ending.TIMEOUT: Verdict.TIMEOUT,
    Ending.MEMORY: Verdict.MEMORY,
    Ending.OUTPUT_LIMIT: Verdict.CRASH,
    Ending.KILLED: Verdict.CRASH,
}
"""How an ending reads where nothing was compared yet."""


def record(workshop: Workshop, check: Check, run: Callable[[], Seen]) -> Evidence:
    """Run a check on what stands now and put what it saw on record.

    A run that is gone through again has seen it already. When it is replayed, the check runs
    again all the same, and what it sees differently is noted.
    """
    recorder = workshop.recorder
    against = present(recorder.ledger.working, check.subject)
    assert against is not None, f"{check.id} has nothing to check"
    recalled = recorder.recall_evidence(check.id, against)
    if recalled is not None and workshop.differences is None:
        return _keep(workshop, recalled)
    evidence = _evidence(workshop, check, against, run())
    if recalled is not None and workshop.differences is not None:
        if difference := _difference(recalled, evidence):
            workshop.differences.append(difference)
        evidence = recalled
    return _keep(workshop, evidence)


def _keep(workshop: Workshop, evidence: Evidence) -> Evidence:
    workshop.witnessed[workshop.recorder.record(CheckRan(evidence=evidence))] = evidence
    return evidence


def _difference(was: Evidence, now: Evidence) -> str:
    """Say how a check that ran again saw something else; time and memory are never the same."""
    if was.kind is CheckKind.PROBE or not was.kind.judges:
        return ""
    if was.verdict is not now.verdict:
        return f"{was.check}: {was.verdict.value} on record, {now.verdict.value} now"
    if was.observed != now.observed:
        return f"{was.check}: {was.verdict.value} both times, with another output"
    return ""


def _evidence(workshop: Workshop, check: Check, against: Digest, seen: Seen) -> Evidence:
    put = workshop.recorder.put
    outcome = seen.outcome
    errors = outcome.stderr.decode("utf-8", "replace")[-_KEPT:] if outcome else ""
    return Evidence(
        check=check.id,
        kind=check.kind,
        subject=check.subject,
        trust=check.trust,
        verdict=seen.verdict,
        against=against,
        requirement=whole(check.requirement),
        message=whole(seen.message)[:_MESSAGE],
        input=None if check.input is None else put(check.input),
        expected=None if check.expected is None else put(check.expected),
        observed=None if seen.observed is None else put(seen.observed[:_KEPT]),
        errors=put(errors) if errors else None,
        exit_code=outcome.exit_code if outcome else None,
        signal=outcome.signal if outcome else None,
        frames=seen.frames,
        ran=seen.ran,
        milliseconds=outcome.seconds * 1000 if outcome else seen.milliseconds,
        peak_bytes=outcome.peak_bytes if outcome else None,
        judge=seen.judge or (outcome.sandbox if outcome else ""),
    )


def owned_frames(raised: Raised | None, working: Working) -> tuple[Frame, ...]:
    """Return an exception's frames, each with the node that owns its line."""
    if raised is None:
        return ()
    return tuple(
        Frame(
            function=whole(f.function),
            line=f.line,
            file=whole(f.file),
            node=owner(working, f.line) if f.file == PROGRAM_FILE else None,
        )
        for f in raised.frames
    )


def owner(working: Working, line: int) -> NodeId | None:
    """Return the node that owns a line of the assembled program."""
    if working.assembly is None:
        return None
    segment = owner_of_line(working.assembly.segments, line)
    return segment.node if segment else None


def who_ran(outcome: Outcome, working: Working) -> tuple[NodeId, ...] | None:
    """Return the nodes whose functions ran, if somebody watched."""
    if outcome.functions is None:
        return None
    nodes = {owner(working, use.line) for use in outcome.functions if use.calls}
    return tuple(sorted(n for n in nodes if n is not None))
