"""Injects faults: yields every variant of a piece of code with one fault in it."""

import ast
import re
from bisect import bisect_right
from collections.abc import Collection, Hashable, Iterator, Mapping
from enum import Enum
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

from auditcoder.domain.python_names import Function, body_without_docstring, docstring_of, parsed
from auditcoder.domain.values import Value
from auditcoder_bench.faultbench import interface_mutations, mutations
from auditcoder_bench.faultbench.mutations import (
    Mutation,
    MutationScope,
    New,
    SourceChange,
    replaced,
    scope_of,
)


class Fault(Enum):
    """The kinds of injected faults."""

    OFF_BY_ONE = "off by one"
    WRONG_OPERATOR = "wrong operator"
    WRONG_START = "wrong initial value"
    MISSING_EDGE_CASE = "missing edge case"
    SWAPPED_ARGUMENTS = "swapped arguments"
    SWAPPED_RESULTS = "swapped results"
    WRONG_SHAPE = "wrong type or shape across an interface"
    LOST_STATE = "lost state"
    SLOW_LOOP = "needless work in a loop"
    WRONG_ORCHESTRATION = "wrong orchestration"


class Variant(Value):
    """A piece of code with one fault."""

    fault: Fault
    source: str
    """The whole piece of code; unchanged parts keep their text."""
    line: int
    """The first changed line, in the original."""
    said: str
    """A description of the change."""


_MUTATIONS: dict[Fault, tuple[Mutation, ...]] = {
    Fault.OFF_BY_ONE: (mutations.off_bounds, mutations.off_limits, mutations.off_terms),
    Fault.WRONG_OPERATOR: (
        mutations.wrong_operators,
        mutations.wrong_calls,
        mutations.wrong_directions,
    ),
    Fault.WRONG_START: (mutations.wrong_starts,),
    Fault.MISSING_EDGE_CASE: (
        mutations.missing_branches,
        mutations.missing_conditions,
        mutations.missing_care,
    ),
    Fault.SWAPPED_ARGUMENTS: (interface_mutations.swapped_arguments,),
    Fault.SWAPPED_RESULTS: (interface_mutations.swapped_results,),
    Fault.WRONG_SHAPE: (interface_mutations.wrong_returns, interface_mutations.wrong_exchanges),
    Fault.LOST_STATE: (
        interface_mutations.lost_updates,
        interface_mutations.lost_results,
        interface_mutations.lost_in_locals,
    ),
    Fault.SLOW_LOOP: (interface_mutations.slow_loops, interface_mutations.slow_lookups),
    Fault.WRONG_ORCHESTRATION: (
        interface_mutations.skipped_calls,
        interface_mutations.mixed_up_calls,
        interface_mutations.mistaken_variables,
    ),
}


def variants(source: str, function: str, others: Collection[str] = ()) -> Iterator[Variant]:
    """Yield all distinct variants of a piece of code with one fault.

    `function` is the node's own function; only its return values cross an interface, not those of
    its helpers. `others` are the functions of other nodes, called by name or as methods of `self`.
    Code that does not parse has no variants.
    """
    tree = parsed(source)
    if tree is None:
        return
    text = _SourceText(source, tree)
    scope = scope_of(tree, function, others)
    nodes = list(_changeable(tree))
    known = _meanings(tree)
    seen = {known[tree]}
    for fault, functions in _MUTATIONS.items():
        for change in (c for node in nodes for mutate in functions for c in mutate(node, scope)):
            intended = _meaning(tree, _after(change, known, scope))
            if intended in seen:
                continue
            seen.add(intended)
            for candidate, line in text.with_change(change):
                candidate_tree = parsed(candidate)
                if candidate_tree is not None and _meaning(candidate_tree, {}) == intended:
                    yield Variant(fault=fault, source=candidate, line=line, said=change.said)
                    break


class _Statements(tuple[Hashable, ...]):
    """The meaning of several statements that replace one."""

    __slots__ = ()


