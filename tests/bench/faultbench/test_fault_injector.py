"""Injecting: one fault at a time, of every kind, and nothing else is touched."""

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditcoder import lifecycle
from auditcoder.domain.python_names import Function, compiled, parse
from auditcoder_bench.faultbench.fault_injector import Fault, Variant, variants

EXAMPLE = textwrap.dedent('''
    import math

    LIMIT = 10  # of the whole


    @cached(1 + 1)
    async def report(self, rows: Annotated[list, 1 + 1], least: int = 0) -> tuple[dict, int]:
        """Say how much there is, if x < 1."""
        total, low = 0, float("inf")  # größer als alles
        for key, value in rows.items():
            if value is None:  # nothing to count
                continue
            if value < low and key != "é" or value == 3:
                low = value
            elif value > LIMIT - 1:
                total += value
            else:
                self.rest.append((key, value))
        checked = clean(
            rows,  # all of them
            least,
        )
        self.count = rank(checked)
        self.reset()
        await self.store(checked, f"{total + 1} of {low - 1}")
        return {k: v for k, v in checked.items() if v >= 1}, total


    if __name__ == "__main__":
        print(report(1 + 1))
''')
OTHERS = ("clean", "rank", "reset", "store")


def news(fault: Fault, code: str, *others: str) -> list[str]:
    """Return the lines that are new in each variant of a kind, on one line; empty if some went."""
    source = textwrap.dedent(code).lstrip("\n")
    found = [v for v in variants(source, "f", others) if v.fault is fault]
    return [" / ".join(map(str.strip, difference(source, v.source)[1])) for v in found]


def difference(source: str, changed: str) -> tuple[range, list[str]]:
    """Return which lines went, counted from one, and the lines that came instead."""
    old, new = source.splitlines(), changed.splitlines()
    shorter = min(len(old), len(new))
    above = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    most = shorter - above
    below = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    return range(above + 1, len(old) - below + 1), new[above : len(new) - below]


