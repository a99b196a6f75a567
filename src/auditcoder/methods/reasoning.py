"""Chain of thought: a stage of reasoning before the program, and with `retry` one more try."""

from auditcoder.domain.events import Outcome
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle.shapes import Text
from auditcoder.lifecycle.workshop import Workshop
from auditcoder.methods.whole import Piece

_THOUGHTS = 500


def cot(workshop: Workshop) -> tuple[Outcome, str]:
    """Think, then write."""
    return _thought_out(workshop, "cot").finish()


def cot_retry(workshop: Workshop) -> tuple[Outcome, str]:
    """Think, then write; where that fails the task's examples, write once more."""
    piece = _thought_out(workshop, "cot-retry")
    piece.retry()
    return piece.finish()


def _thought_out(workshop: Workshop, method: str) -> Piece:
    piece = Piece(workshop, method)
    answer = piece.ask("reason", Text(), Phase.PLANNING, _THOUGHTS)
    piece.write("reasoned", thoughts=answer.value if answer else "nothing yet")
    return piece
