"""A new sketch of one branch changes that branch and nothing else."""

import pytest
from hypothesis import given

from auditcoder.domain.graph import (
    TaskGraph,
    apply,
    graph_faults,
    order_faults,
)
from auditcoder.domain.ids import NodeId
from auditcoder.lifecycle.planning.branch_replan import graft
from auditcoder.lifecycle.planning.plan import PlanRefused
from tests.support.scripted_runs import stub
from tests.support.sketches import ONE, READ, SKETCH, planned, sketches


class TestGraft:
    GRAPH = planned(SKETCH).graph
    ALLOCATED = tuple(GRAPH.ids)
    TOP = NodeId("S2")
    BODY = "def add_up(numbers: list[int]) -> int:\n    return {}\n"

    def grafted(self, text: str) -> TaskGraph:
        delta, _ = graft(text, self.GRAPH, self.TOP, self.ALLOCATED)
        return apply(self.GRAPH, delta)

    def test_surviving_nodes_keep_their_ids(self) -> None:
        new = stub("two(x: int) -> int", "Take two.")
        delta, _ = graft(
            ONE + new + self.BODY.format("one(two(1))"), self.GRAPH, self.TOP, self.ALLOCATED
        )
        assert delta.retired == ()
        assert [n.contract.name for n in delta.added if n.contract] == ["two"]
        after = apply(self.GRAPH, delta)
        assert {n.id for n in after.nodes} >= self.GRAPH.ids

    def test_a_node_with_another_goal_gets_another_id(self) -> None:
        other = ONE.replace("Take one.", "Take one, but well.")
        delta, _ = graft(other + self.BODY.format("one(1)"), self.GRAPH, self.TOP, self.ALLOCATED)
        assert delta.retired == ("S2_1",)
        assert [n.id for n in delta.added] == ["S2_2"]

    def test_a_branch_may_become_a_leaf(self) -> None:
        after = self.grafted(self.BODY.format("0").replace("return 0", "..."))
        assert after.order == ("S1", "S2")

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("def add_up(xs): ...", "must stay"),
            (READ + BODY.format("read_numbers('')"), "a name of the rest"),
            (
                stub("a(x: int) -> int", "A.", "uses: b")
                + stub("b(x: int) -> int", "B.", "uses: c")
                + stub("c(x: int) -> int", "C.")
                + BODY.format("a(1)"),
                "deep",
            ),
        ],
    )
    def test_a_sketch_that_does_not_fit_the_branch_is_refused(self, text: str, why: str) -> None:
        with pytest.raises(PlanRefused, match=why):
            self.grafted(text)

    @given(sketches())
    def test_a_graft_leaves_nodes_outside_the_branch_unchanged(self, text: str) -> None:
        inner = text.replace("def solve(data: str) -> str", "def add_up(numbers: list[int]) -> int")
        try:
            after = self.grafted(inner)
        except PlanRefused:
            return
        assert graph_faults(after) == order_faults(after) == ()
        frozen = self.GRAPH.ids - self.GRAPH.subtree(self.TOP)
        for node in frozen:
            assert after.by_id[node] == self.GRAPH.by_id[node]
        fresh = after.ids - self.GRAPH.ids
        assert not fresh & set(self.ALLOCATED)
        assert all(n.startswith("S2_") for n in fresh)
