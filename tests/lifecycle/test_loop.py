"""The life of a run: what every rule and branch of the loop does, in scripted runs.

Every run here verifies and replays to the same head; `run` sees to that.
"""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from auditcoder.domain.contract import Cost
from auditcoder.domain.diagnosis import Abstained, Level, Localised
from auditcoder.domain.events import (
    Assembled,
    CheckDropped,
    CodeWritten,
    ExceptionRaised,
    GraphCommitted,
    Outcome,
    RolledBack,
    TransactionDecided,
    TransactionOpened,
)
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import AtBranch, AtNode, Target
from auditcoder.domain.repair import Decision, RollbackStatus, TransactionKind
from auditcoder.domain.request import Finish, Reply, Request
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    FilesExample,
    FilesForm,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.budget import Budget
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.workshop import Build, Options, Planner
from tests.lifecycle.test_staged import GOOD, interface, part, value
from tests.support.scripts import (
    Said,
    Told,
    costly,
    finding,
    gone_on_with,
    opinions,
    python,
    run,
    sandboxed,
    stub,
)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def program(*cases: tuple[str, str], seconds: float | None = None) -> Task:
    return Task(
        title="Add up",
        statement="Read numbers, print their sum.",
        form=ProgramForm(),
        examples=tuple(StdioExample(input=i, output=o) for i, o in cases),
        limits=Limits(seconds=seconds),
    )


TASK = program(("1 2 3\n", "6\n"), ("", "0\n"))
READ = stub("read_numbers(data: str) -> list[int]", "Read the numbers.", "kind: string")
ADD = stub("add_up(numbers: list[int]) -> int", "Add them up.", "kind: math")
SOLVE = "def solve(data: str) -> str:\n    return str(add_up(read_numbers(data)))\n"
SKETCH = python('"""Read, then add.\n\nparts: each can be tested alone\n"""\n' + READ + ADD + SOLVE)

READS = "def read_numbers(data):\n    return [int(word) for word in data.split()]\n"
ADDS = "def add_up(numbers):\n    return sum(numbers)\n"
OFF = "def add_up(numbers):\n    return sum(numbers) + 1\n"
OFF_AGAIN = "def add_up(numbers):\n    return sum(numbers) + 2\n"
CRASHES = "def add_up(numbers):\n    return sum(numbers) * len(numbers) // len(numbers)\n"

SILENT = Options(review=False)
S0, S1, S2 = NodeId("S0"), NodeId("S1"), NodeId("S2")


def promising(*facts: str) -> str:
    """The sketch with promises for `add_up`."""
    add = stub("add_up(numbers: list[int]) -> int", "Add them up.", "kind: math", *facts)
    return python(READ + add + SOLVE)


KNOWN = promising("example: add_up([1, 2]) == 3")


def localised(told: Told, number: int = 0) -> Localised:
    diagnosis = told.diagnoses[number]
    assert isinstance(diagnosis, Localised), diagnosis
    return diagnosis


def placed(diagnosis: Localised) -> tuple[Target, str, Level]:
    return diagnosis.target, diagnosis.rule, diagnosis.level


def targets(told: Told) -> list[Target | None]:
    return [d.target if isinstance(d, Localised) else None for d in told.diagnoses]


def decisions(told: Told) -> list[Decision | None]:
    return [t.decision for t in told.history]


class TestARunThatPasses:
    def test_asks_for_a_sketch_and_for_its_code_and_no_more(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + ADDS)})
        assert told.outcome is Outcome.PASSED
        assert told.prompts == ["sketch", "joint"]
        assert [n.id for n in told.graph.nodes] == ["S0", "S1", "S2"]

    def test_says_why_it_has_that_many_nodes(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + ADDS)})
        assert told.committed.granularity == "2 nodes: each can be tested alone"
        assert told.committed.planner == "sketch"

    def test_commits_its_ids_before_any_code(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + ADDS)})
        kinds = [type(e) for e in told.raw.events()]
        assert kinds.index(GraphCommitted) < kinds.index(CodeWritten) < kinds.index(Assembled)

    def test_may_be_one_node(self, sandbox: Sandbox) -> None:
        one = python('"""Sum it.\n\nparts: none, one line does it\n"""\ndef solve(data):\n    ...')
        solve = python("def solve(data):\n    return str(sum(map(int, data.split())))")
        told = run(sandbox, TASK, {"sketch": one, "joint": solve})
        assert told.outcome is Outcome.PASSED
        assert told.graph.order == ("S1",)
        assert "it says: none, one line does it" in told.committed.granularity

    def test_leaves_out_functions_that_nothing_calls(self, sandbox: Sandbox) -> None:
        idle = stub("idle(x: int) -> int", "Do nothing.")
        said: Said = {"sketch": python(READ + idle + ADD + SOLVE), "joint": python(READS + ADDS)}
        told = run(sandbox, TASK, said)
        assert told.graph.order == ("S1", "S2")
        assert told.committed.granularity.endswith("left out because nothing calls them: idle")


