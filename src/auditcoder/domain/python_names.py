"""Parsing of Python code, and the names that it binds in a scope."""

import ast
import re
import sys
import threading
import types
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import msgspec

from auditcoder.domain.portable_limits import MAX_INTEGER_DIGITS
from auditcoder.domain.python_lexer import refuse_unportable, refuse_unstable_identifier

GRAMMAR = (3, 11)
"""The grammar version of all code, so that a record means the same on every Python version."""

PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
"""Exceptions that parsing and compiling untrusted Python code can raise.

Some versions raise SystemError for code that their compiler does not expect.
"""

LITERAL_ERRORS = (TypeError, OverflowError, *PARSE_ERRORS)
"""Exceptions that evaluating an untrusted literal can raise."""

MAX_COLLISIONS = 500
"""Maximum number of keys with one hash: untrusted keys could be chosen to make tables slow."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_BUILTINS = """
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup
    BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError
    ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError
    DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception
    ExceptionGroup FileExistsError FileNotFoundError FloatingPointError FutureWarning
    GeneratorExit IOError ImportError ImportWarning IndentationError IndexError InterruptedError
    IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError
    NameError NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
    PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError
    ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration SyntaxError
    SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError
    UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning
    UserWarning ValueError Warning ZeroDivisionError abs aiter all anext any ascii bin bool
    breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir divmod
    enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex
    id input int isinstance issubclass iter len list locals map max memoryview min next object
    oct open ord pow print property quit range repr reversed round set setattr slice sorted
    staticmethod str sum super tuple type vars zip
"""

BUILTINS = frozenset(_BUILTINS.split())
"""Built-in names, which all nodes share, so that no node may redefine them."""

_MODULE_NAMES = """
    __builtins__ __build_class__ __debug__ __dict__ __dir__ __file__ __getattr__ __import__
    __loader__ __name__ __package__ __path__ __spec__
"""

MODULE_NAMES = frozenset(_MODULE_NAMES.split())
"""Names that mean something to the interpreter in every module, so that no node may define them."""

_Result = TypeVar("_Result")


def on_a_fresh_stack(work: Callable[[], _Result]) -> _Result:
    """Call `work`; if it exceeds the recursion limit, call it again on a new stack.

    Otherwise, whether deeply nested code can be parsed would depend on the caller's stack depth.
    """
    try:
        return work()
    except RecursionError:
        with ThreadPoolExecutor(max_workers=1) as fresh:
            return fresh.submit(work).result()


_PARSING = threading.Lock()


@contextmanager
def _reading() -> Iterator[None]:
    """Let only one thread use the parser or the compiler, with settings that do not vary.

    Python 3.11 counts the depth of both for all threads together, and the settings are global.
    """
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        digits = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(MAX_INTEGER_DIGITS)
        try:
            yield
        finally:
            sys.set_int_max_str_digits(digits)


def with_fixed_settings(work: Callable[[], _Result]) -> _Result:
    """Call `work`, which writes constants of code as text, with settings that do not vary.

    It must not parse or compile anything.
    """

    def settled() -> _Result:
        with _reading():
            return work()

    return on_a_fresh_stack(settled)


def parse(source: str) -> ast.Module:
    """Parse a module as every supported Python does, or raise one of PARSE_ERRORS."""
    text = source.replace("\r\n", "\n").replace("\r", "\n")  # as the parser does
    refuse_unportable(text)
    tree = on_a_fresh_stack(lambda: _parsed_text(text, "exec"))
    assert isinstance(tree, ast.Module)  # the result in this mode
    return tree


def _parsed_text(text: str, mode: str) -> ast.AST:
    with _reading():
        tree: ast.AST = ast.parse(text, mode=mode, feature_version=GRAMMAR)
    if _SCOPED_WORDS.search(text):  # walking the tree is slow
        _refuse_unstable_annotations(tree)
    if "__future__" in text or not text.isascii():  # a name may be written in another form
        _refuse_unknown_future(tree)
    if _CLASS_CELL.search(text) or not text.isascii():
        _refuse_class_cells(tree)
    if _SURROGATE.search(text):
        _refuse_surrogates_in_docstrings(tree)
    return tree


_SCOPED_WORDS = re.compile(":=|\\b(?:yield|await|global|nonlocal)\\b")


def _refuse_unstable_annotations(tree: ast.AST) -> None:
    """Refuse annotations that Python 3.14 reads differently, since they have their own scope.

    They bind a name or suspend a function, or use a name before it is declared global.
    """
    nodes = list(ast.walk(tree))
    annotated = [n for n in nodes if isinstance(n, _ANNOTATED) and _annotation(n) is not None]
    for annotation in filter(None, map(_annotation, annotated)):
        inside = ast.walk(annotation)
        if any(
            isinstance(n, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await) for n in inside
        ):
            raise SyntaxError("an annotation binds a name or suspends a function")
    if annotated and any(isinstance(n, ast.Global | ast.Nonlocal) for n in nodes):
        for node in nodes:
            if isinstance(node, Function | ast.ClassDef | ast.Module):
                _refuse_late_declarations(list(own_scope(node.body)))


def _refuse_late_declarations(scope: list[ast.AST]) -> None:
    declared = {
        name: node.lineno
        for node in scope
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    for node in scope:
        for name in ast.walk(_annotation(node) or ast.Pass()):
            if isinstance(name, ast.Name) and name.lineno <= declared.get(name.id, 0):
                raise SyntaxError(f"{name.id!r} is used before it is declared global")


_CLASS_CELL_NAMES = frozenset({"__class__", "__classdict__", "super"})
_CLASS_CELL = re.compile("\\b(?:__class__|__classdict__|super)\\b")


def _refuse_class_cells(tree: ast.AST) -> None:
    """Refuse comprehensions of a class body that need the class itself.

    Python 3.12 and 3.13 compile them as a part of the body, fail, and can even crash.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for inner in own_scope(node.body):
                if isinstance(inner, _COMPREHENSIONS) and any(
                    isinstance(n, ast.Name) and n.id in _CLASS_CELL_NAMES for n in ast.walk(inner)
                ):
                    raise SyntaxError("a comprehension in a class body uses the class itself")


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SURROGATE = re.compile("\\\\(?:u|U0000)[dD]")


