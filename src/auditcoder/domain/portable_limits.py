"""The limits of code that every Python reads alike, and a fast check that code keeps them."""

import re

MAX_CHARACTERS = 10_000_000
"""Maximum length of code."""

MAX_DEPTH = 200
"""Maximum depth of nesting: an upper bound of the depth of the syntax tree.

A bracket counts five levels, a block two; an operator that can be chained counts one level until
the next comma, and an `elif` one level for its branch.
"""

MAX_BLOCKS = 18
"""Maximum number of loops, `with` items and `try` statements (three each) around an expression.

A comprehension counts one and each `async for` in it two more: since Python 3.12 a comprehension is
compiled as a part of the function around it, and the blocks of both share a stack of fixed size.
"""

MAX_COMPREHENSIONS = 8
"""Maximum number of comprehensions and generator expressions in each other."""

MAX_INTEGER_DIGITS = 4300
"""Maximum number of digits of an integer, also when it is written in decimal: Python's default."""
MAX_INTEGER_BITS = 14_284
"""Integers with no more bits have at most MAX_INTEGER_DIGITS decimal digits."""
FEWEST_LONG_DIGITS = MAX_INTEGER_BITS // 4
"""An integer that exceeds a limit has more digits than this, whatever its base."""

BRACKET_LEVELS = 5
"""Brackets hold, for example, a call, a starred argument, `or`, `and` and a comparison."""
BLOCK_LEVELS = 2
"""A block holds, for example, `try` and its handler."""

STRING = (
    r"'''(?:[^\\']|\\.|'(?!''))*+'''|\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*+\"\"\""
    r"|'(?!'')(?:[^\\'\n]|\\.)*+'|\"(?!\"\")(?:[^\\\"\n]|\\.)*+\""
)
"""Matches a string without a prefix."""

_STRING_OR_COMMENT = re.compile(rf"{STRING}|\#[^\n]*+", re.DOTALL)
_RARE = re.compile(
    r"[\0\r\t\f\\]|\b(?:[fF][rR]?|[tT][rR]?|[rR][fFtT])['\"]|\b(?:async|with)\b|barry_as_FLUFL"
    rf"|\b[0-9]\w{{{FEWEST_LONG_DIGITS}}}"
)
"""What the fast check leaves to the lexer: f-strings, escapes, tabs, `with`, `async` and long
integers.
"""
_NESTING = re.compile(r"[-+*/%@&|^~.<>]|(?:if|not|lambda|await|yield)\b")
"""Operators and keywords that can be chained. A keyword may follow a number without a space, and
the ends of some names count as well.
"""


def is_plain(source: str) -> bool:
    """Whether code clearly keeps all rules; a fast check, so that most code is not lexed.

    It counts all brackets and operators of a statement as if they were nested in each other.
    """
    if not source.isascii() or len(source) > MAX_CHARACTERS or _RARE.search(source):
        return False
    bare = _STRING_OR_COMMENT.sub(" 0 ", source)
    if "'" in bare or '"' in bare:
        return False
    margins = {0}
    deepest = depth = opened = most_loops = loops = 0
    for line in bare.split("\n"):
        code = line.lstrip(" ")
        if opened == 0:
            depth = loops = 0
            if code:
                margins.add(len(line) - len(code))
        begun = code.count("(") + code.count("[") + code.count("{")
        opened += begun - code.count(")") - code.count("]") - code.count("}")
        if opened < 0:
            return False
        depth += BRACKET_LEVELS * begun + len(_NESTING.findall(code))
        deepest = max(deepest, depth)
        if "for" in code:
            loops += code.count("for")
            most_loops = max(most_loops, loops)
    outside = BLOCK_LEVELS * len(margins) + source.count("elif")
    blocks = (3 if "try" in bare else 1) * len(margins) + most_loops
    return (
        blocks <= MAX_BLOCKS and most_loops <= MAX_COMPREHENSIONS and deepest + outside <= MAX_DEPTH
    )
