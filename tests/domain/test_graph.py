"""Graph validity (the paper's GraphValid), the order check, and the shape of a graph."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.graph import (
    FromNode,
    GraphDelta,
    Node,
    Slot,
    TaskGraph,
    apply,
    diff,
    graph_faults,
    order_faults,
    region_of,
)
from auditcoder.domain.ids import ROOT, NodeId, allocated_under, child_of, is_node_id
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes
from tests.support.record_builders import GRAPH, ROOT_NODE, S1, S1_1, S2, node

replace = msgspec.structs.replace


def changed(**nodes: Node) -> TaskGraph:
    """Return the small graph with some nodes replaced."""
    return replace(GRAPH, nodes=tuple(nodes.get(n.id, n) for n in GRAPH.nodes))


class TestGraphValid:
    def test_the_small_graph_is_valid(self) -> None:
        assert graph_faults(GRAPH) == ()
        assert order_faults(GRAPH) == ()

    @pytest.mark.parametrize(
        ("graph", "fault"),
        [
            (TaskGraph(nodes=(), order=()), "no nodes"),
            (replace(GRAPH, nodes=(*GRAPH.nodes, node(""))), "empty id"),
            (replace(GRAPH, nodes=(*GRAPH.nodes, node("S2"))), "occurs twice"),
            (replace(GRAPH, root=NodeId("S7")), "root S7"),
            (changed(S2=node("S2", NodeId("S7"))), "parent S7"),
            (changed(S2=node("S2", ROOT, NodeId("S7"))), "depends on S7"),
            (changed(S1=node("S1", S1_1), S1_1=node("S1_1", S1)), "cycle"),
            (replace(GRAPH, order=(S1_1, S2, S2)), "twice"),
            (replace(GRAPH, order=(S1_1,)), "exactly the leaves"),
            (replace(GRAPH, order=(S1_1, S2, S1)), "exactly the leaves"),
        ],
    )
    def test_each_violated_condition_is_a_fault(self, graph: TaskGraph, fault: str) -> None:
        assert any(fault in found for found in graph_faults(graph))

    def test_graph_validity_does_not_require_acyclic_dependencies(self) -> None:
        circular = changed(S1_1=node("S1_1", S1, S2), S2=node("S2", ROOT, S1_1))
        assert graph_faults(circular) == ()
        assert any("cycle" in fault for fault in order_faults(circular))


class TestOrder:
    def test_a_leaf_is_built_after_what_it_depends_on(self) -> None:
        backwards = replace(changed(S1_1=node("S1_1", S1, S2)), order=(S1_1, S2))
        assert any("before S2" in fault for fault in order_faults(backwards))
        assert order_faults(replace(backwards, order=(S2, S1_1))) == ()

    def test_provenance_names_an_output_that_exists(self) -> None:
        wired = replace(
            node("S2"), inputs=(Slot(name="y", source=FromNode(node=S1, slot="nothing")),)
        )
        assert any("S1.nothing" in fault for fault in order_faults(changed(S2=wired)))

    def test_only_the_root_has_no_parent(self) -> None:
        orphan = replace(node("S2"), parent=None)
        assert any("no parent" in fault for fault in order_faults(changed(S2=orphan)))


class TestShape:
    def test_inner_nodes_are_listed_deepest_first(self) -> None:
        assert GRAPH.inner == (S1, ROOT)

    def test_promises_map_function_names_to_their_nodes(self) -> None:
        names = {n.contract.name for n in GRAPH.nodes if n.contract}
        assert set(GRAPH.promises) == names
        for name, promiser in GRAPH.promises.items():
            contract = GRAPH.by_id[promiser].contract
            assert contract is not None
            assert contract.name == name

    def test_a_leaf_is_the_sole_node_only_under_a_root_without_a_contract(self) -> None:
        start, leaf = replace(ROOT_NODE, contract=None), node("S1")
        assert TaskGraph(nodes=(start, leaf), order=(S1,)).sole == S1
        assert replace(GRAPH, nodes=(start, *GRAPH.nodes[1:])).sole is None
        promising = replace(start, contract=leaf.contract)
        assert TaskGraph(nodes=(promising, leaf), order=(S1,)).sole is None

    def test_each_kind_of_target_has_its_region(self) -> None:
        assert region_of(AtNode(node=S1), GRAPH) == {S1}
        assert region_of(AtBranch(root=S1), GRAPH) == {S1, S1_1}
        assert region_of(AtBranch(root=ROOT), GRAPH) == GRAPH.ids
        assert region_of(AtNodes(nodes=(S1_1, S2)), GRAPH) == {S1_1, S2}
        assert region_of(AtInterface(provider=S1_1, consumer=S1), GRAPH) == {S1_1, S1}

    def test_the_default_branch_is_the_first_ancestor_below_the_root(self) -> None:
        assert GRAPH.branch_root(S1_1) == S1
        assert GRAPH.branch_root(S1) == S1
        assert GRAPH.branch_root(ROOT) == ROOT

    def test_a_one_node_plan_has_a_root_and_a_leaf(self) -> None:
        one = TaskGraph(nodes=(replace(ROOT_NODE, dependencies=(S1,)), node("S1")), order=(S1,))
        assert graph_faults(one) == order_faults(one) == ()
        assert one.leaves == (S1,)


class TestDeltas:
    def test_applying_a_delta_yields_the_other_graph(self) -> None:
        new = NodeId("S3")
        delta = GraphDelta(
            added=(node(new),),
            revised=(replace(GRAPH.by_id[S2], hints=("carefully",)),),
            order=(S1_1, S2, new),
        )
        after = apply(GRAPH, delta)
        assert diff(GRAPH, after) == delta
        assert apply(GRAPH, diff(GRAPH, after) or GraphDelta()) == after

    def test_equal_graphs_have_no_delta(self) -> None:
        assert diff(GRAPH, GRAPH) is None


class TestIds:
    @given(st.lists(st.integers(0, 50), max_size=30))
    def test_ids_are_never_allocated_twice(self, parents: list[int]) -> None:
        given_ids = [ROOT]
        for pick in parents:
            parent = given_ids[pick % len(given_ids)]
            new = child_of(parent, given_ids)
            assert new not in given_ids
            assert is_node_id(new)
            assert allocated_under(new) == parent
            given_ids.append(new)

    @pytest.mark.parametrize(
        "text", ["", "S", "S01", "S0_1", "S1_", "S1_0", "s1", "S1 ", "S\uff11", "T1"]
    )
    def test_any_other_text_is_not_an_id(self, text: str) -> None:
        assert not is_node_id(text)
