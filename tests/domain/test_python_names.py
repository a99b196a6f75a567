"""Names in Python code: what code binds and imports, and how it is parsed."""

import ast
import builtins
import sys

import pytest

from auditcoder.domain.python_names import (
    BUILTINS,
    LITERAL_ERRORS,
    PARSE_ERRORS,
    body_without_docstring,
    bound_by,
    compile_fault,
    compiled,
    declared_global,
    docstring_of,
    expression,
    imported_by,
    imports_in,
    imports_of,
    literal_value,
    mangled,
    on_a_fresh_stack,
    parse,
    parsed,
)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("x = y = 1", {"x", "y"}),
        ("a, (b, *c) = v", {"a", "b", "c"}),
        ("x.y = 1; z[0] = 2", set()),
        ("for i in r: j = i", {"i", "j"}),
        ("with f() as handle: pass", {"handle"}),
        ("del gone", {"gone"}),
        ("def f(p): q = 1", {"f"}),
        ("class C:\n    m = 1", {"C"}),
        ("f = lambda p: p", {"f"}),
        ("[i for i in r]", set()),
        ("[k := i for i in r]", {"k"}),
        ("[[k := i for i in r] for _ in (lambda a=[(b := 1) for c in r]: 0)]", {"b", "k"}),
        ("[lambda: (k := i) for i in r]", set()),
        ("[lambda a=(k := 1): 0 for i in r]", {"k"}),
        ("def f(p=(n := 1)): pass", {"f", "n"}),
        ("try: pass\nexcept E as error: pass", {"error"}),
        ("match v:\n    case [a, *b]: pass\n    case {'k': c, **d}: pass", {"a", "b", "c", "d"}),
        ("global g\ng = 1\nx = 2", {"x"}),
        ("import m", set()),
    ],
)
def test_code_binds_names_in_its_own_scope(source: str, names: set[str]) -> None:
    assert bound_by(parse(source).body) == names


@pytest.mark.parametrize(
    ("source", "bound"),
    [
        ("import a.b", [("a", "import a", "import a.b")]),
        ("import a.b as c", [("c", "import a.b as c", "import a.b as c")]),
        ("from m import f as g", [("g", "from m import f as g", "from m import f as g")]),
        ("from . import x", [("x", "from . import x", "from . import x")]),
        ("from m import *", [("*", "from m import *", "from m import *")]),
        ("import a, b", [("a", "import a", "import a"), ("b", "import b", "import b")]),
    ],
)
def test_an_import_binds_names_with_a_meaning(
    source: str, bound: list[tuple[str, str, str]]
) -> None:
    (statement,) = parse(source).body
    assert isinstance(statement, ast.Import | ast.ImportFrom)
    assert [(i.name, i.meaning, i.statement) for i in imports_of(statement)] == bound


def test_imports_of_a_compound_statement_leave_out_inner_scopes() -> None:
    (statement,) = parse("if x:\n    import a\n    def f():\n        import b").body
    assert [i.name for i in imports_in(statement)] == ["a"]
    assert imported_by(statement) == {"a", "b"}


@pytest.mark.parametrize("source", ["def f(:", "x = 1\x00", "(" * 3000, "\ud800", "type X = int"])
def test_code_that_does_not_parse_raises_one_of_the_named_errors(source: str) -> None:
    with pytest.raises(PARSE_ERRORS):
        parse(source)
    assert parsed(source) is None


def test_code_is_read_by_the_grammar_of_python_3_11() -> None:
    assert parsed("match x:\n    case 1: pass") is not None
    assert parsed("def f[T](x: T) -> T: return x") is None


def test_parsed_code_can_be_compiled() -> None:
    space: dict[str, object] = {}
    exec(compiled(parse("x = 6 * 7"), "bundle"), space)
    assert space["x"] == 42
    with pytest.raises(PARSE_ERRORS):
        compiled(parse("return 1"), "bundle")


def test_an_expression_is_one_expression() -> None:
    assert ast.unparse(expression("  f(1) ")) == "f(1)"
    with pytest.raises(PARSE_ERRORS):
        expression("x = 1")


def test_a_literal_is_evaluated() -> None:
    assert literal_value("[1, {'a': (2.5, None)}]") == [1, {"a": (2.5, None)}]


_COLLIDING = [str(n * (2**61 - 1)) for n in range(20_000)]


@pytest.mark.parametrize(
    "text",
    [
        *["f(1)", "x", "{[]: 1}", "", "1 +", "__import__('os')"],
        *["{*()}", "{**{}}", "{[1]}", "{{1}}", "\0", "'\ud800'", "f'{1}'", "[" * 1000],
        *[f"1{'0' * 5000}", f"1{'0' * 400} + 1j", f"0x{'f' * 400} - 1j"],
        f"[{{{', '.join(_COLLIDING)}}}]",
        f"{{{', '.join(f'({n},): 0' for n in _COLLIDING)}}}",
    ],
    ids=lambda text: text[:12],
)
def test_an_expression_that_is_not_a_literal_is_refused(text: str) -> None:
    with pytest.raises(LITERAL_ERRORS):
        literal_value(text)


