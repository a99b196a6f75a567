"""The opinion of the task's text on a failing check, as far as it can be read mechanically."""

import ast
from typing import Any

from msgspec.structs import replace

from auditcoder.domain.events import Opinion, Ruling
from auditcoder.domain.evidence import Trust
from auditcoder.domain.python_names import (
    LITERAL_ERRORS,
    PARSE_ERRORS,
    Function,
    literal_value,
    parse,
)
from auditcoder.domain.task import CallExample, Example, FunctionForm, StdioExample, Task
from auditcoder.lifecycle.intake.example_checks import found_in
from auditcoder.lifecycle.validation.contradicted_checks import same_answer, same_input

STATEMENT = "statement"
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
    "set": (set, frozenset),
    "tuple": (tuple,),
    "None": (type(None),),
}


def statement_opinion(
    task: Task, example: Example, trust: Trust, got: str | None
) -> Opinion | None:
    """Return what the text of the task says of an example that the program fails; None if nothing.

    `got` is the result of the program; None if it has none.
    """
    if trust is Trust.DERIVED:
        return _says(Ruling.PROGRAM_WRONG, "the check follows from an example of the task")
    for stated in (*task.examples, *found_in(task.statement, task.form)):
        if not same_input(stated, example):
            continue
        if same_answer(stated, example):
            return _says(Ruling.PROGRAM_WRONG, "the task states the expected result")
        ours = with_result(example, got)
        if ours is not None and same_answer(stated, ours):
            return _says(Ruling.CHECK_WRONG, "the task states the result of the program")
    return _by_type(task, example, got)


def with_result(example: Example, result: str | None) -> Example | None:
    """Return an example that expects another result; None if that cannot be written."""
    match example:
        case StdioExample() if result is not None:
            return replace(example, output=result)
        case CallExample() if result is not None:
            return replace(example, result=result)
        case _:
            return None


def _says(ruling: Ruling, reason: str) -> Opinion:
    return Opinion(source=STATEMENT, ruling=ruling, reason=reason)


def _by_type(task: Task, example: Example, got: str | None) -> Opinion | None:
    """Return the opinion if only the result of the program has the type that the task requires."""
    if not isinstance(example, CallExample) or got is None:
        return None
    kind = _returned(task)
    if _fits(kind, example.result) is False and _fits(kind, got):
        return _says(Ruling.CHECK_WRONG, "the expected result is not of the required type")
    return None


def _returned(task: Task) -> str:
    """Return the outermost type that the task requires of a result; empty if it is unknown."""
    if not isinstance(task.form, FunctionForm) or not task.form.signature:
        return ""
    try:
        function = parse(f"{task.form.signature.strip().removesuffix(':')}:\n    ...").body[0]
    except (*PARSE_ERRORS, IndexError):
        return ""
    kind = function.returns if isinstance(function, Function) else None
    match kind:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return name.lower() if name in {"List", "Dict", "Set", "Tuple"} else name
        case ast.Constant(value=None):
            return "None"
        case _:
            return ""


def _fits(kind: str, text: str) -> bool | None:
    """Whether a literal has a type; None if that is unknown."""
    if kind not in _TYPES:
        return None
    try:
        value: Any = literal_value(text)
    except LITERAL_ERRORS:
        return None
    if isinstance(value, bool) and kind != "bool":
        return False
    return isinstance(value, _TYPES[kind])