def _refuse_surrogates_in_docstrings(tree: ast.AST) -> None:
    """Refuse docstrings that Python 3.13 cannot encode when it removes their indentation."""
    for node in ast.walk(tree):
        match docstring_of(node):
            case ast.Expr(value=ast.Constant(value=str(text))):
                text.encode()  # or raise UnicodeEncodeError


_FEATURES = """
    absolute_import annotations division generator_stop generators nested_scopes print_function
    unicode_literals with_statement
"""
_FUTURE = frozenset(_FEATURES.split())


def _refuse_unknown_future(tree: ast.AST) -> None:
    """Refuse what Python 3.14 refuses when it parses, and Python 3.11 when it compiles."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                if alias.name not in _FUTURE:
                    raise SyntaxError(f"future feature {alias.name} is not defined")


_ANNOTATED = (ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef)


def _annotation(node: ast.AST) -> ast.expr | None:
    match node:
        case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
            return annotation
        case ast.FunctionDef(returns=annotation) | ast.AsyncFunctionDef(returns=annotation):
            return annotation
    return None


def compiled(tree: ast.Module, file: str) -> types.CodeType:
    """Compile a parsed module, or raise one of PARSE_ERRORS."""

    def work() -> types.CodeType:
        with _reading():
            return compile(tree, file, "exec", dont_inherit=True)

    return on_a_fresh_stack(work)


def parse_fault(source: str) -> str | None:
    """Return why code cannot be read; None if it can."""
    try:
        parse(source)
    except PARSE_ERRORS as error:
        return str(error)
    return None


def compile_fault(source: str) -> str | None:
    """Return why code does not compile; None if it does."""
    try:
        compiled(parse(source), "bundle")
    except PARSE_ERRORS as error:
        return str(error)
    return None


def expression(text: str) -> ast.expr:
    """Parse a Python expression, or raise one of PARSE_ERRORS."""
    stripped = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    refuse_unportable(stripped)
    tree = on_a_fresh_stack(lambda: _parsed_text(stripped, "eval"))
    assert isinstance(tree, ast.Expression)  # the result in this mode
    return tree.body


def literal_value(text: str) -> Any:
    """Return the value of a literal, or raise one of LITERAL_ERRORS."""
    tree = expression(text)
    if "{" in text:  # walking the tree is slow
        on_a_fresh_stack(lambda: _refuse_collisions(tree))
    return on_a_fresh_stack(lambda: ast.literal_eval(tree))


def _refuse_collisions(tree: ast.expr) -> None:
    """Refuse sets and dictionaries that would take hours to build."""
    for node in ast.walk(tree):
        keys: Sequence[ast.expr | None] = ()
        match node:
            case ast.Set(elts=elements):
                keys = elements
            case ast.Dict(keys=elements):
                keys = elements
        if len(keys) > MAX_COLLISIONS:
            values = (ast.literal_eval(key) for key in keys if key is not None)
            if collisions(values) > MAX_COLLISIONS:
                raise ValueError("too many keys have one hash")


def collisions(keys: Iterable[Any]) -> int:
    """Return the largest number of keys that have the same hash."""
    return max(Counter(map(hash, keys)).values(), default=0)


def parsed(code: str) -> ast.Module | None:
    """Parse code; None if it does not parse."""
    try:
        return parse(code)
    except PARSE_ERRORS:
        return None


def is_identifier(name: str) -> bool:
    """Whether a text is an identifier as the parser returns it, normalised to NFKC."""
    try:
        refuse_unstable_identifier(name)
    except SyntaxError:
        return False
    return name.isidentifier() and unicodedata.normalize("NFKC", name) == name


def docstring_of(node: ast.AST) -> ast.stmt | None:
    """Return the statement that is the docstring of a module, class or function."""
    if not isinstance(node, Function | ast.ClassDef | ast.Module):
        return None
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str())) as docstring, *_]:
            return docstring
    return None


def body_without_docstring(node: Function | ast.ClassDef | ast.Module) -> list[ast.stmt]:
    """Return the statements of a module, class or function, except its docstring."""
    return node.body if docstring_of(node) is None else node.body[1:]


FUTURE = "from __future__ import "
"""The beginning of statements that change how a whole program is read."""


class Imported(msgspec.Struct, frozen=True):
    """One name that an import binds."""

    name: str
    """`*` for a star import, whose names are unknown."""
    meaning: str
    """What the name refers to; two imports with the same meaning do not conflict."""
    statement: str
    """An import statement that binds only this name."""


def imports_of(statement: ast.Import | ast.ImportFrom) -> tuple[Imported, ...]:
    """Return the names that an import statement binds."""
    result = []
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            alone: ast.stmt = ast.ImportFrom(
                module=statement.module, names=[alias], level=statement.level
            )
            name = alias.asname or alias.name
            meaning = ast.unparse(alone)
        else:
            alone = ast.Import(names=[alias])
            name = alias.asname or alias.name.partition(".")[0]
            # `import a.b` and `import a.c` both bind `a`, to the same package.
            meaning = ast.unparse(alone) if alias.asname else f"import {name}"
        result.append(Imported(name=name, meaning=meaning, statement=ast.unparse(alone)))
    return tuple(result)


def imported_by(tree: ast.AST) -> set[str]:
    """Return every name that is imported anywhere in `tree`."""
    return {
        imported.name
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for imported in imports_of(statement)
    }


def imports_in(statement: ast.stmt) -> tuple[Imported, ...]:
    """Return the names that a compound statement imports into its own scope."""
    return tuple(
        imported
        for inner in own_scope([statement])
        if isinstance(inner, ast.Import | ast.ImportFrom)
        for imported in imports_of(inner)
    )


def scopes(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """Split a node's children into those in the enclosing scope and those in its own scope."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            inside: list[ast.AST] = list(node.body)
        case ast.Lambda():
            inside = [node.body]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return [node.generators[0].iter], []
        case _:
            return list(ast.iter_child_nodes(node)), []
    return [c for c in ast.iter_child_nodes(node) if c not in inside], inside


