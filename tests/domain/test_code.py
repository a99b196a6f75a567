"""What a bundle registers, and how a helper changes its name without changing its meaning."""

import ast
import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.code import UnitKind, read_bundle, renamed, units_of
from auditcoder.domain.ids import NodeId

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
        "source", ["def f(:\n", "x = 1\x00", "(" * 3000, "def f():\r    pass\r", "\ud800"]
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
            "def h(): return 1\ndef g(h=h): return h\nprint(g()())\n",
            "def h(): return 1\ndef g(h): return h\nprint(g(5), h())\n",
            "h = 1\ndef g():\n    global h\n    h = h + 1\ng()\nprint(h)\n",
            "h = 1\ndef g():\n    h = 5\n    return h\nprint(g(), h)\n",
            "def h(): return 1\nprint([h for h in (1, 2)], h())\n",
            "def h(): return 1\nx = lambda h: h\nprint(x(3), h())\n",
            "class h:\n    h = 3\n    def m(self): return h.h\nprint(h().m())\n",
            "def h(n): return n if n < 2 else h(n - 1)\nprint(h(5))\n",
            "def h(): return 1\ndef g(**k): return k\nprint(g(h=h())['h'])\n",
            "async  def  h(): return 1\nprint(h.__class__.__name__)\n",
            "h = 1; hh = 2; print('h', h, hh)  # h\n",
            "é = 'é'; h = é + 'x'; print(é, h)\n",
            "def g():\n    def h(): return 9\n    return h()\nh = 1\nprint(g(), h)\n",
            "def h(): return 1\ndef g():\n    return (lambda: h())()\nprint(g())\n",
            "h = 2\nprint(f'{h} {h!r} {h + h}')\n",
        ],
    )
    def test_a_renamed_bundle_does_what_it_did(self, source: str) -> None:
        after = renamed(source, {"h": "h__S1"})
        assert after is not None
        assert after.count("\n") == source.count("\n")
        assert run(after) == run(source)
        names = {n.id for n in ast.walk(ast.parse(after)) if isinstance(n, ast.Name)}
        top = {u.name for u in units_of(read_bundle(after), S1)}
        assert "h" not in top
        assert names

    @pytest.mark.parametrize(
        "source",
        [
            "h = 2\nh__S1 = 3\n",
            "def \\\n h(): return 1\n",
            "try: pass\nexcept Exception as h: pass\nh = 1\n",
            "[h := z for z in (8,)]\nh = 1\n",
            "match 1:\n    case h: pass\n",
            "\ufb01 = 2\n",
        ],
    )
    def test_what_cannot_be_renamed_faithfully_is_not_renamed(self, source: str) -> None:
        name = "fi" if "\ufb01" in source else "h"
        assert renamed(source, {name: f"{name}__S1"}) is None
        taken = frozenset({name})
        assert name in {u.registered for u in units_of(read_bundle(source), S1, "", taken)}

    @pytest.mark.parametrize(
        "source",
        [
            "h = 2\ndef f():\n    from math import sqrt as h\n    return h(16)\nprint(f())\n",
            "h = 2\ndef f():\n    try: 1 / 0\n    except Exception as h: return 1\nprint(f())\n",
            "h = 2\ndef f(x):\n    match x:\n        case h: return h\nprint(f(1))\n",
            "h = [1, 2]\ndef f(): return [h for h in h]\nprint(f())\n",
            "h = 2\nclass T:\n    def h(self, b): return 7\nprint(T().h(1))\n",
            "h = 2\nclass T:\n    h = 5\nprint(T.h)\n",
        ],
    )
    def test_scopes_that_shadow_a_name_keep_it(self, source: str) -> None:
        after = renamed(source, {"h": "h__S1"})
        assert after is None or run(after) == run(source)


def run(source: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "bundle", "exec"), {})
    return out.getvalue()
