"""Responsibility ids: their form, their allocation, and the parent that an id names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.ids import ROOT, NodeId, allocated_under, child_of, is_node_id


@pytest.mark.parametrize("text", ["S0", "S1", "S10", "S1_1", "S2_10_3"])
def test_an_id_that_can_be_allocated_is_an_id(text: str) -> None:
    assert is_node_id(text)


@pytest.mark.parametrize(
    "text",
    ["", "S", "s1", "S01", "S1_0", "S1_01", "S0_1", "S1_", "S1__1", "S1.1", "S1\n", "S\u0661"],
)
def test_any_other_text_is_no_id(text: str) -> None:
    assert not is_node_id(text)


def test_the_first_child_is_numbered_one() -> None:
    assert child_of(ROOT, set()) == "S1"
    assert child_of(NodeId("S1"), set()) == "S1_1"


def test_an_allocated_id_is_never_given_again() -> None:
    assert child_of(ROOT, {NodeId("S1"), NodeId("S3")}) == "S2"
    assert child_of(NodeId("S2"), {NodeId("S2_1"), NodeId("S2_2")}) == "S2_3"


@given(st.lists(st.integers(0, 5), max_size=30))
def test_every_new_id_is_fresh_and_names_its_parent(picks: list[int]) -> None:
    allocated = [ROOT]
    for pick in picks:
        parent = allocated[pick % len(allocated)]
        new = child_of(parent, allocated)
        assert is_node_id(new)
        assert new not in allocated
        assert allocated_under(new) == parent
        allocated.append(new)
