"""Defines checks and records their results as evidence."""

from collections.abc import Callable
from typing import NamedTuple

from auditcoder.domain.assembly import owner_of_line
from auditcoder.domain.drafts import CheckResult
from auditcoder.domain.events import CheckRan
from auditcoder.domain.evidence import CheckKind, Evidence, Frame, Trust, Verdict, node_check_id
from auditcoder.domain.execution import PROGRAM_FILE, Ending, ExecutionOutcome, Raised
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws.common import present
from auditcoder.domain.laws.verdict_laws import DATA_KINDS, MAX_OUTPUT
from auditcoder.domain.ledger import WorkingState
from auditcoder.domain.targets import AtNode, Subject
from auditcoder.domain.values import CheckId, Digest, whole
from auditcoder.lifecycle.run_context import RunContext

_MAX_MESSAGE = 2000
"""Maximum number of characters of a message that are recorded."""


class CheckSpec(NamedTuple):
    """The definition of a check, which does not change during a run."""

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
) -> CheckSpec:
    """Return a check of a node; its id contains a digest of the requirement, input and output."""
    return CheckSpec(
        node_check_id(node, name, requirement, given, expected),
        AtNode(node=node),
        kind,
        trust,
        requirement,
        given,
        expected,
    )


class CheckObservation(NamedTuple):
    """The result of running a check once."""

    verdict: Verdict
    message: str = ""
    observed: str | None = None
    outcome: ExecutionOutcome | None = None
    frames: tuple[Frame, ...] = ()
    ran: tuple[NodeId, ...] | None = None
    judge: str = ""
    milliseconds: float | None = None
    """The duration if there is no outcome."""
    tried: int | None = None
    """For a check over several inputs: the number of those that decided something."""


def not_assembled() -> CheckObservation:
    """Return the result of a check of a node whose code clashes with what it relies on."""
    message = "its code cannot be assembled with the code that it relies on"
    return CheckObservation(Verdict.NOT_RUN, message, judge="assembler")


VERDICTS = {
    Ending.OK: Verdict.PASSED,
    Ending.WRONG_EXIT: Verdict.CRASH,
    Ending.EXCEPTION: Verdict.CRASH,
    Ending.TIMEOUT: Verdict.TIMEOUT,
    Ending.MEMORY: Verdict.MEMORY,
    Ending.OUTPUT_LIMIT: Verdict.CRASH,
    Ending.KILLED: Verdict.CRASH,
}
"""The verdict on each ending before any output is compared."""


def record(context: RunContext, check: CheckSpec, run: Callable[[], CheckObservation]) -> Evidence:
    """Run a check on the present code and record its result.

    A result that is already recorded is taken from the record. A replay with a sandbox runs the
    check again nevertheless, and reports a different result.
    """
    recorder = context.recorder
    against = present(recorder.ledger.working, check.subject)
    assert against is not None, f"{check.id} has nothing to check"
    recalled = recorder.recall_evidence(check.id, against)
    if recalled is None:
        evidence = _evidence(context, check, against, run())
    else:
        evidence = recalled
        if context.on_difference is not None:
            repeated = _evidence(context, check, against, run())
            if difference := _difference(recalled, repeated):
                context.on_difference(difference)
    recorder.record(CheckRan(evidence=evidence))
    return evidence


def record_unless_dropped(
    context: RunContext, check: CheckSpec, run: Callable[[], CheckObservation]
) -> list[Evidence]:
    """Run a check that a model wrote and record its result; a dropped check never runs again."""
    if check.id in context.recorder.ledger.dropped:
        return []
    return [record(context, check, run)]


def result_of(context: RunContext, check: CheckSpec, seen: CheckObservation) -> CheckResult:
    """Return what a check observed on a program that is not the present one."""
    observed = None if seen.observed is None else context.recorder.put(_kept(check, seen))
    return CheckResult(verdict=_verdict(check, seen), observed=observed)


def _difference(recorded: Evidence, repeated: Evidence) -> str:
    """Describe how a repeated check differs from the record; time and memory are not compared."""
    check, verdict = recorded.check, recorded.verdict
    if recorded.kind is CheckKind.PROBE or not recorded.kind.judges:
        return ""
    if verdict is not repeated.verdict:
        return f"{check}: {verdict.value} in the record, {repeated.verdict.value} now"
    if recorded.observed != repeated.observed:
        return f"{check}: {verdict.value} both times, with different output"
    return ""


def _evidence(
    context: RunContext, check: CheckSpec, against: Digest, seen: CheckObservation
) -> Evidence:
    put = context.recorder.put
    outcome = seen.outcome
    errors = outcome.stderr.decode("utf-8", "replace")[-MAX_OUTPUT:] if outcome else ""
    return Evidence(
        check=check.id,
        kind=check.kind,
        subject=check.subject,
        trust=check.trust,
        verdict=_verdict(check, seen),
        against=against,
        requirement=whole(check.requirement),
        message=whole(seen.message)[:_MAX_MESSAGE],
        input=None if check.input is None else put(check.input),
        expected=None if check.expected is None else put(check.expected),
        observed=None if seen.observed is None else put(_kept(check, seen)),
        errors=put(errors) if errors else None,
        exit_code=outcome.exit_code if outcome else None,
        signal=outcome.signal if outcome else None,
        frames=seen.frames,
        ran=seen.ran,
        milliseconds=outcome.seconds * 1000 if outcome else seen.milliseconds,
        peak_bytes=outcome.peak_bytes if outcome else None,
        tried=seen.tried,
        judge=seen.judge or (outcome.sandbox if outcome else ""),
    )


def _verdict(check: CheckSpec, seen: CheckObservation) -> Verdict:
    """Return the verdict; a right result of a run that then crashed or hung has not passed."""
    if seen.outcome is None or seen.outcome.ending is Ending.OK:
        return seen.verdict
    compared = check.kind in DATA_KINDS and seen.verdict.clean
    if seen.verdict is Verdict.PASSED or compared:
        return VERDICTS[seen.outcome.ending]
    return seen.verdict


def _kept(check: CheckSpec, seen: CheckObservation) -> str:
    """Return the observed result; if it is wrong, it may be cut, since only a match proves it.

    Observations that do not judge are read again, so they are kept whole.
    """
    assert seen.observed is not None
    is_whole = _verdict(check, seen) is Verdict.PASSED or not check.kind.judges
    return seen.observed if is_whole else seen.observed[:MAX_OUTPUT]


def owned_frames(raised: Raised | None, working: WorkingState) -> tuple[Frame, ...]:
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


def owner(working: WorkingState, line: int) -> NodeId | None:
    """Return the node that owns a line of the assembled program."""
    if working.assembly is None:
        return None
    segment = owner_of_line(working.assembly.segments, line)
    return segment.node if segment else None


def who_ran(outcome: ExecutionOutcome, working: WorkingState) -> tuple[NodeId, ...] | None:
    """Return the nodes whose functions ran; None if the run was not traced."""
    if outcome.functions is None:
        return None
    nodes = {owner(working, use.line) for use in outcome.functions if use.calls}
    return tuple(sorted(n for n in nodes if n is not None))