class TestKinds:
    def test_off_by_one(self) -> None:
        code = """
            def f(xs, n):
                for i in range(n):
                    xs[i] = xs[1:n - 1]
                return [k for k, x in enumerate(xs, 1) if x <= n]
        """
        assert news(Fault.OFF_BY_ONE, code) == [
            "for i in range(1, n):",
            "for i in range(n - 1):",
            "for i in range(n + 1):",
            "xs[i - 1] = xs[1:n - 1]",
            "xs[i + 1] = xs[1:n - 1]",
            "xs[i] = xs[0:n - 1]",
            "xs[i] = xs[2:n - 1]",
            "xs[i] = xs[1:n - 2]",
            "xs[i] = xs[1:n]",
            "return [k for k, x in enumerate(xs) if x <= n]",
            "return [k for k, x in enumerate(xs, 1) if x < n]",
        ]

    def test_numbers_that_are_compared_are_one_off(self) -> None:
        code = "def f(x):\n    return len(x) == 2\n"
        assert news(Fault.OFF_BY_ONE, code) == ["return len(x) == 1", "return len(x) == 3"]

    def test_a_key_is_no_index(self) -> None:
        assert news(Fault.OFF_BY_ONE, "def f(d, key):\n    return d[key], d['a']\n") == []

    @pytest.mark.parametrize(
        ("right", "wrong"),
        [
            ("a + b", ["a - b", "a * b"]),
            ("a // b", ["a / b", "a % b"]),
            ("a and b", ["a or b"]),
            ("a == b", ["a != b"]),
            ("a > b", ["a < b"]),
            ("a not in b", ["a in b"]),
            ("a is None", ["a is not None"]),
            ("not a", ["a"]),
            ("min(a, b)", ["max(a, b)"]),
            ("any(a)", ["all(a)"]),
            ("a.strip()", ["a.lstrip()", "a.rstrip()"]),
            ("sorted(a)", ["sorted(a, reverse=True)"]),
            ("sorted(a, key=len, reverse=True)", ["sorted(a, key=len)"]),
            ("sum(x for x in a)", []),  # which has no length
            ("'%s' % a + str(b)", []),  # which are texts
        ],
    )
    def test_wrong_operator(self, right: str, wrong: list[str]) -> None:
        found = news(Fault.WRONG_OPERATOR, f"def f(a, b):\n    return {right}\n")
        assert found == [f"return {one}" for one in wrong]

    def test_operators_keep_what_they_hold_together(self) -> None:
        found = news(Fault.WRONG_OPERATOR, "def f(a, b):\n    return a - b * 2, -(a or b)\n")
        assert found == [
            "return a + b * 2, -(a or b)",
            "return a - (b + 2), -(a or b)",
            "return a - b * 2, a or b",
            "return a - b * 2, -(a and b)",
        ]

    def test_wrong_start(self) -> None:
        code = """
            def f(xs, strict=False):
                limit = 1
                best, last = -1, xs[0]
                seen = [0] * 3
                for x in xs:
                    once = 1
                    seen[x] = d.get(x, 0)
        """
        assert news(Fault.WRONG_START, code) == [
            "def f(xs, strict=True):",
            "limit = 0",
            "best, last = 0, xs[0]",
            "best, last = -1, 0",
            "seen = [1] * 3",
            "seen[x] = d.get(x, 1)",
        ]

    def test_an_object_begins_wrong(self) -> None:
        code = "def __init__(self):\n    self.open = True\n    self.n = float('inf')\n"
        assert news(Fault.WRONG_START, code) == [
            "self.open = False",
            "self.n = 0",
            "self.n = float('-inf')",
        ]

    def test_missing_edge_case(self) -> None:
        code = """
            def f(x, n):
                if not x:
                    return 0
                while n > 0 and x[n]:
                    n = max(0, n - 2)
                return d.get(x.strip(), 1) / n if n else None
        """
        assert news(Fault.MISSING_EDGE_CASE, code) == [
            "",
            "while x[n]:",
            "while n > 0:",
            "n = n - 2",
            "return d.get(x.strip(), 1) / n",
            "return None",
            "return d[x.strip()] / n if n else None",
            "return d.get(x, 1) / n if n else None",
        ]

    def test_a_branch_goes_with_its_comments(self) -> None:
        code = textwrap.dedent("""
            def f(x):
                if x == 1:
                    y = 1
                elif x == 2:  # the second
                    y = 2
                # otherwise
                else:
                    y = 3
                return y
        """)
        gone = [v for v in variants(code, "f") if v.fault is Fault.MISSING_EDGE_CASE]
        assert [(v.line, v.said) for v in gone] == [
            (5, "without `elif x == 2`"),
            (7, "without the `else` of `if x == 2`"),
        ]
        assert gone[0].source == code.replace("    elif x == 2:  # the second\n        y = 2\n", "")
        assert gone[1].source == code.replace("    # otherwise\n    else:\n        y = 3\n", "")

    def test_swapped_arguments(self) -> None:
        code = """
            def f(self, a, b):
                def inner(x, y):
                    return isinstance(x, y)
                inner(a, b + 1)
                return self.g(a, b, 3), h(a, b), pow(a, 2), k(p=a, q=b)
        """
        assert news(Fault.SWAPPED_ARGUMENTS, code, "g", "k") == [
            "inner(b + 1, a)",
            "return self.g(b, a, 3), h(a, b), pow(a, 2), k(p=a, q=b)",
            "return self.g(3, b, a), h(a, b), pow(a, 2), k(p=a, q=b)",
            "return self.g(a, 3, b), h(a, b), pow(a, 2), k(p=a, q=b)",
            "return self.g(a, b, 3), h(a, b), pow(2, a), k(p=a, q=b)",
            "return self.g(a, b, 3), h(a, b), pow(a, 2), k(p=b, q=a)",
        ]

    def test_swapped_results(self) -> None:
        code = """
            def f(d):
                low, high = g(d)
                for k, v in d.items():
                    out.append((k, v))
                return low, {k: v for k in d}
        """
        assert news(Fault.SWAPPED_RESULTS, code) == [
            "high, low = g(d)",
            "for v, k in d.items():",
            "out.append((v, k))",
            "return {k: v for k in d}, low",
            "return low, {v: k for k in d}",
        ]

    def test_wrong_shape_of_what_is_handed_out(self) -> None:
        code = """
            def f(x):
                if x:
                    return x, 1
                found = {}
                return found

            def helper(x):
                return x
        """
        assert news(Fault.WRONG_SHAPE, code) == [
            "return [(x, 1)]",
            "return (x, 1), None",
            "return str((x, 1))",
            "return x",
            "pass",
            "return [found]",
            "return (found, None)",
            "return str(found)",
            "return list(found.items())",
            "",
        ]

    def test_a_return_that_is_forgotten_still_works_it_out(self) -> None:
        code = "def f(x):\n    return [len(y) for y in x]\n"
        assert "[len(y) for y in x]" in news(Fault.WRONG_SHAPE, code)

    def test_wrong_shape_of_what_is_given_and_taken(self) -> None:
        code = "async def f(x):\n    g(x, 'y')\n    h(x[0] if await self.k(n=x) else x)\n"
        assert news(Fault.WRONG_SHAPE, code, "g", "h", "k") == [
            "g([x], 'y')",
            "g(str(x), 'y')",
            "g(x, ['y'])",
            "g('y')",
            "g(x)",
            "h([x[0] if await self.k(n=x) else x])",
            "h(str(x[0] if await self.k(n=x) else x))",
            "h(x[0] if (await self.k(n=x))[0] else x)",
            "h(x[0] if await self.k(n=[x]) else x)",
            "h(x[0] if await self.k(n=str(x)) else x)",
        ]

    def test_lost_state(self) -> None:
        code = """
            def f(self, xs, x):
                self.last = x
                self.n += 1
                self.all.append(x)
                xs.append(x)
                self.d[x] = 1
                xs = sorted(xs)
                if x:
                    xs.sort(key=len)
                y = x
        """
        assert news(Fault.LOST_STATE, code) == [
            *("", "last = x"),
            *("", "self.n = 1", "n = self.n + 1"),
            *("", "all = self.all + [x]"),
            *("", "xs = xs + [x]"),
            "",
            *("", "sorted(xs)"),
            *("pass", "sorted(xs, key=len)"),
        ]

    def test_slow_loop(self) -> None:
        code = """
            def f(self, xs, n, stream: Iterator[int]):
                seen = set()
                for x in xs:
                    y = x in seen
                for x in stream:
                    pass
                while n < len(self.rows):
                    n += 1
                return [x for x in range(n)]
        """
        rows = "for _ in self.rows for _ in self.rows for _ in self.rows"
        assert news(Fault.SLOW_LOOP, code) == [
            "sum((1 for _ in xs))",
            "sum((1 for _ in xs for _ in xs for _ in xs))",
            "sum((1 for _ in xs for _ in xs for _ in xs for _ in xs))",
            "y = x in list(seen)",
            f"sum((1 {rows}))",
            f"sum((1 {rows} for _ in self.rows))",
            "sum((1 for _ in range(n) for _ in range(n) for _ in range(n)))",
            "sum((1 for _ in range(n) for _ in range(n) for _ in range(n) for _ in range(n)))",
        ]

    def test_wrong_orchestration(self) -> None:
        code = """
            def f(self, a):
                b = g(a)
                self.open(b)
                self.close(b)
                c = h(b)
                return c
        """
        found = news(Fault.WRONG_ORCHESTRATION, code, "g", "h", "open", "close")
        assert set(found) == {
            *("b = a", "b = g(g(a))", "b = h(a)"),
            "",  # one of them is left out
            *("self.open(b)", "self.close(b)"),  # twice, or in the place of the other
            *("self.open(a)", "self.close(a)"),
            "self.close(b) / self.open(b)",
            "c = h(b) / self.close(b)",
            *("c = b", "c = h(h(b))", "c = g(b)", "c = h(a)"),
            "return b",
        }

    def test_without_others_there_is_nothing_to_orchestrate(self) -> None:
        assert news(Fault.WRONG_ORCHESTRATION, "def f(a):\n    b = g(a)\n    return b\n") == []


