"""Compares the speed of the judge with the checkers of EvalPlus and of APPS.

    python benchmarks/judge.py --data FOLDER --apps-checker PATH/eval/testing_util.py
        [--rounds 5] [--problems 40] [--out FILE]

Both judge the same programs on the same inputs, in turn, so that machine noise affects both. A
judged test is one input whose result is compared with the expected one. Our judge isolates every
program; the others are called as their own evaluators call them:

- EvalPlus (`pip install evalplus`): `check_correctness`, which forks once for HumanEval's own
  inputs and once for the others. Its dataset is not downloaded: inputs and results are taken from
  the test code that our judge runs. Both sides stop at a program's first failure, so tests
  are counted with references only, which pass; wrong programs are counted as programs.
- APPS (`git clone https://github.com/hendrycks/apps`, then `--apps-checker
  apps/eval/testing_util.py`): `run_test` in a process with a manager for each program, as
  `test_one_solution.py` has it. Both sides run every case of wrong programs, too.

Verdicts are compared, and differences are reported.
"""

import argparse
import ast
import contextlib
import gzip
import importlib
import importlib.metadata
import importlib.util
import json
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from judged_programs import PAIRS

from auditcoder import __version__
from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder_bench.experiments import files_of, problems_of
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import Problem, StdioTests
from auditcoder_bench.suites import apps
from auditcoder_bench.suites.humaneval import FORTY, HUMANEVAL, HUMANEVAL_PLUS
from auditcoder_bench.suites.suite import Suite

RESULTS = Path(__file__).parent / "results" / "judge.json"
GOAL = 3.0
WRONG_EVERY = 4
"""One in this many problems also gets a wrong program."""
APPS_SECONDS = 10
"""Total time limit of the upstream evaluator, which waits one more second."""

Verdicts = tuple[bool, ...]


class Program(NamedTuple):
    """A program and the number of units that judging it counts as."""

    problem: Problem
    label: str
    source: str
    passes: int
    """Expected number of passing verdicts."""
    counts: int
    """Number of tests or programs that one judging of it counts as."""
    given: Any
    """The problem in the form that the other checker needs."""


class Comparison(NamedTuple):
    """Programs and the other checker for them."""

    name: str
    unit: str
    programs: list[Program]
    packages: tuple[str, ...]
    """Packages that programs may import in our sandbox."""
    ours: Callable[[LocalSandbox, Program], Verdicts]
    theirs: Callable[[Program], Verdicts]


class Round(NamedTuple):
    """Time and verdicts of one side for judging all programs once."""

    start: float
    seconds: float
    all_cores: float
    verdicts: list[list[Verdicts]]
    """Verdicts with one thread, and with all cores."""


def evalplus_comparisons(data: Path | None, most: int) -> list[Comparison]:
    """References of HumanEval+, and programs that return nothing."""
    problems = {problem.id: problem for problem in problems_of(HUMANEVAL_PLUS, data)}
    plain, plus = _rows(HUMANEVAL, data), _rows(HUMANEVAL_PLUS, data)
    right, wrong = [], []
    for place, number in enumerate(FORTY[:most]):
        row, problem = plus[number], problems[number]
        given = _given(row, own=plain[number]["test"].count("candidate("))
        tests = len(given["problem"]["base_input"]) + len(given["problem"]["plus_input"])
        label = f"{row['task_id']} reference"
        right.append(Program(problem, label, problem.reference or "", 1, tests, given))
        if place % WRONG_EVERY == 0:
            source = row["prompt"] + "    return None\n"
            label = f"{row['task_id']} returning nothing"
            wrong.append(Program(problem, label, source, 0, 1, given))
    make = partial(Comparison, packages=HUMANEVAL_PLUS.packages, ours=_whole, theirs=by_evalplus)
    return [
        make("evalplus, right programs", "tests", right),
        make("evalplus, wrong programs", "programs", wrong),
    ]


