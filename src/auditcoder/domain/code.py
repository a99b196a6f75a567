"""A node's code: one bundle, its parts, and the names it registers.

A bundle is what one responsibility owns: its function, helpers, constants and imports,
kept as written and digested alone. Everything here is derived from the text by the parser,
so that whoever holds the text can derive it again.
"""

import ast
import io
import re
import tokenize
from enum import Enum
from functools import cached_property, lru_cache
from typing import TypeAlias

import msgspec

from auditcoder.domain.ids import NodeId
from auditcoder.domain.values import Digest, Value


class UnitKind(Enum):
    """What a registered unit is."""

    FUNCTION = "function"
    CLASS = "class"
    CONSTANT = "constant"
    METHOD = "method"


class Unit(Value):
    """A name that a bundle brings into the program, and so owns."""

    name: str
    """As the bundle spells it."""
    registered: str
    """As the program knows it: renamed where another node already owns the name."""
    kind: UnitKind
    first: int
    """First line in the bundle, counted from 1."""
    last: int


class NodeCode(Value):
    """The code that a node owns at some moment."""

    digest: Digest
    units: tuple[Unit, ...]
    written: int
    """Sequence number of the event that wrote it."""
    scope: str = ""
    """The class into whose body the bundle goes; empty for module level."""
    agent: str = ""
    """The concrete agent that wrote it."""

    def renames(self) -> dict[str, str]:
        """The helpers that carry another name in the program."""
        if self.scope:
            return {}
        return {
            u.name: u.registered for u in self.units if u.name != u.registered and "." not in u.name
        }


class Part(msgspec.Struct, frozen=True):
    """One top-level statement of a bundle, with the comments above it."""

    first: int
    last: int
    imports: tuple[str, ...] = ()
    """The imports it asks for, a statement each, where it is nothing but an import."""
    names: tuple[str, ...] = ()
    """The names it binds at top level."""
    kind: UnitKind | None = None
    """What kind of unit those names are."""
    class_name: str = ""
    members: tuple[tuple[str, int, int], ...] = ()
    """For a class: the methods in its body, with their first and last lines."""


class Bundle(msgspec.Struct, frozen=True, dict=True):
    """A bundle's text, read once."""

    source: str
    lines: tuple[str, ...]
    parts: tuple[Part, ...]
    parses: bool
    inside_string: frozenset[int]
    """Lines that begin inside a string and so must not be indented."""

    @cached_property
    def body(self) -> tuple[Part, ...]:
        """What is left once the imports are lifted out."""
        return tuple(part for part in self.parts if not part.imports)

    @cached_property
    def imports(self) -> tuple[str, ...]:
        """The imports it asks for, a statement each."""
        return tuple(statement for part in self.parts for statement in part.imports)

    @cached_property
    def imported(self) -> dict[str, str]:
        """Each name that it imports at top level, and the statement that does it."""
        return {
            name: statement
            for part in self.parts
            if part.imports
            for name, statement in zip(part.names, part.imports, strict=False)
        }


PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What reading someone else's Python can raise."""


@lru_cache(maxsize=512)
def read_bundle(source: str) -> Bundle:
    """Split a bundle into its top-level statements. Code that does not parse is one part."""
    lines = tuple(source.removesuffix("\n").split("\n")) if source else ()
    try:
        body = ast.parse(source).body
        inside_string = _lines_inside_strings(source)
    except (*PARSE_ERRORS, tokenize.TokenError):
        return _opaque(source, lines)
    if "\r" in source:  # the parser counts other line ends than we do
        return _opaque(source, lines)
    parts: list[Part] = []
    for statement in body:
        last = statement.end_lineno or statement.lineno
        if parts and statement.lineno <= parts[-1].last:
            parts[-1] = _joined(parts[-1], _part(statement, parts[-1].first, last))
        else:
            parts.append(_part(statement, _first_line(statement), last))
    return Bundle(
        source=source,
        lines=lines,
        parts=tuple(_with_comments(parts, len(lines))),
        parses=True,
        inside_string=inside_string,
    )


def _opaque(source: str, lines: tuple[str, ...]) -> Bundle:
    whole = (Part(first=1, last=len(lines)),) if lines else ()
    return Bundle(source=source, lines=lines, parts=whole, parses=False, inside_string=frozenset())


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _part(statement: ast.stmt, first: int, last: int) -> Part:
    match statement:
        case ast.Import(names=names):
            asked = tuple(ast.unparse(ast.Import(names=[a])) for a in names)
            return Part(first=first, last=last, imports=asked, names=_bound(names))
        case ast.ImportFrom(names=names):
            asked = tuple(
                ast.unparse(
                    ast.ImportFrom(module=statement.module, names=[a], level=statement.level)
                )
                for a in names
            )
            return Part(first=first, last=last, imports=asked, names=_bound(names))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return Part(first=first, last=last, names=(name,), kind=UnitKind.FUNCTION)
        case ast.ClassDef(name=name, body=body):
            return Part(
                first=first,
                last=last,
                names=(name,),
                kind=UnitKind.CLASS,
                class_name=name,
                members=tuple(
                    (m.name, _first_line(m), m.end_lineno or m.lineno)
                    for m in body
                    if isinstance(m, ast.FunctionDef | ast.AsyncFunctionDef)
                ),
            )
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            names_set = sorted(
                {
                    n.id
                    for n in ast.walk(statement)
                    if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                }
            )
            return Part(first=first, last=last, names=tuple(names_set), kind=UnitKind.CONSTANT)
        case _:
            return Part(first=first, last=last)