def _meaning(value: Any, known: Mapping[ast.AST, Hashable]) -> Hashable:
    """Return a hashable form of a syntax tree without its docstrings.

    `known` has the forms of some nodes, which take precedence over their content.
    """
    if isinstance(value, list):
        each = [_meaning(item, known) for item in value]
        return tuple(one for m in each for one in (m if isinstance(m, _Statements) else (m,)))
    if not isinstance(value, ast.AST):
        return type(value), value  # distinguishes 1 from True
    if value in known:
        return known[value]
    return type(value), *(_meaning(_field(value, name), known) for name in value._fields)


def _field(node: ast.AST, name: str) -> Any:
    if name == "body" and isinstance(node, Function | ast.ClassDef | ast.Module):
        return body_without_docstring(node)
    return getattr(node, name, None)


def _meanings(tree: ast.Module) -> dict[ast.AST, Hashable]:
    """Return the hashable form of every node."""
    known: dict[ast.AST, Hashable] = {}
    for node in reversed(list(ast.walk(tree))):  # children before their parents
        known[node] = _meaning(node, known)
    return known


def _after(
    change: SourceChange, known: Mapping[ast.AST, Hashable], scope: MutationScope
) -> dict[ast.AST, Hashable]:
    """Return the known forms after a change: new for its nodes, none for their ancestors."""
    after = dict(known)
    for old, _ in change.news:
        above: ast.AST | None = old
        while above is not None:
            after.pop(above, None)
            above = scope.parents.get(above)
    for old, new in change.news:
        if isinstance(new, tuple):
            after[old] = _Statements(_meaning(statement, known) for statement in new)
        else:
            after[old] = _meaning(new, known)
    return after


_FIXED_NODES = (ast.Import, ast.ImportFrom, ast.JoinedStr, ast.pattern)
"""Nodes that are not changed; the positions of nodes inside f-strings are unreliable."""

_FIXED_FIELDS = frozenset(("decorator_list", "annotation", "returns", "bases"))
"""Fields of nodes that are not changed."""


