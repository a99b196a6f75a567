"""The requests, attempts and results of each of the twelve methods, in scripted runs.

The helper `run` also verifies each run and replays it to the same head.
"""

import json
from collections.abc import Iterator

import msgspec
import pytest

from auditcoder.domain.errors import NotFound
from auditcoder.domain.events import Assembled, DraftChosen, RunOutcome
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    FilesExample,
    FilesForm,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.options import Options, Planner
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.baselines import METHODS, method
from tests.support.scripted_runs import (
    ScriptedReplies,
    python,
    resume_after,
    run,
    sandboxed,
    stub,
)

PROGRAM = Task(
    title="Add up",
    statement="Read numbers, print their sum.",
    form=ProgramForm(),
    examples=(StdioExample(input="1 2 3\n", output="6\n"), StdioExample(input="", output="0\n")),
)
FUNCTION = Task(
    title="Double",
    statement="Twice the number.",
    form=FunctionForm(entry="double", signature="def double(x: int) -> int"),
    examples=(CallExample(arguments="2", result="4"),),
)
CLASS = Task(
    title="Counter",
    statement="A counter.",
    form=ClassForm(name="Counter", skeleton="class Counter:\n    def up(self):\n        ...\n"),
    examples=(CodeExample(code="c = Counter()\nassert c.up() == 1\n"),),
)
FILES = Task(
    title="Copy",
    statement="Copy a.txt to b.txt.",
    form=FilesForm(inputs=("a.txt",), artefacts=("b.txt",)),
    examples=(FilesExample(inputs={"a.txt": "x"}, artefacts={"b.txt": "x"}),),
)

COUNTS = """\
class Counter:
    n = 0

    def up(self):
        self.n += 1
        return self.n
"""
RIGHT = python("import sys\nprint(sum(map(int, sys.stdin.read().split())))")
WRONG = python("import sys\nprint(sum(map(int, sys.stdin.read().split())) + 1)")
STILL_WRONG = python("print(0)")
ONE_NODE = python('"""Sum it."""\ndef solve(data: str) -> str:\n    ...')
SOLVES = python("def solve(data):\n    return str(sum(map(int, data.split())))")


def names(*prompts: str) -> list[str]:
    """Return the prompts by name; that of `direct` is the first draft's."""
    return ["draft" if name == "direct" else f"methods/{name}" for name in prompts]


def cases(*pairs: tuple[str, str]) -> str:
    return json.dumps({"cases": [{"given": g, "expected": e} for g, e in pairs]})


class TestDirect:
    def test_direct_makes_one_call(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, PROGRAM, {"draft": RIGHT}, method="direct")
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == names("direct")
        assert finished.committed.planner == "direct"
        assert finished.solution.trace.manifest.method == "direct"

    def test_direct_keeps_a_wrong_program(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, PROGRAM, {"draft": WRONG}, method="direct")
        assert finished.outcome is RunOutcome.FAILED
        assert finished.prompts == names("direct")
        assert "+ 1" in finished.program

    def test_direct_keeps_code_that_does_not_parse(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, PROGRAM, {"draft": python("print((")}, method="direct")
        assert finished.outcome is RunOutcome.FAILED
        assert "print((" in finished.program

    def test_direct_fails_with_code_that_runs_but_cannot_be_read(self, sandbox: Sandbox) -> None:
        unreadable = RIGHT.replace("import sys", "import sys\n\u0242 = 1")
        finished = run(sandbox, PROGRAM, {"draft": unreadable}, method="direct")
        assert finished.outcome is RunOutcome.FAILED
        assert "\u0242 = 1" in finished.program

    def test_a_reply_without_code_is_requested_again_and_then_replaced_by_a_stub(
        self, sandbox: Sandbox
    ) -> None:
        finished = run(sandbox, PROGRAM, {"draft": "I cannot."}, method="direct")
        assert finished.outcome is RunOutcome.FAILED
        assert len(finished.rejected) == len(finished.prompts) == 2
        assert "no usable answer came" in finished.program

    def test_a_star_import_is_expanded(self, sandbox: Sandbox) -> None:
        code = python("from math import *\nimport sys\nprint(floor(fsum(map(int, sys.stdin))))")
        finished = run(sandbox, PROGRAM, {"draft": code}, method="direct")
        assert finished.program.startswith("from math import floor\nfrom math import fsum\n")
        assert finished.written("S1")[0].note == "`from math import *` is written out"

    def test_code_with_an_unknown_star_import_is_replaced_by_a_stub(self, sandbox: Sandbox) -> None:
        code = python("from nowhere import *\nprint(6)")
        finished = run(sandbox, PROGRAM, {"draft": code}, method="direct")
        assert "star import" in finished.written("S1")[0].note
        assert finished.outcome is RunOutcome.FAILED

    @pytest.mark.parametrize(
        ("task", "code", "wanted"),
        [
            (FUNCTION, "def double(x):\n    return 2 * x", "`def double(x: int) -> int`"),
            (
                CLASS,
                COUNTS,
                "the complete class `Counter`",
            ),
            (FILES, "open('b.txt', 'w').write(open('a.txt').read())", "reads a.txt"),
        ],
    )
    def test_direct_solves_tasks_of_every_form(
        self, sandbox: Sandbox, task: Task, code: str, wanted: str
    ) -> None:
        finished = run(sandbox, task, {"draft": python(code)}, method="direct")
        assert finished.outcome is RunOutcome.PASSED
        assert wanted in finished.request("draft")

    def test_code_in_the_statement_is_available_to_the_program(self, sandbox: Sandbox) -> None:
        statement = (
            "from typing import List\n\ndef twice(x):\n    return 2 * x\n\n"
            'def double(x: List[int]) -> List[int]:\n    """Twice each."""\n'
        )
        task = Task(
            title="Double",
            statement=statement,
            form=FunctionForm(entry="double", signature="def double(x: List[int]) -> List[int]"),
            examples=(CallExample(arguments="[2]", result="[4]"),),
        )
        code = "def double(x: List[int]) -> List[int]:\n    return [twice(y) for y in x]"
        scripted: ScriptedReplies = {"draft": python(code)}
        finished = run(sandbox, task, scripted, method="direct-retry")
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == names("direct")


