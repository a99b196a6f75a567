"""Assembly of bundles into a program, and verification that no line was changed.

Assembly is deterministic. Its result has a line map: for each line of the program, the node and the
line of its bundle that it comes from. `assembly_faults` verifies the map from the texts alone,
without the assembler, so that the result of any assembler can be checked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise

import msgspec

from auditcoder.domain.code import (
    BundlePart,
    CodeBundle,
    NodeCode,
    all_definitions,
    definitions,
    foreign_target,
    read_bundle,
    units_of,
)
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.helper_renames import renamed
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import BUILTINS, FUTURE
from auditcoder.domain.values import Digest, Value

INDENT = "    "


class Segment(Value):
    """Consecutive lines of the program and their origin."""

    lines: int
    """Number of lines."""
    node: NodeId | None = None
    """The owner; None for lines that assembly added: merged imports and blank lines."""
    source: int = 0
    """The first line in the owner's bundle, counted from 1."""
    asked: tuple[NodeId, ...] = ()
    """For a merged import: the nodes that need it."""


class Assembly(Value):
    """An assembled program, by digest, and its line map."""

    program: Digest
    segments: tuple[Segment, ...]


class AssemblyDraft(msgspec.Struct, frozen=True):
    """The text of an assembled program and its line map."""

    text: str
    segments: tuple[Segment, ...]


class AssemblyConflict(Exception):
    """Two bundles cannot be part of one program without a change."""


def owner_of_line(segments: Iterable[Segment], line: int) -> Segment | None:
    """Return the segment that holds program line `line`, counted from 1."""
    end = 0
    for segment in segments:
        end += segment.lines
        if line <= end:
            return segment if line >= 1 else None
    return None


def placed(bundle: CodeBundle, code: NodeCode) -> tuple[str, ...]:
    """Return the bundle's lines exactly as they must appear in the program."""
    if code.scope:
        return tuple(
            INDENT + line if line and number not in bundle.inside_string else line
            for number, line in enumerate(bundle.lines, start=1)
        )
    renames = code.renames()
    if not renames or not bundle.parses:
        return bundle.lines
    return tuple((renamed(bundle.source, renames) or bundle.source).removesuffix("\n").split("\n"))


def build_order(graph: TaskGraph, code: Mapping[NodeId, NodeCode]) -> tuple[NodeId, ...]:
    """Return the nodes that own code: leaves in execution order, then inner nodes, root last."""
    return tuple(n for n in (*graph.order, *graph.inner) if n in code)


def assemble(
    graph: TaskGraph, code: Mapping[NodeId, NodeCode], bundles: Mapping[NodeId, CodeBundle]
) -> AssemblyDraft:
    """Join the bundles in dependency order; raise AssemblyConflict if names conflict."""
    order = build_order(graph, code)
    if clash := _clash(code, bundles):
        raise AssemblyConflict(clash)
    texts = {node: placed(bundles[node], code[node]) for node in order}
    builder = _ProgramBuilder()
    for statement, asked in _merged_imports(order, bundles):
        builder.put_import(statement, asked)
    methods = {
        scope: [n for n in order if code[n].scope == scope]
        for scope in sorted({c.scope for c in code.values() if c.scope})
    }
    for node in order:
        if code[node].scope:
            continue
        for part in bundles[node].body:
            builder.put(node, part, texts[node])
            for method in methods.pop(part.class_name, ()):
                for piece in bundles[method].body:
                    builder.put(method, piece, texts[method])
    if methods:
        raise AssemblyConflict(f"no bundle declares class {', '.join(methods)}")
    if coding_of("\n".join(builder.lines[:2])):
        builder.shift_down()
    return AssemblyDraft(text="\n".join(builder.lines) + "\n", segments=tuple(builder.segments))


_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)


def coding_of(text: str) -> str | None:
    """Return the encoding that a program's first two lines declare, if any."""
    declared = _CODING.search("\n".join(text.split("\n", 2)[:2]))
    return declared[1] if declared else None


