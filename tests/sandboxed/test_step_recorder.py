"""Steps are recorded with their ending, their line, and the calls that produced their values."""

import sys
import types
import unittest
from typing import Any

import pytest

from auditcoder.sandboxed.call_recorder import CallRecorder
from auditcoder.sandboxed.code_owners import owners
from auditcoder.sandboxed.contract_evaluator import ContractEvaluator
from auditcoder.sandboxed.memory_meter import MemoryMeter
from auditcoder.sandboxed.step_recorder import TRACED_MODULE, StepRecorder
from auditcoder.sandboxed.step_rewriter import with_steps

PROGRAM = """
def make(n): return [n]
def fail(): raise ValueError('no')
class Thing: pass
"""


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    module = types.ModuleType(TRACED_MODULE)
    monkeypatch.setitem(sys.modules, TRACED_MODULE, module)
    return module.__dict__


def steps_of(space: dict[str, Any], driver: str) -> list[dict[str, Any]]:
    code = compile(PROGRAM, "program.py", "exec")
    exec(code, space)
    owned = owners(code, lambda name: name if name in {"make", "fail"} else None)
    calls = CallRecorder(owned, ContractEvaluator({}, [], {}), MemoryMeter(0))
    steps = StepRecorder(calls, owned)
    space |= {
        "__begun__": steps.begun,
        "__done__": steps.done,
        "__failed__": steps.failed,
        "__caught__": BaseException,
    }
    calls.watch(True)
    try:
        exec(compile(with_steps(driver, ()), "tests.py", "exec"), space)
    finally:
        calls.watch(False)
    return steps.steps


def test_a_step_names_the_calls_that_produced_the_values_it_read(space: dict[str, Any]) -> None:
    _, check = steps_of(space, "value = make(3)\nassert value == [3]")
    assert check["fine"] is True
    assert check["sources"] == [{"text": "value", "same": True, "calls": [0]}]


def test_an_equal_value_that_is_another_object_is_marked(space: dict[str, Any]) -> None:
    *_, check = steps_of(space, "make(3)\nother = [3]\nassert other")
    assert check["sources"] == [{"text": "other", "same": False, "calls": [0]}]


def test_a_failing_step_has_the_frames_of_the_program(space: dict[str, Any]) -> None:
    (failed,) = steps_of(space, "fail()")
    assert (failed["fine"], failed["frames"]) == (False, [("fail", 3)])


@pytest.mark.parametrize(
    ("driver", "field", "name"),
    [
        ("absent()", "lacks", "absent"),
        ("Thing().missing", "lacks", "missing"),
        ("[].missing", "lacks", ""),
        ("make()", "names", "make"),
    ],
)
def test_a_missing_or_wrongly_called_name_is_reported(
    space: dict[str, Any], driver: str, field: str, name: str
) -> None:
    (failed,) = steps_of(space, driver)
    assert failed[field] == name


def test_a_skipped_test_is_not_a_failing_step(space: dict[str, Any]) -> None:
    with pytest.raises(unittest.SkipTest):
        steps_of(space, "import unittest\nraise unittest.SkipTest('later')")
