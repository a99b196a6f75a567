"""What names are bound to is compared with the program's text, and changes are attributed."""

import builtins
import functools
import sys
import threading
import types
import unittest.mock
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
        ("mine", "S1", True, ["1", "2"], [], True),
        ("Kind", "S1", True, [], [], True),
        ("Kind.method", "S1", True, [], [], True),
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


def replaced(names: CodeIntegrity) -> list[str]:
    return [name for name, _ in names.replaced()]


def nothing(*_: object) -> None:
    """Do nothing."""


CHANGES: dict[str, tuple[Callable[[Any], object], list[str]]] = {
    "a function": (lambda n: n.update(mine=nothing), ["mine"]),
    "a function of the program": (lambda n: n.update(mine=n["other"]), ["mine"]),
    "code": (lambda n: setattr(n["mine"], "__code__", nothing.__code__), ["mine"]),
    "a default": (lambda n: setattr(n["mine"], "__defaults__", (2,)), ["mine"]),
    "a default of another type": (lambda n: setattr(n["mine"], "__defaults__", (True,)), ["mine"]),
    "a keyword default": (lambda n: n["mine"].__kwdefaults__.update(y=3), ["mine"]),
    "a method": (lambda n: setattr(n["Kind"], "method", nothing), ["Kind.method"]),
    "a special method": (lambda n: setattr(n["Kind"], "__call__", nothing), ["Kind"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_suspicious(change: str) -> None:
    names, namespace = loaded()
    assert names.replaced() == []
    act, expected = CHANGES[change]
    act(namespace)
    assert replaced(names) == expected


def test_what_changes_after_loading_is_suspicious_even_if_the_text_explains_it() -> None:
    source = f"{SOURCE}\n\nmine = [mine].pop()\n"
    owned = OWNED | {"units": [("mine", "S1", False, [], [], True)]}
    names, namespace = loaded(source, owned)
    names.remember()
    assert names.replaced() == []
    namespace["mine"] = len
    assert replaced(names) == ["mine"]


def test_a_program_without_owners_has_no_names() -> None:
    names, namespace = loaded(owned=None)
    namespace.clear()
    assert names.replaced() == []


def test_a_name_that_was_not_reached_while_loading_is_not_suspicious() -> None:
    names, namespace = loaded()
    namespace.clear()
    assert names.replaced() == []
    names, namespace = loaded()
    names.remember()
    namespace.pop("mine")
    assert names.replaced() == [("mine", "binding"), ("mine", "text")]


PARTS_SOURCE = """\
import contextlib
import dataclasses
import functools


def logged(f):
    def inner(*a):
        return f(*a)
    return functools.wraps(f)(inner)


@logged
def decorated(x):
    return x


class Base:
    level = None

    def method(self):
        return 1


class Kind(Base):
    assigned = lambda self: 1

    @functools.cached_property
    def cached(self):
        return 1


@dataclasses.dataclass
class Data:
    x: int


@contextlib.contextmanager
def context():
    yield 1


bound = functools.partial(decorated, 1)
data = None
"""


def with_parts() -> tuple[CodeIntegrity, dict[str, Any]]:
    defined = ("decorated", "Base", "Base.method", "Kind", "Kind.cached", "Data", "context")
    units: list[Any] = [(name, "S1", False, [], [], True) for name in defined]
    units += [(name, "S1", False, [], [], False) for name in ("bound", "data", "functools")]
    owned = {"lines": [(1, PARTS_SOURCE.count("\n"), "S1")], "units": units}
    names, namespace = loaded(PARTS_SOURCE, owned)
    names.remember()
    assert names.replaced() == []
    return names, namespace


def other_partial(n: Any) -> None:
    n["bound"].__setstate__((nothing, (), {}, {}))


PARTS: dict[str, tuple[Callable[[Any], object], tuple[str, str]]] = {
    "bases": (lambda n: setattr(n["Kind"], "__bases__", (n["Data"],)), ("Kind", "bases")),
    "a method that hides an inherited one": (
        lambda n: setattr(n["Kind"], "method", nothing),
        ("Kind", "attribute method"),
    ),
    "a property that hides data of instances": (
        lambda n: setattr(n["Data"], "x", property(nothing)),
        ("Data", "attribute x"),
    ),
    "a special method": (
        lambda n: setattr(n["Kind"], "__getattribute__", nothing),
        ("Kind", "attribute __getattribute__"),
    ),
    "a method that was assigned": (
        lambda n: setattr(n["Kind"], "assigned", nothing),
        ("Kind", "attribute assigned"),
    ),
    "code of a generated method": (
        lambda n: setattr(n["Data"].__init__, "__code__", nothing.__code__),
        ("Data", "attribute __init__ code"),
    ),
    "a closure": (
        lambda n: setattr(n["decorated"].__closure__[0], "cell_contents", nothing),
        ("decorated", " closure"),
    ),
    "a closure of the library": (
        lambda n: setattr(n["context"].__closure__[0], "cell_contents", nothing),
        ("context", " closure"),
    ),
    "an attribute that tells what is wrapped": (
        lambda n: setattr(n["decorated"], "__wrapped__", nothing),
        ("decorated", " wrapped"),
    ),
    "the function of a cached property": (
        lambda n: setattr(vars(n["Kind"])["cached"], "func", nothing),
        ("Kind.cached", " func"),
    ),
    "the function of a partial": (other_partial, ("bound", " func")),
    "a class": (lambda n: n.update(Kind=type("Kind", (), {})), ("Kind", "binding")),
    "a name that was assigned": (lambda n: n.update(bound=nothing), ("bound", "binding")),
    "an import": (lambda n: n.update(functools=nothing), ("functools", "binding")),
}


@pytest.mark.parametrize("change", PARTS)
def test_parts_that_decide_what_code_does_are_compared(change: str) -> None:
    names, namespace = with_parts()
    act, expected = PARTS[change]
    act(namespace)
    assert expected in names.replaced()


DATA: dict[str, Callable[[Any], object]] = {
    "a callback where there was data": lambda n: setattr(n["Base"], "level", nothing),
    "a callback where there was nothing": lambda n: setattr(n["Kind"], "callback", nothing),
    "a callback that hides inherited data": lambda n: setattr(n["Kind"], "level", nothing),
    "a counter": lambda n: setattr(n["Kind"], "count", 1),
    "a cache of a function": lambda n: setattr(n["decorated"], "cache", {}),
    "what is inherited anyway": lambda n: setattr(n["Kind"], "method", n["Base"].method),
    "global data": lambda n: n.update(data=nothing),
}


@pytest.mark.parametrize("change", DATA)
def test_data_may_change(change: str) -> None:
    names, namespace = with_parts()
    DATA[change](namespace)
    assert names.replaced() == []


def test_a_built_in_name_that_is_replaced_or_hidden_is_suspicious(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names, namespace = loaded()
    names.remember()
    monkeypatch.setattr(builtins, "abs", nothing)
    monkeypatch.setattr(builtins, "_", nothing, raising=False)
    namespace["len"] = nothing
    assert names.replaced() == [("abs", "built-in"), ("len", "built-in")]


Change = tuple[str, str, int, bool]


def traced(
    source: str,
    act: Callable[[Any], object],
    owned: dict[str, Any] = OWNED,
    tests: types.CodeType | None = None,
) -> tuple[list[Change], CodeIntegrity]:
    """Load a program and do something with its names, traced; return what was reported."""
    seen: list[Change] = []
    module = types.ModuleType("program")
    names = CodeIntegrity(owned, module.__dict__)
    code = compile(source, PROGRAM, "exec", dont_inherit=True)
    names.expect(code)
    before, limit = sys.gettrace(), sys.getrecursionlimit()
    try:
        names.trace(tests, lambda *change: seen.append(change))
        exec(code, module.__dict__)
        names.remember()
        act(module)
        names.finish()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        sys.settrace(before)
        threading.settrace(before)
        sys.setrecursionlimit(limit)
    return seen, names


@pytest.mark.parametrize(
    ("caller", "found"),
    [
        ("other", [("mine", "binding", 11, False)]),
        ("owner_of_mine", [("mine", "binding", 16, True), ("mine", "text", 0, True)]),
    ],
)
@pytest.mark.parametrize(
    "way",
    [
        "globals()['mine'] = print",
        "globals()['mi' + 'ne'] = max(print, print, key=id)",
        "globals().update(mine=print)",
        "globals().__setitem__('mine', print)",
        "exec('mine = print', globals())",
    ],
)
def test_a_change_is_attributed_to_the_line_that_made_it(
    caller: str, found: list[Change], way: str
) -> None:
    source = SOURCE.replace("change(globals())", way)
    seen, names = traced(source, lambda module: getattr(module, caller)(None))
    assert seen == found
    assert names.violated is (caller == "other")


@pytest.mark.parametrize(
    "way",
    [
        "[hook() for hook in HOOKS]",
        "x = {}; x['a'] = HOOKS[0]()",
        "min([1, 2], key=lambda _: HOOKS[0]() or 1)",
        "threading.Timer(0, HOOKS[0]).run()",
    ],
)
@pytest.mark.parametrize("caller", ["other", "owner_of_mine"])
def test_a_change_by_a_callback_of_the_library_has_no_place(caller: str, way: str) -> None:
    def act(module: types.ModuleType) -> None:
        space = vars(module)
        space["threading"] = threading
        space["HOOKS"] = [functools.partial(space.__setitem__, "mine", print)]
        getattr(module, caller)(None)

    seen, names = traced(SOURCE.replace("change(globals())", way), act)
    assert seen == [("mine", "binding", 0, False)]
    assert not names.violated


def test_a_change_by_another_thread_has_no_place() -> None:
    source = SOURCE.replace("change(globals())", "change.start(); change.join()")

    def act(module: types.ModuleType) -> None:
        target = vars(module).__setitem__
        module.owner_of_mine(threading.Thread(target=target, args=("mine", print)))

    assert traced(source, act)[0] == [("mine", "binding", 0, False)]


@pytest.mark.parametrize(
    "test",
    [
        "program.mine = print",
        "setattr(program, 'mine', print)",
        "unittest.mock.patch.object(program, 'mine', print).start()",
    ],
)
def test_what_a_test_changes_is_legal(test: str) -> None:
    tests = compile(f"{test}\nprogram.other(print)\n", TESTS, "exec", dont_inherit=True)

    def act(module: types.ModuleType) -> None:
        exec(tests, {"program": module, "unittest": unittest})

    source = SOURCE.replace("change(globals())", "pass")
    seen, names = traced(source, act, tests=tests)
    assert seen == [("mine", "binding", 0, True), ("mine", "text", 0, True)]
    assert not names.violated


def test_a_decorator_may_change_its_own_closure() -> None:
    source = (
        "def switching(f):\n    def inner(*a):\n        nonlocal f\n        f = abs\n"
        "        return f(*a)\n    return inner\n\n\n@switching\ndef mine(x):\n    return x\n"
    )
    owned = {"lines": [(1, 6, "S2"), (9, 11, "S1")], "units": [("mine", "S1", False, [], [], True)]}
    seen, names = traced(source, lambda module: module.mine(1), owned)
    assert ("mine", " closure", 4, True) in seen
    assert not names.violated


def test_a_descriptor_may_replace_itself() -> None:
    source = (
        "class Lazy:\n    def __set_name__(self, kind, name):\n        self.name = name\n\n"
        "    def __get__(self, it, kind):\n        setattr(kind, self.name, 7)\n"
        "        return 7\n\n\nclass Kind:\n    seven = Lazy()\n"
    )
    owned = {"lines": [(1, 7, "S2"), (10, 11, "S1")], "units": [("Kind", "S1", True, [], [], True)]}
    seen, names = traced(source, lambda module: module.Kind.seven, owned)
    assert seen == [("Kind", "attribute seven", 6, True)]
    assert not names.violated