def _rows(suite: Suite, data: Path | None) -> dict[str, dict[str, Any]]:
    (path,) = files_of(suite, data).values()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return {row["task_id"].split("/")[1]: row for row in rows}


def _given(row: dict[str, Any], own: int) -> dict[str, Any]:
    """Write a problem as EvalPlus reads it; the first `own` inputs are HumanEval's."""
    inputs, results = (_assigned(row["test"], name) for name in ("inputs", "results"))
    assert len(inputs) == len(results)
    timed = importlib.import_module("evalplus.gen.util").trusted_exec
    reference = row["prompt"] + row["canonical_solution"]
    _, seconds = timed(reference, inputs, row["entry_point"], record_time=True)
    problem = {
        "task_id": row["task_id"],
        "entry_point": row["entry_point"],
        "base_input": inputs[:own],
        "plus_input": inputs[own:],
        "atol": 0,
    }
    expected = {
        "base": results[:own],
        "base_time": seconds[:own],
        "plus": results[own:],
        "plus_time": seconds[own:],
    }
    return {"problem": problem, "expected": expected}


def _assigned(code: str, name: str) -> list[Any]:
    """Return the list that test code assigns to `name`."""
    for statement in ast.walk(ast.parse(code)):
        match statement:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return list(ast.literal_eval(value))
    raise LookupError(name)


def by_evalplus(program: Program) -> Verdicts:
    """Judge as EvalPlus' evaluator does for one sample, with its own limits."""
    check = sys.modules["evalplus.evaluate"].check_correctness
    given = program.given
    found = check(
        "humaneval", 0, given["problem"], program.source, given["expected"], fast_check=True
    )
    return (found["base"][0] == found["plus"][0] == "pass",)


def apps_comparison(data: Path | None) -> Comparison:
    """Introductory problems of APPS, each with a right program and a wrong one."""
    problems = {problem.id: problem for problem in problems_of(apps.SUITE, data)}
    programs = []
    for pair in PAIRS:
        problem = problems[pair.problem]
        assert isinstance(problem.hidden, StdioTests)
        cases = problem.hidden.cases
        given = {"inputs": [c.input for c in cases], "outputs": [c.output for c in cases]}
        for word, source, passes in (
            ("right", pair.right, len(cases)),
            ("wrong", pair.wrong, pair.passes),
        ):
            label = f"APPS/{problem.id} {word}"
            programs.append(Program(problem, label, source, passes, len(cases), given))
    return Comparison("apps", "tests", programs, (), _each, by_apps)


