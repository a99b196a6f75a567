"""Validating: when answers are the same, which inputs are made, and how every ending is judged."""

import ast
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.brief import DataRange
from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.execution import Ending, Outcome
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    Form,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.validating.comparing import same_output, same_value
from auditcoder.lifecycle.validating.evidence import Seen
from auditcoder.lifecycle.validating.growth import grown
from auditcoder.lifecycle.validating.inputs import COUNT, inputs_for, sized
from auditcoder.lifecycle.validating.program import run_example
from auditcoder.lifecycle.workshop import Options, Workshop
from tests.support.scripts import sandboxed
from tests.support.worlds import RUN, ticking


class TestOutputs:
    @given(st.text())
    def test_are_the_same_as_themselves(self, text: str) -> None:
        assert same_output(text, text)

    @given(st.lists(st.text("abc 1.", max_size=5)), st.text(" \n", max_size=4))
    def test_do_not_depend_on_how_lines_and_the_text_end(self, lines: list[str], end: str) -> None:
        text = "\n".join(lines)
        assert same_output(text, text + end)
        assert same_output(text, "\r\n".join(f"{line}  " for line in lines))

    @pytest.mark.parametrize(
        ("expected", "observed", "same"),
        [
            ("0.5", "0.50000001", True),
            ("x 1.0 y", "x 1 y", True),
            ("1", "1.0", False),
            ("1", "2", False),
            ("0.5", "half", False),
            ("a", "A", False),
            ("a\nb", "a b", False),
            ("a", "a\na", False),
            ("", "a", False),
        ],
    )
    def test_may_differ_in_the_last_digits_of_a_fraction(
        self, expected: str, observed: str, same: bool
    ) -> None:
        assert same_output(expected, observed) is same

    def test_are_compared_line_by_line(self) -> None:
        assert not same_output("1 2\n3\n", "1\n2 3\n")


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


class TestValues:
    @given(plain)
    def test_are_the_same_as_themselves(self, value: object) -> None:
        assert same_value(value, value)

    @pytest.mark.parametrize(
        ("expected", "observed", "same"),
        [
            (0.3, 0.1 + 0.2, True),
            ([1, {"a": 0.3}], [1, {"a": 0.1 + 0.2}], True),
            (2.0, 2, True),
            ([1], (1,), False),
            ([1, 2], [1], False),
            ({"a": 1}, {"b": 1}, False),
            (1.0, "1.0", False),
            (1e308, 10**400, False),
            ({1, 2}, {2, 1}, True),
        ],
    )
    def test_need_only_be_near_where_they_are_floats(
        self, expected: object, observed: object, same: bool
    ) -> None:
        assert same_value(expected, observed) is same

    def test_that_refuse_to_be_compared_are_not_the_same(self) -> None:
        class Shy:
            __hash__ = None  # type: ignore[assignment]

            def __eq__(self, other: object) -> bool:
                raise TypeError

        assert not same_value(Shy(), 1)


def contract(*types: str) -> Contract:
    params = tuple(Param(name=f"p{i}", type=t) for i, t in enumerate(types))
    return Contract(name="f", params=params)


scalars = st.sampled_from(["int", "float", "str", "bool", "int | None", "Optional[int]"])
types = st.recursive(
    scalars,
    lambda inner: (
        inner.map(lambda t: f"list[{t}]")
        | inner.map(lambda t: f"tuple[{t}, ...]")
        | st.tuples(inner, inner).map(lambda p: f"Tuple[{p[0]}, {p[1]}]")
        | st.tuples(scalars, inner).map(lambda p: f"dict[{p[0]}, {p[1]}]")
        | scalars.map(lambda t: f"set[{t}]")
    ),
    max_leaves=4,
)


