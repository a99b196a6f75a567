"""Reply splitter: the code of a reply is divided by owner, and no line is invented."""

import ast
import json
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.contract import Contract, Param, signature_faults
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import Function, parse
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.import_completion import completing
from auditcoder.lifecycle.module_statements import definition_form, is_harmless, summary
from auditcoder.lifecycle.reply_splitter import (
    SplitReply,
    SplitReplyFormat,
    split,
)
from auditcoder.lifecycle.response_formats import FormatMismatch

S1, S2, S3 = NodeId("S1"), NodeId("S2"), NodeId("S3")
F = Contract(name="f", params=(Param(name="x"),))
G = Contract(name="g", params=(Param(name="x"),))
OTHERS = {"h": S3}


def split_text(text: str, scope: str = "") -> SplitReply:
    return split(text, {S1: F, S2: G}, OTHERS, scope)


def source_of_s1(text: str, scope: str = "") -> str:
    return split_text(text, scope).pieces[S1].source


class TestSplitting:
    def test_each_node_gets_its_function(self) -> None:
        draft = split_text("def f(x):\n    return 1\ndef g(x):\n    return 2\n")
        assert draft.pieces[S1].source == "def f(x):\n    return 1\n"
        assert draft.pieces[S2].source == "def g(x):\n    return 2\n"
        assert (draft.missing, draft.crossing) == ({}, {})

    def test_a_node_gets_the_helpers_that_it_uses_directly_or_indirectly(self) -> None:
        text = "def a(): return b\nb = 1\ndef c(): pass\ndef f(x): return a()\ndef g(x): return x\n"
        draft = split_text(text)
        assert draft.pieces[S1].source == "def a(): return b\n\nb = 1\n\ndef f(x): return a()\n"
        assert draft.pieces[S2].source == "def g(x): return x\n"

    def test_a_node_gets_the_imports_that_it_uses(self) -> None:
        text = (
            "import os, re as r\nfrom math import *\nfrom numpy import *\n"
            "def f(x): return r.sub\ndef g(x): return floor(1)\n"
        )
        draft = split_text(text)
        assert draft.pieces[S1].source.startswith("import re as r\n\n")
        assert draft.pieces[S2].source.startswith("from math import floor\n\n")
        assert draft.losses == ("`from numpy import *`, whose names are unknown",)

    def test_decorators_and_inner_comments_are_kept(self) -> None:
        text = "@cache\ndef f(x):\n    # why\n    return 1\n"
        assert "@cache\ndef f(x):\n    # why\n" in source_of_s1(text)
        assert source_of_s1(text).startswith("from functools import cache\n")

    def test_statements_without_an_owner_are_left_out_and_named(self) -> None:
        text = (
            "def f(x): return 1\ndef test_f(): assert f(1) == 1\nassert f(2) == 1\n"
            "print(f(2))\nif __name__ == '__main__':\n    f(3)\nf(4)\n"
        )
        assert split_text(text).losses == (
            "`assert f(2) == 1`, which nobody owns",
            "`f(4)`, which nobody owns",
            "`def test_f():`, which nothing uses",
        )

    def test_a_class_that_several_functions_share_has_one_owner(self) -> None:
        shared = "class Item:\n    pass\n\n\nSEEN = set()\nSIZE = 3\n\n\n"
        text = shared + (
            "def f(x):\n    SEEN.add(x)\n    return Item(), SIZE\n\n\n"
            "def g(x):\n    return isinstance(x, Item), x in SEEN, SIZE\n"
        )
        draft = split_text(text)
        assert "class Item:\n    pass\n\nSEEN = set()\n" in draft.pieces[S1].source
        assert draft.pieces[S2].source.startswith("SIZE = 3\n\ndef g(x):")
        assert draft.losses == ()
        alone = split(text, {S1: F, S2: G}, OTHERS, alone=True)
        assert "class Item" in alone.pieces[S2].source

    def test_a_definition_of_another_node_is_not_copied(self) -> None:
        known = {"Item": definition_form(parse("class Item: pass").body[0])}
        code = "def f(x): return Item()\ndef g(x): return 1\n"
        same = split("class Item:\n    pass\n" + code, {S1: F, S2: G}, OTHERS, known=known)
        assert (same.pieces[S1].source, same.losses) == ("def f(x): return Item()\n", ())
        other = split("class Item:\n    x = 1\n" + code, {S1: F, S2: G}, OTHERS, known=known)
        assert "class Item" not in other.pieces[S1].source
        assert other.losses == ("`class Item:`, which another part defines in another way",)

    def test_statements_that_fill_a_table_belong_to_it(self) -> None:
        text = (
            "TABLE = []\nfor i in range(3):\n    TABLE.append(i)\nTABLE.sort()\n"
            "def f(x): return TABLE\ndef g(x): return 1\n"
        )
        draft = split_text(text)
        assert draft.pieces[S1].source.count("TABLE") == 4
        assert draft.losses == ()

    def test_setting_up_a_module_belongs_to_the_first_function(self) -> None:
        text = "import sys\nsys.setrecursionlimit(9999)\ndef f(x): return 1\ndef g(x): return 2\n"
        draft = split_text(text)
        assert draft.pieces[S1].source == (
            "import sys\n\nsys.setrecursionlimit(9999)\n\ndef f(x): return 1\n"
        )
        assert "sys" not in draft.pieces[S2].source
        assert draft.losses == ()

    def test_late_annotations_are_kept_where_they_matter(self) -> None:
        future = "from __future__ import annotations\n"
        early, late = "def f(x: int): return 1\n", "def g(x: Later): return 1\nclass Later: ...\n"
        draft = split_text(future + early + late)
        assert "__future__" not in draft.pieces[S1].source
        assert draft.pieces[S2].source.startswith(future)

    def test_helpers_stand_where_the_reply_has_them(self) -> None:
        text = "def f(x): return TABLE[x]\nTABLE = [f]\ndef g(x): return 1\n"
        assert source_of_s1(text) == "def f(x): return TABLE[x]\n\nTABLE = [f]\n"

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("def k(x): return 1", "there is no function f in it"),
            ("def f(y): return 1", "parameters are (y), not (x)"),
            ("@a\ndef f(x): return 1\n@b\ndef f(x): return 2", "2 functions are named f"),
            ("def f(x):\n    '''Do it.'''\n    ...", "f is not written out"),
            ("def f(x): raise NotImplementedError", "f is not written out"),
            ("if 1:\n    def f(x): return 1", "there is no function f in it"),
        ],
    )
    def test_a_missing_or_unusable_function_is_reported(self, text: str, why: str) -> None:
        assert why in split_text(text).missing[S1]

    def test_code_of_another_node_is_reported_as_crossing(self) -> None:
        draft = split_text("def f(x): return 1\n# integration: h is off\ndef h(x): return 2\n")
        assert draft.crossing[S3].source == "def h(x): return 2\n"
        assert draft.rationale == "h is off"

    def test_a_stub_of_another_node_is_not_crossing(self) -> None:
        assert split_text("def f(x): return 1\ndef h(x): ...\n").crossing == {}

    def test_indentation_and_line_endings_are_normalised(self) -> None:
        assert (
            source_of_s1("\ufeff    def f(x):\r\n        return 1\r\n")
            == "def f(x):\n    return 1\n"
        )
        assert source_of_s1("def f(x):\n\treturn 1\n") == "def f(x):\n    return 1\n"

    def test_text_that_is_not_python_is_a_format_mismatch(self) -> None:
        with pytest.raises(FormatMismatch, match="not Python"):
            split_text("def f(x: return 1")

    def test_string_literals_are_left_unchanged(self) -> None:
        assert "'a\tb'" in source_of_s1("def f(x):\n    return 'a\tb'\n")


