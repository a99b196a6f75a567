"""Forged runs: every field of recorded and random legal runs is changed, one at a time.

`BELIEVED` are the fields of which the documentation says that they are believed.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from auditcoder.adapters.stores.bundle import BundleFile
from auditcoder.domain.events import CheckRan
from auditcoder.domain.evidence import Evidence, Verdict
from auditcoder.domain.laws.verdict_laws import DATA_KINDS, OVER_INPUTS, PARSED_KINDS
from auditcoder.domain.targets import AtNode, AtProgram
from tests.support.forgeries import Forger, Forgery, ledgers_of, survives
from tests.support.random_runs import RandomRun
from tests.support.record_builders import RUN
from tests.support.records import Raw, take

ROOT = Path(__file__).parents[2]
LAWS = (ROOT / "docs" / "reference" / "laws.md").read_text(encoding="utf-8")
DATA = ROOT / "tests" / "data"
RECORDS = [*sorted((DATA / "runs").glob("*.acb")), DATA / "format-4.acb"]

BELIEVED = frozenset(
    field
    for row in LAWS.split("## What is believed")[1].splitlines()
    if row.startswith("| `")
    for field in re.findall(r"`([A-Za-z_.*]+)`", row.split("|")[1])
)
"""The fields that the documentation lists as believed; `*` stands for all fields below."""


def nothing_runs(evidence: Evidence) -> bool:
    return isinstance(evidence.subject, AtNode) and evidence.kind in PARSED_KINDS


def compared(evidence: Evidence) -> bool:
    """Whether the verdict follows from the recorded result of an example of the program."""
    return isinstance(evidence.subject, AtProgram) and evidence.kind in DATA_KINDS


def ended_normally(evidence: Evidence) -> bool:
    """Whether the verdict says so: it passed, or its result was compared."""
    data = evidence.kind in DATA_KINDS and evidence.expected is not None
    return evidence.verdict is Verdict.PASSED or (data and evidence.verdict.clean)


DERIVED: dict[str, Callable[[Evidence, Evidence], bool]] = {
    "verdict": lambda a, b: nothing_runs(a) or (compared(a) and b.verdict.clean),
    "kind": lambda a, _: isinstance(a.subject, AtProgram) or nothing_runs(a),
    "trust": lambda a, _: isinstance(a.subject, AtProgram) or nothing_runs(a),
    "requirement": lambda a, _: isinstance(a.subject, AtProgram) or nothing_runs(a),
    "check": lambda a, _: isinstance(a.subject, AtProgram) or nothing_runs(a),
    "input": lambda a, _: isinstance(a.subject, AtProgram) or nothing_runs(a),
    "expected": lambda a, _: isinstance(a.subject, AtProgram) or nothing_runs(a),
    "exit_code": lambda a, b: (
        nothing_runs(a) or (ended_normally(a) and b.exit_code not in {None, 0})
    ),
    "tried": lambda a, b: (
        (b.tried is not None and a.kind not in OVER_INPUTS)
        or (a.kind in OVER_INPUTS and bool(b.tried) is not bool(a.tried) and a.verdict.clean)
        or (bool(b.tried) and not a.verdict.conclusive)
    ),
    "signal": lambda a, b: nothing_runs(a) or (ended_normally(a) and b.signal is not None),
}
"""Where a believed field of evidence is derived after all."""


def is_believed(forgery: Forgery) -> bool:
    """Whether the documentation says that this field, in this case, is believed."""
    if not any(
        forgery.field == f or (f.endswith("*") and forgery.field.startswith(f[:-1]))
        for f in BELIEVED
    ):
        return False
    before, after = forgery.before, forgery.event
    derived = DERIVED.get(forgery.field.removeprefix("CheckRan.evidence."))
    if derived is None or not isinstance(before, CheckRan) or not isinstance(after, CheckRan):
        return True
    return not derived(before.evidence, after.evidence)


def forge_all(raw: Raw, forger: Forger, seqs: Iterable[int]) -> tuple[Counter[str], list[Forgery]]:
    """Forge events of one record; return the forgeries by field, and those that survive."""
    ledgers, tried, left = ledgers_of(raw), Counter[str](), []
    for forgery in forger.forgeries(raw, seqs):
        tried[forgery.field] += 1
        if survives(raw, forgery, ledgers):
            left.append(forgery)
    return tried, left


def unexpected(left: Iterable[Forgery]) -> list[Forgery]:
    """Return the surviving forgeries of fields that the documentation does not list."""
    return [forgery for forgery in left if not is_believed(forgery)]


def stored_records() -> list[Raw]:
    raws = []
    for path in RECORDS:
        bundle = BundleFile(path)
        raws.append(take(bundle, bundle.manifest.run))
        bundle.close()
    return raws


def forge_recorded_run(number: int) -> tuple[Counter[str], list[Forgery]]:
    """Forge up to 30 events of one of `RECORDS`."""
    raws = stored_records()
    raw, rng = raws[number], random.Random(number)
    forger = Forger(raws, seed=number)
    seqs = sorted(rng.sample(range(len(raw.bodies)), min(30, len(raw.bodies))))
    return forge_all(raw, forger, seqs)


class ForgedRun(RandomRun):
    """Forges every random legal run; see `teardown`."""

    tried: ClassVar[Counter[str]] = Counter()
    survived: ClassVar[Counter[str]] = Counter()

    def teardown(self) -> None:
        raw = take(self.store, RUN)
        super().teardown()
        rng = random.Random(len(raw.bodies))
        seqs = rng.sample(range(len(raw.bodies)), min(EVENTS_OF_A_RUN, len(raw.bodies)))
        tried, left = forge_all(raw, Forger([raw], seed=len(raw.bodies)), seqs)
        ForgedRun.tried.update(tried)
        ForgedRun.survived.update(forgery.field for forgery in left)
        assert unexpected(left) == []


EVENTS_OF_A_RUN = 6


def forge_random_runs(count: int) -> tuple[Counter[str], Counter[str]]:
    """Forge random runs; return the forgeries by field, and the survivors. Fail if one is new."""
    ForgedRun.tried.clear()
    ForgedRun.survived.clear()
    run_state_machine_as_test(
        ForgedRun,
        settings=settings(
            max_examples=count, stateful_step_count=40, deadline=None, phases=[Phase.generate]
        ),
    )
    return ForgedRun.tried, ForgedRun.survived
