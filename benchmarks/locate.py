"""Measures the cost of tracing a failing program and of a whole diagnosis.

    auditcoder faults inject programs.jsonl
    python benchmarks/locate.py programs.jsonl [--rounds 5] [--out FILE]

First it measures a chain of functions, of which the last is wrong, on failing cases: checked,
traced, and with one function substituted. The three alternate in one process and one sandbox, so
that machine noise affects all of them. The result is the ratio to the plain check and its growth.

Then it measures whole diagnoses, as `solve` makes them, of programs with an injected fault. Second
opinions are stored implementations, so model time is not included. It reports sandbox runs,
milliseconds and model requests, and the time of validation for comparison.
"""

import argparse
import dataclasses
import json
import platform
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from auditcoder import __version__
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.contract import Clause, Contract, Param
from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.errors import AuditCoderError
from auditcoder.domain.execution import Bounds, Execution, ExecutionOutcome, RunTests
from auditcoder.domain.graph import named_in
from auditcoder.domain.request import FREE, FinishReason, Reply, Request, Traits
from auditcoder.domain.usage import Usage
from auditcoder.interfaces.factories import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.locating.diagnosis_input import DiagnosisState
from auditcoder.lifecycle.locating.evidence_model import EvidenceLocator
from auditcoder.lifecycle.locating.substitution import SubstitutedProgram, run_substitutions
from auditcoder.lifecycle.locating.trace_analysis import collect_evidence
from auditcoder.lifecycle.locating.trace_run import ContractExpressions, FailingRun, TracePlan
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.repair_choice import diagnose
from auditcoder.lifecycle.runs import RunResources
from auditcoder_bench.faultbench.injected_failures import BETWEEN, NODE, InjectedFailure
from auditcoder_bench.faultbench.injection_targets import SolvedProgram, programs
from auditcoder_bench.faultbench.line_file import read_lines
from auditcoder_bench.faultbench.prepared_run import prepare_validated_run
from auditcoder_bench.faultbench.repair_runs import some_of

RESULTS = Path(__file__).parent / "results" / "locate.json"
SIZES = ((4, 4), (16, 4), (64, 4), (4, 16), (4, 64), (16, 16))
"""Pairs of the number of parts and the number of cases."""


class Subject(NamedTuple):
    """A failing program with its checks."""

    failing: FailingRun
    mended: str
    """The correct version of the program."""


def subject(parts: int, cases: int) -> Subject:
    """Return a chain of functions, of which the last is off by one, and its cases."""
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
    promised = {name: ContractExpressions(ensures=("result > n",)) for name in names}
    trial = TracePlan(driver, tuple(f"Cases.test_{n}" for n in range(cases)), promises=promised)
    return Subject(FailingRun(wrong, (*names, "main"), trial, contracts, "main"), right)


def measured(sandbox: Sandbox, one: Subject, rounds: int) -> dict[str, float]:
    """Time the three operations in turn; return the median milliseconds of each."""
    failing = one.failing
    last = failing.functions[-2]
    plain = Execution(
        source=failing.program, action=RunTests(code=failing.trial.driver), bounds=Bounds()
    )
    acts: dict[str, Callable[[], object]] = {
        "checked": lambda: sandbox.run(plain),
        "watched": lambda: collect_evidence(sandbox, failing),
        "tried": lambda: run_substitutions(
            sandbox, failing, [SubstitutedProgram(last, one.mended)]
        ),
    }
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(rounds):
        for name, act in acts.items():
            began = time.perf_counter()
            act()
            taken[name].append(1000 * (time.perf_counter() - began))
    return {name: round(statistics.median(times), 2) for name, times in taken.items()}