class TestR1:
    def test_takes_the_leaf_whose_line_crashed(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": SKETCH,
            "joint": python(READS + CRASHES),
            "replan_node": finding(hints=["mind the empty list"]),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        diagnosis = localised(told)
        assert placed(diagnosis) == (AtNode(node=S2), "R1", Level.HIGH)
        assert diagnosis.agents == ("joint",)
        assert "ZeroDivisionError" in diagnosis.explanation
        assert "mind the empty list" in told.request("repair_node")
        assert told.graph.by_id[S2].hints == ("mind the empty list",)

    def test_takes_the_root_too(self, sandbox: Sandbox) -> None:
        solve = SOLVE.replace("str(add_up", "str(1 // 0 + add_up")
        said: Said = {
            "sketch": python(READ + ADD + solve),
            "joint": python(READS + ADDS),
            "replan_node": finding(),
            "repair_node": python(SOLVE),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert targets(told) == [AtNode(node=S0)]
        assert 'if __name__ == "__main__":' in told.code("S0")
        assert [d.node for d in told.history[0].code_deltas] == [S0]


SLOW = """\
def add_up(numbers):
    total = 0
    for i, number in enumerate(numbers):
        for j in range(len(numbers)):
            if i == j:
                total += number
    return total
"""
SLOWLY_READS = """\
def read_numbers(data):
    words = data.split()
    for a in data:
        for b in data:
            pass
    return [int(word) for word in words if word.isdigit()]
"""
BIG = program(("1 " * 40_000, "40000\n"), seconds=2.0)


class TestR2:
    def test_takes_the_node_whose_cost_grows_faster_than_promised(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": promising("cost: O(n)"),
            "joint": python(READS + SLOW),
            "replan_node": finding("algorithm", "it is quadratic", cost="O(n)"),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, BIG, said)
        assert told.outcome is Outcome.PASSED
        assert placed(localised(told)) == (AtNode(node=S2), "R2", Level.MEDIUM)
        assert told.checks("S2.growth")[0].kind is CheckKind.PROBE
        assert "the idea so far cannot work; use another one" in told.graph.by_id[S2].hints

    def test_takes_the_node_that_the_program_was_in_when_it_ended(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": SKETCH,
            "joint": python(READS + "def add_up(numbers):\n    while True:\n        pass\n"),
            "replan_node": finding(cost="O(n)"),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, program(("1 2", "3\n"), seconds=1.0), said)
        assert told.outcome is Outcome.PASSED
        assert placed(localised(told)) == (AtNode(node=S2), "R2", Level.LOW)
        contract = told.graph.by_id[S2].contract
        assert contract is not None
        assert contract.cost == Cost(time="O(n)")

    def test_abstains_where_two_could_each_be_too_slow(self, sandbox: Sandbox) -> None:
        read = stub("read_numbers(data: str) -> list[int]", "Read them.", "cost: O(1)")
        add = stub("add_up(numbers: list[int]) -> int", "Add them up.", "cost: O(1)")
        said: Said = {
            "sketch": python(read + add + SOLVE),
            "joint": python(SLOWLY_READS + SLOW),
        }
        told = run(sandbox, BIG, said)
        assert told.outcome is Outcome.ABSTAINED
        assert told.reason == "S1, S2 could each be what uses too much"
        assert told.history == ()


class TestR3:
    def test_takes_the_node_that_its_own_example_rejects(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        diagnosis = localised(told)
        assert placed(diagnosis) == (AtNode(node=S2), "R3", Level.MEDIUM)
        assert "it is 4" in diagnosis.explanation

    def test_takes_the_node_that_breaks_its_promise(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": promising("ensures: result == sum(numbers)"),
            "joint": python(READS + OFF),
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert targets(told) == [AtNode(node=S2)]
        broken, kept = told.checks("S2.ensures")
        assert (broken.verdict, broken.kind) == (Verdict.FAILED, CheckKind.CONTRACT)
        assert kept.verdict is Verdict.PASSED

    def test_takes_a_reviewers_word_where_there_is_nothing_else(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": SKETCH,
            "joint": python(READS + OFF),
            "verdict": opinions(read_numbers="accept", add_up="reject", solve="accept"),
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert localised(told).level is Level.LOW
        assert targets(told) == [AtNode(node=S2)]
        assert {e.check: e.verdict for e in told.checks("S") if e.kind is CheckKind.REVIEW} == {
            "S0.review": Verdict.PASSED,
            "S1.review": Verdict.PASSED,
            "S2.review": Verdict.FAILED,
        }

    def test_takes_the_branch_over_several_that_are_rejected(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {**BRANCH, "joint": [BRANCH_WRONG, python(ADDS)]})
        assert targets(told) == [AtBranch(root=S2)]
        assert told.history[0].selected == ("S2", "S2_1", "S2_2")

    def test_abstains_where_they_lie_side_by_side(self, sandbox: Sandbox) -> None:
        read = stub(
            "read_numbers(data: str) -> list[int]", "Read.", "example: read_numbers('1') == [1]"
        )
        add = stub("add_up(numbers: list[int]) -> int", "Add.", "example: add_up([1]) == 1")
        reads = READS.replace("int(word)", "int(word) + 1")
        said: Said = {"sketch": python(read + add + SOLVE), "joint": python(reads + OFF)}
        told = run(sandbox, TASK, said, SILENT)
        assert told.outcome is Outcome.ABSTAINED
        assert told.reason == "S1, S2 are each rejected, and only the root is above them all"

    def test_hears_only_nodes_that_ran_in_the_failing_case(self, sandbox: Sandbox) -> None:
        rare = stub("rare(x: int) -> int", "For large sums.", "example: rare(1) == 1")
        solve = """\
def solve(data: str) -> str:
    total = add_up(read_numbers(data))
    return str(rare(total) if total > 100 else total)
"""
        add = stub("add_up(numbers: list[int]) -> int", "Add.", "example: add_up([1, 2]) == 3")
        said: Said = {
            "sketch": python(READ + add + rare + solve),
            "joint": python(READS + OFF + "def rare(x):\n    return x + 1\n"),
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert targets(told) == [AtNode(node=S2)]
        assert told.checks("example-1")[0].ran == ("S0", "S1", "S2")
        assert told.checks("S3.example")[0].verdict is Verdict.FAILED

    def test_blames_the_only_node_there_is(self, sandbox: Sandbox) -> None:
        task = Task(
            title="Twice",
            statement="Write twice(x).",
            form=FunctionForm(entry="twice", signature="def twice(x: int) -> int"),
            examples=(CodeExample(code="assert twice(2) == 4\n"),),
        )
        said: Said = {
            "sketch": python("def twice(x: int) -> int:\n    ..."),
            "joint": python("def twice(x):\n    return x"),
            "replan_node": finding(),
            "repair_node": python("def twice(x):\n    return 2 * x"),
        }
        told = run(sandbox, task, said)
        assert told.outcome is Outcome.PASSED
        assert "only responsibility" in localised(told).explanation
        assert targets(told) == [AtNode(node=S1)]


class TestR4:
    SAID: Said = {"sketch": SKETCH, "joint": python(READS + OFF)}

    def test_abstains_where_nothing_points_anywhere(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, self.SAID, SILENT)
        assert told.outcome is Outcome.ABSTAINED
        assert isinstance(told.diagnoses[0], Abstained)
        assert told.history == ()
        assert told.program

    def test_abstains_where_the_reviewer_finds_nothing_either(self, sandbox: Sandbox) -> None:
        fine = opinions(read_numbers="accept", add_up="accept", solve="accept")
        assert run(sandbox, TASK, {**self.SAID, "verdict": fine}).outcome is Outcome.ABSTAINED

    def test_abstains_where_the_reviewer_cannot_be_understood(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {**self.SAID, "verdict": "I cannot say."})
        assert told.outcome is Outcome.ABSTAINED
        assert told.prompts[-2:] == ["verdict", "verdict"]

    def test_abstains_where_a_fault_is_said_to_be_everybodys(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "replan_node": finding("global", "the units differ"),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.ABSTAINED
        assert told.reason == "no single part can be right alone: the units differ"
        assert targets(told) == [AtNode(node=S2), None]

    def test_repairs_a_global_fault_where_there_is_only_one_node(self, sandbox: Sandbox) -> None:
        solve = "def solve(data):\n    return str(sum(map(int, data.split())){})"
        said: Said = {
            "sketch": python("def solve(data):\n    ..."),
            "joint": python(solve.format(" + 1")),
            "replan_node": finding("global"),
            "repair_node": python(solve.format("")),
        }
        assert run(sandbox, TASK, said).outcome is Outcome.PASSED


_ONE = stub("one(x: int) -> int", "Take one.", "example: one(1) == 1")
_ALL = stub("total(xs: list[int]) -> int", "Take all.", "example: total([1]) == 1")
BRANCH_SKETCH = python(
    READ
    + stub("add_up(numbers: list[int]) -> int", "Add them up.", "uses: one, total")
    + _ONE
    + _ALL
    + SOLVE
)
BRANCH_WRONG = python(
    READS
    + "def one(x):\n    return x + 1\n"
    + "def total(xs):\n    return sum(xs) + 1\n"
    + "def add_up(numbers):\n    return total([one(x) for x in numbers])\n"
)
BRANCH: Said = {
    "sketch": BRANCH_SKETCH,
    "joint": [BRANCH_WRONG],
    "replan_node": finding("algorithm", "twice too much"),
    "replan_branch": python("def add_up(numbers: list[int]) -> int:\n    ..."),
}


class TestARejectedRepair:
    SAID: Said = {
        "sketch": KNOWN,
        "joint": [python(READS + OFF), python("def add_up(numbers):\n    return 8")],
        "replan_node": finding(),
        "repair_node": [python(OFF_AGAIN)],
        "replan_branch": [python("def add_up(numbers: list[int]) -> int:\n    ...")],
    }

    def test_restores_the_whole_state(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, self.SAID, Options(review=False, max_repairs=1))
        assert decisions(told) == [Decision.REJECTED]
        (opened,), (back,) = told.all(TransactionOpened), told.all(RolledBack)
        assert opened.snapshot == back.restored == told.solution.trace.working.digest()
        assert told.history[0].rollback is RollbackStatus.RESTORED
        assert told.code("S2") == OFF
        (decided,) = told.all(TransactionDecided)
        assert [(d.node, d.before) for d in decided.code_deltas] == [
            (S2, told.solution.trace.working.code[S2].digest)
        ]

    def test_keeps_the_candidate_on_record(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, self.SAID, Options(review=False, max_repairs=1))
        assert [told.text_of(e.code) for e in told.written("S2")] == [OFF, OFF_AGAIN]
        assert told.history[0].global_evidence

    def test_is_lifted_to_the_branch_and_then_given_up(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, self.SAID, SILENT)
        assert told.outcome is Outcome.ABSTAINED
        assert targets(told) == [AtNode(node=S2), AtBranch(root=S2), None]
        assert decisions(told) == [Decision.REJECTED] * 2
        assert told.reason == "what R3 points to was repaired in vain"
        opened = told.all(TransactionOpened)
        assert opened[0].snapshot == opened[1].snapshot == told.solution.trace.working.digest()

    def test_is_never_tried_again_unchanged(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, self.SAID, SILENT)
        written = Counter(r.digest for name, r in told.asked if name in {"joint", "repair_node"})
        assert set(written.values()) == {1}

    def test_is_never_tried_again_unchanged_in_a_class_either(self, sandbox: Sandbox) -> None:
        said: Said = {
            "methods": python("class Tally:\n    def up(self):\n        return 1 // 0"),
            "replan_node": finding(),
            "repair_node": python("class Tally:\n    def up(self):\n        return 2 // 0"),
        }
        told = run(sandbox, CLASS, said)
        written = Counter(r.digest for name, r in told.asked if name == "repair_node")
        assert set(written.values()) == {1}

    def test_ends_the_run_as_failed_when_there_may_be_no_more(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, self.SAID, Options(review=False, max_repairs=2))
        assert told.outcome is Outcome.FAILED
        assert told.reason == "the program still fails after 2 repairs"
        assert len(told.history) == 2

    def test_may_be_none_at_all(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, self.SAID, Options(max_repairs=0))
        assert (told.outcome, told.diagnoses) == (Outcome.FAILED, [])

    def test_changed_nothing_if_no_answer_was_usable(self, sandbox: Sandbox) -> None:
        said = {**self.SAID, "repair_node": "I would rather not."}
        told = run(sandbox, TASK, said, Options(review=False, max_repairs=1))
        assert told.history[0].reason == "nothing was changed"
        assert told.history[0].rollback is RollbackStatus.RESTORED

    def test_goes_on_where_nobody_can_say_what_was_wrong(self, sandbox: Sandbox) -> None:
        said = {**self.SAID, "replan_node": "No idea.", "repair_node": python(ADDS)}
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert "nobody could say" in told.request("repair_node")


class TestAnAcceptedRepair:
    def test_is_a_strict_improvement_even_if_not_the_end(self, sandbox: Sandbox) -> None:
        half = "def add_up(numbers):\n    return sum(numbers) if numbers else 7\n"
        said: Said = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "replan_node": finding(),
            "repair_node": [python(half), python(ADDS)],
            "verdict": opinions(add_up="reject"),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert decisions(told) == [Decision.ACCEPTED] * 2
        first, second = told.history
        assert first.after is not None
        assert first.before < first.after == second.before

    def test_tells_what_it_made_worse(self, sandbox: Sandbox) -> None:
        task = program(("1 2 3", "6\n"), ("5", "5\n"), ("", "0\n"))
        good_for_none = "def add_up(numbers):\n    return 0 if not numbers else 9\n"
        but_none = "def add_up(numbers):\n    return sum(numbers) or 9\n"
        said: Said = {
            "sketch": KNOWN,
            "joint": python(READS + good_for_none),
            "replan_node": finding(),
            "repair_node": python(but_none),
        }
        told = run(sandbox, task, said, Options(review=False, max_repairs=1))
        assert told.outcome is Outcome.FAILED
        assert decisions(told) == [Decision.ACCEPTED]
        assert told.history[0].regressions == ("example-3",)

    def test_leaves_everything_outside_its_region_as_it_was(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        (done,) = run(sandbox, TASK, said).history
        assert done.region == done.selected == ("S2",)
        assert {f.node for f in done.frozen} == {"S0", "S1"}
        assert [d.node for d in done.code_deltas] == ["S2"]


class TestABranchRepair:
    NEW = python(
        _ONE
        + stub("fold(xs: list[int]) -> int", "Fold them.")
        + "def add_up(numbers: list[int]) -> int:\n    return fold([one(x) for x in numbers])\n"
    )
    CODE = python("def one(x):\n    return x\n\ndef fold(xs):\n    return sum(xs)\n")

    def told(self, sandbox: Sandbox) -> Told:
        said = {**BRANCH, "joint": [BRANCH_WRONG, self.CODE], "replan_branch": self.NEW}
        return run(sandbox, TASK, said)

    def test_grafts_a_new_plan_into_the_graph(self, sandbox: Sandbox) -> None:
        told = self.told(sandbox)
        assert told.outcome is Outcome.PASSED
        (done,) = told.history
        assert done.graph_delta is not None
        (new,) = done.graph_delta.added
        assert new.contract is not None
        assert (new.contract.name, new.parent) == ("fold", S2)
        assert done.graph_delta.retired == ("S2_2",)
        assert told.graph.children[S2] == ("S2_1", new.id)
        assert done.region == ("S2", "S2_1", "S2_2", new.id)

    def test_keeps_the_id_of_what_survives_and_retires_the_rest(self, sandbox: Sandbox) -> None:
        told = self.told(sandbox)
        assert told.graph.by_id[NodeId("S2_1")].goal == "Take one."
        assert set(told.solution.trace.retired) == {"S2_2"}
        assert "S2_2" in told.solution.trace.committed
        assert "def total" not in told.program

    def test_leaves_the_frozen_complement_as_it_was(self, sandbox: Sandbox) -> None:
        told = self.told(sandbox)
        (done,) = told.history
        assert {f.node for f in done.frozen} == {"S0", "S1"}
        assert not {d.node for d in done.code_deltas} & {"S0", "S1"}
        after = told.solution.trace.working
        for frozen in done.frozen:
            assert after.code[frozen.node].digest == frozen.code
            assert told.graph.commitments[frozen.node] == frozen.commitment

    def test_falls_back_to_the_node_where_no_new_plan_fits(self, sandbox: Sandbox) -> None:
        mends = python("def add_up(numbers):\n    return sum(numbers)\n")
        said = {**BRANCH, "replan_branch": python("def other(): ..."), "repair_node": mends}
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert all("no root function add_up" in r for r in told.rejected)
        assert told.history[0].graph_delta is not None  # what was learned, and no new nodes
        assert told.history[0].graph_delta.added == ()

    def test_refuses_names_of_the_rest_of_the_program(self, sandbox: Sandbox) -> None:
        taken = python(
            READ + "def add_up(numbers: list[int]) -> int:\n    return read_numbers('')[0]"
        )
        said = {
            **BRANCH,
            "joint": [BRANCH_WRONG, self.CODE],
            "replan_branch": [taken, self.NEW],
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert told.rejected == ["read_numbers is a name of the rest of the program"]

    def test_is_what_a_wrong_cut_is_lifted_to(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": KNOWN,
            "joint": [python(READS + OFF), python(ADDS)],
            "replan_node": finding("decomposition", "adding is not one thing"),
            "replan_branch": python("def add_up(numbers: list[int]) -> int:\n    ..."),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert targets(told) == [AtNode(node=S2), AtBranch(root=S2)]
        assert localised(told, 1).explanation.endswith("the task was cut in the wrong places")
        assert len(told.history) == 1

    def test_never_uses_an_id_again_not_even_a_rejected_one(self, sandbox: Sandbox) -> None:
        wrong = self.CODE.replace("sum(xs)", "sum(xs) + 1")
        anew = python(
            stub("take(data: str) -> int", "Take all in.")
            + "def solve(data: str) -> str:\n    return str(take(data))\n"
        )
        said = {
            **BRANCH,
            "joint": [
                BRANCH_WRONG,
                wrong,
                python("def take(data):\n    return sum(map(int, data.split()))"),
            ],
            "replan_branch": self.NEW,
            "redo": anew,
        }
        told = run(sandbox, TASK, said, Options(review=False, fallback=True))
        assert told.outcome is Outcome.PASSED
        assert decisions(told) == [Decision.REJECTED, Decision.ACCEPTED]
        assert told.graph.order == ("S3",)
        given = set(told.solution.trace.committed)
        planned = {n.id for n in told.committed.graph.nodes}
        (rejected,) = given - planned - {"S3"}
        assert rejected.startswith("S2_")


class TestABoundaryThatMustBeCrossed:
    SAID: Said = {"sketch": KNOWN, "joint": python(READS + OFF), "replan_node": finding()}

    def test_is_widened_to_the_caller_first_where_the_interface_is_wrong(
        self, sandbox: Sandbox
    ) -> None:
        said: Said = {
            **self.SAID,
            "replan_node": finding(
                "interface",
                "it must be told where to start",
                signature="def add_up(numbers: list[int], start: int) -> int:",
            ),
            "repair_node": [
                python("def add_up(numbers, start):\n    return sum(numbers) + start"),
                python(SOLVE.replace("(data)))", "(data), 0))")),
            ],
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        (raised,) = told.all(ExceptionRaised)
        assert (raised.exception.parent, raised.exception.child) == (S2, S0)
        assert raised.exception.rationale == "it must be told where to start"
        events = told.raw.events()
        assert events.index(raised) < events.index(told.written("S0")[-1])
        (done,) = told.history
        assert (done.selected, done.region) == (("S2",), ("S0", "S2"))
        contract = told.graph.by_id[S2].contract
        assert contract is not None
        assert contract.header() == "add_up(numbers: list[int], start: int) -> int"

    def test_is_crossed_where_the_model_gives_a_reason(self, sandbox: Sandbox) -> None:
        reads = "# integration: it must skip zeros\n" + READS.replace("()]", "() if word != '0']")
        told = run(sandbox, TASK, {**self.SAID, "repair_node": python(ADDS + reads)})
        assert told.outcome is Outcome.PASSED
        (raised,) = told.all(ExceptionRaised)
        assert (raised.exception.parent, raised.exception.child) == (S2, S1)
        assert raised.exception.rationale == "it must skip zeros"
        assert told.written("S1")[-1].cause == S2
        assert "!= '0'" in told.program
        assert told.history[0].region == ("S1", "S2")

    def test_holds_without_a_reason(self, sandbox: Sandbox) -> None:
        reads = READS.replace("()]", "() if word != '0']")
        told = run(sandbox, TASK, {**self.SAID, "repair_node": python(ADDS + reads)})
        assert told.outcome is Outcome.PASSED
        assert told.prompts.count("repair_node") == 2
        assert len(told.rejected) == 1
        assert "read_numbers is there already and not yours to write" in told.rejected[0]
        assert told.all(ExceptionRaised) == []
        assert "!= '0'" not in told.program

    def test_is_not_touched_by_code_that_only_repeats_what_is_there(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {**self.SAID, "repair_node": python(ADDS + READS)})
        assert told.outcome is Outcome.PASSED
        assert (told.rejected, told.all(ExceptionRaised)) == ([], [])

    def test_holds_when_all_are_written_together(self, sandbox: Sandbox) -> None:
        other = SOLVE.replace("str(", "str(1 + ")
        told = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + ADDS + other)})
        assert told.outcome is Outcome.PASSED
        assert "solve is there already" in told.rejected[0]
        assert "1 + " not in told.program

    def test_can_be_crossed_while_building_too(self, sandbox: Sandbox) -> None:
        def node(request: Request) -> str:
            if "Write `read_numbers" in request.messages[-1].text:
                return python(READS)
            why = "# integration: the sum is asked for as it is\n"
            return python(ADDS + why + SOLVE.replace("str(add", "repr(add"))

        told = run(sandbox, TASK, {"sketch": SKETCH, "node": node}, Options(build=Build.NODE))
        assert told.outcome is Outcome.PASSED
        assert told.all(ExceptionRaised)[0].exception.child == S0
        assert "repr(add_up" in told.program


class TestABudget:
    OPTIONS = Options(budget=Budget(tokens=50_000), review=False)

    def test_that_is_out_in_planning_leaves_no_program(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {"sketch": costly("What?", 50_000)}, self.OPTIONS)
        assert told.outcome is Outcome.STOPPED
        assert told.solution.program is None
        assert told.reason.startswith("the budget is 50000 tokens")

    def test_that_is_out_in_building_leaves_the_plan(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {"sketch": costly(SKETCH, 50_000)}, self.OPTIONS)
        assert told.outcome is Outcome.STOPPED
        assert told.solution.program is None
        assert told.graph.order == ("S1", "S2")

    def test_that_is_out_in_a_repair_restores_what_stood(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "replan_node": costly(finding(hints=["count"]), 50_000),
        }
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.STOPPED
        (done,) = told.history
        assert done.decision is Decision.REJECTED
        assert done.rollback is RollbackStatus.RESTORED
        assert done.reason == "the budget was spent before the candidate was complete"
        assert told.code("S2") == OFF
        assert told.graph.by_id[S2].hints == ()
        assert told.all(RolledBack)[0].restored == told.solution.trace.working.digest()

    def test_that_is_out_in_a_branch_repair_restores_the_graph(self, sandbox: Sandbox) -> None:
        said = {**BRANCH, "replan_branch": costly(TestABranchRepair.NEW, 50_000)}
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.STOPPED
        assert told.graph == told.committed.graph

    def test_that_is_out_between_repairs_keeps_the_program(self, sandbox: Sandbox) -> None:
        said: Said = {"sketch": KNOWN, "joint": costly(python(READS + OFF), 50_000)}
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.STOPPED
        assert "sum(numbers) + 1" in told.program

    @pytest.mark.parametrize("tokens", [5_000, 6_000, 9_000])
    def test_that_is_out_while_several_could_be_asked_replays(
        self, sandbox: Sandbox, tokens: int
    ) -> None:
        def node(request: Request) -> str:
            time.sleep(0.05)  # so that all would be under way at once
            asked = request.messages[-1].text
            return python(READS if "Write `read_numbers" in asked else ADDS)

        options = Options(build=Build.NODE, budget=Budget(tokens=tokens))
        run(sandbox, TASK, {"sketch": SKETCH, "node": node}, options, parallel=4)


class TestTheFallback:
    WRONG: Said = {"sketch": SKETCH, "joint": [python(READS + OFF)]}
    ANEW = python(
        stub("take(data: str) -> int", "Take all in.")
        + "def solve(data: str) -> str:\n    return str(take(data))\n"
    )
    TAKES = "def take(data):\n    return sum(map(int, data.split()))\n"
    OPTIONS = Options(review=False, fallback=True)

    def test_is_not_taken_unless_it_is_asked_for(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {**self.WRONG, "redo": self.ANEW}, SILENT)
        assert told.outcome is Outcome.ABSTAINED
        assert told.history == ()

    def test_plans_and_writes_the_whole_again(self, sandbox: Sandbox) -> None:
        said = {
            **self.WRONG,
            "redo": self.ANEW,
            "joint": [python(READS + OFF), python(self.TAKES)],
        }
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.PASSED
        (done,) = told.history
        assert done.kind is TransactionKind.FALLBACK
        assert isinstance(done.diagnosis, Abstained)
        assert done.selected == ("S0", "S1", "S2")
        assert (told.graph.order, done.frozen) == (("S3",), ())
        assert set(told.solution.trace.retired) == {"S1", "S2"}

    def test_is_rejected_and_restored_if_it_is_no_better(self, sandbox: Sandbox) -> None:
        said = {
            **self.WRONG,
            "redo": self.ANEW,
            "joint": [python(READS + OFF), python("def take(data):\n    return 9")],
        }
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.ABSTAINED
        assert decisions(told) == [Decision.REJECTED]
        assert told.graph == told.committed.graph
        assert told.all(RolledBack)[0].restored == told.solution.trace.working.digest()

    def test_is_taken_once(self, sandbox: Sandbox) -> None:
        said = {**self.WRONG, "redo": "No."}
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.ABSTAINED
        assert len(told.history) == 1
        assert told.history[0].reason.startswith("no new plan could be used")

    def test_may_follow_a_fault_that_is_everybodys(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": KNOWN,
            "joint": [python(READS + OFF), python(self.TAKES)],
            "replan_node": finding("global"),
            "redo": self.ANEW,
        }
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.PASSED
        assert told.history[0].kind is TransactionKind.FALLBACK

    def test_may_plan_one_node(self, sandbox: Sandbox) -> None:
        said = {
            **self.WRONG,
            "redo": python("def solve(data):\n    ..."),
            "joint": [
                python(READS + OFF),
                python("def solve(data):\n    return str(sum(map(int, data.split())))"),
            ],
        }
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.PASSED
        assert told.graph.by_id[S0].contract is None

    def test_may_plan_one_node_for_a_function(self, sandbox: Sandbox) -> None:
        double, more = stub("double(x: int) -> int", "Double."), stub("more(x: int) -> int", "Add.")
        root = "def twice_and_one(x: int) -> int:\n    return more(double(x))\n"
        said: Said = {
            "sketch": python(double + more + root),
            "joint": [
                python("def double(x):\n    return 2 * x\ndef more(x):\n    return x + 2"),
                python("def twice_and_one(x):\n    return 2 * x + 1"),
            ],
            "redo": python("def twice_and_one(x: int) -> int:\n    ..."),
        }
        assert run(sandbox, FUNCTION, said, self.OPTIONS).outcome is Outcome.PASSED

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

    def told_of_a_class(self, sandbox: Sandbox) -> Told:
        said: Said = {"methods": [python(self.METHODS.format(n)) for n in (7, 1)]}
        return run(sandbox, self.TWO, said, self.OPTIONS)

    def test_writes_all_methods_of_a_class_again(self, sandbox: Sandbox) -> None:
        told = self.told_of_a_class(sandbox)
        assert told.outcome is Outcome.PASSED
        assert told.history[0].kind is TransactionKind.FALLBACK

    def test_tells_what_went_wrong_in_a_class(self, sandbox: Sandbox) -> None:
        (_, first), (_, second) = self.told_of_a_class(sandbox).asked
        assert first.digest != second.digest


class TestRepliesThatCannotBeUsed:
    GOOD: Said = {"sketch": SKETCH, "joint": python(READS + ADDS)}

    def test_make_one_node_of_a_plan_that_never_came(self, sandbox: Sandbox) -> None:
        solve = python("def solve(data):\n    return str(sum(map(int, data.split())))")
        told = run(sandbox, TASK, {"sketch": "First, we think.", "joint": solve})
        assert told.outcome is Outcome.PASSED
        assert told.prompts == ["sketch", "sketch", "joint"]
        assert told.committed.granularity == (
            "one node, because no plan could be used: there is no ```python block in it"
        )

    @pytest.mark.parametrize(
        ("sketch", "why"),
        [
            ("".join(stub(f"f{i}(x: int) -> int", "Do.") for i in range(6)), "use at most 5"),
            (
                stub("f(x: int) -> int", "Do.", "uses: g")
                + stub("g(x: int) -> int", "Do.", "uses: f"),
                "in a circle",
            ),
            (stub("len(x: int) -> int", "Count."), "len is Python's own name"),
            ("class A:\n    pass\n", "no classes"),
            (stub("f(x: int) -> int", "Do.") * 2, "names f twice"),
        ],
    )
    def test_are_asked_for_again_with_what_is_wrong_with_a_plan(
        self, sandbox: Sandbox, sketch: str, why: str
    ) -> None:
        faulty = python(sketch + "def solve(data: str) -> str:\n    ...\n")
        told = run(sandbox, TASK, {**self.GOOD, "sketch": [faulty, SKETCH]})
        assert told.outcome is Outcome.PASSED
        assert why in told.rejected[0]
        assert why in told.request("sketch")

    def test_refuse_a_root_that_calls_what_nobody_promised(self, sandbox: Sandbox) -> None:
        unknown = python(READ + "def solve(data: str) -> str:\n    return magic(data)\n")
        told = run(sandbox, TASK, {**self.GOOD, "sketch": [unknown, SKETCH]})
        assert told.rejected == ["the root calls magic, which has no stub"]

    def test_leave_a_node_that_says_it_was_never_written(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": SKETCH,
            "joint": python(READS),
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        first = told.written("S2")[0]
        assert (first.agent, first.note) == ("degraded", "there is no function add_up in it")
        assert told.prompts.count("joint") == 2
        assert "NotImplementedError" in localised(told).explanation

    def test_never_lose_a_run(self, sandbox: Sandbox) -> None:
        cut = Reply(text="def", finish=Finish.LENGTH, usage=Usage(calls=1))
        roles = ("sketch", "joint", "replan_node", "repair_node", "replan_branch")
        told = run(sandbox, TASK, dict.fromkeys(roles, cut))
        assert told.outcome is Outcome.ABSTAINED
        assert [t.reason for t in told.history] == ["nothing was changed"] * 2

    def test_leave_out_what_nobody_owns_and_say_so(self, sandbox: Sandbox) -> None:
        calls = "print(add_up([1]))\nif True:\n    add_up([])\n"
        told = run(sandbox, TASK, {**self.GOOD, "joint": python(READS + ADDS + calls)})
        assert told.outcome is Outcome.PASSED
        assert told.written("S2")[0].note == (
            "left out, because nobody owns it: print(add_up([1])); if True:"
        )
        assert "print(add_up([1]))" not in told.program

    def test_are_completed_by_imports_that_were_forgotten(self, sandbox: Sandbox) -> None:
        adds = "def add_up(numbers):\n    return reduce(operator.add, numbers, 0)\n"
        told = run(sandbox, TASK, {**self.GOOD, "joint": python(READS + adds)})
        assert told.outcome is Outcome.PASSED
        note = "added: from functools import reduce, import operator"
        assert told.written("S2")[0].note == note

    def test_that_the_laws_refuse_are_refused_again_in_a_replay(self, sandbox: Sandbox) -> None:
        reads = "add_up = sum\n" + READS.replace("data.split()", "data.split() if add_up")
        said: Said = {
            "sketch": SKETCH,
            "joint": python(reads + ADDS),
            "replan_node": finding(),
            "repair_node": python(READS),
        }
        told = run(sandbox, TASK, said)
        assert told.outcome is Outcome.PASSED
        assert [e.agent for e in told.written("S1")] == ["degraded", "agent_string"]

    def test_may_name_a_part_as_a_helper_was_named(self, sandbox: Sandbox) -> None:
        helped = "def part(x):\n    return x + 1\n\n" + ADDS.replace(
            "sum(numbers)", "part(sum(numbers))"
        )
        part = stub("part(xs: list[int]) -> int", "Add a part.")
        new = "def part(xs):\n    return sum(xs)\ndef add_up(numbers):\n    return part(numbers)\n"
        said: Said = {
            "sketch": KNOWN,
            "joint": [python(READS + helped), python(new)],
            "replan_node": finding("decomposition"),
            "replan_branch": python(part + "def add_up(numbers: list[int]) -> int:\n    ..."),
        }
        assert run(sandbox, TASK, said, Options(max_repairs=1)).outcome is Outcome.PASSED

    def test_share_helpers_by_who_uses_them(self, sandbox: Sandbox) -> None:
        helped = "def helper(x):\n    return x\n"
        adds = ADDS.replace("sum(numbers)", "helper(sum(numbers))")
        reads = READS.replace("int(word)", "helper(int(word))")
        told = run(sandbox, TASK, {**self.GOOD, "joint": python(helped + reads + adds)})
        assert told.outcome is Outcome.PASSED
        assert "helper" in told.code("S1")
        assert "helper" in told.code("S2")
        assert "helper__S2" in told.program

    def test_give_up_a_part_that_clashes_with_another(self, sandbox: Sandbox) -> None:
        importing = (
            "from math import gcd\n" + READ + ADD + SOLVE.replace("str(", "str(gcd(0, 0) + ")
        )
        clashing = "def gcd(x):\n    return x\n" + ADDS.replace("sum(numbers)", "gcd(sum(numbers))")
        said: Said = {"sketch": python(importing), "joint": python(READS + clashing)}
        told = run(sandbox, TASK, said, Options(max_repairs=0))
        assert told.outcome is Outcome.FAILED
        last = told.written("S2")[-1]
        assert (last.agent, last.note) == (
            "degraded",
            "it clashes with another part of the program",
        )

    def test_give_up_an_inner_part_that_clashes_too(self, sandbox: Sandbox) -> None:
        add = stub("add_up(numbers: list[int]) -> int", "Add.", "uses: one")
        importing = "from math import gcd\n" + READ + add + stub("one(x: int) -> int", "One.")
        solve = SOLVE.replace("str(", "str(gcd(0, 0) + ")
        clashing = """\
def gcd(x):
    return x
def add_up(numbers):
    return gcd(sum(map(one, numbers)))
def one(x):
    return x
"""
        said: Said = {"sketch": python(importing + solve), "joint": python(READS + clashing)}
        assert run(sandbox, TASK, said, Options(max_repairs=0)).outcome is Outcome.FAILED

    def test_may_have_types_that_no_value_has(self, sandbox: Sandbox) -> None:
        add = stub("add_up(numbers: set[list[int]]) -> int", "Add them up.")
        told = run(sandbox, TASK, {**self.GOOD, "sketch": python(READ + add + SOLVE)})
        assert told.outcome is Outcome.PASSED


class TestGeneratedChecks:
    def test_are_dropped_where_a_given_example_contradicts_them(self, sandbox: Sandbox) -> None:
        solve = stub("solve(data: str) -> str", "Solve.", "example: solve('1 2 3') == '7'")
        body = solve.replace("...", "return str(add_up(read_numbers(data)))")
        told = run(
            sandbox, TASK, {"sketch": python(READ + ADD + body), "joint": python(READS + ADDS)}
        )
        assert told.outcome is Outcome.PASSED
        (dropped,) = told.all(CheckDropped)
        assert dropped.reason == "example-1 gives the same input another answer"
        assert told.checks("generated") == []

    def test_count_but_do_not_decide(self, sandbox: Sandbox) -> None:
        solve = stub("solve(data: str) -> str", "Solve.", "example: solve('4') == '5'")
        body = solve.replace("...", "return str(add_up(read_numbers(data)))")
        told = run(
            sandbox, TASK, {"sketch": python(READ + ADD + body), "joint": python(READS + ADDS)}
        )
        assert told.outcome is Outcome.PASSED
        (wrong,) = told.checks("generated")
        assert wrong.verdict is Verdict.FAILED

    def test_that_a_passing_example_breaks_are_dropped(self, sandbox: Sandbox) -> None:
        task = program(("", "0\n"), ("1 2", "3\n"))
        said: Said = {
            "sketch": promising("ensures: result > 0"),
            "joint": python(READS + "def add_up(numbers):\n    return 7 if numbers else 0"),
        }
        told = run(sandbox, task, said, SILENT)
        (dropped,) = told.all(CheckDropped)
        assert dropped.check.startswith("S2.ensures")
        assert dropped.reason.startswith("it does not hold in example-1")
        assert told.outcome is Outcome.ABSTAINED  # the promise no longer blames anyone

    def test_of_single_calls_are_dropped_alike(self, sandbox: Sandbox) -> None:
        told = run(
            sandbox,
            TASK,
            {"sketch": promising("example: add_up([]) == 1"), "joint": python(READS + ADDS)},
        )
        (dropped,) = told.all(CheckDropped)
        assert dropped.check.startswith("S2.example")

    def test_are_watched_however_the_function_is_called(self, sandbox: Sandbox) -> None:
        add = stub("add_up(numbers: list[int]) -> int", "Add them up.", "ensures: result > 0")
        solve = SOLVE.replace("add_up(", "add_up(numbers=")
        said: Said = {"sketch": python(READ + add + solve), "joint": python(READS + ADDS)}
        assert len(run(sandbox, TASK, said).all(CheckDropped)) == 1

    def test_hold_for_any_name_of_a_parameter(self, sandbox: Sandbox) -> None:
        facts = ("requires: len(copy) >= 0", "ensures: result == sum(copy)")
        add = stub("add_up(copy: list[int]) -> int", "Add them up.", *facts)
        adds = ADDS.replace("numbers", "copy")
        told = run(
            sandbox, TASK, {"sketch": python(READ + add + SOLVE), "joint": python(READS + adds)}
        )
        assert told.checks("S2.ensures")[0].verdict is Verdict.PASSED


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
    OPTIONS = Options(differential=True, review=False)

    def references(self, request: Request) -> str:
        return self.OTHER if "`read_numbers(" in request.messages[-1].text else self.REFERENCE

    def test_reject_a_node_that_disagrees_with_its_reference(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": SKETCH,
            "joint": python(READS + OFF),
            "brute_force": self.references,
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.PASSED
        assert targets(told) == [AtNode(node=S2)]
        wrong, right = told.checks("S2.differential")
        assert (wrong.verdict, wrong.kind) == (Verdict.FAILED, CheckKind.DIFFERENTIAL)
        assert "the reference" in wrong.message
        assert right.message == "they agree on 20 inputs"
        assert told.checks("S1.differential")[0].verdict is Verdict.PASSED

    def test_say_nothing_without_a_usable_reference(self, sandbox: Sandbox) -> None:
        said: Said = {"sketch": SKETCH, "joint": python(READS + ADDS), "brute_force": "Hm."}
        told = run(sandbox, TASK, said, self.OPTIONS)
        assert told.outcome is Outcome.PASSED
        assert [e for e in told.checks("S") if e.kind is CheckKind.DIFFERENTIAL] == []


class TestBuildingNodeByNode:
    OPTIONS = Options(build=Build.NODE)

    @staticmethod
    def node(request: Request) -> str:
        asked = request.messages[-1].text
        if "Write `read_numbers" in asked:
            time.sleep(0.1)  # so that the last comes first
            return python(READS)
        return python(ADDS)

    def test_asks_each_kinds_specialist(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, {"sketch": SKETCH, "node": self.node}, self.OPTIONS)
        assert told.outcome is Outcome.PASSED
        assert told.prompts == ["sketch", "node", "node"]
        assert [(e.node, e.agent) for e in told.all(CodeWritten)] == [
            ("S0", "sketch"),
            ("S1", "agent_string"),
            ("S2", "agent_math"),
        ]

    def test_gives_the_same_program_however_many_are_asked_at_once(self, sandbox: Sandbox) -> None:
        said: Said = {"sketch": SKETCH, "node": self.node}
        alone = run(sandbox, TASK, said, self.OPTIONS, parallel=1)
        together = run(sandbox, TASK, said, self.OPTIONS, parallel=4)
        assert alone.program == together.program
        assert alone.graph == together.graph
        order = [r.messages[-1].text for name, r in alone.asked if name == "node"]
        assert sorted(order) == sorted(
            r.messages[-1].text for name, r in together.asked if name == "node"
        )

    def test_stands_in_for_the_one_that_never_came(self, sandbox: Sandbox) -> None:
        def node(request: Request) -> str:
            return "No." if "Write `add_up" in request.messages[1].text else python(READS)

        said: Said = {
            "sketch": SKETCH,
            "node": node,
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        told = run(sandbox, TASK, said, self.OPTIONS, parallel=4)
        assert told.outcome is Outcome.PASSED
        assert [e.agent for e in told.written("S2")] == ["degraded", "agent_math"]


SKELETON = """\
class Tally:
    \"\"\"Counts.\"\"\"

    def __init__(self):
        self.count = 0

    def up(self):
        \"\"\"Count one more and say how many.\"\"\"

"""
CLASS = Task(
    title="Tally",
    statement=SKELETON,
    form=ClassForm(name="Tally", skeleton=SKELETON),
    examples=(CodeExample(code="tally = Tally()\nassert tally.up() == 1\n"),),
)
FUNCTION = Task(
    title="Twice and one",
    statement="Write twice_and_one(x) that returns 2x + 1.",
    form=FunctionForm(entry="twice_and_one", signature="def twice_and_one(x: int) -> int"),
    examples=(CallExample(arguments="2", result="5"), CallExample(arguments="0", result="1")),
)
UP = "class Tally:\n    def up(self):\n        self.count += 1\n        return self.count\n"


class TestAClass:
    def test_is_planned_by_its_skeleton_without_a_call(self, sandbox: Sandbox) -> None:
        told = run(sandbox, CLASS, {"methods": python(UP)})
        assert told.outcome is Outcome.PASSED
        assert told.prompts == ["methods"]
        assert told.committed.planner == "skeleton"
        assert [n.contract.name for n in told.graph.nodes if n.contract] == ["__init__", "up"]
        assert [e.agent for e in told.written("S1")] == ["skeleton"]

    def test_is_repaired_method_by_method(self, sandbox: Sandbox) -> None:
        said: Said = {
            "methods": python(UP.replace("+= 1", "+= 1 // 0")),
            "replan_node": finding(),
            "repair_node": python(UP),
        }
        told = run(sandbox, CLASS, said)
        assert told.outcome is Outcome.PASSED
        assert targets(told) == [AtNode(node=S2)]
        assert told.history[0].region == ("S2",)

    def test_may_be_asked_for_method_by_method(self, sandbox: Sandbox) -> None:
        told = run(sandbox, CLASS, {"method": python(UP)}, Options(build=Build.NODE))
        assert told.outcome is Outcome.PASSED
        assert told.prompts == ["method"]

    def test_keeps_helpers_before_its_statement(self, sandbox: Sandbox) -> None:
        helped = "def more(x):\n    return x + 1\n\n" + UP.replace(
            "self.count += 1", "self.count = more(self.count)"
        )
        told = run(sandbox, CLASS, {"methods": python(helped)})
        assert told.outcome is Outcome.PASSED
        assert "def more" in told.code("S0")

    def test_keeps_helpers_that_a_repair_brings(self, sandbox: Sandbox) -> None:
        helped = "def more(x):\n    return x + 1\n\n" + UP.replace(
            "self.count += 1", "self.count = more(self.count)"
        )
        said: Said = {
            "methods": python(UP.replace("+= 1", "+= 1 // 0")),
            "replan_node": finding(),
            "repair_node": python(helped),
        }
        assert run(sandbox, CLASS, said).outcome is Outcome.PASSED


class TestAFunction:
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

    def test_is_made_of_parts_that_others_call(self, sandbox: Sandbox) -> None:
        double, more = stub("double(x: int) -> int", "Double."), stub("more(x: int) -> int", "Add.")
        root = "def twice_and_one(x: int) -> int:\n    return more(double(x))\n"
        said: Said = {
            "sketch": python(double + more + root),
            "joint": python("def double(x):\n    return 2 * x\ndef more(x):\n    return x + 1"),
        }
        told = run(sandbox, FUNCTION, said)
        assert told.outcome is Outcome.PASSED
        assert "__main__" not in told.program

    def test_keeps_the_helpers_that_came_with_it(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": python("def f(x: int) -> int:\n    ..."),
            "joint": python("def f(x):\n    return max(poly(x) + 1, math.isqrt(x))"),
        }
        told = run(sandbox, self.HELPED, said)
        assert told.outcome is Outcome.PASSED
        assert "def poly" in told.code("S0")
        assert "This is given and stays as it is" in told.request("sketch")

    def test_may_call_them_from_its_root(self, sandbox: Sandbox) -> None:
        said: Said = {"sketch": python(self.ONE + self.ROOT), "joint": python(self.ONES)}
        told = run(sandbox, self.HELPED, said, Options(max_repairs=0))
        assert told.rejected == []
        assert told.outcome is Outcome.PASSED

    def test_may_have_them_named_in_its_sketch(self, sandbox: Sandbox) -> None:
        poly = stub("poly(x: int) -> int", "Square it.")
        said: Said = {
            "sketch": python(poly + self.ONE + self.ROOT),
            "joint": python("def poly(x):\n    return x * x\n" + self.ONES),
        }
        told = run(sandbox, self.HELPED, said, Options(max_repairs=0))
        assert told.outcome in {Outcome.PASSED, Outcome.FAILED}

    def test_may_have_them_named_in_a_new_plan_of_a_branch(self, sandbox: Sandbox) -> None:
        one = stub("one(x: int) -> int", "Be one.", "example: one(3) == 1")
        poly = stub("poly(x: int) -> int", "Square it.")
        said: Said = {
            "sketch": python(one + self.ROOT),
            "joint": python("def one(x):\n    return 2\ndef poly(x):\n    return x * x\n"),
            "replan_node": finding("decomposition"),
            "replan_branch": python(poly + "def one(x: int) -> int:\n    return poly(1)\n"),
            "repair_node": python(self.ONES),
        }
        told = run(sandbox, self.HELPED, said, Options(max_repairs=1))
        assert told.outcome in {Outcome.PASSED, Outcome.FAILED}

    def test_may_be_without_a_signature(self, sandbox: Sandbox) -> None:
        task = Task(
            title="Twice",
            statement="Write twice.",
            form=FunctionForm(entry="twice"),
            examples=(CallExample(arguments="2", result="4"),),
        )
        said: Said = {
            "sketch": python(stub("twice(x: int) -> int", "Double it.")),
            "joint": python("def twice(x):\n    return 2 * x"),
        }
        told = run(sandbox, task, said)
        assert told.outcome is Outcome.PASSED
        contract = told.graph.by_id[S1].contract
        assert contract is not None
        assert contract.header() == "twice(x: int) -> int"


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

    def test_are_read_and_left(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": self.SKETCH,
            "joint": python("def raised(text):\n    return text.upper()"),
        }
        assert run(sandbox, self.TASK, said).outcome is Outcome.PASSED

    def test_that_are_wrong_are_mended(self, sandbox: Sandbox) -> None:
        said: Said = {
            "sketch": python("def solve() -> None:\n    ..."),
            "joint": python("def solve():\n    open('out.txt', 'w').write('ab')"),
            "replan_node": finding(),
            "repair_node": python(
                "def solve():\n    open('out.txt', 'w').write(open('in.txt').read().upper())"
            ),
        }
        told = run(sandbox, self.TASK, said)
        assert told.outcome is Outcome.PASSED
        assert "only responsibility" in localised(told).explanation


class TestTheStagedPlanner:
    def test_plans_what_is_then_built_and_repaired_alike(self, sandbox: Sandbox) -> None:
        told = run(sandbox, TASK, staged(), Options(planner=Planner.STAGED))
        assert told.outcome is Outcome.PASSED
        assert told.committed.planner == "staged"
        assert told.prompts.count("joint") == 1
        assert targets(told) == [AtNode(node=S2)]


def staged() -> Said:
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
    said: dict[str, str] = {role.value: json.dumps(answer) for role, answer in GOOD.items()}
    said |= {"task_decomposer": json.dumps(parts), "interface_designer": json.dumps(interfaces)}
    said |= {"test_case_analyzer": json.dumps({"samples": [], "edge_cases": [], "invariants": []})}
    said |= {
        "joint": python(READS + OFF + SOLVE),
        "replan_node": finding(),
        "repair_node": python(ADDS),
    }
    return said


class TestARunThatWasCutOff:
    def test_goes_on_from_wherever_it_was(self, sandbox: Sandbox) -> None:
        said: Said = {
            **TestARejectedRepair.SAID,
            "joint": [python(READS + OFF), python(ADDS)],
        }
        told = run(sandbox, TASK, said, SILENT)
        assert decisions(told) == [Decision.REJECTED, Decision.ACCEPTED]
        asked = len(told.asked)
        for entries in range(1, len(told.raw.bodies)):
            solution, calls = gone_on_with(told, entries, sandbox)
            assert (solution.outcome, solution.program) == (told.outcome, told.program)
            assert calls <= asked
            asked = calls
        assert asked == 0

    def test_goes_on_in_a_fallback_and_with_many_asked_at_once(self, sandbox: Sandbox) -> None:
        options = Options(build=Build.NODE, review=False, fallback=True)

        def node(request: Request) -> str:
            asked = request.messages[-1].text
            if "Write `take" in asked:
                return python(TestTheFallback.TAKES)
            return python(READS if "Write `read_numbers" in asked else OFF)

        said: Said = {"sketch": SKETCH, "node": node, "redo": TestTheFallback.ANEW}
        told = run(sandbox, TASK, said, options, parallel=4)
        assert told.outcome is Outcome.PASSED
        for entries in range(1, len(told.raw.bodies)):
            solution, _ = gone_on_with(told, entries, sandbox)
            assert solution.program == told.program


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


def _finding(chance: random.Random) -> str:
    causes = ("implementation", "algorithm", "interface", "decomposition", "global")
    headers = ("", "def add_up(numbers, k):", "one(x: int, y: int) -> int", "garbage (")
    costs = ("", "O(n)", "fast")
    return finding(
        chance.choice(causes), signature=chance.choice(headers), cost=chance.choice(costs)
    )


def _verdicts(chance: random.Random) -> str:
    names = [h.split("(")[0] for h in _BODIES]
    return opinions(**{n: chance.choice(["accept", "reject"]) for n in names})


@pytest.mark.parametrize("seed", range(24))
def test_no_replies_lose_a_run(sandbox: Sandbox, seed: int) -> None:
    chance = random.Random(seed)

    def saying(make: Callable[[random.Random], str]) -> Callable[[Request], str]:
        return lambda _: make(chance) if chance.random() < 0.92 else chance.choice(["No.", "```"])

    said: Said = {
        **dict.fromkeys(("sketch", "redo", "replan_branch"), saying(_stubs)),
        **dict.fromkeys(("joint", "node", "repair_node"), saying(_code)),
        "replan_node": saying(_finding),
        "verdict": saying(_verdicts),
    }
    options = Options(
        build=chance.choice(list(Build)),
        fallback=chance.random() < 0.6,
        review=chance.random() < 0.6,
        max_repairs=chance.choice([1, 3, 5]),
    )
    told = run(sandbox, chance.choice([TASK, FUNCTION]), said, options)
    assert told.outcome is not Outcome.STOPPED
