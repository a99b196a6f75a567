"""The suites: every layout is read, nothing hidden is in a task, references pass their tests."""

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.errors import DataUnavailable, NotFound
from auditcoder.domain.task import ClassForm, FunctionForm, ProgramForm, StdioExample
from auditcoder.domain.values import encode
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.task_forms import given_code
from auditcoder_bench.experiments import Experiment, Worker, chosen_ids, files_of, problems_of
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import CallTests, CodeTests, Problem, StdioTests
from auditcoder_bench.runner import Job
from auditcoder_bench.suites import SUITES, suite

DATA = Path(os.environ.get("AUDITCODER_DATA", "/nowhere"))
with_data = pytest.mark.skipif(not DATA.is_dir(), reason="AUDITCODER_DATA names no folder")

QUESTION = (
    "Add two numbers.\n\n-----Input-----\n\nTwo numbers.\n\n-----Examples-----\nInput\n1 2\n\n"
    "Output\n3\n"
)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    opened = LocalSandbox(packages=("numpy",))
    yield opened
    opened.close()


def read_apps_problem(
    folder: Path, name: str, rows: list[dict[str, Any]], *, lines: bool = True
) -> Problem:
    path = folder / "apps" / name
    path.parent.mkdir(exist_ok=True)
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
    path.write_text(text, encoding="utf-8")
    (problem,) = problems_of(suite("apps"), folder)
    return problem


class TestApps:
    def test_public_and_hidden_tests_are_separated(self, tmp_path: Path) -> None:
        row = {
            "problem_id": "5",
            "difficulty": "introductory",
            "question": QUESTION,
            "public": [{"input": "1 2\n", "output": "3\n"}],
            "hidden": [{"input": "7 8\n", "output": "15\n"}],
        }
        problem = read_apps_problem(tmp_path, "apps_dev.jsonl", [row])
        assert (problem.id, problem.group) == ("5", "introductory")
        assert problem.task.form == ProgramForm()
        assert problem.task.examples == (StdioExample(input="1 2\n", output="3\n"),)
        assert isinstance(problem.hidden, StdioTests)
        assert [c.output for c in problem.hidden.cases] == ["3\n", "15\n"]
        assert b"15" not in encode(problem.task)

    def test_the_layout_of_the_selected_problems_is_read(self, tmp_path: Path) -> None:
        row = {
            "name": "5",
            "difficulty": "interview",
            "description": QUESTION,
            "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
            "private_tests": {"input": ["7 8\n"], "output": ["15\n"]},
        }
        problem = read_apps_problem(tmp_path, "apps_selected.json", [row], lines=False)
        assert isinstance(problem.hidden, StdioTests)
        assert problem.hidden.cases[0].output == "15\n"

    def test_the_original_layout_with_calls_is_read(self, tmp_path: Path, sandbox: Sandbox) -> None:
        row = {
            "id": 5,
            "difficulty": "introductory",
            "question": "Add two numbers.",
            "starter_code": "def add(a, b):\n\t",
            "input_output": json.dumps(
                {"fn_name": "add", "inputs": [[7, 8], ["a", "b"]], "outputs": [[15], ["ab"]]}
            ),
        }
        problem = read_apps_problem(tmp_path, "test.jsonl", [row])
        assert isinstance(problem.task.form, FunctionForm)
        assert problem.task.form.entry == "add"
        assert isinstance(problem.hidden, CallTests)
        assert resolved(judge(sandbox, problem, "def add(a, b):\n    return a + b\n"))
        assert not resolved(judge(sandbox, problem, "def add(a, b):\n    return 15\n"))

    def test_the_original_layout_with_standard_input_is_read(self, tmp_path: Path) -> None:
        row = {
            "id": 5,
            "difficulty": "competition",
            "question": QUESTION,
            "starter_code": "",
            "input_output": json.dumps(
                {"inputs": ["7 8\n", ["1", "2"]], "outputs": ["15\n", ["3"]]}
            ),
        }
        problem = read_apps_problem(tmp_path, "test.jsonl", [row])
        assert isinstance(problem.hidden, StdioTests)
        assert [c.input for c in problem.hidden.cases] == ["7 8\n", "1\n2"]


