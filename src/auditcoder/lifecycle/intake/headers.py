"""The code that a statement leaves open: the function or the class that is asked for."""

import ast
import re
from collections.abc import Iterator
from copy import copy
from itertools import chain
from typing import NamedTuple

from auditcoder.domain.binding import Function, parsed
from auditcoder.domain.task import ClassForm, FunctionForm
from auditcoder.lifecycle.forms import says_nothing
from auditcoder.lifecycle.intake.samples import split_fences

_PYTHON = {"", "py", "python", "python3"}
_QUOTED = re.compile(r"`((?:(?:async )?def )?[^\W\d]\w{0,100}\([^`\n]{0,300})`")
_TYPE = r"\w{1,60}+(?:\.\w{1,60}+)?(?:\[[^\n:`]{0,80}\])?"
_BARE = re.compile(
    r"(?<![`\w.])((?:def )?[^\W\d]\w{0,100}+\([^()`\n]{0,300}+\) ?-> ?"
    rf"{_TYPE}(?: ?\| ?{_TYPE}){{0,4}})(?!`)"
)
"""A header without quotes: only one that also says what it gives back is told from prose."""
_CLAUSE_END = re.compile(r"[.!?;]\s|\n[ \t]*\n")
_ASKING = re.compile(
    r"\b(?:write|implement|create|define|complete|develop|provide|code|design)\b"
    r"(?P<between>[^`]*)$",
    re.IGNORECASE,
)
_CALLABLE = re.compile(r"\b(?:function|method|routine)\b", re.IGNORECASE)
_PROGRAM = re.compile(r"\b(?:program|script)\b", re.IGNORECASE)
_NEAR = 120
_AT_ONCE = 25


class Header(NamedTuple):
    """A function that is asked for."""

    name: str
    text: str
    """Its header, without a body."""

    def form(self) -> FunctionForm:
        """Return the form of a task that asks for it."""
        return FunctionForm(entry=self.name, signature=self.text)


class Skeleton(NamedTuple):
    """A class that is asked for."""

    name: str
    text: str
    """The code that it stands in, which parses."""

    def form(self) -> ClassForm:
        """Return the form of a task that asks for it."""
        return ClassForm(name=self.name, skeleton=self.text)


def find_open(statement: str) -> Header | Skeleton | None:
    """Find the class or the function that a statement leaves open."""
    for code in _codes(statement):
        classes = _classes(code)
        if stub := next((c for c in reversed(classes) if _is_open(c)), None):
            return Skeleton(stub.name, _completed(code))
    return find_function(statement)


def find_function(statement: str, name: str | None = None) -> Header | None:
    """Find the function that a statement leaves open, or asks for in words."""
    for code in _codes(statement):
        for function in reversed(_functions(code)):
            if _is_stub(function) and name in {None, function.name}:
                return _header(function)
    for asked in _asked_for(statement):
        if name in {None, asked.name}:
            return asked
    return None


def find_class(statement: str, name: str | None) -> Skeleton | None:
    """Find a class in a statement's code, the one that is left open if there are several."""
    found = find_open(statement)
    if isinstance(found, Skeleton) and name in {None, found.name}:
        return found
    inside = (class_in(code, name) for code in _codes(statement))
    return next((skeleton for skeleton in inside if skeleton), None)


def class_in(code: str, name: str | None) -> Skeleton | None:
    """Take code as a skeleton, if it defines such a class."""
    classes = [c for c in _classes(code) if name in {None, c.name}]
    chosen = [c for c in classes if _is_open(c)] or classes
    return Skeleton(chosen[-1].name, _completed(code)) if chosen else None


def open_code(statement: str) -> Header | Skeleton | None:
    """Return what is left open by a statement that is itself Python."""
    return find_open(statement) if parsed(statement) is not None else None


def header(text: str) -> Header | None:
    """Read a function's header, with or without `def`, colon and body."""
    text = text.strip().removesuffix(":")
    for source in (f"{text}: ...", f"def {text}: ...", text):
        module = parsed(source)
        if module is not None and len(module.body) == 1:
            only = module.body[0]
            if isinstance(only, Function):
                return _header(only)
    return None


def _codes(statement: str) -> Iterator[str]:
    """Give every piece of a statement that may be Python, itself first."""
    yield statement
    yield from (code for language, code in split_fences(statement)[1] if language in _PYTHON)


def _classes(code: str) -> list[ast.ClassDef]:
    module = parsed(_completed(code))
    return [node for node in module.body if isinstance(node, ast.ClassDef)] if module else []


def _functions(code: str) -> list[Function]:
    module = parsed(_completed(code))
    return [node for node in module.body if isinstance(node, Function)] if module else []


def _completed(code: str) -> str:
    """Give a header at the very end a body, where that makes the code parse."""
    code = code.strip("\n")
    longer = f"{code.rstrip()}\n        ..."
    return longer if parsed(code) is None and parsed(longer) is not None else code


def _is_open(node: ast.ClassDef) -> bool:
    """Whether every method is a stub, bar the constructor, and there is one."""
    methods = [part for part in node.body if isinstance(part, Function)]
    return any(map(_is_stub, methods)) and all(
        _is_stub(method) or method.name == "__init__" for method in methods
    )


def _is_stub(function: Function) -> bool:
    """Whether the body does nothing but say what it should do."""
    imports = (ast.Import, ast.ImportFrom)
    return all(isinstance(s, imports) or says_nothing(s) for s in function.body)


def _header(function: Function) -> Header | None:
    bare = copy(function)
    bare.body, bare.decorator_list = [], []
    try:
        return Header(function.name, ast.unparse(bare).strip().removesuffix(":"))
    except (RecursionError, ValueError):
        return None


def _asked_for(statement: str) -> Iterator[Header]:
    """Give the functions that a sentence such as "Write a function `f(a, b)`" asks for."""
    for quoted in chain(_QUOTED.finditer(statement), _BARE.finditer(statement)):
        before = statement[max(0, quoted.start() - _NEAR) : quoted.start()]
        asking = _ASKING.search(_CLAUSE_END.split(before)[-1])
        if asking is None or _PROGRAM.search(asking["between"]):
            continue
        direct = len(asking["between"]) <= _AT_ONCE or _CALLABLE.search(asking["between"])
        if (direct or quoted[1].startswith("def ")) and (asked := header(quoted[1])):
            yield asked
