"""Models that solve small tasks with correct, wrong, incomplete, malformed or hostile replies.

A reply depends only on the request and on the number of earlier requests of the same step, so that
a run can be shrunk, killed, resumed and repeated.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from auditcoder.domain.errors import ModelUnavailable
from auditcoder.domain.request import FREE, FinishReason, Reply, Request, Speaker, Traits
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    FilesExample,
    FilesForm,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.usage import Usage

QUICK = Limits(seconds=5.0)

_SKELETON = '''\
import math

class Basket:
    """Holds amounts."""

    LIMIT = 3

    def __init__(self):
        """Begin empty."""
        self.amounts = []

    def add(self, amount: int) -> int:
        """Add an amount and return how many there are."""
        ...

    def total(self) -> int:
        """Return the sum of all amounts."""
        ...

    @property
    def full(self) -> bool:
        """Whether there is no room for more."""
        ...
'''
_BASKET_TEST = """\
import unittest


class TestBasket(unittest.TestCase):
    def test_total(self):
        basket = Basket()
        basket.add(2)
        self.assertEqual(basket.add(3), 2)
        self.assertEqual(basket.total(), 5)
        self.assertFalse(basket.full)
"""

PROGRAM = Task(
    title="Sum of squares",
    statement="Read whole numbers from one line. Print the sum of their squares.",
    form=ProgramForm(),
    examples=(
        StdioExample(input="1 2 3\n", output="14\n"),
        StdioExample(input="-4\n", output="16\n"),
    ),
    limits=QUICK,
)
SIGNED = Task(
    title="Sum of squares",
    statement="Return the sum of the squares of `numbers`.",
    form=FunctionForm(entry="squares", signature="def squares(numbers: list[int]) -> int"),
    examples=(
        CallExample(arguments="[1, 2, 3]", result="14"),
        CallExample(arguments="[]", result="0"),
    ),
    limits=QUICK,
)
UNSIGNED = Task(
    title="Sum of squares",
    statement='from typing import List\n\ndef squares(numbers: List[int]):\n    """Sum."""\n',
    form=FunctionForm(entry="squares"),
    examples=(CodeExample(code="assert squares([1, 2]) == 5\nassert squares([]) == 0\n"),),
    limits=QUICK,
)
CLASS = Task(
    title="Basket",
    statement=f"Complete the class.\n\n{_SKELETON}",
    form=ClassForm(name="Basket", skeleton=_SKELETON),
    examples=(CodeExample(code=_BASKET_TEST),),
    limits=QUICK,
)
FILES = Task(
    title="Sum of squares",
    statement="Read whole numbers from in.txt. Write the sum of their squares to out.txt.",
    form=FilesForm(inputs=("in.txt",), artefacts=("out.txt",)),
    examples=(FilesExample(inputs={"in.txt": "1 2\n"}, artefacts={"out.txt": "5\n"}),),
    limits=QUICK,
)
BARE = Task(
    title="Sum of squares",
    statement="Return the sum of the squares of `numbers`.",
    form=FunctionForm(entry="squares", signature="def squares(numbers: list[int]) -> int"),
    limits=QUICK,
)
TASKS = (PROGRAM, SIGNED, UNSIGNED, CLASS, FILES, BARE)

_STUBS = '''\
def read_numbers(data: str) -> list[int]:
    """Read the whole numbers of a text.

    kind: string
    ensures: len(result) <= len(data)
    cost: O(n)
    example: read_numbers("1 2") == [1, 2]
    """
    ...


def square(number: int) -> int:
    """Multiply a number by itself.

    kind: math
    ensures: result >= 0
    example: square(3) == 9
    """
    ...


def sum_squares(numbers: list[int]) -> int:
    """Add the squares up.

    kind: math
    uses: square
    ensures: result >= 0
    cost: O(n)
    example: sum_squares([1, 2]) == 5
    """
    ...
'''
_ROOTS = {
    "solve(data": (
        "def solve(data: str) -> str:\n    numbers = read_numbers(data)\n"
        "    return str(sum_squares(numbers))\n"
    ),
    "solve(": (
        "def solve() -> None:\n    with open('in.txt') as given:\n"
        "        numbers = read_numbers(given.read())\n"
        "    with open('out.txt', 'w') as made:\n"
        "        made.write(str(sum_squares(numbers)))\n"
    ),
    "squares(": (
        "def squares(numbers: list[int]) -> int:\n"
        '    """example: squares([2]) == 4"""\n    return sum_squares(numbers)\n'
    ),
}
BODIES = {
    "read_numbers": "return [int(word) for word in data.split()]",
    "square": "return number * number",
    "sum_squares": "return sum(square(number) for number in numbers)",
    "solve": "return str(sum(int(word) ** 2 for word in data.split()))",
    "squares": "return sum(number * number for number in numbers)",
    "__init__": "self.amounts = []",
    "add": "self.amounts.append(amount)\n    return len(self.amounts)",
    "total": "return sum(self.amounts)",
    "full": "return len(self.amounts) >= self.LIMIT",
}
_SOLVE_FILES = (
    "with open('in.txt') as given:\n        words = given.read().split()\n"
    "    with open('out.txt', 'w') as made:\n"
    "        made.write(str(sum(int(word) ** 2 for word in words)))"
)

# The steps, as the prompts name them.

STEPS = {
    "# Your step: the sketch, anew": "redo",
    "# Your step: the sketch": "sketch",
    "# Your step: the code": "joint",
    "# Your step: one function": "node",
    "# Your step: the methods": "methods",
    "# Your step: one method": "method",
    "# Your step: a verdict on each function": "verdict",
    "# Your step: the function again": "again",
    "# Your step: the method again": "again",
    "# Your step: a new sketch for this part alone": "branch",
    "# Your step: a slow reference": "reference",
    "# Your step: a second opinion": "opinion",
}
SKETCHES = frozenset({"sketch", "redo", "branch"})
CODES = frozenset({"joint", "node", "methods", "method", "again", "opinion"})


def asked(request: Request) -> str:
    """Return the text that the first user message holds."""
    return next(m.text for m in request.messages if m.speaker is Speaker.USER)


def step_of(request: Request) -> str:
    """Name the step that a request asks for; `staged` for the roles that answer in JSON."""
    text = asked(request)
    found = [name for line, name in STEPS.items() if line in text]
    return found[0] if found else "staged"


def fenced(code: str, language: str = "python") -> str:
    return f"```{language}\n{code}\n```\n"


def headers(request: Request) -> list[str]:
    """Return the headers of the functions whose code a request asks for."""
    text = asked(request)
    step = step_of(request)
    if step in {"joint", "methods"}:
        named = re.search(r"(?:in full|gives them): (.*)", text)
        if named:
            names = re.findall(r"`([^`]+)`", named[1].split(". ")[0])
            return [_header(text, name) for name in names]
    last = text.split("# Your step")[-1]
    if step == "opinion":
        return re.findall(r"`([^`]+)`", last.partition("may be wrong: ")[2].split(". You")[0])
    one = re.search(r"[Ww]rite (?:the (?:method|function) )?`([^`]+)`", last)
    return [one[1]] if one else []


def _header(text: str, name: str) -> str:
    found = re.search(rf"def ({re.escape(name)}\([^\n]*\)(?: -> [^\n:]*)?):", text)
    return found[1] if found else f"{name}()"


def _name(header: str) -> str:
    return header.partition("(")[0].removeprefix("def ").strip()


def function(header: str, body: str | None = None) -> str:
    """Return a function, with its correct body unless another is given."""
    name = _name(header)
    right = BODIES.get(name, "return None")
    if name == "solve" and "data" not in header:
        right = _SOLVE_FILES
    mark = "@property\n" if name == "full" else ""
    return f"{mark}def {header}:\n    {right if body is None else body}\n"


def in_class(text: str) -> str:
    indented = "\n".join(f"    {line}" if line else line for line in text.split("\n"))
    return f"class Basket:\n{indented}\n"


def code_for(request: Request, body: str | None = None) -> str:
    """Write every requested function."""
    text = "\n\n".join(function(header, body) for header in headers(request))
    scoped = step_of(request) in {"method", "methods"} or "class Basket" in asked(request)
    return in_class(text) if scoped else text


def root_header(request: Request) -> str:
    text = asked(request).split("# Your step")[-1]
    found = re.search(r"root function is `(?:def )?([^`]+?):?`", text)
    return found[1] if found else "solve(data: str) -> str"


def sketch_for(request: Request) -> str:
    """Write a sketch with the requested root."""
    root = root_header(request)
    if step_of(request) == "branch":
        return branch_for(root)
    stubs = _STUBS
    if step_of(request) == "redo":
        stubs = _STUBS.replace("square(", "square_again(").replace(": square\n", ": square_again\n")
    if root.startswith("squares"):
        stubs = stubs[stubs.index("def square") :]
    body = next((text for start, text in _ROOTS.items() if root.startswith(start)), "")
    if root.startswith("squares") and "(" not in root:
        body = _ROOTS["squares("]
    module = f'"""Square and add.\n\nparts: a few, to be tested alone.\n"""\n\n\n{stubs}\n\n{body}'
    if step_of(request) == "redo":
        for old in ("read_numbers", "sum_squares"):
            module = module.replace(old, f"{old}_again")
    return module


def branch_for(root: str) -> str:
    """Write a sketch of one part: its work is given to one new function."""
    inner = re.search(r"\((.*)\)", root)
    params = inner[1] if inner else ""
    names = ", ".join(part.partition(":")[0].strip() for part in params.split(",") if part.strip())
    return (
        f'def inner_part({params}):\n    """Do all of it.\n\n    kind: math\n    """\n    ...\n'
        f"\n\ndef {root}:\n    return inner_part({names})\n"
    )


BODIES["inner_part"] = "return sum(number * number for number in numbers)"
for _old in ("read_numbers", "sum_squares"):
    BODIES[f"{_old}_again"] = BODIES[_old]
BODIES["square_again"] = BODIES["square"]
BODIES["sum_squares_again"] = "return sum(number * number for number in numbers)"


def reference_for(request: Request) -> str:
    found = re.search(r"`(\w+\(.*)`", asked(request).split("# Your step")[-1])
    header = found[1] if found else "square(number: int) -> int"
    made = {"read_numbers": "'1 2'", "square": "3", "sum_squares": "[1, 2]", "squares": "[1, 2]"}
    given = made.get(_name(header), "1")
    text = function(header)
    if "square(" in text and _name(header) != "square":
        text = f"{function('square(number)')}\n\n{text}"
    return f"{text}\n\ndef small_input(chance):\n    return ({given},)\n"


CAUSE = "cause: implementation, because it does something else"


def opinions_for(request: Request, reject: str = "") -> dict[str, Any]:
    named = re.search(r"These functions ran: (.*?)\. For each", asked(request))
    names = re.findall(r"`([^`]+)`", named[1]) if named else []
    return {
        "opinions": [
            {
                "function": name,
                "verdict": "reject" if reject == name or reject == "*" else "accept",
                "reason": "as worked through",
            }
            for name in names
        ]
    }


_PART = {"goal": "Do a part", "kind": "math", "parent": None, "outputs": [{"name": "result"}]}
_STAGED: dict[str, Any] = {
    "read the problem": {"title": "Squares", "description": "Add squares."},
    "think before": {"nature": "plain", "summary": "add"},
    "parts": {
        "strategy": "square and add",
        "why": "each can be tested",
        "parts": [
            {**_PART, "label": "one", "inputs": [{"name": "numbers", "type": "list[int]"}]},
            {
                **_PART,
                "label": "two",
                "dependencies": ["one"],
                "inputs": [{"name": "numbers", "type": "list[int]", "source": "one.result"}],
            },
        ],
    },
    "functions": {
        "interfaces": [
            {
                "label": label,
                "name": name,
                "params": [{"name": "numbers", "type": "list[int]"}],
                "returns": "list[int]",
                "requires": ["len(numbers) >= 0"],
                "ensures": ["len(result) >= 0"],
                "examples": [f"{name}([]) == []"],
            }
            for label, name in (
                ("one", "first_part"),
                ("two", "second_part"),
                ("root", "squares"),
            )
        ]
    },
    "tests": {"samples": [], "edge_cases": [{"input": "[5]", "expected_output": "25"}]},
    "review": {"status": "pass"},
}


def staged_for(request: Request) -> dict[str, Any]:
    step = asked(request).split("# Your step: ")[-1].partition("\n")[0]
    return next((said for word, said in _STAGED.items() if word in step), {})


def right(request: Request) -> str:
    """Return a correct reply for any step."""
    match step_of(request):
        case "sketch" | "redo" | "branch":
            return fenced(sketch_for(request))
        case "verdict":
            return fenced(json.dumps(opinions_for(request)), "json")
        case "reference":
            return fenced(reference_for(request))
        case "staged":
            return fenced(json.dumps(staged_for(request)), "json")
        case "again":
            return f"{CAUSE}\n\n{fenced(code_for(request))}"
        case _:
            return fenced(code_for(request))


# Other replies of a model. Each move is a function of the request and a number.

Move = Callable[[Request, int], str | Reply]


def _cut(request: Request, _: int) -> Reply:
    return Reply(text=right(request)[:40], finish=FinishReason.LENGTH, usage=Usage(calls=1))


MALFORMED: dict[str, Move] = {
    "empty": lambda _r, _n: "",
    "talk": lambda _r, _n: "I would rather talk about the weather.",
    "cut": _cut,
    "refused": lambda _r, _n: Reply(text="No.", finish=FinishReason.REFUSED, usage=Usage(calls=1)),
    "repeated": lambda _r, _n: Reply(text="la " * 50, finish=FinishReason.REPEATED, usage=Usage()),
    "unfenced": lambda r, _n: right(r).replace("```python\n", "").replace("```", ""),
    "bad syntax": lambda _r, _n: fenced("def solve(data:\n    return ("),
    "code for JSON": lambda r, _n: fenced(code_for(r)),
    "JSON for code": lambda _r, _n: fenced(json.dumps({"cause": CAUSE}), "json"),
    "null": lambda _r, _n: "null",
    "deep JSON": lambda _r, _n: "[" * 5000 + "]" * 5000,
    "NaN": lambda _r, _n: '{"cause": NaN, "opinions": [NaN], "parts": NaN}',
    "half a character": lambda r, _n: right(r) + "\ud800",
    "nothing between": lambda _r, _n: "```python\n```",
    "nul": lambda r, _n: right(r).replace("return", "return \0"),
    "carriage returns": lambda r, _n: right(r).replace("\n", "\r"),
    "windows": lambda r, _n: right(r).replace("\n", "\r\n"),
    "mark": lambda r, _n: right(r).replace("```python\n", "```python\n\ufeff"),
    "tabs": lambda r, _n: right(r).replace("    ", "\t"),
    "form feeds": lambda r, _n: right(r).replace("\ndef", "\n\f\ndef"),
    "separators": lambda r, _n: right(r).replace("\n\n", "\n# \u2028 \x85 \x1c\n\n"),
}

_SAYINGS = (
    "return 0",
    "return ''",
    "return None",
    "raise ValueError('no')",
    "return 1 // 0",
    "while True: pass",
    "...",
    "pass",
    "return NotImplemented",
    "raise NotImplementedError",
    "raise NotImplementedError('later')",
    "return 10 ** 5000",
    "return -(10 ** 5000)",
    "return float('nan')",
    "return float('inf')",
    "x = []\n    for _ in range(3000): x = [x]\n    return x",
    "x = []\n    for _ in range(300): x = [x]\n    return x",
    "x = []\n    x.append(x)\n    return x",
    "return object()",
    "return (n for n in range(3))",
    "return '\\ud800'",
    "return b'\\xff'",
    "return {1, 'a', None}",
    "return 'x' * 300000",
    "return lambda: 0",
    "raise SystemExit(0)",
    "raise SystemExit('\\ud800')",
    "import os\n    os._exit(0)",
    "raise KeyboardInterrupt",
    "raise ValueError('\\ud800' * 5000)",
    "raise type('_audit', (Exception,), {'__str__': lambda s: 1 // 0})",
    "return type('T', (), {'__eq__': lambda s, o: True, '__repr__': lambda s: '14'})()",
    "return type('I', (int,), {'__repr__': lambda s: 1 // 0})(14)",
    "print('14')\n    return 14",
    "f = lambda: f()\n    return f()",
    "x = bytearray(1 << 34)\n    return x",
    "globals().clear()\n    return 0",
    "import builtins\n    builtins.len = None\n    return 0",
    "global solve, square\n    solve = square = None\n    return 0",
    "global len\n    len = None\n    return 0",
    "return (y := 14)",
    "yield 14",
    "return [" + "[" * 80 + "]" * 80 + "]",
    "return " + "+".join(["1"] * 400),
    "return " + "+".join(["1"] * 900),
    "return " + "+".join(["1"] * 2500),
    "return " + "-" * 700 + "1",
    "return " + "(" * 190 + "1" + ")" * 190,
    "return 0x" + "f" * 6000,
    "return " + "9" * 5000,
    "return f'{" + 'f"{1}"' + "}'",
    "import os, sys, math as m; return 14",
    "return '''\n\nif __name__ == \"__main__\":\n'''",
    'return """\\\n```\n"""',
    "try:\n        return 14\n    except* ValueError:\n        pass",
    "match 1:\n        case 1: return 14",
    "type X = int\n    return 14",
    "assert False, '14'",
    "return sum.__self__",
    "del globals()['square']\n    return 14",
    "nonlocal x\n    return x",
    "return await x",
    "return 14 if 1 is 1 else '\\d'",
)


def _saying(number: int) -> Move:
    return lambda r, _n: fenced(code_for(r, _SAYINGS[number % len(_SAYINGS)]))


def _around(before: str = "", after: str = "", change: Callable[[str], str] = str) -> Move:
    def move(request: Request, _number: int) -> str:
        return fenced(f"{before}{change(code_for(request))}{after}")

    return move


def _first(request: Request) -> str:
    return _name((headers(request) or ["nobody()"])[0])


_OTHERS = [
    "read_numbers",
    "square",
    "sum_squares",
    "solve",
    "squares",
    "add",
    "total",
    "full",
    "__init__",
]


def _rewrites_others(request: Request, number: int) -> str:
    reason = "# integration: they must change together\n" if number % 2 else ""
    known = {
        "read_numbers": "(data)",
        "square": "(number)",
        "sum_squares": "(numbers)",
        "solve": "(data)" if number % 3 else "()",
        "squares": "(numbers)",
    }
    others = "\n\n".join(
        f"def {name}{params}:\n    return {number % 5}" for name, params in known.items()
    )
    return fenced(f"{reason}{code_for(request)}\n\n{others}\n")


def _in_other_ways(request: Request, number: int) -> str:
    """Return the requested function in an unusual or invalid form."""
    name, header = _first(request), (headers(request) or ["nobody()"])[0]
    ways = (
        f"async def {header}:\n    return 14\n",
        f"{name} = lambda *a: 14\n",
        f"class {name}:\n    def __new__(cls, *a):\n        return 14\n",
        f"class Holder:\n    def {header}:\n        return 14\n\n{name} = Holder().{name}\n",
        f"if True:\n    def {header}:\n        return 14\n",
        f"def {header}:\n    def {header}:\n        return 14\n    return {name}\n",
        f"def {header}:\n    return 14\n\n\ndef {header}:\n    return 15\n",
        f"@staticmethod\ndef {header}:\n    return 14\n",
        f"@property\ndef {header}:\n    return 14\n",
        f"def mark(f):\n    return None\n\n@mark\ndef {header}:\n    return 14\n",
        f"def {header}: return 14; x = 1\nimport os; y = os\n",
        f"def {name}(*args, **more):\n    return 14\n",
        f"def {name}(one, two, three):\n    return 14\n",
        f"try:\n    import nothing\nexcept ImportError:\n    pass\ndef {header}:\n    return 14\n",
        f"from {name} import {name}\n",
        f"import math as {name}\n",
        f"def {header}:\n    return 14\ndel {name}\n",
        f"def {header}:\n    return 14\n{name} = None\n",
        f"def {header}:\n    '''{name}''' '''x'''\n    return 14\n",
        f'def {header}:\n    """only a docstring"""\n',
        f"class Basket:\n    class Basket:\n        def {header}:\n            return 14\n",
        (
            f"class Basket(dict, metaclass=type):\n    x: int = 1\n    def {header}:\n"
            f"        return super().__len__()\n    {name}_again = {name}\n"
        ),
        f"class Basket:\n    def {header}:\n        return 14\n    {name} = property({name})\n",
        (
            f"class Basket:\n    @property\n    def {header}:\n        return 14\n"
            f"    @{name}.setter\n    def {name}(self, value):\n        pass\n"
        ),
        (
            f"class Basket:\n    def {header}:\n        return help_me()\n"
            f"    __slots__ = ()\n    def help_me(self): pass\n\ndef help_me():\n    return 14\n"
        ),
        f"def {header}:\n    class Basket: pass\n    global Basket\n",
        f"# coding: latin-1\ndef {header}:\n    return 14\n",
        f"#!/usr/bin/python\n# -*- coding: nonsense -*-\ndef {header}:\n    return 14\n",
        f"from __future__ import annotations\ndef {header}:\n    return 14\n",
        f"from __future__ import braces\ndef {header}:\n    return 14\n",
        f"def {header}:\n    return 14\n\\\n",
        f"def {header}:\n    return 14  # \u2028 \x0c x = ('''\n",
    )
    return fenced(ways[number % len(ways)])


_BEFORE = (
    "from math import *\n",
    "from os.path import *\nfrom math import sqrt as helper\n",
    "def len(x):\n    return 0\n\n\n",
    "def helper():\n    return 1\n\n\nprint = helper\n\n\n",
    "import json as len\n",
    "import math as helper\n",
    "from cmath import sqrt as square\n",
    "import sys as solve\n",
    "_audit = 1\n_audit_broken = 2\ndef _audit_holds(promise):\n    return False\n\n\n",
    "def solve__S1(): pass\ndef helper__S1(): pass\n\n\n",
    "x = y = 1\nx += 1\n(z := 3)\n",
    "while True:\n    pass\n",
    "raise SystemExit(3)\n",
    "import sys\nsys.exit()\n",
    "print('14')\n",
    "print(" + "+".join(["1"] * 600) + ")\n",
    "print(" + "+".join(["1"] * 2000) + ")\n",
    "CONSTANT = " + "+".join(["1"] * 1200) + "\n",
    "class Basket:\n    pass\n\n\n",
    "class len:\n    pass\n\n\n",
    "".join(f"x{n} = {n}\n" for n in range(500)),
    "if __name__ == '__main__':\n    print('14')\n    raise SystemExit\n",
    "'''\n" * 3,
    "# integration:\n",
    "# integration: \u2028 because\n",
    "try:\n    import numpy\nexcept ImportError:\n    numpy = None\n",
    "from . import nothing\n",
    "import a.b.c, d as e\n",
    "def ﬁnd():\n    return 1\n\n\n",
    "\u00b5 = \U0001d431 = 1\n",
    "global x\nx = 1\n",
    "def outer():\n    global helper, print\n    helper = print = 1\n\n\n",
    "import math\nmath.sqrt = None\nmath = 3\n",
    "with open('x') as f: pass\n",
    "for square in range(3): pass\n",
    "del print\n",
    "__builtins__ = {}\n",
    "__name__ = '__main__'\n",
    "@lambda f: f\ndef helper(): ...\n\n\n",
)


def _hostile_before(request: Request, number: int) -> str:
    before = _BEFORE[number % len(_BEFORE)]
    code = code_for(request)
    # A helper is kept only where it is used.
    names = re.findall(r"^(?:def |class )?([^\W\d]\w*)", before, re.MULTILINE)
    use = next((n for n in names if n not in {"import", "from", "print", "try", "while"}), "")
    if use.isidentifier() and number % 2:
        code = code.replace(":\n    return", f":\n    {use}\n    return")
    return fenced(f"{before}{code}")


WRITTEN: dict[str, Move] = {
    "says": lambda r, n: _saying(n)(r, n),
    "rewrites others": _rewrites_others,
    "in other ways": _in_other_ways,
    "before": _hostile_before,
    "everything": lambda r, _n: fenced(f"{_STUBS}\n\n{code_for(r)}"),
    "two blocks": lambda r, _n: right(r) + "\nOr else:\n" + fenced("x = 1"),
}

# Sketches

_DOCS = (
    "ensures: result >= 0 # whatever",
    "ensures: result == __import__('os').getpid()",
    "ensures: (lambda: result)() or True",
    "ensures: len([x for x in range(10 ** 9)]) and result",
    "ensures: (yield result)",
    "ensures: (result := 3)",
    "ensures: result == 0x" + "f" * 5000,
    "ensures: " + "+".join(["result"] * 600),
    "ensures: " + "+".join(["result"] * 2500),
    "ensures: result == '\\ud800'",
    "ensures: result == ''' '''",
    "ensures: `result`\n    ensures: result ==\n    requires: False",
    "requires: number\n    ensures: result is result",
    "example: square(0x" + "f" * 5000 + ") == 1",
    "example: square(1e999) == 1e999",
    "example: square(" + "[" * 90 + "]" * 90 + ") == 1",
    "example: square(square(1)) == 1\n    example: square(1) -> 1\n    example: square(*[1]) == 2",
    "example: square('\\ud800') == '\\ud800'",
    "example: square(3) == 9\n    example: square(3) == 10",
    "example: square({1: [2, (3,)]}) == {4, 5}",
    "kind: orchestration\n    cost: O(n) or O((n))\n    uses: solve square read_numbers",
    "cost: O(1)\n    kind: BFS",
    "goal \\ud800 \\\\ \\x00 \\N{BULLET}",
    'ends with a quote\\"',
    "\u2028 \x1c kind: math",
    "{{statement}} {{sketch}} %s {0}",
    "# Your step: the code\n```python\nprint(1)\n```",
    "",
)

_PARAMS = (
    "(number)",
    "()",
    "(*numbers)",
    "(number, /, other=1, *, last)",
    "(result)",
    "(self, number)",
    "(_audit_arguments: int)",
    "(kept: int, copy: int)",
    "(number: 'str | \"x\"')",
    "(number: " + "+".join(["int"] * 600) + ")",
    "(number: " + "+".join(["int"] * 2500) + ")",
    "(number: list[" * 30 + "int" + "]" * 30 + ")",
    "(number: (lambda: (yield))())",
    "(number: int | None, words: dict[str, set[int]], more: tuple[int, ...])",
    "(ﬁ: int)",
    "(number: set[int])",
    "(number: dict[list[int], int])",
    "(number: '''a\nb''')",
    "(data: bytes, number: complex)",
)


def _odd_sketch(request: Request, number: int) -> str:
    doc = _DOCS[number % len(_DOCS)]
    params = _PARAMS[number % len(_PARAMS)]
    odd = f'def square{params} -> int:\n    """Square.\n\n    {doc}\n    """\n    ...\n'
    text = sketch_for(request)
    name = "square_again" if "square_again" in text else "square"
    odd = odd.replace("def square", f"def {name}")
    found = re.search(rf"def {name}\(.*?\n    \.\.\.\n", text, re.DOTALL)
    return fenced(text.replace(found[0], odd) if found else f"{odd}\n\n{text}")


def _many(count: int, wide: bool) -> str:
    stubs = []
    for n in range(count):
        uses = "" if wide or n == count - 1 else f"\n\n    uses: part_{n + 1}"
        stubs.append(f'def part_{n}(x: int) -> int:\n    """Part.{uses}"""\n    ...\n')
    return "\n\n".join(stubs)


def _other_sketch(request: Request, number: int) -> str:
    root = root_header(request)
    name = _name(root)
    root = root if "(" in root else f"{root}(numbers)"
    stub = "def a(x): ...\n\n\n"
    tops = (
        f"def {root}:\n    ...\n",
        f"def {root}:\n    return None\n",
        "",
        "x = 1\n",
        f"class Plan:\n    def {root}: ...\n",
        f"def {root}: ...\n\n\ndef {root}: ...\n",
        f'def a(): """uses: b"""\n\n\ndef b(): """uses: a"""\n\n\ndef {root}:\n    return a()\n',
        f"def a(x):\n    return a(x)\n\n\ndef {root}:\n    return a(1)\n",
        f"def a(x):\n    return {name}(x)\n\n\ndef {root}:\n    return a({name}(1))\n",
        f"{_many(30, wide=True)}\n\ndef {root}:\n    return part_0(1)\n",
        f"{_many(30, wide=False)}\n\ndef {root}:\n    return part_0(1)\n",
        f"{_many(3, wide=False)}\n\ndef {root}:\n    return part_0(1)\n",
        f"{_many(5, wide=False)}\n\ndef {root}:\n    return part_0(1)\n",
        f"{_many(5, wide=True)}\n\ndef {root}:\n    return part_0(part_1(part_2(1)))\n",
        f"{_many(5, wide=True)}\n\ndef {root}:\n    ...\n",
        f"def list(x): ...\n\n\ndef {root}:\n    return list(1)\n",
        f"def __x__(x): ...\n\n\ndef {root}:\n    return __x__(1)\n",
        f"def sys(x): ...\n\n\ndef {root}:\n    return sys(1)\n",
        f"def _audit(x): ...\n\n\ndef {root}:\n    return _audit(1)\n",
        f"{stub}async def {root}:\n    return a(1)\n",
        f"{stub}@print\ndef {root}:\n    return a(1)\n",
        f"{stub}def {name}(other, names):\n    return a(1)\n",
        f"from math import sqrt as helper\n{stub}def {root}:\n    return helper(a(1))\n",
        f"import math as a\n{stub}def {root}:\n    return a(1)\n",
        f"import a\n\n\ndef b(x): ...\n\n\ndef {root}:\n    return a.x + b(1)\n",
        f"{stub}def {root}:\n    import os as len\n    a = 3\n    return a(1)\n",
        f"{stub}def {root}:\n    global a, len\n    return a(1)\n",
        f"{stub}def {root}:\n    def a(x): return 1\n    return a(1)\n",
        f"{stub}def {root}:\n    return a(" + "+".join(["1"] * 2500) + ")\n",
        f"{stub}def {root}:\n    return a(" + "+".join(["1"] * 600) + ")\n",
        f"async {stub}def {root}:\n    return a(1)\n",
        f"def ﬁ(x): ...\n\n\ndef {root}:\n    return fi(1)\n",
        f'"""\\ud800 strategy\n\nparts: \\ud801"""\n{stub}def {root}:\n    return a(1)\n',
        f'def a(x):\n    """\\ud800"""\n\n\ndef {root}:\n    return a(1)\n',
        f'def {root}:\n    """example: {name}("\\ud800") == "\\ud800"\\ud800"""\n',
        f'def {root}:\n    """example: {name}("\\\\ud800") == "\\\\ud800"\n"""\n',
        f"{stub}def {root}:\n    return '''\n\r\n''' + a('''\n''')\n",
        f"{stub}def {root}:\n    return undefined(a(1))\n",
        f"{stub}def {root}: return a(1); x = 1\nimport os; y = os\n",
        f"{stub}def b(x): ...\n\n\ndef {root}:\n    x = a(1)\n    b(*x, **x)\n    return x\n",
        (
            f"def a(x, y):\n    '''uses: c'''\n\n\ndef c(x):\n    '''uses: a'''\n\n\ndef {root}:\n"
            "    return a(c(1), 2)\n"
        ),
        f"{stub}def b(x): ...\n\n\ndef {root}:\n    p = b(q)\n    q = a(p)\n    return q\n",
        (
            f"def a(x: int):\n    '''Do it.\n\n    uses: b'''\n\n\ndef b(x: int): ...\n\n\n"
            f"from math import sqrt as helper\n\n\ndef {root}:\n    return helper(a(1))\n"
        ),
        (
            f"from .. import x\nfrom x import *\nimport a.b as c\ndef d(x): ...\n\n\ndef {root}:\n"
            "    return d(c)\n"
        ),
    )
    return fenced(tops[number % len(tops)])


DRAWN: dict[str, Move] = {
    "odd": _odd_sketch,
    "other": _other_sketch,
    "with bodies": lambda r, _n: fenced(sketch_for(r).replace("    ...\n", "    return None\n")),
    "code instead": lambda r, _n: fenced(f"def {root_header(r)}:\n    return '14'\n"),
}

# JSON

_TEXTS: tuple[str, ...] = (
    "",
    "x",
    "reject",
    "square",
    "S1",
    "\u2028",
    "O(n)",
    "def square(number):",
    "[1]",
    "\U0001d431",
)
_TEXTS += (
    "square(number, other)",
    "x" * 3000,
    "result >= 0",
    "int",
    "one",
    "two",
    "root",
    "\\",
    "\ud800",
)


def from_schema(schema: Any, chance: Random, root: Any = None, depth: int = 0) -> Any:
    """Make a value that conforms to a JSON Schema of the kind that requests contain."""
    root = root or schema
    if "$ref" in schema:
        return from_schema(root["$defs"][schema["$ref"].split("/")[-1]], chance, root, depth)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if "anyOf" in schema:
        return from_schema(chance.choice(schema["anyOf"]), chance, root, depth)
    match schema.get("type"):
        case "object":
            return {
                name: from_schema(inner, chance, root, depth + 1)
                for name, inner in schema.get("properties", {}).items()
                if chance.random() < 0.9
            }
        case "array":
            count = 0 if depth > 6 else chance.choice([0, 1, 2, 2, 3, 7])
            return [from_schema(schema.get("items", {}), chance, root, depth) for _ in range(count)]
        case "string":
            return chance.choice(_TEXTS)
        case "integer":
            return chance.choice([0, 1, -1, 10**30])
        case "number":
            return chance.choice([0, 1.5, -3, 1e300, 10**30, 10**9])
        case "boolean":
            return chance.random() < 0.5
        case _:
            return None


def _by_schema(request: Request, number: int) -> str:
    schema = json.loads(request.schema) if request.schema else {}
    made = from_schema(schema, Random(f"{number}{request.digest}"))
    return fenced(json.dumps(made, ensure_ascii=bool(number % 2)), "json")


_CAUSES = ("implementation", "algorithm", "interface", "decomposition", "global", "", "KIND")
_CAUSE_LINES = (
    "cause: {kind}, because {why}",
    "**Cause:** {kind} - {why}",
    "The root cause is {kind}: {why}.",
    "cause: {kind}\ncause: {why}",
    "{why}\u2028cause={kind}",
)
_WHYS = ("", " ", "it is wrong", "\x00\u2028", "`x` is **1**", "\ud800", "cause: " * 50)
_HEADERS = (
    "square(number: int, other: int) -> int",
    "square(result)",
    "sum_squares(numbers, extra=1, *more)",
    "sum_squares(numbers: " + "+".join(["int"] * 700) + ")",
    "square(number: '\ud800')",
    "read_numbers()",
    "solve(x)",
)


def _some_cause(request: Request, number: int) -> str:
    """State some cause, in some way, with the right code, code under another header, or none."""
    line = _CAUSE_LINES[number % len(_CAUSE_LINES)]
    kind = _CAUSES[number // 2 % len(_CAUSES)]
    stated = line.format(kind=kind, why=_WHYS[number // 3 % len(_WHYS)])
    header = _HEADERS[number // 5 % len(_HEADERS)]
    code = ("", fenced(code_for(request)), fenced(function(header)))[number % 3]
    return f"{stated}\n{code}" if number % 7 else code.replace("```python", f"```python\n{stated}")


SAID: dict[str, Move] = {
    "by schema": _by_schema,
    "rejects all": lambda r, _n: fenced(json.dumps(opinions_for(r, "*")), "json"),
    "rejects one": lambda r, n: fenced(
        json.dumps(opinions_for(r, _OTHERS[n % len(_OTHERS)])), "json"
    ),
}


def _odd_reference(request: Request, number: int) -> str:
    text = reference_for(request)
    odd = (
        "return object()",
        "return 1 // 0",
        "while True: pass",
        "return chance.random()",
        "return {'a': 1}",
        "return ([],)",
        "x = []\n    for _ in range(900): x = [x]\n    return (x,)",
        "return (10 ** 5000,)",
        "return ('\\ud800',)",
    )
    head, _, _ = text.rpartition("    return")
    return fenced(f"{head}    {odd[number % len(odd)]}\n")


def moves_for(step: str) -> dict[str, Move]:
    """Return the possible moves at a step other than a correct reply."""
    if step in SKETCHES:
        return DRAWN | MALFORMED
    if step == "again":
        return {"some cause": _some_cause} | WRITTEN | MALFORMED
    if step in CODES:
        return WRITTEN | MALFORMED
    if step == "reference":
        return {"odd": _odd_reference} | WRITTEN | MALFORMED
    return SAID | MALFORMED


class Down(ModelUnavailable):
    """The only error that these models raise."""


Script = Mapping[str, Sequence[tuple[str, int] | str]]
"""The replies of each step, in order: a move and its number, or a literal text."""


class Improviser:
    """Answers the nth request of each step as scripted, and correctly after the script's end."""

    name = "improviser"

    def __init__(
        self,
        script: Script,
        traits: Traits | None = None,
        down_after: int | None = None,
    ) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._count: Counter[str] = Counter()
        self._down_after = down_after
        self.traits = traits or Traits(price=FREE, parallel=1)
        self.asked: list[Request] = []

    def complete(self, request: Request) -> Reply:
        """Return the next scripted reply."""
        step = step_of(request)
        with self._lock:
            self.asked.append(request)
            number = self._count[step]
            self._count[step] += 1
            if self._down_after is not None and len(self.asked) > self._down_after:
                raise Down("model.down", "it is down", billed=len(self.asked) % 2 > 0)
        moves = self._script.get(step, ())
        if number >= len(moves):
            said: str | Reply = right(request)
        else:
            said = _played(moves[number], step, request)
        return said if isinstance(said, Reply) else answer(request, said)

    def close(self) -> None:
        """Do nothing."""


def _played(move: tuple[str, int] | str, step: str, request: Request) -> str | Reply:
    if isinstance(move, str):
        return move
    name, number = move
    return moves_for(step)[name](request, number)


def answer(request: Request, text: str, seconds: float = 0.0) -> Reply:
    """Return a reply whose cost is counted in words."""
    words = sum(len(message.text.split()) for message in request.messages)
    usage = Usage(calls=1, prompt_tokens=words, completion_tokens=len(text.split()))
    return Reply(
        text=text, finish=FinishReason.STOP, usage=usage, model="improviser", seconds=seconds
    )
