"""Forgeries: records in which one field of one event has another well-typed value.

The forger knows everything the writer knows: it chains all events anew, with right digests, and
only refers to content that the store has.
"""

import random
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, NewType, Union, get_args, get_origin, get_type_hints

import msgspec

from auditcoder.domain.chain import EMPTY, seal
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import Event
from auditcoder.domain.laws import IllegalHistory, advance
from auditcoder.domain.ledger import Ledger
from tests.support.histories import started_at
from tests.support.records import Raw, forge

_MOST = 3
"""Number of other values that are tried for each kind of change of one field."""


class Forgery(NamedTuple):
    """One event of a record with one changed field."""

    seq: int
    field: str
    """The innermost field that differs, such as `CheckRan.evidence.verdict`."""
    before: Event
    event: Event


class Forger:
    """Alters records; other values of a type are taken from all `records`."""

    def __init__(self, records: Iterable[Raw], seed: int) -> None:
        self._random = random.Random(seed)
        self._pool: dict[object, dict[bytes, Any]] = {}
        for raw in records:
            for event in raw.events():
                self._collect(type(event), event)

    def forgeries(self, raw: Raw, seqs: Iterable[int]) -> Iterator[Forgery]:
        """Yield the events `seqs` of a record, each field changed in several ways."""
        events = raw.events()
        for seq in seqs:
            event = events[seq]
            seen = {_key(event)}
            for forged in self._changes(type(event), event):
                decoded = _as_read(forged, raw)
                if decoded is None or _key(decoded) in seen:
                    continue
                seen.add(_key(decoded))
                fields = set(_differences(event, decoded))
                if len(fields) == 1:
                    yield Forgery(seq, fields.pop(), event, decoded)

    def _collect(self, declared: object, value: object) -> None:
        for kind in alternatives(declared):
            if _fits(kind, value):
                self._pool.setdefault(kind, {})[_key(value)] = value
        for part, inner in _parts(declared, value):
            self._collect(part, inner)

    def _others(self, kind: object, value: object) -> list[Any]:
        others = [v for k, v in self._pool.get(kind, {}).items() if k != _key(value)]
        return self._random.sample(others, min(_MOST, len(others)))

    def _changes(self, declared: object, value: Any) -> Iterator[Any]:
        """Yield other values of a declared type: whole ones, and this one changed in one place."""
        for kind in alternatives(declared):
            if kind is NoneType:
                yield None
            else:
                yield from self._others(kind, value)
            if _fits(kind, value):
                yield from _simple_changes(kind, value)
        if isinstance(value, msgspec.Struct):
            for name, part in fields_of(type(value)).items():
                for other in self._changes(part, getattr(value, name)):
                    yield msgspec.structs.replace(value, **{name: other})
        elif isinstance(value, tuple):
            yield from self._changes_of_items(alternatives(declared), value)
        elif isinstance(value, dict):
            yield from self._changes_of_entries(alternatives(declared), value)

    def _changes_of_items(self, kinds: tuple[object, ...], value: tuple[Any, ...]) -> Iterator[Any]:
        item = next(get_args(kind)[0] for kind in kinds if get_origin(kind) is tuple)
        for at in range(len(value)):
            yield value[:at] + value[at + 1 :]
            yield value[: at + 1] + value[at:]
            yield (*value[:at], *reversed(value[at : at + 2]), *value[at + 2 :])
        for kind in alternatives(item):
            yield from ((*value, other) for other in self._others(kind, None))
        for at in self._random.sample(range(len(value)), min(_MOST, len(value))):
            for other in self._changes(item, value[at]):
                yield (*value[:at], other, *value[at + 1 :])

    def _changes_of_entries(
        self, kinds: tuple[object, ...], value: dict[Any, Any]
    ) -> Iterator[Any]:
        key_type, item = next(get_args(kind) for kind in kinds if get_origin(kind) is dict)
        for key in value:
            rest = {k: v for k, v in value.items() if k != key}
            yield rest
            yield from (rest | {other: value[key]} for other in self._others(key_type, key))
            yield from (value | {key: other} for other in self._changes(item, value[key]))


