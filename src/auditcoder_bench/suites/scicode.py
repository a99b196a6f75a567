"""SciCode Blind-Small-8: the first steps of eight scientific problems, one function each.

Upstream keeps the expected values (targets) of the test cases in a separate HDF5 file. The loader
writes them into the test code, so that the sandbox needs neither the file nor h5py.
"""

import ast
import base64
import importlib
import json
import textwrap
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from auditcoder.domain.errors import DataUnavailable
from auditcoder.domain.execution import Bounds
from auditcoder.domain.python_names import parse
from auditcoder.domain.values import Digest
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder_bench.problem import CodeTests, Problem
from auditcoder_bench.suites.suite import DataFile, Suite

IDS = ("13.1", "14.1", "25.1", "28.1", "35.1", "37.1", "45.1", "77.1")

_PROBLEMS = "scicode/problems_all.jsonl"
_TARGETS = "scicode/test_data.h5"
_BOUNDS = Bounds(seconds=120.0, memory_bytes=4 << 30)
"""Generous: the targets of 13.1 are nine million numbers, and 14.1 takes 600,000 steps."""
_COMPARE = "scicode.compare.cmp"

_PRELUDE = "auditcoder_bench.sandboxed.scicode_tests"
"""Named, not imported: it needs numpy, which only the sandbox must have."""

Reader: TypeAlias = Callable[[str, int], Any]
"""Returns the target of a test, by step number such as `13.1` and test number from 1."""


def _read(files: Mapping[str, Path]) -> list[Problem]:
    rows = files[_PROBLEMS].read_text(encoding="utf-8").splitlines()
    with _open_targets(files[_TARGETS]) as store:
        return problems([json.loads(row) for row in rows if row.strip()], _reader(store))


def problems(rows: Sequence[Mapping[str, Any]], target: Reader) -> list[Problem]:
    """Return the eight problems; `target` reads the expected values of their tests."""
    steps = {step["step_number"]: step for row in rows for step in row["sub_steps"][:1]}
    if absent := [name for name in IDS if name not in steps]:
        raise DataUnavailable(
            "data.missing",
            f"{_PROBLEMS} has no first step {', '.join(absent)}",
            "use SciCode's file of test problems, not the one of development problems",
        )
    return [_problem(steps[name], target) for name in IDS]


def _problem(step: Mapping[str, Any], target: Reader) -> Problem:
    name, header = step["step_number"], step["function_header"].rstrip()
    parts = (step["step_description_prompt"], step["step_background"], f"```python\n{header}\n```")
    return Problem(
        name,
        make_task(
            "\n\n".join(part.strip() for part in parts if part.strip()) + "\n",
            TaskOptions(
                form="function",
                title=_title(header),
                seconds=_BOUNDS.seconds,
                memory_mb=_BOUNDS.memory_bytes >> 20,
                source=f"scicode/{name}",
            ),
        ),
        CodeTests(code=_tests(name, step["test_cases"], target)),
        bounds=_BOUNDS,
    )


def _title(header: str) -> str:
    """Return the first line of the docstring in a function header, or the function's name."""
    (function,) = parse(header).body
    assert isinstance(function, ast.FunctionDef)
    return (ast.get_docstring(function) or function.name).splitlines()[0]


def _tests(name: str, cases: Sequence[str], target: Reader) -> str:
    methods = []
    for number, case in enumerate(cases, start=1):
        body = f"target = {literal(target(name, number))}\n{_case(case)}"
        methods.append(f"    def test_{number}(self):\n{textwrap.indent(body, ' ' * 8)}\n")
    header = "import unittest\n\n\nclass TestStep(unittest.TestCase):"
    return "\n".join([joined_source(_PRELUDE), header, *methods])


def _case(code: str) -> str:
    """Return a test case without the import of upstream's comparison; the prelude replaces it."""
    tree = parse(code)
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.ImportFrom) and node.module == _COMPARE)
    ]
    return ast.unparse(tree)


def literal(value: Any) -> str:
    """Write a target as an expression that test code can evaluate."""
    match value:
        case str() | bool() | int():
            return repr(value)
        case bytes():
            return repr(value.decode())
        case tuple() | list():
            return f"[{', '.join(map(literal, value))}]"
        case _:
            # A NumPy array or number; its bytes are exact and far shorter than its digits.
            text = base64.b64encode(zlib.compress(value.tobytes(), 1)).decode()
            return f"_stored({value.dtype.str!r}, {value.shape!r}, {text!r})"


def _open_targets(path: Path) -> Any:
    try:
        library = importlib.import_module("h5py")
    except ImportError as error:
        raise DataUnavailable(
            "data.missing",
            f"reading {path.name} needs a library that is not installed",
            "pip install 'auditcoder-bench[scicode]'",
        ) from error
    try:
        return library.File(path, "r")
    except OSError as error:
        raise DataUnavailable(
            "data.missing", f"{path} is not an HDF5 file: {error}", _ADVICE
        ) from error


def _reader(store: Any) -> Reader:
    def target(step: str, number: int) -> Any:
        path = f"{step}/test{number}"
        if path not in store:
            raise DataUnavailable("data.missing", f"{_TARGETS} has no target at {path}", _ADVICE)
        values = [_value(store[path][name]) for name in store[path]]
        return values[0] if len(values) == 1 else values

    return target


def _value(node: Any) -> Any:
    """Return the value of an HDF5 node: an array, a number, a text, or a list of them."""
    if not hasattr(node, "keys"):
        return node[()]
    if "list" not in node:
        raise DataUnavailable(
            "data.missing", f"{node.name} in {_TARGETS} is neither a value nor a list", _ADVICE
        )
    return [_value(part) for part in node["list"].values()]


_ADVICE = (
    "download the targets as SciCode's README says (https://github.com/scicode-bench/SciCode),"
    " put the file at scicode/test_data.h5 in a folder, and pass that folder as --data"
)

SUITE = Suite(
    name="scicode",
    title="SciCode Blind-Small-8",
    licence="Apache-2.0 (SciCode)",
    sources=(
        DataFile(
            path=_PROBLEMS,
            url="https://raw.githubusercontent.com/scicode-bench/SciCode/"
            "89fccc3eda457dc66aece8bee7f9659d24edcf6e/eval/data/problems_all.jsonl",
            sha256=Digest("38797fef78f434720be6d053b4f3a86839d6f8ea5fb9115450677cd3a6edf81d"),
            instead=("eval/data/problems_all.jsonl",),
        ),
        DataFile(path=_TARGETS, instead=("eval/data/test_data.h5",), advice=_ADVICE),
    ),
    read=_read,
    packages=("numpy", "scipy"),
    extra="scicode",
)
