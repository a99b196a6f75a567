"""Splits the code of a reply by owning node; what no node owns is left out and noted as lost.

A reply may hold functions that were requested, helpers and imports that these use, statements that
set a module up, functions and definitions that belong to other nodes, and statements without an
owner, such as tests.
"""

import ast
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from auditcoder.domain.code import CodeBundle, read_bundle
from auditcoder.domain.contract import Contract, signature_faults
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import (
    FUTURE,
    PARSE_ERRORS,
    Function,
    imports_of,
    on_a_fresh_stack,
    parse,
)
from auditcoder.domain.request import Reply
from auditcoder.lifecycle.import_completion import completing, imports_by_name, without_stars
from auditcoder.lifecycle.module_statements import (
    binds,
    changes,
    declared_globals,
    definition_form,
    is_harmless,
    is_set_up,
    needs_late_annotations,
    source_of,
    summary,
    without_docstrings,
)
from auditcoder.lifecycle.response_formats import FormatMismatch, ParsedPython, joined_blocks
from auditcoder.lifecycle.task_forms import is_stub, with_header_of

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
    losses: tuple[str, ...] = ()
    """What of the reply no piece holds, one sentence for each."""


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
        known: Mapping[str, str] | None = None,
        alone: bool = False,
        new_header: bool = False,
    ) -> None:
        """Request code for `wanted`; `others` are the functions of other nodes.

        `present` is all present code, and `known` holds the definitions of other nodes by name.
        With `alone`, each piece has copies of all it uses; `new_header` allows other parameters.
        """
        self._alone, self._new_header = alone, new_header
        self._present = dict(present or {})
        self._imports = imports_by_name(self._present, wanted)
        self._known = dict(known or {})
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
        draft = self._most_complete(reply)
        if not draft.pieces or (strict and draft.missing):
            raise FormatMismatch("; ".join(draft.missing.values()))
        if strict and draft.crossing and not draft.rationale:
            names = ", ".join(n for n, i in self._others.items() if i in draft.crossing)
            raise FormatMismatch(
                f"{names} is there already and not yours to write. Leave it out; if it must change,"
                f" begin its function with a comment `{INTEGRATION}` and the reason"
            )
        return draft

    def _most_complete(self, reply: Reply) -> SplitReply:
        """Return the code of the longest block, or of all blocks if that lacks fewer functions."""
        draft, problem = SplitReply({}, dict.fromkeys(self._wanted, "")), None
        try:
            draft = self._code.read(reply)
        except FormatMismatch as mismatch:
            problem = mismatch
        if draft.missing and (together := joined_blocks(reply)):
            with suppress(FormatMismatch):
                found = self._split(together)
                if len(found.missing) < len(draft.missing):
                    return found
        if problem is not None:
            raise problem
        return draft

    def _split(self, text: str) -> SplitReply:
        around = (self._others, self._scope, self._known, self._imports)
        draft = split(text, self._wanted, *around, alone=self._alone, new_header=self._new_header)
        crossing = {
            node: piece
            for node, piece in draft.crossing.items()
            if not _repeats(piece.source, self._present.get(node, ""))
        }
        losses = draft.losses
        if self._scope and (header := _new_header(text, self._scope, self._present.get(ROOT, ""))):
            losses = (*losses, f"`{header}`, since the skeleton has the class statement")
        return draft._replace(crossing=crossing, losses=losses)


def _repeats(source: str, present: str) -> bool:
    """Whether `present` has every function in `source` already.

    Comments, docstrings and annotations are ignored: a reply need not repeat them.
    """
    try:
        tree = parse(present)
    except PARSE_ERRORS:
        return False
    known = {n.name: without_docstrings(n) for n in ast.walk(tree) if isinstance(n, Function)}
    written = [n for n in parse(source).body if isinstance(n, Function)]
    return all(known.get(n.name) == without_docstrings(n) for n in written)


