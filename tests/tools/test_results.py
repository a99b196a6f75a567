"""The command that writes docs/results from the committed result files."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = ROOT / "tools" / "results.py"
RESULTS = ROOT / "benchmarks" / "results"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, COMMAND, *arguments], capture_output=True, text=True, check=False
    )


def test_the_committed_pages_are_current() -> None:
    done = run("--check")
    assert done.returncode == 0, done.stderr


def test_every_result_file_has_a_page_and_every_page_is_in_the_index() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "results").glob("*.md")} - {"README"}
    assert pages == {path.stem for path in RESULTS.glob("*.json")}
    index = (ROOT / "docs" / "results" / "README.md").read_text(encoding="utf-8")
    assert all(f"]({page}.md)" in index for page in pages)


def test_a_changed_number_makes_its_page_stale(tmp_path: Path) -> None:
    results, pages = tmp_path / "results", tmp_path / "pages"
    shutil.copytree(RESULTS, results)
    assert run("--results", results, "--out", pages).returncode == 0
    assert run("--results", results, "--out", pages, "--check").returncode == 0
    path = results / "overhead.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["share"] *= 2
    path.write_text(json.dumps(content), encoding="utf-8")
    done = run("--results", results, "--out", pages, "--check")
    assert done.returncode == 1
    assert "overhead.md differs from its result file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_page_without_a_result_file_is_reported(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    assert run("--out", pages).returncode == 0
    (pages / "stray.md").write_text("# Stray\n", encoding="utf-8")
    done = run("--out", pages, "--check")
    assert done.returncode == 1
    assert "stray.md has no result file" in done.stderr


def test_a_result_file_without_a_page_is_an_error(tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(RESULTS, results)
    (results / "new.json").write_text("{}", encoding="utf-8")
    done = run("--results", results, "--out", tmp_path / "pages")
    assert done.returncode == 1
    assert "no page for new" in done.stderr
