"""Top-level statements are told apart: definitions, set-up, demos and tests."""

import pytest

from auditcoder.domain.code import read_bundle
from auditcoder.domain.python_names import Function, parse
from auditcoder.lifecycle.module_statements import (
    binds,
    changes,
    is_harmless,
    is_set_up,
    needs_late_annotations,
    source_of,
    without_docstrings,
)


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ('"""Text."""', True),
        ("print(f(1))", True),
        ('if __name__ == "__main__":\n    f()', True),
        ("if TYPE_CHECKING:\n    import x", True),
        ("__all__ = ['f']", True),
        ("size: int", True),
        ("assert f(1) == 2", False),
        ("f(1)", False),
        ("size: int = 3", False),
        ("for i in x:\n    f(i)", False),
    ],
)
def test_what_may_be_left_out_is_known(text: str, harmless: bool) -> None:
    assert is_harmless(parse(text).body[0]) is harmless


@pytest.mark.parametrize(
    ("text", "set_up"),
    [
        ("sys.setrecursionlimit(10**6)", True),
        ("decimal.getcontext().prec = 50", True),
        ("sys.stdout.write(f(1))", False),
        ("unittest.main()", False),
        ("doctest.testmod()", False),
        ("table.append(1)", False),
    ],
)
def test_setting_up_a_module_is_no_demo(text: str, set_up: bool) -> None:
    imported = {"sys", "decimal", "unittest", "doctest"}
    assert is_set_up(parse(text).body[0], imported, {"f"}) is set_up


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("gap = 90  # minutes; less is free", "gap = 90  # minutes; less is free"),
        ("name = 'a;b'  # one", "name = 'a;b'  # one"),
        ("name = 'ä;ö'  # ü; one", "name = 'ä;ö'  # ü; one"),
        ("a = 1; b = 2  # both", "a = 1"),
        ("a = (1)  ; # one", "a = 1"),
    ],
)
def test_the_comment_behind_a_statement_is_part_of_its_source(text: str, kept: str) -> None:
    assert source_of(read_bundle(text), parse(text).body[0]) == f"{kept}\n"


def test_names_that_a_statement_binds_and_changes_are_found() -> None:
    loop = parse("for i in range(3):\n    table[i] = 1\n    seen.add(i)\n    a.b.c = 1\n").body[0]
    assert (binds(loop), changes(loop)) == ({"i"}, {"table", "seen", "a"})
    guarded = parse("try:\n    from math import isqrt\nexcept ImportError:\n    isqrt = None").body[
        0
    ]
    assert binds(guarded) == {"isqrt"}


def test_a_statement_is_cut_out_with_its_decorators_and_comments() -> None:
    text = "a = 1; b = 2\n@f\ndef g():\n    # why\n    return 1\n"
    bundle, (first, second, third) = read_bundle(text), parse(text).body
    assert [source_of(bundle, s) for s in (first, second)] == ["a = 1\n", "b = 2\n"]
    assert source_of(bundle, third) == "@f\ndef g():\n    # why\n    return 1\n"


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("def f(x: int) -> list[int]: ...", False),
        ("class A: ...\ndef f(x: A) -> A: ...", False),
        ("def f(x: A): ...\nclass A: ...", True),
        ("class A:\n    def f(self) -> A: ...", True),
        ("def f(x: Elsewhere): ...", False),
        ("def f(x: Unknown): ...", True),
    ],
)
def test_late_annotations_are_needed_where_a_name_comes_later(text: str, needed: bool) -> None:
    assert needs_late_annotations(parse(text), {"Elsewhere"}) is needed


def test_functions_are_compared_without_docstrings_and_annotations() -> None:
    def form(text: str) -> str:
        function = parse(text).body[0]
        assert isinstance(function, Function)
        return without_docstrings(function)

    plain = form("def f(x):\n    return x")
    assert form('def f(x: int) -> int:\n    """Say."""\n    return x  # so') == plain
    assert form("def f(x):\n    return 1") != plain