class TestInputs:
    @given(st.lists(types, min_size=1, max_size=3))
    def test_parse_and_have_as_many_values_as_there_are_parameters(self, kinds: list[str]) -> None:
        rows = inputs_for(contract(*kinds))
        assert 0 < len(rows) <= COUNT
        for row in rows:
            call = ast.parse(f"f({row})", mode="eval").body
            assert isinstance(call, ast.Call)
            assert len(call.args) == len(kinds)

    @given(st.lists(types, min_size=1, max_size=3))
    def test_are_always_the_same_for_one_contract(self, kinds: list[str]) -> None:
        assert inputs_for(contract(*kinds)) == inputs_for(contract(*kinds))

    @given(st.integers(-(10**9), 10**9), st.integers(0, 10**9))
    def test_keep_to_the_datas_ranges(self, low: int, width: int) -> None:
        bound = DataRange(variable="p0", minimum=low, maximum=low + width)
        for row in inputs_for(contract("list[int]"), [bound]):
            assert all(low <= value <= low + width for value in ast.literal_eval(row))

    def test_begin_with_the_smallest_and_the_emptiest(self) -> None:
        assert inputs_for(contract("list[int]", "str"))[0] == "[], ''"

    def test_are_not_made_of_self(self) -> None:
        method = Contract(name="f", params=(Param(name="self"), Param(name="n", type="int")))
        assert all(isinstance(ast.literal_eval(row), int) for row in inputs_for(method))

    @pytest.mark.parametrize(
        "kind", ["", "Node", "Callable[[int], int]", "int, str", "list[", "'x'"]
    )
    def test_are_none_where_a_type_says_too_little(self, kind: str) -> None:
        assert inputs_for(contract(kind)) == ()

    @pytest.mark.parametrize("kind", ["set[list[int]]", "dict[list[int], int]", "set[set[int]]"])
    def test_are_none_where_a_type_has_no_values(self, kind: str) -> None:
        assert inputs_for(contract(kind)) == ()

    @pytest.mark.parametrize(
        ("kinds", "count"),
        [(["list[int]"], 1), (["str", "int"], 2), (["List[str]", "bool", "float"], 3)],
    )
    def test_of_any_size_are_an_expression_over_n(self, kinds: list[str], count: int) -> None:
        expression = sized(contract(*kinds))
        made = eval(f"({expression},)", {"n": 7})
        assert len(made) == count
        assert len(made[0]) == 7

    @pytest.mark.parametrize("kinds", [["int"], ["list[list[int]]"], ["list[int]", "Node"], []])
    def test_without_a_size_are_none(self, kinds: list[str]) -> None:
        assert sized(contract(*kinds)) == ""


class TestGrowth:
    OK = Outcome(ending=Ending.OK, sandbox="none")
    SLOW = Outcome(ending=Ending.TIMEOUT, sandbox="none")

    @pytest.mark.parametrize(
        ("power", "allowed", "verdict"),
        [(1, 1.0, Verdict.PASSED), (2, 1.0, Verdict.FAILED), (2, 2.0, Verdict.PASSED)],
    )
    def test_is_held_against_the_budget(self, power: int, allowed: float, verdict: Verdict) -> None:
        times = [0.005 * 2 ** (power * i) for i in range(7)]
        assert grown(times, allowed, self.OK).verdict is verdict

    def test_says_nothing_where_too_little_time_was_taken(self) -> None:
        assert grown([1e-6 * 8**i for i in range(4)], 0.0, self.OK).verdict is Verdict.PASSED

    def test_that_did_not_end_is_a_timeout_that_says_where(self) -> None:
        seen = grown([0.1, 0.9], 1.0, self.SLOW)
        assert seen.verdict is Verdict.TIMEOUT
        assert seen.message.startswith("too slow for 256 items")

    def test_may_end_late_after_every_size(self) -> None:
        assert grown([0.01] * 7, 1.0, self.SLOW).verdict is Verdict.TIMEOUT

    def test_may_take_no_time_at_all(self) -> None:
        assert grown([0.01, 0.0], 1.0, self.OK).verdict is Verdict.PASSED


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


