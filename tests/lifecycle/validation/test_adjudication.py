"""The ruling that follows from opinions; whole adjudications are in `test_doubt_resolution`."""

import pytest

from auditcoder.domain.events import Opinion, Ruling
from auditcoder.lifecycle.validation.adjudication import IMPLEMENTATION, MODEL, decide
from auditcoder.lifecycle.validation.statement_opinion import STATEMENT

PROGRAM, CHECK, NOBODY = Ruling.PROGRAM_WRONG, Ruling.CHECK_WRONG, Ruling.UNDECIDED


def opinion(source: str, ruling: Ruling) -> Opinion:
    return Opinion(source=source, ruling=ruling, reason="a reason")


@pytest.mark.parametrize("ruling", [PROGRAM, CHECK])
def test_the_text_of_the_task_decides_alone(ruling: Ruling) -> None:
    assert decide([opinion(STATEMENT, ruling)]) == (ruling, "a reason")


@pytest.mark.parametrize("ruling", [PROGRAM, CHECK])
def test_two_opinions_that_agree_decide(ruling: Ruling) -> None:
    decided, reason = decide([opinion(IMPLEMENTATION, ruling), opinion(MODEL, ruling)])
    assert decided is ruling
    assert "independent implementation: " in reason
    assert "model: " in reason


@pytest.mark.parametrize("one", list(Ruling))
@pytest.mark.parametrize("other", list(Ruling))
def test_opinions_that_differ_or_are_undecided_decide_nothing(one: Ruling, other: Ruling) -> None:
    if one is other and one is not NOBODY:
        return
    assert decide([opinion(IMPLEMENTATION, one), opinion(MODEL, other)])[0] is NOBODY


@pytest.mark.parametrize("ruling", list(Ruling))
def test_one_opinion_decides_nothing(ruling: Ruling) -> None:
    assert decide([opinion(MODEL, ruling)])[0] is NOBODY


def test_without_an_opinion_nothing_is_decided() -> None:
    assert decide([]) == (NOBODY, "no usable opinion")
