"""Test code that is shortened for a prompt keeps what fails, and says what it leaves out."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.lifecycle.failing_test import excerpt

PLAIN = "\n".join(
    [
        "numbers = [1, 2]",
        *[f"assert total([{n}]) == {n}" for n in range(40)],
        "numbers.append(3)",
        "assert total(numbers) == 6, (",
        '    "three"',
        ")",
        *[f"assert total([{n}]) == {n}" for n in range(40)],
    ]
)


def test_short_code_is_shown_whole() -> None:
    assert excerpt("\nassert f(1) == 2\n", 600, 1) == "assert f(1) == 2"


def test_other_assertions_are_left_out_before_and_after_the_failing_one() -> None:
    assert excerpt(PLAIN, 200, 43).split("\n") == [
        "numbers = [1, 2]",
        "# [40 lines of the test are left out]",
        "numbers.append(3)",
        "assert total(numbers) == 6, (",
        '    "three"',
        ")",
        "# [40 lines of the test are left out]",
    ]


def test_helpers_of_a_test_are_kept() -> None:
    helper = "def made(n):\n    return [n]\n"
    others = "assert made(0) == [0]\n" * 60
    code = f"{helper}{others}def check(f):\n    assert f(made(1)) == 1\n"
    shown = excerpt(code, 100, 64)
    assert "return [n]" in shown
    assert "assert f(made(1)) == 1" in shown
    assert shown.count("made(0)") == 0


def test_code_that_is_no_python_is_cut_at_its_end() -> None:
    assert excerpt("?" * 700, 600, 1) == "?" * 600 + "\n# [100 more characters are left out]"


def test_code_without_a_known_failure_is_cut_at_its_end() -> None:
    assert excerpt("assert f()\n" * 100, 110).startswith("assert f()\n")
    assert excerpt("assert f()\n" * 100, 110).endswith("more characters are left out]")


@pytest.mark.parametrize("most", [1, 50, 400])
@given(data=st.data())
def test_the_failing_assertion_is_never_cut(most: int, data: st.DataObject) -> None:
    tests = data.draw(st.integers(1, 6))
    lines = ["class TestIt:"]
    for number in range(tests):
        lines.append(f"    def test_{number}(self):")
        count = data.draw(st.integers(1, 12))
        lines += [
            f"        self.assertEqual(f({n}), {number})  # {number}.{n}" for n in range(count)
        ]
    asserting = [n for n, line in enumerate(lines, start=1) if "assert" in line]
    line = data.draw(st.sampled_from(asserting))
    shown = excerpt("\n".join(lines), most, line)
    assert lines[line - 1] in shown.split("\n")
    ast.parse(shown)
