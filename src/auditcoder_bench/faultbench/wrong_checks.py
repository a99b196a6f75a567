"""Makes wrong checks: examples whose expected result is plausible but wrong."""

from typing import Any

from msgspec.structs import replace

from auditcoder.domain.python_names import LITERAL_ERRORS, literal_value
from auditcoder.domain.task import CallExample, Example, StdioExample


def with_another_answer(example: Example) -> Example | None:
    """Return the example with a wrong expected result; None if none can be derived."""
    match example:
        case CallExample(result=text):
            try:
                return replace(example, result=repr(another(literal_value(text))))
            except LITERAL_ERRORS:
                return None
        case StdioExample(output=text):
            return replace(example, output=_other_text(text))
        case _:
            return None


def another(value: Any) -> Any:
    """Return a different value of the same type that could be expected by mistake."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return _other_text(value)
        case list() | tuple() if value[::-1] != value:
            return value[::-1]
        case list() | tuple() if value:
            return value[:-1]
        case dict() if value:
            return dict(list(value.items())[:-1])
        case set() | frozenset() if value:
            return type(value)(sorted(value, key=repr)[:-1])
        case list() | tuple() | dict() | set() | frozenset():
            return None
        case _:
            return 0


def _other_text(text: str) -> str:
    """Add one if the text is a number, otherwise reverse its lines, words or letters."""
    if text.strip().removeprefix("-").isdecimal():
        return text.replace(text.strip(), str(int(text) + 1))
    for parts, separator in ((text.splitlines(), "\n"), (text.split(), " "), (list(text), "")):
        if parts != parts[::-1]:
            return separator.join(parts[::-1])
    return f"{text}x"
