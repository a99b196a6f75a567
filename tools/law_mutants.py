"""Removes each condition from the laws in turn and counts how often a test fails.

python tools/law_mutants.py               try every mutant; exit with 1 below the goal
python tools/law_mutants.py --log FILE    also remember each result, and try only what has changed
python tools/law_mutants.py MODULE...     other modules or folders, such as domain/graph.py

A mutant is a module with one condition removed: a condition made false, or an operand of `and` or
`or`, a filter of a comprehension, a subtrahend, a bound of a chain, a member of a set, a compared
pair or a call of a refusal removed. It is killed if a test fails or does not end. The tests of the
same module run first, the others only if those pass. Mutants that behave like the original are
listed by hand, each with its reason; they are tried, but do not count.

A log is valid for the mutated module and the tests, not for the other modules.
"""

import argparse
import hashlib
import json
import os
import platform
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mutation.conditions import Mutant, find_mutants
from mutation.trials import Outcome, Trial, try_mutants, try_unchanged, warm_up

ROOT = Path(__file__).parents[1]
MODULES = (Path("src/auditcoder/domain/laws"),)
TESTS = (
    Path("tests/domain/laws"),
    *(
        Path(f"tests/domain/test_{name}.py")
        for name in ("verification", "trace", "chain", "events", "ledger", "assembly", "graph")
    ),
)
"""The tests that import the laws and need neither a sandbox nor another process."""
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
GOAL = 0.95
EQUIVALENT_OUTCOME = "equivalent"
OUTCOMES = (*(outcome.value for outcome in Outcome), EQUIVALENT_OUTCOME)


@dataclass(frozen=True)
class Result:
    """A mutant and what became of it."""

    mutant: Mutant
    trial: Trial
    reason: str | None
    """Why the mutant is equivalent to the original, if it is listed as such."""

    @property
    def outcome(self) -> str:
        """The column of the table."""
        return EQUIVALENT_OUTCOME if self.reason is not None else self.trial.outcome.value

    @property
    def refuted(self) -> bool:
        """Whether the mutant is listed as equivalent, but a test tells it from the original."""
        return self.reason is not None and self.trial.outcome is not Outcome.SURVIVED


def main() -> int:
    """Try the mutants and print the table; return the exit code."""
    parser = argument_parser()
    options = parser.parse_args()
    for option in ("equivalent", "log", "out"):
        if (path := getattr(options, option)) is not None:
            setattr(options, option, path.resolve())
    os.chdir(options.root)
    root = Path.cwd()
    modules, tests = expand(options.modules, "*.py"), expand(options.tests, "test_*.py")
    mutants = [mutant for path in modules for mutant in find_mutants(root, path)]
    reasons = read_reasons(options.equivalent, modules)
    if stale := reasons.keys() - {mutant.key for mutant in mutants}:
        parser.error(f"{options.equivalent} lists mutants that do not exist: {sorted(stale)}")
    log = Log(options.log, tests)
    todo = [mutant for mutant in mutants if log.find(mutant) is None]
    if todo:
        warm_up()
        unchanged, imported = try_unchanged(tests)
        if unchanged.outcome is not Outcome.SURVIVED:
            parser.error(f"a test fails on the unchanged modules: {unchanged.test}")
        if missed := [str(path) for path in modules if str(root / path) not in imported]:
            parser.error(f"no test imports {', '.join(missed)}; name other tests with --tests")
        limit = options.limit or max(60.0, 5 * unchanged.seconds)
        trials = try_mutants(root, todo, tests, options.processes, limit)
        for number, (mutant, trial) in enumerate(trials, start=1):
            log.append(mutant, trial)
            sys.stderr.write(f"{number}/{len(todo)} {trial.outcome.value}: {describe(mutant)}\n")
    results = [
        Result(mutant, found, reasons.get(mutant.key))
        for mutant in mutants
        if (found := log.find(mutant)) is not None
    ]
    sys.stdout.write(format_results(results, options.goal))
    if options.out:
        document = manifest(tests) | result_document(results, options.goal)
        options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    refuted = any(result.refuted for result in results)
    return 1 if refuted or share_killed(results) < options.goal else 0


