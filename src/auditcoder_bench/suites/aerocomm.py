"""AeroComm-Small8: eight functions of spaceflight and communications, written for this project."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from auditcoder.domain.execution import Bounds
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder_bench.problem import CodeTests, Problem
from auditcoder_bench.suites.suite import Suite

AEROSPACE = ("vis_viva", "hohmann", "kepler", "quaternion")
COMMUNICATIONS = ("qpsk", "path_loss", "crc16", "convolutional")
_HOME = "auditcoder_bench.suites.aerocomm_data"


def _read(_files: Mapping[str, Path]) -> list[Problem]:
    return [
        Problem(
            name,
            make_task(_text(f"tasks/{name}.md"), TaskOptions(source=f"aerocomm/{name}")),
            CodeTests(code=_text(f"hidden/{name}.py")),
            group="aerospace" if name in AEROSPACE else "communications",
            bounds=Bounds(seconds=10.0),
            reference=_text(f"oracles/{name}.py"),
        )
        for name in (*AEROSPACE, *COMMUNICATIONS)
    ]


def _text(path: str) -> str:
    return (resources.files(_HOME) / path).read_text("utf-8")


SUITE = Suite(
    name="aerocomm",
    title="AeroComm-Small8",
    licence="Apache-2.0, as this project; grounded in the sources that its registry names",
    sources=(),
    read=_read,
    packages=("numpy",),
    extra="bench",
)
