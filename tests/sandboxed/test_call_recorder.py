"""Calls of selected functions are recorded with their callers, values and effects."""

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditcoder.sandboxed.call_recorder import CallRecorder, FileRecorder
from auditcoder.sandboxed.code_owners import owners
from auditcoder.sandboxed.contract_evaluator import ContractEvaluator
from auditcoder.sandboxed.memory_meter import MemoryMeter

PROGRAM = """
class Shop:
    def __init__(self): self.items = []
    def add(self, item): self.items.append(item)
def make(n): return [n]
def double(values): return values * 2
def fail(): raise ValueError
def both(n):
    return double(make(n))
def count(n):
    yield from range(n)
"""
NAMES = {"Shop.add", "make", "double", "fail", "both", "count"}


class Traced:
    def __init__(self) -> None:
        code = compile(PROGRAM, "program.py", "exec")
        self.space: dict[str, Any] = types.ModuleType("program").__dict__
        exec(code, self.space)
        owned = owners(code, lambda name: name if name in NAMES else None)
        self.calls = CallRecorder(owned, ContractEvaluator({}, [], {}), MemoryMeter(0))

    def run(self, source: str) -> list[dict[str, Any]]:
        self.calls.begin_test("T.test")
        self.calls.watch(True)
        try:
            exec(source, self.space)
        finally:
            self.calls.watch(False)
        return self.calls.records


@pytest.fixture
def traced() -> Traced:
    return Traced()


def test_a_call_has_its_caller_its_argument_types_and_its_result(traced: Traced) -> None:
    both, make, double = traced.run("both(3)")
    assert [both["node"], make["node"], double["node"]] == ["both", "make", "double"]
    assert (both["parent"], make["parent"], double["parent"]) == (None, 0, 0)
    assert double["shapes"] == {"values": "list[int]"}
    assert (both["returned"], both["made"]) == ("[3, 3]", "list[int]")


def test_an_argument_is_traced_to_the_call_that_made_it(traced: Traced) -> None:
    _, _, double = traced.run("both(3)")
    assert double["came_from"] == {"values": 1}


def test_a_call_that_raises_returned_nothing(traced: Traced) -> None:
    (fail,) = traced.run("try: fail()\nexcept ValueError: pass")
    assert "returned" not in fail


def test_attributes_that_a_method_changed_are_named(traced: Traced) -> None:
    (add,) = traced.run("Shop().add(1)")
    assert add["wrote"] == ["items"]


def test_a_generator_is_one_call_however_often_it_is_resumed(traced: Traced) -> None:
    assert [call["node"] for call in traced.run("list(count(5))")] == ["count"]


def test_calls_beyond_the_limit_of_a_test_are_counted_by_time_only(traced: Traced) -> None:
    records = traced.run("for n in range(2500): make(n)")
    assert len(records) == 2000
    assert traced.calls.cut
    assert set(traced.calls.unnoted["T.test"]) == {"make"}


@pytest.fixture
def files(traced: Traced) -> Iterator[FileRecorder]:
    recorder = FileRecorder(traced.calls)
    yield recorder
    recorder.enabled = False  # an audit hook cannot be removed


def test_relative_files_are_recorded_with_their_mode(
    files: FileRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files.enabled = True
    Path("out.txt").write_text("x")
    Path("out.txt").read_text()
    (tmp_path / "absolute").write_text("x")
    files.enabled = False
    assert [(f["path"], f["writing"]) for f in files.records] == [
        ("out.txt", True),
        ("out.txt", False),
    ]