class TestSamples:
    def rows(self, introductory: int) -> list[dict[str, Any]]:
        shape = {"introductory": introductory, "interview": 120, "competition": 60}
        return [
            {
                "problem_id": f"{difficulty}-{number}",
                "difficulty": difficulty,
                "question": QUESTION,
                "public": [],
                "hidden": [{"input": "7 8\n", "output": "15\n"}],
            }
            for difficulty, many in shape.items()
            for number in range(many)
        ]

    def chosen(self, folder: Path, introductory: int, sample: str = "@paper-200") -> list[str]:
        path = folder / "apps" / "apps_dev.jsonl"
        path.parent.mkdir()
        path.write_text("\n".join(map(json.dumps, self.rows(introductory))), encoding="utf-8")
        return chosen_ids(Experiment(suite="apps", data=str(folder)), (sample,))

    def test_the_paper_sample_has_the_expected_number_of_each_difficulty(
        self, tmp_path: Path
    ) -> None:
        ids = self.chosen(tmp_path, 70)
        groups = Counter(name.split("-")[0] for name in ids)
        assert groups == {"introductory": 50, "interview": 100, "competition": 50}
        assert len(set(ids)) == 200
        assert ids[0] == "introductory-27"  # fixed: the choice is part of published results

    def test_too_few_problems_for_a_sample_are_reported(self, tmp_path: Path) -> None:
        with pytest.raises(DataUnavailable, match="needs 50 introductory problems"):
            self.chosen(tmp_path, 49)

    def test_an_unknown_sample_is_reported_with_the_known_ones(self, tmp_path: Path) -> None:
        with pytest.raises(NotFound) as caught:
            self.chosen(tmp_path, 70, "@magic")
        assert "@paper-200" in caught.value.advice


