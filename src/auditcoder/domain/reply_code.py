"""Whether code is from the reply that it is attributed to.

Before a reply becomes code, it is split by owner and indented anew, its line ends and tabs are
made uniform, and missing imports of the standard library are added. Its statements are not changed.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from auditcoder.domain.code import BundlePart, CodeBundle
from auditcoder.domain.python_lexer import has_comment
from auditcoder.domain.python_names import (
    imports_of,
    on_a_fresh_stack,
    parsed,
    with_fixed_settings,
)

_COMPLETED_MODULES = """
    bisect collections copy csv datetime decimal fractions functools hashlib heapq io itertools json
    math operator os random re statistics string sys time
"""

COMPLETED_MODULES = frozenset(_COMPLETED_MODULES.split())
"""Modules of the standard library whose import is added to code that uses them without it."""

COMPLETED_NAMES = {
    name: module
    for module, names in {
        "bisect": "bisect_left bisect_right insort",
        "collections": "Counter OrderedDict defaultdict deque namedtuple",
        "dataclasses": "dataclass field",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "functools": "cache cmp_to_key lru_cache partial reduce",
        "heapq": "heapify heappop heappush",
        "itertools": "accumulate chain combinations groupby pairwise permutations product"
        " zip_longest",
        "math": "ceil comb factorial floor gcd isqrt lcm sqrt",
        "pathlib": "Path",
        "collections.abc": "Callable Iterable Iterator Mapping Sequence",
        "typing": "Any Dict List Optional Set Tuple Union",
    }.items()
    for name in names.split()
}
"""Names whose import is added, with the module that each comes from."""

_DEPRECATED_ALIASES = ["Callable", "Iterable", "Iterator", "Mapping", "Sequence"]
ADDED_IMPORTS = frozenset(
    {f"import {module}" for module in COMPLETED_MODULES}
    | {f"from {module} import {name}" for name, module in COMPLETED_NAMES.items()}
    | {f"from typing import {name}" for name in _DEPRECATED_ALIASES}
)
"""The imports that may be added to code; some of them only where other code has the same one."""
STARRED_MODULES = COMPLETED_MODULES | set(COMPLETED_NAMES.values())
"""Modules of which a star import is written out."""
_FENCES = ("```", "~~~")


class ParsedSource(msgspec.Struct, frozen=True):
    """The statements of a text, compared where they were written in another way."""

    statements: frozenset[str]
    imports: frozenset[str]
    starred: frozenset[str]
    """Modules of which everything is imported."""


def foreign_statement(bundle: CodeBundle, sources: Sequence[str]) -> str | None:
    """Return the first line of a statement that is in none of `sources`; None if all are there."""
    sources = [text for source in sources for text in (source, *code_in_json(source))]
    texts = [_indexed(source) for source in sources]
    for part in bundle.parts:
        lines = _without_blank_ends(bundle, part)
        if not lines or any(_contains(text, lines) for text in texts):
            continue
        if not _is_rewritten([line for _, line in lines], sources):
            return lines[0][1]
    return None


_MAX_JSON = 300_000
"""Maximum number of characters of a reply in which JSON is looked for."""


@lru_cache(maxsize=8)
def code_in_json(text: str) -> tuple[str, ...]:
    """Return the texts of several lines in a reply that is a JSON object, fenced or not.

    Models that are used to calling tools wrap their code in one.
    """
    if len(text) > _MAX_JSON or "{" not in text:
        return ()
    objects = (plain for part in (text, *_blocks(text)) if (plain := part.strip())[:1] == "{")
    return tuple(found for plain in objects for found in _long_texts(plain))


def _long_texts(json: str) -> list[str]:
    try:
        waiting: list[object] = [msgspec.json.decode(json)]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []
    found = []
    while waiting:
        match waiting.pop(0):
            case str(value) if "\n" in value:
                found.append(value)
            case dict(fields):
                waiting.extend(fields.values())
            case list(values):
                waiting.extend(values)
            case _:
                pass
    return found


_Numbered = list[tuple[bool, str]]
"""Lines, each with whether it begins inside a string."""


def _without_blank_ends(bundle: CodeBundle, part: BundlePart) -> _Numbered:
    lines = [
        (number in bundle.inside_string, _uniform(bundle.lines[number - 1]))
        for number in range(part.first, part.last + 1)
    ]
    while lines and not lines[-1][1]:
        lines.pop()
    while lines and not lines[0][1]:
        del lines[0]
    return lines


def _uniform(line: str) -> str:
    """Return a line with spaces for leading tabs, and without spaces if it has nothing else."""
    bare = line.lstrip(" \t")
    return line[: len(line) - len(bare)].expandtabs(4) + bare if bare else ""


def _uniform_lines(source: str) -> list[str]:
    text = source.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
    return list(map(_uniform, text.split("\n")))


class _IndexedText(NamedTuple):
    """The lines of a text, and where each of them is, whatever its indentation."""

    lines: list[str]
    places: dict[str, list[int]]


@lru_cache(maxsize=8)
def _indexed(source: str) -> _IndexedText:
    lines = _uniform_lines(source)
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        places.setdefault(line.lstrip(" "), []).append(number)
    return _IndexedText(lines, places)


def _contains(text: _IndexedText, lines: _Numbered) -> bool:
    """Whether `text` has these lines one after another, possibly with a further indentation."""
    # Only the places of the rarest line are tried: many parts begin with the same decorator.
    found = [
        (text.places.get(line.lstrip(" "), []), offset)
        for offset, (inside, line) in enumerate(lines)
        if line and not inside
    ]
    rarest, offset = min(found, key=lambda each: len(each[0]))
    return any(_is_at(text.lines, place - offset, lines) for place in rarest)


def _is_at(text: list[str], start: int, lines: _Numbered) -> bool:
    """Whether `lines` stand at one place, indented alike except inside strings."""
    first = lines[0][1]
    if not 0 <= start <= len(text) - len(lines) or not text[start].endswith(first):
        return False
    margin = text[start].removesuffix(first)
    return not margin.strip(" ") and all(
        text[start + number] == (line if inside or not line else margin + line)
        for number, (inside, line) in enumerate(lines)
    )


def _is_rewritten(lines: list[str], sources: Sequence[str]) -> bool:
    """Whether a statement without comments means the same as one of a source, or is an import."""
    code = "\n".join(lines)
    module = parsed(code)
    if module is None or has_comment(code):
        return False
    known = [_parsed_source(source) for source in sources]
    for statement in module.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            if not all(_is_imported(i.statement, known) for i in imports_of(statement)):
                return False
        elif not isinstance(statement, ast.Pass):  # it replaces an unused star import
            dumped = _dumped(statement)
            if not any(dumped in source.statements for source in known):
                return False
    return True


def _is_imported(statement: str, known: Iterable[ParsedSource]) -> bool:
    module = statement.removeprefix("from ").partition(" import ")[0]
    return statement in ADDED_IMPORTS or any(
        statement in source.imports or (module in source.starred and module in STARRED_MODULES)
        for source in known
    )


@lru_cache(maxsize=8)
def _parsed_source(source: str) -> ParsedSource:
    statements: set[str] = set()
    imports: set[str] = set()
    starred: set[str] = set()
    for statement in on_a_fresh_stack(lambda: list(_statements(source))):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for imported in imports_of(statement):
                imports.add(imported.statement)
                if imported.name == "*" and isinstance(statement, ast.ImportFrom):
                    starred.add(statement.module or "")
        else:
            statements.add(_dumped(statement))
    return ParsedSource(frozenset(statements), frozenset(imports), frozenset(starred))


def _dumped(statement: ast.stmt) -> str:
    return with_fixed_settings(lambda: ast.dump(statement))


def _statements(source: str) -> Iterator[ast.stmt]:
    """Yield the statements of a text and of its fenced blocks, at any depth but in functions."""
    for text in (source, *_blocks(source)):
        module = parsed(text)
        waiting: list[ast.stmt] = list(module.body) if module else []
        while waiting:
            statement = waiting.pop()
            yield statement
            if isinstance(statement, ast.ClassDef):
                waiting.extend(statement.body)


def _blocks(source: str) -> Iterator[str]:
    block: list[str] | None = None
    for line in _uniform_lines(source):
        if line.strip().startswith(_FENCES):
            if block:
                yield _at_margin(block)
            block = []
        elif block is not None:
            block.append(line)
    if block:
        yield _at_margin(block)


def _at_margin(lines: list[str]) -> str:
    margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line), default=0)
    return "\n".join(line[margin:] for line in lines)
