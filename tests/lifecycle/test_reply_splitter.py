"""Drafts: what a model wrote is split by who owns it, and nothing is invented on the way."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.contract import Contract, Param, signature_faults
from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.import_completion import completing
from auditcoder.lifecycle.reply_splitter import SplitReply, SplitReplyFormat, split
from auditcoder.lifecycle.response_formats import FormatMismatch

S1, S2, S3 = NodeId("S1"), NodeId("S2"), NodeId("S3")
F = Contract(name="f", params=(Param(name="x"),))
G = Contract(name="g", params=(Param(name="x"),))
OTHERS = {"h": S3}


def drafted(text: str, scope: str = "") -> SplitReply:
    return split(text, {S1: F, S2: G}, OTHERS, scope)


def piece(text: str, scope: str = "") -> str:
    return drafted(text, scope).pieces[S1].source


class TestSplitting:
    def test_gives_each_node_its_function(self) -> None:
        draft = drafted("def f(x):\n    return 1\ndef g(x):\n    return 2\n")
        assert draft.pieces[S1].source == "def f(x):\n    return 1\n"
        assert draft.pieces[S2].source == "def g(x):\n    return 2\n"
        assert (draft.missing, draft.crossing) == ({}, {})

    def test_gives_helpers_to_whoever_leads_to_them(self) -> None:
        text = "def a(): return b\nb = 1\ndef c(): pass\ndef f(x): return a()\ndef g(x): return x\n"
        draft = drafted(text)
        assert draft.pieces[S1].source == "def a(): return b\n\nb = 1\n\ndef f(x): return a()\n"
        assert draft.pieces[S2].source == "def g(x): return x\n"

    def test_gives_imports_to_whoever_uses_them(self) -> None:
        text = (
            "import os, re as r\nfrom math import *\ndef f(x): return r.sub\ndef g(x): return 1\n"
        )
        draft = drafted(text)
        assert draft.pieces[S1].source.startswith("import re as r\n\n")
        assert "import" not in draft.pieces[S2].source
        assert "left out, because nobody owns it: from math import *" in draft.pieces[S1].note

    def test_keeps_decorators_and_comments_inside(self) -> None:
        text = "@cache\ndef f(x):\n    # why\n    return 1\n"
        assert "@cache\ndef f(x):\n    # why\n" in piece(text)
        assert piece(text).startswith("from functools import cache\n")

    def test_leaves_out_and_names_what_nobody_owns(self) -> None:
        text = "def f(x): return 1\nprint(f(2))\nfor i in []:\n    pass\n"
        note = drafted(text).pieces[S1].note
        assert note == "left out, because nobody owns it: print(f(2)); for i in []:"

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("def k(x): return 1", "there is no function f in it"),
            ("def f(y): return 1", "parameters are (y), not (x)"),
            ("def f(x): return 1\ndef f(x): return 2", "2 functions are named f"),
            ("def f(x):\n    '''Do it.'''\n    ...", "f is not written out"),
            ("def f(x): raise NotImplementedError", "f is not written out"),
            ("if 1:\n    def f(x): return 1", "there is no function f in it"),
        ],
    )
    def test_says_what_is_missing(self, text: str, why: str) -> None:
        assert why in drafted(text).missing[S1]

    def test_finds_what_is_somebody_elses(self) -> None:
        draft = drafted("def f(x): return 1\n# integration: h is off\ndef h(x): return 2\n")
        assert draft.crossing[S3].source == "def h(x): return 2\n"
        assert draft.rationale == "h is off"

    def test_does_not_mind_stubs_of_what_is_somebody_elses(self) -> None:
        assert drafted("def f(x): return 1\ndef h(x): ...\n").crossing == {}

    def test_reads_code_that_is_indented_or_ends_its_lines_otherwise(self) -> None:
        assert piece("\ufeff    def f(x):\r\n        return 1\r\n") == "def f(x):\n    return 1\n"
        assert piece("def f(x):\n\treturn 1\n") == "def f(x):\n    return 1\n"

    def test_that_is_no_python_is_unfit(self) -> None:
        with pytest.raises(FormatMismatch, match="not Python"):
            drafted("def f(x: return 1")

    def test_leaves_strings_as_they_are(self) -> None:
        assert "'a\tb'" in piece("def f(x):\n    return 'a\tb'\n")


class TestAClass:
    def test_gives_up_its_methods_wherever_they_stand(self) -> None:
        inside = "class C:\n    def f(self, x):\n        return 1\n"
        assert piece(inside, "C") == "def f(self, x):\n    return 1\n"
        assert piece("def f(self, x):\n    return 1\n", "C") == "def f(self, x):\n    return 1\n"

    def test_gives_new_members_to_the_first_that_mentions_them(self) -> None:
        text = """\
class C:
    def help(self): return 1
    LIMIT = 3
    def f(self, x): return self.help()
    def g(self, x): return self.help() + self.LIMIT
"""
        draft = drafted(text, "C")
        assert "def help" in draft.pieces[S1].source
        assert "def help" not in draft.pieces[S2].source
        assert "LIMIT = 3" in draft.pieces[S2].source

    def test_gives_members_that_new_members_need_too(self) -> None:
        text = """\
