"""Renamed helpers: a new name is taken only where it cannot change the code's meaning."""

import contextlib
import io
import sys

import pytest

from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.helper_renames import renamed
from auditcoder.domain.ids import NodeId

S1 = NodeId("S1")


def run(source: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "bundle", "exec"), {})
    return out.getvalue()


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
def test_a_plain_name_is_changed_everywhere(source: str) -> None:
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
def test_a_name_with_more_than_one_meaning_is_left_alone(source: str) -> None:
    after = renamed(source, {"h": "h__S1"})
    assert after is None or run(after) == run(source)
    if after is None:
        taken = frozenset({"h"})
        assert "h" in {u.registered for u in units_of(read_bundle(source), S1, "", taken)}


@pytest.mark.parametrize("name", ["__v__", "__v", "_K__h", "fi"])
def test_names_that_are_spelt_in_two_ways_are_left_alone(name: str) -> None:
    spelt = "\ufb01" if name == "fi" else name
    assert renamed(f"{spelt} = 1\n", {name: f"{name}__S1"}) is None


def test_no_renames_leave_the_source_alone() -> None:
    assert renamed("def f(:\n", {}) == "def f(:\n"


def test_code_that_does_not_parse_is_not_renamed() -> None:
    assert renamed("def h(:\n", {"h": "h__S1"}) is None


def test_a_name_that_the_code_does_not_bind_is_not_renamed() -> None:
    assert renamed("print(h)\n", {"h": "h__S1"}) is None


def test_several_names_are_renamed_at_once() -> None:
    source = "def g(): return 1\ndef h(): return g()\nprint(h())\n"
    after = renamed(source, {"g": "g__S1", "h": "h__S1"})
    assert after == "def g__S1(): return 1\ndef h__S1(): return g__S1()\nprint(h__S1())\n"


def test_one_unsafe_name_prevents_every_rename() -> None:
    assert renamed("g = 1\nclass h: pass\n", {"g": "g__S1", "h": "h__S1"}) is None


def test_code_is_renamed_whatever_the_limit_of_the_interpreter() -> None:
    source = f"def helper():\n    return {'7' * 4000}\n"
    limit = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(640)
        assert renamed(source, {"helper": "helper__S1"}) is not None
    finally:
        sys.set_int_max_str_digits(limit)
