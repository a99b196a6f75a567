"""Splits the code of a reply by owning node; statements without an owner are left out and noted.

A reply may hold functions that were requested, helpers and imports that these use, functions
that belong to other nodes, and statements without an owner: calls, prints, a main block.
"""

import ast
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from auditcoder.domain.code import first_line, read_bundle
from auditcoder.domain.contract import Contract, signature_faults
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import (
    PARSE_ERRORS,
    Function,
    bound_by,
    imports_of,
    on_a_fresh_stack,
    parse,
)
from auditcoder.domain.request import Reply
from auditcoder.lifecycle.import_completion import completing
from auditcoder.lifecycle.response_formats import FormatMismatch, ParsedPython
from auditcoder.lifecycle.task_forms import is_stub

INTEGRATION = "# integration:"
"""Starts the comment in which a reply gives its reason for editing another node's function."""


_LONGEST_PIECES = 300_000
"""Maximum number of characters of all pieces; each has a copy of the helpers that it uses."""


class CodePiece(NamedTuple):
    """One node's part of a reply."""

    source: str
    note: str = ""
    """Which imports were added."""
    losses: tuple[str, ...] = ()
    """What of the reply is left out, because no node owns it: one sentence for each."""


class SplitReply(NamedTuple):
    """The code of a reply, split by node."""

    pieces: dict[NodeId, CodePiece]
    missing: dict[NodeId, str] = {}
    """The requested nodes without usable code, with the reason."""
    crossing: dict[NodeId, CodePiece] = {}
    """Changed code of nodes that were not requested."""
    rationale: str = ""
    """The reason that the reply gives for `crossing`."""
    shared: str = ""
    """For a class: module-level helpers that its methods use."""


class SplitReplyFormat:
    """The format of a reply with one block of code that holds every requested function.

    The first reply is read strictly unless `strict` is false, so that the model is told what is
    wrong; from the second reply every usable function is taken.
    """

    schema = ""

    def __init__(
        self,
        wanted: Mapping[NodeId, Contract],
        others: Mapping[str, NodeId],
        scope: str = "",
        present: Mapping[NodeId, str] | None = None,
        *,
        strict: bool = True,
    ) -> None:
        self._present = dict(present or {})
        self._wanted = dict(wanted)
        self._others = dict(others)
        self._scope = scope
        self._strict = strict
        self._code = ParsedPython(self._split)

    def instruction(self) -> str:
        """Request one fenced block."""
        return self._code.instruction()

    def read(self, reply: Reply) -> SplitReply:
        """Split the reply, or raise FormatMismatch with the reason."""
        strict, self._strict = self._strict, False
        draft = self._code.read(reply)
        if not draft.pieces or (strict and draft.missing):
            raise FormatMismatch("; ".join(draft.missing.values()))
        if strict and draft.crossing and not draft.rationale:
            names = ", ".join(n for n, i in self._others.items() if i in draft.crossing)
            raise FormatMismatch(
                f"{names} is there already and not yours to write. Leave it out; if it must change,"
                f" begin its function with a comment `{INTEGRATION}` and the reason"
            )
        return draft

    def _split(self, text: str) -> SplitReply:
        draft = split(text, self._wanted, self._others, self._scope)
        crossing = {
            node: piece
            for node, piece in draft.crossing.items()
            if not _repeats(piece.source, self._present.get(node, ""))
        }
        return draft._replace(crossing=crossing)


def _repeats(source: str, present: str) -> bool:
    """Whether `present` has every function in `source` already, comments aside."""
    try:
        tree = parse(present)
    except PARSE_ERRORS:
        return False
    known = {n.name: ast.dump(n) for n in ast.walk(tree) if isinstance(n, Function)}
    written = [n for n in parse(source).body if isinstance(n, Function)]
    return all(known.get(n.name) == ast.dump(n) for n in written)


