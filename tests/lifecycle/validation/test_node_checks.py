"""The checks of one node: it compiles, keeps its signature, its examples and its promises."""

import re
from collections.abc import Iterator

import pytest

from auditcoder.domain.contract import Clause, Contract, CostBudget, Param
from auditcoder.domain.events import CheckDropped
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import CallExample, FunctionForm, StdioExample, Task
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validation.node_checks import surroundings, validate_node
from tests.support.checked_programs import PROGRAM_TASK, WrittenFunction, written_program
from tests.support.scripted_runs import sandboxed

ROOT_CODE = "def solve(data: str) -> str:\n    return str(f(int(data)))\n"
NODE = NodeId("S1")
OTHER = WrittenFunction(Contract(name="g", params=()), "def g():\n    return 1\n")


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def contract(*types: str, requires: str = "", ensures: tuple[str, ...] = ()) -> Contract:
    """Return the contract of `f`, whose parameters are `x`, `y` and so on."""
    return Contract(
        name="f",
        params=tuple(Param(name=n, type=t) for n, t in zip("xyz", types, strict=False)),
        requires=(Clause(expression=requires),) if requires else (),
        ensures=tuple(Clause(expression=e) for e in ensures),
    )


def checks(sandbox: Sandbox, promised: Contract, source: str) -> list[Evidence]:
    """Run the checks of `f`, which is one of two nodes."""
    with written_program(sandbox, [WrittenFunction(promised, source), OTHER], ROOT_CODE) as context:
        return validate_node(context, NODE)


def promises(sandbox: Sandbox, promised: Contract, source: str) -> list[tuple[Verdict, str]]:
    seen = checks(sandbox, promised, source)
    return [(e.verdict, e.message) for e in seen if e.kind is CheckKind.CONTRACT]


class TestStaticChecks:
    def test_code_that_compiles_and_keeps_the_signature_passes(self, sandbox: Sandbox) -> None:
        seen = checks(sandbox, contract("int"), "def f(x):\n    return x\n")
        assert [(e.check.partition("-")[0], e.verdict) for e in seen] == [
            ("S1.compile", Verdict.PASSED),
            ("S1.signature", Verdict.PASSED),
        ]

    def test_code_that_does_not_compile_is_not_checked_further(self, sandbox: Sandbox) -> None:
        (seen,) = checks(sandbox, contract("int"), "def f(x):\n    return x\nreturn\n")
        assert seen.verdict is Verdict.FAILED
        assert seen.message.startswith("it does not compile: 'return' outside function")

    def test_another_signature_is_rejected_and_nothing_is_called(self, sandbox: Sandbox) -> None:
        promised = contract("int", ensures=("result == x",))
        seen = checks(sandbox, promised, "def f(y):\n    return y\n")
        assert [e.verdict for e in seen] == [Verdict.PASSED, Verdict.FAILED]
        assert seen[1].message

    def test_the_root_is_checked_without_being_called(self, sandbox: Sandbox) -> None:
        f = WrittenFunction(contract("int"), "def f(x):\n    return x\n")
        with written_program(sandbox, [f, OTHER], ROOT_CODE) as context:
            kinds = [e.kind for e in validate_node(context, ROOT)]
        assert kinds == [CheckKind.COMPILE, CheckKind.SIGNATURE]

    def test_surroundings_hold_the_node_without_the_root(self, sandbox: Sandbox) -> None:
        f = WrittenFunction(contract("int"), "def f(x):\n    return x\n")
        with written_program(sandbox, [f, OTHER], ROOT_CODE) as context:
            text = surroundings(context, NODE)
        assert text is not None
        assert "def f(x)" in text
        assert "def solve" not in text
        assert "def g" not in text

    def test_surroundings_hold_what_the_code_calls_although_the_plan_does_not_say_so(
        self, sandbox: Sandbox
    ) -> None:
        f = WrittenFunction(contract("int"), "def f(x):\n    return g(x)\n")
        with written_program(sandbox, [f, OTHER], ROOT_CODE) as context:
            text = surroundings(context, NODE)
        assert text is not None
        assert "def g" in text


