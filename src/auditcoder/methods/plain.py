"""Direct: one complete program, and with `retry` one more after it failed."""

from auditcoder.domain.events import Outcome
from auditcoder.lifecycle.workshop import Workshop
from auditcoder.methods.whole import Piece


def direct(workshop: Workshop) -> tuple[Outcome, str]:
    """Ask for the program, and take it."""
    piece = Piece(workshop, "direct")
    piece.write("direct")
    return piece.finish()


def direct_retry(workshop: Workshop) -> tuple[Outcome, str]:
    """Ask for the program; where it fails the task's examples, once more."""
    piece = Piece(workshop, "direct-retry")
    piece.write("direct")
    piece.retry()
    return piece.finish()
