"""Forges recorded and random runs, one field at a time; counts which forgeries verify.

    python benchmarks/forgeries.py [--runs 1000] [--out benchmarks/results/forgeries.json]

It fails if a forgery verifies although the documentation does not list its field as believed.
"""

import argparse
import json
import platform
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.forged_runs import RECORDS, forge_random_runs, forge_recorded_run, unexpected

from auditcoder import __version__
from auditcoder.domain.values import digest

LAWS = Path(__file__).parents[1] / "src" / "auditcoder" / "domain" / "laws"


def main() -> int:
    """Run, print and write the result; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    tried, survived = (Counter(counts) for counts in forge_random_runs(options.runs))
    new = []
    for number in range(len(RECORDS)):
        more, left = forge_recorded_run(number)
        tried.update(more)
        survived.update(forgery.field for forgery in left)
        new += unexpected(left)
    result = {
        "python": platform.python_version(),
        "auditcoder": __version__,
        "laws": digest(b"".join(path.read_bytes() for path in sorted(LAWS.glob("*.py")))),
        "random_runs": options.runs,
        "recorded_runs": [path.stem for path in RECORDS],
        "tried": tried.total(),
        "survived": survived.total(),
        "unexpected": sorted({forgery.field for forgery in new}),
        "fields": {
            field: {"tried": count, "survived": survived[field]}
            for field, count in sorted(tried.items())
        },
    }
    text = json.dumps(result, indent=1) + "\n"
    sys.stdout.write(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
