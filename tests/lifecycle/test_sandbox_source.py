"""Code for the sandbox is joined from files into one text that needs nothing of this package."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import auditcoder.sandboxed
import auditcoder_bench.sandboxed
from auditcoder.lifecycle.sandbox_source import joined_source

SENT = [
    "auditcoder.sandboxed.tracer",
    "auditcoder.sandboxed.contract_tester",
    "auditcoder.sandboxed.contract_monitor",
    "auditcoder.sandboxed.call_timer",
    "auditcoder.sandboxed.reference_cases",
    "auditcoder.sandboxed.result_comparison",
    "auditcoder_bench.sandboxed.batch_driver",
    "auditcoder_bench.sandboxed.file_tests",
    "auditcoder_bench.sandboxed.method_tests",
]


@pytest.mark.parametrize("module", SENT)
def test_the_text_imports_nothing_of_ours(module: str) -> None:
    for node in ast.walk(ast.parse(joined_source(module))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert not str(node.module).startswith("auditcoder")
        elif isinstance(node, ast.Import):
            assert not any(alias.name.startswith("auditcoder") for alias in node.names)


@pytest.mark.parametrize("module", SENT)
def test_no_two_parts_define_the_same_name(module: str) -> None:
    names: Counter[str] = Counter()
    for statement in ast.parse(joined_source(module)).body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names[name] += 1
            case ast.Assign(targets=targets):
                found = (part for target in targets for part in ast.walk(target))
                names.update(part.id for part in found if isinstance(part, ast.Name))
    assert not [name for name, count in names.items() if count > 1]


def test_a_part_comes_before_what_imports_it_and_only_once() -> None:
    text = joined_source("auditcoder.sandboxed.tracer")
    assert text.count("class CallRecorder:") == text.count("class OutOfTime(") == 1
    assert text.index("class OutOfTime(") < text.index("class StepRecorder:")


@pytest.mark.parametrize("package", [auditcoder.sandboxed, auditcoder_bench.sandboxed])
def test_the_map_of_the_folder_names_every_file(package: object) -> None:
    home = Path(str(getattr(package, "__file__", None)))
    files = {path.stem for path in home.parent.glob("*.py")} - {"__init__"}
    named = set(re.findall(r"^    (\w+) ", str(package.__doc__), re.MULTILINE))
    assert named == files
