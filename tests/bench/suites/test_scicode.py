"""SciCode Blind-Small-8: statements without test cases, and targets from a separate file."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.errors import DataUnavailable
from auditcoder.domain.task import FunctionForm
from auditcoder.domain.values import encode
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.experiments import problems_of
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import CodeTests, Problem
from auditcoder_bench.suites import suite
from auditcoder_bench.suites.scicode import IDS, literal, problems

RIGHT = "import numpy as np\n\n\ndef scale(x, k):\n    return np.asarray(x) * k, x[0]\n"
WRONG = RIGHT.replace("* k", "+ k")
IMPORT = "from scicode.compare.cmp import cmp_tuple_or_list"
CASES = [
    f"{IMPORT}\nassert cmp_tuple_or_list(scale([1.5, 2.0], 3), target)",
    "x = np.array([2.0, 7.0])\nassert np.allclose(scale(x, 2)[0], target)",
]


def row(name: str) -> dict[str, Any]:
    number = name.partition(".")[0]
    step = {
        "step_number": name,
        "step_description_prompt": "Scale a vector.",
        "step_background": "Background\nEvery part is multiplied.",
        "function_header": "def scale(x, k):\n    '''Scale a vector.\n    x : its parts\n    '''\n",
        "test_cases": CASES,
    }
    return {"problem_id": number, "sub_steps": [step, {**step, "step_number": f"{number}.2"}]}


ROWS = [row(name) for name in ("1.1", *reversed(IDS))]


def target(_step: str, number: int) -> Any:
    if number == 1:
        return [np.array([4.5, 6.0]), np.float64(1.5)]
    return np.array([4.0, 14.0])


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    opened = LocalSandbox(packages=("numpy",))
    yield opened
    opened.close()


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    path = tmp_path / "scicode" / "problems_all.jsonl"
    path.parent.mkdir()
    path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return tmp_path


def first() -> Problem:
    return problems(ROWS, target)[0]


def test_only_the_eight_first_steps_are_problems() -> None:
    assert tuple(problem.id for problem in problems(ROWS, target)) == IDS


def test_the_task_has_text_background_and_header_but_no_test_case() -> None:
    task = first().task
    assert task.form == FunctionForm(entry="scale", signature="def scale(x, k)")
    assert task.title == "Scale a vector."
    assert task.source == "scicode/13.1"
    assert "Every part is multiplied." in task.statement
    assert not task.examples
    assert b"allclose" not in encode(task)
    assert b"14.0" not in encode(task)


def test_each_case_is_a_separate_test(sandbox: Sandbox) -> None:
    problem = first()
    assert isinstance(problem.hidden, CodeTests)
    assert "scicode.compare" not in problem.hidden.code
    assert judge(sandbox, problem, RIGHT) == {"TestStep.test_1": True, "TestStep.test_2": True}
    assert judge(sandbox, problem, WRONG) == {"TestStep.test_1": False, "TestStep.test_2": False}
    assert not resolved(judge(sandbox, problem, ""))


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.1),
        np.array([[1.5, -0.0], [np.inf, 1e-300]]),
        np.array([1 + 2j, 0]),
        np.arange(6, dtype=np.int32).reshape(1, 2, 3),
        np.zeros((0, 3)),
    ],
)
def test_targets_reach_the_tests_unchanged(sandbox: Sandbox, value: Any) -> None:
    rows = [
        {"sub_steps": [{**row(name)["sub_steps"][0], "test_cases": ["check(target)"]}]}
        for name in IDS
    ]
    problem = problems(rows, lambda _step, _number: value)[0]
    program = (
        "import numpy as np\n\n\ndef check(found):\n"
        f"    assert (found.dtype.str, found.shape) == ({value.dtype.str!r}, {value.shape!r})\n"
        f"    assert np.array_equal(found, np.array({value.tolist()!r}).reshape({value.shape!r}))\n"
    ).replace("inf", "np.inf")
    assert resolved(judge(sandbox, problem, program))


def test_strings_and_lists_can_be_targets() -> None:
    assert literal(b"odd") == literal("odd") == "'odd'"
    assert literal(["a", ("b", True)]) == "['a', ['b', True]]"


def test_a_file_without_the_steps_is_refused() -> None:
    with pytest.raises(DataUnavailable, match=r"no first step 13\.1, 14\.1") as caught:
        problems(ROWS[:1], target)
    assert caught.value.code == "data.missing"


def test_a_missing_target_file_is_reported_with_its_path(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"test_data\.h5") as caught:
        problems_of(suite("scicode"), folder)
    assert caught.value.code == "data.missing"
    assert "scicode/test_data.h5" in caught.value.advice
    assert "--data" in caught.value.advice


def test_a_missing_library_is_reported_with_its_install_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.import_module

    def import_without_h5py(name: str, package: str | None = None) -> ModuleType:
        if name == "h5py":
            raise ModuleNotFoundError(name)
        return found(name, package)

    monkeypatch.setattr(importlib, "import_module", import_without_h5py)
    (folder / "scicode" / "test_data.h5").write_bytes(b"")
    with pytest.raises(DataUnavailable) as caught:
        problems_of(suite("scicode"), folder)
    assert caught.value.advice == "pip install 'auditcoder-bench[scicode]'"


class TestTargetFile:
    @pytest.fixture(name="h5py")
    def _h5py(self) -> Any:
        return pytest.importorskip("h5py")

    def test_single_values_several_values_and_lists_are_read(
        self, h5py: Any, folder: Path, sandbox: Sandbox
    ) -> None:
        with h5py.File(folder / "scicode" / "test_data.h5", "w") as store:
            for name in IDS:
                parts = store.create_group(f"{name}/test1")
                if name == IDS[0]:
                    parts = parts.create_group("var1/list")
                parts["var1"], parts["var2"] = target(name, 1)
                store[f"{name}/test2/var1"] = target(name, 2)
        for problem in problems_of(suite("scicode"), folder):
            assert resolved(judge(sandbox, problem, RIGHT))
            assert not resolved(judge(sandbox, problem, WRONG))

    def test_a_missing_target_is_reported(self, h5py: Any, folder: Path) -> None:
        with h5py.File(folder / "scicode" / "test_data.h5", "w") as store:
            store["13.1/test1/var1"] = 1.0
        with pytest.raises(DataUnavailable, match=r"13\.1/test2") as caught:
            problems_of(suite("scicode"), folder)
        assert caught.value.code == "data.missing"

    def test_a_file_that_is_not_hdf5_is_reported(self, h5py: Any, folder: Path) -> None:
        (folder / "scicode" / "test_data.h5").write_text("no")
        with pytest.raises(DataUnavailable, match="is not an HDF5 file"):
            problems_of(suite("scicode"), folder)
