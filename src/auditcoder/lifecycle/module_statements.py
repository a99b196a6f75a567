"""What the top-level statements of generated code are for: definitions, set-up, demos or tests."""

import ast
from collections.abc import Iterable, Iterator

from auditcoder.domain.code import CodeBundle, first_line
from auditcoder.domain.python_names import (
    BUILTINS,
    Function,
    bound_by,
    imports_in,
    parse,
    with_fixed_settings,
)

_CHANGING = """
    add append appendleft clear discard extend insert pop popitem popleft remove reverse setdefault
    sort update
"""
_MUTATORS = frozenset(_CHANGING.split())
_OUTPUT = frozenset({"print", "input"})


def source_of(bundle: CodeBundle, statement: ast.stmt) -> str:
    """Return the source of a top-level statement with its decorators, on lines of its own."""
    own = bundle.lines[first_line(statement) - 1 : statement.end_lineno]
    behind = own[-1].encode()[statement.end_col_offset :].strip()
    alone = statement.col_offset == 0 and (not behind or behind.startswith(b"#"))
    return ("\n".join(own) if alone else ast.unparse(statement)) + "\n"


def binds(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds, also by imports inside a compound statement."""
    nested = () if isinstance(statement, ast.Import | ast.ImportFrom) else imports_in(statement)
    return bound_by([statement]) | {imported.name for imported in nested}


def changes(node: ast.AST) -> set[str]:
    """Return the names whose values a statement changes without binding them."""
    return {name.id for changed in _changed(node) if (name := _base(changed)) is not None}


def _changed(node: ast.AST) -> Iterator[ast.expr]:
    for inner in ast.walk(node):
        match inner:
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                yield value
            case ast.Attribute(value=value, ctx=ast.Store() | ast.Del()):
                yield value
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _MUTATORS:
                yield value
            case _:
                pass


def _base(value: ast.expr) -> ast.Name | None:
    while isinstance(value, ast.Subscript | ast.Attribute):
        value = value.value
    return value if isinstance(value, ast.Name) else None


def is_harmless(statement: ast.stmt) -> bool:
    """Whether a program is the same without a top-level statement.

    A main block is replaced by that of the task's form, and prints and unused expressions show
    something to a reader only. So leaving them out is no loss.
    """
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name in _OUTPUT:
            return True
        case ast.If(test=test):
            return _is_main_test(test) or _is_type_checking(test)
        case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("__"):
            return True  # such as `__all__`
        case ast.AnnAssign(value=None):
            return True
        case _:
            return False


def _is_main_test(test: ast.expr) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(test))


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def is_set_up(statement: ast.stmt, imported: Iterable[str], functions: Iterable[str]) -> bool:
    """Whether a statement sets an imported module up, such as `sys.setrecursionlimit(10**6)`.

    It does not call any of the `functions`, which a demo or a test does.
    """
    match statement:
        case ast.Expr(value=ast.Call() as call):
            target: ast.expr = call.func
        case ast.Assign(targets=[ast.Attribute() as attribute]):
            target = attribute
        case _:
            return False
    while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
        target = target.func if isinstance(target, ast.Call) else target.value
    names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    running = {"main", "testmod", "exit"} & _attributes(statement)
    known = isinstance(target, ast.Name) and target.id in set(imported)
    return known and not running and names.isdisjoint({*functions, *_OUTPUT})


def _attributes(statement: ast.stmt) -> set[str]:
    return {n.attr for n in ast.walk(statement) if isinstance(n, ast.Attribute)}


def summary(statement: ast.stmt) -> str:
    """Return the first line of a statement, for a note."""
    return ast.unparse(statement).split("\n")[0][:60]


def needs_late_annotations(module: ast.Module, elsewhere: Iterable[str]) -> bool:
    """Whether a module's annotations name what neither it nor `elsewhere` defines before them.

    Only then does `from __future__ import annotations` matter to it. Assembly would apply that
    import to the whole program.
    """
    known = BUILTINS | set(elsewhere)
    for statement in module.body:
        known |= {imported.name for imported in imports_in(statement)}
    for statement in module.body:
        annotations = [ast.walk(a) for a in _annotations(statement)]
        used = {n.id for nodes in annotations for n in nodes if isinstance(n, ast.Name)}
        if used - known:
            return True
        known |= binds(statement)
    return False


def _annotations(statement: ast.stmt) -> Iterator[ast.expr]:
    for node in ast.walk(statement):
        match node:
            case ast.arg(annotation=ast.expr() as annotation):
                yield annotation
            case ast.AnnAssign(annotation=annotation):
                yield annotation
            case ast.FunctionDef(returns=ast.expr() as returns):
                yield returns
            case _:
                pass


def without_docstrings(function: Function) -> str:
    """Return what a function does, in a form that ignores docstrings, comments and annotations."""
    copy = parse(ast.unparse(function)).body[0]
    for node in ast.walk(copy):
        match node:
            case ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str())), *rest]):
                node.body = rest or [ast.Pass()]
            case _:
                pass
        match node:
            case ast.FunctionDef():
                node.returns = None
            case ast.arg():
                node.annotation = None
            case _:
                pass
    return ast.dump(copy)


def definition_form(statement: ast.stmt) -> str:
    """Return what a statement defines, in a form that ignores layout and comments."""
    return with_fixed_settings(lambda: ast.dump(statement))


def declared_globals(module: ast.Module) -> set[str]:
    """Return the names that functions of a module declare `global`."""
    declared = (n.names for n in ast.walk(module) if isinstance(n, ast.Global))
    return {name for names in declared for name in names}