class TestClassReply:
    def test_methods_are_found_inside_and_outside_the_class(self) -> None:
        inside = "class C:\n    def f(self, x):\n        return 1\n"
        assert source_of_s1(inside, "C") == "def f(self, x):\n    return 1\n"
        assert (
            source_of_s1("def f(self, x):\n    return 1\n", "C")
            == "def f(self, x):\n    return 1\n"
        )

    def test_a_new_member_belongs_to_the_first_method_that_mentions_it(self) -> None:
        text = """\
class C:
    def help(self): return 1
    LIMIT = 3
    def f(self, x): return self.help()
    def g(self, x): return self.help() + self.LIMIT
"""
        draft = split_text(text, "C")
        assert "def help" in draft.pieces[S1].source
        assert "def help" not in draft.pieces[S2].source
        assert "LIMIT = 3" in draft.pieces[S2].source

    def test_members_that_a_new_member_needs_belong_to_the_same_method(self) -> None:
        text = """\
class C:
    LIMIT = 3
    def help(self): return self.LIMIT
    def f(self, x): return self.help()
"""
        assert "LIMIT = 3" in source_of_s1(text, "C")

    def test_code_before_the_class_is_shared(self) -> None:
        text = "import re\ndef aid(x): return re.sub\nclass C:\n    def f(self, x): return aid(x)\n"
        draft = split_text(text, "C")
        assert draft.shared == "import re\n\ndef aid(x): return re.sub\n\n"
        assert "aid(x): " not in draft.pieces[S1].source

    def test_special_methods_are_kept_though_nothing_mentions_them(self) -> None:
        text = "class C:\n    def f(self, x): return 1\n    def __lt__(self, o): return True\n"
        draft = split_text(text, "C")
        assert "__lt__" in draft.pieces[S1].source
        assert draft.losses == ()

    def test_a_class_without_docstrings_repeats_the_skeleton(self) -> None:
        given = 'def h(self) -> int:\n    """Say it."""\n    return 1\n'
        shape = SplitReplyFormat({S1: F}, OTHERS, "C", {S3: given})
        text = (
            "class C:\n    def h(self):\n        return 1\n    def f(self, x):\n        return 2\n"
        )
        assert shape.read(reply(text)).crossing == {}

    def test_a_new_base_or_decorator_of_the_class_is_a_noted_loss(self) -> None:
        shape = SplitReplyFormat({S1: F}, OTHERS, "C", {ROOT: "class C:\n    pass\n"})
        text = "@total_ordering\nclass C(dict):\n    def f(self, x):\n        return 2\n"
        assert shape.read(reply(text)).losses == (
            "`class C: @total_ordering, dict`, since the skeleton has the class statement",
        )


