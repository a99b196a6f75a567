"""A graph is written as the sketch that it could have come from."""

import msgspec
from hypothesis import given

from auditcoder.domain.graph import Node, NodeKind
from auditcoder.domain.ids import NodeId
from auditcoder.lifecycle.planning.plan import PlanRefused
from auditcoder.lifecycle.planning.sketch_parser import read_sketch
from auditcoder.lifecycle.planning.sketch_writer import (
    described,
    docstring,
    imports_first,
    sketch_text,
    stub_of,
)
from tests.support.sketches import ADD, SKETCH, SOLVE, planned, sketches


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


DRAFT = r"""def add_up(numbers: list[int]) -> int:
    '''Add them up.

    requires: len(numbers) > 0
    '''
    # the newline is "\n"
    return sum(numbers)
"""


def test_a_function_that_the_planner_wrote_is_shown_to_its_writer_as_it_is() -> None:
    graph = planned(SKETCH.replace(ADD, DRAFT)).graph
    text = sketch_text(graph, SOLVE, drafted={NodeId("S2")})
    assert text.count(DRAFT) == 1
    assert text.count("Add them up.") == text.count("def add_up") == 1
    assert text.count("# The plan has a draft") == 1


def test_a_draft_is_not_shown_to_the_writers_of_other_functions() -> None:
    graph = planned(SKETCH.replace(ADD, DRAFT)).graph
    assert "return sum(numbers)" in graph.by_id[NodeId("S2")].context
    text = sketch_text(graph, SOLVE, drafted={NodeId("S1")})
    assert stub_of(graph.by_id[NodeId("S2")]) in text
    assert "return sum(numbers)" not in text


def test_a_draft_for_other_parameters_is_not_shown() -> None:
    graph = planned(SKETCH.replace(ADD, DRAFT)).graph
    changed = tuple(
        msgspec.structs.replace(n, contract=msgspec.structs.replace(n.contract, params=()))
        if n.contract and n.contract.name == "add_up"
        else n
        for n in graph.nodes
    )
    text = sketch_text(msgspec.structs.replace(graph, nodes=changed), drafted={NodeId("S2")})
    assert "return sum(numbers)" not in text
    assert "def add_up() -> int:" in text


def test_imports_are_shown_first_and_once() -> None:
    graph = planned(SKETCH).graph
    definitions = "import math\nfrom dataclasses import dataclass\n\nLIMIT = math.pi\n"
    root = (
        "from __future__ import annotations\n\nimport math\n"
        f"from dataclasses import dataclass, field\n\n{SOLVE}"
    )
    lines = sketch_text(graph, root, definitions).split("\n")
    assert lines[:7] == [
        "from __future__ import annotations",
        "import math",
        "from dataclasses import dataclass",
        "from dataclasses import field",
        "",
        "LIMIT = math.pi",
        "",
    ]
    assert not any("import" in line for line in lines[4:])
    assert compile("\n".join(lines), "sketch", "exec")


def test_definitions_with_imports_are_shown_as_they_are_written() -> None:
    definitions = "import math\n\nLIMIT = math.pi"
    assert sketch_text(planned(SKETCH).graph, "", definitions).startswith(f"{definitions}\n\n\ndef")


def test_an_import_whose_place_matters_stays_where_it_is() -> None:
    pieces = [
        "from math import pi\nLIMIT = pi",
        "from cmath import pi\nimport re  # for words\n\nx = 1\nimport sys\nsys = 2",
        "import (",
    ]
    assert imports_first(pieces) == (
        "from math import pi\nimport re  # for words",
        ["LIMIT = pi", "from cmath import pi\n\nx = 1\nimport sys\nsys = 2", "import ("],
    )
