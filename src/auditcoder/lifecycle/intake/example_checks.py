"""Checks that the examples of a task have its form and do not contradict each other."""

import ast
import re
from collections.abc import Iterable

import msgspec

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.python_names import PARSE_ERRORS, expression, parsed
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    Form,
    FunctionForm,
    ProgramForm,
    StdioExample,
)
from auditcoder.domain.values import Value
from auditcoder.lifecycle.intake.front_matter import is_file_name
from auditcoder.lifecycle.intake.statement_examples import find_calls, find_stdio


class _Table(Value):
    """An example as a file states it; the form decides which fields it may have."""

    input: str | None = None
    output: str | None = None
    arguments: str | None = None
    call: str | None = None
    result: str | None = None
    code: str | None = None
    inputs: dict[str, str] | None = None
    artefacts: dict[str, str] | None = None
    explanation: str = ""


def examples_of(tables: Iterable[object], form: Form, where: str) -> tuple[Example, ...]:
    """Convert the examples of a file to the kinds that the form allows."""
    result = []
    for number, table in enumerate(tables, 1):
        place = f"example {number} of {where}"
        try:
            result.append(_example(msgspec.convert(table, _Table), form))
        except (msgspec.ValidationError, _InvalidExample) as error:
            raise _bad_example(place, str(error), form) from error
    return tuple(result)


class _InvalidExample(Exception):
    """An example is invalid; the text says why."""


_SHAPES = {
    ProgramForm: "input and output",
    FunctionForm: "arguments (or call) and result, each Python as text; or code",
    ClassForm: "code",
    FilesForm: "inputs and artefacts, each a table of names and texts",
}


_KINDS: dict[type[Form], tuple[type[Example], ...]] = {
    ProgramForm: (StdioExample,),
    FunctionForm: (CallExample, CodeExample),
    ClassForm: (CodeExample,),
    FilesForm: (FilesExample,),
}


def fitting(examples: tuple[Example, ...], form: Form) -> tuple[Example, ...]:
    """Return examples that were read elsewhere; raise TaskInvalid if the form excludes one."""
    for number, example in enumerate(examples, 1):
        if not isinstance(example, _KINDS[type(form)]):
            what = type(example).__struct_config__.tag
            raise _bad_example(f"example {number}", f"it is a {what} example", form)
    return examples


def _bad_example(place: str, why: str, form: Form) -> TaskInvalid:
    kind = type(form).__struct_config__.tag
    return TaskInvalid(
        "task.example",
        f"{place} cannot be used: {why}",
        f"an example of a {kind} task has {_SHAPES[type(form)]}; it may have an explanation",
    )


def _example(table: _Table, form: Form) -> Example:
    fields = msgspec.structs.asdict(table)
    given = {name for name, value in fields.items() if value is not None} - {"explanation"}
    why = table.explanation
    match form, sorted(given):
        case ProgramForm(), ["input", "output"]:
            return StdioExample(input=table.input or "", output=table.output or "", explanation=why)
        case FunctionForm(), ["arguments", "result"]:
            return _call(table.arguments or "", table.result or "", why)
        case FunctionForm(entry=entry), ["call", "result"]:
            return _call(_arguments_of(table.call or "", entry), table.result or "", why)
        case FunctionForm() | ClassForm(), ["code"]:
            if parsed(table.code or "") is None:
                raise _InvalidExample("its code is not Python")
            return CodeExample(code=table.code or "", explanation=why)
        case FilesForm(), ["artefacts", "inputs"] | ["inputs"]:
            inputs, artefacts = table.inputs or {}, table.artefacts or {}
            if bad := [name for name in (*inputs, *artefacts) if not is_file_name(name)]:
                raise _InvalidExample(f"{bad[0]!r} is not a valid file name")
            return FilesExample(inputs=inputs, artefacts=artefacts, explanation=why)
        case _:
            raise _InvalidExample(f"it has {', '.join(sorted(given)) or 'nothing'}")


def _arguments_of(call: str, entry: str) -> str:
    call = call.strip()
    if re.match(rf"{re.escape(entry)}\s*+\(", call) is None or not call.endswith(")"):
        raise _InvalidExample(f"{call!r} is not a call of {entry}")
    return call[call.index("(") + 1 : -1]


def _call(arguments: str, result: str, explanation: str) -> CallExample:
    arguments, result = arguments.strip(), result.strip()
    if _dump(f"f({arguments})", call=True) is None:
        raise _InvalidExample(f"its arguments {arguments!r} are not the arguments of a call")
    if _dump(result) is None:
        raise _InvalidExample(f"its result {result!r} is not a Python expression")
    return CallExample(arguments=arguments, result=result, explanation=explanation)


def _dump(text: str, *, call: bool = False) -> str | None:
    """Return the syntax tree of an expression as text; None if it is invalid."""
    try:
        node = expression(text)
        # `f(1)(2)` is valid Python, but `1)(2` are not the arguments of one call.
        if call and not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return None
        return ast.dump(node)
    except PARSE_ERRORS:
        return None


def found_in(statement: str, form: Form) -> list[Example]:
    """Return the examples in a statement."""
    match form:
        case ProgramForm():
            return [*find_stdio(statement)]
        case FunctionForm(entry=entry):
            return [*find_calls(statement, entry)]
        case _:
            return []


def merged(given: tuple[Example, ...], found: list[Example]) -> tuple[Example, ...]:
    """Join examples without duplicates.

    Given examples must agree, and override those found in the statement. Found examples that
    contradict each other are dropped.
    """
    kept: dict[object, tuple[int, Example]] = {}
    for number, example in enumerate(given, 1):
        key = _input_key(example)
        first, other = kept.setdefault(key, (number, example))
        if not _agree(other, example):
            raise TaskInvalid(
                "task.contradiction",
                f"given examples {first} and {number} have the same input and different answers",
                "correct or remove one of them; the front matter's are counted first,"
                " then those of --tests",
            )
    contradicted = set()
    for example in found:
        key = _input_key(example)
        number, other = kept.setdefault(key, (0, example))
        if number == 0 and not _agree(other, example):
            contradicted.add(key)
    return tuple(example for key, (_, example) in kept.items() if key not in contradicted)


def _input_key(example: Example) -> object:
    """Return a key that is equal for examples with the same input."""
    match example:
        case StdioExample(input=text):
            return ("stdio", text.rstrip("\n"))
        case CallExample(arguments=arguments):
            return ("call", _dump(f"f({arguments})", call=True) or arguments)
        case CodeExample(code=code):
            return ("code", code)
        case FilesExample(inputs=inputs):
            return ("files", frozenset(inputs.items()))


def _agree(one: Example, other: Example) -> bool:
    match one, other:
        case StdioExample(output=left), StdioExample(output=right):
            return _trimmed(left) == _trimmed(right)
        case CallExample(result=left), CallExample(result=right):
            return _dump(left) == _dump(right)
        case FilesExample(artefacts=files), FilesExample(artefacts=others):
            return files == others
        case _:
            return True


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]
