"""Raw results: the supervisor's report is trusted, and the candidate's only for values."""

import signal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.adapters.sandboxes.outcome_reader import RawResult, outcome, seal_of
from auditcoder.domain.execution import (
    Bounds,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    Replacement,
    Returned,
    RunProgram,
    RunTests,
    TestVerdict,
)

PROOF = "proof of this run"
SEAL = seal_of(PROOF)
PROGRAM = Execution(source="", action=RunProgram(), bounds=Bounds(seconds=2))
CALLS = Execution(source="", action=CallFunction(calls=("f(1)", "f(2)")))
TESTS = Execution(source="", action=RunTests(code="..."))
DONE = {"what": "done", "proof": PROOF}


def read(
    execution: Execution,
    *reports: dict[str, Any],
    seal: str = SEAL,
    cut: tuple[bool, bool, bool] = (False, False, False),
    **ended: Any,
) -> ExecutionOutcome:
    """Read a run that ended with exit code 0 unless `ended` says otherwise."""
    usual = {
        "exit": 0,
        "signal": None,
        "timed_out": False,
        "seconds": 0.5,
        "cpu_seconds": 0.25,
        "peak_bytes": 1024,
    }
    lines = b"".join(f"{seal} ".encode() + msgspec.json.encode(r) + b"\n" for r in reports)
    raw = RawResult(usual | ended, b"out", b"err", lines, list(cut))
    return outcome(execution, raw, SEAL, "full")


def raised(kind: str = "ValueError", memory: bool = False) -> dict[str, Any]:
    return {"what": "raised", "type": kind, "memory": memory, "message": "no", "frames": []}


def call(number: int, value: str) -> dict[str, Any]:
    return {"what": "call", "number": number, "value": value}


@pytest.mark.parametrize(
    ("ended", "ending"),
    [
        ({}, Ending.OK),
        ({"exit": 3}, Ending.WRONG_EXIT),
        ({"timed_out": True, "exit": None, "signal": signal.SIGKILL}, Ending.TIMEOUT),
        ({"exit": None, "signal": signal.SIGXCPU}, Ending.TIMEOUT),
        ({"exit": None, "signal": signal.SIGKILL, "cpu_seconds": 2.0}, Ending.TIMEOUT),
        ({"exit": None, "signal": signal.SIGKILL}, Ending.KILLED),
        ({"exit": None, "signal": signal.SIGSEGV}, Ending.KILLED),
    ],
)
def test_the_ending_follows_from_the_supervisors_report(
    ended: dict[str, Any], ending: Ending
) -> None:
    assert read(PROGRAM, **ended).ending is ending


@pytest.mark.parametrize("stream", range(3))
def test_truncated_output_is_an_output_limit(stream: int) -> None:
    first, second, third = (n == stream for n in range(3))
    assert read(PROGRAM, cut=(first, second, third)).ending is Ending.OUTPUT_LIMIT


def test_an_exception_counts_only_with_a_failing_exit_code() -> None:
    assert read(PROGRAM, raised(), exit=1).ending is Ending.EXCEPTION
    assert read(PROGRAM, raised(), exit=0).ending is Ending.OK


def test_out_of_memory_is_distinguished_from_other_exceptions() -> None:
    assert read(PROGRAM, raised("MemoryError", memory=True), exit=1).ending is Ending.MEMORY


class TestCalls:
    def test_calls_with_all_results_and_the_end_report_are_ok(self) -> None:
        found = read(CALLS, call(0, "1"), call(1, "2"), DONE)
        assert found.ending is Ending.OK
        assert found.calls == (Returned(value="1"), Returned(value="2"))

    @pytest.mark.parametrize(
        "reports",
        [
            (call(0, "1"), DONE),
            (call(0, "1"), call(1, "2")),
            (call(1, "2"), call(0, "1"), DONE),
            (call(0, "1"), call(0, "1"), DONE),
        ],
        ids=["one is missing", "no end", "out of order", "one twice"],
    )
    def test_calls_without_all_results_in_order_are_a_wrong_exit(
        self, reports: tuple[dict[str, Any], ...]
    ) -> None:
        assert read(CALLS, *reports).ending is Ending.WRONG_EXIT

    def test_results_beyond_the_calls_are_ignored(self) -> None:
        found = read(CALLS, call(0, "1"), call(1, "2"), call(2, "3"), DONE)
        assert len(found.calls) == 2


def test_tests_are_reported_with_their_verdicts() -> None:
    failed = {"what": "test", "name": "T.t", "verdict": "failed", "message": "no", "frames": []}
    found = read(TESTS, {"what": "planned", "count": 2}, failed, DONE)
    assert found.planned == 2
    assert [(t.name, t.verdict) for t in found.tests] == [("T.t", TestVerdict.FAILED)]


def test_reports_without_the_seal_of_the_run_are_ignored() -> None:
    forged = read(CALLS, call(0, "1"), call(1, "2"), DONE, seal="guessed")
    assert (forged.calls, forged.ending) == ((), Ending.WRONG_EXIT)


def test_the_stack_at_a_timeout_is_read_outermost_first() -> None:
    stack = (
        b'Current thread 0x1 (most recent call first):\n  File "/x/program.py", line 7 in inner\n'
        b'  File "/x/program.py", line 3 in outer\n  File "/x/runner.py", line 1 in main\n'
    )
    ended = {
        "exit": None,
        "signal": signal.SIGKILL,
        "timed_out": True,
        "seconds": 2.0,
        "cpu_seconds": 2.0,
        "peak_bytes": 1,
    }
    found = outcome(PROGRAM, RawResult(ended, b"", b"", stack, [False] * 3), SEAL, "full")
    assert found.raised is not None
    assert [(f.function, f.line) for f in found.raised.frames] == [("outer", 3), ("inner", 7)]


@given(st.lists(st.binary(max_size=80), max_size=8), st.booleans())
def test_arbitrary_reports_do_not_make_reading_fail(lines: list[bytes], sealed: bool) -> None:
    mark = f"{SEAL} ".encode() if sealed else b""
    report = b"\n".join(mark + line for line in lines)
    ended = {
        "exit": 0,
        "signal": None,
        "timed_out": False,
        "seconds": 0.1,
        "cpu_seconds": 0.1,
        "peak_bytes": 1,
    }
    found = outcome(CALLS, RawResult(ended, b"", b"", report, [False] * 3), SEAL, "full")
    assert found.ending is Ending.WRONG_EXIT


@pytest.mark.parametrize("done", [{"what": "done"}, DONE | {"proof": SEAL}, DONE | {"proof": ""}])
def test_a_run_without_the_proof_of_its_end_is_not_complete(done: dict[str, Any]) -> None:
    found = read(CALLS, call(0, "1"), call(1, "2"), done)
    assert found.ending is Ending.WRONG_EXIT


def test_a_second_plan_of_tests_is_not_complete() -> None:
    plans = [{"what": "planned", "count": count} for count in (2, 0)]
    assert read(TESTS, *plans, DONE).ending is Ending.WRONG_EXIT


def test_names_whose_code_was_replaced_are_collected() -> None:
    def owned(*replaced: dict[str, Any]) -> dict[str, Any]:
        return {"what": "owned", "replaced": replaced}

    assert read(PROGRAM).replaced is None
    assert read(PROGRAM, owned()).replaced == ()
    found = read(PROGRAM, owned({"name": "f", "line": 3}), owned({"name": "C.m"})).replaced
    assert found == (Replacement(name="f", line=3), Replacement(name="C.m"))
