"""The laws of verdicts: the recorder refuses each contradiction, and verification finds it."""

from signal import SIGSEGV

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import CheckRan
from auditcoder.domain.evidence import CheckKind, Evidence, Frame, Trust, Verdict
from auditcoder.domain.execution import PROGRAM_FILE
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws import Law
from auditcoder.domain.laws.check_laws import example_kind
from auditcoder.domain.laws.verdict_laws import MAX_OUTPUT
from auditcoder.domain.targets import AtNode, AtProgram
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    Limits,
    StdioExample,
    example_check,
    example_content,
)
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import assert_illegal
from tests.support.record_builders import S1_1, S2, TASK, built

replace = msgspec.structs.replace

STDIO = StdioExample(input="1", output="2\n")
CALL = CallExample(arguments="2", result="[1.5, {'a': (2,)}]")
FILES = FilesExample(inputs={"a": "1"}, artefacts={"b": "2\n", "c": "3"})

RIGHT: list[tuple[Example, str]] = [
    (STDIO, "2"),
    (STDIO, "2  \n\n"),
    (CALL, "[1.5, {'a': (2,)}]"),
    (CALL, "[1.5000000001, {'a': (2,)}]"),
    (FILES, "==> b <==\n2\n\n==> c <==\n3\n"),
    (FilesExample(inputs={}, artefacts={"b": "==> log <==\n2"}), "==> b <==\n==> log <==\n2\n"),
    (FilesExample(inputs={}, artefacts={"a\nb": "2"}), "==> a\nb <==\n2\n"),
]
WRONG: list[tuple[Example, str]] = [
    (STDIO, ""),
    (STDIO, "3"),
    (CALL, "[1.5, {'a': [2]}]"),
    (CALL, "None"),
    (FILES, "==> b <==\n2\n\n==> c <==\n4\n"),
    (FILES, "==> b <==\n2\n\n"),
    (FILES, ""),
    (FILES, "==> b <==\n3\n\n==> log <==\n2\n\n==> c <==\n3\n"),
    (StdioExample(input="", output="4\n"), "9" * MAX_OUTPUT),
]
UNKNOWN: list[tuple[Example, str]] = [
    (CallExample(arguments="3", result="Fraction(1, 3)"), "Fraction(1, 3)"),
    (CallExample(arguments="3", result="0.5"), "nan"),
    (FilesExample(inputs={}, artefacts={"b": "2"}), "==> b <==\n==> b <==\n2\n"),
    # A wrong output is cut, and can begin like the right one.
    (StdioExample(input="", output="x" * MAX_OUTPUT), "x" * MAX_OUTPUT),
]


def evidence_of(recorder: Recorder, example: Example, verdict: Verdict, observed: str) -> Evidence:
    """Evidence that the program's only example was run, with this verdict and result."""
    given, expected = example_content(example)
    return Evidence(
        check=example_check(1),
        kind=example_kind(example, Trust.GIVEN),
        subject=AtProgram(),
        trust=Trust.GIVEN,
        verdict=verdict,
        against=recorder.assemble(),
        input=recorder.put(given),
        expected=None if expected is None else recorder.put(expected),
        observed=recorder.put(observed),
        exit_code=0,
        milliseconds=12.5,
    )


def built_with(store: SqliteStore, example: Example, seconds: float | None = None) -> Recorder:
    """A run whose nodes have code and whose task has one example."""
    return built(store, replace(TASK, examples=(example,), limits=Limits(seconds=seconds)))


@pytest.mark.parametrize(("example", "observed"), RIGHT)
def test_a_right_result_has_passed(store: SqliteStore, example: Example, observed: str) -> None:
    recorder = built_with(store, example)
    failed = evidence_of(recorder, example, Verdict.FAILED, observed)
    assert_illegal(recorder, CheckRan(evidence=failed), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(failed, verdict=Verdict.PASSED)))


@pytest.mark.parametrize(("example", "observed"), WRONG)
def test_a_wrong_result_has_failed(store: SqliteStore, example: Example, observed: str) -> None:
    recorder = built_with(store, example)
    passed = evidence_of(recorder, example, Verdict.PASSED, observed)
    assert_illegal(recorder, CheckRan(evidence=passed), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(passed, verdict=Verdict.FAILED)))


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED])
@pytest.mark.parametrize(("example", "observed"), UNKNOWN)
def test_a_result_that_cannot_be_compared_without_running_it_is_believed(
    store: SqliteStore, example: Example, observed: str, verdict: Verdict
) -> None:
    recorder = built_with(store, example)
    recorder.record(CheckRan(evidence=evidence_of(recorder, example, verdict, observed)))


def test_a_check_without_a_result_has_not_passed(store: SqliteStore) -> None:
    recorder = built_with(store, STDIO)
    passed = replace(evidence_of(recorder, STDIO, Verdict.PASSED, "2"), observed=None)
    assert_illegal(recorder, CheckRan(evidence=passed), Law.FALSE_VERDICT)


@pytest.mark.parametrize("ending", [{"exit_code": 1}, {"exit_code": None, "signal": SIGSEGV}])
@pytest.mark.parametrize("example", [STDIO, CALL, CodeExample(code="assert f_S1(2) == 2")])
def test_a_run_that_crashed_has_not_passed(
    store: SqliteStore, example: Example, ending: dict[str, int | None]
) -> None:
    recorder = built_with(store, example)
    passed = evidence_of(recorder, example, Verdict.PASSED, example_content(example)[1] or "")
    crashed = replace(passed, **ending)
    assert_illegal(recorder, CheckRan(evidence=crashed), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(crashed, verdict=Verdict.CRASH)))