def _differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield the innermost fields in which two values differ."""
    path = path or type(one).__name__
    if type(one) is not type(other):
        yield path
    elif isinstance(one, msgspec.Struct):
        for name in one.__struct_fields__:
            yield from _differences(getattr(one, name), getattr(other, name), f"{path}.{name}")
    elif isinstance(one, tuple) and len(one) == len(other):
        for left, right in zip(one, other, strict=True):
            yield from _differences(left, right, path)
    elif isinstance(one, dict) and one.keys() == other.keys():
        for key in one:
            yield from _differences(one[key], other[key], path)
    elif _key(one) != _key(other):
        yield path


_encoder = msgspec.json.Encoder(order="deterministic")


def _key(value: object) -> bytes:
    """Return what tells values apart, unlike `==`: 1, 1.0 and True are different values."""
    return _encoder.encode([type(value).__name__, value])


@cache
def fields_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in kind.__struct_fields__}


def alternatives(declared: object) -> tuple[object, ...]:
    """Return the types that a declared type may stand for."""
    if get_origin(declared) is Annotated:
        declared = get_args(declared)[0]
    if get_origin(declared) in {Union, UnionType}:
        return tuple(kind for part in get_args(declared) for kind in alternatives(part))
    return (declared,)


def _fits(kind: object, value: object) -> bool:
    plain = kind.__supertype__ if isinstance(kind, NewType) else get_origin(kind) or kind
    return type(value) is plain


def _parts(declared: object, value: Any) -> Iterator[tuple[object, object]]:
    """Yield the parts of a value, each with its declared type."""
    if isinstance(value, msgspec.Struct):
        for name, part in fields_of(type(value)).items():
            yield part, getattr(value, name)
        return
    for kind in alternatives(declared):
        if isinstance(value, tuple) and get_origin(kind) is tuple:
            yield from ((get_args(kind)[0], item) for item in value)
        if isinstance(value, dict) and get_origin(kind) is dict:
            key_type, item_type = get_args(kind)
            yield from ((key_type, key) for key in value)
            yield from ((item_type, item) for item in value.values())


def _simple_changes(kind: object, value: Any) -> Iterator[Any]:
    if kind is bool:
        yield not value
    elif isinstance(value, Enum):
        yield from (member for member in type(value) if member is not value)
    elif isinstance(value, int):
        yield from (value + 1, value - 1, 0, -value, value + 1000)
    elif isinstance(value, float):
        yield from (value + 1, 0.0, value / 2, -value, 1e9)
    elif isinstance(value, str):
        yield from (value + "x", value[:-1], "", value.upper())


def _as_read(event: Event, raw: Raw) -> Event | None:
    """Return an event as a reader decodes it; None if it cannot, or its content is not there."""
    try:
        decoded = seal(EMPTY, event, started_at).entry.event
    except (ValueError, TypeError, msgspec.MsgspecError):
        return None
    return decoded if set(decoded.blobs()) <= raw.blobs.keys() else None


def ledgers_of(raw: Raw) -> list[Ledger]:
    """Return the ledger before each event of a legal record."""
    ledgers = [Ledger()]
    for event in raw.events():
        ledgers.append(advance(ledgers[-1], event, raw.blob))
    return ledgers


def survives(raw: Raw, forgery: Forgery, ledgers: list[Ledger]) -> bool:
    """Whether a record with this forgery verifies; `ledgers` are those before each event.

    For all events but the first, the laws decide: the chain is right by construction. Verifying
    the whole record gives the same answer and takes longer; `verifies` does.
    """
    if forgery.seq == 0:
        return verifies(raw, forgery)
    ledger = ledgers[forgery.seq]
    try:
        for event in (forgery.event, *raw.events()[forgery.seq + 1 :]):
            ledger = advance(ledger, event, raw.blob)
    except IllegalHistory:
        return False
    return True


def verifies(raw: Raw, forgery: Forgery) -> bool:
    """Whether the whole record with this forgery verifies after all digests are computed anew."""
    events = raw.events()
    events[forgery.seq] = forgery.event
    try:
        return forge(raw, events).verify().holds
    except RecordUnreadable:
        return False