class TestText:
    """What is not changed keeps its very text."""

    def one(self, code: str, said: str, *others: str) -> Variant:
        found = [v for v in variants(code, "f", others) if v.said == said]
        assert len(found) == 1
        return found[0]

    def test_a_call_over_several_lines_keeps_its_comments(self) -> None:
        code = "def f(a, b):\n    return g(\n        a,  # one\n        b,\n    )\n"
        variant = self.one(code, "`g(b, a)` instead of `g(a, b)`", "g")
        assert variant.source == code.replace("a,  #", "b,  #").replace("    b,\n", "    a,\n")
        assert variant.line == 3

    def test_lines_that_hang_together_by_brackets_still_do(self) -> None:
        code = "def f(a, b):\n    return (a +\n        len(b))\n"
        sources = {v.source for v in variants(code, "f") if v.fault is Fault.WRONG_SHAPE}
        assert code.replace("(a +", "([a +").replace("(b))", "(b)])") in sources
        assert code.replace("return ", "") in sources

    @settings(max_examples=15, deadline=None)
    @given(st.text(max_size=8), st.text(st.characters(exclude_categories=["C", "Z"]), max_size=8))
    def test_whatever_stands_beside_it(self, text: str, words: str) -> None:
        code = f"def f(n):\n    x = {text!r}; y = n - 1  # {words}\n    return x\n"
        variant = self.one(code, "`n` instead of `n - 1`")
        assert variant.source == code.replace("y = n - 1 ", "y = n ")
        assert variant.line == 2

    def test_other_ends_of_lines(self) -> None:
        code = "def f(n):\r\n    y = '\x0c\u2028'\r\n    return n - 1\r\n"
        assert self.one(code, "`n` instead of `n - 1`").source == code.replace("n - 1", "n")

    def test_functions_in_functions(self) -> None:
        code = "def f(n):\n    def g():\n        # why\n        return n - 1\n    return g\n"
        variant = self.one(code, "`n` instead of `n - 1`")
        assert variant.source == code.replace("n - 1", "n")

    def test_the_only_argument_may_be_a_generator(self) -> None:
        found = news(Fault.WRONG_SHAPE, "def f(xs):\n    g(x for x in xs)\n", "g")
        assert found == ["g([(x for x in xs)])", "g(str((x for x in xs)))"]

    def test_statements_that_share_a_line(self) -> None:
        code = "def f(self, a):\n    if a: self.x = a\n    return a\n"
        assert "if a: pass" in news(Fault.LOST_STATE, code)

    @pytest.mark.parametrize(
        "code",
        [
            "from a import b\nimport c",
            '"""If x < 1 + 1."""\n',
            'def f(x: Literal[1] = "") -> Literal[1 + 1]:\n    "x < 1"\n',
            "@mark(1 + 1)\nclass A(B[0], frozen=True):\n    x: Literal[-1]\n",
            'x = f"{a + 1} {b[0]}"',
            'if __name__ == "__main__":\n    print(1 + 1)\n',
            "def f(x: int",
        ],
    )
    def test_what_is_not_to_be_touched(self, code: str) -> None:
        assert list(variants(code, "f", ["print", "mark"])) == []


