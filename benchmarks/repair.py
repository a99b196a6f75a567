"""The same failing runs, repaired as one locator says and as another does.

    auditcoder bench run --locator paper-rules --fallback --store rules.db SUITE
    auditcoder bench run --locator weighed --fallback --recall rules.db --store weighed.db SUITE
    python benchmarks/repair.py rules.db weighed.db [--out FILE]

`--recall` makes the pairs: what a model was asked in the first store is not asked again in the
second, so both go on from the very same failing program. Runs are paired by their ids; those that
failed at first in every store are counted.
"""

import argparse
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

import msgspec

from auditcoder.bench.judging import resolved
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.repair import TransactionKind
from auditcoder.domain.tables import Cell, Row, Table
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.values import RunId
from auditcoder.exports import tables as written
from auditcoder.interfaces.sources import open_store
from auditcoder.lifecycle.transfer import verify_run
from auditcoder.methods.solving import started
from auditcoder.metrics.audit import Facts, facts, summarise
from auditcoder.metrics.cost import Bill, add_up, bill
from auditcoder.metrics.statistics import discordant, mcnemar

METHOD = "auditcoder"
RESULTS = Path(__file__).parent / "results" / "repair.json"


class Repaired(msgspec.Struct, frozen=True):
    """One failing run as one locator had it repaired."""

    facts: Facts
    bill: Bill
    trace: Trace
    resolved: bool


def arm(path: Path) -> tuple[str, dict[RunId, Repaired]]:
    """Return which locator a store's runs have, and those of them that failed at first."""
    found: dict[RunId, Repaired] = {}
    locators: set[str] = set()
    with closing(open_store(str(path))) as store:
        for run in store.runs():
            judgements = store.judgements(run)
            manifest = started(store, run).manifest
            if manifest.method != METHOD or not judgements:
                continue
            trace = fold(store.read(run), store.blob)
            intact = verify_run(store, run).holds
            counted = facts(trace, store.blob, intact=intact, judgement=judgements[0])
            if counted.failed_at_first:
                locators.add(manifest.settings.get("locator", "paper-rules"))
                final = _passes(trace, judgements[0])
                found[run] = Repaired(counted, bill(trace), trace, final)
    return " and ".join(sorted(locators)), found


def _passes(trace: Trace, judgement: Judgement) -> bool:
    last = trace.programs[-1] if trace.programs else None
    return last is not None and resolved(judgement.results[last.program])


def line(locator: str, done: Iterable[Repaired], title: str) -> Row:
    """Say how one locator did."""
    done = list(done)
    audit = summarise(one.facts for one in done)
    cost = add_up(one.bill for one in done)
    fallbacks = audit.transactions.get(TransactionKind.FALLBACK.value, 0)
    cells: list[Cell] = [
        title,
        locator,
        len(done),
        audit.localisation_coverage.rate,
        audit.localised_repair_success.rate,
        sum(one.facts.outcome is not None and one.facts.outcome.value == "passed" for one in done),
        sum(one.resolved for one in done),
        audit.region_size.mean,
        audit.changed_code.mean,
        cost.per_repair,
        *(cost.paths[path].per_attempt for path in ("localised", "fallback")),
        fallbacks,
    ]
    return Row(cells=tuple(cells), runs=tuple(one.facts.run for one in done))


def compared(arms: Mapping[str, Mapping[RunId, Repaired]]) -> list[Table]:
    """Put the locators side by side on the runs that all of them have."""
    common = sorted(set.intersection(*(set(own) for own in arms.values())))
    several = [run for run in common if all(own[run].facts.nodes > 2 for own in arms.values())]
    rows = [
        line(locator, [own[run] for run in runs], title)
        for title, runs in (("all", common), ("several parts", several))
        for locator, own in arms.items()
    ]
    first, *others = arms
    pairs = [Row(cells=(other, *_pair(arms[first], arms[other], common))) for other in others]
    return [
        Table(
            name="repair-by-locator",
            title="The same failing runs, repaired as each locator says",
            columns=(
                *("runs of", "locator", "runs", "localisation coverage"),
                *("localised repair success", "pass their checks", "resolved", "region"),
                *("changed code", "tokens a repaired run", "a localised attempt"),
                *("a fallback attempt", "fallbacks"),
            ),
            rows=tuple(rows),
            labels=2,
        ),
        Table(
            name="repair-pairs",
            title=f"Resolved by one and not by the other, beside {first}",
            columns=("locator", f"only {first}", "only it", "p"),
            rows=tuple(pairs),
            notes=("p: exact McNemar, two-sided",),
        ),
    ]


def _pair(
    mine: Mapping[RunId, Repaired], theirs: Mapping[RunId, Repaired], runs: Iterable[RunId]
) -> tuple[Cell, ...]:
    only_mine, only_theirs = discordant((mine[run].resolved, theirs[run].resolved) for run in runs)
    return (only_mine, only_theirs, mcnemar(only_mine, only_theirs))


def main() -> None:
    """Read the stores, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stores", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    tables = compared(dict(arm(path) for path in options.stores))
    print(written.as_text(tables))
    options.out.write_text(written.as_json(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
