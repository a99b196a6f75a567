"""Pins: by which digest the failures of every piece of solved work are known.

Published figures are about these failures, and nobody has to take our word for which they are.
"""

from collections.abc import Iterable
from importlib import resources

import msgspec

from auditcoder.domain.values import Digest, Value, digest_of
from auditcoder_bench.faultbench.fault_injector import Fault
from auditcoder_bench.faultbench.injected_failures import InjectedFailure

FILE = "pinned.json"


class Pin(Value):
    """The failures of one piece of work."""

    failures: int
    digest: Digest


def pins_of(faults: Iterable[InjectedFailure]) -> dict[str, Pin]:
    """Pin failures, by the work that they were put into.

    What is merely slow is left out: whether that fails depends on how fast a machine is.
    """
    by_work: dict[str, list[InjectedFailure]] = {}
    lasting = (fault for fault in faults if Fault.SLOW_LOOP.value not in fault.faults)
    for fault in sorted(lasting, key=lambda fault: fault.id):
        by_work.setdefault(fault.solved, []).append(fault)
    return {
        name: Pin(failures=len(own), digest=digest_of(tuple(own))) for name, own in by_work.items()
    }


def pinned() -> dict[str, Pin]:
    """Return the pins that come with the package."""
    text = resources.files("auditcoder_bench.faultbench").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=dict[str, Pin])


def written(pins: dict[str, Pin]) -> bytes:
    """Write pins as the package has them."""
    return msgspec.json.format(msgspec.json.encode(pins), indent=1) + b"\n"