class TestExamples:
    EXAMPLE = CallExample(arguments="2", result="4")
    CONTRACT = Contract(name="f", params=(Param(name="x", type="int"),), examples=(EXAMPLE,))

    @pytest.mark.parametrize(
        ("body", "verdict", "message"),
        [
            ("return 2 * x", Verdict.PASSED, ""),
            ("return x", Verdict.FAILED, "it is 2"),
            ("return 1 / 0", Verdict.CRASH, "ZeroDivisionError: division by zero"),
        ],
    )
    def test_an_example_of_the_contract_is_put_to_the_node(
        self, sandbox: Sandbox, body: str, verdict: Verdict, message: str
    ) -> None:
        seen = checks(sandbox, self.CONTRACT, f"def f(x):\n    {body}\n")[2]
        assert (seen.verdict, seen.message, seen.trust) == (verdict, message, Trust.GENERATED)
        assert seen.requirement == "f(2) == 4"

    @pytest.mark.parametrize(
        ("task", "source"),
        [
            (
                Task(
                    title="T",
                    statement="S",
                    form=FunctionForm(entry="f", signature="def f(x)"),
                    examples=(CallExample(arguments="2", result="4"),),
                ),
                "def f(x):\n    return 2 * x\n",
            ),
            (
                Task(
                    title="T",
                    statement="S",
                    form=PROGRAM_TASK.form,
                    examples=(StdioExample(input="2\n", output="4\n"),),
                ),
                "def f(x):\n    return str(2 * int(x))\n",
            ),
        ],
    )
    def test_examples_of_the_task_are_put_to_a_sole_node(
        self, sandbox: Sandbox, task: Task, source: str
    ) -> None:
        sole = WrittenFunction(contract("Any"), source)
        root = "# The root has no code of its own.\n"
        with written_program(sandbox, [sole], root, task, root_contract=None) as context:
            seen = validate_node(context, NODE)
        assert [(e.requirement, e.verdict) for e in seen[2:]] == [
            ("it answers example 1", Verdict.PASSED)
        ]

    @pytest.mark.parametrize(
        ("result", "output", "observed"),
        [
            ("fractions.Fraction(x)", "5/2\n", "5/2"),
            ("decimal.Decimal(x)", "2.5\n", "2.5"),
            ("x", "2.5\n", "'2.5'"),
            ("[x]", "['2.5']\n", "['2.5']"),
        ],
    )
    def test_an_answer_of_a_sole_node_is_compared_as_it_would_be_printed(
        self, sandbox: Sandbox, result: str, output: str, observed: str
    ) -> None:
        example = StdioExample(input="2.5\n", output=output)
        task = Task(title="T", statement="S", form=PROGRAM_TASK.form, examples=(example,))
        source = f"import decimal\nimport fractions\n\n\ndef f(x):\n    return {result}\n"
        sole = WrittenFunction(contract("Any"), source)
        root = "# The root has no code of its own.\n"
        with written_program(sandbox, [sole], root, task, root_contract=None) as context:
            (*_, seen) = validate_node(context, NODE)
            assert seen.verdict is Verdict.PASSED
            assert seen.observed is not None
            assert context.recorder.text(seen.observed) == observed

    @pytest.mark.parametrize(
        ("expected", "returned", "verdict"),
        [
            ("2**10", "1024", Verdict.PASSED),
            ("2**10", "'2**10'", Verdict.FAILED),
            ("{*()}", "set()", Verdict.PASSED),
            ("float('inf')", "float('inf')", Verdict.PASSED),
            ("f(3)", "'f(3)'", Verdict.NOT_RUN),
            ("f(3)", "1 / 0", Verdict.NOT_RUN),
        ],
    )
    def test_an_expected_expression_is_evaluated_without_the_program(
        self, sandbox: Sandbox, expected: str, returned: str, verdict: Verdict
    ) -> None:
        task = Task(
            title="T",
            statement="Do it.",
            form=FunctionForm(entry="f"),
            examples=(CallExample(arguments="3", result=expected),),
        )
        function = WrittenFunction(contract("int"), f"def f(x):\n    return {returned}\n")
        root = "# The root has no code of its own.\n"
        with written_program(sandbox, [function], root, task, root_contract=None) as context:
            seen = validate_node(context, NODE)
        assert [(e.requirement, e.verdict) for e in seen[2:]] == [("it answers example 1", verdict)]


