"""Compares repairs of the same failing runs by two locators.

    auditcoder bench run --locator paper-rules --fallback --store rules.db SUITE
    auditcoder bench run --locator weighed --fallback --recall rules.db --store weighed.db SUITE
    python benchmarks/repair.py rules.db weighed.db [--anew anew.db] [--out FILE]

With `--recall`, replies recorded in the first store are reused, so both runs continue from the same
failing program. Runs are paired by their ids; pairs whose first program fails are compared. If the
causes are known, use `faults repair FAULTS` instead of `bench run SUITE` and add `--faults FAULTS`.

`--anew` is a store of runs with `--locator traceback --fallback`. They show the cost of replanning
the whole program, since a traceback names no boundary if a result is merely wrong.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.errors import AuditCoderError
from auditcoder.domain.events import Manifest, RunOutcome
from auditcoder.domain.graph import named_in
from auditcoder.domain.table import Row, Table
from auditcoder.domain.targets import AtBranch
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.usage import Scope
from auditcoder.domain.values import Digest, RunId
from auditcoder.exports import table_formats as written
from auditcoder.interfaces.record_sources import open_store
from auditcoder.interfaces.reports import judgement_at
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.options import LocatorName
from auditcoder.lifecycle.runs import AUDITCODER, started
from auditcoder.metrics.audit_metrics import summarise
from auditcoder.metrics.cost_metrics import Bill, add_up, bill
from auditcoder.metrics.run_facts import RunFacts, collect_facts
from auditcoder.metrics.statistics import discordant, mcnemar
from auditcoder.metrics.trace_metrics import RepairPath as RepairPath
from auditcoder_bench.faultbench.injected_failures import InjectedFailure
from auditcoder_bench.faultbench.line_file import read_lines
from auditcoder_bench.faultbench.repair_runs import run_of
from auditcoder_bench.reports.comparison import manifests_table, result_of

_ONE = 2
"""Number of nodes of a plan with one part, including the root."""
WEIGHED, RULES = LocatorName.WEIGHED.value, LocatorName.PAPER_RULES.value
_LOCATED = 0.80
"""Goal for the share of failures with a named boundary."""
COLUMNS = (
    *("runs of", "locator", "runs", "located", "rightly", "then pass", "repaired where located"),
    *("pass their checks", "resolved", "region", "changed code", "tokens a run for repair"),
    *("a localised attempt", "a fallback attempt"),
)
NOTES = (
    "located: LocCov; repaired where located: LRS, n/a without hidden tests, as is resolved",
    "rightly: share of the located runs in which the first repair's boundary contains a fault",
    "then pass: share of the located runs that pass all checks in the end",
    "region: RRS; changed code: CCR",
)


class Repaired(NamedTuple):
    """One failing run, repaired with one locator."""

    manifest: Manifest
    first: Digest
    """Digest of the first program, which failed."""
    parts: int
    """Number of nodes of the plan at that time."""
    facts: RunFacts
    bill: Bill
    boundary: frozenset[str]
    """Region of the first repair; empty if there was none."""
    resolved: bool | None
    """Result of the hidden tests; None where there are none."""

    @property
    def passed(self) -> bool:
        """Whether it passes every check of the run."""
        return self.facts.outcome is RunOutcome.PASSED


def arm(path: Path) -> tuple[str, dict[RunId, Repaired]]:
    """Return the locator of a store's runs, and the runs that failed at first."""
    found: dict[RunId, Repaired] = {}
    with closing(open_store(str(path))) as store:
        for run in store.runs():
            manifest = started(store, run).manifest
            if manifest.method != AUDITCODER.name:
                continue
            trace = fold(store.read(run), store.blob)
            judgement = judgement_at(store, run, trace.head.digest)
            intact = verify_run(store, run).holds
            counted = collect_facts(trace, store.blob, intact=intact, judgement=judgement)
            if counted.failed_at_first and trace.finish is not None:
                found[run] = Repaired(
                    manifest,
                    trace.programs[0].program,
                    _parts(trace),
                    counted,
                    bill(trace),
                    _boundary(trace),
                    result_of(trace, judgement).final if judgement else None,
                )
    used = {one.manifest.settings.get("locator", "paper-rules") for one in found.values()}
    return " and ".join(sorted(used)) or path.stem, found


