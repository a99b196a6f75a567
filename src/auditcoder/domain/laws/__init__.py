"""The laws of a history: `advance` decides whether an event may follow those before it.

The writer calls it before it appends, and verification calls it again for every event of a record.
A claim of an event is never trusted if it can be derived: units are read from the code, and frozen
digests, ranks, deltas and restored states are computed.

There is one module per phase: planning, building, validation (checks, verdicts) and repair.
"""

from typing import assert_never

from auditcoder.domain.diagnosis import Abstained
from auditcoder.domain.events import (
    Adjudicated,
    Assembled,
    BriefCommitted,
    CheckDropped,
    CheckRan,
    CodeWritten,
    DraftChosen,
    DraftsCommitted,
    DraftWritten,
    Event,
    ExceptionRaised,
    GraphCommitted,
    GraphRevised,
    Located,
    ReplyRecorded,
    RolledBack,
    RunFinished,
    RunOutcome,
    RunResumed,
    RunStarted,
    TransactionDecided,
    TransactionOpened,
    VariantTried,
)
from auditcoder.domain.evidence import Trust
from auditcoder.domain.ids import ROOT
from auditcoder.domain.laws.check_laws import adjudicated, check_dropped, check_ran, program_check
from auditcoder.domain.laws.code_laws import (
    assembled,
    code_written,
    exception_raised,
    reply_recorded,
    taken_names,
)
from auditcoder.domain.laws.common import (
    IllegalHistory,
    Law,
    ReadBlob,
    committed_graph,
    listed,
    open_doubts,
    refuse,
)
from auditcoder.domain.laws.draft_laws import (
    draft_chosen,
    draft_written,
    drafts_committed,
    refuse_other_checks,
    refuse_other_draft,
    refuse_other_program,
    variant_tried,
)
from auditcoder.domain.laws.graph_laws import brief_committed, graph_committed, graph_revised
from auditcoder.domain.laws.repair_laws import (
    deciding,
    located,
    opening,
    rolled_back,
    transaction_decided,
    transaction_opened,
)
from auditcoder.domain.ledger import Ledger, change
from auditcoder.domain.task import example_check
from auditcoder.domain.values import is_run_id

__all__ = [
    "IllegalHistory",
    "Law",
    "ReadBlob",
    "advance",
    "committed_graph",
    "deciding",
    "open_doubts",
    "opening",
    "taken_names",
]


def advance(  # noqa: C901  one case per event
    ledger: Ledger, event: Event, read: ReadBlob
) -> Ledger:
    """Return the ledger after `event`, or raise IllegalHistory if the event is not allowed."""
    _refuse_out_of_place(ledger, event)
    match event:
        case CheckRan():
            after = check_ran(ledger, event, read)
        case ReplyRecorded():
            after = reply_recorded(ledger, event)
        case CodeWritten():
            refuse_other_draft(ledger, event, read)
            after = code_written(ledger, event, read)
        case DraftsCommitted():
            after = drafts_committed(ledger, event, read)
        case DraftWritten():
            after = draft_written(ledger, event, read)
        case VariantTried():
            after = variant_tried(ledger, event, read)
        case DraftChosen():
            after = draft_chosen(ledger, event, read)
        case Assembled():
            refuse_other_program(ledger, event)
            after = assembled(ledger, event, read)
        case RunStarted():
            after = _run_started(ledger, event)
        case RunResumed():
            after = ledger
        case BriefCommitted():
            refuse_other_checks(ledger)
            after = brief_committed(ledger, event)
        case GraphCommitted():
            after = graph_committed(ledger, event)
        case GraphRevised():
            after = graph_revised(ledger, event)
        case CheckDropped():
            refuse_other_checks(ledger)
            after = check_dropped(ledger, event)
        case Adjudicated():
            after = adjudicated(ledger, event)
        case Located():
            after = located(ledger, event)
        case TransactionOpened():
            after = transaction_opened(ledger, event)
        case ExceptionRaised():
            after = exception_raised(ledger, event)
        case TransactionDecided():
            after = transaction_decided(ledger, event)
        case RolledBack():
            after = rolled_back(ledger, event)
        case RunFinished():
            after = _run_finished(ledger, event)
        case _:
            assert_never(event)
    return change(after, seq=ledger.seq + 1)


def _refuse_out_of_place(ledger: Ledger, event: Event) -> None:
    if isinstance(event, RunStarted) != (ledger.seq == 0):
        refuse(Law.OUT_OF_PLACE, ledger, "only the first event starts a run")
    if ledger.finished:
        refuse(Law.OUT_OF_PLACE, ledger, "the run has ended")
    awaiting = ledger.transaction is not None and ledger.transaction.rejected
    if isinstance(event, RolledBack) and not awaiting:
        refuse(Law.OUT_OF_PLACE, ledger, "only a rejected candidate is rolled back")
    if awaiting and not isinstance(event, RolledBack | RunResumed):
        refuse(Law.ROLLBACK_INCOMPLETE, ledger, "a rejected candidate must be rolled back first")


def _run_started(ledger: Ledger, event: RunStarted) -> Ledger:
    if not is_run_id(event.run):
        refuse(Law.MISDECLARED, ledger, "the run id has a character that is not allowed")
    examples = {example_check(n): e for n, e in enumerate(event.task.examples, start=1)}
    return change(
        ledger,
        run=event.run,
        format=event.format,
        allocated={ROOT: 0},
        checks={c: program_check(e, Trust.GIVEN, e.explanation) for c, e in examples.items()},
        examples=examples,
        task=event.task,
    )


def _run_finished(ledger: Ledger, event: RunFinished) -> Ledger:
    if ledger.transaction is not None:
        refuse(Law.OUT_OF_PLACE, ledger, "a transaction is still open")
    assembly = ledger.working.assembly
    if event.program != (assembly.program if assembly else None):
        refuse(Law.UNEARNED_OUTCOME, ledger, "the program is not the current one")
    passed = ledger.passes()
    match event.outcome:
        case RunOutcome.PASSED if not passed:
            refuse(Law.UNEARNED_OUTCOME, ledger, "a deciding check has not passed")
        case RunOutcome.FAILED | RunOutcome.ABSTAINED | RunOutcome.STOPPED if passed:
            refuse(Law.UNEARNED_OUTCOME, ledger, "every deciding check has passed")
        case RunOutcome.ABSTAINED if not _abstained(ledger):
            refuse(Law.UNEARNED_OUTCOME, ledger, "the newest diagnosis has a target")
        case _:
            pass
    may_doubt = event.outcome is RunOutcome.PASSED and ledger.format >= 3
    doubts = open_doubts(ledger) if may_doubt else ()
    if event.doubts != doubts:
        refuse(Law.UNEARNED_OUTCOME, ledger, f"the checks in doubt are: {listed(doubts)}")
    return change(ledger, finished=True)


def _abstained(ledger: Ledger) -> bool:
    return ledger.diagnosis is not None and isinstance(ledger.diagnosis[1], Abstained)
