"""Assembly is deterministic, and its certificate is checked against the source texts alone."""

import contextlib
import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.assembly import (
    AssemblyConflict,
    AssemblyDraft,
    Segment,
    assemble,
    assembly_faults,
    build_order,
    owner_of_line,
)
from auditcoder.domain.code import CodeBundle, NodeCode, read_bundle, units_of
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import BUILTINS
from auditcoder.domain.values import digest
from tests.support.record_builders import ROOT_NODE, S1, S2, node

replace = msgspec.structs.replace

GRAPH = TaskGraph(
    nodes=(replace(ROOT_NODE, dependencies=(S1, S2)), node("S1"), node("S2")), order=(S1, S2)
)


class BundleSet:
    """The bundles of a program, registered as the recorder registers them."""

    def __init__(self, sources: dict[str, str], scopes: dict[str, str] | None = None) -> None:
        self.code: dict[NodeId, NodeCode] = {}
        self.bundles: dict[NodeId, CodeBundle] = {}
        for name, source in sources.items():
            taken = BUILTINS | {u.registered for c in self.code.values() for u in c.units}
            scope = (scopes or {}).get(name, "")
            self.bundles[NodeId(name)] = bundle = read_bundle(source)
            self.code[NodeId(name)] = NodeCode(
                digest=digest(source.encode()),
                units=units_of(bundle, NodeId(name), scope, taken),
                written=1,
                scope=scope,
            )

    def assemble(self) -> AssemblyDraft:
        return assemble(GRAPH, self.code, self.bundles)

    def faults(self, text: str, segments: tuple[Segment, ...]) -> tuple[str, ...]:
        order = build_order(GRAPH, self.code)
        return assembly_faults(text, segments, order, self.code, self.bundles)


def run(text: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "program", "exec"), {"__name__": "__main__"})
    return out.getvalue()


HELPER = "\n\ndef helper(x):\n    return x {}\n"
PLAIN = {
    "S1": "import math\n\ndef f_S1(x):\n    return helper(x)\n" + HELPER.format("+ 1"),
    "S2": "import math\nimport os\n\ndef f_S2(x):\n    return helper(x)\n" + HELPER.format("* 2"),
    "S0": "def solve(x):\n    return f_S2(f_S1(x))\n\n"
    "if __name__ == '__main__':\n    print(solve(3))\n",
}


