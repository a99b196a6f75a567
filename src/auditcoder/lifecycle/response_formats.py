"""The formats in which a reply can be requested, and their parsers."""

import ast
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from auditcoder.domain.python_names import (
    PARSE_ERRORS,
    Function,
    bound_by,
    on_a_fresh_stack,
    parse,
    parse_fault,
)
from auditcoder.domain.reply_code import code_in_json
from auditcoder.domain.request import FinishReason, Reply

T = TypeVar("T")
Read = TypeVar("Read", covariant=True)

_FENCE = re.compile(
    r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^\n]*+\n"
    r"(.*?)(?:^[ \t]*+\1[`~]*+[ \t\r]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Matches a fenced block. Possessive quantifiers limit backtracking on hostile text."""


_LONGEST = 100_000
"""Maximum number of characters of the code or the JSON in a reply."""
_MOST_LINES = 5_000
"""Maximum number of lines of the code in a reply; statements after a semicolon count as well."""


class FormatMismatch(Exception):
    """A reply does not have the requested format. The message is also quoted to the model."""


class ResponseFormat(Protocol[Read]):
    """The format of a reply and its parser."""

    @property
    def schema(self) -> str:
        """The JSON Schema for constrained output; empty if there is none."""
        ...

    def instruction(self) -> str:
        """Return the format instruction for the prompt; empty if none is needed."""
        ...

    def read(self, reply: Reply) -> Read:
        """Parse a reply, or raise FormatMismatch."""
        ...


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the fenced blocks of a text as (language, content)."""
    return [(match[2].lower(), match[3]) for match in _FENCE.finditer(text)]


_LINE = re.compile(r"[^\r\n]+")


def prose_lines(text: str) -> list[re.Match[str]]:
    """Return the lines outside of fenced blocks; if there are none, those before the code."""
    fences = list(_FENCE.finditer(text))
    if not fences and (begins := _CODE_BEGINS.search(text)):
        return list(_LINE.finditer(text, 0, begins.start()))
    starts = [0, *(fence.end() for fence in fences)]
    ends = [*(fence.start() for fence in fences), len(text)]
    parts = zip(starts, ends, strict=True)
    return [line for start, end in parts for line in _LINE.finditer(text, start, end)]


def first_lines_of_blocks(text: str) -> list[re.Match[str]]:
    """Return the first line of every fenced block that is not empty."""
    found = (_LINE.search(text, f.start(3), f.end(3)) for f in _FENCE.finditer(text))
    return [line for line in found if line is not None]


_PYTHON = {"python", "python3", "py", "py3", "python3.11"}


def _blocks_in(text: str, languages: set[str]) -> list[str]:
    """Return the blocks in one of `languages`; if there are none, those without a language."""
    fenced = blocks(text)
    named = [code for language, code in fenced if language in languages]
    return named or [code for language, code in fenced if not language]


class FreeText:
    """Free text."""

    schema = ""

    def instruction(self) -> str:
        """Return no instruction."""
        return ""

    def read(self, reply: Reply) -> str:
        """Return the text; raise FormatMismatch if it is empty or incomplete."""
        _refuse_unfinished(reply)
        return reply.text


class PythonBlock:
    """One block of Python."""

    schema = ""

    def instruction(self) -> str:
        """Request one fenced block."""
        return "Answer with one ```python block and nothing else."

    def read(self, reply: Reply) -> str:
        """Return the block of Python, or of no language.

        Of several blocks that define different names, all are returned, one after another; of
        several versions of the same code, the longest.
        """
        _refuse_unfinished(reply)
        candidates = _python_in(reply.text)
        if not candidates:
            raise FormatMismatch("there is no ```python block in it")
        together = joined_blocks(reply) if _are_parts(candidates) else ""
        code = _within_limit(together or max(candidates, key=len), "code")
        if code.count("\n") + code.count(";") > _MOST_LINES:
            raise FormatMismatch(f"its code has more than {_MOST_LINES:,} lines; answer briefly")
        return code


def _python_in(text: str) -> list[str]:
    """Return the blocks of Python; without any, code in JSON or between paragraphs of prose."""
    if (fenced := _blocks_in(text, _PYTHON)) or len(text) > _LONGEST:
        return fenced
    if wrapped := code_in_json(text):
        return [code for code in wrapped if _is_python(code)]
    return [text] if _is_python(text) else _without_prose(text)


def _are_parts(blocks: list[str]) -> bool:
    """Whether no name is defined in two of several blocks."""
    if len(blocks) < 2 or sum(map(len, blocks)) > _LONGEST:
        return False
    modules = [parse(code) for code in blocks if parse_fault(code) is None]
    names = [n for m in modules for n in bound_by(m.body)]
    return len(names) == len(set(names))


def joined_blocks(reply: Reply) -> str:
    """Return all blocks of Python as one text; empty if there are fewer than two that parse."""
    parts = [code for code in _python_in(reply.text) if parse_fault(code) is None]
    text = "\n\n".join(code.strip("\n") for code in parts) + "\n"
    return text if len(parts) > 1 and text.count("\n") <= _MOST_LINES else ""


_CODE_BEGINS = re.compile(r"^(?:def |class |from \w|import \w|@\w)", re.MULTILINE)
_MAX_PROSE = 40
"""Maximum number of lines of prose behind code that is not in a block."""


def _without_prose(text: str) -> list[str]:
    """Return the code of a text that begins and ends with prose, and has no block."""
    begins = _CODE_BEGINS.search(text)
    if begins is None:
        return []
    lines = text[begins.start() :].split("\n")
    for end in range(len(lines), max(0, len(lines) - _MAX_PROSE), -1):
        if _is_python(code := "\n".join(lines[:end]) + "\n"):
            return [code]
    return []


class ParsedPython(Generic[T]):
    """One block of Python with a parser, which may raise FormatMismatch or PARSE_ERRORS."""

    schema = ""

    def __init__(self, read: Callable[[str], T], what: str = "code") -> None:
        self._block = PythonBlock()
        self._read = read
        self._what = what

    def instruction(self) -> str:
        """Request one fenced block."""
        return self._block.instruction()

    def read(self, reply: Reply) -> T:
        """Parse the longest block, else all blocks together; raise FormatMismatch if neither fits.

        The reason is that of the longest one.
        """
        text = self._block.read(reply)
        try:
            return self._parse(text)
        except FormatMismatch:
            if together := joined_blocks(reply):
                with suppress(FormatMismatch):
                    return self._parse(together)
            raise

    def _parse(self, text: str) -> T:
        try:
            # On a fresh stack, the recursion limit does not depend on the caller's depth.
            return on_a_fresh_stack(lambda: self._read(text))
        except PARSE_ERRORS as error:
            raise FormatMismatch(
                f"the {self._what} cannot be read: {type(error).__name__}"
            ) from error


def _is_python(text: str) -> bool:
    """Whether a text without a block is Python that defines a function or class."""
    try:
        body = parse(text).body
    except PARSE_ERRORS:
        return False
    return any(isinstance(s, Function | ast.ClassDef) for s in body)


class JsonValue(Generic[T]):
    """A JSON value of a given type."""

    def __init__(self, kind: type[T], schema: str = "") -> None:
        """Request a value of `kind`; without `schema`, the type's own schema is used.

        The model reads the schema, so its names and descriptions are part of the prompt and must
        not change when a class is renamed.
        """
        self._kind = kind
        self.schema = schema or closed_schema(kind)

    def instruction(self) -> str:
        """Return the schema as text, because not every model supports constrained output."""
        asked = "Answer with one ```json block and nothing else. It obeys this JSON Schema:"
        return f"{asked}\n{self.schema}"

    def read(self, reply: Reply) -> T:
        """Decode the JSON, fenced or bare, as the type."""
        _refuse_unfinished(reply)
        candidates = _blocks_in(reply.text, {"json"})
        text = max(candidates, key=len) if candidates else reply.text.lstrip("\ufeff")
        _within_limit(text, "JSON")
        try:
            return msgspec.json.decode(text, type=self._kind)
        except msgspec.ValidationError as error:
            raise FormatMismatch(f"the JSON is not as asked for: {error}") from error
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise FormatMismatch(f"it is not JSON: {error}") from error


def closed_schema(kind: Any) -> str:
    """Return the JSON Schema of a type with all properties required and no others allowed.

    Under constrained output, a model then leaves no field out.
    """
    schema = msgspec.json.schema(kind)
    for definition in schema.get("$defs", {}).values():
        if definition.get("type") == "object" and "properties" in definition:
            definition["required"] = list(definition["properties"])
            definition["additionalProperties"] = False
    return msgspec.json.encode(schema).decode()


def _within_limit(text: str, what: str) -> str:
    if len(text) > _LONGEST:
        raise FormatMismatch(f"its {what} has more than {_LONGEST:,} characters; answer briefly")
    return text


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
