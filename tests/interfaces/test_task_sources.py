"""A task is read only from the text, file or folder that the user names."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    FilesExample,
    FilesForm,
    FunctionForm,
    ProgramForm,
    StdioExample,
)
from auditcoder.interfaces.task_sources import read_task_source, read_tests
from auditcoder.lifecycle.intake import TaskOptions
from auditcoder.lifecycle.task_forms import shown_examples, shown_tests

FUNCTION = FunctionForm(entry="f")
CALL = CallExample(arguments="1", result="2")


def _code(source: str | Path, tests: Path | None = None) -> str:
    with pytest.raises(TaskInvalid) as invalid:
        read_task_source(source, TaskOptions(), tests)
    assert invalid.value.advice
    return invalid.value.code


def _files_task(folder: Path, matter: str) -> Path:
    (folder / "task.md").write_text(f"+++\nform = 'files'\n{matter}\n+++\nCopy.")
    return folder / "task.md"


def test_a_task_is_read_from_a_file_standard_input_or_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my task.md"
    path.write_bytes("\ufeffAdd ünits.\r\n".encode())
    assert read_task_source(path).statement == "Add ünits."
    assert read_task_source(str(path)).statement == "Add ünits."
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Add all.")))
    assert read_task_source("-").statement == "Add all."
    assert read_task_source("Write a/b.md and stop").statement == "Write a/b.md and stop"
    assert read_task_source("Sort.").statement == "Sort."
    assert read_task_source("word " * 5000).title.startswith("word")


def test_an_unreadable_task_is_reported_with_its_code(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for odd in (
        "none.md",
        "no/such",
        tmp_path / "none",
        tmp_path,
        str(tmp_path),
        tmp_path / "pipe",
    ):
        assert _code(odd) == "task.unreadable"
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "nul.md").write_bytes(b"a\0b")
    (tmp_path / "large.md").write_bytes(b"x" * 10_000_000)
    assert _code(tmp_path / "latin.md") == "task.encoding"
    assert _code(tmp_path / "nul.md") == "task.encoding"
    assert _code(tmp_path / "large.md") == "task.too-large"
    assert _code("") == "task.empty"
    assert _code("a\0.md") == "task.unreadable"


def test_a_files_task_reads_the_folders_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "b.csv").write_bytes(b"x\r\n")
    (tmp_path / "in" / "deep" / "a.txt").write_text("é")
    (tmp_path / "out" / "r.txt").write_text("2")
    inputs = {"b.csv": "x\r\n", "deep/a.txt": "é"}
    task = read_task_source(_files_task(tmp_path, "inputs = 'in'\nexpected = 'out/'"))
    assert task.form == FilesForm(inputs=("b.csv", "deep/a.txt"), artefacts=("r.txt",))
    assert task.examples == (FilesExample(inputs=inputs, artefacts={"r.txt": "2"}),)
    task = read_task_source(_files_task(tmp_path, "inputs = 'in'\nartefacts = ['r.txt']"))
    assert task.form == FilesForm(inputs=("b.csv", "deep/a.txt"), artefacts=("r.txt",))
    assert task.examples == (FilesExample(inputs=inputs, artefacts={}),)
    overruled = read_task_source(tmp_path / "task.md", TaskOptions(form="program"))
    assert (overruled.form, overruled.examples) == (ProgramForm(), ())


def test_a_files_task_cannot_read_outside_its_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "in").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("k")
    for name in ("../secret", str(tmp_path / "secret"), "none", ".", "in/../../secret"):
        assert _code(_files_task(home, f"inputs = '{name}'")) == "task.unreadable"
    for link, target in (("in/file", tmp_path / "secret/key"), ("in/folder", tmp_path / "secret")):
        (home / link).symlink_to(target)
        assert _code(_files_task(home, "inputs = 'in'")) == "task.unreadable"
        (home / link).unlink()
    (home / "away").symlink_to(tmp_path / "secret")
    assert _code(_files_task(home, "inputs = 'away'")) == "task.unreadable"
    (home / "in" / "bytes").write_bytes(b"\xff")
    assert _code(_files_task(home, "inputs = 'in'")) == "task.encoding"
    (home / "in" / "bytes").write_bytes(b"x" * 1_000_001)
    assert _code(_files_task(home, "inputs = 'in'")) == "task.too-large"
    assert _code(_files_task(home, f"inputs = '{'é' * 200}'")) == "task.unreadable"
    (home / "loop").mkdir()
    (home / "loop" / "a").symlink_to("a")
    assert _code(_files_task(home, "inputs = 'loop'")) == "task.unreadable"
    (home / "many").mkdir()
    for number in range(51):
        (home / "many" / str(number)).touch()
    assert _code(_files_task(home, "inputs = 'many'")) == "task.too-large"


def test_tests_are_read_from_code_and_tables(tmp_path: Path) -> None:
    table = {"arguments": "1", "result": "2"}
    (tmp_path / "a.json").write_text(json.dumps([table]))
    (tmp_path / "b.json").write_text(json.dumps({"examples": [table]}))
    (tmp_path / "c.jsonl").write_text(json.dumps(table) + "\n\n")
    (tmp_path / "d.toml").write_text("[[examples]]\ncall = 'f(1)'\nresult = '2'")
    for name in ("a.json", "b.json", "c.jsonl", "d.toml"):
        assert read_tests(tmp_path / name, FUNCTION) == (CALL,)
    (tmp_path / "e.py").write_text("assert f(1) == 2\n")
    whole = CodeExample(code="assert f(1) == 2\n", private=True)
    assert read_tests(tmp_path / "e.py", FUNCTION) == (whole,)


SUITE = """\
import unittest