class TestAssembly:
    def test_helpers_of_one_name_are_renamed_and_imports_are_merged(self) -> None:
        draft = BundleSet(PLAIN).assemble()
        assert run(draft.text) == "8\n"
        assert draft.text.count("import math") == 1
        assert "helper__S2" in draft.text

    def test_assembly_is_deterministic(self) -> None:
        assert BundleSet(PLAIN).assemble() == BundleSet(PLAIN).assemble()

    def test_every_line_has_an_owner(self) -> None:
        draft = BundleSet(PLAIN).assemble()
        for number, line in enumerate(draft.text.splitlines(), 1):
            segment = owner_of_line(draft.segments, number)
            assert segment is not None
            if "solve" in line and "def" in line:
                assert segment.node == ROOT
            if line == "import math":
                assert segment.asked == (S1, S2)
        assert owner_of_line(draft.segments, 0) is None
        assert owner_of_line(draft.segments, 999) is None

    def test_methods_are_placed_in_their_class(self) -> None:
        bundle_set = BundleSet(
            {
                "S1": "def __init__(self):\n    self.text = '''a\nb'''\n",
                "S2": "import math\n\ndef twice(self):\n    return math.floor(2) * self.text\n",
                "S0": 'class Thing:\n    """A thing."""\n\n\nprint(Thing().twice())\n',
            },
            {"S1": "Thing", "S2": "Thing"},
        )
        draft = bundle_set.assemble()
        assert run(draft.text) == "a\nba\nb\n"
        assert bundle_set.faults(draft.text, draft.segments) == ()

    @pytest.mark.parametrize(
        ("bundle", "output"),
        [
            ("import datetime\nfrom datetime import datetime\nprint(datetime(1, 2, 3).day)\n", "3"),
            ("import time\nfrom time import time\nprint(time() > 0)\n", "True"),
            ("def sqrt(x): return 'mine'\nfrom math import sqrt\nprint(sqrt(4))\n", "2.0"),
            ("pow = None\nfrom math import sqrt as pow\nprint(pow(4))\n", "2.0"),
            ("import os.path\nimport os\nprint(os.path.sep)\n", "/"),
            ("import xml.dom\nimport xml.sax\nprint(xml.sax.__name__)\n", "xml.sax"),
        ],
    )
    def test_imports_keep_their_order_where_it_matters(self, bundle: str, output: str) -> None:
        bundle_set = BundleSet({"S1": bundle})
        draft = bundle_set.assemble()
        assert run(draft.text) == f"{output}\n"
        assert bundle_set.faults(draft.text, draft.segments) == ()

    @pytest.mark.parametrize(
        "bundle",
        [
            "from __future__ import annotations\nimport abc\n\nclass P(abc.ABC):\n    x: int = 0\n",
            "from dataclasses import dataclass\n\n@dataclass\nclass P:\n    x: int = 0\n",
            "from enum import Enum\n\nclass E(Enum):\n    A = 1\n",
            "from typing import TYPE_CHECKING as T\nif T:\n    from decimal import Decimal\n",
            "try:\n    import numpy as np\nexcept ImportError:\n    np = None\n",
            "__all__ = ['f']\n\ndef f(): ...\n",
            "count = 0\n\ndef bump():\n    global count\n    count += 1\n",
            "import asyncio\n\nasync def main():\n    await asyncio.sleep(0)\n",
            'TEXT = """\n>>> not code\n# coding: no\n"""\n',
            "# Huffman coding: build the tree\ndef build(): ...\n",
            "from functools import lru_cache\n\n@lru_cache\ndef fib(n): return n\n",
            "f = lambda x, *a, y=1, **k: (x, a, y, k)\n",
            "def outer():\n    def inner(): return 1\n    return inner\n",
            "class A:\n    class B:\n        def m(self): ...\n",
        ],
    )
    def test_ordinary_code_is_assembled(self, bundle: str) -> None:
        bundle_set = BundleSet({"S1": bundle, "S2": "def f_S2(x):\n    return x\n"})
        draft = bundle_set.assemble()
        compile(draft.text, "program", "exec")
        assert bundle_set.faults(draft.text, draft.segments) == ()

    @pytest.mark.parametrize(
        "bundle",
        [
            "@property\ndef p(self): return 1\n\n@p.setter\ndef p(self, v): pass\n",
            "class Inner:\n    def m(self): ...\n",
            "limit = 3\n\ndef m(self, x=(y := 2)): return x\n",
            'def m(self):\n    """Doc\n\n    more\n    """\n    return """a\nb"""\n',
            "__seen = 0\n\ndef __help(self): return self.__seen\n\ndef m(self): self.__help()\n",
            "class __Part:\n    def m(self):\n        global __made\n        __made = self\n",
            "try:\n    import json\nexcept ImportError:\n    json = None\n\ndef m(self): ...\n",
        ],
    )
    def test_ordinary_methods_are_assembled(self, bundle: str) -> None:
        bundle_set = BundleSet({"S1": bundle, "S0": "class C:\n    pass\n"}, {"S1": "C"})
        draft = bundle_set.assemble()
        compile(draft.text, "program", "exec")
        assert bundle_set.faults(draft.text, draft.segments) == ()

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("from math import floor\n", "from os.path import join as floor\n"),
            ("import json as j\n", "import math as j\n"),
            ("from math import gcd\n", "def gcd(a): return a\n"),
        ],
    )
    def test_a_name_with_two_meanings_is_refused(self, first: str, second: str) -> None:
        bundle_set = BundleSet({"S1": first + "a = 1\n", "S2": second + "b = 1\n"})
        with pytest.raises(AssemblyConflict):
            bundle_set.assemble()

    def test_a_method_without_its_class_is_refused(self) -> None:
        with pytest.raises(AssemblyConflict, match="Thing"):
            BundleSet({"S1": "def m(self): pass\n"}, {"S1": "Thing"}).assemble()

    @pytest.mark.parametrize(
        "again",
        [
            "class C:\n    pass\n",
            "C = object\n",
            "a = C = 1; C = 2\n",
            "del C\n",
            "if True:\n    class C:\n        pass\n",
            "from os import sep as C\n",
            "def f(a=(C := 1)): pass\n",
            "def f():\n    global C\n",
        ],
    )
    def test_a_class_with_methods_of_other_nodes_is_bound_once(self, again: str) -> None:
        root = "class C:\n    pass\n\n\n"
        for source in (root + again, again + root):
            bundle_set = BundleSet({"S1": "def m(self): pass\n", "S0": source}, {"S1": "C"})
            with pytest.raises(AssemblyConflict, match="bound more than once"):
                bundle_set.assemble()
            alone = BundleSet({"S1": "n = 1\n", "S0": source})
            assert alone.faults((draft := alone.assemble()).text, draft.segments) == ()

    def test_imports_from_the_future_come_first(self) -> None:
        bundle_set = BundleSet(
            {"S1": "import abc\na = 1\n", "S2": "from __future__ import annotations\nb = 1\n"}
        )
        assert bundle_set.assemble().text.startswith("from __future__")

    @pytest.mark.parametrize(
        "source",
        [
            "from __future__ import annotations; import sys\nb = sys.maxsize\n",
            "from __future__ import annotations; import sys; import os\nb = os.sep\n",
            "from __future__ import annotations\nannotations = []\n",
            "from __future__ import annotations as late\n",
            "from __future__ import (\n    annotations,\n    division,\n)\n",
            '"""Doc."""\nfrom __future__ import annotations\n',
        ],
    )
    @pytest.mark.parametrize("scope", ["", "C"])
    def test_imports_from_the_future_are_lifted_out_in_any_form(
        self, source: str, scope: str
    ) -> None:
        bundle_set = BundleSet(
            {"S1": "a = 1\n", "S2": source + "c = 1\n", "S0": "class C:\n    pass\n"},
            {"S2": scope},
        )
        draft = bundle_set.assemble()
        exec(compile(draft.text, "program", "exec"), {})
        assert bundle_set.faults(draft.text, draft.segments) == ()

    def test_a_line_of_other_imports_stays_in_its_bundle(self) -> None:
        bundle_set = BundleSet({"S1": "import os; import sys\na = 1\n"})
        assert bundle_set.assemble().text == "import os; import sys\n\na = 1\n"

    @given(st.text(alphabet="defx=1():\n\t#'\" ,;", min_size=1, max_size=40))
    def test_whatever_the_bundles_are_the_certificate_holds(self, noise: str) -> None:
        bundle_set = BundleSet(PLAIN | {"S2": noise})
        draft = bundle_set.assemble()
        assert bundle_set.faults(draft.text, draft.segments) == ()