class TestPromises:
    def test_a_promise_that_holds_passes(self, sandbox: Sandbox) -> None:
        promised = contract("int", ensures=("result == x + 1",))
        ((verdict, message),) = promises(sandbox, promised, "def f(x):\n    return x + 1\n")
        assert verdict is Verdict.PASSED
        assert not message.startswith("held for 0 of")

    def test_each_promise_is_judged_on_its_own(self, sandbox: Sandbox) -> None:
        promised = contract("int", ensures=("result == x", "result != x", "result.missing"))
        held, broken, untold = promises(sandbox, promised, "def f(x):\n    return x\n")
        assert held[0] is Verdict.PASSED
        assert broken[0] is Verdict.FAILED
        assert broken[1].startswith("it does not hold for (")
        assert untold[0] is Verdict.VACUOUS
        assert untold[1].startswith("held for 0 of")
        assert untold[1].endswith("give it no value")

    def test_an_input_that_is_not_required_is_not_tried(self, sandbox: Sandbox) -> None:
        promised = contract("int", requires="x > 0", ensures=("result > 0",))
        (seen,) = checks(sandbox, promised, "def f(x):\n    return x\n")[2:]
        assert seen.verdict is Verdict.PASSED
        assert seen.tried is not None
        held, _, others = seen.message.partition("; ")
        assert held.startswith(f"held for {seen.tried} of ")
        assert others.endswith(" do not meet its preconditions")

    @pytest.mark.parametrize("requires", ["x > 1000", "x.missing > 0", "x > 0, 'positive'"])
    def test_a_promise_that_no_input_was_required_for_is_vacuous(
        self, sandbox: Sandbox, requires: str
    ) -> None:
        promised = contract("int", requires=requires, ensures=("result > x",))
        (seen,) = checks(sandbox, promised, "def f(x):\n    return x\n")[2:]
        assert (seen.verdict, seen.tried) == (Verdict.VACUOUS, 0)
        assert seen.message.startswith("held for 0 of ")
        assert seen.message.endswith(" do not meet its preconditions")

    def test_an_exception_counts_only_where_inputs_are_required(self, sandbox: Sandbox) -> None:
        source = "def f(x):\n    raise StopIteration('no')\n"
        free = contract("int", ensures=("result > 0",))
        ((verdict, message),) = promises(sandbox, free, source)
        assert verdict is Verdict.VACUOUS
        assert message.endswith(" raise an exception")
        bound = contract("int", requires="x == x", ensures=("result > 0",))
        ((verdict, message),) = promises(sandbox, bound, source)
        assert verdict is Verdict.CRASH
        assert message.endswith("raises StopIteration: no")

    def test_a_promise_about_unknown_types_is_not_run(self, sandbox: Sandbox) -> None:
        promised = contract("Callable", ensures=("result == x", "result is x"))
        seen = checks(sandbox, promised, "def f(x):\n    return x\n")[2:]
        assert [(e.kind, e.verdict, e.exit_code) for e in seen] == [
            (CheckKind.CONTRACT, Verdict.NOT_RUN, None)
        ] * 2
        assert {e.message for e in seen} == {"no inputs can be generated for its parameters"}

    def test_a_parameter_named_result_leaves_promises_untested(self, sandbox: Sandbox) -> None:
        promised = Contract(
            name="f",
            params=(Param(name="result", type="int"),),
            ensures=(Clause(expression="result > 0"),),
        )
        ((verdict, message),) = promises(sandbox, promised, "def f(result):\n    return result\n")
        assert verdict is Verdict.NOT_RUN
        assert message.startswith("a parameter has the name `result`")

    @pytest.mark.parametrize("requires", ["", "x == x"])
    def test_a_function_with_a_parameter_named_self_cannot_be_called(
        self, sandbox: Sandbox, requires: str
    ) -> None:
        promised = Contract(
            name="f",
            params=(Param(name="self"), Param(name="x", type="int")),
            requires=(Clause(expression=requires),) if requires else (),
            ensures=(Clause(expression="result > 0"),),
        )
        seen = promises(sandbox, promised, "def f(self, x):\n    return 1\n")
        assert [verdict for verdict, _ in seen] == [Verdict.VACUOUS]
        assert re.match(r"held for 0 of (\d+) inputs; \1 ", seen[0][1])

    def test_a_requirement_that_needs_the_result_admits_no_input(self, sandbox: Sandbox) -> None:
        promised = contract("int", requires="result > 0", ensures=("result == x",))
        source = "result = 1\n\n\ndef f(x):\n    return x\n"
        ((verdict, message),) = promises(sandbox, promised, source)
        assert verdict is Verdict.VACUOUS
        assert message.startswith("held for 0 of")

    @pytest.mark.parametrize("requires", ["", "x == x"])
    def test_a_bare_tuple_is_not_a_promise(self, sandbox: Sandbox, requires: str) -> None:
        promised = contract("int", requires=requires, ensures=("result == x, 'equal'",))
        ((verdict, message),) = promises(sandbox, promised, "def f(x):\n    return x\n")
        assert verdict is Verdict.VACUOUS
        assert message.startswith("held for 0 of")

    def test_code_that_cannot_be_loaded_is_a_crash(self, sandbox: Sandbox) -> None:
        promised = contract("int", ensures=("result == x",))
        seen = promises(sandbox, promised, "def f(x):\n    return x\n\n\n1 / 0\n")
        assert seen == [(Verdict.CRASH, "it cannot be loaded")]


