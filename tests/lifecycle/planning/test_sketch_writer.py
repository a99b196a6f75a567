"""A graph is written as the sketch that it could have come from."""

import msgspec
from hypothesis import given

from auditcoder.domain.graph import Node, NodeKind
from auditcoder.domain.ids import NodeId
from auditcoder.lifecycle.planning.plan import PlanRefused
from auditcoder.lifecycle.planning.sketch_parser import read_sketch
from auditcoder.lifecycle.planning.sketch_writer import described, docstring, sketch_text
from tests.support.sketches import SKETCH, SOLVE, planned, sketches


@given(sketches())
def test_a_graph_is_shown_as_the_sketch_that_it_came_from(text: str) -> None:
    try:
        graph = planned(text).graph
    except PlanRefused:
        return
    known = {n.contract.name: n.contract for n in graph.nodes if n.contract}
    again = read_sketch(sketch_text(graph), "solve")
    shown = {name: s.contract for name, s in again.stubs.items()} | {"solve": again.root.contract}
    assert {n: c.signature for n, c in shown.items()} == {n: c.signature for n, c in known.items()}


def test_a_docstring_never_ends_its_own_string() -> None:
    graph = planned(SKETCH.replace("Add them up.", "Say ''' and \\\\ twice.")).graph
    text = f'"""{docstring(graph.by_id[NodeId("S2")])}"""'
    assert compile(text, "docstring", "eval")


def test_the_root_is_shown_as_it_is_written() -> None:
    graph = planned(SKETCH).graph
    text = sketch_text(graph, f"\n{SOLVE}\n")
    assert text.endswith(SOLVE.strip())
    assert text.count("def solve") == 1
    assert text.index("def read_numbers") < text.index("def add_up") < text.index("def one")


def test_a_single_function_is_shown_as_its_header() -> None:
    graph = planned('"""Sum."""\ndef solve(data): ...').graph
    assert sketch_text(graph) == "def solve(data: str) -> str:\n    ..."


def test_a_docstring_lists_the_contract() -> None:
    assert docstring(planned(SKETCH).graph.by_id[NodeId("S2")]).split("\n") == [
        "Add them up.",
        "",
        "cost: O(n log n) at most",
        "uses: one",
        "",
        "kind: two_pointer",
        "requires: len(numbers) > 0",
        "requires: they are finite",
        "ensures: result >= min(numbers)",
        "example: add_up([1, 2]) == 3",
    ]


def test_a_stub_names_the_functions_that_its_docstring_named() -> None:
    text = sketch_text(planned(SKETCH).graph)
    assert text.count("uses: one") == 1
    assert "uses:" not in sketch_text(planned(SKETCH.replace("uses: one", "note: one")).graph)


def test_a_use_of_no_function_of_the_sketch_is_not_shown() -> None:
    text = sketch_text(planned(SKETCH.replace("uses: one", "uses: nothing")).graph)
    assert "uses:" not in text


def test_a_node_is_described_with_its_cost_and_its_hints() -> None:
    add = msgspec.structs.replace(planned(SKETCH).graph.by_id[NodeId("S2")], hints=("use sum",))
    assert described(add) == (
        "`add_up(numbers: list[int]) -> int`: Add them up.\n- cost: O(n log n)\n- hint: use sum"
    )
    bare = Node(id=NodeId("S1"), goal="Do it", kind=NodeKind.GENERAL)
    assert described(bare) == "Do it"
