"""Reads TOML from untrusted text in linear time.

The time that `tomllib` needs for a dotted key grows faster than with the square of its parts, and
a hexadecimal number may be too long to be printed. Both are refused before the text is parsed.
"""

import re
import tomllib
from typing import Any

_MOST_KEY_PARTS = 32
_LONGEST_WORD = 1_000
"""Maximum number of characters of a number or of a key without quotes."""

_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\Z)'
    r"|'''(?:[^']|'(?!''))*+(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+"
    r"|(?P<word>[\w+-]++)"
    r"|(?P<dot>\.)"
    r"|(?P<end>[\n=,\[\]{}])",
    re.DOTALL,
)
"""Matches a string, a comment, a word, or a mark; an unfinished string extends to its limit."""


def read_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML document; raise ValueError or RecursionError if it is invalid."""
    dots = 0
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "word" if token.end() - token.start() > _LONGEST_WORD:
                raise ValueError(f"a number or key has more than {_LONGEST_WORD:,} characters")
            case "dot":
                dots += 1
                if dots >= _MOST_KEY_PARTS:
                    raise ValueError(f"a key has more than {_MOST_KEY_PARTS} parts")
            case "end":
                dots = 0
            case _:
                pass
    return tomllib.loads(text)