def _parts(trace: Trace) -> int:
    """Count the responsibilities that were committed before the first program."""
    until = trace.programs[0].when.seq
    return sum(when.seq < until for when in trace.committed.values())


def _boundary(trace: Trace) -> frozenset[str]:
    """Return the region of the first localised repair as it was selected."""
    for repair in trace.history:
        if isinstance(repair.diagnosis, Localised):
            target = repair.diagnosis.target
            return frozenset(repair.region if isinstance(target, AtBranch) else named_in(target))
    return frozenset()


def line(title: str, locator: str, done: Sequence[Repaired], truth: Mapping[str, set[str]]) -> Row:
    """Summarise the repairs of one locator."""
    audit = summarise(one.facts for one in done)
    cost = add_up(one.bill for one in done)
    judged = [one.resolved for one in done if one.resolved is not None]
    located = _located(done)
    right = [bool(one.boundary & truth[one.facts.run]) for one in located if one.facts.run in truth]
    return Row(
        cells=(
            title,
            locator,
            len(done),
            audit.localisation_coverage.rate,
            _share(right),
            _pass_then(done),
            audit.localised_repair_success.rate,
            sum(one.passed for one in done),
            sum(judged) if judged else None,
            audit.region_size.mean,
            audit.changed_code.mean,
            cost.per_repair,
            cost.paths[RepairPath.LOCALISED.value].per_attempt,
            cost.paths[RepairPath.FALLBACK.value].per_attempt,
        ),
        runs=tuple(one.facts.run for one in done),
    )


def _located(done: Sequence[Repaired]) -> list[Repaired]:
    return [one for one in done if one.facts.boundary is not None]


def _pass_then(done: Sequence[Repaired]) -> float | None:
    """Return the share of runs with a boundary that pass all checks in the end."""
    return _share([one.passed for one in _located(done)])


def _share(holds: Sequence[bool]) -> float | None:
    return sum(holds) / len(holds) if holds else None


def paired(arms: Mapping[str, Mapping[RunId, Repaired]]) -> tuple[list[RunId], int]:
    """Return the runs with the same first program in every arm, and the number of others."""
    common = sorted(set.intersection(*(set(own) for own in arms.values())))
    same = [run for run in common if len({own[run].first for own in arms.values()}) == 1]
    return same, len(common) - len(same)


def compared(
    arms: Mapping[str, Mapping[RunId, Repaired]],
    truth: Mapping[str, set[str]],
    anew: Mapping[RunId, Repaired] | None = None,
) -> Iterable[Table]:
    """Compare the locators on the runs that all of them have."""
    common, apart = paired(arms)
    fallen = [run for run in common if anew and run in anew and _fell_back(anew[run])]
    any_arm = next(iter(arms.values()))
    several = [run for run in common if any_arm[run].parts > _ONE]
    suites = {suite: list(runs) for suite, runs in groupby(common, key=_suite)}
    groups = {"all": common, **(suites if len(suites) > 1 else {}), "several parts": several}
    rows = [
        line(title, locator, [own[run] for run in runs], truth)
        for title, runs in groups.items()
        for locator, own in arms.items()
    ]
    if anew and fallen:
        beside = {**arms, "none: planned anew": anew}
        rows += [
            line("planned anew, too", locator, [own[run] for run in fallen], truth)
            for locator, own in beside.items()
        ]
    yield Table(
        name="repair-by-locator",
        title="Repairs of the same failing runs, by locator",
        columns=COLUMNS,
        rows=tuple(rows),
        labels=2,
        notes=(*NOTES, f"left out: {apart} runs that did not start from the same program"),
    )
    first, *others = arms
    pairs = []
    for other in others:
        both = [(arms[first][run], arms[other][run]) for run in common]
        mine, theirs = discordant((one.passed, two.passed) for one, two in both)
        pairs.append(Row(cells=(other, len(both), mine, theirs, mcnemar(mine, theirs))))
    yield Table(
        name="repair-pairs",
        title="Paired comparison: programs that pass",
        columns=("locator", "pairs", f"only {first}", "only it", "p"),
        rows=tuple(pairs),
        notes=("p: exact McNemar, two-sided",),
    )
    if {WEIGHED, RULES} <= set(arms):
        default, rules = ([arms[name][run] for run in common] for name in (WEIGHED, RULES))
        beside_it = [(anew[run], arms[WEIGHED][run]) for run in fallen] if anew else []
        yield goals(default, rules, beside_it)
    made = {
        RunId(f"{locator}.{run}"): own[run].manifest
        for locator, own in arms.items()
        for run in common
    }
    made |= {RunId(f"anew.{run}"): anew[run].manifest for run in fallen} if anew else {}
    yield manifests_table(made)