def split(
    text: str, wanted: Mapping[NodeId, Contract], others: Mapping[str, NodeId], scope: str = ""
) -> SplitReply:
    """Split a module by owner; raise FormatMismatch if it cannot be parsed."""
    text, module = _parsed(text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff"))
    statements = _Statements(text, module, {c.name: n for n, c in wanted.items()}, others, scope)
    pieces, missing, shared, length = {}, {}, "", 0
    for node, contract in wanted.items():
        source, note = statements.bundle(node)
        length += len(source)
        if length > _LONGEST_PIECES:
            raise FormatMismatch("too much code is shared by several functions; answer briefly")
        if not source:
            missing[node] = f"there is no function {contract.name} in it"
        elif faults := signature_faults(contract, own := statements.functions(node)):
            missing[node] = f"{contract.name}: {faults[0]}"
        elif stubbed(own, contract.name):
            missing[node] = f"{contract.name} is not written out"
        else:
            pieces[node] = CodePiece(source, note)
    if scope:
        shared = statements.shared()
    crossing = {
        node: CodePiece(source)
        for node in statements.crossing
        if (source := statements.bundle(node)[0])
    }
    return SplitReply(pieces, missing, crossing, statements.rationale, shared)


def _parsed(text: str) -> tuple[str, ast.Module]:
    """Dedent the code, replace leading tabs by spaces and parse it.

    Models often indent a method that they write without its class.
    """
    try:
        text = textwrap.dedent(text.strip("\n"))
        inside = read_bundle(text).inside_string
        lines = enumerate(text.split("\n"), start=1)
        text = "\n".join(line if n in inside else _spaced(line) for n, line in lines)
        return text, on_a_fresh_stack(lambda: parse(text))
    except PARSE_ERRORS as error:
        raise FormatMismatch(f"the code is not Python: {error}") from error


def _spaced(line: str) -> str:
    """Replace the leading tabs of a line by spaces."""
    bare = line.lstrip(" \t")
    return line[: len(line) - len(bare)].expandtabs(4) + bare


def stubbed(source: str, name: str) -> bool:
    """Whether the function `name` has no body beyond a docstring or a placeholder."""
    functions = [n for n in ast.walk(parse(source)) if isinstance(n, Function) and n.name == name]
    return bool(functions) and is_stub(functions[0])


class _Statements:
    """The statements of a reply, sorted into functions, helpers, imports and ownerless code."""

    def __init__(
        self,
        text: str,
        module: ast.Module,
        wanted: Mapping[str, NodeId],
        others: Mapping[str, NodeId],
        scope: str,
    ) -> None:
        self._whole = read_bundle(text)
        self._scope = scope
        self._owned: dict[NodeId, list[str]] = {}
        self._sources: list[str] = []
        """The source of each helper and member, once, however many names it binds."""
        self._helpers: dict[str, list[int]] = {}
        """Module-level helpers by name; each belongs to the nodes that use it."""
        self._members: dict[str, list[int]] = {}
        """Extra methods and attributes of a class that the skeleton does not have."""
        self._assigned_members: set[str] = set()
        self._imports: dict[str, str] = {}
        self._wanted = wanted
        self._others = others
        self._left_out: list[str] = []
        self.crossing: dict[NodeId, None] = {}
        self.rationale = _rationale(text)
        body = module.body
        if scope:
            inner = [s for s in body if isinstance(s, ast.ClassDef) and s.name == scope]
            for statement in inner[:1]:
                self._sort(statement.body, in_class=True)
            body = [s for s in body if s not in inner]
        self._sort(body, in_class=False)

    def _sort(self, statements: Iterable[ast.stmt], *, in_class: bool) -> None:
        for statement in statements:
            match statement:
                case ast.Import() | ast.ImportFrom():
                    self._import(statement)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(statement, in_class=in_class)
                case ast.ClassDef(name=name):
                    self._helpers[name] = [self._kept(statement)]
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                    known, number = self._known(in_class), self._kept(statement)
                    for name in bound_by([statement]):
                        known.setdefault(name, []).append(number)
                case ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    self._left_out.append(ast.unparse(statement).split("\n")[0][:60])

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for imported in imports_of(statement):
            if imported.name == "*":
                self._left_out.append(ast.unparse(statement))
            else:
                self._imports[imported.name] = imported.statement

    def _function(self, function: Function, *, in_class: bool) -> None:
        name = function.name
        if name in self._wanted:
            self._owned.setdefault(self._wanted[name], []).append(self._source(function))
        elif name in self._others:
            if not is_stub(function):
                self._owned.setdefault(self._others[name], []).append(self._source(function))
                self.crossing[self._others[name]] = None
        elif in_class:
            self._members.setdefault(name, []).append(self._kept(function))
        else:
            self._helpers[name] = [self._kept(function)]

    def _known(self, in_class: bool) -> dict[str, list[int]]:
        return self._members if in_class else self._helpers

    def _kept(self, statement: ast.stmt) -> int:
        """Keep the source of a statement; return its number."""
        self._sources.append(self._source(statement))
        return len(self._sources) - 1

    def _source(self, statement: ast.stmt) -> str:
        if isinstance(statement, Function):
            return self._whole.at_margin(statement)
        own = self._whole.lines[first_line(statement) - 1 : statement.end_lineno]
        alone = statement.col_offset == 0 and ";" not in own[-1]
        return ("\n".join(own) if alone else ast.unparse(statement)) + "\n"

    def functions(self, node: NodeId) -> str:
        """Return the functions that `node` owns, without helpers and imports."""
        return "\n\n".join(self._owned.get(node, []))

    def bundle(self, node: NodeId) -> tuple[str, str]:
        """Return the code that `node` owns, with its helpers and imports, and a note on it."""
        body = self.functions(node)
        if not body:
            return "", ""
        members: list[str] = []
        if self._scope:
            free = {n: m for n, m in self._members.items() if n not in self._assigned_members}
            names, members = self._used(body, free)
            self._assigned_members |= names
        helpers = [] if self._scope else self._needed(body)
        used = body + "".join(members) + "".join(helpers)
        words = _words(used)
        imports = [s for name, s in self._imports.items() if name in words]
        bound = {*self._imports, *self._helpers, *self._members, *self._wanted, *self._others}
        added = completing(used, bound)
        note = f"added: {', '.join(added)}" if added else ""
        if self._left_out:
            left_out = f"left out, because nobody owns it: {'; '.join(self._left_out[:5])}"
            note = f"{note}; {left_out}" if note else left_out
        head = "\n".join(dict.fromkeys([*imports, *added]))
        parts = [p.strip("\n") for p in (head, *helpers, body, *members) if p.strip()]
        return "\n\n".join(parts) + "\n", note

    def _needed(self, body: str) -> list[str]:
        """Return the helpers that `body` uses, directly or indirectly, in source order."""
        return self._used(body, self._helpers)[1]

    def _used(self, body: str, known: Mapping[str, list[int]]) -> tuple[set[str], list[str]]:
        """Return which `known` names `body` uses, directly or not, and their sources in order."""
        used: set[str] = set()
        numbers: set[int] = set()
        words = _words(body)
        while new := (known.keys() & words) - used:
            used |= new
            added = {number for name in new for number in known[name]} - numbers
            numbers |= added
            words = _words("\n".join(self._sources[number] for number in added))
        return used, [self._sources[number] for number in sorted(numbers)]

    def shared(self) -> str:
        """Return the module-level helpers that the methods of a class use."""
        body = "\n".join(s for sources in self._owned.values() for s in sources)
        members = {number for numbers in self._members.values() for number in numbers}
        needed = self._needed(body + "\n".join(self._sources[number] for number in members))
        words = _words("\n".join(needed))
        imports = [s for name, s in self._imports.items() if name in words]
        added = completing("\n".join(needed), set(self._imports) | set(self._helpers))
        return "\n\n".join([*imports, *added, *needed]) + "\n" if needed else ""


def _rationale(text: str) -> str:
    for line in text.split("\n"):
        if line.strip().lower().startswith(INTEGRATION):
            return line.strip()[len(INTEGRATION) :].strip()
    return ""


def _words(source: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", source))