class TestCertificate:
    @pytest.fixture
    def bundle_set(self) -> BundleSet:
        return BundleSet(PLAIN)

    def test_a_correct_certificate_holds(self, bundle_set: BundleSet) -> None:
        draft = bundle_set.assemble()
        assert bundle_set.faults(draft.text, draft.segments) == ()

    def test_a_changed_line_is_a_fault(self, bundle_set: BundleSet) -> None:
        draft = bundle_set.assemble()
        lines = draft.text.splitlines()
        for n, line in enumerate(lines):
            for other in (line + " ", "pass", "import os  # twice", line.lstrip() + "#"):
                altered = "\n".join([*lines[:n], other, *lines[n + 1 :]]) + "\n"
                if altered != draft.text:
                    assert bundle_set.faults(altered, draft.segments)

    def test_a_removed_or_added_line_is_a_fault(self, bundle_set: BundleSet) -> None:
        draft = bundle_set.assemble()
        lines = draft.text.splitlines()
        for n in range(len(lines)):
            assert bundle_set.faults("\n".join(lines[:n] + lines[n + 1 :]) + "\n", draft.segments)
            assert bundle_set.faults("\n".join([*lines[:n], "", *lines[n:]]) + "\n", draft.segments)

    def test_an_omitted_or_repeated_segment_is_a_fault(self, bundle_set: BundleSet) -> None:
        draft = bundle_set.assemble()
        lines = draft.text.splitlines()
        start = 0
        for n, segment in enumerate(draft.segments):
            piece = lines[start : start + segment.lines]
            rest = draft.segments[:n] + draft.segments[n + 1 :]
            without = lines[:start] + lines[start + segment.lines :]
            if any(piece):
                assert bundle_set.faults("\n".join(without) + "\n", rest)
                twice = [*draft.segments[: n + 1], segment, *draft.segments[n + 1 :]]
                text = [*lines[:start], *piece, *piece, *lines[start + segment.lines :]]
                assert bundle_set.faults("\n".join(text) + "\n", tuple(twice))
            start += segment.lines

    def test_code_inside_a_string_of_another_node_is_a_fault(self) -> None:
        bundle_set = BundleSet(
            {"S1": 'text = """\n\n"""\n', "S2": "def f_S2(x):\n    return x\n", "S0": "a = 1\n"}
        )
        text = 'text = """\ndef f_S2(x):\n    return x\n\n"""\na = 1\n'
        segments = (
            Segment(lines=1, node=S1, source=1),
            Segment(lines=2, node=S2, source=1),
            Segment(lines=2, node=S1, source=2),
            Segment(lines=1, node=ROOT, source=1),
        )
        assert any("cut inside" in fault for fault in bundle_set.faults(text, segments))

    def test_a_method_outside_its_class_is_a_fault(self) -> None:
        bundle_set = BundleSet(
            {"S1": "def m(self): pass\n", "S0": "class A:\n    x = 1\n\ndef f():\n    pass\n"},
            {"S1": "A"},
        )
        honest = bundle_set.assemble()
        assert bundle_set.faults(honest.text, honest.segments) == ()
        text = "class A:\n    x = 1\n\ndef f():\n    pass\n    def m(self): pass\n"
        segments = (
            Segment(lines=2, node=ROOT, source=1),
            Segment(lines=3, node=ROOT, source=3),
            Segment(lines=1, node=S1, source=1),
        )
        assert any("outside its class" in fault for fault in bundle_set.faults(text, segments))

    def test_methods_of_several_nodes_follow_the_order_of_the_graph(self) -> None:
        bundle_set = BundleSet(
            {
                "S1": "limit = 1\ndef m(self): pass\n",
                "S2": "more = 2\ndef n(self): pass\n",
                "S0": "class C:\n    pass\n",
            },
            {"S1": "C", "S2": "C"},
        )
        root = Segment(lines=2, node=ROOT, source=1)
        limit, m = (Segment(lines=1, node=S1, source=line) for line in (1, 2))
        more, n = (Segment(lines=1, node=S2, source=line) for line in (1, 2))
        text = {
            limit: "limit = 1",
            m: "def m(self): pass",
            more: "more = 2",
            n: "def n(self): pass",
        }

        def faults(*segments: Segment) -> tuple[str, ...]:
            lines = "".join(f"    {text[segment]}\n" for segment in segments)
            return bundle_set.faults(f"class C:\n    pass\n{lines}", (root, *segments))

        assert faults(limit, m, more, n) == ()
        for other in ((more, n, limit, m), (limit, more, m, n), (limit, more, n, m)):
            assert any("in the graph's order" in fault for fault in faults(*other))

    @pytest.mark.parametrize("source", [0, -5, 10**9])
    def test_invalid_line_numbers_are_faults_not_errors(
        self, bundle_set: BundleSet, source: int
    ) -> None:
        draft = bundle_set.assemble()
        odd = tuple(replace(s, source=source) if s.node else s for s in draft.segments)
        assert bundle_set.faults(draft.text, odd)
        assert bundle_set.faults(
            draft.text, tuple(replace(s, lines=source) for s in draft.segments)
        )
