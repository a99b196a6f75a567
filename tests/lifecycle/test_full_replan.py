"""The fallback in scripted runs: the whole program is planned and written again."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.diagnosis import Abstained
from auditcoder.domain.events import RolledBack, RunOutcome
from auditcoder.domain.repair import Decision, TransactionKind
from auditcoder.domain.task import ClassForm, CodeExample, Task
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import (
    ANEW,
    FUNCTION,
    KNOWN,
    OFF,
    READS,
    S0,
    SILENT,
    SKETCH,
    TAKES,
    TASK,
    decisions,
)
from tests.support.scripted_runs import (
    FinishedRun,
    ScriptedReplies,
    caused,
    python,
    run,
    sandboxed,
    stub,
)
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestFallback:
    WRONG: ScriptedReplies = {"sketch": SKETCH, "joint": [python(READS + OFF)]}
    OPTIONS = sketching(review=False, fallback=True)

    def test_no_fallback_runs_unless_the_option_is_set(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {**self.WRONG, "redo": ANEW}, SILENT)
        assert finished.outcome is RunOutcome.ABSTAINED
        assert finished.history == ()

    def test_the_fallback_plans_and_writes_the_whole_program_again(self, sandbox: Sandbox) -> None:
        replies = {
            **self.WRONG,
            "redo": ANEW,
            "joint": [python(READS + OFF), python(TAKES)],
        }
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.PASSED
        (done,) = finished.history
        assert done.kind is TransactionKind.FALLBACK
        assert isinstance(done.diagnosis, Abstained)
        assert done.selected == ("S0", "S1", "S2")
        assert (finished.graph.order, done.frozen) == (("S3",), ())
        assert set(finished.solution.trace.retired) == {"S1", "S2"}

    def test_the_definitions_of_both_plans_are_owned(self, sandbox: Sandbox) -> None:
        stubs = SKETCH.partition('tested alone\n"""\n')[2]
        anew = f"```python\nSTART = 0\nassert START\n{ANEW.removeprefix('```python')}"
        replies = {
            "sketch": f"```python\nSTART = 1\n{stubs}",
            "joint": [
                python(READS + "def add_up(numbers):\n    return sum(numbers, START)\n"),
                python(TAKES.replace("data.split())", "data.split()), START")),
            ],
            "redo": anew,
        }
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.PASSED
        assert (finished.graph.order, finished.graph.defining) == (("S4", "S5"), ("S4",))
        assert finished.code("S4") == "START = 0\n"
        losses = [text for _, text in finished.solution.trace.losses]
        assert losses == ["`assert START`, which defines nothing"]

    def test_a_fallback_without_improvement_is_rejected_and_rolled_back(
        self, sandbox: Sandbox
    ) -> None:
        replies = {
            **self.WRONG,
            "redo": ANEW,
            "joint": [python(READS + OFF), python("def take(data):\n    return 9")],
        }
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.ABSTAINED
        assert decisions(finished) == [Decision.REJECTED]
        assert finished.graph == finished.committed.graph
        assert finished.all(RolledBack)[0].restored == finished.solution.trace.working.digest()

    def test_the_fallback_runs_at_most_once(self, sandbox: Sandbox) -> None:
        replies = {**self.WRONG, "redo": "No."}
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.ABSTAINED
        assert len(finished.history) == 1
        assert finished.history[0].reason.startswith("no new plan could be used")

    def test_the_fallback_may_follow_a_global_fault(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": [python(READS + OFF), python(TAKES)],
            "repair_node": caused("global", "the units differ"),
            "redo": ANEW,
        }
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.PASSED
        claimed, fallback = finished.history
        assert (claimed.kind, claimed.code_deltas) == (TransactionKind.BOUNDED, ())
        assert fallback.kind is TransactionKind.FALLBACK

    def test_the_fallback_may_plan_one_node(self, sandbox: Sandbox) -> None:
        replies = {
            **self.WRONG,
            "redo": python("def solve(data):\n    ..."),
            "joint": [
                python(READS + OFF),
                python("def solve(data):\n    return str(sum(map(int, data.split())))"),
            ],
        }
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.graph.by_id[S0].contract is None

    def test_the_fallback_may_plan_one_node_for_a_function_task(self, sandbox: Sandbox) -> None:
        double, more = stub("double(x: int) -> int", "Double."), stub("more(x: int) -> int", "Add.")
        root = "def twice_and_one(x: int) -> int:\n    return more(double(x))\n"
        replies: ScriptedReplies = {
            "sketch": python(double + more + root),
            "joint": [
                python("def double(x):\n    return 2 * x\ndef more(x):\n    return x + 2"),
                python("def twice_and_one(x):\n    return 2 * x + 1"),
            ],
            "redo": python("def twice_and_one(x: int) -> int:\n    ..."),
        }
        assert run(sandbox, FUNCTION, replies, self.OPTIONS).outcome is RunOutcome.PASSED

    TWO = Task(
        title="Tally",
        statement="Count up and down.",
        form=ClassForm(
            name="Tally",
            skeleton="class Tally:\n    def up(self): ...\n    def down(self): ...\n",
        ),
        examples=(CodeExample(code="assert Tally().up() == Tally().down() == 1\n"),),
    )
    METHODS = (
        "class Tally:\n    def up(self):\n        return {}\n    def down(self):\n        return 1"
    )

    def run_class_task(self, sandbox: Sandbox) -> FinishedRun:
        replies: ScriptedReplies = {"methods": [python(self.METHODS.format(n)) for n in (7, 1)]}
        return run(sandbox, self.TWO, replies, self.OPTIONS)

    def test_the_fallback_writes_all_methods_of_a_class_again(self, sandbox: Sandbox) -> None:
        finished = self.run_class_task(sandbox)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.history[0].kind is TransactionKind.FALLBACK

    def test_the_second_request_for_a_class_differs_from_the_first(self, sandbox: Sandbox) -> None:
        (_, first), (_, second) = self.run_class_task(sandbox).asked
        assert first.digest != second.digest