class _ProgramBuilder:
    """The lines and segments of a program during assembly."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.segments: list[Segment] = []

    def shift_down(self) -> None:
        """Add two blank lines, so that a comment is not read as an encoding declaration."""
        self.lines[:0] = ["", ""]
        self.segments.insert(0, Segment(lines=2))

    def put_import(self, statement: str, asked: tuple[NodeId, ...]) -> None:
        self.lines.append(statement)
        self.segments.append(Segment(lines=1, asked=asked))

    def put(self, node: NodeId, part: BundlePart, body: tuple[str, ...]) -> None:
        """Add one part of a node's bundle after a blank line."""
        if self.lines and body[part.first - 1].strip():
            self.lines.append("")
            self.segments.append(Segment(lines=1))
        piece = body[part.first - 1 : part.last]
        self.lines.extend(piece)
        self.segments.append(Segment(lines=len(piece), node=node, source=part.first))


def _merged_imports(
    order: Iterable[NodeId], bundles: Mapping[NodeId, CodeBundle]
) -> list[tuple[str, tuple[NodeId, ...]]]:
    asked: dict[str, dict[NodeId, None]] = {}
    for node in order:
        for statement in bundles[node].imports:
            asked.setdefault(statement, {})[node] = None
    # Imports from the future must come first; the rest is sorted to be deterministic.
    first = sorted(asked, key=lambda s: (not s.startswith(FUTURE), s))
    return [(statement, tuple(asked[statement])) for statement in first]


def _clash(code: Mapping[NodeId, NodeCode], bundles: Mapping[NodeId, CodeBundle]) -> str | None:
    """Return why an imported name would have another meaning in some node; None if none does."""
    defined = {u.registered: node for node, c in code.items() for u in c.units}
    setters = [node for node in code if bundles[node].targets]
    defined_by = {n: definitions(own, bundles[n]) for n, own in code.items()} if setters else {}
    for node in setters:
        own = code[node]
        others = all_definitions(d for n, d in defined_by.items() if n != node)
        if target := foreign_target(bundles[node], own.units, own.scope, others):
            return f"{node} sets {target}, which another node defines"
    for scope in sorted({c.scope for c in code.values()}):
        if _times_bound(scope, code, bundles) > 1:
            return f"class {scope} has methods of several nodes, but is bound more than once"
    meanings: dict[str, set[str]] = {}
    for node in code:
        for imported in bundles[node].imported:
            meanings.setdefault(imported.name, set()).add(imported.meaning)
            if defined.get(imported.name, node) != node:
                owner = defined[imported.name]
                return f"{node} imports {imported.name}, which {owner} defines"
    for name, known in meanings.items():
        if len(known) > 1 and len(importers := _importers(name, code, bundles)) > 1:
            ways = " and as ".join(f"`{meaning}`" for meaning in sorted(known))
            return f"{name} is imported by {', '.join(importers)} as {ways}"
        if name in BUILTINS:
            users = [n for n in code if name in bundles[n].words]
            if users != _importers(name, code, bundles):
                return f"{name} is imported, but some nodes may mean Python's own"
    return None


def _times_bound(
    name: str, code: Mapping[NodeId, NodeCode], bundles: Mapping[NodeId, CodeBundle]
) -> int:
    parts = (part for node, own in code.items() if not own.scope for part in bundles[node].parts)
    return sum(
        [*p.names, *p.in_passing, *p.declared, *(i.name for i in p.imported)].count(name)
        for p in parts
    )


def _importers(
    name: str, code: Mapping[NodeId, NodeCode], bundles: Mapping[NodeId, CodeBundle]
) -> list[NodeId]:
    return [n for n in code if any(i.name == name for i in bundles[n].imported)]


