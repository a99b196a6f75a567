"""A job tells the candidate what it needs and the supervisor the rest."""

import json

import pytest

from auditcoder.adapters.sandboxes.job_writer import encoded_job
from auditcoder.adapters.sandboxes.outcome_reader import seal_of
from auditcoder.domain.errors import SandboxError
from auditcoder.domain.execution import (
    Action,
    CallFunction,
    Execution,
    OwnedUnit,
    Ownership,
    RunFiles,
    RunProgram,
    RunTests,
)

LINES = ((1, 2, "S1"),)
UNITS = (OwnedUnit(name="f", owner="S1", plain=True, defaults=("1",), wrappers=("S2",)),)


@pytest.mark.parametrize(
    "action",
    [
        RunProgram(stdin="1"),
        CallFunction(calls=("f()",)),
        RunTests(code="assert 1"),
        RunFiles(inputs={"a": b"1"}, artefacts=("b",)),
    ],
)
def test_inputs_go_to_the_supervisor_and_code_to_the_candidate(action: Action) -> None:
    owned = Ownership(lines=LINES, units=UNITS, definitions=1)
    execution = Execution(source="def f(): pass", action=action, owned=owned)
    outside, inside = map(json.loads, encoded_job(execution, "proof").split(b"\n"))
    assert {"stdin", "inputs", "artefacts"} <= outside.keys()
    assert not {"source", "proof", "seal"} & outside.keys()
    assert (inside["proof"], inside["seal"]) == ("proof", seal_of("proof"))
    assert inside["owned"] == {
        "lines": [[1, 2, "S1"]],
        "units": [["f", "S1", True, ["1"], ["S2"], True]],
        "definitions": 1,
    }
    assert not {"stdin", "inputs", "artefacts"} & inside.keys()


@pytest.mark.parametrize("name", ["", "../a", "/a", "a//b", "a\0", "\ud800", "x" * 256])
def test_a_name_outside_the_folder_is_refused(name: str) -> None:
    action = RunFiles(inputs={name: b""}, artefacts=())
    with pytest.raises(SandboxError, match="not a valid file name"):
        encoded_job(Execution(source="", action=action), "proof")
