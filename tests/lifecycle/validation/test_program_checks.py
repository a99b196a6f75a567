"""Examples are run on the program, and every ending has a verdict."""

from collections.abc import Iterator
from typing import Any, ClassVar, cast

import msgspec
import pytest

from auditcoder.adapters.sandboxes.job_writer import encoded_job
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.brief import Approach
from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.events import CheckDropped
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.execution import (
    Bounds,
    CallFunction,
    Execution,
    ExecutionOutcome,
    RunFiles,
)
from auditcoder.domain.ids import ROOT, NodeId
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
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.planning.plan import brief_for
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import CheckObservation
from auditcoder.lifecycle.validation.node_checks import validate_node
from auditcoder.lifecycle.validation.program_checks import (
    action_for,
    bounds,
    checks,
    run_example,
    validate_program,
)
from tests.support.checked_programs import WrittenFunction, written_program
from tests.support.record_builders import RUN, ticking
from tests.support.scripted_runs import sandboxed
from tests.support.sketched_runs import sketching


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
OTHER_VERDICTS = {
    ("class with a unittest", "takes too much"): "the test reports an error like any other",
}


LATE_ENDINGS = {
    "hangs": (
        "import threading; threading.Thread(target=exec, args=('while True: pass',)).start()",
        Verdict.TIMEOUT,
    ),
    "leaves": ("import atexit, os; atexit.register(os._exit, 3)", Verdict.CRASH),
    "aborts": ("import atexit, os; atexit.register(os.abort)", Verdict.CRASH),
    "floods": (
        "import atexit, os; atexit.register(os.write, 1, b'x' * (5 << 20))",
        Verdict.CRASH,
    ),
}
"""What a program can do after it gave its result."""
CASES = [(f, e) for f in FORMS for e in ENDINGS if (f, e) not in OTHER_VERDICTS]


def observe_example(
    sandbox: Sandbox, form: Form, example: Example, source: str
) -> CheckObservation:
    """Run one example on a program without nodes."""
    limits = Limits(seconds=1.0 if "while True" in source else 30.0, memory_mb=128)
    task = Task(title="T", statement="T", form=form, examples=(example,), limits=limits)
    store = SqliteStore(":memory:")
    recorder = Recorder.start(store, RUN, task, ticking())
    context = RunContext(task, sketching(), recorder, cast("Any", None), sandbox)
    seen = run_example(context, source, example)
    store.close()
    return seen


def observe_form(sandbox: Sandbox, form: str, does: str, factor: int = 2) -> CheckObservation:
    kind, example, source = FORMS[form]
    return observe_example(sandbox, kind, example, source.format(does, factor))


