"""Inputs are generated deterministically from parameter types and data ranges."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.brief import DataRange
from auditcoder.domain.contract import Contract, Param
from auditcoder.lifecycle.validation.input_generator import COUNT, inputs_for, sized


def contract(*types: str) -> Contract:
    params = tuple(Param(name=f"p{i}", type=t) for i, t in enumerate(types))
    return Contract(name="f", params=params)


scalars = st.sampled_from(["int", "float", "str", "bool", "int | None", "Optional[int]"])
types = st.recursive(
    scalars,
    lambda inner: (
        inner.map(lambda t: f"list[{t}]")
        | inner.map(lambda t: f"tuple[{t}, ...]")
        | st.tuples(inner, inner).map(lambda p: f"Tuple[{p[0]}, {p[1]}]")
        | st.tuples(scalars, inner).map(lambda p: f"dict[{p[0]}, {p[1]}]")
        | scalars.map(lambda t: f"set[{t}]")
    ),
    max_leaves=4,
)


class TestInputs:
    @given(st.lists(types, min_size=1, max_size=3))
    def test_inputs_parse_and_have_one_value_per_parameter(self, kinds: list[str]) -> None:
        rows = inputs_for(contract(*kinds))
        assert 0 < len(rows) <= COUNT
        for row in rows:
            call = ast.parse(f"f({row})", mode="eval").body
            assert isinstance(call, ast.Call)
            assert len(call.args) == len(kinds)

    @given(st.lists(types, min_size=1, max_size=3))
    def test_inputs_are_deterministic_for_a_contract(self, kinds: list[str]) -> None:
        assert inputs_for(contract(*kinds)) == inputs_for(contract(*kinds))

    @given(st.integers(-(10**9), 10**9), st.integers(0, 10**9))
    def test_inputs_stay_within_the_data_ranges(self, low: int, width: int) -> None:
        bound = DataRange(variable="p0", minimum=low, maximum=low + width)
        for row in inputs_for(contract("list[int]"), [bound]):
            assert all(low <= value <= low + width for value in ast.literal_eval(row))

    def test_the_first_input_is_the_smallest(self) -> None:
        assert inputs_for(contract("list[int]", "str"))[0] == "[], ''"

    def test_no_input_is_generated_for_self(self) -> None:
        method = Contract(name="f", params=(Param(name="self"), Param(name="n", type="int")))
        assert all(isinstance(ast.literal_eval(row), int) for row in inputs_for(method))

    @pytest.mark.parametrize(
        "kind", ["", "Node", "Callable[[int], int]", "int, str", "list[", "'x'"]
    )
    def test_an_unknown_type_has_no_inputs(self, kind: str) -> None:
        assert inputs_for(contract(kind)) == ()

    @pytest.mark.parametrize("kind", ["set[list[int]]", "dict[list[int], int]", "set[set[int]]"])
    def test_a_type_without_values_has_no_inputs(self, kind: str) -> None:
        assert inputs_for(contract(kind)) == ()

    @pytest.mark.parametrize(
        ("kinds", "count"),
        [(["list[int]"], 1), (["str", "int"], 2), (["List[str]", "bool", "float"], 3)],
    )
    def test_a_sized_input_is_an_expression_over_n(self, kinds: list[str], count: int) -> None:
        expression = sized(contract(*kinds))
        arguments = eval(f"({expression},)", {"n": 7})
        assert len(arguments) == count
        assert len(arguments[0]) == 7

    @pytest.mark.parametrize("kinds", [["int"], ["list[list[int]]"], ["list[int]", "Node"], []])
    def test_parameters_without_a_size_have_no_sized_input(self, kinds: list[str]) -> None:
        assert sized(contract(*kinds)) == ""
