"""The census command checks the structural limits of the repository."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = ROOT / "tools" / "census.py"
MODULE_NAMES = "duplicate module names"
CLASS_NAMES = "duplicate public class names"
ING_NAMES = "modules named by a verb in -ing"
LONGEST = "lines of the longest product module"
LOCATING = "modules in lifecycle/locating"
UNTESTED = "product modules without a test module"
TEST_IMPORTS = "test modules that import a test module"


def run(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, COMMAND, "--root", root], capture_output=True, text=True, check=False
    )


def counts(output: str) -> dict[str, int]:
    """Read the table: the number beside each name."""
    rows = [line for line in output.splitlines()[1:] if not line.startswith("    ")]
    return {row[:42].strip(): int(row[42:50].replace(",", "")) for row in rows}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small repository that keeps every limit."""
    write(tmp_path, "src/auditcoder/__init__.py", "")
    write(tmp_path, "src/auditcoder/domain/__init__.py", "class Domain: ...\n")
    write(tmp_path, "src/auditcoder/domain/graph.py", "class Graph: ...\nclass _Node: ...\n")
    write(tmp_path, "src/auditcoder/domain/trace.py", "class Trace: ...\nclass _Node: ...\n")
    write(tmp_path, "src/auditcoder_bench/__init__.py", "")
    write(tmp_path, "src/auditcoder_bench/runner.py", "class Runner: ...\n")
    write(tmp_path, "tests/domain/test_graph.py", "from auditcoder.x.check_driver import run\n")
    write(tmp_path, "tests/domain/test_trace.py", "from tests.support.graphs import small\n")
    write(tmp_path, "tests/support/graphs.py", "small = ()\n")
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def test_this_repository_keeps_every_limit() -> None:
    done = run(ROOT)
    assert done.returncode == 0, done.stdout


def test_a_tree_that_keeps_every_limit_passes(tree: Path) -> None:
    done = run(tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert "too many" not in done.stdout
    assert counts(done.stdout) == {
        MODULE_NAMES: 0,
        CLASS_NAMES: 0,
        ING_NAMES: 0,
        LONGEST: 2,
        LOCATING: 0,
        UNTESTED: 0,
        TEST_IMPORTS: 0,
        "product lines before (commit c16cedb)": 43_828,
        "product lines now": 5,
    }


def check_broken(tree: Path, name: str, count: int, *details: str) -> None:
    """Check that one limit is broken and no other, and that the output names what breaks it."""
    done = run(tree)
    assert done.returncode == 1
    assert counts(done.stdout)[name] == count
    broken = [line[:42].strip() for line in done.stdout.splitlines() if "too many" in line]
    assert broken == [name]
    for detail in details:
        assert f"    {detail}\n" in done.stdout


def test_a_module_name_used_twice_breaks_a_limit(tree: Path) -> None:
    write(tree, "src/auditcoder_bench/graph.py", "")
    places = "src/auditcoder/domain/graph.py, src/auditcoder_bench/graph.py"
    check_broken(tree, MODULE_NAMES, 1, f"graph: {places}")


def test_a_public_class_name_used_twice_breaks_a_limit(tree: Path) -> None:
    write(tree, "src/auditcoder_bench/tables.py", "class Graph: ...\n")
    places = "src/auditcoder/domain/graph.py, src/auditcoder_bench/tables.py"
    check_broken(tree, CLASS_NAMES, 1, f"Graph: {places}")


def test_programs_that_are_data_may_repeat_names(tree: Path) -> None:
    solved = "src/auditcoder_bench/faultbench/solved"
    for folder in (solved, f"{solved}/again", "src/auditcoder_bench/suites/toy_data/hidden"):
        write(tree, f"{folder}/graph.py", "class Graph: ...\n")
    assert run(tree).returncode == 0


def test_the_sixth_module_named_by_a_verb_breaks_a_limit(tree: Path) -> None:
    names = ("asking", "blaming", "grafting", "reading", "swapping")
    for name in names:
        write(tree, f"src/auditcoder_bench/{name}.py", "")
    assert run(tree).returncode == 0
    write(tree, "src/auditcoder_bench/falling.py", "")
    check_broken(tree, ING_NAMES, 6, "src/auditcoder_bench/falling.py")


def test_a_product_module_of_500_lines_breaks_a_limit(tree: Path) -> None:
    write(tree, "src/auditcoder_bench/runner.py", "1\n" * 500)
    write(tree, "src/auditcoder/domain/graph.py", "1\n" * 499)
    assert run(tree).returncode == 0
    write(tree, "src/auditcoder/domain/graph.py", "1\n" * 500)
    check_broken(tree, LONGEST, 500, "src/auditcoder/domain/graph.py")


def test_the_fifteenth_locating_module_breaks_a_limit(tree: Path) -> None:
    for number in range(14):
        write(tree, f"src/auditcoder/lifecycle/locating/part{number}.py", "")
        write(tree, f"tests/lifecycle/locating/test_part{number}.py", "")
    write(tree, "src/auditcoder/lifecycle/locating/__init__.py", "")
    assert run(tree).returncode == 0
    write(tree, "src/auditcoder/lifecycle/locating/part14.py", "")
    write(tree, "tests/lifecycle/locating/test_part14.py", "")
    check_broken(tree, LOCATING, 15)


def test_a_product_module_without_a_test_module_breaks_a_limit(tree: Path) -> None:
    write(tree, "src/auditcoder/domain/code.py", "")
    write(tree, "tests/test_code.py", "")
    check_broken(tree, UNTESTED, 1, "src/auditcoder/domain/code.py")


@pytest.mark.parametrize(
    ("statement", "imported"),
    [
        ("from tests.domain.test_graph import run", "tests.domain.test_graph.run"),
        ("from tests.domain import test_graph", "tests.domain.test_graph"),
        ("import tests.domain.test_graph", "tests.domain.test_graph"),
        ("from .test_graph import run", "test_graph.run"),
    ],
)
def test_an_import_of_a_test_module_breaks_a_limit(
    tree: Path, statement: str, imported: str
) -> None:
    write(tree, "tests/domain/test_trace.py", f"{statement}\n")
    check_broken(tree, TEST_IMPORTS, 1, f"tests/domain/test_trace.py: {imported}")
