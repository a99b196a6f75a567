"""The command that removes each condition of a module and runs its tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(__file__).parents[2] / "tools" / "law_mutants.py"
MODULE = Path("src/toy/rules.py")

RULES = """\
def refuse(message: str) -> None:
    raise ValueError(message)


def check(value: int, names: set[str]) -> list[str]:
    if value < 0:
        refuse("negative")
    if value > 9:
        refuse("large")
    return sorted(names)
"""
TESTS = """\
import pytest
from toy.rules import check


def test_a_negative_value_is_refused():
    with pytest.raises(ValueError):
        check(-1, set())


def test_names_are_sorted():
    assert check(1, {"b", "a"}) == ["a", "b"]
"""
TESTED = "condition made false: value < 0"
UNTESTED = "condition made false: value > 9"
UNTESTED_KEY = f"{MODULE} | check | condition made false | value > 9"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small repository: a module with two conditions, and a test of one of them."""
    write(tmp_path, "pytest.ini", "[pytest]\npythonpath = src\n")
    write(tmp_path, "src/toy/__init__.py", "")
    write(tmp_path, str(MODULE), RULES)
    write(tmp_path, "tests/test_rules.py", TESTS)
    write(tmp_path, "equivalent.toml", "")
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    places = ("--root", ".", "--tests", "tests", "--equivalent", "equivalent.toml")
    return subprocess.run(
        [sys.executable, COMMAND, "src/toy", *places, "--processes", "2", *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )


def total(done: subprocess.CompletedProcess[str]) -> list[int]:
    """Read the last row: mutants, killed, timed out, survived, equivalent."""
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("all "))
    return [int(cell) for cell in row.split()[1:]]


def list_as_equivalent(tree: Path, key: str) -> None:
    write(tree, "equivalent.toml", f"[[mutant]]\nkey = '{key}'\nreason = 'a reason'\n")


def test_a_condition_without_a_test_survives_and_one_with_a_test_does_not(tree: Path) -> None:
    done = run(tree)
    assert total(done) == [2, 1, 0, 1, 0], done.stderr
    assert f"survived: {MODULE}:8: check: {UNTESTED}\n" in done.stdout
    assert TESTED not in done.stdout
    assert done.returncode == 1
    assert (tree / MODULE).read_text(encoding="utf-8") == RULES


def test_the_goal_decides_the_exit_code(tree: Path) -> None:
    assert run(tree, "--log", "log.jsonl", "--goal", "0.5").returncode == 0
    assert run(tree, "--log", "log.jsonl", "--goal", "0.51").returncode == 1


def test_a_mutant_whose_tests_do_not_end_counts_as_timed_out(tree: Path) -> None:
    loop = "def check() -> int:\n    while True:\n        if check:\n            return 1\n"
    write(tree, str(MODULE), loop)
    write(tree, "tests/test_rules.py", "from toy.rules import check\ndef test(): check()\n")
    done = run(tree, "--limit", "3")
    assert total(done) == [1, 0, 1, 0, 0], done.stderr
    assert done.returncode == 0


def test_a_mutant_that_ends_its_process_is_killed(tree: Path) -> None:
    leave = "import os\n\ndef check() -> None:\n    if check:\n        return\n    os._exit(7)\n"
    write(tree, str(MODULE), leave)
    write(tree, "tests/test_rules.py", "from toy.rules import check\ndef test(): check()\n")
    done = run(tree)
    assert total(done) == [1, 1, 0, 0, 0], done.stderr


def test_a_mutant_that_is_listed_as_equivalent_does_not_count(tree: Path) -> None:
    list_as_equivalent(tree, UNTESTED_KEY)
    done = run(tree, "--goal", "1")
    assert total(done) == [2, 1, 0, 0, 1], done.stderr
    assert done.returncode == 0


def test_a_listed_mutant_that_a_test_tells_from_the_original_is_reported(tree: Path) -> None:
    list_as_equivalent(tree, f"{MODULE} | check | condition made false | value < 0")
    done = run(tree, "--goal", "0")
    assert done.returncode == 1
    assert "not equivalent (tests/test_rules.py::test_a_negative_value_is_refused)" in done.stdout


def test_a_listed_mutant_that_no_longer_exists_is_an_error(tree: Path) -> None:
    list_as_equivalent(tree, f"{MODULE} | check | condition made false | value > 99")
    done = run(tree)
    assert done.returncode == 2
    assert "lists mutants that do not exist" in done.stderr


def test_a_listed_mutant_of_a_module_that_is_not_tried_is_ignored(tree: Path) -> None:
    list_as_equivalent(tree, "src/toy/other.py | check | condition made false | value > 99")
    assert total(run(tree)) == [2, 1, 0, 1, 0]


def test_tests_that_fail_without_a_mutation_are_an_error(tree: Path) -> None:
    write(tree, "tests/test_rules.py", f"{TESTS}\ndef test_that_fails():\n    assert False\n")
    done = run(tree)
    assert done.returncode == 2
    assert "fails on the unchanged modules: tests/test_rules.py::test_that_fails" in done.stderr


