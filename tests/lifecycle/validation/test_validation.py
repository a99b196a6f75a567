"""The nodes of a region are checked in the order in which they are built."""

from typing import cast

from auditcoder.domain.contract import Contract
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validation import validate_region
from tests.support.checked_programs import WrittenFunction, written_program


def test_leaves_are_checked_before_the_root_and_nodes_outside_are_not() -> None:
    functions = [
        WrittenFunction(Contract(name=n, params=()), f"def {n}():\n    return 1\n") for n in "fgh"
    ]
    root = "def solve(data: str) -> str:\n    return str(f() + g() + h())\n"
    region = [ROOT, NodeId("S3"), NodeId("S1")]
    with written_program(cast("Sandbox", None), functions, root) as context:
        seen = [e.check.partition("-")[0] for e in validate_region(context, region)]
    assert seen == [
        "S1.compile",
        "S1.signature",
        "S3.compile",
        "S3.signature",
        "S0.compile",
        "S0.signature",
    ]