def load_apps_checker(path: Path) -> list[str]:
    """Import the checker and return notes about how it was imported."""
    notes = []
    if importlib.util.find_spec("pyext") is None:
        sys.modules["pyext"] = _pyext()
        notes.append("pyext cannot be installed any more: an equivalent replacement was used")
    spec = importlib.util.spec_from_file_location("testing_util", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["testing_util"] = module
    spec.loader.exec_module(module)
    return notes


def _pyext() -> ModuleType:
    """Replace a package that can no longer be installed."""

    class RuntimeModule:
        @staticmethod
        def from_string(name: str, doc: str, source: str) -> ModuleType:
            made = ModuleType(name, doc)
            exec(source, made.__dict__)
            return made

    module = ModuleType("pyext")
    module.__dict__["RuntimeModule"] = RuntimeModule
    return module


def by_apps(program: Program) -> Verdicts:
    """Judge as APPS' evaluator does: a manager, and a process with a time limit on all."""
    manager = multiprocessing.Manager()
    found = manager.list()
    process = multiprocessing.Process(target=_run_test, args=(program, found))
    process.start()
    process.join(timeout=APPS_SECONDS + 1)
    if process.is_alive():
        process.kill()
    results = found[0] if found else []
    return tuple(bool(results[n] > 0) if n < len(results) else False for n in range(program.counts))


def _run_test(program: Program, found: Any) -> None:
    run_test = sys.modules["testing_util"].run_test
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        found.append(run_test(problem={"input_output": program.given}, test=program.source))


def _whole(sandbox: LocalSandbox, program: Program) -> Verdicts:
    return (resolved(judge(sandbox, program.problem, program.source)),)


def _each(sandbox: LocalSandbox, program: Program) -> Verdicts:
    return tuple(judge(sandbox, program.problem, program.source).values())


def our_round(comparison: Comparison, cores: int) -> Round:
    """Judge all programs with our judge, in a sandbox of their own."""
    began = time.perf_counter()
    with LocalSandbox(comparison.packages) as sandbox:
        if sandbox.missing:
            raise SystemExit(f"incomplete isolation makes the comparison unfair: {sandbox.missing}")
        start = time.perf_counter() - began
        ours = partial(comparison.ours, sandbox)
        seconds, verdicts = _timed(lambda: list(map(ours, comparison.programs)))
        with ThreadPoolExecutor(cores) as pool:
            all_cores, again = _timed(lambda: list(pool.map(ours, comparison.programs)))
    return Round(start, seconds, all_cores, [verdicts, again])


def their_round(comparison: Comparison, cores: int) -> Round:
    """Judge all programs with the other checker."""
    programs = comparison.programs
    seconds, verdicts = _timed(lambda: list(map(comparison.theirs, programs)))
    with ProcessPoolExecutor(cores) as pool:
        list(pool.map(abs, range(cores)))  # starts the processes before timing
        all_cores, again = _timed(lambda: list(pool.map(_theirs, _places(comparison))))
    return Round(0.0, seconds, all_cores, [verdicts, again])


_held: dict[str, Comparison] = {}
"""Data that the pool's processes inherit instead of receiving it through pickling."""


def _places(comparison: Comparison) -> Iterable[tuple[str, int]]:
    return ((comparison.name, place) for place in range(len(comparison.programs)))


def _theirs(at: tuple[str, int]) -> Verdicts:
    name, place = at
    return _held[name].theirs(_held[name].programs[place])


def _timed(work: Callable[[], list[Verdicts]]) -> tuple[float, list[Verdicts]]:
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done


def measure(comparison: Comparison, rounds: int, cores: int) -> dict[str, Any]:
    """Let both judge in turn; each goes first in every other round."""
    _held[comparison.name] = comparison
    ours, theirs = [], []
    for number in range(rounds):
        if number % 2:
            theirs.append(their_round(comparison, cores))
            ours.append(our_round(comparison, cores))
        else:
            ours.append(our_round(comparison, cores))
            theirs.append(their_round(comparison, cores))
        print(
            f"{comparison.name}, round {number + 1}: ours {ours[-1].seconds:.2f} s,"
            f" theirs {theirs[-1].seconds:.2f} s",
            flush=True,
        )
    total = sum(program.counts for program in comparison.programs)
    rates = {
        "one_thread": _rates(total, ours, theirs, lambda r: r.seconds),
        "one_thread_with_start": _rates(total, ours, theirs, lambda r: r.start + r.seconds),
        "all_cores": _rates(total, ours, theirs, lambda r: r.all_cores),
    }
    return {
        "name": comparison.name,
        "unit": comparison.unit,
        "programs": len(comparison.programs),
        "judged_in_a_round": total,
        "rates": rates,
        "sandbox_start_seconds": statistics.median(r.start for r in ours),
        "disagreements": _disagreements(comparison, ours, theirs),
        "unexpected": _unexpected(comparison, ours, theirs),
    }


def _rates(
    total: int, ours: list[Round], theirs: list[Round], seconds: Callable[[Round], float]
) -> dict[str, Any]:
    """Compute rates per second; the ratio is the median over the rounds."""
    our_rates = [total / seconds(r) for r in ours]
    their_rates = [total / seconds(r) for r in theirs]
    return {
        "ours": statistics.median(our_rates),
        "theirs": statistics.median(their_rates),
        "ratio": statistics.median(a / b for a, b in zip(our_rates, their_rates, strict=True)),
        "ours_by_round": our_rates,
        "theirs_by_round": their_rates,
    }


def _disagreements(
    comparison: Comparison, ours: list[Round], theirs: list[Round]
) -> list[dict[str, Any]]:
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for mine, other in zip(_judgings(ours), _judgings(theirs), strict=True):
        for program, a, b in zip(comparison.programs, mine, other, strict=True):
            for number, (our, their) in enumerate(zip(a, b, strict=True), start=1):
                if our != their:
                    row = {"program": program.label, "test": number, "ours": our, "theirs": their}
                    found[program.label, number] = row
    return list(found.values())


def _unexpected(comparison: Comparison, ours: list[Round], theirs: list[Round]) -> list[str]:
    """Name programs with an unexpected number of passing tests, for example after a timeout."""
    return sorted(
        {
            f"{program.label}, {side}"
            for side, rounds in (("ours", ours), ("theirs", theirs))
            for judging in _judgings(rounds)
            for program, verdicts in zip(comparison.programs, judging, strict=True)
            if sum(verdicts) != program.passes
        }
    )


def _judgings(rounds: list[Round]) -> list[list[Verdicts]]:
    return [judging for one in rounds for judging in one.verdicts]


def show(row: dict[str, Any]) -> None:
    """Print the result of one comparison."""
    print(f"\n{row['name']}: {row['programs']} programs, {row['judged_in_a_round']} {row['unit']}")
    for name, rates in row["rates"].items():
        print(
            f"  {name:<24}{row['unit']} per second: ours {rates['ours']:.0f},"
            f" theirs {rates['theirs']:.0f}, ratio {rates['ratio']:.2f} (goal {GOAL})"
        )
    print(f"  verdicts that differ: {len(row['disagreements'])}")
    for disagreement in row["disagreements"]:
        print(f"    {disagreement}")
    for line in row["unexpected"]:
        print(f"  unexpected number of passing tests, so the rates are invalid: {line}")


def compare_all(options: argparse.Namespace, cores: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Compare with each installed checker and report missing ones."""
    rows, notes = [], []
    # The APPS checker goes first: it forks this process, which is small until EvalPlus is imported.
    if options.apps_checker:
        notes += load_apps_checker(options.apps_checker)
        rows.append(measure(apps_comparison(options.data), options.rounds, cores))
    else:
        notes.append(
            "the APPS checker was left out: git clone https://github.com/hendrycks/apps,"
            " then --apps-checker apps/eval/testing_util.py"
        )
    if importlib.util.find_spec("evalplus"):
        importlib.import_module("evalplus.evaluate")
        comparisons = evalplus_comparisons(options.data, options.problems)
        rows += [measure(comparison, options.rounds, cores) for comparison in comparisons]
        notes.append("EvalPlus was given the inputs and results of HumanEvalPlus-OriginFmt")
    else:
        notes.append("EvalPlus was left out: pip install evalplus, in this environment")
    return rows, notes


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with local copies of the suites")
    parser.add_argument("--apps-checker", type=Path, help="upstream's eval/testing_util.py")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--problems", type=int, default=len(FORTY), help="number of HumanEval+ problems"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    with LocalSandbox() as sandbox:
        kind = sandbox.kind
    rows, notes = compare_all(options, cores)
    for row in rows:
        show(row)
    for note in notes:
        print(f"note: {note}")
    result = {
        "benchmark": "judge",
        "versions": {
            "auditcoder": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in ("evalplus", "numpy")},
        },
        "machine": {
            "system": platform.system(),
            "machine": platform.machine(),
            "kernel": platform.release(),
            "cores": cores,
        },
        "sandbox": kind,
        "goals": {"ratio": GOAL},
        "rounds": options.rounds,
        "comparisons": rows,
        "notes": notes,
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
