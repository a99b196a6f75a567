"""A snapshot of modules, classes and functions finds every kind of change."""

import builtins
import copy
import json
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import pytest

from auditcoder.sandboxed.harness_integrity import (
    Snapshot,
    Tampering,
    check_unchanged,
    function_snapshot,
    module_snapshot,
    take_snapshot,
)

SOURCE = """
import contextlib
import typing
LIMIT = 1

def plain(a=1, *, b=2): return a
def made(value):
    def inner(): return value
    return inner
closed = made([1])

@contextlib.contextmanager
def managed():
    yield

class Base:
    def inherited(self): pass

class Shape(typing.Protocol):
    def area(self): ...

class Sized:
    def __init__(self): pass

class Below(Shape, Sized):
    pass

class Judge(Base):
    level = 1
    def method(self): pass
    @classmethod
    def of_class(cls): pass
    @staticmethod
    def static(): pass
    @property
    def shown(self): return 1
"""


def module() -> Any:
    made = types.ModuleType("judge")
    exec(SOURCE, made.__dict__)
    return made


def nothing(*_: object, **__: object) -> None:
    """Do nothing."""


def nothing_yielded(*_: object, **__: object) -> Iterator[None]:
    """Do nothing, as a generator: code of another kind cannot be assigned."""
    yield


def _replace_cell(judge: Any) -> None:
    judge.closed.__closure__[0].cell_contents = [1]


def _replace_inner_code(judge: Any) -> None:
    judge.managed.__wrapped__.__code__ = nothing_yielded.__code__


CHANGES: dict[str, Callable[[Any], object]] = {
    "a function": lambda judge: setattr(judge, "plain", nothing),
    "a function that is gone": lambda judge: delattr(judge, "plain"),
    "a class": lambda judge: setattr(judge, "Judge", type("Judge", (judge.Base,), {})),
    "code": lambda judge: setattr(judge.plain, "__code__", nothing.__code__),
    "defaults": lambda judge: setattr(judge.plain, "__defaults__", (2,)),
    "keyword defaults": lambda judge: setattr(judge.plain, "__kwdefaults__", {"b": 2}),
    "one keyword default": lambda judge: judge.plain.__kwdefaults__.update(b=3),
    "a variable of a closure": _replace_cell,
    "code of a decorated function": _replace_inner_code,
    "a method": lambda judge: setattr(judge.Judge, "method", nothing),
    "code of a method": lambda judge: setattr(judge.Judge.method, "__code__", nothing.__code__),
    "code of a class method": lambda judge: setattr(
        judge.Judge.of_class.__func__, "__code__", nothing.__code__
    ),
    "code of a static method": lambda judge: setattr(
        judge.Judge.static, "__code__", nothing.__code__
    ),
    "code of a property": lambda judge: setattr(
        judge.Judge.shown.fget, "__code__", nothing.__code__
    ),
    "an added special method": lambda judge: setattr(judge.Judge, "__getattribute__", nothing),
    "an added method that hides another": lambda judge: setattr(judge.Judge, "inherited", nothing),
    "bases": lambda judge: setattr(judge.Judge, "__bases__", (type("B", (), {}),)),
}
HARMLESS: dict[str, Callable[[Any], object]] = {
    "nothing": lambda judge: judge.plain(),
    "data of a module": lambda judge: setattr(judge, "LIMIT", 2),
    "data of a class": lambda judge: setattr(judge.Judge, "level", 2),
    "a new function": lambda judge: setattr(judge, "other", nothing),
    "a new method": lambda judge: setattr(judge.Judge, "other", nothing),
    "annotations are read": lambda judge: judge.Judge.__annotations__,
    "an object is copied": lambda judge: copy.deepcopy(judge.Judge()),
    "a class below a protocol gets its constructor": lambda judge: judge.Below(),
    "a subclass": lambda judge: type("Sub", (judge.Judge,), {"method": nothing}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_found(change: str) -> None:
    judge = module()
    taken = take_snapshot([judge])
    check_unchanged(taken)
    CHANGES[change](judge)
    with pytest.raises(Tampering, match="the program"):
        check_unchanged(taken)


@pytest.mark.parametrize("change", HARMLESS)
def test_other_changes_are_allowed(change: str) -> None:
    judge = module()
    taken = take_snapshot([judge])
    HARMLESS[change](judge)
    check_unchanged(taken)


def test_chosen_names_are_compared_and_no_others() -> None:
    judge = module()
    taken = take_snapshot([judge], names=frozenset({"closed"}))
    judge.plain = nothing
    check_unchanged(taken)
    judge.closed = nothing
    with pytest.raises(Tampering, match="closed"):
        check_unchanged(taken)


def test_variables_of_closures_may_change_where_that_is_allowed() -> None:
    judge = module()
    taken = take_snapshot([judge], cells=False)
    _replace_cell(judge)
    check_unchanged(taken)


def test_one_function_and_imported_modules_can_be_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = module()
    taken = function_snapshot(judge.plain) + module_snapshot(["json"])
    monkeypatch.setitem(sys.modules, "json", types.ModuleType("json"))
    with pytest.raises(Tampering, match="json"):
        check_unchanged(taken)
    monkeypatch.setitem(sys.modules, "json", json)
    judge.plain.__code__ = nothing.__code__
    with pytest.raises(Tampering, match="plain"):
        check_unchanged(taken)


def test_tracing_is_found() -> None:
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        with pytest.raises(Tampering, match="traces"):
            check_unchanged(module_snapshot(["json"]))
        check_unchanged(Snapshot())  # nothing is watched
    finally:
        sys.settrace(before)


def test_the_comparison_uses_no_built_in_names() -> None:
    judge = module()
    taken = take_snapshot([judge])
    judge.plain = nothing
    names = ("len", "isinstance", "getattr", "all", "any", "vars", "zip")
    kept, found = {name: getattr(builtins, name) for name in names}, False
    builtins.__dict__.update(dict.fromkeys(names, nothing))
    try:
        check_unchanged(taken)
    except Tampering:
        found = True
    builtins.__dict__.update(kept)
    assert found


def test_a_context_manager_of_the_library_is_watched_to_its_inner_function() -> None:
    @contextmanager
    def managed() -> Any:
        yield 1

    taken = function_snapshot(managed)
    with managed(), suppress(Tampering):
        check_unchanged(taken)
    cast("Any", managed).__wrapped__.__code__ = nothing_yielded.__code__
    with pytest.raises(Tampering):
        check_unchanged(taken)
