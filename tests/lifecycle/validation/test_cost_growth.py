"""Measured times are judged against the promised cost."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.contract import Contract, CostBudget, Param
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Ending, ExecutionOutcome
from auditcoder.domain.ids import NodeId
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validation.cost_growth import grown, validate_growth
from tests.support.checked_programs import WrittenFunction, written_program
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestGrowth:
    OK = ExecutionOutcome(ending=Ending.OK, sandbox="none")
    SLOW = ExecutionOutcome(ending=Ending.TIMEOUT, sandbox="none")

    @pytest.mark.parametrize(
        ("power", "allowed", "verdict"),
        [(1, 1.0, Verdict.PASSED), (2, 1.0, Verdict.FAILED), (2, 2.0, Verdict.PASSED)],
    )
    def test_growth_is_compared_with_the_promised_cost(
        self, power: int, allowed: float, verdict: Verdict
    ) -> None:
        times = [0.005 * 2 ** (power * i) for i in range(7)]
        assert grown(times, allowed, self.OK).verdict is verdict

    def test_growth_of_very_short_times_is_not_measured(self) -> None:
        seen = grown([1e-6 * 8**i for i in range(4)], 0.0, self.OK)
        assert (seen.verdict, seen.tried) == (Verdict.UNMEASURABLE, 0)
        assert seen.message.startswith("too few times of at least 1 ms (64: 0.0 ms, ")

    def test_an_unfinished_measurement_is_a_timeout_that_names_the_size(self) -> None:
        seen = grown([0.1, 0.9], 1.0, self.SLOW)
        assert seen.verdict is Verdict.TIMEOUT
        assert seen.message.startswith("too slow for 256 items")

    def test_a_timeout_after_the_last_size_is_a_timeout(self) -> None:
        assert grown([0.01] * 7, 1.0, self.SLOW).verdict is Verdict.TIMEOUT

    def test_a_measured_time_of_zero_is_accepted(self) -> None:
        assert grown([0.01, 0.0], 1.0, self.OK).verdict is Verdict.UNMEASURABLE

    def test_no_time_at_all_says_why(self) -> None:
        assert grown([], 1.0, self.OK).message == "no call was timed"


class TestMeasurement:
    SOURCE = "def f(xs):\n    return len(xs)\n"

    def measured(self, sandbox: Sandbox, cost: str, kind: str) -> list[Evidence]:
        contract = Contract(
            name="f", params=(Param(name="xs", type=kind),), cost=CostBudget(time=cost)
        )
        root = "def solve(data: str) -> str:\n    return str(f([]))\n"
        function = WrittenFunction(contract, self.SOURCE)
        with written_program(sandbox, [function], root) as context:
            node = context.recorder.ledger.graph.by_id[NodeId("S1")]
            return validate_growth(context, node, contract, self.SOURCE)

    @pytest.mark.parametrize("cost", ["O(n)", "o( N log n )", "O(n**2)"])
    def test_a_known_cost_is_measured(self, sandbox: Sandbox, cost: str) -> None:
        (seen,) = self.measured(sandbox, cost, "list[int]")
        assert seen.check.startswith("S1.growth-")
        assert seen.requirement == f"its cost grows no faster than {cost}"
        assert (seen.kind, seen.trust) == (CheckKind.PROBE, Trust.GENERATED)

    def test_code_that_rejects_the_generated_inputs_is_not_measured(self, sandbox: Sandbox) -> None:
        self.SOURCE = "def f(xs):\n    raise ValueError('odd')\n"
        (seen,) = self.measured(sandbox, "O(n)", "list[int]")
        assert seen.verdict is Verdict.UNMEASURABLE
        assert seen.message == "the generated input raises ValueError: odd"

    @pytest.mark.parametrize(
        ("cost", "kind"), [("", "list[int]"), ("O(n*m)", "list[int]"), ("O(n)", "int")]
    )
    def test_an_unknown_cost_or_size_is_not_measured(
        self, sandbox: Sandbox, cost: str, kind: str
    ) -> None:
        assert self.measured(sandbox, cost, kind) == []