class TestRetry:
    def test_no_retry_is_made_if_the_examples_pass(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, PROGRAM, {"draft": RIGHT}, method="direct-retry")
        assert finished.prompts == names("direct")

    def test_the_retry_prompt_contains_the_failure(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {"draft": WRONG, "methods/again": RIGHT}
        finished = run(sandbox, PROGRAM, scripted, method="direct-retry")
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == names("direct", "again")
        assert "Expected:\n6" in finished.request("methods/again")
        assert "Got:\n7" in finished.request("methods/again")

    def test_only_one_retry_is_made(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {"draft": WRONG, "methods/again": STILL_WRONG}
        finished = run(sandbox, PROGRAM, scripted, method="direct-retry")
        assert finished.outcome is RunOutcome.FAILED
        assert finished.prompts == names("direct", "again")
        assert finished.program.strip() == "print(0)"

    def test_the_retry_happens_before_assembly(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {"draft": WRONG, "methods/again": RIGHT}
        finished = run(sandbox, PROGRAM, scripted, method="direct-retry")
        assert len(finished.all(Assembled)) == 1
        assert finished.history == ()
        verdicts = [(e.check, e.verdict) for e in finished.checks("S1.example")]
        assert verdicts == [("S1.example-1", Verdict.FAILED), ("S1.example-2", Verdict.FAILED)]


class TestChainOfThought:
    def test_reasoning_is_requested_before_code(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {"methods/reason": "Add them all.", "methods/reasoned": RIGHT}
        finished = run(sandbox, PROGRAM, scripted, method="cot")
        assert finished.prompts == names("reason", "reasoned")
        assert "Add them all." in finished.request("methods/reasoned")

    def test_chain_of_thought_can_retry(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {
            "methods/reason": "Add.",
            "methods/reasoned": WRONG,
            "methods/again": RIGHT,
        }
        finished = run(sandbox, PROGRAM, scripted, method="cot-retry")
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == names("reason", "reasoned", "again")


class TestStepwise:
    def test_each_step_continues_from_the_code_so_far(self, sandbox: Sandbox) -> None:
        grown = [python("import sys"), python("import sys\nn = sys.stdin.read()"), RIGHT]
        finished = run(sandbox, PROGRAM, {"methods/step": grown}, method="step-by-step")
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == names("step", "step", "step")
        assert "n = sys.stdin.read()" in finished.request("methods/step")
        assert len(finished.written("S1")) == 3

    def test_the_skeleton_is_requested_before_its_details(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {
            "methods/skeleton": python("def main():\n    ..."),
            "methods/fill": RIGHT,
        }
        finished = run(sandbox, PROGRAM, scripted, method="framework")
        assert finished.prompts == names("skeleton", "fill")
        assert "def main():" in finished.request("methods/fill")


class TestAgentCoder:
    def test_the_test_designer_does_not_see_the_code(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {
            "methods/programmer": RIGHT,
            "methods/test_designer": cases(("4\n", "4\n")),
        }
        finished = run(sandbox, PROGRAM, scripted, method="agentcoder")
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == names("programmer", "test_designer")
        assert "sys.stdin" not in finished.request("methods/test_designer")
        assert [e.trust for e in finished.checks("S1.designed")] == [Trust.GENERATED]

    def test_failed_designed_cases_are_sent_to_the_programmer(self, sandbox: Sandbox) -> None:
        near = python("import sys\nprint(abs(sum(map(int, sys.stdin.read().split()))))")
        scripted: ScriptedReplies = {
            "methods/programmer": near,
            "methods/test_designer": cases(("-4\n", "-4\n")),
            "methods/programmer_again": RIGHT,
        }
        finished = run(sandbox, PROGRAM, scripted, method="agentcoder")
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == names("programmer", "test_designer", "programmer_again")
        assert "Expected:\n-4" in finished.request("methods/programmer_again")

    def test_agentcoder_stops_after_three_rounds(self, sandbox: Sandbox) -> None:
        tries = [python(f"print({n})") for n in range(3)]
        scripted: ScriptedReplies = {
            "methods/programmer": WRONG,
            "methods/test_designer": cases(),
            "methods/programmer_again": tries,
        }
        finished = run(sandbox, PROGRAM, scripted, method="agentcoder")
        assert finished.outcome is RunOutcome.FAILED
        assert finished.prompts.count("methods/programmer_again") == 3

    def test_agentcoder_stops_if_the_code_does_not_change(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {
            "methods/programmer": WRONG,
            "methods/test_designer": cases(),
            "methods/programmer_again": WRONG,
        }
        finished = run(sandbox, PROGRAM, scripted, method="agentcoder")
        assert finished.prompts.count("methods/programmer_again") == 1

    @pytest.mark.parametrize(
        ("task", "code", "case"),
        [
            (FUNCTION, "def double(x):\n    return 2 * x", ("3", "6")),
            (
                CLASS,
                COUNTS,
                ("c = Counter()\nc.up()", "c.up() == 2"),
            ),
        ],
    )
    def test_designed_cases_of_every_form_run(
        self, sandbox: Sandbox, task: Task, code: str, case: tuple[str, str]
    ) -> None:
        scripted: ScriptedReplies = {
            "methods/programmer": python(code),
            "methods/test_designer": cases(case),
        }
        finished = run(sandbox, task, scripted, method="agentcoder")
        assert [e.verdict for e in finished.checks("S1.designed")] == [Verdict.PASSED]

    def test_no_cases_are_designed_for_file_tasks(self, sandbox: Sandbox) -> None:
        code = python("open('b.txt', 'w').write(open('a.txt').read())")
        finished = run(sandbox, FILES, {"methods/programmer": code}, method="agentcoder")
        assert finished.outcome is RunOutcome.PASSED


class TestGraphs:
    TWO = python(
        stub("add_up(numbers: list[int]) -> int", "Add them up.", "kind: math")
        + "def solve(data: str) -> str:\n    return str(add_up([int(w) for w in data.split()]))\n"
    )

    def test_a_task_plan_has_one_general_agent_and_no_repair(self, sandbox: Sandbox) -> None:
        wrong = python("def add_up(numbers):\n    return 1")
        finished = run(sandbox, PROGRAM, {"sketch": self.TWO, "node": wrong}, method="task-plan")
        assert finished.outcome is RunOutcome.FAILED
        assert finished.prompts == ["sketch", "node"]
        assert [w.agent for w in finished.written("S1")] == ["agent_general"]

    def test_task_plan_agents_uses_the_specialist_of_the_kind(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {
            "sketch": self.TWO,
            "node": python("def add_up(numbers):\n    return 1"),
        }
        finished = run(sandbox, PROGRAM, scripted, method="task-plan-agents")
        assert finished.prompts == ["sketch", "node"]
        assert [w.agent for w in finished.written("S1")] == ["agent_math"]
        assert finished.solution.trace.manifest.settings["max_repairs"] == "0"

    def test_auditcoder_repairs_a_failing_program(self, sandbox: Sandbox) -> None:
        scripted: ScriptedReplies = {
            "sketch": self.TWO,
            "joint": python("def add_up(numbers):\n    return numbers[0] * 0 + sum(numbers)"),
            "repair_node": python("def add_up(numbers):\n    return sum(numbers)"),
        }
        assert run(sandbox, PROGRAM, scripted).outcome is RunOutcome.PASSED


FORMS = {
    "program": (PROGRAM, RIGHT),
    "function": (FUNCTION, python("def double(x):\n    return 2 * x")),
    "class": (CLASS, python(COUNTS)),
    "files": (FILES, python("open('b.txt', 'w').write(open('a.txt').read())")),
}


class TestWholeDrafts:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("named", ["best-of-k", "consensus"])
    def test_they_solve_tasks_of_every_form(self, sandbox: Sandbox, named: str, form: str) -> None:
        task, reply = FORMS[form]
        finished = run(sandbox, task, {"draft": reply}, Options(drafts=2), method=named)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["draft"] * (1 if named == "best-of-k" else 2)
        assert [node.id for node in finished.graph.nodes] == ["S0", "S1"]

    def test_the_first_draft_that_passes_is_the_best_of_k(self, sandbox: Sandbox) -> None:
        said: ScriptedReplies = {"draft": [WRONG, RIGHT]}
        finished = run(sandbox, PROGRAM, said, Options(drafts=4), method="best-of-k")
        assert finished.outcome is RunOutcome.PASSED
        assert set(finished.all(DraftChosen)[0].versions.values()) == {2}

    def test_consensus_asks_for_every_draft_and_takes_the_outputs_of_most(
        self, sandbox: Sandbox
    ) -> None:
        untested = msgspec.structs.replace(FUNCTION, examples=())
        bodies = ["x + 2", "2 * x", "3 * x", "x + x"]
        said = [python(f"def double(x):\n    return {body}") for body in bodies]
        finished = run(sandbox, untested, {"draft": said}, Options(drafts=4), method="consensus")
        assert len(finished.prompts) == 4
        assert set(finished.all(DraftChosen)[0].versions.values()) == {2}
        assert "2 * x" in finished.program

    def test_neither_repairs(self, sandbox: Sandbox) -> None:
        for named in ("best-of-k", "consensus"):
            finished = run(sandbox, PROGRAM, {"draft": WRONG}, Options(drafts=2), method=named)
            assert finished.outcome is RunOutcome.FAILED
            assert finished.history == ()
            assert finished.prompts == ["draft", "draft"]

    @pytest.mark.parametrize("form", FORMS)
    def test_the_first_request_is_the_direct_one(self, sandbox: Sandbox, form: str) -> None:
        task, reply = FORMS[form]
        digests = {
            run(sandbox, task, {"draft": reply}, chosen, method=named).asked[0][1].digest
            for named, chosen in (
                ("direct", Options()),
                ("best-of-k", Options(drafts=3)),
                ("consensus", Options(drafts=1)),
                ("auditcoder", Options(planner=Planner.TASK, drafts=3)),
            )
        }
        assert len(digests) == 1


WHOLE = [m for m in METHODS if m not in {"task-plan", "task-plan-agents", "auditcoder"}]
ANY: ScriptedReplies = {
    "draft": WRONG,
    "draft_reasoned": WRONG,
    **{f"methods/{p}": WRONG for p in ("reasoned", "step", "fill", "programmer")},
    **{f"methods/{p}": RIGHT for p in ("again", "programmer_again")},
    "methods/reason": "Add.",
    "methods/skeleton": python("import sys"),
    "methods/test_designer": cases(("4", "4")),
}


@pytest.mark.parametrize("named", WHOLE)
def test_an_interrupted_method_resumes_to_the_same_program(sandbox: Sandbox, named: str) -> None:
    finished = run(sandbox, PROGRAM, ANY, method=named)
    replies = len(finished.prompts)
    for entries in range(1, len(finished.raw.bodies)):
        solution, asked = resume_after(finished, entries, sandbox)
        assert solution.program == finished.program
        assert asked <= replies


def test_there_are_twelve_methods_and_an_unknown_one_is_reported(sandbox: Sandbox) -> None:
    assert len(METHODS) == 12
    with pytest.raises(NotFound, match=r"unknown method 'magic'") as caught:
        method("magic")
    assert "direct, direct-retry, cot" in caught.value.advice


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()
