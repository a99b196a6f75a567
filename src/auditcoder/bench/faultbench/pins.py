"""Pins: by which digest the failures of every piece of solved work are known.

Published figures are about these failures, and nobody has to take our word for which they are.
"""

from collections.abc import Iterable
from importlib import resources

import msgspec

from auditcoder.bench.faultbench.injected import Injected
from auditcoder.domain.values import Digest, Value, digest_of

FILE = "pinned.json"


class Pin(Value):
    """The failures of one piece of work."""

    failures: int
    digest: Digest


def pins_of(faults: Iterable[Injected]) -> dict[str, Pin]:
    """Pin failures, by the work that they were put into."""
    by_work: dict[str, list[Injected]] = {}
    for fault in sorted(faults, key=lambda fault: fault.id):
        by_work.setdefault(fault.solved, []).append(fault)
    return {
        name: Pin(failures=len(own), digest=digest_of(tuple(own))) for name, own in by_work.items()
    }


def pinned() -> dict[str, Pin]:
    """Return the pins that come with the package."""
    text = resources.files("auditcoder.bench.faultbench").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=dict[str, Pin])


def written(pins: dict[str, Pin]) -> bytes:
    """Write pins as the package has them."""
    return msgspec.json.format(msgspec.json.encode(pins), indent=1) + b"\n"
