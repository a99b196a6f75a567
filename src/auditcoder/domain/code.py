"""A node's code: one bundle, its parts, and the names it registers.

A bundle is what one responsibility owns: its function, helpers, constants and imports,
kept as written and digested alone. Everything here is derived from the text by the parser,
so that whoever holds the text can derive it again.
"""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, TypeVar

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

    def known_as(self, name: str) -> str:
        """Return what the program knows `name` of this bundle as."""
        return next((u.registered for u in self.units if u.name == name), name)

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
    imported: tuple[tuple[str, str], ...] = ()
    """What it imports, however deep: each name, and a statement that would bind it alone."""
    names: tuple[str, ...] = ()
    """The names it binds at top level otherwise."""
    kind: UnitKind | None = None
    """What kind of unit those names are."""
    declared: tuple[str, ...] = ()
    """Names that it binds at top level in passing: by `global`, or within a header."""
    class_name: str = ""
    members: tuple[tuple[str, int, int], ...] = ()
    """For a class: the names that its body binds, with their first and last lines."""


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
        """Each name that it imports, and the statement that does it."""
        return {name: statement for part in self.parts for name, statement in part.imported}


PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What reading someone else's Python can raise."""


_Result = TypeVar("_Result")


def _on_a_fresh_stack(work: Callable[[], _Result]) -> _Result:
    """Do `work`; if it runs out of stack, once more on a new one.

    Deeply nested code would otherwise read differently the deeper the caller stands.
    """
    try:
        return work()
    except RecursionError:
        with ThreadPoolExecutor(max_workers=1) as fresh:
            return fresh.submit(work).result()


@lru_cache(maxsize=512)
def read_bundle(source: str) -> Bundle:
    """Split a bundle into its top-level statements. Code that does not parse is one part."""
    lines = tuple(source.removesuffix("\n").split("\n")) if source else ()
    try:
        return _on_a_fresh_stack(lambda: _read(source, lines))
    except (*PARSE_ERRORS, tokenize.TokenError):
        whole = (Part(first=1, last=len(lines)),) if lines else ()
        return Bundle(
            source=source, lines=lines, parts=whole, parses=False, inside_string=frozenset()
        )


def _read(source: str, lines: tuple[str, ...]) -> Bundle:
    if "\r" in source:
        raise ValueError("the parser counts other line ends than we do")
    body = ast.parse(source).body
    inside_string = _lines_inside_strings(source)
    read_part = _with_globals if "global" in source else _part  # the walk is not cheap
    parts: list[Part] = []
    for statement in body:
        last = statement.end_lineno or statement.lineno
        if parts and statement.lineno <= parts[-1].last:
            parts[-1] = _joined(parts[-1], read_part(statement, parts[-1].first, last))
        else:
            parts.append(read_part(statement, _first_line(statement), last))
    return Bundle(
        source=source,
        lines=lines,
        parts=tuple(_with_comments(parts, len(lines))),
        parses=True,
        inside_string=inside_string,
    )


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _with_globals(statement: ast.stmt, first: int, last: int) -> Part:
    part = _part(statement, first, last)
    declared = {n for g in ast.walk(statement) if isinstance(g, ast.Global) for n in g.names}
    if not declared:
        return part
    return msgspec.structs.replace(part, declared=tuple(sorted(declared | set(part.declared))))


