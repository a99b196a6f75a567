"""The fault injector changes one statement at a time and leaves all other text unchanged."""

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


def new_lines(fault: Fault, code: str, *others: str) -> list[str]:
    """Return the new lines of each variant of a kind, joined; empty if lines were only removed."""
    source = textwrap.dedent(code).lstrip("\n")
    found = [v for v in variants(source, "f", others) if v.fault is fault]
    return [" / ".join(map(str.strip, difference(source, v.source)[1])) for v in found]


def difference(source: str, changed: str) -> tuple[range, list[str]]:
    """Return the removed line numbers, counted from one, and the lines that replace them."""
    old, new = source.splitlines(), changed.splitlines()
    shorter = min(len(old), len(new))
    above = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    most = shorter - above
    below = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    return range(above + 1, len(old) - below + 1), new[above : len(new) - below]


class TestKinds:
    def test_off_by_one_shifts_ranges_indices_and_limits(self) -> None:
        code = """
            def f(xs, n):
                for i in range(n):
                    xs[i] = xs[1:n - 1]
                return [k for k, x in enumerate(xs, 1) if x <= n]
        """
        assert new_lines(Fault.OFF_BY_ONE, code) == [
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

    def test_off_by_one_shifts_compared_numbers(self) -> None:
        code = "def f(x):\n    return len(x) == 2\n"
        assert new_lines(Fault.OFF_BY_ONE, code) == ["return len(x) == 1", "return len(x) == 3"]

    def test_off_by_one_does_not_change_dictionary_keys(self) -> None:
        assert new_lines(Fault.OFF_BY_ONE, "def f(d, key):\n    return d[key], d['a']\n") == []

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
            ("sum(x for x in a)", []),  # a generator has no length
            ("'%s' % a + str(b)", []),  # these are strings
        ],
    )
    def test_wrong_operator_replaces_an_operator_or_function(
        self, right: str, wrong: list[str]
    ) -> None:
        found = new_lines(Fault.WRONG_OPERATOR, f"def f(a, b):\n    return {right}\n")
        assert found == [f"return {one}" for one in wrong]

    def test_wrong_operator_preserves_precedence(self) -> None:
        found = new_lines(Fault.WRONG_OPERATOR, "def f(a, b):\n    return a - b * 2, -(a or b)\n")
        assert found == [
            "return a + b * 2, -(a or b)",
            "return a - (b + 2), -(a or b)",
            "return a - b * 2, a or b",
            "return a - b * 2, -(a and b)",
        ]

    def test_wrong_start_changes_defaults_and_initial_values(self) -> None:
        code = """
            def f(xs, strict=False):
                limit = 1
                best, last = -1, xs[0]
                seen = [0] * 3
                for x in xs:
                    once = 1
                    seen[x] = d.get(x, 0)
        """
        assert new_lines(Fault.WRONG_START, code) == [
            "def f(xs, strict=True):",
            "limit = 0",
            "best, last = 0, xs[0]",
            "best, last = -1, 0",
            "seen = [1] * 3",
            "seen[x] = d.get(x, 1)",
        ]

    def test_wrong_start_changes_initial_attributes(self) -> None:
        code = "def __init__(self):\n    self.open = True\n    self.n = float('inf')\n"
        assert new_lines(Fault.WRONG_START, code) == [
            "self.open = False",
            "self.n = 0",
            "self.n = float('-inf')",
        ]

    def test_missing_edge_case_removes_conditions_and_guards(self) -> None:
        code = """
            def f(x, n):
                if not x:
                    return 0
                while n > 0 and x[n]:
                    n = max(0, n - 2)
                return d.get(x.strip(), 1) / n if n else None
        """
        assert new_lines(Fault.MISSING_EDGE_CASE, code) == [
            "",
            "while x[n]:",
            "while n > 0:",
            "n = n - 2",
            "return d.get(x.strip(), 1) / n",
            "return None",
            "return d[x.strip()] / n if n else None",
            "return d.get(x, 1) / n if n else None",
        ]

    def test_a_removed_branch_takes_its_comments_with_it(self) -> None:
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

    def test_swapped_arguments_exchanges_two_arguments_of_a_call(self) -> None:
        code = """
            def f(self, a, b):
                def inner(x, y):
                    return isinstance(x, y)
                inner(a, b + 1)
                return self.g(a, b, 3), h(a, b), pow(a, 2), k(p=a, q=b)
        """
        assert new_lines(Fault.SWAPPED_ARGUMENTS, code, "g", "k") == [
            "inner(b + 1, a)",
            "return self.g(b, a, 3), h(a, b), pow(a, 2), k(p=a, q=b)",
            "return self.g(3, b, a), h(a, b), pow(a, 2), k(p=a, q=b)",
            "return self.g(a, 3, b), h(a, b), pow(a, 2), k(p=a, q=b)",
            "return self.g(a, b, 3), h(a, b), pow(2, a), k(p=a, q=b)",
            "return self.g(a, b, 3), h(a, b), pow(a, 2), k(p=b, q=a)",
        ]

    def test_swapped_results_exchanges_two_unpacked_or_returned_values(self) -> None:
        code = """
            def f(d):
                low, high = g(d)
                for k, v in d.items():
                    out.append((k, v))
                return low, {k: v for k in d}
        """
        assert new_lines(Fault.SWAPPED_RESULTS, code) == [
            "high, low = g(d)",
            "for v, k in d.items():",
            "out.append((v, k))",
            "return {k: v for k in d}, low",
            "return low, {v: k for k in d}",
        ]

    def test_wrong_shape_changes_returned_values(self) -> None:
        code = """
            def f(x):
                if x:
                    return x, 1
                found = {}
                return found

            def helper(x):
                return x
        """
        assert new_lines(Fault.WRONG_SHAPE, code) == [
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

    def test_a_forgotten_return_still_evaluates_its_expression(self) -> None:
        code = "def f(x):\n    return [len(y) for y in x]\n"
        assert "[len(y) for y in x]" in new_lines(Fault.WRONG_SHAPE, code)

    def test_wrong_shape_changes_arguments_and_used_results(self) -> None:
        code = "async def f(x):\n    g(x, 'y')\n    h(x[0] if await self.k(n=x) else x)\n"
        assert new_lines(Fault.WRONG_SHAPE, code, "g", "h", "k") == [
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

    def test_lost_state_drops_or_redirects_updates(self) -> None:
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
        assert new_lines(Fault.LOST_STATE, code) == [
            *("", "last = x"),
            *("", "self.n = 1", "n = self.n + 1"),
            *("", "all = self.all + [x]"),
            *("", "xs = xs + [x]"),
            "",
            *("", "sorted(xs)"),
            *("pass", "sorted(xs, key=len)"),
        ]

    def test_slow_loop_adds_nested_iterations(self) -> None:
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
        assert new_lines(Fault.SLOW_LOOP, code) == [
            "sum((1 for _ in xs))",
            "sum((1 for _ in xs for _ in xs for _ in xs))",
            "sum((1 for _ in xs for _ in xs for _ in xs for _ in xs))",
            "y = x in list(seen)",
            f"sum((1 {rows}))",
            f"sum((1 {rows} for _ in self.rows))",
            "sum((1 for _ in range(n) for _ in range(n) for _ in range(n)))",
            "sum((1 for _ in range(n) for _ in range(n) for _ in range(n) for _ in range(n)))",
        ]

    def test_wrong_orchestration_drops_repeats_and_reorders_calls(self) -> None:
        code = """
            def f(self, a):
                b = g(a)
                self.open(b)
                self.close(b)
                c = h(b)
                return c
        """
        found = new_lines(Fault.WRONG_ORCHESTRATION, code, "g", "h", "open", "close")
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

    def test_wrong_orchestration_needs_calls_of_other_units(self) -> None:
        assert new_lines(Fault.WRONG_ORCHESTRATION, "def f(a):\n    b = g(a)\n    return b\n") == []


class TestUnchangedText:
    """Text outside the changed expression stays as it is."""

    def only_variant(self, code: str, description: str, *others: str) -> Variant:
        found = [v for v in variants(code, "f", others) if v.said == description]
        assert len(found) == 1
        return found[0]

    def test_a_call_over_several_lines_keeps_its_comments(self) -> None:
        code = "def f(a, b):\n    return g(\n        a,  # one\n        b,\n    )\n"
        variant = self.only_variant(code, "`g(b, a)` instead of `g(a, b)`", "g")
        assert variant.source == code.replace("a,  #", "b,  #").replace("    b,\n", "    a,\n")
        assert variant.line == 3

    def test_a_bracketed_expression_over_several_lines_stays_valid(self) -> None:
        code = "def f(a, b):\n    return (a +\n        len(b))\n"
        sources = {v.source for v in variants(code, "f") if v.fault is Fault.WRONG_SHAPE}
        assert code.replace("(a +", "([a +").replace("(b))", "(b)])") in sources
        assert code.replace("return ", "") in sources

    @settings(max_examples=15, deadline=None)
    @given(st.text(max_size=8), st.text(st.characters(exclude_categories=["C", "Z"]), max_size=8))
    def test_other_statements_and_comments_on_the_line_are_kept(
        self, text: str, words: str
    ) -> None:
        code = f"def f(n):\n    x = {text!r}; y = n - 1  # {words}\n    return x\n"
        variant = self.only_variant(code, "`n` instead of `n - 1`")
        assert variant.source == code.replace("y = n - 1 ", "y = n ")
        assert variant.line == 2

    def test_other_line_endings_are_kept(self) -> None:
        code = "def f(n):\r\n    y = '\x0c\u2028'\r\n    return n - 1\r\n"
        assert self.only_variant(code, "`n` instead of `n - 1`").source == code.replace(
            "n - 1", "n"
        )

    def test_nested_functions_are_changed_in_place(self) -> None:
        code = "def f(n):\n    def g():\n        # why\n        return n - 1\n    return g\n"
        variant = self.only_variant(code, "`n` instead of `n - 1`")
        assert variant.source == code.replace("n - 1", "n")

    def test_a_generator_as_the_only_argument_gets_parentheses(self) -> None:
        found = new_lines(Fault.WRONG_SHAPE, "def f(xs):\n    g(x for x in xs)\n", "g")
        assert found == ["g([(x for x in xs)])", "g(str((x for x in xs)))"]

    def test_a_statement_removed_after_a_colon_becomes_pass(self) -> None:
        code = "def f(self, a):\n    if a: self.x = a\n    return a\n"
        assert "if a: pass" in new_lines(Fault.LOST_STATE, code)

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
    def test_imports_docstrings_annotations_and_main_guards_are_not_changed(
        self, code: str
    ) -> None:
        assert list(variants(code, "f", ["print", "mark"])) == []


def project_functions() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the longest short function of every fourth file, and all function names there."""
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
    corpus = [(EXAMPLE, "report", list(OTHERS)), *project_functions()]
    return [(code, list(variants(code, name, others))) for code, name, others in corpus]


class TestProperties:
    """On real code: functions of this project."""

    def test_every_kind_of_fault_occurs(self, injected: list[tuple[str, list[Variant]]]) -> None:
        assert len(injected) > 10
        kinds = Counter(variant.fault for _, found in injected for variant in found)
        assert set(kinds) == set(Fault)

    def test_every_variant_is_a_distinct_valid_program(
        self, injected: list[tuple[str, list[Variant]]]
    ) -> None:
        for code, found in injected:
            programs = [code, *(variant.source for variant in found)]
            trees = [parse(program) for program in programs]
            assert len({ast.dump(tree) for tree in trees}) == len(programs)
            for tree in trees:
                compiled(tree, "piece")

    def test_only_the_changed_statement_differs(
        self, injected: list[tuple[str, list[Variant]]]
    ) -> None:
        for code, found in injected:
            tree = parse(code)
            for variant in found:
                removed, _ = difference(code, variant.source)
                assert variant.line <= removed.start
                assert set(removed) <= set(changeable_lines(tree, variant)), variant

    def test_variants_do_not_depend_on_the_order_of_names(self) -> None:
        code = "def f(x):\n    y = one(x, two(x))\n    return three(y, x)\n"
        found = [
            list(variants(code, "f", names)) for names in permutations(("one", "two", "three"))
        ]
        assert all(again == found[0] for again in found)


def changeable_lines(tree: ast.Module, variant: Variant) -> range:
    """Return the lines of the innermost statement, and of the one it may be swapped with."""
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


class CountingList(list[int]):
    """A list of numbers that counts its iterations."""

    iterations = 0

    def __iter__(self) -> Iterator[int]:
        self.iterations += 1
        return super().__iter__()


class TestSlowness:
    CODE = "def f(xs):\n    total = 0\n    for x in xs:\n        total += x\n    return total\n"

    def run_counted(self, source: str) -> tuple[int, int]:
        scope: dict[str, Any] = {}
        exec(compiled(parse(source), "piece"), scope)
        numbers = CountingList(range(10))
        return scope["f"](numbers), numbers.iterations

    def test_a_slow_loop_gives_the_same_result_with_more_iterations(self) -> None:
        slow = [v.source for v in variants(self.CODE, "f") if v.fault is Fault.SLOW_LOOP]
        assert self.run_counted(self.CODE) == (45, 1)
        assert [self.run_counted(source) for source in slow] == [(45, 11), (45, 112), (45, 1112)]
