"""Writers see the defaults and the keyword-only parameters of a stub in its header."""

from collections.abc import Iterator

import msgspec
import pytest

from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.events import RunOutcome
from auditcoder.domain.graph import Node, NodeKind
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import Function, parse
from auditcoder.lifecycle.options import Build
from auditcoder.lifecycle.planning.signature_notes import shown_signature, signature_notes
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.task_forms import contract_of
from tests.support.addition_runs import READ, READS, SOLVE, TASK
from tests.support.scripted_runs import python, run, sandboxed, stub
from tests.support.sketched_runs import sketching

HEADER = "paid(trips: list[int], *, gap: int=MAX_GAP) -> int"


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def node_of(header: str, name: str = "S1") -> Node:
    function = parse(f"def {header}:\n    ...\n").body[0]
    assert isinstance(function, Function)
    return Node(
        id=NodeId(name),
        goal="Do it",
        context="\n".join(["trap: none", *signature_notes(function)]),
        kind=NodeKind.GENERAL,
        contract=contract_of(function),
    )


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        "f(a, b: int=1, c=(2, 3))",
        "f(a, *rest, key, **more) -> None",
        "f(*, key: str)",
        "f()",
    ],
)
def test_a_header_is_shown_as_it_was_written(header: str) -> None:
    assert shown_signature(node_of(header)) == (header, "trap: none")


def test_a_decorator_stays_in_the_context() -> None:
    function = parse("@cache\ndef f(a):\n    ...\n").body[0]
    assert isinstance(function, Function)
    assert signature_notes(function) == ["decorator: @cache"]


def test_the_root_has_the_header_that_the_task_requires() -> None:
    root = node_of(HEADER, ROOT)
    assert shown_signature(root) == ("paid(trips: list[int]) -> int", root.context)


@pytest.mark.parametrize("params", [("trips", "gap"), ("trips", "not a name")])
def test_lines_that_no_longer_fit_the_contract_stay_in_the_context(params: tuple[str, ...]) -> None:
    contract = Contract(name="paid", params=tuple(Param(name=p) for p in params))
    node = msgspec.structs.replace(node_of(HEADER), contract=contract)
    assert shown_signature(node) == (contract.header(), node.context)


@pytest.mark.parametrize("build", Build)
def test_a_writer_is_told_of_keyword_only_parameters(sandbox: Sandbox, build: Build) -> None:
    add = stub("add_up(numbers: list[int], *, first: int=START) -> int", "Add them up.")
    adds = "def add_up(numbers, *, first=START):\n    return sum(numbers, first)\n"
    replies = {
        "sketch": python("START = 0\n\n" + READ + add + SOLVE),
        "joint": python(READS + adds),
        "node": [python(READS), python(adds)],
    }
    finished = run(sandbox, TASK, replies, sketching(build=build))
    assert finished.outcome is RunOutcome.PASSED
    header = "add_up(numbers: list[int], *, first: int=START) -> int"
    request = finished.request("joint" if build is Build.JOINT else "node")
    assert f"def {header}:" in request
    assert "keyword only" not in request
    assert (f"Write `{header}` in full" in request) is (build is Build.NODE)
