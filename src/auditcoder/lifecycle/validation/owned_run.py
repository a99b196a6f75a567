"""Runs of the assembled program in which no part may replace the code of another part.

What a reader of the text cannot exclude, such as `setattr` and `exec`, is found while the program
runs. The node that did it is named by the line at which it did.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from auditcoder.domain.assembly import Segment
from auditcoder.domain.evidence import Frame
from auditcoder.domain.execution import (
    PROGRAM_FILE,
    Ending,
    Execution,
    ExecutionOutcome,
    OwnedUnit,
    Ownership,
    Raised,
)
from auditcoder.domain.ids import NodeId
from auditcoder.domain.ledger import WorkingState
from auditcoder.domain.python_names import (
    bound_by,
    imports_in,
    own_scope,
    parse_fault,
    parsed,
    with_fixed_settings,
)
from auditcoder.lifecycle.run_context import RunContext

REPLACED = "CodeReplaced"
"""The name of the exception that a run with replaced code is reported with."""
UNREADABLE = "CodeUnreadable"
"""The name of the exception that a run of code whose owners are unknown is reported with."""
_MORE_TIME = 10
"""The time limit of a traced run, as a multiple."""
_MOST_SECONDS = 86_400.0
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def run_owned(context: RunContext, execution: Execution) -> ExecutionOutcome:
    """Run the assembled program; replaced code counts as an exception at the line that did it.

    So does code that cannot be read, since the owners of its names are unknown. It may still run:
    the interpreter accepts more than what every Python reads in the same way.

    If something looks replaced, or the process ended before that could be seen, the program runs
    again, traced. What the owner of a name was observed to do itself there is legal, and nothing
    else is: what is not repeated or cannot be attributed is reported without a place.
    """
    working = context.recorder.ledger.working
    if working.assembly is None or execution.source != context.program:
        return context.sandbox.run(execution)
    if not working.readable:
        return _unreadable(context.sandbox.run(execution), working, execution.source)
    owned = ownership(execution.source, working.assembly.segments)
    outcome = context.sandbox.run(replace(execution, owned=owned))
    unknown = outcome.replaced is None and outcome.ending is Ending.OK
    if owned is None or not (outcome.replaced or unknown):
        return outcome
    seconds = min(_MORE_TIME * execution.bounds.seconds, _MOST_SECONDS)
    traced = context.sandbox.run(
        replace(
            execution, owned=owned, trace=True, bounds=replace(execution.bounds, seconds=seconds)
        )
    )
    foreign = [each for each in traced.replaced or () if not each.own]
    seen = next((each for each in foreign if each.line or unknown), None)
    if seen is not None:
        return _blamed(traced, owned, seen.name, seen.line)
    legal = {(each.name, each.change) for each in traced.replaced or () if each.own}
    legal -= {(each.name, each.change) for each in foreign}
    for each in outcome.replaced or ():
        if (each.name, each.change) not in legal:
            return _blamed(outcome, owned, each.name, 0)
    return outcome


def _blamed(outcome: ExecutionOutcome, owned: Ownership, name: str, line: int) -> ExecutionOutcome:
    """Return the outcome as an exception at a line, or without a place if it is unknown."""
    owner = next((unit.owner for unit in owned.units if unit.name == name), "")
    by = next((o for first, last, o in owned.lines if first <= line <= last), "")
    message = f"the code of `{name}`{owner and f' ({owner})'} was replaced at run time"
    if line:
        message += f" by {by}, line {line}" if by else f", line {line}"
    frames = (Frame(function="", line=line, file=PROGRAM_FILE),) if line else ()
    raised = Raised(exception=REPLACED, message=message, frames=frames)
    return replace(outcome, ending=Ending.EXCEPTION, raised=raised, calls=(), tests=())


def _unreadable(outcome: ExecutionOutcome, working: WorkingState, program: str) -> ExecutionOutcome:
    """Return the outcome of a program with code that cannot be read, which is never a clean one."""
    failed = outcome.raised is not None and outcome.raised.exception == AssertionError.__name__
    if outcome.ending is not Ending.OK and not failed:
        return replace(outcome, calls=(), tests=())
    node = min((n for n, bundle in working.bundles.items() if not bundle.parses), default=None)
    text = program if node is None else working.bundles[node].source
    whose = "the program" if node is None else f"the code of {node}"
    message = f"{whose} cannot be read, so its owner is unknown: {parse_fault(text)}"
    frames = () if node is None else _first_line(working, node)
    raised = Raised(exception=UNREADABLE, message=message, frames=frames)
    return replace(outcome, ending=Ending.EXCEPTION, raised=raised, calls=(), tests=())


def _first_line(working: WorkingState, node: NodeId) -> tuple[Frame, ...]:
    """Return the first line of a node's code in the program as the place of an exception."""
    line = 1
    for segment in working.assembly.segments if working.assembly else ():
        if segment.node == node:
            return (Frame(function="", line=line, file=PROGRAM_FILE),)
        line += segment.lines
    return ()


