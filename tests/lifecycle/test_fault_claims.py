"""A repair that names another part changes nothing; the next repair is of that part, once."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.events import CheckRan, RunOutcome, TransactionDecided
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Decision
from auditcoder.domain.request import Request
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import ClassForm, CodeExample, Task
from auditcoder.lifecycle.options import LocatorName, Options
from auditcoder.lifecycle.ports import Sandbox
from tests.support.adder_task import ADD, BAD_ADD, GOOD_ADD, GOOD_READ, READ, ROOT, TASK
from tests.support.scripted_runs import (
    FinishedRun,
    ScriptedReplies,
    python,
    run,
    sandboxed,
)
from tests.support.sketched_runs import sketching

CRASHES = "def add(numbers):\n    return sum(numbers) // 0\n"
BAD_READ = "def read(text):\n    return [word for word in text.split()]\n"
READS_WORDS = "the fault is elsewhere: read, because it returns words instead of numbers"
ADDS_WRONG = "The fault is elsewhere: `add`, because it adds them wrong"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def solve(
    sandbox: Sandbox,
    *,
    joint: str,
    read: str,
    add: str,
    locator: LocatorName = LocatorName.PAPER_RULES,
    options: Options | None = None,
) -> FinishedRun:
    def repair(request: Request) -> str:
        step = request.messages[1].text.rpartition("# Your step")[2]
        return read if "write `read(" in step else add

    said: ScriptedReplies = {
        "sketch": python(READ + ADD + ROOT),
        "joint": python(joint),
        "repair_node": repair,
        "replan_branch": "I see no other way.",
        "second_opinion": python(GOOD_READ + BAD_ADD),
    }
    return run(sandbox, TASK, said, options or sketching(review=False), locator=locator)


def claims(finished: FinishedRun) -> list[CheckRan]:
    events = finished.all(CheckRan)
    return [e for e in events if ".elsewhere-" in e.evidence.check]


@pytest.mark.parametrize("locator", [LocatorName.PAPER_RULES, LocatorName.WEIGHED])
def test_the_part_that_a_repair_names_is_repaired_next(
    sandbox: Sandbox, locator: LocatorName
) -> None:
    finished = solve(
        sandbox,
        joint=BAD_READ + "\n" + GOOD_ADD,
        read=python(GOOD_READ),
        add=READS_WORDS,
        locator=locator,
    )
    assert finished.outcome is RunOutcome.PASSED
    *before, last = finished.all(TransactionDecided)
    if locator is LocatorName.PAPER_RULES:
        (first,) = before
        assert first.decision is Decision.REJECTED
        assert first.code_deltas == ()
        assert first.reason == (
            "the fault is elsewhere: S1 (`read`), because it returns words instead of numbers"
        )
        (claim,) = claims(finished)
        evidence = claim.evidence
        assert (evidence.kind, evidence.trust) == (CheckKind.REVIEW, Trust.GENERATED)
        assert (evidence.verdict, evidence.subject) == (Verdict.FAILED, AtNode(node=NodeId("S1")))
        assert evidence.requirement == "no author of another repair names it as the fault"
        assert evidence.message == (
            "the author of another repair blames S1 (`read`): it returns words instead of numbers"
        )
        found = finished.diagnoses[-1]
        assert isinstance(found, Localised)
        assert (found.rule, found.target) == ("claim", AtNode(node=NodeId("S1")))
        assert found.explanation == evidence.message
    assert last.decision is Decision.ACCEPTED


def test_a_blamed_helper_method_leads_to_the_node_that_owns_it(sandbox: Sandbox) -> None:
    skeleton = (
        "class Box:\n"
        "    def __init__(self):\n        self.items = []\n\n"
        '    def put(self, item: int) -> None:\n        """Add an item once."""\n\n'
        '    def first(self, item: int) -> int:\n        """Return its place, or -1."""\n'
    )
    put = (
        "class Box:\n"
        "    def put(self, item):\n"
        "        if not self._has(item):\n            self.items.append(item)\n\n"
        "    def _has(self, item):\n        return {}\n"
    )
    first = (
        "\n    def first(self, item):\n"
        "        return self.items.index(item) if self._has(item) else -1\n"
    )
    code = "b = Box()\nb.put(4)\nassert b.first(5) == -1"
    task = Task(
        title="Box",
        statement=skeleton,
        form=ClassForm(name="Box", skeleton=skeleton),
        examples=(CodeExample(code=code),),
    )
    claim = "the fault is elsewhere: _has, because `item` is not looked for"
    said: ScriptedReplies = {
        "methods": python(put.format("bool(self.items)") + first),
        "repair_node": lambda request: (
            claim
            if "write `first(" in request.messages[-1].text.rpartition("# Your step")[2]
            else python(put.format("item in self.items"))
        ),
    }
    finished = run(sandbox, task, said, sketching(review=False))
    assert finished.rejected == []
    assert finished.outcome is RunOutcome.PASSED, finished.reason
    rejected, accepted = finished.history
    owner = next(n.id for n in finished.graph.nodes if n.contract and n.contract.name == "put")
    assert rejected.reason == (
        f"the fault is elsewhere: {owner} (`_has`), because `item` is not looked for"
    )
    assert accepted.region == (owner,)


def test_two_parts_that_blame_each_other_end_within_the_repairs(sandbox: Sandbox) -> None:
    finished = solve(sandbox, joint=GOOD_READ + "\n" + CRASHES, read=ADDS_WRONG, add=READS_WORDS)
    assert finished.outcome is not RunOutcome.PASSED
    assert len(finished.history) <= Options().max_repairs
    targets = [d.target for d in finished.diagnoses if isinstance(d, Localised)]
    assert len(set(targets)) == len(targets), "no target is tried twice"


def test_a_claim_counts_as_a_repair(sandbox: Sandbox) -> None:
    finished = solve(
        sandbox,
        joint=BAD_READ + "\n" + GOOD_ADD,
        read=python(GOOD_READ),
        add=READS_WORDS,
        options=sketching(review=False, max_repairs=1),
    )
    assert finished.outcome is RunOutcome.FAILED
    assert len(finished.history) == 1


def test_a_claim_does_not_outlive_the_program_that_it_is_about(sandbox: Sandbox) -> None:
    """`read` is blamed in vain; then the branch of `add` is repaired."""
    answers = iter([READS_WORDS, python(GOOD_ADD)])

    def add(_: Request) -> str:
        return next(answers)

    said: ScriptedReplies = {
        "sketch": python(READ + ADD + ROOT),
        "joint": [python(GOOD_READ + "\n" + CRASHES), python(GOOD_ADD)],
        "repair_node": lambda request: (
            python(GOOD_READ)
            if "write `read(" in request.messages[1].text.rpartition("# Your step")[2]
            else add(request)
        ),
        "replan_branch": python(ADD),
    }
    finished = run(sandbox, TASK, said, sketching(review=False))
    assert finished.outcome is RunOutcome.PASSED, finished.reason
    assert len(claims(finished)) == 1
    standing = finished.solution.trace.working.evidence
    assert claims(finished)[0].evidence.check not in standing
    assert finished.solution.trace.finish is not None
    assert finished.solution.trace.finish.doubts == ()
