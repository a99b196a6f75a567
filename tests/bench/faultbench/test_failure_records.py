"""Failure records are read back unchanged, and fields of other producers are ignored."""

import gzip
import json
import os
from pathlib import Path

import msgspec
import pytest

from auditcoder_bench.faultbench.failure_records import FaultRecord
from auditcoder_bench.faultbench.line_file import read_lines

DATA = Path(os.environ.get("AUDITCODER_DATA", "/nowhere"))
with_data = pytest.mark.skipif(not DATA.is_dir(), reason="AUDITCODER_DATA names no folder")

RECORD = {
    "id": "m|class_H|ClassEval_7",
    "model": "m",
    "mode": "class_H",
    "task_id": "ClassEval_7",
    "class_name": "Tally",
    "skeleton": "class Tally: ...",
    "generated_code": "class Tally: ...",
    "code_sha1": "0" * 40,
    "methods": [{"name": "add", "in_generated": False, "unit_test_class": None}],
    "helpers": {"more": ["add"]},
    "integration_class": None,
    "flaky": False,
    "failing_tests": [
        {
            "test_class": "T",
            "test_name": "test_1",
            "cov": {"add": 2},
            "direct": ["add"],
            "order": ["add"],
            "kind": "exception",
            "exc_type": "TypeError",
            "message": "no",
            "frames": [["test", "test_1", 12], ["gen", "add", None]],
        }
    ],
    "passing_tests": [],
    "not_run": [["T", "test_2"]],
    "ground_truth": {
        "unit_failing": [],
        "missing_methods": ["add"],
        "missing_imports": [],
        "import_alone_fixes": False,
        "kind": "single",
        "nodes": ["add"],
        "k": 1,
        "tags": ["missing_methods"],
        "runs": 3,
    },
    "ground_truth_program": None,
}


def read_records(path: Path) -> list[FaultRecord]:
    return read_lines(path, FaultRecord)


def write_records(folder: Path, *lines: object, name: str = "faults.jsonl") -> Path:
    path = folder / name
    text = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


@pytest.mark.parametrize("name", ["faults.jsonl", "faults.jsonl.gz"])
def test_a_record_is_written_as_it_was_read(tmp_path: Path, name: str) -> None:
    (record,) = read_records(write_records(tmp_path, RECORD, name=name))
    assert json.loads(msgspec.json.encode(record)) == RECORD
    assert record.failing_tests[0].frames[0].line == 12


def test_unknown_fields_of_another_producer_are_ignored(tmp_path: Path) -> None:
    truth = {**RECORD["ground_truth"], "certainty": 0.5}  # type: ignore[dict-item]
    (record,) = read_records(
        write_records(tmp_path, {**RECORD, "origin": "x", "ground_truth": truth})
    )
    assert record.ground_truth.nodes == ("add",)


@with_data
def test_the_published_records_are_read_completely() -> None:
    path = DATA / "faultbench" / "faultbench_dev.jsonl.gz"
    records = read_records(path)
    with gzip.open(path) as file:
        lines = [json.loads(line) for line in file]
    assert len(records) == 741
    assert [json.loads(msgspec.json.encode(record)) for record in records] == lines
    assert all(isinstance(record, FaultRecord) for record in records)
