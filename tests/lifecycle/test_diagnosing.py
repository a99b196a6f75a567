"""Diagnosing: what is done about an answer depends on what was seen to pass."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.bench.faultbench.material import program
from auditcoder.bench.faultbench.staging import stage
from auditcoder.domain.places import AtNode
from auditcoder.lifecycle.considering import HEALED
from auditcoder.lifecycle.diagnosing import choose
from auditcoder.lifecycle.locating.weighed import Weighed
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.repairing import Repair
from auditcoder.lifecycle.workshop import SecondOpinion
from auditcoder.methods.solving import Tools
from tests.support.scripts import finding, sandboxed

TEXT = '''
"""Add up the numbers of a text."""


def read(text: str) -> list[int]:
    """Read the numbers."""
    return [int(word) for word in text.split()]


def add(numbers: list[int]) -> int:
    """Add them up."""
    return sum(numbers[1:])


def total(text: str) -> int:
    """Add up."""
    return add(read(text))


EXAMPLES = (("'1 2 3'", "6"), ("'4'", "4"), ("''", "0"))
'''.strip()
RIGHT = "def add(numbers: list[int]) -> int:\n    return sum(numbers)\n"
USELESS = "def add(numbers: list[int]) -> int:\n    return 0\n"


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.mark.parametrize(("opinion", "taken"), [(RIGHT, True), (USELESS, False)])
def test_an_opinion_is_the_repair_only_if_it_is_what_healed(
    sandbox: Sandbox, opinion: str, taken: bool
) -> None:
    """A slow reference that heals names the node, and is itself never written."""
    tools = Tools(SqliteStore(":memory:"), ScriptedModel([finding()]), sandbox)
    workshop = stage(tools, program("totals", TEXT))
    graph = workshop.recorder.ledger.graph
    node = graph.promises["add"]
    about = (node, graph.by_id[node].contract)
    workshop.references[about] = RIGHT.replace("sum(numbers)", "sum(sorted(numbers))")
    workshop.opinions[about] = SecondOpinion(opinion, seq=1)
    chosen = choose(workshop, Weighed(), (), {})
    assert isinstance(chosen, Repair)
    assert chosen.target == AtNode(node=node)
    assert chosen.known == (workshop.opinions[about] if taken else None)
    assert (chosen.finding == HEALED) is taken