class TestExampleRuns:
    @pytest.mark.parametrize(("form", "ending"), CASES)
    def test_the_ending_of_a_program_gives_its_verdict(
        self, sandbox: Sandbox, form: str, ending: str
    ) -> None:
        does, verdict = ENDINGS[ending]
        seen = observe_form(sandbox, form, does)
        assert seen.verdict is verdict, seen
        assert (seen.message == "") is (verdict is Verdict.PASSED)

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("ending", LATE_ENDINGS)
    def test_a_right_result_with_a_bad_ending_has_not_passed(
        self, sandbox: Sandbox, form: str, ending: str
    ) -> None:
        does, verdict = LATE_ENDINGS[ending]
        seen = observe_form(sandbox, form, does)
        assert seen.verdict is verdict, seen
        assert seen.message

    @pytest.mark.parametrize("form", FORMS)
    def test_a_wrong_answer_fails_the_example(self, sandbox: Sandbox, form: str) -> None:
        seen = observe_form(sandbox, form, "pass", factor=3)
        assert seen.verdict is Verdict.FAILED
        assert seen.message
        assert seen.ran is None  # no line of a program that is not assembled has an owner

    @pytest.mark.parametrize("form", FORMS)
    def test_a_crash_is_reported_with_its_frames(self, sandbox: Sandbox, form: str) -> None:
        seen = observe_form(sandbox, form, "raise ValueError('no')")
        assert "ValueError: no" in seen.message
        assert seen.frames[-1].function in {"run", "f", "C.f"}

    def test_a_missing_artefact_fails_the_example(self, sandbox: Sandbox) -> None:
        seen = observe_form(sandbox, "files", "return")
        assert (seen.verdict, seen.message) == (Verdict.FAILED, "it left no b")

    def test_a_missing_artefact_is_not_made_up_by_its_heading(self, sandbox: Sandbox) -> None:
        """Such a text would read as if both files were there and right."""
        form = FilesForm(artefacts=("a", "b"))
        example = FilesExample(inputs={}, artefacts={"a": "5\n", "b": "6\n"})
        for written, observed in (
            ("5\n\n==> b <==\n6\n", None),
            ("5\n\n==> b <==\n7\n", "==> a <==\n5\n\n==> b <==\n7\n\n"),
            ("5\n", "==> a <==\n5\n\n"),
        ):
            source = f"open('a', 'w').write({written!r})\n"
            seen = observe_example(sandbox, form, example, source)
            assert (seen.verdict, seen.message) == (Verdict.FAILED, "it left no b")
            assert seen.observed == observed

    @pytest.mark.parametrize(
        "result", ["1 / 0", "nonsense", "(", "1 << 5_000_000", "[0] * 5_000_000"]
    )
    def test_an_example_whose_result_has_no_value_decides_nothing(
        self, sandbox: Sandbox, result: str
    ) -> None:
        example = CallExample(arguments="2", result=result)
        seen = observe_example(sandbox, FORMS["function"][0], example, "def f(x):\n    return x\n")
        assert (seen.verdict, seen.observed) == (Verdict.NOT_RUN, None)
        assert seen.message == "the expected result cannot be evaluated without the program"
        crash = observe_example(
            sandbox, FORMS["function"][0], example, "def f(x):\n    return 1 / 0\n"
        )
        assert crash.verdict is Verdict.CRASH

    @pytest.mark.parametrize(
        "tests", ["", "import unittest\n", "def helper():\n    assert False\n"]
    )
    def test_test_code_without_tests_decides_nothing(self, sandbox: Sandbox, tests: str) -> None:
        form, _, source = FORMS["class"]
        example = CodeExample(code=tests)
        seen = observe_example(sandbox, form, example, source.format("pass", 2))
        assert (seen.verdict, seen.message) == (Verdict.VACUOUS, "the test code has no test")
        crash = observe_example(sandbox, form, example, "1 / 0\n")
        assert crash.verdict is Verdict.CRASH

    def test_an_expected_expression_is_evaluated_before_the_comparison(
        self, sandbox: Sandbox
    ) -> None:
        example = CallExample(arguments="2", result="set([2]) | {3}")
        seen = observe_example(
            sandbox, FORMS["function"][0], example, "def f(x):\n    return {x, x + 1}\n"
        )
        assert seen.verdict is Verdict.PASSED

    @pytest.mark.parametrize(
        "program",
        [
            "set = frozenset = list = lambda *_: 5\n\n\n",
            "import builtins\n\nbuiltins.set = lambda *_: 5\n\n\n",
        ],
    )
    def test_no_program_influences_the_value_of_an_expected_expression(
        self, sandbox: Sandbox, program: str
    ) -> None:
        example = CallExample(arguments="2", result="set([2]) | {3}")
        for result, verdict in (("5", Verdict.FAILED), ("{2, 3}", Verdict.PASSED)):
            seen = observe_example(
                sandbox,
                FORMS["function"][0],
                example,
                f"{program}def f(x):\n    return {result}\n",
            )
            assert seen.verdict is verdict, seen

    def test_an_expected_expression_that_does_not_end_well_has_no_value(
        self, sandbox: Sandbox
    ) -> None:
        leaves = "__import__('atexit').register(__import__('os')._exit, 3) and 2"
        example = CallExample(arguments="2", result=leaves)
        seen = observe_example(sandbox, FORMS["function"][0], example, "def f(x):\n    return x\n")
        assert seen.verdict is Verdict.NOT_RUN


