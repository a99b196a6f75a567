"""A text that goes in circles is seen; one that merely repeats itself is left alone."""

from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.repetition import circles


@given(st.text(max_size=300), st.text(min_size=1, max_size=150), st.integers(0, 149))
def test_the_same_over_and_over_is_a_circle(before: str, unit: str, cut: int) -> None:
    times = max(9, 400 // len(unit) + 2)
    assert circles(before + unit * times + unit[: cut % len(unit)])


@given(st.lists(st.text("abcdefghij \n", min_size=5, max_size=40), unique=True, max_size=60))
def test_lines_that_differ_are_none(lines: list[str]) -> None:
    numbered = "\n".join(f"{n}: {line} {n * n}" for n, line in enumerate(lines))
    assert not circles(numbered)


def test_code_with_tables_and_cases_is_none() -> None:
    assert not circles("grid = [\n" + "    [0, 0, 0, 0, 0, 0, 0, 0],\n" * 8 + "]\n")
    assert not circles("".join(f"    if n == {n}:\n        return {n * 7}\n" for n in range(40)))
    assert not circles("x" * 300)
    assert not circles("")


def test_a_circle_that_has_ended_is_none() -> None:
    assert not circles("again and " * 80 + "then something else entirely, at some length. " * 3)
