"""How much a repair could change, how much it did, and what it broke.

The definitions are those of the paper's appendix D, with what docs/reference/repairs.md settles.
"""

import io
import tokenize
from collections.abc import Mapping
from difflib import SequenceMatcher

from auditcoder.domain.ledger import WorkingState
from auditcoder.domain.repair import Decision, RollbackStatus, Transaction
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import Digest, digest_of
from auditcoder.metrics.trace_metrics import Ratio


def region(transaction: Transaction) -> Ratio:
    """RRS: nodes that could change, of nodes before the repair; the widened region counts."""
    part = len(_before(transaction, transaction.region))
    return Ratio(part=part, whole=transaction.nodes_before)


def selection(transaction: Transaction) -> Ratio:
    """RRS of the region as the diagnosis gave it, before any integration exception."""
    return Ratio(part=len(transaction.selected), whole=transaction.nodes_before)


def region_size(transaction: Transaction) -> float:
    """RRS as a number: a transaction opens on a graph, and a graph has nodes."""
    return region(transaction).rate or 0.0


def selected_size(transaction: Transaction) -> float:
    """RRS of the selection, as a number."""
    return selection(transaction).rate or 0.0


def _before(transaction: Transaction, region: tuple[str, ...]) -> set[str]:
    """Nodes that the repair itself added were not there to be selected."""
    known = {*transaction.selected, *(f.node for f in transaction.frozen)}
    return set(region) & known


def kept_program(transaction: Transaction) -> Digest | None:
    """Return the program that stands after the decision; None while there is no decision."""
    match transaction.decision:
        case Decision.ACCEPTED:
            return transaction.program_after
        case Decision.REJECTED:
            return transaction.program_before
        case None:
            return None


def restored(trace: Trace, transaction: Transaction) -> bool | None:
    """Whether a rejected candidate left nothing behind, in the state that was found next.

    The rollback's own word is not enough: program, node code, and the results of the pinned checks
    are compared with what the next repair found, or with what stands at the end. A check that
    was dropped or ran again since is not compared. None if nothing was rejected, or if the record
    ends between the decision and the rollback.
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
    again = {w.evidence.check for w in trace.evidence if transaction.closed < w.when.seq < until}
    return (
        program == transaction.program_before
        and code == transaction.snapshot.code
        and all(
            verdicts[check] is verdict
            for check, verdict in transaction.verdicts_before.items()
            if check in verdicts and check not in again
        )
    )


def _program(working: WorkingState) -> Digest | None:
    return working.assembly.program if working.assembly else None


def code_lines(source: str) -> list[str]:
    """Return the lines that count as code: neither blank nor comment alone."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return [s for line in source.split("\n") if (s := line.rstrip()) and s.lstrip()[0] != "#"]
    quiet = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    counted: set[int] = set()
    for token in tokens:
        if token.type not in quiet:
            counted.update(range(token.start[0], token.end[0] + 1))
    lines = source.split("\n")
    return [lines[n - 1].rstrip() for n in sorted(counted) if lines[n - 1].strip()]


def changed_lines(before: str, after: str) -> Ratio:
    """CCR: changed lines of code for so many lines of code afterwards.

    A replaced run of lines counts as its longer side, so that a line edited in place is one
    change and not two.
    """
    new = code_lines(after)
    if before == after:
        return Ratio(part=0, whole=len(new))
    steps = SequenceMatcher(None, code_lines(before), new, autojunk=False).get_opcodes()
    changed = sum(max(b - a, d - c) for tag, a, b, c, d in steps if tag != "equal")
    return Ratio(part=changed, whole=len(new))


def changed_code(before: str, after: str) -> float | None:
    """CCR as a number; None if no lines are left."""
    return changed_lines(before, after).rate


def regressed(before: Mapping[str, bool], after: Mapping[str, bool]) -> tuple[int, int]:
    """Return how many of the tests that passed before fail now, and how many those were."""
    eligible = [test for test, passed in before.items() if passed]
    return sum(not after.get(test, False) for test in eligible), len(eligible)
