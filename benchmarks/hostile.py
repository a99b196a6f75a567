"""Runs the hostile programs in the full sandbox and as in a container; counts what they achieve.

    python benchmarks/hostile.py [--out benchmarks/results/hostile.json]

A program is contained, has leaked, or has stalled the host. It exits with 1 if one achieved more
than the corpus says: nothing in the full sandbox, and in a container only what has a reason there.
"""

import argparse
import json
import os
import platform
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faults import corpus, machine_corpus
from tests.faults.hostile import CORPUS, Result, attacked

from auditcoder import __version__
from auditcoder.adapters.sandboxes.forkserver import LAYERS, LocalSandbox
from auditcoder.domain.values import digest

assert corpus, machine_corpus  # importing them fills CORPUS
SANDBOXES = {"full": LAYERS, "container": ("landlock", "seccomp")}


def measure(layers: tuple[str, ...]) -> dict[str, Any]:
    """Run every program in one sandbox."""
    counts: Counter[Result] = Counter()
    achieved = []
    unexpected = 0
    with LocalSandbox(layers=layers) as sandbox:
        if not {"landlock", "seccomp"} <= set(sandbox.kind.split("+")):
            raise SystemExit(f"these programs could do harm in the sandbox {sandbox.kind}")
        for program in CORPUS:
            result, _ = attacked(sandbox, program)
            counts[result] += 1
            known = "" if "mount" in sandbox.kind else program.without_namespaces
            if result is not Result.CONTAINED:
                achieved.append({"program": program.name, "result": result.value, "reason": known})
            unexpected += result is not (Result.LEAKED if known else Result.CONTAINED)
        return {
            "sandbox": sandbox.kind,
            "programs": len(CORPUS),
            **{result.value: counts[result] for result in Result},
            "unexpected": unexpected,
            "achieved": achieved,
        }


def main() -> int:
    """Run, print and write the result; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = {name: measure(layers) for name, layers in SANDBOXES.items()}
    for name, row in found.items():
        counted = ", ".join(f"{row[result.value]} {result.value}" for result in Result)
        print(f"{name}: {row['programs']} programs, {counted}, {row['unexpected']} unexpected")
        for attack in row["achieved"]:
            print(f"  {attack['result']}: {attack['program']} ({attack['reason'] or 'unexpected'})")
    result = {
        "auditcoder": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "cores": len(os.sched_getaffinity(0)),
        "root": os.getuid() == 0,
        "corpus": digest("\0".join(f"{p.name}\0{p.source}" for p in CORPUS).encode()),
        "sandboxes": found,
    }
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    return int(any(row["unexpected"] for row in found.values()))


if __name__ == "__main__":
    sys.exit(main())