class TestBlocks:
    def test_functions_in_several_blocks_are_found(self) -> None:
        shape = SplitReplyFormat({S1: F, S2: G}, OTHERS)
        f, g = "```python\ndef f(x):\n    return 1\n```", "```python\ndef g(x):\n    return 2\n```"
        draft = shape.read(said(f"First:\n{f}\nThen:\n{g}\n"))
        assert set(draft.pieces) == {S1, S2}

    def test_code_in_json_is_found(self) -> None:
        code = "def f(x):\n    return 1\n"
        wrapped = json.dumps({"tool": "write", "arguments": {"code": code, "why": "a\nb"}})
        for text in (wrapped, f"Here:\n```json\n{wrapped}\n```\n"):
            assert SplitReplyFormat({S1: F}, OTHERS).read(said(text)).pieces[S1].source == code

    def test_code_between_paragraphs_is_found(self) -> None:
        code = "def f(x):\n    return 1\n"
        text = f"Here it is:\n\n{code}\nThis returns one.\n"
        assert SplitReplyFormat({S1: F}, OTHERS).read(said(text)).pieces[S1].source == code


class TestMissingImports:
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
    def test_missing_imports_of_the_standard_library_are_found(
        self, source: str, added: list[str]
    ) -> None:
        assert completing(source, set()) == added

    def test_a_name_bound_elsewhere_is_not_imported(self) -> None:
        assert completing("def f(): return gcd(1)", {"gcd"}) == []


def reply(code: str) -> Reply:
    return said(f"```python\n{code}\n```")


def said(text: str) -> Reply:
    return Reply(text=text, finish=FinishReason.STOP, usage=Usage())


class TestReading:
    def shape(self, present: str = "") -> SplitReplyFormat:
        return SplitReplyFormat({S1: F, S2: G}, OTHERS, "", {S3: present} if present else None)

    def test_an_incomplete_reply_is_refused_once_and_then_used_in_part(self) -> None:
        shape = self.shape()
        with pytest.raises(FormatMismatch, match="no function g"):
            shape.read(reply("def f(x): return 1"))
        assert set(shape.read(reply("def f(x): return 1")).pieces) == {S1}

    def test_a_reply_without_any_requested_function_is_always_refused(self) -> None:
        shape = self.shape()
        for _ in range(2):
            with pytest.raises(FormatMismatch, match="no function f in it; there is no function g"):
                shape.read(reply("def k(): pass"))

    def test_code_of_another_node_is_refused_once(self) -> None:
        shape, text = self.shape(), "def f(x): return 1\ndef g(x): return 1\ndef h(x): return 2"
        with pytest.raises(FormatMismatch, match="h is there already and not yours to write"):
            shape.read(reply(text))
        draft = shape.read(reply(text))
        assert (draft.rationale, set(draft.crossing)) == ("", {S3})

    def test_unchanged_code_of_another_node_is_accepted(self) -> None:
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
    draft = split_text(text)
    known = set(text.split("\n"))
    for node, owned in (*draft.pieces.items(), *draft.crossing.items()):
        for line in owned.source.split("\n"):
            assert line in known or line.startswith(("import ", "from ")), (node, line)
    for node, contract in ((S1, F), (S2, G)):
        assert (node in draft.pieces) != (node in draft.missing)
        if node in draft.pieces:
            assert signature_faults(contract, draft.pieces[node].source) == ()


