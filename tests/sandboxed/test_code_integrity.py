"""What names are bound to is compared with the program's text, and changes are attributed."""

import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

from auditcoder.sandboxed.code_integrity import CodeIntegrity
from auditcoder.sandboxed.exception_report import PROGRAM, TESTS

SOURCE = """\
def mine(x=1, *, y=2):
    return x


class Kind:
    def method(self):
        return 1


def other(change):
    change(globals())
    return None


def owner_of_mine(change):
    change(globals())
    return None
"""
OWNED: dict[str, Any] = {
    "lines": [(1, 7, "S1"), (10, 12, "S2"), (15, 17, "S1")],
    "units": [
        ("mine", "S1", True, ["1", "2"], []),
        ("Kind", "S1", True, [], []),
        ("Kind.method", "S1", True, [], []),
    ],
}


def loaded(source: str = SOURCE, owned: dict[str, Any] | None = OWNED) -> Any:
    """Load a program, and return its names and the namespace."""
    module = types.ModuleType("program")
    names = CodeIntegrity(owned, module.__dict__)
    code = compile(source, PROGRAM, "exec", dont_inherit=True)
    names.expect(code)
    exec(code, module.__dict__)
    return names, module.__dict__


def nothing(*_: object) -> None:
    """Do nothing."""


CHANGES: dict[str, tuple[Callable[[Any], object], list[str]]] = {
    "a function": (lambda n: n.update(mine=nothing), ["mine"]),
    "a function that is gone": (lambda n: n.pop("mine"), ["mine"]),
    "a function of the program": (lambda n: n.update(mine=n["other"]), ["mine"]),
    "code": (lambda n: setattr(n["mine"], "__code__", nothing.__code__), ["mine"]),
    "a default": (lambda n: setattr(n["mine"], "__defaults__", (2,)), ["mine"]),
    "a default of another type": (lambda n: setattr(n["mine"], "__defaults__", (True,)), ["mine"]),
    "a keyword default": (lambda n: n["mine"].__kwdefaults__.update(y=3), ["mine"]),
    "a method": (lambda n: setattr(n["Kind"], "method", nothing), ["Kind.method"]),
    "a special method": (lambda n: setattr(n["Kind"], "__call__", nothing), ["Kind"]),
    "a class": (lambda n: n.update(Kind=type("Kind", (), {})), ["Kind.method"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_suspicious(change: str) -> None:
    names, namespace = loaded()
    assert names.replaced() == []
    act, expected = CHANGES[change]
    act(namespace)
    assert names.replaced() == expected


def test_what_changes_after_loading_is_suspicious_even_if_the_text_explains_it() -> None:
    source = f"{SOURCE}\n\nmine = [mine].pop()\n"
    owned = OWNED | {"units": [("mine", "S1", False, [], [])]}
    names, namespace = loaded(source, owned)
    names.remember()
    assert names.replaced() == []
    namespace["mine"] = len
    assert names.replaced() == ["mine"]


def test_a_program_without_owners_has_no_names() -> None:
    names, namespace = loaded(owned=None)
    namespace.clear()
    assert names.replaced() == []


@pytest.mark.parametrize(
    ("caller", "found"),
    [("other", [("mine", 11)]), ("owner_of_mine", [])],
)
def test_a_change_is_attributed_to_the_line_that_made_it(
    caller: str, found: list[tuple[str, int]]
) -> None:
    seen: list[tuple[str, int]] = []
    module = types.ModuleType("program")
    names = CodeIntegrity(OWNED, module.__dict__)
    code = compile(SOURCE, PROGRAM, "exec", dont_inherit=True)
    names.expect(code)
    before, limit = sys.gettrace(), sys.getrecursionlimit()
    try:
        names.trace(None, lambda name, line: seen.append((name, line)))
        exec(code, module.__dict__)
        module.__dict__[caller](lambda namespace: namespace.update(mine=len))
    finally:
        sys.settrace(before)
        threading.settrace(before)
        sys.setrecursionlimit(limit)
    assert seen == found
    assert names.violated is bool(found)


def test_what_a_test_changes_is_not_attributed_to_the_program() -> None:
    seen: list[tuple[str, int]] = []
    module = types.ModuleType("program")
    names = CodeIntegrity(OWNED, module.__dict__)
    code = compile(SOURCE, PROGRAM, "exec", dont_inherit=True)
    tests = compile("program.mine = len\nprogram.other(print)\n", TESTS, "exec", dont_inherit=True)
    names.expect(code)
    before, limit = sys.gettrace(), sys.getrecursionlimit()
    try:
        names.trace(tests, lambda name, line: seen.append((name, line)))
        exec(code, module.__dict__)
        exec(tests, {"program": types.SimpleNamespace(other=nothing), "print": nothing})
        exec(tests, {"program": module, "print": nothing})
    finally:
        sys.settrace(before)
        threading.settrace(before)
        sys.setrecursionlimit(limit)
    assert seen == []
    assert names.replaced() == ["mine"]
