"""Metrics of one repair: region size (RRS), changed code (CCR), rollback and regression.

The definitions are those of the paper's appendix D, with the choices in docs/reference/repairs.md.
"""

from collections.abc import Mapping
from difflib import SequenceMatcher

from auditcoder.domain.ledger import WorkingState
from auditcoder.domain.python_lexer import lex
from auditcoder.domain.repair import Decision, RollbackStatus, Transaction
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import Digest, digest_of
from auditcoder.metrics.trace_metrics import Ratio


def region(transaction: Transaction) -> Ratio:
    """RRS: nodes of the region as widened, of the nodes before the repair."""
    part = len(_existing(transaction, transaction.region))
    return Ratio(part=part, whole=transaction.nodes_before)


def selection(transaction: Transaction) -> Ratio:
    """RRS of the region as the diagnosis selected it, before any integration exception."""
    return Ratio(part=len(transaction.selected), whole=transaction.nodes_before)


def region_size(transaction: Transaction) -> float:
    """RRS as a number; a transaction always has nodes, so it is never undefined."""
    return region(transaction).rate or 0.0


def selected_size(transaction: Transaction) -> float:
    """RRS of the selection, as a number."""
    return selection(transaction).rate or 0.0


def _existing(transaction: Transaction, region: tuple[str, ...]) -> set[str]:
    """Return the nodes of a region that existed before the repair."""
    known = {*transaction.selected, *(f.node for f in transaction.frozen)}
    return set(region) & known


def kept_program(transaction: Transaction) -> Digest | None:
    """Return the program in place after the decision; None while there is no decision."""
    match transaction.decision:
        case Decision.ACCEPTED:
            return transaction.program_after
        case Decision.REJECTED:
            return transaction.program_before
        case None:
            return None


def restored(trace: Trace, transaction: Transaction) -> bool | None:
    """Whether the state after a rejected candidate equals the state before it.

    The recorded rollback status is not sufficient: program, node code and the results of the
    pinned checks are compared with the state that the next repair, or the end of the run, found. A
    check that was dropped or ran again since is not compared. None if nothing was rejected, or if
    the record ends between the decision and the rollback.
    """
    if transaction.decision is not Decision.REJECTED or transaction.closed is None:
        return None
    if transaction.rollback is not RollbackStatus.RESTORED:
        return None
    later = next((t for t in trace.history if t.number == transaction.number + 1), None)
    if later is None:
        program, code = _program(trace.working), digest_of(trace.working.code)
        verdicts = {check: s.verdict for check, s in trace.working.evidence.items()}
        until = trace.last.seq + 1
    else:
        program, code = later.program_before, later.snapshot.code
        verdicts, until = later.verdicts_before, later.opened
    rerun = {w.evidence.check for w in trace.evidence if transaction.closed < w.when.seq < until}
    return (
        program == transaction.program_before
        and code == transaction.snapshot.code
        and all(
            verdicts[check] is verdict
            for check, verdict in transaction.verdicts_before.items()
            if check in verdicts and check not in rerun
        )
    )


def _program(working: WorkingState) -> Digest | None:
    return working.assembly.program if working.assembly else None


def code_lines(source: str) -> list[str]:
    """Return the lines of code, without blank lines and lines with only a comment."""
    try:
        counted = lex(source).code_lines
    except SyntaxError:
        return [s for line in source.split("\n") if (s := line.rstrip()) and s.lstrip()[0] != "#"]
    lines = source.split("\n")
    return [lines[n - 1].rstrip() for n in sorted(counted) if lines[n - 1].strip()]


def changed_lines(before: str, after: str) -> Ratio:
    """CCR: changed lines of code, relative to the lines of code afterwards.

    A replaced block counts with its longer side, so that a line edited in place is one change.
    """
    new = code_lines(after)
    if before == after:
        return Ratio(part=0, whole=len(new))
    steps = SequenceMatcher(None, code_lines(before), new, autojunk=False).get_opcodes()
    changed = sum(max(b - a, d - c) for tag, a, b, c, d in steps if tag != "equal")
    return Ratio(part=changed, whole=len(new))


def changed_code(before: str, after: str) -> float | None:
    """CCR as a number; None if the program afterwards has no lines of code."""
    return changed_lines(before, after).rate


def regressed(before: Mapping[str, bool], after: Mapping[str, bool]) -> tuple[int, int]:
    """Return the number of tests that passed before and fail now, and of all that passed before."""
    eligible = [test for test, passed in before.items() if passed]
    return sum(not after.get(test, False) for test in eligible), len(eligible)