def _suite(run: RunId) -> str:
    return run.partition(".")[0]


def goals(
    mine: Sequence[Repaired],
    rules: Sequence[Repaired],
    beside_it: Sequence[tuple[Repaired, Repaired]],
) -> Table:
    """Compare the repairs of the default locator with their goals.

    `beside_it` pairs each replanned run with the same run by the default locator.
    """
    found, theirs = (summarise(one.facts for one in own) for own in (mine, rules))
    success, to_reach = found.localised_repair_success.rate, theirs.localised_repair_success.rate
    located = [(one, other) for one, other in beside_it if other.facts.boundary is not None]
    anew, instead = (_mean([_spent(pair[side]) for pair in located]) for side in (0, 1))
    wanted: list[tuple[str, float | None, float | None, bool]] = [
        ("located", _LOCATED, found.localisation_coverage.rate, False),
        ("repaired where located, beside the rules", to_reach, success, False),
        ("pass then where located, beside the rules", _pass_then(rules), _pass_then(mine), False),
        ("tokens of a run with a boundary, beside planning it anew", anew, instead, True),
    ]
    return Table(
        name="repair-goals",
        title="Goals, and the margins by which they are reached or missed",
        columns=("measure", "goal", "found", "beyond the goal"),
        rows=tuple(
            Row(cells=(name, goal, got, _beyond(goal, got, at_most=at_most)))
            for name, goal, got, at_most in wanted
        ),
        notes=(
            "A negative margin is a miss. For tokens, fewer are better.",
            f"Tokens: for diagnosis and repair, in {len(located)} runs that were also replanned.",
        ),
    )


def _beyond(goal: float | None, got: float | None, *, at_most: bool) -> float | None:
    if goal is None or got is None:
        return None
    return goal - got if at_most else got - goal


def _fell_back(one: Repaired) -> bool:
    """Whether the whole program was replanned and nothing else was tried."""
    tried = one.bill.attempts
    return RepairPath.FALLBACK.value in tried and RepairPath.LOCALISED.value not in tried


def _spent(one: Repaired) -> int:
    """Return the tokens of diagnosing and repairing a run."""
    return add_up([one.bill]).scopes[Scope.REPAIR.value].tokens


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def main() -> int:
    """Read the stores, compare the repairs, and write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("stores", type=Path, nargs="+")
    parser.add_argument("--anew", type=Path, help="a store of runs that were replanned")
    parser.add_argument("--faults", type=Path, help="the injected faults, if the causes are known")
    parser.add_argument("--out", type=Path, help="also write the tables as JSON")
    options = parser.parse_args()
    try:
        arms = [arm(path) for path in options.stores]
        anew = arm(options.anew)[1] if options.anew else None
        faults = read_lines(options.faults, InjectedFailure) if options.faults else []
    except AuditCoderError as error:
        parser.error(f"{error} [{error.code}]")
    if len({name for name, _ in arms}) < len(arms):
        parser.error("two of these stores used the same locator")
    if not paired(dict(arms))[0]:
        parser.error("these stores have no failing run in common")
    truth = {str(run_of(fault)): {str(node) for node in fault.nodes} for fault in faults}
    tables = list(compared(dict(arms), truth, anew))
    print(written.as_text(tables))
    if options.out:
        options.out.write_text(written.as_json(tables), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
