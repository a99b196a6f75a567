"""Programs that grow: step by step from a partial program, or from a skeleton."""

from auditcoder.domain.events import Outcome
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle.shapes import Block
from auditcoder.lifecycle.workshop import Workshop
from auditcoder.methods.whole import MAX_TOKENS, Piece, wanted_of

_STEPS = (
    "what comes in, and the data structures for it",
    "the main computation",
    "what goes out, and the cases that are easy to get wrong",
)


def step_by_step(workshop: Workshop) -> tuple[Outcome, str]:
    """Continue the program from what there is of it, until it is complete."""
    piece = Piece(workshop, "step-by-step")
    code = "# nothing yet"
    for number, step in enumerate(_STEPS, start=1):
        piece.write("step", code=code, number=str(number), steps=str(len(_STEPS)), step=step)
        code = piece.code
    return piece.finish()


def framework(workshop: Workshop) -> tuple[Outcome, str]:
    """Write a skeleton first, then its details."""
    piece = Piece(workshop, "framework")
    wanted = wanted_of(workshop.task)
    answer = piece.ask("skeleton", Block(), Phase.PLANNING, MAX_TOKENS, wanted=wanted)
    piece.write("fill", skeleton=answer.value if answer else "# there is none")
    return piece.finish()
