"""What decides how code behaves is compared; data is not."""

import functools
import types
from collections.abc import Callable
from typing import Any

import pytest

from auditcoder.sandboxed.code_state import (
    BINDING,
    MISSING,
    State,
    changes_of,
    functions_behind,
    is_code,
    state_of,
)


def state_in(space: dict[str, Any], name: str, *, defined: bool = True) -> State:
    return state_of(space, name, defined=defined, module="program", members=frozenset())


def namespace(source: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "program"}
    exec(source, space)
    return space


FUNCTION = "def f(x, y=1, *, z=2):\n    return x\n"
CLOSURE = (
    "def outer(g):\n    def f():\n        return g()\n    return f\n\n\nf = outer(lambda: 1)\n"
)
CLASS = (
    "class Base:\n    def old(self): ...\n\n\n"
    "class C(Base):\n    limit = 3\n    def m(self): ...\n    @property\n    def p(self): ...\n"
)


@pytest.mark.parametrize(
    ("source", "name", "change", "found"),
    [
        (FUNCTION, "f", "f = None", {BINDING}),
        (FUNCTION, "f", "del f", {BINDING}),
        (FUNCTION, "f", "f.__code__ = (lambda x, y, z: 0).__code__", {" code"}),
        (FUNCTION, "f", "f.__defaults__ = (7,)", {" defaults"}),
        (FUNCTION, "f", "f.__kwdefaults__['z'] = 7", {" defaults"}),
        (CLOSURE, "f", "f.__closure__[0].cell_contents = len", {" closure"}),
        (CLASS, "C", "C.m = len", {"attribute m"}),
        (CLASS, "C", "del C.m", {"attribute m"}),
        (CLASS, "C", "C.p = property(len)", {"attribute p"}),
        (CLASS, "C", "C.old = len", {"attribute old"}),
        (CLASS, "C", "C.__getattribute__ = len", {"attribute __getattribute__"}),
        (CLASS, "C", "C.__bases__ = (type('D', (), {}),)", {"bases"}),
    ],
)
def test_a_change_of_code_is_found(source: str, name: str, change: str, found: set[str]) -> None:
    space = namespace(source)
    state = state_in(space, name)
    assert changes_of(state) == set()
    exec(change, space)
    assert changes_of(state) == found


@pytest.mark.parametrize(
    ("source", "name", "change"),
    [
        (FUNCTION, "f", "f.calls = 1"),
        (CLASS, "C", "C.limit = 4"),
        (CLASS, "C", "C.listener = len"),
        (CLASS, "C", "C.cache = {}"),
        ("import functools\n@functools.cache\ndef f(x):\n    return x\n", "f", "f(1)\nf(2)"),
    ],
)
def test_data_may_change(source: str, name: str, change: str) -> None:
    space = namespace(source)
    state = state_in(space, name)
    exec(change, space)
    assert changes_of(state) == set()


def test_a_name_that_no_definition_binds_is_compared_only_if_it_is_code() -> None:
    space = {"count": 1, "run": len}
    count, run = (state_in(space, name, defined=False) for name in ("count", "run"))
    space.update(count=2, run=max)
    assert changes_of(count) == set()
    assert changes_of(run) == {BINDING}


def test_a_name_that_is_not_bound_is_no_state() -> None:
    assert state_in({}, "late", defined=False).value is MISSING


def test_what_typing_sets_lazily_is_no_change() -> None:
    space = namespace(
        "import typing\nclass P(typing.Protocol):\n    def of(self): ...\n"
        "class C(P):\n    def of(self):\n        return 1\n"
    )
    state = state_in(space, "C")
    space["C"]()
    assert changes_of(state) == set()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (len, True),
        (lambda: 1, True),
        (property(len), True),
        (types.SimpleNamespace, True),
        (functools.partial(len), True),
        (1, False),
        ({}, False),
        ("text", False),
    ],
)
def test_what_can_be_called_or_decides_about_attributes_is_code(value: object, code: bool) -> None:
    assert is_code(value) is code


def test_a_function_may_change_its_own_closure() -> None:
    space = namespace(CLOSURE)
    (fact,) = [f for f in state_in(space, "f").facts if f[3] == " closure"]
    assert functions_behind(fact) == [space["f"]]


def test_a_descriptor_may_replace_itself() -> None:
    class Late:
        def __get__(self, it: object, kind: type) -> int:
            return 2

    read: Callable[[Any], Any] = {}.get
    assert functions_behind((read, "late", Late(), BINDING)) == [vars(Late)["__get__"]]
