"""Generated checks that the task's own examples contradict are dropped, with the reason."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.brief import Approach
from auditcoder.domain.contract import Clause, Contract, Param
from auditcoder.domain.ids import NodeId
from auditcoder.domain.task import (
    CallExample,
    Example,
    Form,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.planning.plan import brief_for
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validation.contradicted_checks import (
    drop_contradicted_cases,
    drop_contradicted_clauses,
)
from auditcoder.lifecycle.validation.node_checks import validate_node
from auditcoder.lifecycle.validation.program_checks import validate_program
from tests.support.checked_programs import WrittenFunction, written_program
from tests.support.scripted_runs import sandboxed

FUNCTION = FunctionForm(entry="f", signature="def f(x)")


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def call(arguments: str, result: str) -> CallExample:
    return CallExample(arguments=arguments, result=result)


def stdio(given_in: str, out: str) -> StdioExample:
    return StdioExample(input=given_in, output=out)


class TestPlannedCases:
    ONLY = WrittenFunction(Contract(name="g", params=()), "def g():\n    return 1\n")

    @pytest.mark.parametrize(
        ("form", "given", "planned", "dropped"),
        [
            (ProgramForm(), stdio("1 2", "3"), stdio(" 1\n2\n", "4"), True),
            (ProgramForm(), stdio("1 2", "3"), stdio("1 2\n", "3\n"), False),
            (ProgramForm(), stdio("1 2", "3"), stdio("1 3", "4"), False),
            (FUNCTION, call("1, [2]", "3"), call("1,[2]", "4"), True),
            (FUNCTION, call("1", "'a'"), call("1", '"a"'), False),
            (FUNCTION, call("1", "3"), call("2", "4"), False),
        ],
    )
    def test_a_case_with_another_answer_to_a_given_input_is_dropped(
        self, sandbox: Sandbox, form: Form, given: Example, planned: Example, dropped: bool
    ) -> None:
        task = Task(title="T", statement="S", form=form, examples=(given,))
        brief = brief_for(task, Approach(), ((planned, "planned"),))
        root = "def solve(data: str) -> str:\n    return data\n"
        with written_program(sandbox, [self.ONLY], root, task, brief=brief) as context:
            drop_contradicted_cases(context)
            drops = context.recorder.ledger.dropped
        assert drops == ({"generated-1"} if dropped else frozenset())


class TestPromises:
    """`double` promises something of its result; the program prints twice its input."""

    ROOT_CODE = (
        "def solve(data: str) -> str:\n    return str(double(int(data)))\n\n\n"
        'if __name__ == "__main__":\n    print(solve(input()))\n'
    )

    def dropped(self, sandbox: Sandbox, contract: Contract, output: str) -> frozenset[str]:
        """Return the names of the dropped checks, without their digests."""
        task = Task(title="T", statement="S", form=ProgramForm(), examples=(stdio("2\n", output),))
        function = WrittenFunction(contract, "def double(x):\n    return 2 * x\n")
        other = WrittenFunction(Contract(name="g", params=()), "def g():\n    return 1\n")
        with written_program(sandbox, [function, other], self.ROOT_CODE, task) as context:
            local = validate_node(context, NodeId("S1"))
            validate_program(context)
            drop_contradicted_clauses(context, local)
            return frozenset(c.partition("-")[0] for c in context.recorder.ledger.dropped)

    def contract(self, ensures: str = "", example: CallExample | None = None) -> Contract:
        return Contract(
            name="double",
            params=(Param(name="x", type="int"),),
            ensures=(Clause(expression=ensures),) if ensures else (),
            examples=(example,) if example else (),
        )

    def test_a_promise_that_a_right_answer_breaks_is_dropped(self, sandbox: Sandbox) -> None:
        assert self.dropped(sandbox, self.contract("result == x"), "4\n") == {"S1.ensures"}

    def test_an_example_that_a_right_answer_contradicts_is_dropped(self, sandbox: Sandbox) -> None:
        contract = self.contract(example=call("2", "5"))
        assert self.dropped(sandbox, contract, "4\n") == {"S1.example"}

    def test_a_promise_that_right_answers_keep_stays(self, sandbox: Sandbox) -> None:
        assert self.dropped(sandbox, self.contract("result < 0 or x == 2"), "4\n") == frozenset()
        contract = self.contract(example=call("3", "5"))
        assert self.dropped(sandbox, contract, "4\n") == frozenset()

    def test_a_wrong_answer_drops_no_check(self, sandbox: Sandbox) -> None:
        assert self.dropped(sandbox, self.contract("result == x"), "5\n") == frozenset()
