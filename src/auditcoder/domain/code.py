"""Bundles: the code of one node, its parts, and the units that it registers.

A bundle has the node's function, helpers, constants and imports, unchanged, with a digest of its
own. Everything here is derived from the text by the parser, so any reader can derive it again.
"""

import ast
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cached_property, lru_cache

import msgspec

from auditcoder.domain.attribute_targets import (
    AttributeTarget,
    attribute_targets,
    may_set_attributes,
)
from auditcoder.domain.helper_renames import renamed
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_lexer import lines_inside_strings, words_in
from auditcoder.domain.python_names import (
    FUTURE,
    PARSE_ERRORS,
    Function,
    Imported,
    bound_by,
    declared_global,
    imports_in,
    imports_of,
    mangled,
    on_a_fresh_stack,
    own_scope,
    parse,
    scopes,
)
from auditcoder.domain.values import Digest, Value


class UnitKind(Enum):
    """The kind of a registered unit."""

    FUNCTION = "function"
    CLASS = "class"
    CONSTANT = "constant"
    METHOD = "method"


class Unit(Value):
    """A name that a bundle defines in the program and so owns."""

    name: str
    """The name in the bundle."""
    registered: str
    """The name in the program; different if another node already owns the name."""
    kind: UnitKind
    first: int
    """First line in the bundle, counted from 1."""
    last: int


class NodeCode(Value):
    """The code that a node owns at one point of a run."""

    digest: Digest
    units: tuple[Unit, ...]
    written: int
    """Sequence number of the event that wrote it."""
    scope: str = ""
    """The class that the bundle is placed in; empty for module level."""
    agent: str = ""
    """The agent that wrote it."""

    def renames(self) -> dict[str, str]:
        """Return the helpers that have another name in the program."""
        if self.scope:
            return {}
        return {
            u.name: u.registered for u in self.units if u.name != u.registered and "." not in u.name
        }


class DefinedClass(msgspec.Struct, frozen=True):
    """A class that a bundle defines for the program."""

    name: str
    methods: tuple[str, ...]
    """The members that are functions, classes or imports, not those that are assigned."""
    derived: bool
    """Whether it can have members of other classes."""


class BundlePart(msgspec.Struct, frozen=True):
    """One top-level statement of a bundle, with the comments above it."""

    first: int
    last: int
    imported: tuple[Imported, ...] = ()
    """Names that it imports into the module, also in nested statements."""
    lifted: bool = False
    """Whether it has only imports, which assembly may merge with those of other nodes."""
    names: tuple[str, ...] = ()
    """The other names that it binds at top level."""
    kind: UnitKind | None = None
    """The kind of unit that those names are."""
    in_passing: tuple[str, ...] = ()
    """Names that the header of a definition binds in addition to its own."""
    declared: tuple[str, ...] = ()
    """Names that its functions declare `global`, and so can bind at top level."""
    class_name: str = ""
    members: tuple[tuple[str, int, int], ...] = ()
    """For a class: the names that its body binds, with their first and last lines."""
    defined: tuple[str, ...] = ()
    """The names that it binds to functions, classes or imports, not by assigning."""
    classes: tuple[DefinedClass, ...] = ()