@lru_cache(maxsize=8)
def ownership(program: str, segments: tuple[Segment, ...]) -> Ownership | None:
    """Return the owners of a program's lines and names; None if it does not parse."""
    tree = parsed(program)
    if tree is None:
        return None
    lines, end = [], 0
    for segment in segments:
        if segment.node is not None:
            lines.append((end + 1, end + segment.lines, str(segment.node)))
        end += segment.lines
    owners = {line: owner for first, last, owner in lines for line in range(first, last + 1)}
    rebound = set(_rebound(tree, owners))
    units: dict[str, OwnedUnit] = {}
    decorators: dict[str, set[str]] = {}
    for name, node, simple in _definitions(tree.body, ""):
        outer = decorators.get(name.rpartition(".")[0], set())
        decorators.setdefault(name, set()).update(outer, _decorating(node))
        owner = owners.get(node.lineno)
        if owner is not None:
            plain = simple and name not in units and (owner, node.name) not in rebound
            units[name] = OwnedUnit(
                name=name,
                owner=owner,
                plain=plain,
                defaults=_defaults(node) if plain else (),
                wrappers=tuple(sorted({units[d].owner for d in decorators[name] if d in units})),
            )
    for name, line in _assigned(tree):
        if name not in units:
            units[name] = OwnedUnit(name=name, owner=owners.get(line, ""), defined=False)
    return Ownership(
        lines=tuple(lines),
        units=tuple(units.values()),
        definitions=0 if "__future__" in program else _lines_of_definitions(tree.body),
    )


def _assigned(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the global names that are bound otherwise than by definitions, and the lines."""
    for statement in tree.body:
        if not isinstance(statement, _Function | ast.ClassDef):
            names = bound_by([statement]) | {each.name for each in imports_in(statement)}
            yield from ((name, statement.lineno) for name in sorted(names))
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from ((name, node.lineno) for name in node.names)


def _lines_of_definitions(body: list[ast.stmt]) -> int:
    """Return the number of lines before the statements that only use definitions; 0 if unknown."""
    start = len(body)
    while start and not _binds_code(body[start - 1]):
        start -= 1
    while start < len(body) and _is_constant(body[start]):
        start += 1  # as the first statement, text would be taken for a docstring
    if start in {0, len(body)} or body[start].lineno == body[start - 1].end_lineno:
        return 0
    return body[start].lineno - 1


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _binds_code(statement: ast.stmt) -> bool:
    """Whether a global statement may define or alias code, or cannot be compiled apart."""
    match statement:
        case ast.Assign(value=ast.Lambda() | ast.Name() | ast.Attribute()):
            return True
        case _:
            # `global` has a meaning for the statements before it, too.
            kinds = _Function | ast.ClassDef | ast.AnnAssign | ast.Global
            return any(isinstance(node, kinds) for node in own_scope([statement]))


def _decorating(node: _Function | ast.ClassDef) -> Iterator[str]:
    """Yield the names in the decorators of a definition, and in the bases of a class."""
    others = (*node.bases, *node.keywords) if isinstance(node, ast.ClassDef) else ()
    for expression in (*node.decorator_list, *others):
        yield from (each.id for each in ast.walk(expression) if isinstance(each, ast.Name))


def _defaults(node: _Function | ast.ClassDef) -> tuple[str, ...]:
    """Return the representation of each default of a function; empty if it is no constant."""
    if isinstance(node, ast.ClassDef):
        return ()
    given = (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None))
    return with_fixed_settings(
        lambda: tuple(repr(d.value) if isinstance(d, ast.Constant) else "" for d in given)
    )


def _definitions(
    body: list[ast.stmt], prefix: str, *, simple: bool = True
) -> Iterator[tuple[str, _Function | ast.ClassDef, bool]]:
    """Yield functions and classes by qualified name, and whether a definition is plain."""
    for statement in body:
        if isinstance(statement, _Function | ast.ClassDef):
            name = f"{prefix}{statement.name}"
            undecorated = simple and not statement.decorator_list
            yield name, statement, undecorated
            if isinstance(statement, ast.ClassDef):
                usual = undecorated and not statement.keywords
                for inner, node, plain in _definitions(statement.body, f"{name}.", simple=usual):
                    special = node.name.startswith("__") and bool(statement.bases)
                    yield inner, node, plain and not special
        else:
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                for inner in getattr(statement, field, []):
                    nested = inner.body if isinstance(inner, _BLOCKS) else [inner]
                    yield from _definitions(nested, prefix, simple=False)


_BLOCKS = (ast.ExceptHandler, ast.match_case)


def _rebound(tree: ast.Module, owners: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Yield owners and the names that they bind by other statements than definitions."""
    for node in ast.walk(tree):
        names: list[str] = []
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                names = [node.id]
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                names = [node.attr]
            case ast.Global():
                names = node.names
            case ast.Import() | ast.ImportFrom():
                names = [(a.asname or a.name).partition(".")[0] for a in node.names]
        for name in names:
            yield owners.get(getattr(node, "lineno", 0), ""), name
