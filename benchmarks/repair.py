"""The same failing runs, repaired as one locator says and as another does.

    auditcoder bench run --locator paper-rules --fallback --store rules.db SUITE
    auditcoder bench run --locator weighed --fallback --recall rules.db --store weighed.db SUITE
    python benchmarks/repair.py rules.db weighed.db [--out FILE]

`--recall` makes the pairs: what a model was asked in the first store is not asked again in the
second, so both go on from the very same failing program. Runs are paired by their ids; those that
failed at first in every store are counted. Where the cause is known, `faults repair FAULTS` stands
in place of `bench run SUITE`, and `--faults FAULTS` says here what it is.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from auditcoder.bench.faultbench.injected import Injected
from auditcoder.bench.faultbench.records import read_lines
from auditcoder.bench.report import manifests_table, result_of
from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.events import Manifest, Outcome
from auditcoder.domain.graph import named_in
from auditcoder.domain.tables import Row, Table
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.values import RunId
from auditcoder.exports import tables as written
from auditcoder.interfaces.mending import SUITE
from auditcoder.interfaces.sources import open_store
from auditcoder.lifecycle.transfer import verify_run
from auditcoder.methods.solving import DEFAULT, started
from auditcoder.metrics.audit import Facts, facts, summarise
from auditcoder.metrics.cost import Bill, add_up, bill
from auditcoder.metrics.records import Path as RepairPath
from auditcoder.metrics.statistics import discordant, mcnemar

RESULTS = Path(__file__).parent / "results" / "repair.json"
COLUMNS = (
    *("runs of", "locator", "runs", "located", "rightly", "repaired where located"),
    *("pass their checks", "resolved", "region", "changed code", "tokens a run for repair"),
    *("a localised attempt", "a fallback attempt"),
)
NOTES = (
    "located: LocCov; repaired where located: LRS; region: RRS; changed code: CCR",
    "rightly: of those located, the share in which all that was named first is at fault",
    "resolved: hidden tests; n/a where there are none",
)


class Repaired(NamedTuple):
    """One failing run as one locator had it repaired."""

    manifest: Manifest
    facts: Facts
    bill: Bill
    named: frozenset[str]
    """What was named first."""
    resolved: bool | None
    """By hidden tests; None where there are none."""

    @property
    def passed(self) -> bool:
        """Whether it passes every check that it was repaired by."""
        return self.facts.outcome is Outcome.PASSED


def arm(path: Path) -> tuple[str, dict[RunId, Repaired]]:
    """Return which locator a store's runs have, and those of them that failed at first."""
    found: dict[RunId, Repaired] = {}
    with closing(open_store(str(path))) as store:
        for run in store.runs():
            manifest = started(store, run).manifest
            if manifest.method != DEFAULT:
                continue
            trace = fold(store.read(run), store.blob)
            judgement = next(iter(store.judgements(run)), None)
            intact = verify_run(store, run).holds
            counted = facts(trace, store.blob, intact=intact, judgement=judgement)
            if counted.failed_at_first:
                final = result_of(trace, judgement).final if judgement else None
                found[run] = Repaired(manifest, counted, bill(trace), _named(trace), final)
    used = {one.manifest.settings.get("locator", "paper-rules") for one in found.values()}
    return " and ".join(sorted(used)) or path.stem, found


def _named(trace: Trace) -> frozenset[str]:
    answers = (answer.diagnosis for answer in trace.diagnoses)
    first = next((found for found in answers if isinstance(found, Localised)), None)
    return frozenset(named_in(first.target)) if first else frozenset()


def line(title: str, locator: str, done: Sequence[Repaired], truth: Mapping[str, set[str]]) -> Row:
    """Say how one locator did."""
    audit = summarise(one.facts for one in done)
    cost = add_up(one.bill for one in done)
    judged = [one.resolved for one in done if one.resolved is not None]
    known = [(one.named, truth[one.facts.run]) for one in done if one.facts.run in truth]
    right = [named <= causes for named, causes in known if named]
    return Row(
        cells=(
            title,
            locator,
            len(done),
            audit.localisation_coverage.rate,
            sum(right) / len(right) if right else None,
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


def compared(
    arms: Mapping[str, Mapping[RunId, Repaired]], truth: Mapping[str, set[str]]
) -> Iterable[Table]:
    """Put the locators side by side on the runs that all of them have."""
    common = sorted(set.intersection(*(set(own) for own in arms.values())))
    several = [run for run in common if any(own[run].facts.nodes > 2 for own in arms.values())]
    groups = {"all": common, "several parts": several}
    rows = [
        line(title, locator, [own[run] for run in runs], truth)
        for title, runs in groups.items()
        for locator, own in arms.items()
    ]
    yield Table(
        name="repair-by-locator",
        title="The same failing runs, repaired as each locator says",
        columns=COLUMNS,
        rows=tuple(rows),
        labels=2,
        notes=NOTES,
    )
    first, *others = arms
    pairs = []
    for other in others:
        both = [(arms[first][run], arms[other][run]) for run in common]
        mine, theirs = discordant((one.passed, two.passed) for one, two in both)
        pairs.append(Row(cells=(other, len(both), mine, theirs, mcnemar(mine, theirs))))
    yield Table(
        name="repair-pairs",
        title="Whose programs pass",
        columns=("locator", "pairs", f"only {first}", "only it", "p"),
        rows=tuple(pairs),
        notes=("p: exact McNemar, two-sided",),
    )
    made = {
        RunId(f"{locator}.{run}"): own[run].manifest
        for locator, own in arms.items()
        for run in common
    }
    yield manifests_table(made)


def main() -> None:
    """Read the stores, compare, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("stores", type=Path, nargs="+")
    parser.add_argument("--faults", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    faults = read_lines(options.faults, Injected) if options.faults else []
    truth = {f"{SUITE}.{fault.id}": {str(node) for node in fault.nodes} for fault in faults}
    tables = list(compared(dict(arm(path) for path in options.stores), truth))
    print(written.as_text(tables))
    options.out.write_text(written.as_json(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