class CodeBundle(msgspec.Struct, frozen=True, dict=True):
    """The parsed text of a bundle."""

    source: str
    lines: tuple[str, ...]
    parts: tuple[BundlePart, ...]
    parses: bool
    inside_string: frozenset[int]
    """Lines that begin inside a string, and so must not be indented."""
    targets: frozenset[AttributeTarget] = frozenset()
    """Attributes of global names that it sets or deletes."""

    @cached_property
    def body(self) -> tuple[BundlePart, ...]:
        """The parts without the imports that are lifted out."""
        return tuple(part for part in self.parts if not part.lifted)

    @cached_property
    def imports(self) -> tuple[str, ...]:
        """The imports that are lifted out, one statement for each name."""
        lifted = (imported for part in self.parts if part.lifted for imported in part.imported)
        return tuple(dict.fromkeys(imported.statement for imported in lifted))

    @cached_property
    def imported(self) -> tuple[Imported, ...]:
        """All names that it imports into the program, lifted out or not."""
        return tuple(imported for part in self.parts for imported in part.imported)

    @cached_property
    def has_late_annotations(self) -> bool:
        """Whether a future import makes annotations text that is not evaluated."""
        return any(i.statement.startswith(f"{FUTURE}annotations") for i in self.imported)

    @cached_property
    def words(self) -> frozenset[str]:
        """All words in the text, which include all names as the parser reads them."""
        # This version of Unicode is the same on every Python.
        return words_in(unicodedata.ucd_3_2_0.normalize("NFKC", self.source))

    def at_margin(self, function: Function) -> str:
        """Return a method's text without its indentation; lines inside strings are unchanged."""
        first, margin = first_line(function), " " * function.col_offset
        own = enumerate(self.lines[first - 1 : function.end_lineno], start=first)
        kept = self.inside_string
        moved = [line if number in kept else line.removeprefix(margin) for number, line in own]
        return "\n".join(moved) + "\n"


@lru_cache(maxsize=512)
def read_bundle(source: str) -> CodeBundle:
    """Split a bundle into its top-level statements; code that does not parse is one part."""
    lines = tuple(source.removesuffix("\n").split("\n")) if source else ()
    try:
        return on_a_fresh_stack(lambda: _read(source, lines))
    except PARSE_ERRORS:
        whole = (BundlePart(first=1, last=len(lines)),) if lines else ()
        return CodeBundle(
            source=source, lines=lines, parts=whole, parses=False, inside_string=frozenset()
        )


def _read(source: str, lines: tuple[str, ...]) -> CodeBundle:
    if "\r" in source:
        raise ValueError("carriage returns make line numbers ambiguous")
    body = parse(source).body
    inside_string = lines_inside_strings(source)
    read_part = _with_globals if "global" in source else _part  # walking the tree is slow
    parts: list[BundlePart] = []
    for statement in body:
        last = statement.end_lineno or statement.lineno
        if parts and statement.lineno <= parts[-1].last:
            parts[-1] = _joined(parts[-1], read_part(statement, parts[-1].first, last))
        else:
            parts.append(read_part(statement, first_line(statement), last))
    return CodeBundle(
        source=source,
        lines=lines,
        parts=tuple(_with_comments(_lifted(parts), len(lines))),
        parses=True,
        inside_string=inside_string,
        targets=frozenset(attribute_targets(body) if may_set_attributes(source) else ()),
    )