def test_a_module_that_no_test_imports_is_an_error(tree: Path) -> None:
    write(tree, "src/toy/lonely.py", "def f(x):\n    return 1 if x else 2\n")
    done = run(tree)
    assert done.returncode == 2
    assert "no test imports src/toy/lonely.py" in done.stderr


class TestLog:
    def test_only_mutants_of_changed_modules_are_tried_again(self, tree: Path) -> None:
        write(tree, "src/toy/other.py", "def absolute(x):\n    return -x if x < 0 else x\n")
        other = "from toy.other import absolute\n\ndef test():\n    assert absolute(-1) == 1\n"
        write(tree, "tests/test_other.py", other)
        first = run(tree, "--log", "log.jsonl")
        assert total(first) == [3, 2, 0, 1, 0], first.stderr
        assert len(tried(first)) == 3
        again = run(tree, "--log", "log.jsonl")
        assert (again.stdout, tried(again)) == (first.stdout, [])
        write(tree, "src/toy/other.py", "def absolute(x):\n    return x if x > 0 else -x\n")
        assert len(tried(run(tree, "--log", "log.jsonl"))) == 1

    @pytest.mark.parametrize("path", ["tests/test_rules.py", "tests/support/names.py"])
    def test_all_mutants_are_tried_again_when_a_test_or_its_support_changes(
        self, tree: Path, path: str
    ) -> None:
        write(tree, "tests/support/names.py", "")
        run(tree, "--log", "log.jsonl")
        write(tree, path, (tree / path).read_text(encoding="utf-8") + "# changed\n")
        assert len(tried(run(tree, "--log", "log.jsonl"))) == 2


def tried(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines of progress."""
    return [line for line in done.stderr.splitlines() if f": {MODULE.parent}/" in line]


def test_the_result_file_has_the_counts_and_every_undetected_mutant(tree: Path) -> None:
    run(tree, "--out", "result.json")
    result = json.loads((tree / "result.json").read_text(encoding="utf-8"))
    rows = {row.pop("module"): row for row in result["rows"]}
    assert rows[str(MODULE)].pop("sha256")
    assert rows == {str(MODULE): {"killed": 1, "timed out": 0, "survived": 1, "equivalent": 0}}
    assert (result["share"], result["goal"]) == (0.5, 0.95)
    assert result["undetected"] == [
        {
            "place": f"{MODULE}:8",
            "function": "check",
            "change": "condition made false",
            "condition": "value > 9",
            "equivalent": None,
        }
    ]
    assert {"auditcoder", "pytest", "hypothesis", "python"} == result["versions"].keys()
    assert result["tests"]["modules"] == 1


FORMS = """\
from toy.rules import refuse

def choice(a): return 1 if a else 2
def both(a, b): return a and b
def either(a, b, c): return a or b or c
def kept(a): return [i for i in a if i > 0 if i < 9]
def rest(a): return a - {1}
def member(a): return a in {1, 2}
def within(a): return 0 <= a < 9
def pair(a, b): return (a, b) == (1, 2)
def kind(a): return isinstance(a, int | str)
def named(a):
    if b := a: return b
def always(a): refuse(a)
def guarded(a):
    match a:
        case int() if a > 0: return 1
def at_most(a, b):
    assert a
    return a <= b
"""
"""Every form of a condition, and at last what is none."""

REMOVALS = [
    "choice: condition made false: a",
    "both: operand removed: a",
    "both: operand removed: b",
    "either: operand removed: a",
    "either: operand removed: b",
    "either: operand removed: c",
    "kept: filter removed: i > 0",
    "kept: filter removed: i < 9",
    "rest: subtrahend removed: {1}",
    "member: member removed: 1",
    "member: member removed: 2",
    "within: bound removed: 0",
    "within: bound removed: 9",
    "pair: compared pair removed: a",
    "pair: compared pair removed: b",
    "kind: type removed: int",
    "kind: type removed: str",
    "named: condition made false: b := a",
    "always: refusal removed: refuse(a)",
    "guarded: condition made false: a > 0",
]

TESTS_OF_FORMS = """\
import pytest
from toy.forms import *

def test():
    assert choice(True) == 1
    assert not both(True, False) and not both(False, True)
    assert either(1, 0, 0) and either(0, 1, 0) and either(0, 0, 1)
    assert kept([0, 5, 9]) == [5]
    assert rest({1, 2}) == {2}
    assert member(1) and member(2)
    assert not within(-1) and not within(9)
    assert not pair(1, 1) and not pair(2, 2)
    assert kind(1) and kind("")
    assert named(3) == 3
    with pytest.raises(ValueError):
        always("")
    assert guarded(1) == 1
"""


def test_every_form_of_a_condition_is_removed_with_an_effect(tree: Path) -> None:
    write(tree, "src/toy/forms.py", FORMS)
    write(tree, "tests/test_forms.py", TESTS_OF_FORMS)
    done = run(tree)
    progress = [line.partition(": ")[2] for line in done.stderr.splitlines() if "forms.py" in line]
    assert sorted(line.split(": ", 1)[1] for line in progress) == sorted(REMOVALS), done.stderr
    assert total(done) == [2 + len(REMOVALS), 1 + len(REMOVALS), 0, 1, 0]
