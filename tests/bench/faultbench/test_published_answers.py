"""Published answers: the class in each answer is found, as the original scoring finds it."""

import gzip
import json
import os
from pathlib import Path

import pytest

from auditcoder.domain.errors import DataUnavailable
from auditcoder_bench.faultbench.failure_records import FaultRecord
from auditcoder_bench.faultbench.line_file import read_lines
from auditcoder_bench.faultbench.published_answers import (
    PUBLISHED,
    class_code,
    read_answers,
    read_subjects,
)
from tests.support.faultbench import ROW, subject

DATA = Path(os.environ.get("AUDITCODER_DATA", "/nowhere"))
with_data = pytest.mark.skipif(not DATA.is_dir(), reason="AUDITCODER_DATA names no folder")

CODE = "class A:\n    def f(self):\n        return 1"


def test_every_file_has_its_own_path_and_digest() -> None:
    sources = [each.source for each in PUBLISHED]
    assert len({source.path for source in sources}) == len(sources) == 26
    assert len({source.sha256 for source in sources}) == len(sources)
    assert all(source.url.endswith(source.path.rpartition("/")[2]) for source in sources)
    assert {each.mode for each in PUBLISHED} == {"class_H", "method_C", "method_I"}


class TestClassCode:
    @pytest.mark.parametrize(
        "answer",
        [
            f"```python{CODE}```",
            f"Here it is:\n```python{CODE}```\nAnd more: ```python\nA()```",
            f"```{CODE}```",
            f"[PYTHON]{CODE}[/PYTHON]",
            f"A question\n### Response:```python{CODE}```",
            f"Sure, here it is\n{CODE}\n",
            f"```python{CODE}",
            f"  {CODE}".replace("\n", "\n  "),
        ],
    )
    def test_the_class_is_found_in_every_kind_of_markup(self, answer: str) -> None:
        assert class_code(answer, "import re") == f"import re\n{CODE}"

    def test_imports_before_the_class_are_kept(self) -> None:
        code = class_code(f"Words.\nimport os\nfrom x import y\n{CODE}", "")
        assert code == f"\nimport os\nfrom x import y\n{CODE}"

    def test_methods_without_self_become_static(self) -> None:
        wanted = "\nclass A:\n    @staticmethod\n    def f(x):\n        return x"
        for mark in ("", "    @staticmethod\n"):
            assert class_code(f"class A:\n{mark}    def f(x):\n        return x", "") == wanted


class TestReading:
    def test_a_task_is_read_with_its_test_classes(self) -> None:
        read = subject()
        assert read.unit_tests == {
            "__init__": None,
            "add": "TallyTestAdd",
            "mean": "TallyTestMean",
        }
        assert read.integration_class == "TallyTestMain"
        assert read.cases[0] == ("TallyTestAdd", "test_add_1")
        assert len(read.cases) == 4

    def test_a_test_class_missing_from_the_data_is_found_by_its_name(self, tmp_path: Path) -> None:
        row = {**ROW, "methods_info": ROW["methods_info"][1:]}
        path = tmp_path / "data.json"
        path.write_text(json.dumps([row]))
        (read,) = read_subjects(path)
        assert read.unit_tests["add"] == "TallyTestAdd"
        assert read.integration_class == "TallyTestMain"

    @pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
    def test_answers_are_read_compressed_or_not(self, tmp_path: Path, name: str) -> None:
        text = json.dumps([{"task_id": "ClassEval_7", "predict": ["one", "two"]}]).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        assert read_answers(path) == {"ClassEval_7": "one"}

    @pytest.mark.parametrize(
        "text", ["[{}]", "nothing", "[1]", '[{"task_id": "x", "predict": []}]']
    )
    def test_a_file_without_answers_is_reported(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "a.json"
        path.write_text(text)
        with pytest.raises(DataUnavailable) as caught:
            read_answers(path)
        assert caught.value.code == "faults.answers"


@with_data
def test_extracted_classes_equal_those_of_the_published_records() -> None:
    subjects = {s.task_id: s for s in read_subjects(DATA / "classeval" / "ClassEval_data.json")}
    records = read_lines(DATA / "faultbench" / "faultbench_dev.jsonl.gz", FaultRecord)
    for record in records:
        task = subjects[record.task_id]
        code = record.generated_code.removeprefix(f"{task.imports}\n")
        assert class_code(f"```python{code}```", task.imports) == record.generated_code
        assert record.integration_class == task.integration_class
        assert {m.name: m.unit_test_class for m in record.methods} == task.unit_tests
