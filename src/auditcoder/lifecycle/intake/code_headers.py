"""Finds the function or class that a statement asks for."""

import ast
import re
from collections.abc import Iterator
from copy import copy
from itertools import chain
from typing import NamedTuple

from auditcoder.domain.python_names import Function, parsed
from auditcoder.domain.task import ClassForm, FunctionForm
from auditcoder.lifecycle.intake.statement_examples import split_fences
from auditcoder.lifecycle.task_forms import is_placeholder

_PYTHON = {"", "py", "python", "python3"}
_QUOTED = re.compile(r"`((?:(?:async )?def )?[^\W\d]\w{0,100}\([^`\n]{0,300})`")
_TYPE = r"\w{1,60}+(?:\.\w{1,60}+)?(?:\[[^\n:`]{0,80}\])?"
_BARE = re.compile(
    r"(?<![`\w.])((?:def )?[^\W\d]\w{0,100}+\([^()`\n]{0,300}+\) ?-> ?"
    rf"{_TYPE}(?: ?\| ?{_TYPE}){{0,4}})(?!`)"
)
"""A header without quotes; it needs a return type to be distinguished from prose."""
_CLAUSE_END = re.compile(r"[.!?;]\s|\n[ \t]*\n")
_ASKING = re.compile(
    r"\b(?:write|implement|create|define|complete|develop|provide|code|design)\b"
    r"(?P<between>[^`]*)$",
    re.IGNORECASE,
)
_CALLABLE = re.compile(r"\b(?:function|method|routine)\b", re.IGNORECASE)
_PROGRAM = re.compile(r"\b(?:program|script)\b", re.IGNORECASE)
_MAX_DISTANCE = 120
"""Maximum number of characters between the verb of a request and the function."""
_DIRECT_DISTANCE = 25
"""Up to this distance, the sentence need not contain a word such as "function"."""


class Header(NamedTuple):
    """A function that a statement asks for."""

    name: str
    text: str
    """Its header, without a body."""

    def form(self) -> FunctionForm:
        """Return the form of a task that asks for it."""
        return FunctionForm(entry=self.name, signature=self.text)


class Skeleton(NamedTuple):
    """A class that a statement asks for."""

    name: str
    text: str
    """The code that contains the class; it is valid Python."""

    def form(self) -> ClassForm:
        """Return the form of a task that asks for it."""
        return ClassForm(name=self.name, skeleton=self.text)


def find_open(statement: str) -> Header | Skeleton | None:
    """Return the class or function that a statement asks to complete; None if there is none."""
    for code in _code_parts(statement):
        classes = _classes(code)
        if stub := next((c for c in reversed(classes) if _is_open(c)), None):
            return Skeleton(stub.name, _completed(code))
    return find_function(statement)


def find_function(statement: str, name: str | None = None) -> Header | None:
    """Return the function that a statement has a stub of, or requests in prose."""
    for code in _code_parts(statement):
        for function in reversed(_functions(code)):
            if _is_stub(function) and name in {None, function.name}:
                return _header(function)
    for asked in _asked_for(statement):
        if name in {None, asked.name}:
            return asked
    return None


def find_class(statement: str, name: str | None) -> Skeleton | None:
    """Return a class in the code of a statement; a class of stubs is preferred."""
    found = find_open(statement)
    if isinstance(found, Skeleton) and name in {None, found.name}:
        return found
    inside = (class_in(code, name) for code in _code_parts(statement))
    return next((skeleton for skeleton in inside if skeleton), None)


def class_in(code: str, name: str | None) -> Skeleton | None:
    """Return code as a skeleton if it defines such a class."""
    classes = [c for c in _classes(code) if name in {None, c.name}]
    chosen = [c for c in classes if _is_open(c)] or classes
    return Skeleton(chosen[-1].name, _completed(code)) if chosen else None


def open_code(statement: str) -> Header | Skeleton | None:
    """Return the function or class to complete if the whole statement is Python."""
    return find_open(statement) if parsed(statement) is not None else None


def header(text: str) -> Header | None:
    """Parse the header of a function, with or without `def`, colon and body."""
    text = text.strip().removesuffix(":")
    for source in (f"{text}: ...", f"def {text}: ...", text):
        module = parsed(source)
        if module is not None and len(module.body) == 1:
            only = module.body[0]
            if isinstance(only, Function):
                return _header(only)
    return None


def _code_parts(statement: str) -> Iterator[str]:
    """Yield every part of a statement that may be Python, starting with the whole."""
    yield statement
    yield from (code for language, code in split_fences(statement)[1] if language in _PYTHON)


def _classes(code: str) -> list[ast.ClassDef]:
    module = parsed(_completed(code))
    return [node for node in module.body if isinstance(node, ast.ClassDef)] if module else []


def _functions(code: str) -> list[Function]:
    module = parsed(_completed(code))
    return [node for node in module.body if isinstance(node, Function)] if module else []


def _completed(code: str) -> str:
    """Add a body to a header at the end if that makes the code valid."""
    code = code.strip("\n")
    longer = f"{code.rstrip()}\n        ..."
    return longer if parsed(code) is None and parsed(longer) is not None else code


def _is_open(node: ast.ClassDef) -> bool:
    """Whether a class has at least one stub, and only its constructor may have a body."""
    methods = [part for part in node.body if isinstance(part, Function)]
    return any(map(_is_stub, methods)) and all(
        _is_stub(method) or method.name == "__init__" for method in methods
    )


def _is_stub(function: Function) -> bool:
    """Whether the body has only a docstring, a placeholder and imports."""
    imports = (ast.Import, ast.ImportFrom)
    return all(isinstance(s, imports) or is_placeholder(s) for s in function.body)


def _header(function: Function) -> Header | None:
    bare = copy(function)
    bare.body, bare.decorator_list = [], []
    try:
        return Header(function.name, ast.unparse(bare).strip().removesuffix(":"))
    except (RecursionError, ValueError):
        return None


def _asked_for(statement: str) -> Iterator[Header]:
    """Yield the functions that sentences such as "Write a function `f(a, b)`" ask for."""
    for quoted in chain(_QUOTED.finditer(statement), _BARE.finditer(statement)):
        before = statement[max(0, quoted.start() - _MAX_DISTANCE) : quoted.start()]
        asking = _ASKING.search(_CLAUSE_END.split(before)[-1])
        if asking is None or _PROGRAM.search(asking["between"]):
            continue
        between = asking["between"]
        direct = len(between) <= _DIRECT_DISTANCE or _CALLABLE.search(between)
        if (direct or quoted[1].startswith("def ")) and (asked := header(quoted[1])):
            yield asked