def own_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Walk `nodes` without entering nested scopes."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        outside, _ = scopes(node)
        waiting.extend(outside)


def mangled(name: str, class_name: str) -> str:
    """Return what Python calls a name in a class: `__x`, which is private to `C`, is `_C__x`."""
    owner = class_name.lstrip("_")
    private = owner and name.startswith("__") and not name.endswith("__")
    return f"_{owner}{name}" if private else name


def declared_global(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement declares global in any scope, as Python calls them."""
    declared: set[str] = set()
    waiting: list[tuple[ast.AST, str]] = [(statement, "")]
    while waiting:
        node, class_name = waiting.pop()
        if isinstance(node, ast.Global):
            declared.update(mangled(name, class_name) for name in node.names)
        if isinstance(node, ast.ClassDef):
            class_name = node.name
        waiting.extend((child, class_name) for child in ast.iter_child_nodes(node))
    return frozenset(declared)


def local_names(node: ast.AST) -> frozenset[str]:
    """Return the names of a nested scope: parameters, and what it binds or imports for itself."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            _, inside = scopes(node)
            params = (a.arg for a in ast.iter_child_nodes(node.args) if isinstance(a, ast.arg))
            return frozenset(params) | _bound_or_imported(inside)
        case ast.ClassDef(body=body):
            return _bound_or_imported(body)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return frozenset(bound_by(generator.target for generator in node.generators))
    return frozenset()


def _bound_or_imported(nodes: Sequence[ast.AST]) -> frozenset[str]:
    imports = (n for n in own_scope(nodes) if isinstance(n, ast.Import | ast.ImportFrom))
    return frozenset(bound_by(nodes) | {i.name for s in imports for i in imports_of(s)})


def bound_by(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that `nodes` bind or unbind in their scope, except by imports."""
    bound: set[str] = set()
    outer: set[str] = set()
    for node in own_scope(nodes):
        match node:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                outer.update(names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                # A walrus in a comprehension binds in the enclosing scope.
                bound.update(_assigned_in(node))
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                bound.add(name)
            case _:
                pass
    return bound - outer


def _assigned_in(comprehension: ast.AST) -> Iterator[str]:
    """Yield the names that walruses in a comprehension bind around it, so not those in lambdas."""
    waiting = [comprehension]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
        waiting.extend([node.args] if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node))
