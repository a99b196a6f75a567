"""README and docs: length, links, and the modules, paths, laws and tests that they mention."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from auditcoder.domain.events import Event
from auditcoder.domain.laws import Law

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MODULE = re.compile(r"\bauditcoder(?:_bench)?(?:\.[A-Za-z_]\w*)+")
SOURCE = re.compile(r"\b(?:src|tests|benchmarks|tools|examples)/[\w./+-]*[\w/]")
FILE_SUFFIXES = {".toml", ".db", ".md", ".acb", ".json", ".html"}


REFERENCE = ROOT / "docs" / "reference"
NAMED_TEST = re.compile(r"\[`(\w+)`\]\(([^)#]+)\)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield link


def is_importable(dotted: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    parts = dotted.split(".")
    try:
        if importlib.util.find_spec(dotted) is not None:
            return True
    except ModuleNotFoundError:
        pass
    for split in range(len(parts) - 1, 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        found: object = module
        for part in parts[split:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def test_the_readme_has_at_most_700_words() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_every_page_of_the_documentation_is_reachable_from_its_index() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "docs" / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists():
                waiting.append(target)
    unreached = set(PAGES) - seen - {ROOT / "README.md"}
    assert sorted(name(page) for page in unreached) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_has_a_target(page: Path) -> None:
    assert list(broken_links(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_mentioned_module_exists(page: Path) -> None:
    mentioned = {
        found
        for found in MODULE.findall(page.read_text(encoding="utf-8"))
        if f".{found.rsplit('.', 1)[1]}" not in FILE_SUFFIXES
    }
    assert sorted(found for found in mentioned if not is_importable(found)) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_mentioned_path_exists(page: Path) -> None:
    text = re.sub(r"https?://\S+", "", page.read_text(encoding="utf-8"))
    mentioned = set(SOURCE.findall(text))
    assert sorted(path for path in mentioned if not (ROOT / path).exists()) == []


def test_every_product_module_is_on_the_architecture_page() -> None:
    page = (ROOT / "docs/reference/architecture.md").read_text(encoding="utf-8")
    modules = {
        path.stem
        for path in (ROOT / "src/auditcoder").rglob("*.py")
        if path.name not in {"__init__.py", "__main__.py"}
    }
    commands = {name for name in modules if name.endswith("_command")}  # described together
    missing = {name for name in modules - commands if not re.search(rf"\b{name}\b", page)}
    assert missing == set()


def rows(page: Path) -> list[list[str]]:
    """The cells of every row of a page's tables, without heads."""
    lines = page.read_text(encoding="utf-8").splitlines()
    tables = [line for line in [*lines, ""] if line.startswith("|") or not line]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line, below in pairwise(tables)
        if line and not line.startswith("|---") and not below.startswith("|---")
    ]


def names_of_tests(module: Path) -> set[str]:
    """The names of the test functions and methods of a module."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {function.name for function in functions if function.name.startswith("test_")}


GUARANTEES = rows(REFERENCE / "guarantees.md")


@pytest.mark.parametrize("row", GUARANTEES, ids=lambda row: row[0])
def test_every_guarantee_names_existing_tests(row: list[str]) -> None:
    _, cell = row
    named = NAMED_TEST.findall(cell)
    assert ", ".join(f"[`{test}`]({path})" for test, path in named) == cell
    assert named
    for test, path in named:
        assert test in names_of_tests((REFERENCE / path).resolve()), test


def test_every_law_is_in_the_table_of_laws_and_has_a_guarantee() -> None:
    codes = {f"law.{law.value}" for law in Law}
    law = re.compile(r"`(law\.[a-z-]+)`")
    stated = [law.findall(row[0]) for row in rows(REFERENCE / "laws.md")]
    shown = [law.findall(guarantee) for guarantee, _ in GUARANTEES]
    assert {code for found in stated for code in found} == codes
    assert {code for found in shown for code in found} == codes


def test_every_event_is_on_the_page_of_the_format() -> None:
    page = (REFERENCE / "format.md").read_text(encoding="utf-8")
    table = page.partition("| event | when |")[2].partition("\n\n")[0]
    cells = (line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    named = [tag for cell in cells for tag in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(kind.__struct_config__.tag for kind in get_args(Event))