class Counting:
    """A sandbox that counts its runs."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.kind = sandbox.kind
        self.runs = 0

    def run(self, execution: Execution) -> ExecutionOutcome:
        """Run it and count the run."""
        self.runs += 1
        return self._sandbox.run(execution)

    def close(self) -> None:
        """Leave the sandbox to its owner."""


class Colleague:
    """A model that answers with stored implementations of the requested functions."""

    name = "colleague"
    traits = Traits(price=FREE)

    def __init__(self, solved: SolvedProgram) -> None:
        named = {n.id: n.contract.name for n in solved.plan.graph.nodes if n.contract}
        self._known = {named[node]: own[0] for node, own in solved.others.items() if own}
        self.asked = 0

    def complete(self, request: Request) -> Reply:
        """Return the functions whose headers the last message names."""
        self.asked += 1
        step = request.messages[-1].text.rpartition("# Your step")[2]
        wanted = [code for name, code in self._known.items() if f"`{name}(" in step]
        text = "```python\n{}\n```\n".format("\n\n".join(wanted))
        return Reply(text=text, finish=FinishReason.STOP, usage=Usage(calls=1), model=self.name)

    def close(self) -> None:
        """Do nothing."""


def diagnosed(sandbox: Sandbox, solved: SolvedProgram, fault: InjectedFailure) -> dict[str, float]:
    """Diagnose a program with an injected fault; return its cost and that of validation."""
    counting, model = Counting(sandbox), Colleague(solved)
    tools = RunResources(SqliteStore(":memory:"), model, counting)
    began = time.perf_counter()
    staged = prepare_validated_run(tools, fault.into(solved))
    validated, runs = time.perf_counter(), counting.runs
    context = dataclasses.replace(staged, options=Options())
    found, _ = diagnose(context, EvidenceLocator(), DiagnosisState())
    ended = time.perf_counter()
    named = named_in(found.target) if isinstance(found, Localised) else ()
    return {
        "parts": len(solved.plan.graph.order),
        "cases": len(staged.task.examples),
        "runs": counting.runs - runs,
        "milliseconds": round(1000 * (ended - validated), 1),
        "questions": model.asked,
        "validating": round(1000 * (validated - began), 1),
        "right": float(named[:1] == fault.nodes),
    }


def chosen_of(path: Path, each: int) -> list[tuple[SolvedProgram, InjectedFailure]]:
    """Choose the given number of single-node faults of each program."""
    known = {solved.name: solved for solved in programs()}
    some, _ = some_of(read_lines(path, InjectedFailure), known, each)
    return [(known[fault.solved], fault) for fault in some if fault.where in {NODE, BETWEEN}]


def all_diagnosed(
    sandbox: Sandbox, chosen: list[tuple[SolvedProgram, InjectedFailure]]
) -> list[dict[str, float]]:
    """Diagnose programs with injected faults."""
    found = []
    for solved, fault in chosen:
        found.append(diagnosed(sandbox, solved, fault))
        print(f"  {fault.id}", flush=True)
    return found


def summed_up(found: list[dict[str, float]], by: str = "parts") -> list[dict[str, float]]:
    """Return medians grouped by the number of parts or cases."""
    rows = []
    for many in sorted({one[by] for one in found}):
        own = [one for one in found if one[by] == many]
        medians = {
            name: round(statistics.median(one[name] for one in own), 1)
            for name in ("runs", "milliseconds", "questions", "validating")
        }
        right = round(statistics.mean(one["right"] for one in own), 3)
        rows.append({by: many, "failures": len(own), **medians, "right": right})
    return rows


def main() -> None:
    """Measure every size, print the ratios and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("faults", type=Path, help="the output of `auditcoder faults inject`")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--each", type=int, default=4, help="number of faults per program")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    try:
        chosen = chosen_of(options.faults, options.each)
    except AuditCoderError as error:
        parser.error(f"{error}; {error.advice} [{error.code}]")
    if not chosen:
        parser.error(f"{options.faults} contains no fault in a single part of a program")
    with closing(open_sandbox(read_settings(), print)) as sandbox:
        kept = everything(sandbox, chosen, options.rounds)
    options.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def everything(
    sandbox: Sandbox, chosen: list[tuple[SolvedProgram, InjectedFailure]], rounds: int
) -> dict[str, object]:
    """Measure single traces of every size, then whole diagnoses; print and return both."""
    rows = []
    print(f"{'parts':>6}{'cases':>6}{'checked':>10}{'watched':>10}{'tried':>10}{'ratio':>8}")
    for parts, cases in SIZES:
        found = measured(sandbox, subject(parts, cases), rounds)
        ratio = round(found["watched"] / found["checked"], 2)
        rows.append({"parts": parts, "cases": cases, **found, "ratio": ratio})
        shown = "".join(f"{found[name]:>10.1f}" for name in ("checked", "watched", "tried"))
        print(f"{parts:>6}{cases:>6}{shown}{ratio:>8.1f}")
    diagnoses = all_diagnosed(sandbox, chosen)
    by_parts = summed_up(diagnoses)
    by_cases = summed_up(diagnoses, "cases")
    (whole,) = summed_up([{**one, "parts": 0} for one in diagnoses])
    for by, table in (("parts", [*by_parts, whole]), ("cases", by_cases)):
        print(
            f"{by:>6}{'failures':>9}{'runs':>6}{'ms':>8}{'asked':>6}{'validating':>11}{'right':>7}"
        )
        for row in table:
            named = "all" if row is whole else f"{row[by]:.0f}"
            print(
                f"{named:>6}{row['failures']:>9}{row['runs']:>6.0f}{row['milliseconds']:>8.0f}"
                f"{row['questions']:>6.0f}{row['validating']:>11.0f}{row['right']:>7.2f}"
            )
    return {
        "versions": {"auditcoder": __version__, "python": platform.python_version()},
        "sandbox": sandbox.kind,
        "rounds": rounds,
        "milliseconds": rows,
        "diagnoses": by_parts,
        "diagnoses by cases": by_cases,
        "all diagnoses": whole,
    }


if __name__ == "__main__":
    main()