def pieces() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the longest of the short functions of some files, and who is beside it."""
    assert lifecycle.__file__
    for file in sorted(Path(lifecycle.__file__).parent.rglob("*.py"))[::4]:
        code = file.read_text()
        functions = [node for node in parse(code).body if isinstance(node, Function)]
        sizes = {node: (node.end_lineno or 0) - node.lineno for node in functions}
        short = [node for node in functions if sizes[node] < 12]
        if short:
            chosen = max(short, key=sizes.__getitem__)
            text = ast.get_source_segment(code, chosen)
            assert text is not None
            yield text, chosen.name, [node.name for node in functions]


@pytest.fixture(scope="module")
def injected() -> list[tuple[str, list[Variant]]]:
    corpus = [(EXAMPLE, "report", list(OTHERS)), *pieces()]
    return [(code, list(variants(code, name, others))) for code, name, others in corpus]


class TestLaws:
    """Over real code: functions of this very project."""

    def test_every_kind_occurs(self, injected: list[tuple[str, list[Variant]]]) -> None:
        assert len(injected) > 10
        kinds = Counter(variant.fault for _, found in injected for variant in found)
        assert set(kinds) == set(Fault)

    def test_every_variant_is_a_program_of_its_own(
        self, injected: list[tuple[str, list[Variant]]]
    ) -> None:
        for code, found in injected:
            programs = [code, *(variant.source for variant in found)]
            trees = [parse(program) for program in programs]
            assert len({ast.dump(tree) for tree in trees}) == len(programs)
            for tree in trees:
                compiled(tree, "piece")

    def test_nothing_outside_of_the_changed_statement_changes(
        self, injected: list[tuple[str, list[Variant]]]
    ) -> None:
        for code, found in injected:
            tree = parse(code)
            for variant in found:
                went, _ = difference(code, variant.source)
                assert variant.line <= went.start
                assert set(went) <= set(allowed(tree, variant)), variant

    def test_the_same_comes_out_again(self) -> None:
        code = "def f(x):\n    y = one(x, two(x))\n    return three(y, x)\n"
        found = [
            list(variants(code, "f", names)) for names in permutations(("one", "two", "three"))
        ]
        assert all(again == found[0] for again in found)


def allowed(tree: ast.Module, variant: Variant) -> range:
    """Return the lines of the innermost statement there, and of the one that it may swap with."""
    around = [
        (node.lineno, node)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= variant.line <= (node.end_lineno or 0)
    ]
    first, inner = max(around, key=lambda found: found[0])
    swaps = variant.fault is Fault.WRONG_ORCHESTRATION and " before " in variant.said
    end = inner.end_lineno or 0
    after = [
        n.end_lineno or 0 for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno > end
    ]
    return range(first, (min(after) if swaps else end) + 1)


class Watched(list[int]):
    """Numbers that know how often somebody began to go through them."""

    begun = 0

    def __iter__(self) -> Iterator[int]:
        self.begun += 1
        return super().__iter__()


class TestSlowness:
    CODE = "def f(xs):\n    total = 0\n    for x in xs:\n        total += x\n    return total\n"

    def begun(self, source: str) -> tuple[int, int]:
        scope: dict[str, Any] = {}
        exec(compiled(parse(source), "piece"), scope)
        numbers = Watched(range(10))
        return scope["f"](numbers), numbers.begun

    def test_the_answer_is_the_same_and_takes_far_longer(self) -> None:
        slow = [v.source for v in variants(self.CODE, "f") if v.fault is Fault.SLOW_LOOP]
        assert self.begun(self.CODE) == (45, 1)
        assert [self.begun(source) for source in slow] == [(45, 11), (45, 112), (45, 1112)]
