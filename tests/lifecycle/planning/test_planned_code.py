"""A function that a sketch has in full is kept as a draft in the context of its node."""

import pytest

from auditcoder.lifecycle.planning.planned_code import split_context, with_planned_code

DRAFT = "@cache\ndef f(x):\n    # half of it\n\n    return x / 2"


@pytest.mark.parametrize("before", ["", "It halves.\nnote: x is even"])
@pytest.mark.parametrize(
    "behind", ["", "\nexample: f(2) == 1\nfound: it rounds\ndefinitions:\nA = 1"]
)
def test_a_draft_is_found_between_the_other_lines(before: str, behind: str) -> None:
    rest, draft = split_context(with_planned_code(before, DRAFT) + behind)
    assert draft == DRAFT
    assert "\n".join(rest) == (before + behind).strip("\n")


@pytest.mark.parametrize(
    "context", ["", "It halves.", "sketched as:", "sketched as:\nlast", "x\nsketched as:\nA = 1"]
)
def test_a_context_without_a_function_has_no_draft(context: str) -> None:
    assert split_context(context) == (tuple(context.split("\n")) if context else (), "")


def test_nothing_is_added_for_a_stub() -> None:
    assert with_planned_code("It halves.", "") == "It halves."
