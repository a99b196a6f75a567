"""The description of a failing check that a model is given."""

import dataclasses

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import CheckKind, Evidence, Frame, Trust, Verdict
from auditcoder.domain.execution import TESTS_FILE
from auditcoder.domain.request import GENEROUS
from auditcoder.domain.targets import AtProgram
from auditcoder.domain.values import CheckId, Digest, digest
from auditcoder.lifecycle.failure_report import earlier_failure, failure_text
from tests.support.record_builders import started
from tests.support.run_contexts import open_run


def evidence(
    verdict: Verdict = Verdict.FAILED,
    kind: CheckKind = CheckKind.EXAMPLE,
    given: Digest | None = None,
    expected: Digest | None = None,
    observed: Digest | None = None,
    message: str = "",
    frames: tuple[Frame, ...] = (),
) -> Evidence:
    return Evidence(
        check=CheckId("example-1"),
        kind=kind,
        subject=AtProgram(),
        trust=Trust.GIVEN,
        verdict=verdict,
        against=digest(b"program"),
        input=given,
        expected=expected,
        observed=observed,
        message=message,
        frames=frames,
    )


def test_a_wrong_answer_comes_with_input_expected_and_observed_output(store: SqliteStore) -> None:
    with open_run(started(store)) as (context, _):
        put = context.recorder.put
        text = failure_text(
            context, evidence(given=put("1 2"), expected=put("3"), observed=put("4"))
        )
    assert text == "The answer was wrong.\nInput:\n1 2\nExpected:\n3\nGot:\n4"


def test_an_unknown_part_is_left_out(store: SqliteStore) -> None:
    with open_run(started(store)) as (context, _):
        text = failure_text(context, evidence(Verdict.TIMEOUT, given=context.recorder.put("9")))
    assert text == "It took too long.\nInput:\n9"


def test_an_exception_comes_with_its_innermost_frame(store: SqliteStore) -> None:
    frames = (Frame(function="solve", line=2), Frame(function="parse", line=7))
    with open_run(started(store)) as (context, _):
        text = failure_text(
            context, evidence(Verdict.CRASH, message="ValueError: bad", frames=frames)
        )
    assert text.splitlines() == [
        "It ended with an error.",
        "ValueError: bad",
        "It was raised in parse, line 7.",
    ]


def test_a_failing_test_comes_with_its_code(store: SqliteStore) -> None:
    with open_run(started(store)) as (context, _):
        code = context.recorder.put("assert solve(1) == 2")
        text = failure_text(context, evidence(kind=CheckKind.TEST, given=code))
    assert text == "The answer was wrong.\nThe test code was:\nassert solve(1) == 2"


def test_long_contents_are_truncated_and_marked(store: SqliteStore) -> None:
    with open_run(started(store)) as (context, _):
        text = failure_text(context, evidence(given=context.recorder.put("x" * 5000)))
    assert len(text) < 1000
    assert text.endswith("x\n[4400 more characters are left out]")


def test_every_verdict_has_a_headline(store: SqliteStore) -> None:
    with open_run(started(store)) as (context, _):
        headlines = {failure_text(context, evidence(verdict)) for verdict in Verdict}
    assert len(headlines) == len(Verdict)


def test_a_lesson_says_that_earlier_code_failed(store: SqliteStore) -> None:
    with open_run(started(store)) as (context, _):
        assert earlier_failure(context, evidence()).endswith(failure_text(context, evidence()))


LONG_TEST = "\n".join(
    [
        "import unittest",
        "class TestBox(unittest.TestCase):",
        "    def setUp(self):",
        "        self.box = [1]",
        *[f"    def test_{n}(self):\n        self.assertEqual({n}, {n})" for n in range(60)],
        "    def test_last(self):",
        "        self.box.append(2)",
        "        self.assertEqual(len(self.box), 3)",
    ]
)


def test_a_long_test_is_shown_with_its_failing_assertion(store: SqliteStore) -> None:
    line = LONG_TEST.count("\n") + 1
    frames = (Frame(function="f", line=line, file=TESTS_FILE), Frame(function="g", line=9))
    with open_run(started(store)) as (context, _):
        code = context.recorder.put(LONG_TEST)
        text = failure_text(context, evidence(kind=CheckKind.TEST, given=code, frames=frames))
    assert "self.assertEqual(len(self.box), 3)" in text
    assert "self.box = [1]" in text
    assert "test_30" not in text
    assert "lines of the test are left out]" in text


def test_a_failing_test_without_a_line_is_found_by_its_name(store: SqliteStore) -> None:
    with open_run(started(store)) as (context, _):
        code = context.recorder.put(LONG_TEST)
        told = evidence(
            kind=CheckKind.TEST, given=code, message="failed: TestBox.test_last: 2 != 3"
        )
        text = failure_text(context, told)
    assert "self.assertEqual(len(self.box), 3)" in text
    assert "test_30" not in text


def test_a_stronger_model_is_shown_more(store: SqliteStore) -> None:
    with open_run(started(store)) as (context, _):
        wide = dataclasses.replace(context, limits=GENEROUS)
        text = failure_text(wide, evidence(given=context.recorder.put("x" * 5000)))
    assert "x" * 5000 in text