def assembly_faults(
    text: str,
    segments: tuple[Segment, ...],
    order: tuple[NodeId, ...],
    code: Mapping[NodeId, NodeCode],
    bundles: Mapping[NodeId, CodeBundle],
) -> tuple[str, ...]:
    """Return where the program differs from the code of its nodes; empty if it is faithful.

    Every line belongs to exactly one segment. A node's segment is a verbatim part of that node's
    bundle, cut only between top-level statements, and a node's segments use every line except
    imports, once and in order. A line without an owner is blank, or an import at the top that a
    node needs. Nodes follow `order`, also those in one class; methods are in their class.
    """
    lines = tuple(text.removesuffix("\n").split("\n"))
    if not text.endswith("\n") or coding_of(text):
        return ("the last line has no line ending, or the program declares an encoding",)
    if any(s.lines < 1 for s in segments) or sum(s.lines for s in segments) != len(lines):
        return ("the segments do not cover the program's lines exactly",)
    faults: list[str] = []
    used: dict[NodeId, list[tuple[int, int]]] = {node: [] for node in code}
    texts = {node: placed(bundles[node], code[node]) for node in code}
    unowned: list[tuple[Segment, tuple[str, ...]]] = []
    start, in_class = 0, ""
    for segment in segments:
        piece = lines[start : start + segment.lines]
        start += segment.lines
        node = segment.node
        if node is None:
            unowned.append((segment, piece))
            if any(piece) and any(used.values()):
                faults.append("an import is below code")
            continue
        if segment.asked:
            faults.append(f"the lines of {node} are asked for as imports")
        if node not in code:
            faults.append(f"{node} owns lines but has no code")
            continue
        first, last = segment.source, segment.source + segment.lines - 1
        if first < 1 or piece != texts[node][first - 1 : last]:
            faults.append(f"{node}'s lines {first} to {last} were changed")
        used[node].append((first, last))
        if not code[node].scope:
            in_class = next((p.class_name for p in bundles[node].body if p.last == last), "")
        elif code[node].scope != in_class:
            faults.append(f"{node}'s code is outside its class")
    faults.extend(_unowned_faults(unowned, _merged_imports(order, bundles)))
    for node, ranges in used.items():
        fault = _cut_fault(ranges, [(p.first, p.last) for p in bundles[node].body])
        faults.extend([f"{node}'s code {fault}"] if fault else [])
    faults.extend(_whole_faults(text, segments, order, code, bundles))
    return tuple(faults)


def _unowned_faults(
    unowned: list[tuple[Segment, tuple[str, ...]]],
    merged: list[tuple[str, tuple[NodeId, ...]]],
) -> Iterator[str]:
    """Yield how lines without an owner differ from blank ones and the imports that nodes need."""
    if any(s.source or any(piece) is not bool(s.asked) for s, piece in unowned):
        yield "some lines have no owner"
    if [(line, s.asked) for s, piece in unowned for line in piece if line] != merged:
        yield "the merged imports are not those that the nodes need"


def _scope(code: Mapping[NodeId, NodeCode], node: NodeId) -> str:
    return code[node].scope if node in code else ""


def _whole_faults(
    text: str,
    segments: tuple[Segment, ...],
    order: tuple[NodeId, ...],
    code: Mapping[NodeId, NodeCode],
    bundles: Mapping[NodeId, CodeBundle],
) -> list[str]:
    """Return faults of the program as a whole, which no single line shows."""
    faults = []
    if clash := _clash(code, bundles):
        faults.append(clash)
    for scope in sorted({"", *(c.scope for c in code.values())}):
        found = [s.node for s in segments if s.node is not None and _scope(code, s.node) == scope]
        expected = [n for n in order if code[n].scope == scope and bundles[n].body]
        if [node for node, _ in groupby(found)] != expected:
            faults.append(f"the nodes{scope and f' of class {scope}'} are not in the graph's order")
    parse = all(bundle.parses for bundle in bundles.values())
    scoped = any(c.scope for c in code.values())
    if not parse and read_bundle(text).parses:
        # An unclosed string in a part that does not parse can enclose the code after it.
        faults.append("the program parses although not all of its parts do")
    if parse and scoped:
        owned = {u.registered for c in code.values() for u in c.units}
        defined = {u.registered for u in units_of(read_bundle(text), ROOT)}
        if owned != defined:
            faults.append(
                f"the program does not define {', '.join(sorted(owned ^ defined))} in place"
            )
    return faults


def _cut_fault(ranges: list[tuple[int, int]], body: list[tuple[int, int]]) -> str | None:
    """Return how `ranges` differ from the parts of `body`, each once and in order; None if not."""
    if ranges == body:
        return None
    starts, ends = {first for first, _ in body}, {last for _, last in body}
    if any(first not in starts or last not in ends for first, last in ranges):
        return "is cut inside a statement"
    if any(b[0] <= a[1] for a, b in pairwise(ranges)):
        return "is out of order or repeated"
    covered = {line for first, last in ranges for line in range(first, last + 1)}
    if covered != {line for first, last in body for line in range(first, last + 1)}:
        return "is not all in the program"
    return None
