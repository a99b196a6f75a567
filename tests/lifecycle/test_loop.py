"""The loop in scripted runs: outcomes, budgets, generated checks and every form of a task.

Each run here verifies and replays to the same head; `run` checks that.
"""

import json
import random
import threading
from collections.abc import Callable, Iterator

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import BudgetExceeded
from auditcoder.domain.events import (
    Assembled,
    CheckDropped,
    CodeWritten,
    GraphCommitted,
    RolledBack,
    RunFinished,
    RunOutcome,
)
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.repair import Decision, RollbackStatus
from auditcoder.domain.request import Request
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    FilesExample,
    FilesForm,
    FunctionForm,
    Task,
)
from auditcoder.lifecycle.loop import run_strategy
from auditcoder.lifecycle.options import Build, Planner
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.root_cause import RootCause
from auditcoder.lifecycle.run_context import RunContext
from tests.support.addition_runs import (
    ADD,
    ADDS,
    BRANCH,
    BRANCH_REPLANNED,
    FUNCTION,
    KNOWN,
    OFF,
    READ,
    READS,
    S1,
    S2,
    SILENT,
    SKETCH,
    SOLVE,
    TASK,
    localised,
    program,
    promising,
    targets,
)
from tests.support.record_builders import RUN, built, check_program
from tests.support.records import take
from tests.support.run_contexts import open_run
from tests.support.scripted_runs import (
    ScriptedReplies,
    caused,
    costly,
    opinions,
    python,
    run,
    sandboxed,
    stub,
)
from tests.support.sketched_runs import sketching
from tests.support.staged_plans import GOOD, interface, part, value


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestPassingRun:
    def test_a_passing_run_requests_only_a_sketch_and_its_code(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + ADDS)})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["sketch", "joint"]
        assert [n.id for n in finished.graph.nodes] == ["S0", "S1", "S2"]

    def test_a_run_records_the_reason_for_its_number_of_nodes(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + ADDS)})
        assert finished.committed.granularity == "2 nodes: each can be tested alone"
        assert finished.committed.planner == "sketch"

    def test_ids_are_committed_before_any_code(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + ADDS)})
        kinds = [type(e) for e in finished.raw.events()]
        assert kinds.index(GraphCommitted) < kinds.index(CodeWritten) < kinds.index(Assembled)

    def test_a_run_may_have_one_node(self, sandbox: Sandbox) -> None:
        one = python('"""Sum it.\n\nparts: none, one line does it\n"""\ndef solve(data):\n    ...')
        solve = python("def solve(data):\n    return str(sum(map(int, data.split())))")
        finished = run(sandbox, TASK, {"sketch": one, "joint": solve})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.graph.order == ("S1",)
        assert "it says: none, one line does it" in finished.committed.granularity

    def test_a_function_that_only_a_later_function_calls_is_kept(self, sandbox: Sandbox) -> None:
        total = stub("total(numbers: list[int]) -> int", "Add the numbers.")
        calls_total = "def add_up(numbers):\n    return total(numbers)\n"
        replies: ScriptedReplies = {
            "sketch": python(READ + total + ADD + SOLVE),
            "joint": python(READS + calls_total + "def total(numbers):\n    return sum(numbers)\n"),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.graph.order == ("S1", "S2", "S3")
        assert finished.committed.granularity.endswith("nothing in the sketch calls: total")

    def test_functions_are_left_out_if_the_root_calls_none(self, sandbox: Sandbox) -> None:
        alone = "def solve(data: str) -> str:\n    return str(sum(map(int, data.split())))\n"
        replies: ScriptedReplies = {"sketch": python(READ + alone), "joint": python(alone)}
        finished = run(sandbox, TASK, replies)
        assert finished.graph.order == ("S1",)
        assert "left out because nothing calls them: read_numbers" in finished.committed.granularity


class TestBudget:
    OPTIONS = sketching(budget_tokens=50_000, review=False)

    def test_a_budget_spent_in_planning_leaves_no_program(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {"sketch": costly("What?", 50_000)}, self.OPTIONS)
        assert finished.outcome is RunOutcome.STOPPED
        assert finished.solution.program is None
        assert finished.reason.startswith("the budget is 50000 tokens")

    def test_a_budget_spent_before_building_keeps_the_plan(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {"sketch": costly(SKETCH, 50_000)}, self.OPTIONS)
        assert finished.outcome is RunOutcome.STOPPED
        assert finished.solution.program is None
        assert finished.graph.order == ("S1", "S2")

    def test_a_budget_spent_in_a_repair_rolls_the_repair_back(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "repair_node": costly("cause: implementation, because it must count", 50_000),
        }
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.STOPPED
        (done,) = finished.history
        assert done.decision is Decision.REJECTED
        assert done.rollback is RollbackStatus.RESTORED
        assert done.reason == "the budget was spent before the candidate was complete"
        assert finished.code("S2") == OFF
        assert "found" not in finished.graph.by_id[S2].context
        assert finished.all(RolledBack)[0].restored == finished.solution.trace.working.digest()

    def test_a_budget_that_is_spent_after_every_check_passed_keeps_the_outcome(
        self, store: SqliteStore
    ) -> None:
        recorder = built(store)
        recorder.assemble()
        for check in ("example-1", "example-2"):
            check_program(recorder, check, Verdict.PASSED)

        def asks_on(_: RunContext) -> tuple[RunOutcome, str]:
            raise BudgetExceeded("budget.tokens", "nothing is left", "raise it")

        with open_run(recorder) as (context, _):
            assert run_strategy(context, asks_on) is RunOutcome.PASSED
        (*_, finished) = take(store, RUN).events()
        assert isinstance(finished, RunFinished)
        assert (finished.outcome, finished.reason) == (RunOutcome.PASSED, "")

    def test_a_budget_spent_in_a_branch_repair_restores_the_graph(self, sandbox: Sandbox) -> None:
        replies = {**BRANCH, "replan_branch": costly(BRANCH_REPLANNED, 50_000)}
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.STOPPED
        assert finished.graph == finished.committed.graph

    def test_a_budget_spent_before_a_repair_keeps_the_program(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {"sketch": KNOWN, "joint": costly(python(READS + OFF), 50_000)}
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.STOPPED
        assert "sum(numbers) + 1" in finished.program

    @pytest.mark.parametrize("tokens", [5_000, 6_000, 9_000])
    def test_a_run_with_a_budget_requests_nodes_in_sequence_and_replays(
        self, sandbox: Sandbox, tokens: int
    ) -> None:
        asked_by: set[int] = set()

        def node(request: Request) -> str:
            asked_by.add(threading.get_ident())
            asked = request.messages[-1].text
            return python(READS if "Write `read_numbers" in asked else ADDS)

        options = sketching(build=Build.NODE, budget_tokens=tokens)
        run(sandbox, TASK, {"sketch": SKETCH, "node": node}, options, parallel=4)
        # Within a budget nodes are requested one after another, so no thread is started.
        assert asked_by <= {threading.get_ident()}


class TestGeneratedChecks:
    def test_generated_checks_that_a_given_example_contradicts_are_dropped(
        self, sandbox: Sandbox
    ) -> None:
        solve = stub("solve(data: str) -> str", "Solve.", "example: solve('1 2 3') == '7'")
        body = solve.replace("...", "return str(add_up(read_numbers(data)))")
        finished = run(
            sandbox, TASK, {"sketch": python(READ + ADD + body), "joint": python(READS + ADDS)}
        )
        assert finished.outcome is RunOutcome.PASSED
        (dropped,) = finished.all(CheckDropped)
        assert dropped.reason == "example-1 gives the same input another answer"
        assert finished.checks("generated") == []

    def test_a_failed_generated_check_does_not_fail_the_run(self, sandbox: Sandbox) -> None:
        solve = stub("solve(data: str) -> str", "Solve.", "example: solve('4') == '5'")
        body = solve.replace("...", "return str(add_up(read_numbers(data)))")
        finished = run(
            sandbox, TASK, {"sketch": python(READ + ADD + body), "joint": python(READS + ADDS)}
        )
        assert finished.outcome is RunOutcome.PASSED
        (wrong,) = finished.checks("generated")
        assert wrong.verdict is Verdict.FAILED

    def test_a_promise_that_a_passing_example_breaks_is_dropped(self, sandbox: Sandbox) -> None:
        task = program(("", "0\n"), ("1 2", "3\n"))
        replies: ScriptedReplies = {
            "sketch": promising("ensures: result > 0"),
            "joint": python(READS + "def add_up(numbers):\n    return 7 if numbers else 0"),
        }
        finished = run(sandbox, task, replies, SILENT)
        (dropped,) = finished.all(CheckDropped)
        assert dropped.check.startswith("S2.ensures")
        assert dropped.reason.startswith("it does not hold in example-1")
        assert finished.outcome is RunOutcome.ABSTAINED  # the promise no longer blames a node

    def test_a_dropped_check_does_not_run_again_when_its_node_is_repaired(
        self, sandbox: Sandbox
    ) -> None:
        task = program(("1 2\n", "3\n"), ("7\n", "7\n"))
        no_branch = python("def add_up(numbers: list[int]) -> int:\n    ...")
        crashes = "def add_up(numbers):\n    numbers[1]\n    return sum(numbers)"
        replies: ScriptedReplies = {
            "sketch": promising("ensures: result == 5", "example: add_up([1, 2]) == 4"),
            "joint": python(READS + crashes),
            "repair_node": python(ADDS),
            "replan_branch": no_branch,
        }
        finished = run(sandbox, task, replies, SILENT)
        assert finished.outcome is RunOutcome.PASSED
        dropped = {d.check for d in finished.all(CheckDropped)}
        assert {check.partition("-")[0] for check in dropped} == {"S2.ensures", "S2.example"}
        for check in dropped:
            assert len(finished.checks(check)) == 1

    def test_a_node_example_that_a_passing_example_contradicts_is_dropped(
        self, sandbox: Sandbox
    ) -> None:
        finished = run(
            sandbox,
            TASK,
            {"sketch": promising("example: add_up([]) == 1"), "joint": python(READS + ADDS)},
        )
        (dropped,) = finished.all(CheckDropped)
        assert dropped.check.startswith("S2.example")

    def test_promises_are_evaluated_for_keyword_arguments_too(self, sandbox: Sandbox) -> None:
        add = stub("add_up(numbers: list[int]) -> int", "Add them up.", "ensures: result > 0")
        solve = SOLVE.replace("add_up(", "add_up(numbers=")
        replies: ScriptedReplies = {
            "sketch": python(READ + add + solve),
            "joint": python(READS + ADDS),
        }
        assert len(run(sandbox, TASK, replies).all(CheckDropped)) == 1

    def test_promises_may_use_any_parameter_name(self, sandbox: Sandbox) -> None:
        facts = ("requires: len(copy) >= 0", "ensures: result == sum(copy)")
        add = stub("add_up(copy: list[int]) -> int", "Add them up.", *facts)
        adds = ADDS.replace("numbers", "copy")
        finished = run(
            sandbox, TASK, {"sketch": python(READ + add + SOLVE), "joint": python(READS + adds)}
        )
        assert finished.checks("S2.ensures")[0].verdict is Verdict.PASSED


class TestDifferentialChecks:
    REFERENCE = python(
        "def add_up(numbers):\n    total = 0\n    for n in numbers:\n        total += n\n"
        "    return total\n"
        "def small_input(rng):\n    return ([rng.randint(0, 9) for _ in range(3)],)\n"
    )
    OTHER = python(
        "def read_numbers(data):\n    return list(map(int, data.split()))\n"
        "def small_input(rng):\n    return (str(rng.randint(0, 9)),)\n"
    )
    OPTIONS = sketching(differential=True, review=False)

    def references(self, request: Request) -> str:
        return self.OTHER if "`read_numbers(" in request.messages[-1].text else self.REFERENCE

    def test_a_node_that_disagrees_with_its_reference_is_rejected(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": SKETCH,
            "joint": python(READS + OFF),
            "brute_force": self.references,
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S2)]
        wrong, right = finished.checks("S2.differential")
        assert (wrong.verdict, wrong.kind) == (Verdict.FAILED, CheckKind.DIFFERENTIAL)
        assert "the reference" in wrong.message
        assert right.message == "they agree on 20 of 20 inputs"
        assert finished.checks("S1.differential")[0].verdict is Verdict.PASSED

    def test_there_is_no_differential_check_without_a_usable_reference(
        self, sandbox: Sandbox
    ) -> None:
        replies: ScriptedReplies = {
            "sketch": SKETCH,
            "joint": python(READS + ADDS),
            "brute_force": "Hm.",
        }
        finished = run(sandbox, TASK, replies, self.OPTIONS)
        assert finished.outcome is RunOutcome.PASSED
        assert [e for e in finished.checks("S") if e.kind is CheckKind.DIFFERENTIAL] == []


class TestFunctionTask:
    HELPED = Task(
        title="Of a polynomial",
        statement='''\
import math

def poly(x: int) -> int:
    return x * x

def f(x: int) -> int:
    """Return poly(x) + 1, and no less than the root of x."""
''',
        form=FunctionForm(entry="f", signature="def f(x: int) -> int"),
        examples=(CallExample(arguments="2", result="5"),),
    )
    ROOT = "def f(x: int) -> int:\n    return max(one(x) + poly(x), math.isqrt(x))\n"
    ONE = stub("one(x: int) -> int", "Be one.")
    ONES = "def one(x):\n    return 1\n"

    def test_a_function_task_is_built_from_nodes_without_a_main_block(
        self, sandbox: Sandbox
    ) -> None:
        double, more = stub("double(x: int) -> int", "Double."), stub("more(x: int) -> int", "Add.")
        root = "def twice_and_one(x: int) -> int:\n    return more(double(x))\n"
        replies: ScriptedReplies = {
            "sketch": python(double + more + root),
            "joint": python("def double(x):\n    return 2 * x\ndef more(x):\n    return x + 1"),
        }
        finished = run(sandbox, FUNCTION, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert "__main__" not in finished.program

    def test_given_helpers_stay_in_the_program(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": python("def f(x: int) -> int:\n    ..."),
            "joint": python("def f(x):\n    return max(poly(x) + 1, math.isqrt(x))"),
        }
        finished = run(sandbox, self.HELPED, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert "def poly" in finished.code("S0")
        assert "This is given and stays as it is" in finished.request("sketch")

    def test_the_root_may_call_given_helpers(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": python(self.ONE + self.ROOT),
            "joint": python(self.ONES),
        }
        finished = run(sandbox, self.HELPED, replies, sketching(max_repairs=0))
        assert finished.rejected == []
        assert finished.outcome is RunOutcome.PASSED

    def test_a_sketch_with_stubs_of_given_helpers_does_not_stop_the_run(
        self, sandbox: Sandbox
    ) -> None:
        poly = stub("poly(x: int) -> int", "Square it.")
        replies: ScriptedReplies = {
            "sketch": python(poly + self.ONE + self.ROOT),
            "joint": python("def poly(x):\n    return x * x\n" + self.ONES),
        }
        finished = run(sandbox, self.HELPED, replies, sketching(max_repairs=0))
        assert finished.outcome in {RunOutcome.PASSED, RunOutcome.FAILED}

    def test_a_branch_replan_with_stubs_of_given_helpers_does_not_stop_the_run(
        self, sandbox: Sandbox
    ) -> None:
        one = stub("one(x: int) -> int", "Be one.", "example: one(3) == 1")
        poly = stub("poly(x: int) -> int", "Square it.")
        replies: ScriptedReplies = {
            "sketch": python(one + self.ROOT),
            "joint": python("def one(x):\n    return 2\ndef poly(x):\n    return x * x\n"),
            "repair_node": [caused("decomposition", "it is two things"), python(self.ONES)],
            "replan_branch": python(poly + "def one(x: int) -> int:\n    return poly(1)\n"),
        }
        finished = run(sandbox, self.HELPED, replies, sketching(max_repairs=2))
        assert finished.outcome in {RunOutcome.PASSED, RunOutcome.FAILED}

    def test_a_function_without_a_signature_takes_it_from_the_sketch(
        self, sandbox: Sandbox
    ) -> None:
        task = Task(
            title="Twice",
            statement="Write twice.",
            form=FunctionForm(entry="twice"),
            examples=(CallExample(arguments="2", result="4"),),
        )
        replies: ScriptedReplies = {
            "sketch": python(stub("twice(x: int) -> int", "Double it.")),
            "joint": python("def twice(x):\n    return 2 * x"),
        }
        finished = run(sandbox, task, replies)
        assert finished.outcome is RunOutcome.PASSED
        contract = finished.graph.by_id[S1].contract
        assert contract is not None
        assert contract.header() == "twice(x: int) -> int"


class TestUndecidedRuns:
    """Examples that no program can pass or fail end a run at once, and are named."""

    def test_an_expected_result_without_a_value_is_not_repaired(self, sandbox: Sandbox) -> None:
        task = Task(
            title="Twice",
            statement="Double it.",
            form=FunctionForm(entry="twice"),
            examples=(
                CallExample(arguments="1", result="2"),
                CallExample(arguments="2", result="nonsense(2)"),
            ),
        )
        replies: ScriptedReplies = {
            "sketch": python("def twice(x):\n    ..."),
            "joint": python("def twice(x):\n    return 2 * x\n"),
        }
        finished = run(sandbox, task, replies)
        assert finished.outcome is RunOutcome.FAILED
        trace = finished.solution.trace
        assert trace.finish is not None
        assert trace.finish.reason == "no check fails, but example-2 cannot decide anything"
        assert [e.verdict for e in finished.checks("example-")] == [Verdict.PASSED, Verdict.NOT_RUN]
        assert finished.diagnoses == []

    def test_test_code_without_a_test_is_not_repaired(self, sandbox: Sandbox) -> None:
        skeleton = "class C:\n    def f(self, x): ...\n"
        task = Task(
            title="C",
            statement="Double it.",
            form=ClassForm(name="C", skeleton=skeleton),
            examples=(CodeExample(code="import unittest\n"),),
        )
        replies: ScriptedReplies = {
            "methods": python("class C:\n    def f(self, x):\n        return 2 * x\n")
        }
        finished = run(sandbox, task, replies)
        assert finished.outcome is RunOutcome.FAILED
        trace = finished.solution.trace
        assert trace.finish is not None
        assert trace.finish.reason == "no check fails, but example-1 cannot decide anything"
        (seen,) = finished.checks("example-1")
        assert (seen.verdict, seen.message) == (Verdict.VACUOUS, "the test code has no test")
        assert finished.diagnoses == []


class TestFiles:
    TASK = Task(
        title="Upper",
        statement="Copy in.txt to out.txt in capitals.",
        form=FilesForm(inputs=("in.txt",), artefacts=("out.txt",)),
        examples=(FilesExample(inputs={"in.txt": "ab\n"}, artefacts={"out.txt": "AB\n"}),),
    )
    SKETCH = python(
        stub("raised(text: str) -> str", "Raise it.")
        + "def solve() -> None:\n"
        + "    with open('in.txt') as a, open('out.txt', 'w') as b:\n"
        + "        b.write(raised(a.read()))\n"
    )

    def test_a_file_that_holds_the_heading_of_a_missing_one_does_not_end_the_run(
        self, sandbox: Sandbox
    ) -> None:
        example = FilesExample(inputs={}, artefacts={"a.txt": "5\n", "b.txt": "6\n"})
        form = FilesForm(artefacts=("a.txt", "b.txt"))
        task = Task(title="Two", statement="Write both.", form=form, examples=(example,))
        sketch = python(
            stub("text() -> str", "Make the text.")
            + "def solve() -> None:\n    open('a.txt', 'w').write(text())\n"
        )
        replies = {
            "sketch": sketch,
            "joint": python("def text():\n    return '5\\n\\n==> b.txt <==\\n6\\n'\n"),
        }
        options = sketching(review=False, max_repairs=0, fallback=False)
        finished = run(sandbox, task, replies, options)
        assert finished.outcome is RunOutcome.FAILED
        (failed,) = finished.checks("example-1")
        assert (failed.verdict, failed.observed) == (Verdict.FAILED, None)

    def test_a_files_task_reads_inputs_and_writes_artefacts(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": self.SKETCH,
            "joint": python("def raised(text):\n    return text.upper()"),
        }
        assert run(sandbox, self.TASK, replies).outcome is RunOutcome.PASSED

    def test_a_wrong_artefact_is_repaired(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": python("def solve() -> None:\n    ..."),
            "joint": python("def solve():\n    open('out.txt', 'w').write('ab')"),
            "repair_node": python(
                "def solve():\n    open('out.txt', 'w').write(open('in.txt').read().upper())"
            ),
        }
        finished = run(sandbox, self.TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert "only responsibility" in localised(finished).explanation


class TestStagedPlanner:
    def test_a_staged_plan_is_built_and_repaired_like_a_sketch(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, staged_replies(), sketching(planner=Planner.STAGED))
        assert finished.outcome is RunOutcome.PASSED
        assert finished.committed.planner == "staged"
        assert finished.prompts.count("joint") == 1
        assert targets(finished) == [AtNode(node=S2)]


def staged_replies() -> ScriptedReplies:
    parts = {
        "strategy": "Read, then add.",
        "why": "each can be tested alone",
        "parts": [
            part("read", kind="string", inputs=[value("data")]),
            part("add", inputs=[value("values", "read.out")]),
        ],
    }
    interfaces = {
        "interfaces": [
            interface("read", "read_numbers", "data"),
            interface("add", "add_up", "numbers", examples=["add_up([1, 2]) == 3"]),
        ]
    }
    replies: dict[str, str] = {role.value: json.dumps(answer) for role, answer in GOOD.items()}
    replies |= {"task_decomposer": json.dumps(parts), "interface_designer": json.dumps(interfaces)}
    replies |= {
        "test_case_analyzer": json.dumps({"samples": [], "edge_cases": [], "invariants": []})
    }
    replies |= {
        "joint": python(READS + OFF + SOLVE),
        "repair_node": python(ADDS),
    }
    return replies


_BODIES = {
    "read_numbers(data: str) -> list[int]": ("return [int(w) for w in data.split()]", "return []"),
    "add_up(numbers: list[int]) -> int": ("return sum(numbers)", "return total(numbers)", "1 / 0"),
    "one(x: int) -> int": ("return x", "return x + 1"),
    "total(xs: list[int]) -> int": ("return sum(xs)", "return sum(map(one, xs)) + 1"),
    "solve(data: str) -> str": ("return str(add_up(read_numbers(data)))", "return str(one(1))"),
    "twice_and_one(x: int) -> int": ("return 2 * x + 1", "return one(x) + x", "return 0"),
}


_FACTS = (
    "uses: one, total",
    "uses: one",
    "ensures: result >= 0",
    "example: one(1) == 1",
    "example: total([]) == 5",
    "requires: len(xs) > 0",
)


_REST = (
    "import math",
    "from os import *",
    "from collections import Counter as C",
    "print(1)",
    "LIMIT = 1",
    "class Node:\n    pass",
    "# integration: because",
    "async def total(xs):\n    return 0",
    "def math(x):\n    return x",
    "def len(x):\n    return 3",
)


def _stubs(chance: random.Random) -> str:
    parts = []
    for header, bodies in _BODIES.items():
        if chance.random() < 0.5 or header[:5] in {"solve", "twice"}:
            root = header[:5] in {"solve", "twice"} and chance.random() < 0.8
            body = f"def {header}:\n    {chance.choice(bodies)}\n"
            facts = chance.sample(_FACTS, chance.randint(0, 2))
            parts.append(body if root else stub(header, "Do it.", *facts))
    chance.shuffle(parts)
    return python("\n".join(parts))


def _code(chance: random.Random) -> str:
    parts = [
        f"def {h}:\n    {chance.choice(b)}\n" for h, b in _BODIES.items() if chance.random() < 0.7
    ]
    parts += chance.sample(_REST, chance.choice([0, 0, 1, 2]))
    chance.shuffle(parts)
    return python("\n".join(parts))


def _repaired(chance: random.Random) -> str:
    cause = chance.choice([kind.value for kind in RootCause])
    because = chance.choice(["", "it is off", "`x` is 1", "the fault is elsewhere: add_up"])
    new = chance.choice(["add_up(numbers, k)", "read_numbers(text)", "one(x, y=1)"])
    code = chance.choice([_code(chance), "", python(f"def {new}:\n    return 0")])
    return f"cause: {cause}, because {because}\n{code}"


def _verdicts(chance: random.Random) -> str:
    names = [h.split("(")[0] for h in _BODIES]
    return opinions(**{n: chance.choice(["accept", "reject"]) for n in names})


@pytest.mark.parametrize("seed", range(24))
def test_no_random_replies_stop_a_run(sandbox: Sandbox, seed: int) -> None:
    chance = random.Random(seed)

    def random_reply(make: Callable[[random.Random], str]) -> Callable[[Request], str]:
        return lambda _: make(chance) if chance.random() < 0.92 else chance.choice(["No.", "```"])

    replies: ScriptedReplies = {
        **dict.fromkeys(("sketch", "redo", "replan_branch"), random_reply(_stubs)),
        **dict.fromkeys(("joint", "node"), random_reply(_code)),
        "repair_node": random_reply(_repaired),
        "verdict": random_reply(_verdicts),
    }
    options = sketching(
        build=chance.choice(list(Build)),
        fallback=chance.random() < 0.6,
        review=chance.random() < 0.6,
        max_repairs=chance.choice([1, 3, 5]),
    )
    finished = run(sandbox, chance.choice([TASK, FUNCTION]), replies, options)
    assert finished.outcome is not RunOutcome.STOPPED