def test_sets_and_dictionaries_may_be_large() -> None:
    numbers = range(2000)
    assert literal_value(f"{{{', '.join(map(str, numbers))}}}") == set(numbers)
    pairs = ", ".join(f"{n}: [{n}]" for n in numbers)
    assert literal_value(f"{{{pairs}}}") == {n: [n] for n in numbers}


def test_a_docstring_is_found_and_left_out() -> None:
    tree = parse('"""Doc."""\nx = 1')
    assert docstring_of(tree) is tree.body[0]
    assert body_without_docstring(tree) == tree.body[1:]


@pytest.mark.parametrize("source", ["x = 1", "1", "f'{x}'", "b'bytes'", ""])
def test_another_first_statement_is_no_docstring(source: str) -> None:
    tree = parse(source)
    assert docstring_of(tree) is None
    assert body_without_docstring(tree) == tree.body


def test_the_reserved_names_are_builtins_of_this_python() -> None:
    assert not {name for name in BUILTINS if not hasattr(builtins, name)} - {"exit", "quit", "help"}
    assert {"print", "len", "ValueError"} <= BUILTINS
    assert not any(name.startswith("_") for name in BUILTINS)


def test_work_that_exhausts_the_stack_is_tried_on_a_new_one() -> None:
    def descend(levels: int) -> int:
        return levels and 1 + descend(levels - 1)

    depth = sys.getrecursionlimit() - 100

    def from_deep_below(levels: int) -> int:
        if levels:
            return from_deep_below(levels - 1)
        return on_a_fresh_stack(lambda: descend(depth))

    assert from_deep_below(200) == depth


def test_work_that_exhausts_every_stack_raises() -> None:
    def forever() -> int:
        return forever() + 1

    with pytest.raises(RecursionError):
        on_a_fresh_stack(forever)


@pytest.mark.parametrize("class_name", ["A", "_A", "__A_", "__"])
@pytest.mark.parametrize("name", ["__x", "__x_", "__x__", "_x", "x", "__"])
def test_private_names_are_mangled_as_python_does_it(class_name: str, name: str) -> None:
    space: dict[str, dict[str, object]] = {}
    exec(f"class {class_name}:\n    {name} = 1\n", space)
    assert mangled(name, class_name) in vars(space[class_name])


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f():\n    global __x", {"__x"}),
        ("class A:\n    global __x, y", {"_A__x", "y"}),
        ("class A:\n    def f(self):\n        global __x", {"_A__x"}),
        ("class A:\n    class B:\n        def f(self):\n            global __x", {"_B__x"}),
        ("def f():\n    class A:\n        global __x", {"_A__x"}),
        ("if x:\n    class _:\n        global __x", {"__x"}),
    ],
)
def test_names_are_declared_global_as_python_calls_them(source: str, names: set[str]) -> None:
    (statement,) = parse(source).body
    assert declared_global(statement) == names


@pytest.mark.parametrize(
    "body",
    [
        "items = [__class__ for q in r]",
        "items = (__class__ for q in r)",
        "items = {q for q in [__classdict__ for x in r]}",
        "items = {q: (lambda self: super().show(q)) for q in r}",
        "items = [\uff53uper for q in r]",
        "def show(self, items=[super for q in r]): pass",
        "if r:\n        class D(*{super for q in r}): pass",
    ],
)
def test_a_comprehension_in_a_class_body_does_not_use_the_class(body: str) -> None:
    """Python 3.12 and 3.13 cannot compile it."""
    assert compile_fault(f"class C:\n    {body}\n") is not None


@pytest.mark.parametrize(
    "body",
    [
        "def show(self): return [super().show(q) for q in r]",
        "show = lambda self: {__class__ for q in r}",
        "names = [q.__class__ for q in r]",
        "__class__ = property(object)",
    ],
)
def test_a_method_may_use_its_class_in_a_comprehension(body: str) -> None:
    assert compile_fault(f"class C:\n    {body}\n") is None
    assert compile_fault("names = [super for q in r]\n") is None


@pytest.mark.parametrize(
    "source",
    [
        r"'\ud800'",
        r"def f(): '\uD83D\ude00'",
        r"async def f(): '''\U0000dfff'''",
        r"class C: 'a' '\uDbff'",
    ],
)
def test_a_docstring_is_valid_unicode(source: str) -> None:
    """Python 3.13 encodes docstrings, and no other strings."""
    assert compile_fault(source) is not None
    assert compile_fault(source.replace("'", "x = '", 1)) is None
    assert compile_fault(source.replace("\\", "\\\\")) is None


def test_an_error_of_the_compiler_itself_is_a_fault_of_the_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = parse("x = 1")

    def fail(*_: object, **__: object) -> None:
        raise SystemError("unknown scope")

    with monkeypatch.context() as patched:
        patched.setattr(builtins, "compile", fail)
        with pytest.raises(PARSE_ERRORS):
            compiled(tree, "bundle")
        fault = compile_fault("x = 1")
    assert fault == "unknown scope"


def test_a_future_feature_is_known_however_its_module_is_written() -> None:
    assert parsed("from __\uff46uture__ import annotations") is not None
    assert parsed("from __\uff46uture__ import nonsense") is None