class Doubling(unittest.TestCase):
    def setUp(self):
        self.two = 2

    def test_one(self):
        \"\"\"One becomes two.\"\"\"
        self.assertEqual(f(1), self.two)

    def test_two(self):
        self.assertEqual(f(self.two), 4)
"""


def test_every_method_of_a_unittest_class_is_an_example(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(SUITE)
    first, second = read_tests(tmp_path / "t.py", FUNCTION)
    assert isinstance(first, CodeExample)
    assert isinstance(second, CodeExample)
    assert first.explanation == "Doubling.test_one: One becomes two."
    assert second.explanation == "Doubling.test_two"
    assert first.private
    assert second.private
    assert "test_two" not in first.code
    assert "self.two = 2" in first.code


def test_tests_are_kept_from_prompts_unless_they_are_made_visible(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(SUITE)
    text = "Write `f(n)`."
    task = read_task_source(text, tests=tmp_path / "t.py")
    assert task.visible_tests == ""
    assert shown_examples(task) == shown_tests(task) == ""
    shown = read_task_source(text, TaskOptions(show_tests=True), tmp_path / "t.py")
    assert shown.examples == task.examples
    assert shown_tests(shown) == f"The program must pass these tests:\n```\n{SUITE.strip()}\n```"
    matter = f"+++\nshow_tests = true\n+++\n{text}"
    assert read_task_source(matter, tests=tmp_path / "t.py").visible_tests == SUITE.strip()
    hidden = TaskOptions(show_tests=False)
    assert not read_task_source(matter, hidden, tmp_path / "t.py").visible_tests


def test_visible_tests_need_tests() -> None:
    with pytest.raises(TaskInvalid) as refused:
        read_task_source("Write `f(n)`.", TaskOptions(show_tests=True))
    assert refused.value.code == "task.no-tests"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "def"),
        ("a.json", "{"),
        ("a.json", '{"tests": []}'),
        ("a.json", "[1]"),
        ("a.json", "[" * 100_000),
        ("a.jsonl", '{"arguments": 1, "result": "2"}'),
        ("a.toml", "x = 1"),
        ("a.csv", "1,2"),
    ],
)
def test_invalid_tests_are_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(TaskInvalid, match=name) as invalid:
        read_tests(tmp_path / name, FUNCTION)
    assert invalid.value.code == "task.example"


def test_a_folder_of_pairs_is_read_in_numerical_order(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        (tmp_path / f"{number}.in").write_text(f"{number}\n")
        (tmp_path / f"{number}.{'ans' if number == 2 else 'out'}").write_text("x\n")
    found = read_tests(tmp_path, ProgramForm())
    assert found == tuple(StdioExample(input=f"{n}\n", output="x\n") for n in (1, 2, 10))
    with pytest.raises(TaskInvalid, match="folder of examples"):
        read_tests(tmp_path, FUNCTION)
    (tmp_path / "3.in").touch()
    with pytest.raises(TaskInvalid, match=r"3\.in has no 3\.out"):
        read_tests(tmp_path, ProgramForm())


def test_a_folder_of_cases_has_inputs_and_expected_files(tmp_path: Path) -> None:
    for case in ("one", "two"):
        (tmp_path / case / "inputs").mkdir(parents=True)
        (tmp_path / case / "inputs" / "a").write_text(case)
    (tmp_path / "two" / "expected").mkdir()
    (tmp_path / "two" / "expected" / "b").write_text("2")
    assert read_tests(tmp_path, FilesForm()) == (
        FilesExample(inputs={"a": "one"}, artefacts={}),
        FilesExample(inputs={"a": "two"}, artefacts={"b": "2"}),
    )


def test_tests_are_added_to_the_examples_of_the_task(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"arguments": "1", "result": "2"}')
    task = read_task_source("Write `f(n)`.\nf(1) == 3\nf(2) == 3", tests=tmp_path / "t.jsonl")
    assert task.examples == (CALL, CallExample(arguments="2", result="3"))
    with pytest.raises(TaskInvalid, match=r"none\.py") as invalid:
        read_task_source("Write `f(n)`.", tests=tmp_path / "none.py")
    assert invalid.value.code == "task.unreadable"


def test_a_loop_of_links_in_a_folder_of_examples_is_refused(tmp_path: Path) -> None:
    (tmp_path / "1.in").symlink_to("1.in")
    (tmp_path / "1.out").write_text("1")
    assert _code("Write a program that adds.", tmp_path) == "task.unreadable"


def test_a_missing_file_of_examples_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskInvalid, match="missing cannot be read: there is no such"):
        read_tests(tmp_path / "missing", FUNCTION)
