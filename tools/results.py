"""Writes docs/results from the committed result files, or checks that it is up to date.

python tools/results.py            write every page
python tools/results.py --check    exit with 1 if a committed page differs

The text of a page is in `tools/result_pages`; every measured number comes from its result file.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from result_pages import (
    costs,
    drafts,
    locators,
    mutants,
    planted,
    repairs,
    replies,
    requests,
    runs,
)
from result_pages.layout import Page, Result, text_table

ROOT = Path(__file__).parents[1]

PAGES: Mapping[str, Callable[[Result], Page]] = {
    "solve": runs.solve,
    "methods": runs.methods,
    "default": runs.default,
    "drafts": drafts.drafts,
    "examples": runs.examples,
    "locators": locators.locators,
    "judged": locators.judged,
    "judged-opinions": locators.judged_opinions,
    "locate": locators.locate,
    "repair-yardstick": repairs.yardstick,
    "repair-several": repairs.several,
    "repair-faults": repairs.faults,
    "overhead": costs.overhead,
    "trace": costs.trace,
    "sandbox": costs.sandbox,
    "forgeries": costs.forgeries,
    "hostile": costs.hostile,
    "judge": costs.judge,
    "audit": costs.audit,
    "model": costs.model,
    "at_once": costs.at_once,
    "planted": planted.planted,
    "replies": replies.replies,
    "prompt_sizes": requests.prompt_sizes,
    "task_tokens": requests.task_tokens,
    "planners": requests.planners,
    "law_mutants": mutants.law_mutants,
}
GENERATED = "<!-- Written by tools/results.py from {source}; do not edit. -->"


def main() -> int:
    """Write or check the pages; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="compare the pages without writing them"
    )
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    options = parser.parse_args()
    pages = render(options.results)
    if not options.check:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (options.out / name).write_text(text, encoding="utf-8")
        return 0
    problems = compare(pages, options.out)
    for problem in problems:
        sys.stderr.write(f"{problem}; run 'python tools/results.py'\n")
    return 1 if problems else 0


def render(results: Path) -> dict[str, str]:
    """Return the text of every page by file name."""
    unknown = {path.stem for path in results.glob("*.json")} - set(PAGES)
    if unknown:
        raise SystemExit(f"no page for {', '.join(sorted(unknown))}; add one to {__file__}")
    rendered: dict[str, str] = {}
    index: list[tuple[str, str]] = []
    for name, describe in PAGES.items():
        page = describe(json.loads((results / f"{name}.json").read_text(encoding="utf-8")))
        rendered[f"{name}.md"] = _whole(name, page)
        index.append((f"[{page.title}]({name}.md)", page.question))
    rendered["README.md"] = (
        GENERATED.format(source="benchmarks/results")
        + "\n# Results\n\nEach page is written from one committed result file by `python"
        " tools/results.py`;\na test compares them. Every page states its method, its limits, its"
        " missed goals, and intervals\nwhere the file allows them.\n\n"
        + text_table(["page", "question"], index)
        + "\n"
    )
    return rendered


def compare(pages: Mapping[str, str], folder: Path) -> list[str]:
    """Return one sentence for each page that is missing, stale or without a result file."""
    problems = []
    for name, text in pages.items():
        path = folder / name
        if not path.exists():
            problems.append(f"{path} is missing")
        elif path.read_text(encoding="utf-8") != text:
            problems.append(f"{path} differs from its result file")
    problems += [
        f"{path} has no result file"
        for path in sorted(folder.glob("*.md"))
        if path.name not in pages
    ]
    return problems


def _whole(name: str, page: Page) -> str:
    source = f"benchmarks/results/{name}.json"
    return (
        f"{GENERATED.format(source=source)}\n# {page.title}\n\n**Question.** {page.question}\n\n"
        f"Result file: [`{source}`](../../{source}).\n\n{page.text}"
    )


if __name__ == "__main__":
    sys.exit(main())