def _new_header(text: str, scope: str, present: str) -> str:
    """Return a class statement with bases or decorators that the present one does not have."""
    try:
        ours, theirs = (_class_header(source, scope) for source in (present, text))
    except PARSE_ERRORS:
        return ""
    return "" if theirs <= ours else f"class {scope}: {', '.join(sorted(theirs - ours))}"


def _class_header(source: str, scope: str) -> set[str]:
    classes = [n for n in parse(source).body if isinstance(n, ast.ClassDef) and n.name == scope]
    parts = [[f"@{ast.unparse(d)}" for d in c.decorator_list] for c in classes[:1]]
    parts += [[ast.unparse(base) for base in (*c.bases, *c.keywords)] for c in classes[:1]]
    return {part for own in parts for part in own} - {"object"}


def split(
    text: str,
    wanted: Mapping[NodeId, Contract],
    others: Mapping[str, NodeId],
    scope: str = "",
    known: Mapping[str, str] | None = None,
    imports: Mapping[str, str] | None = None,
    *,
    alone: bool = False,
    new_header: bool = False,
) -> SplitReply:
    """Split a module by owner, with the `imports` of others by name; raise FormatMismatch."""
    bundle, module = parsed_module(text)
    by_name = {c.name: n for n, c in wanted.items()}
    known, imports = known or {}, imports or {}
    statements = _Statements(bundle, module, by_name, others, scope, known, imports, alone=alone)
    pieces, missing, shared, length = {}, {}, "", 0
    for node, contract in wanted.items():
        own = statements.functions(node)
        promised = with_header_of(contract, own) if new_header else contract
        if not own:
            missing[node] = f"there is no function {contract.name} in it"
        elif faults := signature_faults(promised, own):
            missing[node] = f"{contract.name}: {faults[0]}"
        elif stubbed(own, contract.name):
            missing[node] = f"{contract.name} is not written out"
        else:
            source, note = statements.bundle(node)
            length += len(source)
            if length > _LONGEST_PIECES:
                raise FormatMismatch("too much code is shared by several functions; answer briefly")
            pieces[node] = CodePiece(source, note)
    if scope:
        shared = statements.shared()
    crossing = {node: CodePiece(statements.bundle(node)[0]) for node in statements.crossing}
    return SplitReply(
        pieces, missing, crossing, statements.rationale, shared, tuple(statements.losses())
    )


