"""Repetition in a reply of the embedded model is detected; ordinary code is not mistaken for it."""

from hypothesis import given
from hypothesis import strategies as st

from auditcoder.adapters.models.embedded import is_repeating


@given(st.text(max_size=300), st.text(min_size=1, max_size=150), st.integers(0, 149))
def test_a_text_that_ends_in_repetitions_is_repeating(before: str, unit: str, cut: int) -> None:
    times = max(9, 400 // len(unit) + 2)
    assert is_repeating(before + unit * times + unit[: cut % len(unit)])


@given(st.lists(st.text("abcdefghij \n", min_size=5, max_size=40), unique=True, max_size=60))
def test_different_lines_are_not_repeating(lines: list[str]) -> None:
    numbered = "\n".join(f"{n}: {line} {n * n}" for n, line in enumerate(lines))
    assert not is_repeating(numbered)


def test_code_with_tables_and_cases_is_not_repeating() -> None:
    assert not is_repeating("grid = [\n" + "    [0, 0, 0, 0, 0, 0, 0, 0],\n" * 8 + "]\n")
    assert not is_repeating(
        "".join(f"    if n == {n}:\n        return {n * 7}\n" for n in range(40))
    )
    assert not is_repeating("x" * 300)
    assert not is_repeating("")


def test_a_repetition_that_has_ended_is_not_repeating() -> None:
    assert not is_repeating(
        "again and " * 80 + "then something else entirely, at some length. " * 3
    )