EFFECTS = (
    "assert f(1) == 1",
    "TABLE = [1]",
    "for k in TABLE:\n    TABLE.append(k)",
    "def f(x):\n    return TABLE, x",
    "class Item:\n    size = 1",
    "def g(x):\n    return Item()",
    "import sys\nsys.setrecursionlimit(10)",
    "with open(x) as y:\n    pass",
    "print(1)",
    "if __name__ == '__main__':\n    f(1)",
    "LEVEL: int",
    "A, B = 1, 2",
    "del A",
)


@given(st.lists(st.sampled_from(STATEMENTS), max_size=12))
def test_a_piece_splits_into_itself(statements: list[str]) -> None:
    draft = split_text("\n".join(statements) + "\n")
    for node in draft.pieces:
        source = draft.pieces[node].source
        again = split_text(source).pieces[node].source
        assert ast.dump(ast.parse(again)) == ast.dump(ast.parse(source))


@given(st.lists(st.sampled_from((*STATEMENTS, *EFFECTS)), max_size=12))
def test_every_statement_is_in_a_piece_or_harmless_or_noted(statements: list[str]) -> None:
    text = "\n".join(statements) + "\n"
    draft = split_text(text)
    owned = "\n".join(p.source for p in (*draft.pieces.values(), *draft.crossing.values()))
    for statement in parse(text).body:
        own = isinstance(statement, Function) and statement.name in {"f", "g", "h"}
        if own or is_harmless(statement) or isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        kept = ast.unparse(statement) in ast.unparse(ast.parse(owned))
        assert kept or any(summary(statement) in loss for loss in draft.losses), draft


@given(st.text())
def test_any_text_is_split_or_a_format_mismatch(text: str) -> None:
    try:
        draft = split_text(text)
    except FormatMismatch:
        return
    assert set(draft.pieces) | set(draft.missing) == {S1, S2}


REPEATED = (
    "{",
    "(",
    "[",
    '"""',
    "#",
    "\n",
    "x = 1\n",
    "x=1;",
    "f(",
    "lambda:",
    "-",
    "a.",
    "a[",
    "\\\n",
)
LONG_REPLIES = {
    **{text: text * (99_000 // len(text)) for text in REPEATED},
    "helpers in a chain": "\n".join(f"h{n} = h{n + 1}" for n in range(4_900)),
    "functions in a chain": "".join(f"def h{n}(): return h{n + 1}\n" for n in range(3_000)),
    "names of one value": "=".join(f"h{n}" for n in range(14_000)) + " = h1",
    "deep blocks": "".join(f"{' ' * n}if x:\n" for n in range(430)),
}


@pytest.mark.parametrize("text", LONG_REPLIES.values(), ids=map(repr, LONG_REPLIES))
def test_no_reply_stalls_the_parser(text: str) -> None:
    """Where the work grows with the square of the length, one of these takes minutes."""
    for code in (text, f"def f(x):\n    return h0\n{text}"):
        reply = Reply(
            text=f"```python\n{code}\n```", finish=FinishReason.STOP, usage=Usage(), model="m"
        )
        with suppress(FormatMismatch):
            SplitReplyFormat({S1: F}, {}).read(reply)


def test_the_members_that_members_use_are_kept() -> None:
    text = "class C:\n def f(self, x): return self.a\n a = b\n b = c\n c = 1\n d = 2\n"
    source = source_of_s1(text, "C")
    assert [line.split(" =")[0] for line in source.split("\n") if " = " in line] == ["a", "b", "c"]


def test_a_statement_that_binds_many_names_is_kept_once() -> None:
    names = [f"a{number}" for number in range(2_000)]
    tracemalloc.start()
    source = source_of_s1(f"def f(x):\n    return a6\n{' = '.join(names)} = 1\n")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source.count("a6 =") == 1
    assert peak < 500 * len(" = ".join(names))  # a copy for each name takes over 2,000


def test_a_statement_that_adds_to_a_helper_follows_what_it_uses() -> None:
    text = "X = []\nY = 2\nX += [Y]\ndef f(x): return X\n"
    assert source_of_s1(text) == "X = []\n\nY = 2\n\nX += [Y]\n\ndef f(x): return X\n"


def test_helpers_are_copied_into_pieces_up_to_a_limit() -> None:
    contracts = {
        NodeId(f"S{n}"): Contract(name=f"f{n}", params=(Param(name="x"),)) for n in range(1, 9)
    }
    helper = f"def h(x):\n    return [{'x, ' * 30_000}]\n"
    functions = "".join(f"def {c.name}(x): return h(x)\n" for c in contracts.values())
    with pytest.raises(FormatMismatch, match="too much code is shared"):
        split(helper + functions, contracts, {})
