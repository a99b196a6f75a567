"""QF-Small6: six programs of quantitative finance that read and write files.

Statements, data and tests come from a checkout of the upstream repository. This package adds
clarifications, which are part of the task, and contract checks, which only the judge sees.
"""

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from auditcoder.domain.execution import Bounds
from auditcoder.domain.task import Task
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder_bench.problem import FileTests, Problem
from auditcoder_bench.suites.suite import DataFile, Suite

REVISION = "d5aefe390b7b92e70604010bb45575531a735795"
"""The first upstream revision that has all six tasks with their tests."""

_HOME = "auditcoder_bench.suites.qf_data"
_SECONDS = 60.0
"""Importing scikit-learn takes several seconds on a small machine."""
_MEMORY_MB = 4096
_PLACES = (
    "`/app/x` stands for `x` in the current folder, and `/app/output/y` for `output/y` there;"
    " the folder `output` is not there until the program makes it."
)
_SCRIPT = re.compile(r"<< 'PYEOF'\n(.*)^PYEOF$", re.DOTALL | re.MULTILINE)


class _Entry(NamedTuple):
    """One task: its upstream name, its input files and its output files."""

    name: str
    title: str
    inputs: tuple[str, ...]
    artefacts: tuple[str, ...] = ("output/results.json",)

    def path(self, file: str) -> str:
        return f"qfbench/tasks/{self.name}/{file}"

    @property
    def files(self) -> tuple[str, ...]:
        data = (f"environment/data/{name}" for name in self.inputs)
        return ("instruction.md", *data, "tests/test_outputs.py")


_ENTRIES = (
    _Entry(
        "corporate-action-adjustment",
        "Corporate action price adjustment",
        ("prices.csv", "corporate_actions.json"),
        ("output/adjusted_prices.csv", "output/results.json"),
    ),
    _Entry("earnings-surprise-calculator", "Earnings surprise and SUE", ("earnings.json",)),
    _Entry(
        "historical-var",
        "Historical VaR and CVaR",
        ("returns.json",),
        ("output/var_results.json",),
    ),
    _Entry("interest-rate-cap-floor", "Interest rate cap and floor pricing", ("params.json",)),
    _Entry("pca-factor-portfolio", "PCA factor-neutral portfolio", ("params.json",)),
    _Entry("zero-coupon-bootstrapping", "Zero-coupon curve bootstrapping", ("curve_data.json",)),
)


def _read(files: Mapping[str, Path]) -> list[Problem]:
    return [_problem(entry, files) for entry in _ENTRIES]


def _problem(entry: _Entry, files: Mapping[str, Path]) -> Problem:
    data = {name: files[entry.path(f"environment/data/{name}")] for name in entry.inputs}
    tests = files[entry.path("tests/test_outputs.py")]
    return Problem(
        entry.name,
        _task(entry, files[entry.path("instruction.md")], data),
        FileTests(
            inputs={name: path.read_bytes() for name, path in data.items()},
            artefacts=entry.artefacts,
            code=(_with_relative_paths(tests.read_text(encoding="utf-8")), contract(entry.name)),
        ),
        bounds=Bounds(seconds=_SECONDS, memory_bytes=_MEMORY_MB << 20),
        reference=_reference(tests.parents[1] / "solution" / "solve.sh"),
    )


def _task(entry: _Entry, instruction: Path, data: Mapping[str, Path]) -> Task:
    original = instruction.read_text(encoding="utf-8").rstrip()
    parts = (original, "## Clarifications", _PLACES, clarification(entry.name))
    return make_task(
        "\n\n".join(part for part in parts if part) + "\n",
        TaskOptions(
            form="files",
            title=entry.title,
            seconds=_SECONDS,
            memory_mb=_MEMORY_MB,
            source=f"qf/{entry.name}",
            artefacts=entry.artefacts,
        ),
        inputs={name: path.read_text(encoding="utf-8") for name, path in data.items()},
    )


def clarification(name: str) -> str:
    """Return the clarification of an ambiguous statement; empty if it needs none."""
    path = resources.files(_HOME) / f"clarifications/{name}.md"
    return path.read_text("utf-8").strip() if path.is_file() else ""


def contract(name: str) -> str:
    """Return the code of this project's own checks of a task."""
    return (resources.files(_HOME) / f"contracts/{name}.py").read_text("utf-8")


def _with_relative_paths(code: str) -> str:
    """Replace absolute paths below `/app` by paths relative to the current folder."""
    return code.replace("/app/", "./")


def _reference(script: Path) -> str | None:
    if not script.is_file():
        return None
    embedded = _SCRIPT.search(script.read_text(encoding="utf-8"))
    return None if embedded is None else _with_relative_paths(embedded[1])


def _source(entry: _Entry, file: str) -> DataFile:
    return DataFile(
        path=entry.path(file),
        instead=(f"tasks/{entry.name}/{file}",),
        advice="get a checkout that has the task's tests: git clone"
        " https://github.com/QF-Bench/QuantitativeFinance-Bench qfbench, in it git fetch origin"
        f" {REVISION} and git checkout FETCH_HEAD; then pass its parent folder as --data",
    )


SUITE = Suite(
    name="qf",
    title="QF-Small6",
    licence="Apache-2.0 (QF-Bench), read from a checkout; contract checks Apache-2.0",
    sources=tuple(_source(entry, file) for entry in _ENTRIES for file in entry.files),
    read=_read,
    packages=("numpy", "pandas", "scipy", "sklearn", "pytest"),
    extra="qf",
)
