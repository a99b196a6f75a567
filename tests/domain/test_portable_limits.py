"""The fast check accepts most code, and never code that the lexer refuses."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.portable_limits import is_plain
from auditcoder.domain.python_lexer import lex


def test_most_code_needs_no_lexer() -> None:
    assert is_plain(
        'def f(xs: list[int], limit=3):\n    """Return the sum: it\'s small."""\n'
        "    if not xs:  # nothing\n        return {'a': (1.5, -2)}\n"
        "    for x in sorted(xs, key=lambda x: -x)[:limit]:\n        total = total + x ** 2\n"
        "    return {\n        key: value + f(g(x), [y for y in xs if y > 2])\n    }\n"
    )


_SOUP = """
    if else for in not lambda await yield async elif with try for_x_in_y 1 0xf 0b1 1j .5 1e5 x 'a'
    "b" ''_ ( ) [ ] { } , ; : + - . ** = @
"""
SOUPS = st.lists(
    st.tuples(st.sampled_from(_SOUP.split()), st.sampled_from(["", "", " ", "\n", "\n "])),
    max_size=12,
)


@given(SOUPS, st.integers(1, 250), SOUPS)
def test_the_fast_check_accepts_no_repetition_that_the_lexer_refuses(
    before: list[tuple[str, str]], times: int, inside: list[tuple[str, str]]
) -> None:
    """Whatever tokens are next to each other, with or without a space between them."""
    first, repeated_part = (
        "".join(token.replace("_", " ") + space for token, space in soup)
        for soup in (before, inside)
    )
    source = first + repeated_part * times
    if is_plain(source):
        try:
            lex(source)
        except SyntaxError:
            with pytest.raises(SyntaxError):
                ast.parse(source)
