"""The lexical rules: one reading of code on every Python, and a bound of its depth."""

import ast
import io
import sys
import threading
import tokenize
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.portable_limits import (
    MAX_BLOCKS,
    MAX_CHARACTERS,
    MAX_COMPREHENSIONS,
    MAX_DEPTH,
    MAX_INTEGER_DIGITS,
    is_plain,
)
from auditcoder.domain.python_lexer import (
    lex,
    refuse_unstable_identifier,
)
from auditcoder.domain.python_names import PARSE_ERRORS, compiled, on_a_fresh_stack, parse, parsed
from tests.support.readings import reading_of, readings


def test_every_form_is_read_as_on_every_other_python() -> None:
    """Each Python runs this with the same file, so that all of them agree."""
    different = {s: found for s, reading in readings() if (found := reading_of(s)) != reading}
    assert not different


def test_the_readings_include_every_kind_of_form() -> None:
    forms = dict(readings())
    refused = [source for source, reading in forms.items() if reading == "refused"]
    assert len(forms) > 700
    assert 250 < len(refused) < len(forms) - 250


@pytest.mark.parametrize(
    "source",
    [
        "f'{a['x']}'",
        "f'{\"\\n\".join(a)}'",
        "f'''{a # comment\n}'''",
        "f'{x:{y:{z}}}'",
        "f'{x for x in y}'",
        "f'{x!r }'",
        "f'{*a}'",
        "f'{x:{{}}}'",
        "t'{x}'",
        "type X = int",
        "def f[T](x: T): pass",
        "class C[T = int]: pass",
        "try: pass\nexcept A, B: pass",
        "from __future__ import barry_as_FLUFL\n1 <> 2",
        "from __future__ import nonsense",
        "def f(x: (y := 1)): pass",
        "def g():\n    def f(x: (yield)): pass",
        "def f():\n    def g(a: x): pass\n    global x",
        "'\\N{SHAKING FACE}'",
        "x\u30fby = 1",
        "\U0001e4d0 = 1",
        "x = 1\x00",
    ],
)
def test_a_form_that_only_some_pythons_accept_is_refused(source: str) -> None:
    assert parsed(source) is None


def test_identifiers_have_the_characters_of_unicode_3_2() -> None:
    for letter in "éЖ中ﬁª𝔘":
        refuse_unstable_identifier(f"x{letter}")
    for letter in "\u200d\u30fb\uff65\u0378\U0001e4d0":
        with pytest.raises(SyntaxError, match="Unicode"):
            refuse_unstable_identifier(f"x{letter}")


def test_a_named_character_has_its_name_in_unicode_3_2() -> None:
    assert unicodedata.ucd_3_2_0.unidata_version == "3.2.0"
    assert parsed(r"'\N{bullet}', '\\N{nonsense}', rb'\N{nonsense}'") is not None
    for name in ("SHAKING FACE", "NBSP", "nonsense", ""):
        assert parsed(rf"'\N{{{name}}}'") is None


def test_an_integer_has_a_bounded_number_of_decimal_digits() -> None:
    digits = "9" * MAX_INTEGER_DIGITS
    limit = sys.get_int_max_str_digits()
    try:
        for setting in (0, 640, 10_000):
            sys.set_int_max_str_digits(setting)
            assert parsed(f"x = {digits}") is not None
            assert parsed(f"x = {digits}_9") is None
            assert parsed(f"x = {digits}9.0 + {digits}9j") is not None
            assert parsed(f"x = '{digits}9' # {digits}9") is not None
            assert sys.get_int_max_str_digits() == setting
    finally:
        sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize(
    ("prefix", "digit", "most"), [("0x", "f", 3571), ("0O", "7", 4761), ("0b", "1", 14_284)]
)
def test_an_integer_of_another_base_can_be_written_in_decimal(
    prefix: str, digit: str, most: int
) -> None:
    longest = f"x = {prefix}{digit}_{digit * (most - 1)}"
    assert len(str(ast.literal_eval(parse(longest).body[0].value))) <= MAX_INTEGER_DIGITS  # type: ignore[attr-defined]
    assert parsed(f"{longest}{digit}") is None
    assert not is_plain(f"{longest}{digit}")
    assert parsed(f"x = '{prefix}{digit * most}{digit}'") is not None


def test_code_has_a_bounded_length() -> None:
    assert lex("x" * MAX_CHARACTERS)
    with pytest.raises(SyntaxError, match="characters"):
        lex("x" * (MAX_CHARACTERS + 1))


def repeated(before: str, inside: str, after: str = "") -> Callable[[int], str]:
    return lambda times: f"x = {before * times}{inside}{after * times}"


def blocks(header: str) -> Callable[[int], str]:
    return lambda times: "".join(" " * n + f"{header}\n" for n in range(times)) + " " * times + "x"


