"""Rewrites test code so that each statement runs even if an earlier one failed."""

import ast
from collections.abc import Iterable


class StepRewriter:
    """Wraps statements so that each is attempted, whether or not earlier ones failed."""

    def wrap(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements, each wrapped in code that reports how it ended."""
        return [self._wrap_one(statement) for statement in statements]

    def _wrap_one(self, statement: ast.stmt) -> ast.stmt:
        match statement:
            case (
                ast.Return() | ast.Break() | ast.Continue() | ast.Pass() | ast.Global()
                | ast.Nonlocal() | ast.Import() | ast.ImportFrom() | ast.FunctionDef()
                | ast.AsyncFunctionDef() | ast.ClassDef()
            ):  # fmt: skip
                return statement
            case ast.For() | ast.While() | ast.If():
                statement.body = self.wrap(statement.body)
                statement.orelse = self.wrap(statement.orelse)
                return self._reported(statement, simple=False)
            case ast.With() if not _expects_an_error(statement):
                statement.body = self.wrap(statement.body)
                return self._reported(statement, simple=False)
            case _:
                return self._reported(statement, simple=True)

    def _reported(self, statement: ast.stmt, *, simple: bool) -> ast.stmt:
        texts = tuple(sorted(_names_read(statement))) if simple else ()
        details = (statement.lineno, simple, texts)
        failed = _call("__failed__", *details, scope=True)
        handler = ast.ExceptHandler(
            type=ast.Name("__caught__", ast.Load()), name=None, body=[failed]
        )
        attempt = ast.Try(
            body=[_call("__begun__"), statement, _call("__done__", *details, scope=True)],
            handlers=[handler],
            orelse=[],
            finalbody=[],
        )
        return ast.copy_location(attempt, statement)


def _expects_an_error(statement: ast.With) -> bool:
    return any("assertRaises" in ast.unparse(item) for item in statement.items)


def _names_read(statement: ast.stmt) -> set[str]:
    """Return the names and attributes that a statement reads."""
    return {
        ast.unparse(part)
        for part in ast.walk(statement)
        if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Load)
    }


def _call(name: str, *constants: object, scope: bool = False) -> ast.stmt:
    arguments: list[ast.expr] = [ast.Constant(value) for value in constants]  # type: ignore[arg-type]
    if scope:
        arguments.append(ast.Call(ast.Name("locals", ast.Load()), [], []))
    return ast.Expr(ast.Call(ast.Name(name, ast.Load()), arguments, []))


def with_steps(source: str, tests: Iterable[str]) -> ast.Module:
    """Parse test code and wrap the named tests and each `setUp`; everything if none is named."""
    tree, wanted = ast.parse(source), set(tests)
    if not wanted:
        tree.body = StepRewriter().wrap(tree.body)
    for group in tree.body:
        if isinstance(group, ast.ClassDef):
            for part in group.body:
                name = f"{group.name}.{getattr(part, 'name', '')}"
                selected = name in wanted or name.endswith(".setUp")
                if isinstance(part, ast.FunctionDef) and selected:
                    part.body = StepRewriter().wrap(part.body)
    return ast.fix_missing_locations(tree)