def parsed_module(text: str) -> tuple[CodeBundle, ast.Module]:
    """Return the code of a reply as it is kept, parsed; raise FormatMismatch if it cannot be."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    text, module = _parsed(without_stars(text)[0])
    return read_bundle(text), module


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


class _Kept(NamedTuple):
    """A statement of a reply that some node can own."""

    source: str
    line: int
    label: str
    single: bool
    """Whether only one node may own it, because copies of it would be different things."""


class _Statements:
    """The statements of a reply, sorted into functions, helpers, imports and ownerless code."""

    def __init__(
        self,
        bundle: CodeBundle,
        module: ast.Module,
        wanted: Mapping[str, NodeId],
        others: Mapping[str, NodeId],
        scope: str,
        known: Mapping[str, str],
        imports: Mapping[str, str],
        *,
        alone: bool,
    ) -> None:
        self._alone, self._present = alone, imports
        self._whole = bundle
        self._scope = scope
        self._owned: dict[NodeId, list[_Kept]] = {}
        self._kept: list[_Kept] = []
        """Each helper, member and set-up statement, once, however many names it binds."""
        self._helpers: dict[str, list[int]] = {}
        """Module-level helpers by name; each belongs to the nodes that use it."""
        self._members: dict[str, list[int]] = {}
        """Extra methods and attributes of a class that the skeleton does not have."""
        self._assigned_members: set[str] = set()
        self._set_up: list[int] = []
        """Statements that set imported modules up; the first node owns them."""
        self._imports: dict[str, str] = {}
        self._is_late = False
        """Whether the reply asks for annotations that are not evaluated."""
        self._given_out: set[int] = set()
        self._wanted = wanted
        self._others = others
        self._known = known
        self._lost: list[str] = []
        self._changed = changes(module) | declared_globals(module)
        self.crossing: dict[NodeId, None] = {}
        self.rationale = _rationale(bundle.source)
        body = module.body
        if scope:
            inner = [s for s in body if isinstance(s, ast.ClassDef) and s.name == scope]
            for statement in inner[:1]:
                self._sort(statement.body, in_class=True)
            self._lost += [f"another class {scope}"] * len(inner[1:])
            body = [s for s in body if s not in inner]
        self._sort(body, in_class=False)

    def _sort(self, statements: Iterable[ast.stmt], *, in_class: bool) -> None:
        for statement in statements:
            match statement:
                case ast.Import() | ast.ImportFrom():
                    self._import(statement)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(statement, in_class=in_class)
                case _:
                    self._other(statement, in_class=in_class)

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for imported in imports_of(statement):
            if imported.name == "*":
                self._lost.append(f"`{ast.unparse(statement)}`, whose names are unknown")
            elif imported.statement.startswith(FUTURE):
                self._is_late |= imported.name == "annotations"
            else:
                self._imports[imported.name] = imported.statement

    def _function(self, function: Function, *, in_class: bool) -> None:
        name = function.name
        if name in self._wanted:
            own = self._owned.setdefault(self._wanted[name], [])
            if not in_class and not function.decorator_list:
                own[:] = [k for k in own if k.label != name]  # the last one counts
            own.append(self._statement(function, name))
        elif name in self._others:
            if not is_stub(function):
                kept = self._statement(function, name)
                self._owned.setdefault(self._others[name], []).append(kept)
                self.crossing[self._others[name]] = None
        else:
            known = self._members if in_class else self._helpers
            number = self._keep(function)
            known[name] = [*(known.get(name, []) if in_class else []), number]

    def _other(self, statement: ast.stmt, *, in_class: bool) -> None:
        bound = binds(statement)
        if in_class:
            if bound:
                self._bind(bound, statement, self._members)
            elif not isinstance(statement, ast.Pass) and not _is_constant(statement):
                self._lose(statement, "which is no member")
        elif is_harmless(statement) or self._is_known(statement, bound):
            return
        elif bound and isinstance(statement, ast.ClassDef) and bound <= self._known.keys():
            self._lose(statement, "which another part defines in another way")
        elif bound:
            changed = changes(statement) & self._helpers.keys()
            self._bind(bound | changed, statement, self._helpers)
        elif changed := changes(statement) & self._helpers.keys():
            self._bind(changed, statement, self._helpers)
        elif is_set_up(statement, self._imports, {*self._wanted, *self._others}):
            self._set_up.append(self._keep(statement))
        else:
            self._lose(statement, "which nobody owns")

    def _is_known(self, statement: ast.stmt, bound: set[str]) -> bool:
        """Whether a statement repeats a definition of another node."""
        same = {self._known.get(name) for name in bound}
        return bool(bound) and same == {definition_form(statement)}

    def _lose(self, statement: ast.stmt, why: str) -> None:
        self._lost.append(f"`{summary(statement)}`, {why}")

    def _bind(self, names: Iterable[str], statement: ast.stmt, known: dict[str, list[int]]) -> None:
        number = self._keep(statement)
        if isinstance(statement, ast.ClassDef):
            known.pop(statement.name, None)
        for name in names:
            known.setdefault(name, []).append(number)

    def _keep(self, statement: ast.stmt) -> int:
        """Keep a statement; return its number."""
        self._kept.append(self._statement(statement, summary(statement)))
        return len(self._kept) - 1

    def _statement(self, statement: ast.stmt, label: str) -> _Kept:
        source = (
            self._whole.at_margin(statement)
            if isinstance(statement, Function)
            else source_of(self._whole, statement)
        )
        changed = binds(statement) & self._changed and not isinstance(statement, Function)
        single = isinstance(statement, ast.ClassDef) or bool(changed)
        return _Kept(source, statement.lineno, label, single)

    def functions(self, node: NodeId) -> str:
        """Return the functions that `node` owns, without helpers and imports."""
        return "\n\n".join(kept.source for kept in self._owned.get(node, []))

    def bundle(self, node: NodeId) -> tuple[str, str]:
        """Return the code that `node` owns, with its helpers and imports, and a note on it."""
        body = self.functions(node)
        own = list(self._owned[node])
        if self._scope:
            free = {n: m for n, m in self._members.items() if n not in self._assigned_members}
            # The interpreter calls special methods, so nothing mentions them.
            special = {n for n in free if n.startswith("__") and n.endswith("__")}
            names, members = self._used(f"{body}\n{' '.join(sorted(special))}", free)
            self._assigned_members |= names
            own += [self._kept[number] for number in members]
            self._given_out |= set(members)
        else:
            needed = self._needed("\n".join([body, *self._set_up_sources()]))
            own += self._give(needed + self._set_up)
            self._set_up = []
            own.sort(key=lambda kept: kept.line)
        parts = [kept.source.strip("\n") for kept in own]
        used = "\n\n".join(parts)
        words = _words(used)
        imports = [s for name, s in self._imports.items() if name in words]
        bound = {*self._imports, *self._helpers, *self._members}
        bound |= {*self._wanted, *self._others, *self._known}
        added = completing(used, bound, self._present)
        note = f"added: {', '.join(added)}" if added else ""
        if self._is_late and needs_late_annotations(parse(used), bound - self._helpers.keys()):
            imports.insert(0, f"{FUTURE}annotations")
        head = "\n".join(dict.fromkeys([*imports, *added]))
        return "\n\n".join([*([head] if head else []), *parts]) + "\n", note

    def _set_up_sources(self) -> list[str]:
        return [self._kept[number].source for number in self._set_up]

    def _give(self, numbers: Sequence[int]) -> list[_Kept]:
        """Return the statements with these numbers, without those that another node owns."""
        single = {n for n in numbers if self._kept[n].single and not self._alone}
        given = [n for n in numbers if n not in single & self._given_out]
        self._given_out |= set(given)
        return [self._kept[number] for number in given]

    def _needed(self, body: str) -> list[int]:
        """Return the helpers that `body` uses, directly or indirectly, in source order."""
        return self._used(body, self._helpers)[1]

    def _used(self, body: str, known: Mapping[str, list[int]]) -> tuple[set[str], list[int]]:
        """Return which `known` names `body` uses, directly or not, and their numbers in order."""
        used: set[str] = set()
        numbers: set[int] = set()
        words = _words(body)
        while new := (known.keys() & words) - used:
            used |= new
            added = {number for name in new for number in known[name]} - numbers
            numbers |= added
            words = _words("\n".join(self._kept[number].source for number in added))
        return used, sorted(numbers)

    def shared(self) -> str:
        """Return the module-level helpers that the methods of a class use."""
        body = "\n".join(k.source for kept in self._owned.values() for k in kept)
        members = {number for numbers in self._members.values() for number in numbers}
        used = "\n".join([*(self._kept[n].source for n in members), *self._set_up_sources()])
        numbers = sorted({*self._needed(f"{body}\n{used}"), *self._set_up})
        needed = [kept.source for kept in self._give(numbers)]
        words = _words("\n".join(needed))
        imports = [s for name, s in self._imports.items() if name in words]
        added = completing("\n".join(needed), {*self._imports, *self._helpers}, self._present)
        return "\n\n".join([*imports, *added, *needed]) + "\n" if needed else ""

    def losses(self) -> list[str]:
        """Return what no piece holds, once all pieces are made."""
        unused = [k.label for n, k in enumerate(self._kept) if n not in self._given_out]
        return [*self._lost, *(f"`{label}`, which nothing uses" for label in unused)]


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _rationale(text: str) -> str:
    for line in text.split("\n"):
        if line.strip().lower().startswith(INTEGRATION):
            return line.strip()[len(INTEGRATION) :].strip()
    return ""


def _words(source: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", source))