def first_line(statement: ast.stmt) -> int:
    """Return the first line of a statement, including its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _with_globals(statement: ast.stmt, first: int, last: int) -> BundlePart:
    declared = declared_global(statement)
    part = _part(statement, first, last)
    inner = (n for n in ast.walk(statement) if isinstance(n, ast.ClassDef) and n.name in declared)
    classes = (*part.classes, *map(_outline, inner))
    return msgspec.structs.replace(part, declared=tuple(sorted(declared)), classes=classes)


def _part(statement: ast.stmt, first: int, last: int) -> BundlePart:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return BundlePart(first=first, last=last, imported=imports_of(statement), lifted=True)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return BundlePart(
                first=first,
                last=last,
                names=(name,),
                kind=UnitKind.FUNCTION,
                in_passing=_in_passing(statement),
                defined=(name,),
            )
        case ast.ClassDef(name=name, body=body):
            return BundlePart(
                first=first,
                last=last,
                names=(name,),
                kind=UnitKind.CLASS,
                in_passing=_in_passing(statement),
                class_name=name,
                members=tuple(
                    (member, first_line(inner), inner.end_lineno or inner.lineno)
                    for inner in body
                    for member in sorted(
                        bound_by([inner]) | {imported.name for imported in imports_in(inner)}
                    )
                ),
                defined=(name,),
                classes=(_outline(statement),),
            )
        case _:
            names = tuple(sorted(bound_by([statement])))
            inside = list(own_scope([statement])) if hasattr(statement, "body") else []
            return BundlePart(
                first=first,
                last=last,
                imported=imports_in(statement),
                names=names,
                kind=UnitKind.CONSTANT if names else None,
                defined=tuple(n.name for n in inside if isinstance(n, Function | ast.ClassDef)),
                classes=tuple(_outline(n) for n in inside if isinstance(n, ast.ClassDef)),
            )


def _outline(definition: ast.ClassDef) -> DefinedClass:
    body = definition.body
    defined = {n.name for n in own_scope(body) if isinstance(n, Function | ast.ClassDef)}
    imported = {imported.name for inner in body for imported in imports_in(inner)}
    return DefinedClass(
        name=definition.name,
        methods=tuple(sorted(defined | imported)),
        derived=bool(definition.bases or definition.keywords),
    )


def _in_passing(statement: Function | ast.ClassDef) -> tuple[str, ...]:
    outside, _ = scopes(statement)
    return tuple(sorted(bound_by(outside)))


def _joined(a: BundlePart, b: BundlePart) -> BundlePart:
    """Join two statements on one line; they cannot be separated, so no import is lifted out.

    Except if all are imports, one of them from the future, which works at the top only.
    """
    imported = a.imported + b.imported
    names = a.names + b.names
    return BundlePart(
        first=a.first,
        last=b.last,
        imported=imported,
        lifted=a.lifted and b.lifted and is_from_the_future(imported),
        names=names,
        kind=UnitKind.CONSTANT if names else None,
        in_passing=a.in_passing + b.in_passing,
        declared=a.declared + b.declared,
    )


def is_from_the_future(imported: Iterable[Imported]) -> bool:
    """Whether some of the names are imported from `__future__`."""
    return any(i.statement.startswith(FUTURE) for i in imported)


def _lifted(parts: list[BundlePart]) -> list[BundlePart]:
    """Do not lift out imports of names that are bound more than once: the order could matter.

    Imports from the future are lifted out in any case, since they are the first statements.
    """
    if not any(part.lifted for part in parts):
        return parts
    meanings = {(i.name, i.meaning) for part in parts for i in part.imported}
    bound = Counter(name for name, _ in meanings)
    bound.update(n for part in parts for n in (*part.names, *part.in_passing, *part.declared))

    def may_move(part: BundlePart) -> bool:
        once = all(bound[i.name] == 1 for i in part.imported)
        return part.lifted and (once or is_from_the_future(part.imported))

    return [msgspec.structs.replace(part, lifted=may_move(part)) for part in parts]


def _with_comments(parts: list[BundlePart], count: int) -> list[BundlePart]:
    """Extend parts by the lines before them, and the last part to the end of the text."""
    result = []
    end = 0
    for part in parts:
        result.append(msgspec.structs.replace(part, first=end + 1))
        end = part.last
    if result:
        result[-1] = msgspec.structs.replace(result[-1], last=count)
    elif count:
        result.append(BundlePart(first=1, last=count))
    return result


def units_of(
    bundle: CodeBundle, node: NodeId, scope: str = "", taken: frozenset[str] = frozenset()
) -> tuple[Unit, ...]:
    """Return the units that `bundle` registers for `node`.

    A name that is `taken`, because another node owns it, is registered as `name__S1_2`, and `_` as
    `_S1_2`. In a class, every function of the bundle is a method and is registered with the class
    name, and so is every import that stays in the bundle. A private member `__x` of `C` is
    registered as `C._C__x`.
    """
    units: dict[str, Unit] = {}
    aliases = {} if scope else _aliases(bundle, node, taken)

    def register(name: str, registered: str, kind: UnitKind, first: int, last: int) -> None:
        # A name that is bound twice in one bundle is one unit: the last binding.
        units[name] = Unit(name=name, registered=registered, kind=kind, first=first, last=last)

    for part in bundle.parts:
        for name in (*part.in_passing, *part.names):
            known_as = program_name(aliases.get(name, name), scope)
            kind = part.kind if name in part.names and part.kind else UnitKind.CONSTANT
            if scope and kind is UnitKind.FUNCTION:
                kind = UnitKind.METHOD
            register(name, known_as, kind, part.first, part.last)
            if part.class_name == name and not scope:
                for member, first, last in part.members:
                    known = program_name(member, name)
                    register(f"{name}.{member}", known, UnitKind.METHOD, first, last)
        if scope and not part.lifted:
            for name in sorted({imported.name for imported in part.imported}):
                register(name, program_name(name, scope), UnitKind.METHOD, part.first, part.last)
    for part in bundle.parts:
        for name in part.declared:  # `global` names belong to the module even in a class
            if name not in units or scope:
                register(
                    f"global {name}" if scope else name,
                    mangled(name, scope) if scope else aliases.get(name, name),
                    UnitKind.CONSTANT,
                    part.first,
                    part.last,
                )
    return tuple(units.values())


def program_name(name: str, class_name: str) -> str:
    """Return what the program calls a name of a bundle that is placed in a class, if in any."""
    return f"{class_name}.{mangled(name, class_name)}" if class_name else name


class Definitions(msgspec.Struct, frozen=True):
    """What nodes define in the program, which others may not set: all but data in classes."""

    names: frozenset[str] = frozenset()
    """Global names, and members such as `C.m`."""
    derived: frozenset[str] = frozenset()
    """Classes that have members of other classes."""
    methods: frozenset[str] = frozenset()
    """Functions, classes and imports in classes, such as `C.m`."""


def definitions(code: NodeCode, bundle: CodeBundle) -> Definitions:
    """Return what the bundle of a node defines in the program."""
    names = frozenset(unit.registered for unit in code.units)
    if code.scope:
        members = {name for part in bundle.parts for name in part.defined}
        members |= {i.name for part in bundle.parts if not part.lifted for i in part.imported}
        return Definitions(names, methods=frozenset(program_name(m, code.scope) for m in members))
    classes = [found for part in bundle.parts for found in part.classes]
    return Definitions(
        names,
        derived=frozenset(found.name for found in classes if found.derived),
        methods=frozenset(program_name(m, found.name) for found in classes for m in found.methods),
    )


def all_definitions(each: Iterable[Definitions], promised: Iterable[str] = ()) -> Definitions:
    """Return what several nodes define together, with names that their contracts promise."""
    every = list(each)
    return Definitions(
        names=frozenset(promised).union(*(d.names for d in every)),
        derived=frozenset().union(*(d.derived for d in every)),
        methods=frozenset().union(*(d.methods for d in every)),
    )


def foreign_target(
    bundle: CodeBundle, own: Sequence[Unit], scope: str, others: Definitions
) -> str | None:
    """Return an attribute that a bundle sets although another node owns it; None if there is none.

    That is a method of another node, also in a class of this one; what another node's class may
    inherit; or a special attribute of another node's code, such as `f.__code__`. Other attributes
    are state, which nodes may share, such as a counter of a class.
    """
    mine = {unit.name for unit in own if "." not in unit.registered}
    members = {unit.registered for unit in own}
    inheritable = {method.partition(".")[2] for method in others.methods}
    for target in sorted(bundle.targets):
        attribute = mangled(target.attribute, scope)
        # A class in the bundle whose name is `_` does not change the private names in it.
        for base in (target.base, mangled(target.base, scope)):
            dotted = f"{base}.{attribute}"
            special = attribute.startswith("__") and base in others.names and base not in mine
            inherited = base in others.derived and attribute in inheritable
            taken = special or inherited or dotted in others.methods
            if taken and dotted not in members:
                return dotted
    return None


def _aliases(bundle: CodeBundle, node: NodeId, taken: frozenset[str]) -> dict[str, str]:
    """Return new names for those that are taken; none if a rename is not safe."""
    bound = {name for part in bundle.parts for name in (*part.names, *part.in_passing)}
    # `_` with a suffix would begin with `__`, which class bodies mangle.
    aliases = {n: f"_{node}" if n == "_" else f"{n}__{node}" for n in sorted(bound & taken)}
    return aliases if renamed(bundle.source, aliases) is not None else {}
