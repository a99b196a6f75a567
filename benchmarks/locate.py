"""What it costs to watch a program fail, and how that grows with its parts and its cases.

    python benchmarks/locate.py [--rounds 5] [--out FILE]

A chain of functions, the last of them wrong, is put through failing cases: once as they are
checked, once watched, and once with another implementation in one part's place. All three take
turns in one process and one sandbox, so that what else the machine does falls on all of them.
What counts is the ratio to the plain check, and how it grows.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from auditcoder import __version__
from auditcoder.domain.contract import Clause, Contract, Param
from auditcoder.domain.execution import Bounds, Execution, RunTests
from auditcoder.interfaces.opening import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.locating.collecting import Failing, intervene, look
from auditcoder.lifecycle.locating.swapping import Alternative
from auditcoder.lifecycle.locating.watching import Promised, Trial
from auditcoder.lifecycle.ports import Sandbox

RESULTS = Path(__file__).parent / "results" / "locate.json"
SIZES = ((4, 4), (16, 4), (64, 4), (4, 16), (4, 64), (16, 16))
"""Parts and cases."""


class Subject(NamedTuple):
    """A program that fails, and what it is checked by."""

    failing: Failing
    mended: str


def subject(parts: int, cases: int) -> Subject:
    """Write a chain of so many functions, the last of them off by one, and so many cases."""
    names = [f"part_{n}" for n in range(parts)]
    lines = [f"def {name}(n: int) -> int:\n    return n + 1\n" for name in names]
    chained = "\n".join(f"    n = {name}(n)" for name in names)
    root = f"def main(n: int) -> int:\n{chained}\n    return n\n"
    right = "\n\n".join([*lines, root])
    wrong = right.replace(lines[-1], lines[-1].replace("n + 1", "n + 2"))
    tests = "".join(
        f"    def test_{n}(self):\n        result = main({n})\n"
        f"        assert result == {n + parts}\n"
        for n in range(cases)
    )
    driver = f"import unittest\n\nclass Cases(unittest.TestCase):\n{tests}"
    contracts = {
        name: Contract(
            name=name,
            params=(Param(name="n", type="int"),),
            returns="int",
            ensures=(Clause(expression="result > n"),),
        )
        for name in names
    }
    promised = {name: Promised(ensures=("result > n",)) for name in names}
    trial = Trial(driver, tuple(f"Cases.test_{n}" for n in range(cases)), promises=promised)
    return Subject(Failing(wrong, (*names, "main"), trial, contracts, "main"), right)


def measured(sandbox: Sandbox, one: Subject, rounds: int) -> dict[str, float]:
    """Let the three take turns; return the median milliseconds of each."""
    failing = one.failing
    last = failing.functions[-2]
    plain = Execution(
        source=failing.program, action=RunTests(code=failing.trial.driver), bounds=Bounds()
    )
    acts: dict[str, Callable[[], object]] = {
        "checked": lambda: sandbox.run(plain),
        "watched": lambda: look(sandbox, failing),
        "tried": lambda: intervene(sandbox, failing, [Alternative(last, one.mended)]),
    }
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(rounds):
        for name, act in acts.items():
            began = time.perf_counter()
            act()
            taken[name].append(1000 * (time.perf_counter() - began))
    return {name: round(statistics.median(times), 2) for name, times in taken.items()}


def main() -> None:
    """Measure every size, print the ratios, and keep them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    sandbox = open_sandbox(read_settings(), print)
    rows = []
    print(f"{'parts':>6}{'cases':>6}{'checked':>10}{'watched':>10}{'tried':>10}{'ratio':>8}")
    for parts, cases in SIZES:
        found = measured(sandbox, subject(parts, cases), options.rounds)
        ratio = round(found["watched"] / found["checked"], 2)
        rows.append({"parts": parts, "cases": cases, **found, "ratio": ratio})
        shown = "".join(f"{found[name]:>10.1f}" for name in ("checked", "watched", "tried"))
        print(f"{parts:>6}{cases:>6}{shown}{ratio:>8.1f}")
    kept = {
        "versions": {"auditcoder": __version__, "python": platform.python_version()},
        "sandbox": sandbox.kind,
        "rounds": options.rounds,
        "milliseconds": rows,
    }
    sandbox.close()
    options.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