def _part(statement: ast.stmt, first: int, last: int) -> Part:
    match statement:
        case ast.Import() | ast.ImportFrom():
            asked = _imports(statement)
            return Part(
                first=first,
                last=last,
                imports=tuple(asked.values()),
                imported=tuple(asked.items()),
            )
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return Part(
                first=first,
                last=last,
                names=(name,),
                kind=UnitKind.FUNCTION,
                declared=_in_passing(statement),
            )
        case ast.ClassDef(name=name, body=body):
            return Part(
                first=first,
                last=last,
                names=(name,),
                kind=UnitKind.CLASS,
                declared=_in_passing(statement),
                class_name=name,
                members=tuple(
                    (member, _first_line(inner), inner.end_lineno or inner.lineno)
                    for inner in body
                    for member in sorted(_bound_by([inner]))
                ),
            )
        case _:
            imported = {
                name: asked
                for inner in _own_scope([statement])
                if isinstance(inner, ast.Import | ast.ImportFrom)
                for name, asked in _imports(inner).items()
            }
            names = tuple(sorted(_bound_by([statement])))
            return Part(
                first=first,
                last=last,
                imported=tuple(imported.items()),
                names=names,
                kind=UnitKind.CONSTANT if names else None,
            )


def _in_passing(
    statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
) -> tuple[str, ...]:
    """Return the names that a definition's header binds beside its own."""
    outside, _ = _scopes(statement)
    return tuple(sorted(_bound_by(outside)))


