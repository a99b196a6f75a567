"""Pins: digests of the injected failures of each solved program or class.

They identify the failures that the published results are about.
"""

from collections.abc import Iterable
from importlib import resources

import msgspec

from auditcoder.domain.values import Digest, Value, digest_of
from auditcoder_bench.faultbench.fault_injector import Fault
from auditcoder_bench.faultbench.injected_failures import InjectedFailure

FILE = "pinned.json"


class Pin(Value):
    """The number and the digest of the failures of one solved program or class."""

    failures: int
    digest: Digest


def pins_of(faults: Iterable[InjectedFailure]) -> dict[str, Pin]:
    """Return the pins of failures by the name of the solved work.

    Slow loops are left out: whether they fail depends on the speed of the machine.
    """
    by_work: dict[str, list[InjectedFailure]] = {}
    reproducible = (fault for fault in faults if Fault.SLOW_LOOP.value not in fault.faults)
    for fault in sorted(reproducible, key=lambda fault: fault.id):
        by_work.setdefault(fault.solved, []).append(fault)
    return {
        name: Pin(failures=len(own), digest=digest_of(tuple(own))) for name, own in by_work.items()
    }


def pinned() -> dict[str, Pin]:
    """Return the pins in the package."""
    text = resources.files("auditcoder_bench.faultbench").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=dict[str, Pin])


def written(pins: dict[str, Pin]) -> bytes:
    """Return pins in the format of the package's file."""
    return msgspec.json.format(msgspec.json.encode(pins), indent=1) + b"\n"
