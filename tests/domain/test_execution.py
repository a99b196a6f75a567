"""Executions: four actions, bounds that are checked when they are read, and outcomes."""

import msgspec
import pytest

from auditcoder.domain.execution import (
    Action,
    Artefact,
    Bounds,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    Raised,
    Returned,
    RunFiles,
    RunProgram,
    RunTests,
    TestReport,
    TestVerdict,
)
from auditcoder.domain.values import encode


@pytest.mark.parametrize(
    ("action", "tag"),
    [
        (RunProgram(stdin="1\n", arguments=("-x",)), "program"),
        (CallFunction(calls=("f(1)", "f(2)")), "calls"),
        (RunTests(code="assert f(1) == 1"), "tests"),
        (RunFiles(inputs={"a": b"\x00\xff"}, artefacts=("b",)), "files"),
    ],
)
def test_an_execution_is_read_back_by_the_tag_of_its_action(action: Action, tag: str) -> None:
    execution = Execution(source="x = 1", action=action, watch=True)
    written = encode(execution)
    assert msgspec.json.decode(written)["action"]["type"] == tag
    assert msgspec.json.decode(written, type=Execution) == execution


@pytest.mark.parametrize(
    "bounds",
    [
        {"seconds": 0},
        {"seconds": -1},
        {"seconds": 86_401},
        {"memory_bytes": (1 << 20) - 1},
        {"output_bytes": 0},
        {"file_bytes": (1 << 16) - 1},
    ],
)
def test_bounds_out_of_range_are_refused(bounds: dict[str, float]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(bounds, Bounds)


def test_the_default_bounds_are_valid() -> None:
    assert msgspec.convert(msgspec.to_builtins(Bounds()), Bounds) == Bounds()


def test_an_execution_has_no_field_for_the_expected_answer() -> None:
    assert set(Execution.__struct_fields__) == {
        *("source", "action", "bounds"),
        *("watch", "owned", "trace"),
    }


def test_an_outcome_is_read_back_whole() -> None:
    outcome = ExecutionOutcome(
        ending=Ending.EXCEPTION,
        sandbox="test",
        stdout=b"\xff",
        raised=Raised(exception="ValueError", message="no"),
        calls=(Returned(value="1"), Raised(exception="KeyError", message="'k'")),
        tests=(TestReport(name="T.test", verdict=TestVerdict.SKIPPED),),
        artefacts=(Artefact(name="a", missing="not written"),),
    )
    assert msgspec.json.decode(encode(outcome), type=ExecutionOutcome) == outcome


def test_an_unmeasured_amount_is_unknown() -> None:
    outcome = ExecutionOutcome(ending=Ending.OK, sandbox="test")
    assert (outcome.exit_code, outcome.signal, outcome.planned, outcome.functions) == (None,) * 4
