"""Outputs and values are compared with tolerance for floats and line endings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.sandboxed.result_comparison import same_output, same_value


class TestOutputs:
    @given(st.text())
    def test_an_output_equals_itself(self, text: str) -> None:
        assert same_output(text, text)

    @given(st.lists(st.text("abc 1.", max_size=5)), st.text(" \n", max_size=4))
    def test_trailing_whitespace_and_line_endings_are_ignored(
        self, lines: list[str], end: str
    ) -> None:
        text = "\n".join(lines)
        assert same_output(text, text + end)
        assert same_output(text, "\r\n".join(f"{line}  " for line in lines))

    @pytest.mark.parametrize(
        ("expected", "observed", "same"),
        [
            ("0.5", "0.50000001", True),
            ("x 1.0 y", "x 1 y", True),
            ("1", "1.0", False),
            ("1", "2", False),
            ("0.5", "half", False),
            ("a", "A", False),
            ("a\nb", "a b", False),
            ("a", "a\na", False),
            ("", "a", False),
        ],
    )
    def test_fractions_in_outputs_are_compared_with_a_tolerance(
        self, expected: str, observed: str, same: bool
    ) -> None:
        assert same_output(expected, observed) is same

    @pytest.mark.parametrize(
        ("expected", "observed"),
        [
            ("*   *\n", "* *"),
            ("  *\n ***\n", "*\n***"),
            ("a b", "\ta\t \tb\t"),
            ("a\n", "a\r\n\r\n \n"),
        ],
    )
    def test_spaces_and_tabs_around_words_are_not_compared(
        self, expected: str, observed: str
    ) -> None:
        assert same_output(expected, observed)

    @pytest.mark.parametrize(
        "other", ["\f", "\v", "\r", "\x1c", "\x85", "\u2028", "\u3000", "\xa0"]
    )
    def test_other_white_space_separates_neither_lines_nor_words(self, other: str) -> None:
        assert not same_output("1\n2\n", f"1{other}2\n")
        assert not same_output("1 2\n", f"1{other}2\n")
        assert not same_output("1\n", f"1{other}")
        assert same_output(f"1{other}2 3", f"1{other}2  3")

    @pytest.mark.parametrize(
        "observed",
        [
            "4_000.5",
            "\uff14\u0660\u0966\uff10.\uff15",
            "4000.5e",
            "+-4000.5",
            "4e3.5",
            "nan",
            "inf",
        ],
    )
    def test_a_number_is_written_in_plain_digits(self, observed: str) -> None:
        assert same_output("4000.5", "+40005e-1")
        assert not same_output("4000.5", observed)

    @pytest.mark.parametrize("observed", ["inf", "Infinity", "1e999", "9" * 1000, "1.0e400"])
    def test_a_number_beyond_the_range_of_floats_equals_only_its_own_text(
        self, observed: str
    ) -> None:
        large = f"1{'0' * 400}.0"
        assert same_output(large, large)
        assert not same_output(large, observed)

    def test_outputs_are_compared_line_by_line(self) -> None:
        assert not same_output("1 2\n3\n", "1\n2 3\n")


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


class TestValues:
    @given(plain)
    def test_a_value_equals_itself(self, value: object) -> None:
        assert same_value(value, value)

    @pytest.mark.parametrize(
        ("expected", "observed", "same"),
        [
            (0.3, 0.1 + 0.2, True),
            ([1, {"a": 0.3}], [1, {"a": 0.1 + 0.2}], True),
            (2.0, 2, True),
            ([1], (1,), False),
            ([1, 2], [1], False),
            ({"a": 1}, {"b": 1}, False),
            (1.0, "1.0", False),
            (1e308, 10**400, False),
            ({1, 2}, {2, 1}, True),
        ],
    )
    def test_floats_are_compared_with_a_tolerance(
        self, expected: object, observed: object, same: bool
    ) -> None:
        assert same_value(expected, observed) is same

    def test_a_value_whose_comparison_raises_is_not_equal(self) -> None:
        class Incomparable:
            __hash__ = None  # type: ignore[assignment]

            def __eq__(self, other: object) -> bool:
                raise TypeError

        assert not same_value(Incomparable(), 1)
