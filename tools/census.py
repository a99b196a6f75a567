"""Checks structural limits of the repository: counts modules, names and lines.

python tools/census.py             print the table; exit with 1 if a limit is exceeded
python tools/census.py --root DIR  count another tree

A module is a Python file in `src`. Programs that are data (the solved programs of FaultBench, the
folders that end in `_data`) and `__init__` modules are left out, except from the count of lines.
"""

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = Path("src/auditcoder")
LOCATING = PRODUCT / "lifecycle" / "locating"
TESTS = Path("tests")

LINES_BEFORE = 43_828
"""Lines of src/auditcoder/**/*.py at commit c16cedb, before the benchmark package was split off."""

MOST_ING_NAMES = 5
MOST_LOCATING_MODULES = 14
MOST_LINES = 499


@dataclass(frozen=True)
class Row:
    """One line of the table: a count, its limit, and the counted items."""

    name: str
    count: int
    limit: int | None = None
    """The largest allowed count, or None for a number that is only reported."""
    details: Sequence[str] = ()
    """The counted items, printed if the limit is exceeded."""

    @property
    def broken(self) -> bool:
        return self.limit is not None and self.count > self.limit


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository to count")
    rows = take_census(parser.parse_args().root)
    sys.stdout.write(format_table(rows))
    return 1 if any(row.broken for row in rows) else 0


def take_census(root: Path) -> list[Row]:
    """Count everything in the repository at `root`."""
    modules = list(find_modules(root))
    product = [path for path in modules if path.is_relative_to(PRODUCT)]
    lines = {path: count_lines(root / path) for path in product}
    longest = max(lines, key=lambda path: lines[path], default=PRODUCT)
    ing_names = [str(path) for path in modules if path.stem.endswith("ing")]
    locating = [str(path) for path in product if path.parent == LOCATING]
    untested = [str(path) for path in product if not mirrored_test(root, path).is_file()]
    modules_by_name = find_duplicates((path.stem, str(path)) for path in modules)
    classes_by_name = find_duplicates(
        (name, str(path)) for path in modules for name in public_classes(root / path)
    )
    importers = list(find_test_imports(root))
    return [
        Row("duplicate module names", len(modules_by_name), 0, modules_by_name),
        Row("duplicate public class names", len(classes_by_name), 0, classes_by_name),
        Row("modules named by a verb in -ing", len(ing_names), MOST_ING_NAMES, ing_names),
        Row(
            "lines of the longest product module", lines.get(longest, 0), MOST_LINES, [f"{longest}"]
        ),
        Row("modules in lifecycle/locating", len(locating), MOST_LOCATING_MODULES, locating),
        Row("product modules without a test module", len(untested), 0, untested),
        Row("test modules that import a test module", len(importers), 0, importers),
        Row("product lines before (commit c16cedb)", LINES_BEFORE),
        Row("product lines now", sum(map(count_lines, (root / PRODUCT).rglob("*.py")))),
    ]


def format_table(rows: Iterable[Row]) -> str:
    """Return the rows as text, each exceeded limit followed by the counted items."""
    text = f"{'':42}{'count':>8}{'limit':>8}\n"
    for row in rows:
        limit = "" if row.limit is None else f"{row.limit:,}"
        mark = "  too many" if row.broken else ""
        text += f"{row.name:42}{row.count:>8,}{limit:>8}{mark}\n"
        if row.broken:
            text += "".join(f"    {detail}\n" for detail in row.details)
    return text


def find_modules(root: Path) -> Iterator[Path]:
    """Yield the modules of both packages, relative to `root`."""
    for path in sorted((root / "src").rglob("*.py")):
        relative = path.relative_to(root)
        if path.name not in {"__init__.py", "__main__.py"} and not is_data(relative):
            yield relative


def is_data(path: Path) -> bool:
    """Whether a file is a program that the benchmark package holds as data."""
    return any(folder.endswith("_data") for folder in path.parts) or path.is_relative_to(
        "src/auditcoder_bench/faultbench/solved"
    )


def mirrored_test(root: Path, module: Path) -> Path:
    """Return the expected path of the test module of a product module."""
    return root / TESTS / module.relative_to(PRODUCT).with_name(f"test_{module.name}")


def find_duplicates(named: Iterable[tuple[str, str]]) -> list[str]:
    """Describe each name that occurs in more than one place."""
    places: dict[str, list[str]] = {}
    for name, place in named:
        places.setdefault(name, []).append(place)
    return [f"{name}: {', '.join(at)}" for name, at in sorted(places.items()) if len(at) > 1]


def public_classes(path: Path) -> list[str]:
    """Return the names of the public classes that a module declares at its top level."""
    return [
        node.name
        for node in parse(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def find_test_imports(root: Path) -> Iterator[str]:
    """Yield each import of a test module by a file in `tests`."""
    for path in sorted((root / TESTS).rglob("*.py")):
        for node in ast.walk(parse(path)):
            for name in imported_from_tests(node):
                if any(part.startswith("test_") for part in name.split(".")):
                    yield f"{path.relative_to(root)}: {name}"


def imported_from_tests(node: ast.AST) -> list[str]:
    """Return the modules, or names that may be modules, that a statement imports from `tests`."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names if alias.name.startswith("tests.")]
        case ast.ImportFrom(module=module, names=names, level=level):
            package = module or ""
            if level or package.split(".")[0] == TESTS.name:
                return [f"{package}.{alias.name}" for alias in names]
    return []


def count_lines(path: Path) -> int:
    """Return the number of lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def parse(path: Path) -> ast.Module:
    """Parse a Python file."""
    text = path.read_text(encoding="utf-8")
    return ast.parse(text, str(path))  # noqa: TID251 - single-threaded, independent of the package


if __name__ == "__main__":
    sys.exit(main())
