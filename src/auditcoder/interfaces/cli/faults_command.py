"""`faults`: failures with ground truth, made and kept."""

import time
from argparse import Namespace
from collections import Counter
from pathlib import Path

from auditcoder.bench.faultbench.building import PASSES, UNUSABLE
from auditcoder.bench.faultbench.records import FaultRecord, GroundTruth
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import aside, emit_json, say
from auditcoder.interfaces.faulting import Built, build, published

_EVERY = 10.0
"""Seconds between two words on how far it is."""


def run(options: Namespace) -> int:
    """Do what was asked about failures."""
    return _build(options)


def _build(options: Namespace) -> int:
    models = [name.strip() for name in (options.models or "").split(",") if name.strip()]
    data = Path(options.data) if options.data else None
    made = build(
        Path(options.out), published(models), data, options.jobs, say=aside, tell=_Progress()
    )
    for task, why in made.left_out.items():
        aside(f"{task} was left out: {why}")
    _report(made, as_json=options.json)
    return Exit.OK


class _Progress:
    """Says how far it is now and then, and how long the rest may take."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._worked = 0

    def __call__(self, number: int, total: int, before: bool) -> None:
        self._worked += not before
        now = time.monotonic()
        if now - self._last >= _EVERY or number == total:
            self._last = now
            left = (now - self._began) / max(1, self._worked) * (total - number)
            aside(f"{number}/{total} answers; about {left / 60:.0f} min left")


def _report(made: Built, *, as_json: bool) -> None:
    views = {
        "all tests": _kinds([record.ground_truth for record in made.records]),
        "integration tests": _kinds([record.ground_truth_program for record in made.records]),
    }
    outcomes = Counter(done.outcome for done in made.answers)
    swapped = sum(done.swapped for done in made.answers)
    broken = sum(len(done.broken_by) for done in made.answers)
    flaky = sum(record.flaky for record in made.records)
    if as_json:
        emit_json(
            {
                "outcomes": outcomes,
                "kinds": views,
                "models": _by_model(made.records),
                "flaky": flaky,
                "swapped": swapped,
                "broken_by_swaps": broken,
            }
        )
        return
    say(
        f"{len(made.records)} failures, {outcomes[PASSES]} classes that pass,"
        f" {outcomes[UNUSABLE]} answers of no use; {flaky} failures are flaky"
    )
    for name, kinds in views.items():
        say(f"  {name:18}" + ", ".join(f"{many} {kind}" for kind, many in kinds.items()))
    for model, many in _by_model(made.records).items():
        say(f"  {model:30}{many:5}")
    say(f"{swapped} methods of classes that pass were replaced: {broken} broke one")


def _kinds(truths: list[GroundTruth] | list[GroundTruth | None]) -> dict[str, int]:
    return dict(Counter(truth.kind for truth in truths if truth is not None).most_common())


def _by_model(records: tuple[FaultRecord, ...]) -> dict[str, int]:
    return dict(Counter(record.model for record in records).most_common())