def _imports(statement: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Map each name that the statement binds to a statement that binds it alone."""
    result = {}
    for alias in statement.names:
        alone: ast.stmt = ast.Import(names=[alias])
        bound = alias.asname or alias.name.partition(".")[0]
        if isinstance(statement, ast.ImportFrom):
            alone = ast.ImportFrom(module=statement.module, names=[alias], level=statement.level)
            bound = alias.asname or alias.name
        result[alias.name if alias.asname is None else bound] = ast.unparse(alone)
    return result


def _joined(a: Part, b: Part) -> Part:
    """Two statements on one line cannot be parted, so neither can be lifted out as an import."""
    names = a.names + b.names
    return Part(
        first=a.first,
        last=b.last,
        imported=a.imported + b.imported,
        names=names,
        kind=UnitKind.CONSTANT if names else None,
        declared=a.declared + b.declared,
        members=a.members + b.members,
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
    aliases = {} if scope else _aliases(bundle, node, taken)
    for part in bundle.parts:
        if part.kind is None:
            continue
        kind = UnitKind.METHOD if scope and part.kind is UnitKind.FUNCTION else part.kind
        for name in part.names:
            # A name bound twice in one bundle has one owner all the same; the last one stands.
            known_as = f"{scope}.{name}" if scope else aliases.get(name, name)
            units[name] = Unit(
                name=name, registered=known_as, kind=kind, first=part.first, last=part.last
            )
            for member, first, last in part.members if part.class_name else ():
                units[f"{name}.{member}"] = Unit(
                    name=f"{name}.{member}",
                    registered=f"{known_as}.{member}",
                    kind=UnitKind.METHOD,
                    first=first,
                    last=last,
                )
    for part in bundle.parts:
        for name in part.declared:
            constant = Unit(
                name=name,
                registered=aliases.get(name, name),
                kind=UnitKind.CONSTANT,
                first=part.first,
                last=part.last,
            )
            units.setdefault(name, constant)
    return tuple(units.values())


def _aliases(bundle: Bundle, node: NodeId, taken: frozenset[str]) -> dict[str, str]:
    """Return other names for those that are taken; none if they cannot be changed faithfully."""
    bound = {name for part in bundle.parts for name in (*part.names, *part.declared)}
    aliases = {name: f"{name}__{node}" for name in sorted(bound & taken)}
    return aliases if renamed(bundle.source, aliases) is not None else {}


@lru_cache(maxsize=64)
def _renamed(source: str, renames: tuple[tuple[str, str], ...]) -> str | None:
    try:
        return _on_a_fresh_stack(lambda: _rename(source, dict(renames)))
    except PARSE_ERRORS:
        return None


def _rename(source: str, new: dict[str, str]) -> str | None:
    tree = ast.parse(source)
    if set(new.values()) & set(re.findall(r"\w+", source)):
        return None
    spots: list[_Spot] = []
    _collect(tree, frozenset(new), frozenset(new), spots)
    lines = source.split("\n")
    for line, column, name in sorted({(s.line, s.column, s.name) for s in spots}, reverse=True):
        text = lines[line - 1]
        start = len(text.encode()[:column].decode(errors="replace"))
        lines[line - 1] = text[:start] + re.sub(
            rf"\b{re.escape(name)}\b", new[name], text[start:], count=1
        )
    after = "\n".join(lines)
    for spot in spots:
        spot.rename(new)
    changed = ast.parse(after)
    still_bound = _bound_by(changed.body) & set(new)
    return after if not still_bound and ast.dump(changed) == ast.dump(tree) else None


def renamed(source: str, renames: dict[str, str]) -> str | None:
    """Return the bundle with its helpers under other names, line for line.

    None if that cannot be done so that the new text means the old tree with new names: then
    the collision has to be resolved by whoever wrote the code.
    """
    if not renames:
        return source
    return _renamed(source, tuple(sorted(renames.items())))


class _Spot(msgspec.Struct):
    """A place where a name that is to change is written."""

    node: Any
    name: str
    line: int
    column: int

    def rename(self, new: dict[str, str]) -> None:
        match self.node:
            case ast.Name():
                self.node.id = new[self.name]
            case ast.Global():
                self.node.names = [new.get(n, n) for n in self.node.names]
            case _:
                self.node.name = new[self.name]


_KEYWORD = {ast.FunctionDef: 3, ast.AsyncFunctionDef: 9, ast.ClassDef: 5}


def _collect(
    node: ast.AST, names: frozenset[str], deeper: frozenset[str], spots: list[_Spot]
) -> None:
    """Find where module-level `names` are meant, passing over scopes that shadow them.

    `deeper` is what functions below see: a class body binds names for itself, not for them.
    """
    match node:
        case ast.Name(id=name) if name in names:
            spots.append(_Spot(node, name, node.lineno, node.col_offset))
        case ast.Global(names=declared):
            spots.extend(
                _Spot(node, n, node.lineno, node.col_offset + 6) for n in declared if n in deeper
            )
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node.name in names:
            column = node.col_offset + _KEYWORD[type(node)]
            spots.append(_Spot(node, node.name, node.lineno, column))
        case _:
            pass
    outside, inside = _scopes(node)
    for child in outside:
        _collect(child, names, deeper, spots)
    if inside:
        bound = _bound_by(inside, imports=True) | _parameters(node)
        if isinstance(node, ast.ClassDef):
            for child in inside:
                _collect(child, names - bound, deeper, spots)
        else:
            for child in inside:
                _collect(child, deeper - bound, deeper - bound, spots)


def _scopes(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """Split a node's children into those that belong to its surroundings and to its own scope."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            inside: list[ast.AST] = list(node.body)
        case ast.Lambda():
            inside = [node.body]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            first = node.generators[0]
            return [first.iter], [
                child
                for top in ast.iter_child_nodes(node)
                for child in ([first.target, *first.ifs] if top is first else [top])
            ]
        case _:
            return list(ast.iter_child_nodes(node)), []
    return [c for c in ast.iter_child_nodes(node) if c not in inside], inside


def _parameters(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return set()
    return {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}


def _own_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Walk `nodes` without going into scopes of their own."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        outside, _ = _scopes(node)
        waiting.extend(outside)


def _bound_by(nodes: Iterable[ast.AST], *, imports: bool = False) -> set[str]:
    """Return the names that `nodes` bind or unbind in their own scope; imports if asked for."""
    bound: set[str] = set()
    outer: set[str] = set()
    for node in _own_scope(nodes):
        match node:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                outer.update(names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                # A walrus in a comprehension binds outside of it.
                walrus = [n.target for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
                bound.update(target.id for target in walrus)
            case ast.Import() | ast.ImportFrom() if imports:
                bound.update(a.asname or a.name.partition(".")[0] for a in node.names)
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.add(name)
            case ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case _:
                pass
    return bound - outer
