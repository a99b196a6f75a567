"""Scripted runs with the planner `task`: the first code is chosen among drafts.

The helper `run` also verifies each run and replays it to the same head.
"""

import json
from collections.abc import Iterator, Sequence

import pytest

from auditcoder.domain.drafts import ranks
from auditcoder.domain.events import (
    CodeWritten,
    DraftChosen,
    DraftsCommitted,
    DraftWritten,
    RunOutcome,
    VariantTried,
)
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws import advance
from auditcoder.domain.ledger import Drafting, Ledger
from auditcoder.domain.request import GENEROUS, FinishReason, Reply
from auditcoder.domain.task import (
    ClassForm,
    CodeExample,
    FilesExample,
    FilesForm,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.options import AutoSwitch, Build, Options
from auditcoder.lifecycle.ports import Sandbox
from tests.support.doubling_drafts import FUNCTION, doubling, options
from tests.support.scripted_runs import (
    FinishedRun,
    costly,
    python,
    resume_after,
    run,
    sandboxed,
)

BARE = Task(
    title="Double",
    statement="Write double, which returns twice the number.",
    form=FunctionForm(entry="double"),
    examples=FUNCTION.examples,
)
UNTESTED = Task(title="Double", statement="Twice the number x.", form=FUNCTION.form)
PROGRAM = Task(
    title="Add up",
    statement="Read numbers, print their sum.",
    form=ProgramForm(),
    examples=(StdioExample(input="1 2 3\n", output="6\n"), StdioExample(input="", output="0\n")),
)
FILES = Task(
    title="Copy",
    statement="Copy a.txt to b.txt.",
    form=FilesForm(inputs=("a.txt",), artefacts=("b.txt",)),
    examples=(FilesExample(inputs={"a.txt": "x"}, artefacts={"b.txt": "x"}),),
)
CLASS = Task(
    title="Counter",
    statement="Write the class Counter.",
    form=ClassForm(
        name="Counter",
        skeleton=(
            "class Counter:\n    def __init__(self):\n        self.n = 0\n\n"
            "    def up(self):\n        ...\n\n    def down(self):\n        ...\n"
        ),
    ),
    examples=(
        CodeExample(code="assert Counter().up() == 1\n"),
        CodeExample(code="assert Counter().down() == -1\n"),
    ),
)

ADDS = python("import sys\nprint(sum(map(int, sys.stdin.read().split())))")
COPIES = python("open('b.txt', 'w').write(open('a.txt').read())")
S1 = NodeId("S1")
CLASS_UP, CLASS_DOWN = NodeId("S2"), NodeId("S3")
"""The methods of the class; S1 is its `__init__`, which the skeleton has."""


def counter(up: str, down: str, before: str = "") -> str:
    """Return a reply with the class; an empty body leaves its method out."""
    methods = "".join(
        f"\n    def {name}(self):\n        {body}\n"
        for name, body in (("up", up), ("down", down))
        if body
    )
    start = "class Counter:\n    def __init__(self):\n        self.n = 0\n"
    return python(f"{before}{start}{methods}")


UP, DOWN = "self.n += 1; return self.n", "self.n -= 1; return self.n"
COUNTS = counter(UP, DOWN)


def solve(
    sandbox: Sandbox,
    task: Task,
    said: str | Reply | Sequence[str | Reply],
    chosen: Options | None = None,
) -> FinishedRun:
    """Run with these replies to the drafts, in their order."""
    return run(sandbox, task, {"draft": said, "draft_reasoned": said}, chosen or options())


def choice(finished: FinishedRun) -> dict[NodeId, int]:
    """Return the versions that were chosen."""
    (event,) = finished.all(DraftChosen)
    return event.versions


def drafted(finished: FinishedRun) -> list[int]:
    """Return the slots whose drafts were recorded."""
    return [event.slot for event in finished.all(DraftWritten)]


def drafting(finished: FinishedRun) -> Drafting:
    """Return what the laws know about the drafts at the end of a run."""
    ledger = Ledger()
    for event in finished.raw.events():
        ledger = advance(ledger, event, finished.raw.blob)
    assert ledger.drafting is not None
    return ledger.drafting


class TestEveryForm:
    @pytest.mark.parametrize(
        ("task", "reply"),
        [
            (FUNCTION, doubling()),
            (BARE, python("def double(n, /, times=2):\n    return times * n")),
            (PROGRAM, ADDS),
            (FILES, COPIES),
            (CLASS, COUNTS),
        ],
        ids=["function", "function without a signature", "program", "files", "class"],
    )
    def test_a_draft_that_passes_every_example_is_the_code(
        self, sandbox: Sandbox, task: Task, reply: str
    ) -> None:
        finished = solve(sandbox, task, [reply])
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["draft"]
        assert drafted(finished) == [1]
        assert set(choice(finished).values()) == {1}
        assert finished.committed.planner == ("skeleton" if task is CLASS else "task")

    @pytest.mark.parametrize(
        ("task", "wrong", "right"),
        [
            (FUNCTION, doubling("x + 2"), doubling()),
            (BARE, doubling("x + 2"), doubling()),
            (PROGRAM, python("print(6)"), ADDS),
            (FILES, python("open('b.txt', 'w').write('y')"), COPIES),
            (CLASS, counter("return 0", "return 0"), COUNTS),
        ],
        ids=["function", "function without a signature", "program", "files", "class"],
    )
    def test_a_better_draft_is_chosen(
        self, sandbox: Sandbox, task: Task, wrong: str, right: str
    ) -> None:
        finished = solve(sandbox, task, [wrong, right])
        assert finished.outcome is RunOutcome.PASSED
        assert set(choice(finished).values()) == {2}

    def test_helpers_of_a_class_stand_beside_it(self, sandbox: Sandbox) -> None:
        helper = "STEP = 1\n\n\ndef more(n):\n    return n + STEP\n\n\n"
        reply = counter("self.n = more(self.n); return self.n", DOWN, helper)
        finished = solve(sandbox, CLASS, [reply])
        assert finished.outcome is RunOutcome.PASSED
        assert choice(finished).keys() == {ROOT, CLASS_UP, CLASS_DOWN}
        assert "def more" in finished.code(ROOT)


class TestTheSlots:
    def test_the_first_draft_is_sampled_like_the_only_one(self, sandbox: Sandbox) -> None:
        chosen = options(seed=7, temperature=0.1, draft_temperature=0.9)
        finished = solve(sandbox, FUNCTION, [doubling("x"), doubling("0"), doubling()], chosen)
        sampled = [(request.temperature, request.seed) for _, request in finished.asked]
        assert sampled == [(0.1, 7), (0.9, 8), (0.9, 9)]
        (event,) = finished.all(DraftsCommitted)
        assert [(slot.temperature, slot.seed) for slot in event.slots] == sampled

    def test_every_slot_is_used_if_no_draft_passes(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, FUNCTION, doubling("x"))
        assert finished.outcome is RunOutcome.FAILED
        assert drafted(finished) == [1, 2, 3]
        assert set(choice(finished).values()) == {1}

    def test_the_last_of_many_slots_have_another_prompt(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, FUNCTION, doubling("x"), options(8))
        assert finished.prompts == ["draft"] * 6 + ["draft_reasoned"] * 2

    @pytest.mark.parametrize("chosen", [options(0), options(3, build=Build.NODE)])
    def test_without_drafts_the_first_reply_is_the_code(
        self, sandbox: Sandbox, chosen: Options
    ) -> None:
        said = {"joint": doubling(), "node": doubling()}
        finished = run(sandbox, FUNCTION, said, chosen)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.all(DraftsCommitted) == []


class TestAgreement:
    def test_two_drafts_that_agree_suffice_without_examples(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, UNTESTED, [doubling(), doubling("x + x")], options(5))
        assert drafted(finished) == [1, 2]
        assert set(choice(finished).values()) == {1}

    def test_the_outputs_of_most_drafts_are_preferred(self, sandbox: Sandbox) -> None:
        replies = [doubling("x + 2"), doubling(), doubling("x + x")]
        finished = solve(sandbox, UNTESTED, replies, options(5))
        assert drafted(finished) == [1, 2, 3]
        assert set(choice(finished).values()) == {2}
        (event,) = finished.all(DraftChosen)
        assert "draft 2, best of 3 tried" in event.reason
        assert "outputs agree" in event.reason

    def test_examples_come_before_agreement(self, sandbox: Sandbox) -> None:
        replies = [doubling("x"), doubling("x"), doubling("4 if x == 2 else 0")]
        finished = solve(sandbox, FUNCTION, replies)
        assert set(choice(finished).values()) == {3}


class TestUnusableReplies:
    def test_a_slot_without_a_usable_reply_stays_empty(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, FUNCTION, ["I cannot.", "No.", doubling()])
        assert finished.outcome is RunOutcome.PASSED
        assert len(finished.rejected) == 2
        assert drafted(finished) == [2]

    def test_a_reply_that_is_asked_for_again_fills_its_slot(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, FUNCTION, ["I cannot.", doubling()])
        assert finished.outcome is RunOutcome.PASSED
        assert drafted(finished) == [1]
        first, again = (request for _, request in finished.asked)
        assert (first.temperature, first.seed, first.prompt) == (
            again.temperature,
            again.seed,
            again.prompt,
        )
        assert len(again.messages) > len(first.messages)

    def test_a_reply_that_was_cut_is_asked_for_with_more_room(self, sandbox: Sandbox) -> None:
        chosen = options(edge_cases=AutoSwitch.OFF)
        cut = Reply(text="```python\ndef dou", finish=FinishReason.LENGTH, usage=Usage(calls=1))
        finished = run(sandbox, FUNCTION, {"draft": [cut, doubling()]}, chosen, limits=GENEROUS)
        assert finished.outcome is RunOutcome.PASSED
        assert drafted(finished) == [1]

    @pytest.mark.parametrize(
        "reply", ["I cannot.", python("from nowhere import *\nprint(1)")], ids=["none", "refused"]
    )
    @pytest.mark.parametrize("task", [FUNCTION, PROGRAM], ids=["function", "program"])
    def test_without_a_draft_there_is_a_stub(
        self, sandbox: Sandbox, task: Task, reply: str
    ) -> None:
        finished = solve(sandbox, task, reply, options(2))
        assert finished.outcome is not RunOutcome.PASSED
        assert drafted(finished) == []
        assert finished.all(DraftChosen) == []
        assert [written.agent for written in finished.written(S1)] == ["degraded"]

    def test_a_class_without_a_draft_has_stubs(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, CLASS, "I cannot.", options(2))
        for node in (CLASS_UP, CLASS_DOWN):
            assert [written.agent for written in finished.written(node)] == ["degraded"]
        assert "NotImplementedError" in finished.program

    def test_a_method_that_a_reply_lacks_is_a_stub(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, CLASS, counter(UP, ""), options(1))
        (event,) = finished.all(DraftWritten)
        assert [part.node for part in event.parts if part.is_stub] == [CLASS_DOWN]
        assert [written.agent for written in finished.written(CLASS_DOWN)] == ["degraded"]

    def test_a_draft_that_cannot_be_assembled_is_replaced_by_stubs(self, sandbox: Sandbox) -> None:
        assert isinstance(CLASS.form, ClassForm)
        typed = CLASS.form.skeleton.replace("up(self)", "up(self, by: Iterable = ())")
        skeleton = f"from collections.abc import Iterable\n\n\n{typed}"
        task = Task(
            title="Counter",
            statement="Write the class Counter.",
            form=ClassForm(name="Counter", skeleton=skeleton),
            examples=CLASS.examples,
        )
        reply = counter(UP, DOWN, "from typing import Iterable\n\n\n")
        reply = reply.replace("up(self)", "up(self, by: Iterable = ())")
        finished = solve(sandbox, task, [reply], options(1))
        assert drafted(finished) == [1]
        assert finished.all(VariantTried) == []
        for node in (CLASS_UP, CLASS_DOWN):
            assert [written.agent for written in finished.written(node)] == ["degraded"]

    def test_code_that_cannot_be_read_is_kept_but_never_passes(self, sandbox: Sandbox) -> None:
        unreadable = python("\u0242 = 1\n\n\ndef double(x: int) -> int:\n    return 2 * x")
        alone = solve(sandbox, FUNCTION, unreadable, options(1))
        assert alone.outcome is not RunOutcome.PASSED
        (tried,) = alone.all(VariantTried)
        assert {result.verdict for result in tried.results.values()} == {Verdict.CRASH}
        assert "\u0242" in alone.program
        finished = solve(sandbox, FUNCTION, [unreadable, doubling()])
        assert finished.outcome is RunOutcome.PASSED
        assert set(choice(finished).values()) == {2}


class TestBudgets:
    def test_a_budget_that_ends_between_drafts_ends_the_drafts(self, sandbox: Sandbox) -> None:
        replies = [costly(doubling("x"), 30_000), costly(doubling("x + 2"), 30_000)]
        finished = solve(sandbox, FUNCTION, [*replies, doubling()], options(budget_tokens=50_000))
        assert drafted(finished) == [1, 2]
        assert set(choice(finished).values()) == {2}
        assert finished.outcome is RunOutcome.FAILED

    def test_a_draft_that_passes_is_kept_when_the_budget_is_spent(self, sandbox: Sandbox) -> None:
        reply = costly(doubling(), 100_000)
        finished = solve(sandbox, UNTESTED, [reply, doubling()], options(budget_tokens=50_000))
        assert drafted(finished) == [1]
        assert set(choice(finished).values()) == {1}

    def test_a_budget_that_allows_no_draft_leaves_no_program(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, FUNCTION, [], options(budget_tokens=10))
        assert finished.outcome is RunOutcome.STOPPED
        assert finished.solution.program is None
        assert len(finished.all(DraftsCommitted)) == 1

    def test_unusable_replies_and_a_spent_budget_leave_no_program(self, sandbox: Sandbox) -> None:
        replies = [costly("I cannot.", 30_000), costly("No.", 30_000)]
        finished = solve(sandbox, FUNCTION, replies, options(budget_tokens=50_000))
        assert finished.outcome is RunOutcome.STOPPED
        assert finished.all(CodeWritten) == []


HALVES = [counter(UP, "return 7"), counter("return 7", DOWN)]


class TestRecombination:
    def test_the_right_parts_of_wrong_drafts_are_combined(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, CLASS, HALVES, options(2))
        assert finished.outcome is RunOutcome.PASSED
        assert choice(finished) == {CLASS_UP: 1, CLASS_DOWN: 2}
        (event,) = finished.all(DraftChosen)
        assert event.reason.startswith("parts of drafts 1, 2, best of ")
        assert finished.prompts == ["draft", "draft"]

    def test_no_more_programs_run_than_are_allowed(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, CLASS, HALVES, options(2, max_search_runs=0))
        assert set(choice(finished).values()) == {1}
        assert len(finished.all(VariantTried)) == 2
        replies = [counter(f"return {n}", f"return {n + 10}") for n in range(3)]
        for most in (1, 3, 60):
            finished = solve(sandbox, CLASS, replies, options(3, max_search_runs=most))
            assert len(finished.all(VariantTried)) <= 3 + most

    def test_a_combination_is_kept_only_if_it_is_better(self, sandbox: Sandbox) -> None:
        replies = [counter(UP, "return 7"), counter("return 7", "return 8"), HALVES[0]]
        finished = solve(sandbox, CLASS, replies)
        known = drafting(finished)
        assert known.chosen is not None
        ranked = ranks(known.tried)
        assert ranked[known.tried.index(known.chosen)] == max(ranked)
        assert set(choice(finished).values()) == {1}

    def test_nothing_is_combined_with_a_draft_that_passes(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, CLASS, [HALVES[0], COUNTS], options(2))
        assert len(finished.all(VariantTried)) == 2
        assert set(choice(finished).values()) == {2}

    def test_equal_code_is_not_tried_twice(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, CLASS, HALVES[0], options(3))
        assert len(finished.all(VariantTried)) == 3

    def test_a_stub_is_not_combined_but_replaced(self, sandbox: Sandbox) -> None:
        lacking = counter(UP, "")
        finished = solve(sandbox, CLASS, [lacking, lacking, counter("return 7", DOWN)], options(2))
        assert finished.outcome is RunOutcome.PASSED
        assert choice(finished) == {CLASS_UP: 1, CLASS_DOWN: 2}

    def test_drafts_with_and_without_helpers_are_combined(self, sandbox: Sandbox) -> None:
        helped = counter(
            "return 7",
            "self.n = less(self.n); return self.n",
            "def less(n):\n    return n - 1\n\n\n",
        )
        for replies in ([counter(UP, "return 7"), helped], [helped, counter(UP, "return 7")]):
            finished = solve(sandbox, CLASS, replies, options(2))
            known = drafting(finished)
            assert known.chosen is not None
            assert known.chosen.rank == max(tried.rank for tried in known.tried)


class TestOutputs:
    def outputs(self, finished: FinishedRun) -> list[list[str | None]]:
        return [json.loads(finished.text_of(e.outputs)) for e in finished.all(VariantTried)]

    def inputs(self, finished: FinishedRun) -> list[str]:
        (event,) = finished.all(DraftsCommitted)
        known: list[str] = json.loads(finished.text_of(event.inputs))
        return known

    def test_every_draft_runs_on_the_same_inputs(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, UNTESTED, [doubling(), doubling("x + 2")], options(2))
        inputs = self.inputs(finished)
        assert inputs
        first, second = self.outputs(finished)
        assert first == [str(2 * int(text)) for text in inputs]
        assert second == [str(int(text) + 2) for text in inputs]

    def test_an_exception_is_no_output(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, UNTESTED, doubling("1 // 0 if x else 0"), options(1))
        (outputs,) = self.outputs(finished)
        assert outputs == ["0" if int(text) == 0 else None for text in self.inputs(finished)]

    def test_a_call_that_does_not_end_has_no_output_nor_have_those_after_it(
        self, sandbox: Sandbox
    ) -> None:
        loops = python("def double(x: int) -> int:\n    while x:\n        pass\n    return 0")
        finished = solve(sandbox, UNTESTED, loops, options(1))
        (outputs,) = self.outputs(finished)
        inputs = self.inputs(finished)
        first = next(n for n, text in enumerate(inputs) if int(text))
        assert outputs == ["0"] * first + [None] * (len(inputs) - first)

    def test_of_a_long_output_the_digest_is_compared(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, UNTESTED, doubling("'a' * 5000"), options(1))
        (outputs,) = self.outputs(finished)
        assert all(text is not None and text.startswith("sha256:") for text in outputs)

    @pytest.mark.parametrize("value", ["'\\ud800'", "object()", "float('nan')", "{1, 'a', None}"])
    def test_any_value_is_an_output(self, sandbox: Sandbox, value: str) -> None:
        finished = solve(sandbox, UNTESTED, doubling(value), options(1))
        (outputs,) = self.outputs(finished)
        assert len(outputs) == len(self.inputs(finished))

    def test_a_program_prints_its_outputs(self, sandbox: Sandbox) -> None:
        finished = solve(sandbox, PROGRAM, [python("print(6)"), ADDS], options(2))
        first, second = self.outputs(finished)
        assert set(first) == {"6"}
        assert second == [str(sum(map(int, text.split()))) for text in self.inputs(finished)]

    def test_a_program_that_does_not_end_is_given_up_soon(self, sandbox: Sandbox) -> None:
        quick = Task(
            title="Add up",
            statement=PROGRAM.statement,
            form=ProgramForm(),
            examples=PROGRAM.examples[:1],
        )
        finished = solve(sandbox, quick, python("while True:\n    pass"), options(1))
        (outputs,) = self.outputs(finished)
        assert outputs == [None] * len(self.inputs(finished))


class TestInterruptions:
    @pytest.mark.parametrize(
        ("task", "replies"),
        [(CLASS, HALVES), (FUNCTION, [doubling("x"), "I cannot.", doubling()])],
        ids=["combined", "an unusable reply"],
    )
    def test_a_run_resumes_after_every_event(
        self, sandbox: Sandbox, task: Task, replies: list[str]
    ) -> None:
        finished = solve(sandbox, task, replies, options(2))
        total = len(finished.prompts)
        for entries in range(1, len(finished.raw.bodies)):
            solution, asked = resume_after(finished, entries, sandbox)
            assert solution.program == finished.program
            assert solution.outcome is finished.outcome
            assert asked <= total


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()