class C:
    LIMIT = 3
    def help(self): return self.LIMIT
    def f(self, x): return self.help()
"""
        assert "LIMIT = 3" in piece(text, "C")

    def test_shares_what_stands_before_it(self) -> None:
        text = "import re\ndef aid(x): return re.sub\nclass C:\n    def f(self, x): return aid(x)\n"
        draft = drafted(text, "C")
        assert draft.shared == "import re\n\ndef aid(x): return re.sub\n\n"
        assert "aid(x): " not in draft.pieces[S1].source


class TestForgottenImports:
    @pytest.mark.parametrize(
        ("source", "added"),
        [
            ("def f(): return math.pi", ["import math"]),
            ("def f(): return deque()", ["from collections import deque"]),
            ("def f(math): return math.pi", []),
            ("def f():\n    import math\n    return math.pi", []),
            ("def f():\n    deque = 1\n    return deque", []),
            ("def f(): return json.loads(x) + numpy.a", ["import json"]),
            ("def f(x: List[int]): pass", ["from typing import List"]),
            ("def f(:", []),
        ],
    )
    def test_are_those_of_the_standard_library(self, source: str, added: list[str]) -> None:
        assert completing(source, set()) == added

    def test_are_not_what_is_bound_elsewhere(self) -> None:
        assert completing("def f(): return gcd(1)", {"gcd"}) == []


def reply(code: str) -> Reply:
    return Reply(text=f"```python\n{code}\n```", finish=FinishReason.STOP, usage=Usage())


class TestReading:
    def shape(self, present: str = "") -> SplitReplyFormat:
        return SplitReplyFormat({S1: F, S2: G}, OTHERS, "", {S3: present} if present else None)

    def test_is_strict_at_first_and_then_takes_what_can_be_used(self) -> None:
        shape = self.shape()
        with pytest.raises(FormatMismatch, match="no function g"):
            shape.read(reply("def f(x): return 1"))
        assert set(shape.read(reply("def f(x): return 1")).pieces) == {S1}

    def test_never_takes_nothing(self) -> None:
        shape = self.shape()
        for _ in range(2):
            with pytest.raises(FormatMismatch, match="no function f in it; there is no function g"):
                shape.read(reply("def k(): pass"))

    def test_refuses_other_nodes_code_once(self) -> None:
        shape, text = self.shape(), "def f(x): return 1\ndef g(x): return 1\ndef h(x): return 2"
        with pytest.raises(FormatMismatch, match="h is there already and not yours to write"):
            shape.read(reply(text))
        draft = shape.read(reply(text))
        assert (draft.rationale, set(draft.crossing)) == ("", {S3})

    def test_does_not_mind_what_is_there_already(self) -> None:
        text = "def f(x): return 1\ndef g(x): return 1\ndef h(x): return 2  # as before"
        assert self.shape("def h(x):\n    return 2\n").read(reply(text)).crossing == {}


STATEMENTS = [
    "import os",
    "import re as r, math",
    "from collections import deque, Counter",
    "A = 1",
    "B = A + helper(2)",
    "C, D = 1, 2",
    "def helper(x):\n    # as it is\n    return A + C",
    "def other(x):\n\n    return r.sub(os.sep, '', x)",
    "class Thing:\n    size = 3\n\n    def grow(self):\n        return helper(self.size)",
    "def f(x):\n    return helper(x) + deque",
    "@cache\ndef f(x):\n    return Thing().grow() + math.pi",
    "def f(x, y):\n    return x",
    "def g(x):\n    def inner(y):\n        return B\n\n    return inner(D)",
    "async def g(x):\n    return Counter(x)",
    "def h(x):\n    return other(x) + heappush",
    "# integration: because",
    "print(f(1))",
    "if __name__ == '__main__':\n    f(1)",
    '"""Some words."""',
]


@given(st.lists(st.sampled_from(STATEMENTS), max_size=12), st.booleans())
def test_no_line_is_invented_and_every_piece_keeps_its_signature(
    statements: list[str], apart: bool
) -> None:
    text = ("\n\n" if apart else "\n").join(statements) + "\n"
    draft = drafted(text)
    known = set(text.split("\n"))
    for node, made in (*draft.pieces.items(), *draft.crossing.items()):
        for line in made.source.split("\n"):
            assert line in known or line.startswith(("import ", "from ")), (node, line)
    for node, contract in ((S1, F), (S2, G)):
        assert (node in draft.pieces) != (node in draft.missing)
        if node in draft.pieces:
            assert signature_faults(contract, draft.pieces[node].source) == ()


@given(st.lists(st.sampled_from(STATEMENTS), max_size=12))
def test_a_piece_splits_into_itself(statements: list[str]) -> None:
    draft = drafted("\n".join(statements) + "\n")
    for node in draft.pieces:
        source = draft.pieces[node].source
        again = drafted(source).pieces[node].source
        assert ast.dump(ast.parse(again)) == ast.dump(ast.parse(source))


@given(st.text())
def test_any_text_is_split_or_unfit(text: str) -> None:
    try:
        draft = drafted(text)
    except FormatMismatch:
        return
    assert set(draft.pieces) | set(draft.missing) == {S1, S2}
