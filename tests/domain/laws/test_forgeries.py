"""Whoever changes one field of a record and computes all digests anew is found, or is listed.

`docs/reference/laws.md` lists the fields that are believed. A forgery of any other field does not
verify.
"""

from collections.abc import Iterable
from typing import get_args, get_origin

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import Event
from tests.support.forged_runs import (
    BELIEVED,
    RECORDS,
    forge_random_runs,
    forge_recorded_run,
    unexpected,
)
from tests.support.forgeries import Forger, alternatives, fields_of, ledgers_of, survives, verifies
from tests.support.record_builders import RUN, repairing
from tests.support.records import take


@pytest.mark.parametrize("number", range(len(RECORDS)), ids=[path.stem for path in RECORDS])
@pytest.mark.campaign
def test_no_forgery_of_a_recorded_run_survives_but_those_that_are_listed(number: int) -> None:
    tried, left = forge_recorded_run(number)
    assert tried.total() > 1_000
    assert unexpected(left) == []


@pytest.mark.parametrize(
    ("lives", "least"),
    [(25, 500), pytest.param(300, 10_000, marks=pytest.mark.campaign)],
    ids=["few", "many"],
)
def test_no_forgery_of_a_random_run_survives_but_those_that_are_listed(
    lives: int, least: int
) -> None:
    tried, _ = forge_random_runs(lives)
    assert tried.total() >= least


def test_a_forgery_survives_the_laws_exactly_if_its_record_verifies(store: SqliteStore) -> None:
    repairing(store)
    raw = take(store, RUN)
    ledgers = ledgers_of(raw)
    for number, forgery in enumerate(Forger([raw], seed=1).forgeries(raw, range(len(raw.bodies)))):
        if number % 20 == 0:
            assert survives(raw, forgery, ledgers) is verifies(raw, forgery), forgery


def test_every_listed_field_exists() -> None:
    known = {
        ".".join(path) for event in get_args(Event) for path in paths(event, (event.__name__,))
    }
    for field in BELIEVED:
        stem = field.removesuffix(".*")
        assert any(name == stem or name.startswith(f"{stem}.") for name in known), field


def paths(declared: object, path: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    """Yield the paths of all fields below a type."""
    yield path
    for kind in (declared, *alternatives(declared)):
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            for name, part in fields_of(kind).items():
                yield from paths(part, (*path, name))
        elif get_origin(kind) is tuple:
            yield from paths(get_args(kind)[0], path)
        elif get_origin(kind) is dict:
            yield from paths(get_args(kind)[1], path)
