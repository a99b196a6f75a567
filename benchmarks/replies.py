"""Plays the corpus of replies through plan, build and repair; counts what becomes of them.

    python benchmarks/replies.py [--out benchmarks/results/replies.json]

It exits with 1 if a correct reply is refused, if a program fails its examples, or if anything is
lost that the record does not note.
"""

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.reply_corpus import Case, cases, play

from auditcoder import __version__
from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.events import RunOutcome
from auditcoder.domain.values import digest
from auditcoder.lifecycle.ports import Sandbox


def measure(sandbox: Sandbox, case: Case) -> dict[str, Any]:
    """Play one case and count what becomes of its replies."""
    outcome = play(sandbox, case)
    return {
        "case": case.name,
        "features": list(case.features),
        "replies": len(case.texts),
        "passes": outcome.finished.outcome is RunOutcome.PASSED,
        "kept": len(outcome.kept),
        "renamed": len(outcome.renamed),
        "noted": list(outcome.noted),
        "refused": list(outcome.refused),
        "silent": list(outcome.silent),
    }


def main() -> int:
    """Run, print and write the result; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with LocalSandbox() as sandbox:
        rows = [measure(sandbox, case) for case in cases()]
    for row in rows:
        print(
            f"{row['case']}: {row['replies']} replies, {row['kept']} names kept,"
            f" {row['renamed']} renamed, {len(row['noted'])} losses noted,"
            f" {len(row['refused'])} refused, {len(row['silent'])} lost in silence"
        )
    result = {
        "auditcoder": __version__,
        "python": platform.python_version(),
        "corpus": digest("\0".join(f"{c.name}\0{c.texts}" for c in cases()).encode()),
        "cases": rows,
    }
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    bad = [row for row in rows if row["refused"] or row["silent"] or not row["passes"]]
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