def test_a_run_that_crashed_has_no_wrong_result(store: SqliteStore) -> None:
    recorder = built_with(store, STDIO)
    failed = replace(evidence_of(recorder, STDIO, Verdict.FAILED, "3"), exit_code=1)
    assert_illegal(recorder, CheckRan(evidence=failed), Law.FALSE_VERDICT)


@pytest.mark.parametrize(("seconds", "limit"), [(2.0, 2000.0), (None, 5000.0)])
def test_a_timeout_reached_the_time_limit(
    store: SqliteStore, seconds: float | None, limit: float
) -> None:
    recorder = built_with(store, STDIO, seconds)
    timeout = evidence_of(recorder, STDIO, Verdict.TIMEOUT, "")
    early = replace(timeout, milliseconds=limit - 1)
    assert_illegal(recorder, CheckRan(evidence=early), Law.FALSE_VERDICT)
    unknown = replace(timeout, milliseconds=None)
    assert_illegal(recorder, CheckRan(evidence=unknown), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(timeout, milliseconds=limit)))


def test_an_example_of_a_node_is_compared_too(store: SqliteStore) -> None:
    recorder = built_with(store, STDIO)
    evidence = Evidence(
        check=CheckId("S1_1.example"),
        kind=CheckKind.EXAMPLE,
        subject=AtNode(node=S1_1),
        trust=Trust.GENERATED,
        verdict=Verdict.PASSED,
        against=recorder.ledger.working.code[S1_1].digest,
        expected=recorder.put("4"),
        observed=recorder.put("5"),
    )
    assert_illegal(recorder, CheckRan(evidence=evidence), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(evidence, verdict=Verdict.FAILED)))


def test_every_file_that_the_task_promises_must_be_there(store: SqliteStore) -> None:
    form = FilesForm(inputs=("a",), artefacts=("b", "d"))
    example = FilesExample(inputs={"a": "1"}, artefacts={"b": "2"})
    recorder = built(store, replace(TASK, form=form, examples=(example,)))
    passed = evidence_of(recorder, example, Verdict.PASSED, "==> b <==\n2\n")
    assert_illegal(recorder, CheckRan(evidence=passed), Law.FALSE_VERDICT)
    both = recorder.put("==> b <==\n2\n==> d <==\nanything\n")
    recorder.record(CheckRan(evidence=replace(passed, observed=both)))


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("['a', 'b']", '["a", "b"]'),
        ("[1, 2]", "[1,2]"),
        ("{1, 2}", "{1,2}"),
        ("5", "+5"),
        ("{'a', 'b'}", "{'b', 'a'}"),
    ],
)
def test_another_text_for_the_same_value_may_fail_for_a_node(
    store: SqliteStore, expected: str, printed: str
) -> None:
    recorder = built_with(store, STDIO)
    evidence = Evidence(
        check=CheckId("S1_1.example-1"),
        kind=CheckKind.BOUNDARY,
        subject=AtNode(node=S1_1),
        trust=Trust.GENERATED,
        verdict=Verdict.FAILED,
        against=recorder.ledger.working.code[S1_1].digest,
        expected=recorder.put(expected),
        observed=recorder.put(printed),
    )
    recorder.record(CheckRan(evidence=evidence))


@pytest.mark.parametrize("printed", ["'4'", "4", "'4 \\n'"])
def test_a_node_may_answer_the_example_of_a_program_by_its_output(
    store: SqliteStore, printed: str
) -> None:
    recorder = built_with(store, STDIO)
    evidence = Evidence(
        check=CheckId("S1_1.given-1"),
        kind=CheckKind.EXAMPLE,
        subject=AtNode(node=S1_1),
        trust=Trust.GENERATED,
        verdict=Verdict.PASSED,
        against=recorder.ledger.working.code[S1_1].digest,
        expected=recorder.put("4\n"),
        observed=recorder.put(printed),
    )
    recorder.record(CheckRan(evidence=evidence))


class TestFrames:
    def crashed(self, recorder: Recorder, *frames: Frame) -> Evidence:
        """Evidence that the example crashed with this traceback."""
        return replace(evidence_of(recorder, STDIO, Verdict.CRASH, ""), exit_code=1, frames=frames)

    def test_a_frame_names_the_owner_of_its_line(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        frame = Frame(function="f_S1_1", line=2, file=PROGRAM_FILE, node=S1_1)
        honest = self.crashed(recorder, frame)
        for owner in (S2, None):
            other = replace(honest, frames=(replace(frame, node=owner),))
            assert_illegal(recorder, CheckRan(evidence=other), Law.FALSE_VERDICT)
        recorder.record(CheckRan(evidence=honest))

    def test_a_line_outside_the_program_has_no_owner(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        for frame in (
            Frame(function="f_S1_1", line=2, file="tests.py", node=S1_1),
            Frame(function="f_S1_1", line=9999, file=PROGRAM_FILE, node=ROOT),
        ):
            evidence = self.crashed(recorder, frame)
            assert_illegal(recorder, CheckRan(evidence=evidence), Law.FALSE_VERDICT)

    def test_only_nodes_with_code_can_have_run(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        failed = evidence_of(recorder, STDIO, Verdict.FAILED, "3")
        unknown = replace(failed, ran=(S1_1, NodeId("S7")))
        assert_illegal(recorder, CheckRan(evidence=unknown), Law.FALSE_VERDICT)
        recorder.record(CheckRan(evidence=replace(failed, ran=(S1_1,))))
