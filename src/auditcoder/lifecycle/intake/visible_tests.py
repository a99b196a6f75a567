"""Renders the tests that a user lets prompts show, within a size limit that the text states."""

from collections.abc import Iterable

from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    Example,
    FilesExample,
    StdioExample,
    files_as_text,
)

MOST_CHARACTERS = 20_000
"""Maximum number of characters of tests that prompts show."""
_LEFT_OUT = "more characters of the tests are not shown"


def visible_text(suffix: str, text: str, examples: Iterable[Example]) -> str:
    """Return test code as it is, and other examples one after another; cut at the limit."""
    if suffix != ".py":
        text = "\n\n".join(map(_as_text, examples))
    return _cut(text.replace("\r\n", "\n").strip("\n"))


def is_cut(visible: str) -> bool:
    """Whether a rendered text says that it does not show all tests."""
    return visible.rstrip(")").endswith(_LEFT_OUT)


def _cut(text: str) -> str:
    """Cut a text that is too long at the end of a line, and state how much is left out."""
    if len(text) <= MOST_CHARACTERS:
        return text
    end = text.rfind("\n", 0, MOST_CHARACTERS)
    kept = text[: end if end > 0 else MOST_CHARACTERS]
    return f"{kept}\n(… {len(text) - len(kept):,} {_LEFT_OUT})"


def _as_text(example: Example) -> str:
    match example:
        case StdioExample(input=given, output=expected):
            return f"Input:\n{given.rstrip()}\nOutput:\n{expected.rstrip()}"
        case CallExample(arguments=arguments, result=result):
            return f"({arguments}) -> {result}"
        case CodeExample(code=code):
            return code.strip("\n")
        case FilesExample(inputs=inputs, artefacts=artefacts):
            return f"{files_as_text(inputs)}expected:\n{files_as_text(artefacts)}".rstrip()