def _changeable(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that may be changed, parents first."""
    yield node
    docstring = docstring_of(node)
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        if name in _FIXED_FIELDS or (isinstance(node, ast.ClassDef) and name == "keywords"):
            continue
        for child in children:
            kept = isinstance(child, _FIXED_NODES) or child is docstring or _is_main(child)
            if isinstance(child, ast.AST) and not kept:
                yield from _changeable(child)


def _is_main(node: object) -> bool:
    match node:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
    return False


_Positioned: TypeAlias = ast.expr | ast.stmt | ast.keyword


class _Edit(NamedTuple):
    """A range of bytes of the source, and its replacement."""

    start: int
    end: int
    text: str


class _Style(NamedTuple):
    """Where parentheses are put around new text."""

    inner: bool
    """Around each original expression inside it."""
    outer: bool


_STYLES = (_Style(False, False), _Style(True, False), _Style(False, True), _Style(True, True))
"""From the most natural to the safest."""

_NEVER_PARENTHESISED = (
    ast.Name,
    ast.Constant,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.Starred,
    ast.Slice,
)
"""Expressions that never need parentheses, or cannot have them."""


class _SourceText:
    """The text of a source, addressed by the nodes of its syntax tree."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self._text = source.encode()  # column offsets of the parser are bytes
        lines = self._text.splitlines(keepends=True)
        self._starts = list(accumulate(map(len, lines), initial=0))
        self._own = {n for n in ast.walk(tree) if isinstance(n, ast.expr | ast.stmt)}

    def with_change(self, change: SourceChange) -> Iterator[tuple[str, int]]:
        """Yield the changed text in each style, and the first changed line.

        The caller has to parse the result and take the first one with the intended meaning.
        """
        for style in _STYLES:
            edits = sorted(e for old, new in change.news for e in self._edits(old, new, style))
            text = self._text
            for edit in reversed(edits):  # so that earlier offsets stay valid
                text = text[: edit.start] + edit.text.encode() + text[edit.end :]
            yield text.decode(), bisect_right(self._starts, edits[0].start)

    def _edits(self, old: ast.AST, new: New, style: _Style) -> Iterator[_Edit]:
        """Yield the smallest edits that turn a node into its replacement."""
        assert isinstance(old, _Positioned)
        if isinstance(new, tuple):
            yield self._statements(old, new, style)
        elif isinstance(old, ast.If) and isinstance(new, ast.If):
            yield self._shortened(old, new)
        elif new in self._own or (parts := _parts(old, new)) is None:
            text = self._written(new, style)
            # A generator that is the only argument of a call uses the parentheses of the call.
            loose = not isinstance(new, _NEVER_PARENTHESISED) or isinstance(old, ast.GeneratorExp)
            bracketed = style.outer and isinstance(new, ast.expr) and loose
            yield _Edit(*self._span(old), f"({text})" if bracketed else text)
        else:
            for part in parts:
                yield from self._edits(*part, style)

    def _statements(self, old: _Positioned, news: tuple[ast.stmt, ...], style: _Style) -> _Edit:
        start, end = self._span(old)
        if not news:
            return _Edit(*self._whole_lines(start, end), "")
        line = self._text[self._line_start(start) : start].decode()
        indent = line[: len(line) - len(line.lstrip())]
        return _Edit(start, end, f"\n{indent}".join(self._written(new, style) for new in news))

    def _shortened(self, old: ast.If, new: ast.If) -> _Edit:
        """Remove the `else` part, or only its first `elif` branch."""
        branch = old.orelse[0]
        gone = branch.body if new.orelse and isinstance(branch, ast.If) else old.orelse
        start, end = (self._line_end(self._span(last)[1]) for last in (old.body[-1], gone[-1]))
        return _Edit(start, end, "")

    def _written(self, new: ast.AST, style: _Style) -> str:
        """Return the text of a node; original nodes inside it keep their text."""
        if new in self._own:
            return self._kept(new)
        kept: list[str] = []

        def hole(node: ast.AST) -> ast.AST | None:
            if node not in self._own:
                return None
            text = self._kept(node)
            kept.append(
                f"({text})" if style.inner and not isinstance(node, _NEVER_PARENTHESISED) else text
            )
            return ast.Name(id=f"_kept{len(kept) - 1}_")

        template = ast.unparse(replaced(new, hole))
        return re.sub(r"_kept(\d+)_", lambda match: kept[int(match[1])], template)

    def _kept(self, node: ast.AST) -> str:
        assert isinstance(node, _Positioned)
        start, end = self._span(node)
        return self._text[start:end].decode()

    def _span(self, node: _Positioned) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _whole_lines(self, start: int, end: int) -> tuple[int, int]:
        """Extend a span to whole lines if they contain nothing else but a comment."""
        first, last = self._line_start(start), self._line_end(end)
        around = self._text[first:start].strip(), self._text[end:last].strip()
        alone = not around[0] and (not around[1] or around[1].startswith(b"#"))
        return (first, last) if alone else (start, end)

    def _line_start(self, offset: int) -> int:
        return self._starts[bisect_right(self._starts, offset) - 1]

    def _line_end(self, offset: int) -> int:
        return next((start for start in self._starts if start > offset), len(self._text))


def _parts(old: ast.AST, new: ast.AST) -> list[tuple[ast.AST, ast.AST]] | None:
    """Return the children in which two nodes differ; None if they also differ otherwise."""
    if type(old) is not type(new):
        return None
    pairs: list[tuple[Any, Any]] = []
    for name, value in ast.iter_fields(old):
        other: Any = getattr(new, name, None)
        if not isinstance(value, list):
            pairs.append((value, other))
        elif len(value) == len(other):
            pairs += zip(value, other, strict=True)
        else:
            return None
    different = [(a, b) for a, b in pairs if not _equal(a, b)]
    placed = all(isinstance(one, _Positioned) for pair in different for one in pair)
    return different if placed else None


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        return old is new or ast.dump(old) == ast.dump(new)
    return type(old) is type(new) and bool(old == new)