SKELETON = "class C:\n    def f(self, x): ...\n"
UNITTEST = """\
import unittest

class T(unittest.TestCase):
    def test_f(self):
        self.assertEqual(C().f(2), 4)
"""
METHOD = "class C:\n    def f(self, x):\n        {}\n        return {} * x\n"
FORMS: dict[str, tuple[Form, Example, str]] = {
    "program": (
        ProgramForm(),
        StdioExample(input="2\n", output="4\n"),
        "def run():\n    {}\n    print({} * int(input()))\n\nrun()\n",
    ),
    "function": (
        FunctionForm(entry="f", signature="def f(x)"),
        CallExample(arguments="2", result="4"),
        "def f(x):\n    {}\n    return {} * x\n",
    ),
    "class": (
        ClassForm(name="C", skeleton=SKELETON),
        CodeExample(code="assert C().f(2) == 4\n"),
        METHOD,
    ),
    "class with a unittest": (
        ClassForm(name="C", skeleton=SKELETON),
        CodeExample(code=UNITTEST),
        METHOD,
    ),
    "files": (
        FilesForm(inputs=("a",), artefacts=("b",)),
        FilesExample(inputs={"a": "2"}, artefacts={"b": "4\n"}),
        "def run():\n    {}\n    open('b', 'w').write(str({} * int(open('a').read())))\n\nrun()\n",
    ),
}
ENDINGS = {
    "fine": ("pass", Verdict.PASSED),
    "raises": ("raise ValueError('no')", Verdict.CRASH),
    "leaves": ("raise SystemExit(3)", Verdict.CRASH),
    "never ends": ("while True: pass", Verdict.TIMEOUT),
    "takes too much": ("taken = bytearray(1 << 29)", Verdict.MEMORY),
    "says too much": ("print('x' * (5 << 20))", Verdict.CRASH),
    "is killed": ("import os; os.abort()", Verdict.CRASH),
}
APART = {
    ("function", "says too much"): "the answer was given before it was stopped, and is taken",
    ("class with a unittest", "takes too much"): "the test reports an error like any other",
}


CASES = [(f, e) for f in FORMS for e in ENDINGS if (f, e) not in APART]


def put(sandbox: Sandbox, form: Form, example: Example, source: str) -> Seen:
    """Put one example to a program that nobody owns."""
    limits = Limits(seconds=1.0, memory_mb=128)
    task = Task(title="T", statement="T", form=form, examples=(example,), limits=limits)
    store = SqliteStore(":memory:")
    recorder = Recorder.start(store, RUN, task, ticking())
    workshop = Workshop(task, Options(), recorder, cast("Any", None), sandbox)
    seen = run_example(workshop, source, example)
    store.close()
    return seen


def judged(sandbox: Sandbox, form: str, does: str, factor: int = 2) -> Seen:
    kind, example, source = FORMS[form]
    return put(sandbox, kind, example, source.format(does, factor))


class TestAProgram:
    @pytest.mark.parametrize(("form", "ending"), CASES)
    def test_is_judged_by_how_it_ended(self, sandbox: Sandbox, form: str, ending: str) -> None:
        does, verdict = ENDINGS[ending]
        seen = judged(sandbox, form, does)
        assert seen.verdict is verdict, seen
        assert (seen.message == "") is (verdict is Verdict.PASSED)

    @pytest.mark.parametrize("form", FORMS)
    def test_is_judged_by_its_answer(self, sandbox: Sandbox, form: str) -> None:
        seen = judged(sandbox, form, "pass", factor=3)
        assert seen.verdict is Verdict.FAILED
        assert seen.message
        assert seen.ran == ()  # somebody watched, and nothing is assembled that could own a line

    @pytest.mark.parametrize("form", FORMS)
    def test_says_where_it_crashed(self, sandbox: Sandbox, form: str) -> None:
        seen = judged(sandbox, form, "raise ValueError('no')")
        assert "ValueError: no" in seen.message
        assert seen.frames[-1].function in {"run", "f", "C.f"}

    def test_that_leaves_no_file_is_wrong(self, sandbox: Sandbox) -> None:
        seen = judged(sandbox, "files", "return")
        assert (seen.verdict, seen.message) == (Verdict.FAILED, "it left no b")

    @pytest.mark.parametrize("result", ["object()", "1 / 0", "nonsense", "("])
    def test_meets_no_example_that_means_nothing(self, sandbox: Sandbox, result: str) -> None:
        example = CallExample(arguments="2", result=result)
        seen = put(sandbox, FORMS["function"][0], example, "def f(x):\n    return x\n")
        assert seen.verdict is Verdict.FAILED

    def test_is_compared_with_what_an_expression_stands_for(self, sandbox: Sandbox) -> None:
        example = CallExample(arguments="2", result="set([2]) | {3}")
        seen = put(sandbox, FORMS["function"][0], example, "def f(x):\n    return {x, x + 1}\n")
        assert seen.verdict is Verdict.PASSED