def test_checks_of_code_that_cannot_be_assembled_are_not_run(sandbox: Sandbox) -> None:
    promised = Contract(
        name="f",
        params=(Param(name="x", type="list[int]"),),
        ensures=(Clause(expression="result == x"),),
        examples=(CallExample(arguments="[]", result="[]"),),
        cost=CostBudget(time="O(1)"),
    )
    f = WrittenFunction(promised, "import json as j\n\n\ndef f(x):\n    return g() and x\n")
    g = OTHER._replace(source="import math as j\n\n\ndef g():\n    return 1\n")
    with written_program(sandbox, [f, g], ROOT_CODE, assembled=False) as context:
        seen = validate_node(context, NODE)
    assert [(e.check.partition("-")[0], e.verdict) for e in seen[2:]] == [
        ("S1.example", Verdict.NOT_RUN),
        ("S1.ensures", Verdict.NOT_RUN),
        ("S1.growth", Verdict.NOT_RUN),
    ]
    why = "its code cannot be assembled with the code that it relies on"
    assert {(e.message, e.exit_code) for e in seen[2:]} == {(why, None)}


def test_a_dropped_check_of_a_node_does_not_run_again(sandbox: Sandbox) -> None:
    promised = Contract(
        name="f",
        params=(Param(name="x", type="list[int]"),),
        ensures=(Clause(expression="result == 1"), Clause(expression="result >= 0")),
        examples=(
            CallExample(arguments="[1]", result="2"),
            CallExample(arguments="[1]", result="1"),
        ),
        cost=CostBudget(time="O(1)"),
    )
    f = WrittenFunction(promised, "def f(x):\n    return len(x)\n")
    with written_program(sandbox, [f, OTHER], ROOT_CODE) as context:
        first = validate_node(context, NODE)
        assert [e.check.partition("-")[0] for e in first[2:]] == [
            *["S1.example"] * 2,
            *["S1.ensures"] * 2,
            "S1.growth",
        ]
        kept = [e.check for e in first]
        for evidence in first[2:]:
            context.recorder.record(CheckDropped(check=evidence.check, reason="it is wrong"))
            kept.remove(evidence.check)
            assert [e.check for e in validate_node(context, NODE)] == kept