def argument_parser() -> argparse.ArgumentParser:
    """Declare the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", type=Path, default=MODULES, metavar="MODULE")
    parser.add_argument("--tests", nargs="+", type=Path, default=TESTS, help="in this order")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    parser.add_argument("--equivalent", type=Path, default=EQUIVALENT, help="the list, as TOML")
    parser.add_argument("--log", type=Path, help="JSON lines to continue from and append to")
    parser.add_argument("--out", type=Path, help="also write the result as JSON")
    parser.add_argument("--goal", type=float, default=GOAL, help="required share of killed mutants")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="tried at a time")
    parser.add_argument("--limit", type=float, help="seconds for the tests of one mutant")
    return parser


def expand(paths: Iterable[Path], pattern: str) -> list[Path]:
    """Return the files, and those below the folders, each once and in order."""
    found: dict[Path, None] = {}
    for path in paths:
        found |= dict.fromkeys(sorted(path.rglob(pattern)) if path.is_dir() else [path])
    return list(found)


def read_reasons(path: Path, modules: Sequence[Path]) -> dict[str, str]:
    """Return why each listed mutant of the modules is equivalent, by its key."""
    listed = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    return {
        entry["key"]: entry["reason"]
        for entry in listed
        if Path(entry["key"].partition(" | ")[0]) in modules
    }


class Log:
    """The results of this run and, where they still hold, of earlier ones."""

    def __init__(self, path: Path | None, tests: Sequence[Path]) -> None:
        self.path = path
        self.tests = digest_of_tests(tests)
        self.trials: dict[tuple[str, str], Trial] = {}
        """By the key of the mutant and the digest of its unchanged module."""
        if path is not None and path.exists():
            for entry in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                if entry["tests"] == self.tests:
                    trial = Trial(Outcome(entry["outcome"]), entry["test"], entry["seconds"])
                    self.trials[entry["key"], entry["module"]] = trial

    def find(self, mutant: Mutant) -> Trial | None:
        """Return the result of the same mutant of the same module under the same tests."""
        return self.trials.get((mutant.key, mutant.module_digest))

    def append(self, mutant: Mutant, trial: Trial) -> None:
        """Remember a result, and append it to the file."""
        self.trials[mutant.key, mutant.module_digest] = trial
        if self.path is None:
            return
        entry = {
            "key": mutant.key,
            "place": mutant.place,
            "outcome": trial.outcome.value,
            "test": trial.test,
            "seconds": round(trial.seconds, 2),
            "module": mutant.module_digest,
            "tests": self.tests,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def digest_of_tests(tests: Sequence[Path]) -> str:
    """Return the digest of the tests and of the modules beside them that are no tests."""
    folders = {test.parts[0] for test in tests}
    helpers = {
        path
        for folder in folders
        for path in Path(folder).rglob("*.py")
        if not path.name.startswith("test_")
    }
    return digest_of_files(sorted({*tests, *helpers}))


def digest_of_files(paths: Iterable[Path]) -> str:
    """Return one digest of the contents of files."""
    return hashlib.sha256(
        b"".join(hashlib.sha256(path.read_bytes()).digest() for path in paths)
    ).hexdigest()


def share_killed(results: Sequence[Result]) -> float:
    """Return the share of the mutants, without the equivalent ones, that a test told apart."""
    counted = [result for result in results if result.reason is None]
    killed = [result for result in counted if result.trial.outcome is not Outcome.SURVIVED]
    return len(killed) / len(counted) if counted else 1.0


def count_by_module(results: Iterable[Result]) -> dict[str, Counter[str]]:
    """Count the outcomes of each module."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        counts.setdefault(str(result.mutant.path), Counter())[result.outcome] += 1
    return counts


def describe(mutant: Mutant) -> str:
    """Return place, function, change and condition on one line."""
    return f"{mutant.place}: {mutant.function}: {mutant.change}: {mutant.condition}"


def format_results(results: Sequence[Result], goal: float) -> str:
    """Return the table, and the mutants that need a test or a reason."""
    counts = count_by_module(results)
    rows = [*counts.items(), ("all", sum(counts.values(), Counter()))]
    width = max(len(name) for name, _ in rows)
    text = f"{'':{width}}{'mutants':>12}{''.join(f'{name:>12}' for name in OUTCOMES)}\n"
    for name, found in rows:
        cells = (found.total(), *(found[outcome] for outcome in OUTCOMES))
        text += f"{name:{width}}{''.join(f'{cell:>12,}' for cell in cells)}\n"
    text += f"killed or timed out: {share_killed(results):.1%} (goal {goal:.0%})\n"
    for result in results:
        if result.outcome == Outcome.SURVIVED.value:
            text += f"survived: {describe(result.mutant)}\n"
        if result.refuted:
            text += f"not equivalent ({result.trial.test}): {describe(result.mutant)}\n"
    return text


def manifest(tests: Sequence[Path]) -> dict[str, Any]:
    """Return what the result depends on, apart from the modules."""
    packages = ("auditcoder", "pytest", "hypothesis")
    return {
        "benchmark": "law_mutants",
        "versions": {name: version(name) for name in packages}
        | {"python": platform.python_version()},
        "machine": {"system": platform.system(), "machine": platform.machine()},
        "tests": {"modules": len(tests), "sha256": digest_of_tests(tests)},
    }


def result_document(results: Sequence[Result], goal: float) -> dict[str, Any]:
    """Return the result file: counts, and every mutant that no test told from the original."""
    return {
        "goal": goal,
        "share": share_killed(results),
        "rows": [
            {"module": name, "sha256": digest_of_files([Path(name)])}
            | {outcome: found[outcome] for outcome in OUTCOMES}
            for name, found in count_by_module(results).items()
        ],
        "changes": Counter(result.mutant.change for result in results),
        "undetected": [
            {
                "place": result.mutant.place,
                "function": result.mutant.function,
                "change": result.mutant.change,
                "condition": result.mutant.condition,
                "equivalent": result.reason,
            }
            for result in results
            if result.trial.outcome is Outcome.SURVIVED
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
