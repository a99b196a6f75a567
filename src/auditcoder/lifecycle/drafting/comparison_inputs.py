"""Inputs without an expected result, on which drafts are compared with one another.

They are made from the task alone: arguments of its examples are changed without changing their
types, and values are generated for typed parameters. No model is asked.
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from auditcoder.domain.brief import Brief
from auditcoder.domain.python_names import LITERAL_ERRORS, literal_value
from auditcoder.domain.task import CallExample, FunctionForm, ProgramForm, StdioExample, Task
from auditcoder.domain.values import digest_of
from auditcoder.lifecycle.task_forms import root_of
from auditcoder.lifecycle.validation.input_generator import inputs_for

MOST = 20
_TYPED = 8
"""Maximum number of inputs that are generated from types alone."""
_ROUNDS = 6
"""Number of changes of each example."""
_LONGEST = 2_000
"""Maximum number of characters of an input."""
_MOST_STDIN = 6
_INTEGER = re.compile(r"-?\d+")


def comparison_inputs(task: Task, brief: Brief | None) -> tuple[str, ...]:
    """Return argument lists of a function, or texts for standard input; empty for other forms."""
    chance = random.Random(int(digest_of(task)[:12], 16))  # noqa: S311  inputs, not secrets
    match task.form:
        case FunctionForm():
            given = [e.arguments for e in task.examples if isinstance(e, CallExample)]
            typed = inputs_for(root_of(task).contract, brief.parsed.ranges if brief else (), _TYPED)
            made = [*_changed_calls(given, chance), *map(_in_one_order, typed)]
            most = MOST
        case ProgramForm():
            given = [e.input for e in task.examples if isinstance(e, StdioExample)]
            made = [
                changed
                for text in given
                if len(text) <= _LONGEST
                for changed in _changed_text(text, chance)
            ]
            most = _MOST_STDIN
        case _:
            return ()
    short = (text for text in made if text not in given and len(text) <= _LONGEST)
    return tuple(dict.fromkeys(short))[:most]


def _changed_calls(given: Sequence[str], chance: random.Random) -> list[str]:
    """Return changed argument lists, first one change of each example, then another."""
    rows = [row for text in given if (row := _arguments(text)) is not None]
    smallest = min((n for row in rows for n in _numbers(row)), default=0)
    made = []
    for _ in range(_ROUNDS):
        for row in rows:
            at = chance.randrange(len(row))
            changed = _changed(row[at], chance, negative=smallest < 0)
            with suppress(ValueError):  # an integer has too many digits to be written
                made.append(_written((*row[:at], changed, *row[at + 1 :])))
    return made


def _in_one_order(arguments: str) -> str:
    """Return generated arguments with the items of sets in the same order in every process."""
    row = _arguments(arguments)
    return arguments if row is None else _written(row)


def _written(row: Iterable[Any]) -> str:
    return ", ".join(map(as_text, row))


def as_text(value: Any) -> str:
    """Return a value as Python text that is the same in every process: sets are sorted."""
    match value:
        case set() if value:
            return f"{{{', '.join(sorted(map(as_text, value)))}}}"
        case frozenset() if value:
            return f"frozenset({as_text(set(value))})"
        case list():
            return f"[{_written(value)}]"
        case tuple():
            return f"({_written(value)}{',' * (len(value) == 1)})"
        case dict():
            return f"{{{', '.join(f'{as_text(k)}: {as_text(v)}' for k, v in value.items())}}}"
        case _:
            return repr(value)


def _arguments(text: str) -> tuple[Any, ...] | None:
    """Return the values of an argument list; None if there are none, or they are no literals."""
    try:
        values = literal_value(f"({text},)")
    except LITERAL_ERRORS:
        return None
    return values if isinstance(values, tuple) and values else None


def _numbers(value: Any) -> Iterator[float]:
    match value:
        case bool():
            return
        case int() | float():
            yield value
        case list() | tuple() | set():
            for item in value:
                yield from _numbers(item)
        case dict():
            for item in (*value.keys(), *value.values()):
                yield from _numbers(item)
        case _:
            return


def _changed(value: Any, chance: random.Random, *, negative: bool) -> Any:
    """Return a value of the same type; a number is negative only if the examples have such."""
    match value:
        case bool():
            return not value
        case int():
            whole = chance.choice([value + 1, value - 1, value * 2, value // 2, 0, 1, -value])
            return whole if negative or whole >= 0 else -whole
        case float():
            new = chance.choice([value + 1, value - 0.5, value * 2, value / 2, -value])
            return new if negative or new >= 0 else -new
        case str():
            return _changed_string(value, chance)
        case list() | tuple():
            return type(value)(_changed_items(list(value), chance, negative=negative))
        case dict() if value:
            key = chance.choice(sorted(value, key=repr))
            return value | {key: _changed(value[key], chance, negative=negative)}
        case set() if value:
            gone = chance.choice(sorted(value, key=repr))
            return value - {gone} | {_changed(gone, chance, negative=negative)}
        case _:
            return value


def _changed_string(text: str, chance: random.Random) -> str:
    if not text:
        return "a"
    at = chance.randrange(len(text))
    return chance.choice(
        [
            text[:at] + text[at + 1 :],
            text[:at] + text[at] + text[at:],
            text[::-1],
            text[:at] + text[at].swapcase() + text[at + 1 :],
            text + text,
            text[:1],
        ]
    )


def _changed_items(items: list[Any], chance: random.Random, *, negative: bool) -> list[Any]:
    if not items:
        return items
    at = chance.randrange(len(items))
    match chance.randrange(5):
        case 0:
            return items[:at] + items[at + 1 :]
        case 1:
            return [*items, items[at]]
        case 2:
            return items[::-1]
        case _:
            new = _changed(items[at], chance, negative=negative)
            return [*items[:at], new, *items[at + 1 :]]


def _changed_text(text: str, chance: random.Random) -> Iterator[str]:
    """Yield texts with one integer changed; those of the first line often count what follows."""
    first = text.find("\n") + 1
    places = [m for m in _INTEGER.finditer(text) if m.start() >= first] or [
        *_INTEGER.finditer(text)
    ]
    for _ in range(_ROUNDS if places else 0):
        place = chance.choice(places)
        value = int(place[0]) if len(place[0]) < 30 else 1
        new = chance.choice([value + 1, max(value - 1, 0), value * 2])
        yield f"{text[: place.start()]}{new}{text[place.end() :]}"