NESTED: dict[str, tuple[int, Callable[[int], str]]] = {
    "brackets": (MAX_DEPTH // 5, repeated("(", "1", ")")),
    "lists": (MAX_DEPTH // 5, repeated("[1, ", "1", "]")),
    "calls": (MAX_DEPTH // 5, repeated("f(", "1", ")")),
    "comprehensions": (MAX_COMPREHENSIONS, repeated("[x for x in a or b and c < ", "y", "]")),
    "elements": (MAX_COMPREHENSIONS, repeated("[", "x", " for x in y]")),
    "functions in elements": (MAX_COMPREHENSIONS, repeated("{x: f(lambda: ", "x", ") for x in y}")),
    "asynchronous clauses": (
        MAX_BLOCKS // 2,
        lambda times: f"async def f(): return (x {'async for x in y ' * times})",
    ),
    "loops around asynchronous clauses": (
        MAX_BLOCKS - 16,
        lambda times: (
            "async def f():\n"
            + "".join(" " * n + "for a in b:\n" for n in range(1, times + 1))
            + f"{' ' * (times + 1)}return [x {'async for x in y ' * 8}]"
        ),
    ),
    "asynchronous comprehensions": (
        MAX_BLOCKS // 2 - 3,
        lambda times: (
            f"async def f():\n with a, b, c:\n  with d, e, f: return {'[' * times}x"
            f"{' async for x in y]' * times}"
        ),
    ),
    "slices": (MAX_DEPTH // 5, repeated("a[b:c or d and e < ", "y", "]")),
    "generators": (MAX_COMPREHENSIONS, repeated("(x for x in ", "y", ")")),
    "dictionaries": (MAX_DEPTH // 5, repeated("{1: ", "1", "}")),
    "arguments": (MAX_DEPTH // 7, repeated("f(*a or b and not c < ", "1", ")")),
    "negations": (MAX_DEPTH, repeated("not ", "1")),
    "signs": (MAX_DEPTH, repeated("-", "1")),
    "sums": (MAX_DEPTH, repeated("1 + ", "1")),
    "powers": (MAX_DEPTH, repeated("1 ** ", "1")),
    "attributes": (MAX_DEPTH, repeated("a.", "a")),
    "functions": (MAX_DEPTH, repeated("lambda a, b: ", "1")),
    "conditions": (MAX_DEPTH, repeated("a if b else ", "c")),
    "conditions beside strings": (MAX_DEPTH, repeated("'a'if'b'else", "'c'")),
    "conditions beside numbers": (MAX_DEPTH, repeated("1if 1else ", "1")),
    "conditions beside digits of any base": (MAX_DEPTH, repeated("0xfif 0b1else ", "1")),
    "results": (MAX_DEPTH - 4, lambda times: "x = a" + "()" * times),
    "items": (MAX_DEPTH - 4, lambda times: "x = a" + "[0]" * times),
    "branches": (MAX_DEPTH, lambda times: "if x: y\n" + "elif x: y\n" * times),
    "blocks": (MAX_DEPTH // 2 - 1, blocks("if x:")),
    "classes": (MAX_DEPTH // 2 - 1, blocks("class C:")),
    "loops": (MAX_BLOCKS, blocks("for x in y:")),
    "contexts": (MAX_BLOCKS // 2, blocks("with x, y:")),
    "bracketed contexts": (MAX_BLOCKS // 2, blocks("with (x, y):")),
}


def depth_of(tree: ast.AST) -> int:
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node)]
    return deepest


@pytest.mark.parametrize("form", NESTED)
def test_code_is_nested_up_to_a_fixed_depth_even_on_a_small_stack(form: str) -> None:
    times, make = NESTED[form]
    found: list[object] = []

    def read() -> None:
        tree = parse(make(times))
        compiled(tree, "bundle")
        found.extend((depth_of(tree), on_a_fresh_stack(lambda: ast.dump(tree))))

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert found
    assert isinstance(found[0], int)
    assert found[0] <= MAX_DEPTH + 5


@pytest.mark.parametrize("form", NESTED)
def test_the_fast_check_never_accepts_what_is_nested_too_deeply(form: str) -> None:
    times, make = NESTED[form]
    assert not is_plain(make(times + 2))


@pytest.mark.parametrize("more", [2, 100, 50_000])
@pytest.mark.parametrize("form", NESTED)
def test_code_that_is_nested_more_deeply_is_refused(form: str, more: int) -> None:
    times, make = NESTED[form]
    if "\n" in make(1) and more > 1000:
        more = 300  # text with that many indented lines would be too large
    with pytest.raises(SyntaxError):
        parse(make(times + more))


def test_statements_without_loops_between_them_do_not_add_up() -> None:
    deep = blocks("for x in y:")(MAX_BLOCKS)
    inner = "\n".join(" " * MAX_BLOCKS + line for line in ["def f():", *deep.split("\n")])
    assert parsed(deep.rpartition("\n")[0] + "\n" + inner.replace("\n ", "\n  ")) is not None
    assert parsed(deep + "\n" + deep) is not None


def test_what_does_not_nest_may_be_long() -> None:
    many = 5000
    for source in (
        "x = [" + "lambda a: a.b + 1, " * 100 + "]",
        "x = [" + "a.b + (1), " * many + "]",
        "x = " + "a and b or " * many + "c",
        "x = " + "'a' " * many,
        "x = " + "y = " * many + "1",
        "if x.y: y = 1 + 2\n" * many,
        "x = {" + "a.b: c + d,\n" * many + "}",
        "a.b + c; " * many,
    ):
        assert parsed(source) is not None


_WORDS = "await elif else for_x_in_y lambda not 0x 1_0 rb {x} !r \\N{BULLET}"
PARTS = st.sampled_from(
    [
        *"f\"'{}!:=\\\n#()[],; .+-1xé\t\f",
        *("'''", '"""', "if x:\n  ", "def f():\n    "),
        *(word.replace("_", " ") for word in _WORDS.split()),
    ]
)
SOURCES = st.lists(PARTS, max_size=25).map("".join)


@given(SOURCES | st.text(max_size=50))
def test_any_text_is_read_or_refused_with_a_syntax_error(source: str) -> None:
    try:
        read = lex(source)
    except SyntaxError:
        return
    assert all(source[n.start : n.end] for n in read.names())


@pytest.mark.parametrize(
    "source",
    [
        "[x for x in y if z for u in v]",
        "f([a for a in b], {c: d for c in d}, (e for e in f)) or [[g for g in h] for h in i]",
        "async def f():\n    async with a:\n        return [x async for x in y if await x]",
    ],
)
def test_comprehensions_that_are_not_in_each_other_do_not_add_up(source: str) -> None:
    assert parsed(source) is not None
    assert (
        parsed("\n".join(" " * n + "for a in b:" for n in range(10)) + f"\n{' ' * 10}c") is not None
    )
    row = f"[{', '.join(['[x for x in y]'] * 40)}]"
    assert parsed(row) is not None


@pytest.mark.parametrize("header", ["for x in y:", "with a, b:", "try:", "with (a, b):"])
def test_comprehensions_count_as_blocks_around_their_elements(header: str) -> None:
    loops = [" " * n + "for a in b:\n" for n in range(MAX_BLOCKS - 3)]
    margin = " " * len(loops)
    end = f"\n{margin}finally: pass" if header == "try:" else ""
    for comprehensions, accepted in (
        (1, header != "try:"),
        (2, header == "for x in y:"),
        (4, False),
    ):
        element = "[" * comprehensions + "x" + " for x in y]" * comprehensions
        assert (parsed(f"{''.join(loops)}{margin}{header} {element}{end}") is not None) is accepted
    if header != "try:":
        assert parsed(f"{''.join(loops)}{margin}{header} c") is not None


PIECES = st.sampled_from(
    [make(n) for times, make in NESTED.values() for n in (1, 3, times // 2, times)]
    + [source for source, _ in readings()]
)


@given(st.lists(PIECES | SOURCES, max_size=4).map("\n".join))
def test_the_fast_check_accepts_only_what_the_lexer_or_the_parser_decides(source: str) -> None:
    if is_plain(source):
        try:
            lex(source)
        except SyntaxError:
            with pytest.raises(SyntaxError):
                ast.parse(source)


@given(SOURCES | st.sampled_from([source for source, _ in readings()]))
def test_what_is_read_agrees_with_the_parser(source: str) -> None:
    if "\r" in source or (tree := parsed(source)) is None:
        return
    assert depth_of(tree) <= MAX_DEPTH + 5
    read = lex(source)
    spelt = {source[n.start : n.end] for n in read.names()}
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert used <= {unicodedata.normalize("NFKC", name) for name in spelt}


@given(SOURCES | st.sampled_from([source for source, _ in readings()]))
def test_lines_and_comments_agree_with_the_tokenizer(source: str) -> None:
    if "\r" in source or parsed(source) is None:
        return
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (*PARSE_ERRORS, tokenize.TokenError):
        return
    read = lex(source)
    assert read.has_comment == any(token.type == tokenize.COMMENT for token in tokens)
    ignored = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER", "ERRORTOKEN"}
    code = [t for t in tokens if tokenize.tok_name[t.type] not in ignored]
    assert {t.start[0] for t in code} | {t.end[0] for t in code} <= read.code_lines
    strings = [t for t in code if t.type == tokenize.STRING]
    inside = {n for t in strings for n in range(t.start[0] + 1, t.end[0] + 1)}
    assert inside <= read.inside_string
