"""What a bundle registers, and how a helper changes its name without changing its meaning."""

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.code import UnitKind, read_bundle, units_of
from auditcoder.domain.ids import NodeId
from auditcoder.domain.renaming import renamed

S1 = NodeId("S1")


def registered(source: str, scope: str = "", taken: frozenset[str] = frozenset()) -> dict[str, str]:
    return {u.name: u.registered for u in units_of(read_bundle(source), S1, scope, taken)}


class TestUnits:
    def test_functions_classes_methods_and_constants_are_units(self) -> None:
        source = (
            "import math\nLIMIT = 3\n\n@cache\ndef f(): pass\n\nclass C:\n    def m(self): pass\n"
        )
        kinds = {u.name: (u.kind, u.first, u.last) for u in units_of(read_bundle(source), S1)}
        assert kinds == {
            "LIMIT": (UnitKind.CONSTANT, 2, 2),
            "f": (UnitKind.FUNCTION, 3, 5),
            "C": (UnitKind.CLASS, 6, 8),
            "C.m": (UnitKind.METHOD, 8, 8),
        }

    def test_in_a_class_every_function_is_a_method(self) -> None:
        assert registered("def m(self): pass\n", scope="C") == {"m": "C.m"}

    def test_a_taken_name_is_registered_with_the_node(self) -> None:
        assert registered("def f(): pass\n", taken=frozenset({"f"})) == {"f": "f__S1"}

    @pytest.mark.parametrize(
        "source",
        [
            "for i in range(3): pass\n",
            "with open('x') as handle: pass\n",
            "if True:\n    def hidden(): pass\n",
            "try:\n    import json\nexcept ImportError:\n    json = None\n",
            "(n := 10)\n",
            "while False: x = 1\n",
            "match 1:\n    case bound: pass\n",
            "def f():\n    global hidden\n    hidden = 1\nf()\n",
            "class C:\n    global hidden\n    hidden = 1\n",
        ],
    )
    def test_whatever_binds_a_name_at_top_level_registers_it(self, source: str) -> None:
        tree = compile(source, "bundle", "exec")
        space: dict[str, object] = {}
        with contextlib.suppress(OSError):
            exec(tree, space)
        bound = set(space) - {"__builtins__"}
        assert bound <= set(registered(source))

    @pytest.mark.parametrize(
        "source",
        ["def f(:\n", "x = 1\x00", "(" * 3000, "def f():\r    pass\r", "\ud800", "type X = int\n"],
    )
    def test_what_does_not_parse_is_one_part_that_registers_nothing(self, source: str) -> None:
        bundle = read_bundle(source)
        assert not bundle.parses
        assert len(bundle.parts) == 1
        assert units_of(bundle, S1) == ()

    @given(st.text(alphabet="defclass x=1():\n\t#'\"\\ ,@;", max_size=60))
    def test_parts_tile_every_bundle(self, source: str) -> None:
        bundle = read_bundle(source)
        lines = [line for part in bundle.parts for line in range(part.first, part.last + 1)]
        assert lines == list(range(1, len(bundle.lines) + 1))


class TestRenaming:
    @pytest.mark.parametrize(
        "source",
        [
            "def h():\n    return 1\nprint(h() + h())\n",
            "h = 1\ndef g():\n    global h\n    h = h + 1\ng()\nprint(h)\n",
            "def h(n): return n if n < 2 else h(n - 1)\nprint(h(5))\n",
            "def h(): return 1\ndef g(**k): return k\nprint(g(h=h())['h'])\n",
            "h = 1; hh = 2; print('h', h, hh)  # h\n",
            "é = 'é'; h = é + 'x'; print(é, h)\n",
            "def h(): return 1\ndef g():\n    return (lambda: h())()\nprint(g())\n",
            "h = 2\nprint(f'{h} {h!r} {h + h}')\n",
            "def h():\n    'not h__S1'\n    return [h for _ in 'x'] and 1\nprint(h())\n",
            "try: pass\nexcept Exception as h: print(h)\nh = 1\nprint(h)\n",
        ],
    )
    def test_a_plain_name_is_changed_everywhere(self, source: str) -> None:
        after = renamed(source, {"h": "h__S1"})
        assert after is not None
        assert after.count("\n") == source.count("\n")
        assert run(after) == run(source)
        assert "h" not in {u.name for u in units_of(read_bundle(after), S1)}

    @pytest.mark.parametrize(
        "source",
        [
            "h = 2\nh__S1 = 3\n",
            "def \\\n h(): return 1\n",
            "[h := z for z in (8,)]\nh = 1\n",
            "class h: pass\n",
            "h = 1\ndef g(h): return h\n",
            "h = 1\ndef f(x, key=lambda h: h): return h(x)\n",
            "h = 1\nclass K:\n    h = staticmethod(h)\n",
            "h = 0\ndef f(x):\n  h = 1\n  def g():\n    global h\n    return h\n  return g()\n",
            "h = 2\ndef f():\n    from math import sqrt as h\n    return h(16)\n",
            "h = [1, 2]\ndef f(): return [h for h in h]\n",
            "try:\n    import numpy as h\nexcept ImportError:\n    h = None\n",
            "def f():\n    global h\n    h = 1\n",
        ],
    )
    def test_what_has_more_than_one_meaning_is_left_alone(self, source: str) -> None:
        after = renamed(source, {"h": "h__S1"})
        assert after is None or run(after) == run(source)
        if after is None:
            taken = frozenset({"h"})
            assert "h" in {u.registered for u in units_of(read_bundle(source), S1, "", taken)}

    @pytest.mark.parametrize("name", ["__v__", "__v", "_K__h", "fi"])
    def test_names_that_are_spelt_in_two_ways_are_left_alone(self, name: str) -> None:
        spelt = "\ufb01" if name == "fi" else name
        assert renamed(f"{spelt} = 1\n", {name: f"{name}__S1"}) is None


def run(source: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "bundle", "exec"), {})
    return out.getvalue()