def _bound(names: list[ast.alias]) -> tuple[str, ...]:
    return tuple(a.asname or a.name.partition(".")[0] for a in names if a.name != "*")


def _joined(a: Part, b: Part) -> Part:
    """Two statements on one line cannot be parted, so neither can be lifted out as an import."""
    return Part(
        first=a.first,
        last=b.last,
        names=(a.names if a.kind else ()) + (b.names if b.kind else ()),
        kind=UnitKind.CONSTANT if a.kind or b.kind else None,
    )


def _with_comments(parts: list[Part], count: int) -> list[Part]:
    """Give the lines between statements to the one that follows, the last ones to the last."""
    result = []
    end = 0
    for part in parts:
        result.append(msgspec.structs.replace(part, first=end + 1))
        end = part.last
    if result:
        result[-1] = msgspec.structs.replace(result[-1], last=count)
    elif count:
        result.append(Part(first=1, last=count))
    return result


def _lines_inside_strings(source: str) -> frozenset[int]:
    if '"""' not in source and "'''" not in source and "\\" not in source:
        return frozenset()
    inside: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        match tokenize.tok_name[token.type]:
            case "STRING":
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
            case "FSTRING_START" | "TSTRING_START":
                opened.append(token.start[0])
            case "FSTRING_END" | "TSTRING_END":
                inside.update(range(opened.pop() + 1, token.end[0] + 1))
            case _:
                pass
    return frozenset(inside)


def units_of(
    bundle: Bundle, node: NodeId, scope: str = "", taken: frozenset[str] = frozenset()
) -> tuple[Unit, ...]:
    """Return the units that `bundle` registers for `node`.

    A name that is `taken`, owned by another node already, is registered as `name__S1_2`.
    In a class, every function of the bundle is a method and is registered with the class.
    """
    units: dict[str, Unit] = {}
    for part in bundle.parts:
        if part.kind is None:
            continue
        kind = UnitKind.METHOD if scope and part.kind is UnitKind.FUNCTION else part.kind
        for name in part.names:
            # A name bound twice in one bundle has one owner all the same; the last one stands.
            known_as = _registered(name, node, scope, taken)
            units[name] = Unit(
                name=name, registered=known_as, kind=kind, first=part.first, last=part.last
            )
            for member, first, last in part.members:
                units[f"{name}.{member}"] = Unit(
                    name=f"{name}.{member}",
                    registered=f"{known_as}.{member}",
                    kind=UnitKind.METHOD,
                    first=first,
                    last=last,
                )
    return tuple(units.values())


def _registered(name: str, node: NodeId, scope: str, taken: frozenset[str]) -> str:
    if scope:
        return f"{scope}.{name}"
    return f"{name}__{node}" if name in taken else name


def renamed(source: str, renames: dict[str, str]) -> str:
    """Return the bundle with its helpers under their registered names, line for line."""
    if not renames:
        return source
    spots: set[tuple[int, int, str]] = set()
    _collect(ast.parse(source), frozenset(renames), spots)
    lines = source.split("\n")
    for line, column, name in sorted(spots, reverse=True):
        text = lines[line - 1]
        start = len(text.encode()[:column].decode())
        lines[line - 1] = text[:start] + re.sub(
            rf"\b{re.escape(name)}\b", renames[name], text[start:], count=1
        )
    return "\n".join(lines)


_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _collect(node: ast.AST, names: frozenset[str], spots: set[tuple[int, int, str]]) -> None:
    """Find where the module-level `names` are meant, passing over scopes that shadow them."""
    match node:
        case ast.Name(id=name) if name in names:
            spots.add((node.lineno, node.col_offset, name))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node.name in names:
            keyword = {ast.FunctionDef: 3, ast.AsyncFunctionDef: 9, ast.ClassDef: 5}[type(node)]
            spots.add((node.lineno, node.col_offset + keyword, node.name))
        case ast.Global(names=declared):
            spots.update((node.lineno, node.col_offset + 6, n) for n in declared if n in names)
        case _:
            pass
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            for outside in (
                *getattr(node, "decorator_list", ()),
                *node.args.defaults,
                *(d for d in node.args.kw_defaults if d is not None),
            ):
                _collect(outside, names, spots)
            names = names - _bound_in(node)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            names = names - _bound_in(node)
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        _collect(child, names, spots)


def _bound_in(scope: _Function | _Comprehension) -> set[str]:
    """Return the names that `scope` binds for itself, inner scopes left out."""
    bound: set[str] = set()
    outer: set[str] = set()
    waiting: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                outer.update(names)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                bound.add(name)
                continue
            case (
                ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
            ):
                continue
            case _:
                pass
        waiting.extend(ast.iter_child_nodes(node))
    return bound - outer