def test_a_humaneval_problem_is_read_with_its_hidden_tests(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    row = {
        "task_id": "HumanEval/3",
        "prompt": "from typing import List\n\n\ndef total(xs: List[int]) -> int:\n"
        '    """Add up.\n    >>> total([1, 2])\n    3\n    """\n',
        "entry_point": "total",
        "canonical_solution": "    return sum(xs)\n",
        "test": "def check(candidate):\n    assert candidate([5]) == 5\n",
    }
    path = tmp_path / "humaneval" / "HumanEval.jsonl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(json.dumps(row).encode()))
    (problem,) = problems_of(suite("humaneval"), tmp_path)
    assert problem.id == "3"
    assert isinstance(problem.hidden, CodeTests)
    assert problem.reference is not None
    assert resolved(judge(sandbox, problem, problem.reference))
    assert b"[5]" not in encode(problem.task)


def test_a_classeval_problem_is_read_with_its_hidden_tests(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    row = {
        "task_id": "ClassEval_9",
        "class_name": "Box",
        "class_description": "A box.",
        "skeleton": "import math\n\nclass Box:\n    def __init__(self):\n        self.n = 0\n\n"
        '    def put(self, k):\n        """Put k things in."""\n',
        "import_statement": ["import math"],
        "solution_code": "class Box:\n    def __init__(self):\n        self.n = 0\n\n"
        "    def put(self, k):\n        self.n += math.floor(k)\n        return self.n\n",
        "test": "import unittest\n\nclass BoxTest(unittest.TestCase):\n    def test_put(self):\n"
        "        self.assertEqual(Box().put(77), 77)\n",
    }
    path = tmp_path / "classeval" / "ClassEval_data.json"
    path.parent.mkdir()
    path.write_text(json.dumps([row]))
    (problem,) = problems_of(suite("classeval"), tmp_path)
    assert problem.id == "9"
    assert isinstance(problem.task.form, ClassForm)
    assert problem.task.form.name == "Box"
    assert problem.reference is not None
    assert judge(sandbox, problem, problem.reference) == {"BoxTest.test_put": True}
    assert b"77" not in encode(problem.task)


def test_an_unknown_suite_is_reported_with_the_known_ones() -> None:
    with pytest.raises(NotFound) as caught:
        suite("magic")
    assert all(name in caught.value.advice for name in SUITES)


def test_a_missing_file_without_an_address_is_reported_with_advice(tmp_path: Path) -> None:
    apps_suite = suite("apps")
    without_addresses = apps_suite._replace(
        sources=tuple(_without_address(s) for s in apps_suite.sources)
    )
    with pytest.raises(DataUnavailable, match="apps_selected") as caught:
        files_of(without_addresses, tmp_path)
    assert "--data" in caught.value.advice


def test_missing_packages_are_reported_with_the_extra_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(
        SUITES, "aerocomm", suite("aerocomm")._replace(packages=("numpy", "not_to_be_had"))
    )
    work = Worker(Experiment(suite="aerocomm", store=str(tmp_path / "runs.db")))
    with pytest.raises(DataUnavailable, match="not_to_be_had") as caught:
        work(Job("aerocomm", "direct", "kepler", "embedded"))
    assert caught.value.advice == "pip install 'auditcoder-bench[bench]'"


def _without_address(source: Any) -> Any:
    from msgspec.structs import replace

    return replace(source, url="")


def _code_in(answer: str) -> str:
    """Return the code in a published answer: its fenced block, else from its first statement."""
    if block := re.search(r"```(?:python)?\n(.*?)(?:```|\Z)", answer, re.DOTALL):
        return block[1]
    begins = re.search(r"^(?:import|from|class)\s", answer, re.MULTILINE)
    return answer[begins.start() :] if begins else answer


def _with_imports(problem: Problem, code: str) -> str:
    """Put the imports that the task gives in front, as its authors' own harness does."""
    imports, _, _ = (problem.reference or "").partition("class ")
    return f"{imports}\n{code}"


@with_data
@pytest.mark.campaign
class TestPublishedScores:
    """On the real data, where a copy is available."""

    def test_references_of_humaneval_pass(self, sandbox: Sandbox) -> None:
        problems = problems_of(suite("humaneval"), DATA)
        failing = [p.id for p in problems if not resolved(judge(sandbox, p, p.reference or ""))]
        assert (len(problems), failing) == (164, [])

    def test_published_generations_score_as_published(self, sandbox: Sandbox) -> None:
        problems = {p.id: p for p in problems_of(suite("humaneval"), DATA)}
        solved = 0
        path = DATA / "humaneval" / "generations" / "gpt-3.5-turbo.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            problem = problems[row["task_id"].split("/")[1]]
            # The solutions were published with the imports of their prompts only.
            given = given_code(row["prompt"], row["entry_point"]).splitlines()
            imports = "\n".join(line for line in given if line.startswith(("import ", "from ")))
            found = resolved(judge(sandbox, problem, f"{imports}\n{row['solution']}"))
            assert found == row["is_solved"], row["task_id"]
            solved += found
        assert solved == 121

    def test_classes_score_as_published(self) -> None:
        """Needs the packages that the classes import: `auditcoder-bench[classeval]`."""
        chosen = suite("classeval")
        for package in chosen.packages:
            pytest.importorskip(package)
        problems = {p.id: p for p in chosen.read(files_of(chosen, DATA))}
        folder = DATA / "classeval" / "model_output"
        with gzip.open(folder / "GPT-3.5-Turbo_class_H_greedy.json.gz", "rt") as file:
            generated = {
                row["task_id"].removeprefix("ClassEval_"): _code_in(row["predict"][0])
                for row in json.load(file)
            }
        sandbox = LocalSandbox(packages=chosen.packages)
        try:
            wrong = {
                name
                for name, problem in problems.items()
                if not resolved(judge(sandbox, problem, problem.reference or ""))
            }
            right = {
                name
                for name, problem in problems.items()
                if resolved(judge(sandbox, problem, _with_imports(problem, generated[name])))
            }
        finally:
            sandbox.close()
        unusable = set(chosen.unusable)
        assert unusable - {"51"} <= wrong <= unusable  # 51 depends on rounding
        assert (len(right), len(right - unusable)) == (25, 25)

    def test_apps_has_the_expected_number_of_each_difficulty(self) -> None:
        groups = Counter(p.group for p in problems_of(suite("apps"), DATA))
        assert groups == {"introductory": 31, "interview": 30, "competition": 31}