class SentText:
    """A sandbox that keeps the text of everything that is sent to it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.kind = sandbox.kind
        self.sent: list[bytes] = []

    def run(self, execution: Execution) -> ExecutionOutcome:
        self.sent.append(encoded_job(execution, "proof") + repr(execution).encode())
        return self._sandbox.run(execution)

    def close(self) -> None:
        """Do nothing: the fixture closes the sandbox."""


class TestExpectedResults:
    """The runs that decide the verdicts on examples that are data do not contain the answers."""

    ANSWER = "quincunx"
    ROOT_CODE = "def solve(data: str = '') -> str:\n    return open('a').read() if 0 else data\n"
    TASKS: ClassVar[dict[str, Task]] = {
        "program": Task(
            title="T",
            statement="S",
            form=ProgramForm(),
            examples=(StdioExample(input="2", output=ANSWER),),
        ),
        "function": Task(
            title="T",
            statement="S",
            form=FunctionForm(entry="solve", signature="def solve(data)"),
            examples=(CallExample(arguments="'2'", result=repr(ANSWER)),),
        ),
        "files": Task(
            title="T",
            statement="S",
            form=FilesForm(inputs=("a",), artefacts=("b",)),
            examples=(FilesExample(inputs={"a": "2"}, artefacts={"b": ANSWER}),),
        ),
    }

    @pytest.mark.parametrize("form", TASKS)
    def test_no_run_of_the_program_contains_an_expected_result(
        self, sandbox: Sandbox, form: str
    ) -> None:
        task, sent = self.TASKS[form], SentText(sandbox)
        planned = msgspec.structs.replace(task, examples=())
        brief = brief_for(planned, Approach(), ((task.examples[0], "planned"),))
        node = WrittenFunction(Contract(name="g", params=()), "def g():\n    return 1\n")
        with written_program(sent, [node], self.ROOT_CODE, task, brief=brief) as context:
            seen = validate_program(context)
        assert [e.verdict for e in seen[1:]] == [Verdict.FAILED] * 2, seen
        assert sent.sent
        assert not any(self.ANSWER.encode() in text for text in sent.sent)

    def test_no_run_of_a_node_contains_an_expected_result(self, sandbox: Sandbox) -> None:
        sent = SentText(sandbox)
        example = CallExample(arguments="2", result=repr(self.ANSWER))
        contract = Contract(name="g", params=(Param(name="x"),), examples=(example,))
        node = WrittenFunction(contract, "def g(x):\n    return x\n")
        task = Task(
            title="T",
            statement="S",
            form=FunctionForm(entry="g"),
            examples=(CallExample(arguments="3", result=repr(self.ANSWER)),),
        )
        with written_program(sent, [node], "import math\n", task, root_contract=None) as context:
            seen = validate_node(context, NodeId("S1"))
        assert [e.check.partition("-")[0] for e in seen[2:]] == ["S1.given", "S1.example"]
        assert [e.verdict for e in seen[2:]] == [Verdict.FAILED] * 2
        assert len(sent.sent) == 2
        assert not any(self.ANSWER.encode() in text for text in sent.sent)


class TestProgramChecks:
    ROOT_CODE = (
        "def solve(data: str) -> str:\n    return str(2 * int(data))\n\n\n"
        'if __name__ == "__main__":\n    print(solve(input()))\n'
    )
    OTHER = WrittenFunction(Contract(name="g", params=()), "def g():\n    return 1\n")
    GIVEN = StdioExample(input="2\n", output="4\n", explanation="twice")
    TASK = Task(title="T", statement="S", form=ProgramForm(), examples=(GIVEN,))
    BRIEF = brief_for(TASK, Approach(), ((StdioExample(input="3\n", output="7\n"), "planned"),))

    def test_given_checks_come_before_derived_and_generated_ones(self, sandbox: Sandbox) -> None:
        with written_program(
            sandbox, [self.OTHER], self.ROOT_CODE, self.TASK, brief=self.BRIEF
        ) as context:
            seen = validate_program(context)
        assert [(e.check, e.trust, e.kind, e.verdict) for e in seen] == [
            ("loads", Trust.DERIVED, CheckKind.COMPILE, Verdict.PASSED),
            ("example-1", Trust.GIVEN, CheckKind.EXAMPLE, Verdict.PASSED),
            ("derived-1", Trust.DERIVED, CheckKind.BOUNDARY, Verdict.PASSED),
            ("generated-2", Trust.GENERATED, CheckKind.BOUNDARY, Verdict.FAILED),
        ]
        assert seen[1].requirement == "twice"
        assert seen[3].ran is not None
        assert ROOT in seen[3].ran

    def test_dropped_checks_are_not_run(self, sandbox: Sandbox) -> None:
        with written_program(
            sandbox, [self.OTHER], self.ROOT_CODE, self.TASK, brief=self.BRIEF
        ) as context:
            context.recorder.record(CheckDropped(check=CheckId("generated-2"), reason="wrong"))
            assert [c.id for c, _ in checks(context)] == ["example-1", "derived-1"]

    def test_a_program_that_cannot_be_loaded_fails_the_first_check(self, sandbox: Sandbox) -> None:
        root = "def solve(data: str) -> str:\n    return data\n\n\n1 / 0\n"
        with written_program(sandbox, [self.OTHER], root, self.TASK) as context:
            loads = validate_program(context)[0]
        assert loads.verdict is Verdict.CRASH

    @pytest.mark.parametrize(
        ("source", "verdict"),
        [
            ("def f(x):\n    return x\n", Verdict.PASSED),
            ("f = 3\n", Verdict.FAILED),
            ("pass\n", Verdict.FAILED),
        ],
    )
    def test_a_function_that_is_asked_for_can_be_called(
        self, sandbox: Sandbox, source: str, verdict: Verdict
    ) -> None:
        task = Task(title="T", statement="S", form=FunctionForm(entry="f"))
        with written_program(sandbox, [self.OTHER], source, task, root_contract=None) as context:
            (loads,) = validate_program(context)
        assert loads.verdict is verdict

    @pytest.mark.parametrize(
        ("limits", "bound"),
        [
            (Limits(), Bounds(seconds=5.0, memory_bytes=1 << 30)),
            (Limits(seconds=2.0, memory_mb=64), Bounds(seconds=2.0, memory_bytes=64 << 20)),
        ],
    )
    def test_a_run_is_bounded_by_the_limits_of_the_task(
        self, limits: Limits, bound: Bounds
    ) -> None:
        assert bounds(Task(title="T", statement="S", form=ProgramForm(), limits=limits)) == bound

    def test_an_example_is_run_as_its_form_demands(self) -> None:
        files = FilesForm(inputs=("a",), artefacts=("b",))
        task = Task(title="T", statement="S", form=files)
        example = FilesExample(inputs={"a": "1"}, artefacts={"c": "2"})
        assert action_for(task, example) == RunFiles(inputs={"a": b"1"}, artefacts=("b", "c"))
        function = Task(title="T", statement="S", form=FunctionForm(entry="f"))
        call = CallExample(arguments="1, 2", result="3")
        assert action_for(function, call) == CallFunction(calls=("f(1, 2)",))
