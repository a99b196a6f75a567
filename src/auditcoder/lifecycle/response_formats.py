"""The shapes in which an answer may be asked for, and how each is read out of what came."""

import ast
import re
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from auditcoder.domain.python_names import PARSE_ERRORS, Function, on_a_fresh_stack, parse
from auditcoder.domain.request import FinishReason, Reply

T = TypeVar("T")
Read = TypeVar("Read", covariant=True)

_FENCE = re.compile(
    r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^\n]*+\n"
    r"(.*?)(?:^[ \t]*+\1[`~]*+[ \t\r]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Possessive throughout: a hostile text must not make it look twice."""


class FormatMismatch(Exception):
    """A reply cannot be used. The text says why, to the model as much as to a reader."""


class ResponseFormat(Protocol[Read]):
    """What an answer should look like."""

    @property
    def schema(self) -> str:
        """The JSON Schema to hold a model to; empty if there is none."""
        ...

    def instruction(self) -> str:
        """Say how to answer; empty where nothing needs saying."""
        ...

    def read(self, reply: Reply) -> Read:
        """Return what was answered, or raise Unfit."""
        ...


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the fenced blocks of a text as (language, content)."""
    return [(match[2].lower(), match[3]) for match in _FENCE.finditer(text)]


_PYTHON = {"python", "python3", "py"}


def _fitting(text: str, languages: set[str]) -> list[str]:
    """Return the blocks that say they are what was asked for; else those that do not say."""
    found = blocks(text)
    named = [code for language, code in found if language in languages]
    return named or [code for language, code in found if not language]


class FreeText:
    """Free text."""

    schema = ""

    def instruction(self) -> str:
        """Say nothing."""
        return ""

    def read(self, reply: Reply) -> str:
        """Take any text but none."""
        _refuse_unfinished(reply)
        return reply.text


class PythonBlock:
    """One block of Python."""

    schema = ""

    def instruction(self) -> str:
        """Ask for a fenced block."""
        return "Answer with one ```python block and nothing else."

    def read(self, reply: Reply) -> str:
        """Take the longest block of Python, or of no language."""
        _refuse_unfinished(reply)
        found = _fitting(reply.text, _PYTHON)
        if not found and _is_python(reply.text):
            return reply.text
        if not found:
            raise FormatMismatch("there is no ```python block in it")
        return max(found, key=len)


class ParsedPython(Generic[T]):
    """One block of Python, out of which something is read; `read` raises Unfit or PARSE_ERRORS."""

    schema = ""

    def __init__(self, read: Callable[[str], T], what: str = "code") -> None:
        self._block = PythonBlock()
        self._read = read
        self._what = what

    def instruction(self) -> str:
        """Ask for a fenced block."""
        return self._block.instruction()

    def read(self, reply: Reply) -> T:
        """Read the block, or say why that cannot be done."""
        text = self._block.read(reply)
        try:
            # Always the same answer, however deep the caller stands and the code is nested.
            return on_a_fresh_stack(lambda: self._read(text))
        except PARSE_ERRORS as error:
            raise FormatMismatch(
                f"the {self._what} cannot be read: {type(error).__name__}"
            ) from error


def _is_python(text: str) -> bool:
    """Whether a text without any block is itself the code: it parses, and defines something."""
    try:
        body = parse(text).body
    except PARSE_ERRORS:
        return False
    return any(isinstance(s, Function | ast.ClassDef) for s in body)


class JsonValue(Generic[T]):
    """A value of a type, as JSON."""

    def __init__(self, kind: type[T], schema: str = "") -> None:
        """Ask for a value of `kind`, in the words of `schema`.

        A schema is text that a model reads: the names and the descriptions in it belong to the
        prompts and stay when a class is renamed. Without one, the type's own is used.
        """
        self._kind = kind
        self.schema = schema or closed_schema(kind)

    def instruction(self) -> str:
        """Show the schema: not every model can be held to it."""
        asked = "Answer with one ```json block and nothing else. It obeys this JSON Schema:"
        return f"{asked}\n{self.schema}"

    def read(self, reply: Reply) -> T:
        """Take the JSON, fenced or bare, and check it against the type."""
        _refuse_unfinished(reply)
        found = _fitting(reply.text, {"json"})
        bare = reply.text.lstrip("\ufeff")
        try:
            return msgspec.json.decode(max(found, key=len) if found else bare, type=self._kind)
        except msgspec.ValidationError as error:
            raise FormatMismatch(f"the JSON is not as asked for: {error}") from error
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise FormatMismatch(f"it is not JSON: {error}") from error


def closed_schema(kind: Any) -> str:
    """Return the JSON Schema of a type in which every property is required and none is added.

    A model that is held to it leaves no field out.
    """
    schema = msgspec.json.schema(kind)
    for definition in schema.get("$defs", {}).values():
        if definition.get("type") == "object" and "properties" in definition:
            definition["required"] = list(definition["properties"])
            definition["additionalProperties"] = False
    return msgspec.json.encode(schema).decode()


def _refuse_unfinished(reply: Reply) -> None:
    match reply.finish:
        case FinishReason.LENGTH:
            raise FormatMismatch(
                "it was cut off at the longest answer allowed; answer more briefly"
            )
        case FinishReason.REPEATED:
            raise FormatMismatch("it only repeated itself")
        case FinishReason.REFUSED:
            raise FormatMismatch("the answer was refused")
        case _:
            if not reply.text.strip():
                raise FormatMismatch("it is empty")
