"""Code that is attributed to a reply is in that reply, however the reply was split and indented."""

import sys
import textwrap

import pytest

from auditcoder.domain import reply_code
from auditcoder.domain.code import read_bundle
from auditcoder.domain.reply_code import foreign_statement

REPLY = '''Here is the code:

```python
import os.path, json
from heapq import *

LIMIT = 3; START = "0"

class Box:
    size = 4

    @staticmethod
    def area(x):
        text = """
unindented
        """
        return x * x

def double(x):
\tif x:
\t\treturn 2 * x
\treturn 0
```
'''


def origin_fault(code: str, *more: str) -> str | None:
    return foreign_statement(read_bundle(code), [REPLY, *more])


@pytest.mark.parametrize(
    "code",
    [
        "def double(x):\n    if x:\n        return 2 * x\n    return 0\n",
        "\n\ndef double(x):\n    if x:\n        return 2 * x\n    return 0\n\n",
        '@staticmethod\ndef area(x):\n    text = """\nunindented\n        """\n    return x * x\n',
        "def double(x):\n    if x:\n        return 2 * x\n\n    return 0\n",
        "LIMIT = 3\n",
        "LIMIT = 3; START = '0'\n",
        "size = 4\n",
        "import json\n",
        "import os.path\n",
        "from heapq import heappop, heappush\n",
        "import math\nfrom collections import deque\n",
        "pass\n",
        "",
    ],
    ids=lambda code: code.strip().partition("\n")[0] or "empty",
)
def test_a_statement_of_the_reply_is_known_however_it_is_written(code: str) -> None:
    assert origin_fault(code) is None


@pytest.mark.parametrize(
    "code",
    [
        "def double(x):\n    if x:\n        return 2 * x\n    return 1\n",
        "def double(x):\n    if x:\n        return 2 * x\n        return 0\n",
        "def double(x):\n    # exact\n    if x:\n        return 2 * x\n    return 0\n",
        "def triple(x):\n    if x:\n        return 2 * x\n    return 0\n",
        "LIMIT = 4\n",
        "LIMIT = 3  # at most\n",
        "if True:\n    LIMIT = 3\n",
        "import shutil\n",
        "from shutil import rmtree\n",
        "from os import *\n",
        "import json as os\n",
        '@staticmethod\ndef area(x):\n    text = """\n    unindented\n    """\n    return x * x\n',
        "def double(x:\n",
    ],
)
def test_a_statement_that_is_not_in_the_reply_is_foreign(code: str) -> None:
    known = "def double(x):\n    if x:\n        return 2 * x\n    return 0\n"
    assert origin_fault(code) is not None
    assert origin_fault(f"{known}\n\n{code}") is not None


def test_the_first_foreign_statement_is_named() -> None:
    code = "LIMIT = 3\n\n\ndef other():\n    return 1\n"
    assert origin_fault(code) == "def other():"


def test_code_may_come_from_several_sources() -> None:
    code = "LIMIT = 3\n\n\ndef other():\n    return 1\n"
    assert origin_fault(code, "def other():\n    return 1\n") is None


def test_a_reply_without_a_fence_is_read_as_code() -> None:
    bundle = read_bundle("total = 1\n")
    assert foreign_statement(bundle, ["total = 1; count = 2"]) is None
    assert foreign_statement(bundle, ["The total = 1, and count = 2"]) is not None


def test_a_block_that_is_indented_is_read_at_its_margin() -> None:
    bundle = read_bundle("total = 1\n")
    assert (
        foreign_statement(bundle, ["1. Code:\n   ```\n   total = 1; count = 2\n   ```\n"]) is None
    )
    assert foreign_statement(bundle, ["cut off:\n   ```\n   total = 1; count = 2\n"]) is None


def test_code_that_does_not_parse_must_be_in_the_reply_as_it_is() -> None:
    bundle = read_bundle("def f(:\n    return\n")
    assert not bundle.parses
    assert foreign_statement(bundle, ["```\ndef f(:\n    return\n```"]) is None
    assert foreign_statement(bundle, ["```\ndef f(:\n    return 1\n```"]) is not None


def test_lines_that_recur_at_many_margins_are_compared_where_the_rarest_line_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = 0
    is_at = reply_code._is_at

    def count(text: list[str], start: int, lines: list[tuple[bool, str]]) -> bool:
        nonlocal tried
        tried += 1
        return is_at(text, start, lines)

    monkeypatch.setattr(reply_code, "_is_at", count)
    prose = "".join(f"{' ' * margin}@staticmethod\n" for margin in range(300))
    methods = "".join(f"@staticmethod\ndef m{number}():\n    pass\n" for number in range(300))
    reply = f"{prose}```python\nclass C:\n{textwrap.indent(methods, '    ')}```\n"
    assert foreign_statement(read_bundle(methods), [reply]) is None
    assert tried == 300


def test_a_reply_with_an_integer_that_cannot_be_written_in_decimal_can_be_compared() -> None:
    bundle = read_bundle("import math\n\n\ntotal = 1\n")
    reply = f"```python\nlimit = 0x{'f' * 4000}\ntotal = 1\n```"
    assert foreign_statement(bundle, [reply]) is None


def test_statements_are_compared_whatever_the_limit_of_the_interpreter() -> None:
    reply = f"```python\nlimit = {'7' * 4000}; total = 1\n```"
    limit = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(640)
        assert foreign_statement(read_bundle("total = 1\n"), [reply]) is None
    finally:
        sys.set_int_max_str_digits(limit)
