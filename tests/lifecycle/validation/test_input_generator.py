"""Inputs are generated from parameter types and data ranges, always the same."""

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
    def test_parse_and_have_as_many_values_as_there_are_parameters(self, kinds: list[str]) -> None:
        rows = inputs_for(contract(*kinds))
        assert 0 < len(rows) <= COUNT
        for row in rows:
            call = ast.parse(f"f({row})", mode="eval").body
            assert isinstance(call, ast.Call)
            assert len(call.args) == len(kinds)

    @given(st.lists(types, min_size=1, max_size=3))
    def test_are_always_the_same_for_one_contract(self, kinds: list[str]) -> None:
        assert inputs_for(contract(*kinds)) == inputs_for(contract(*kinds))

    @given(st.integers(-(10**9), 10**9), st.integers(0, 10**9))
    def test_keep_to_the_datas_ranges(self, low: int, width: int) -> None:
        bound = DataRange(variable="p0", minimum=low, maximum=low + width)
        for row in inputs_for(contract("list[int]"), [bound]):
            assert all(low <= value <= low + width for value in ast.literal_eval(row))

    def test_begin_with_the_smallest_and_the_emptiest(self) -> None:
        assert inputs_for(contract("list[int]", "str"))[0] == "[], ''"

    def test_are_not_made_of_self(self) -> None:
        method = Contract(name="f", params=(Param(name="self"), Param(name="n", type="int")))
        assert all(isinstance(ast.literal_eval(row), int) for row in inputs_for(method))

    @pytest.mark.parametrize(
        "kind", ["", "Node", "Callable[[int], int]", "int, str", "list[", "'x'"]
    )
    def test_are_none_where_a_type_says_too_little(self, kind: str) -> None:
        assert inputs_for(contract(kind)) == ()

    @pytest.mark.parametrize("kind", ["set[list[int]]", "dict[list[int], int]", "set[set[int]]"])
    def test_are_none_where_a_type_has_no_values(self, kind: str) -> None:
        assert inputs_for(contract(kind)) == ()

    @pytest.mark.parametrize(
        ("kinds", "count"),
        [(["list[int]"], 1), (["str", "int"], 2), (["List[str]", "bool", "float"], 3)],
    )
    def test_of_any_size_are_an_expression_over_n(self, kinds: list[str], count: int) -> None:
        expression = sized(contract(*kinds))
        made = eval(f"({expression},)", {"n": 7})
        assert len(made) == count
        assert len(made[0]) == 7

    @pytest.mark.parametrize("kinds", [["int"], ["list[list[int]]"], ["list[int]", "Node"], []])
    def test_without_a_size_are_none(self, kinds: list[str]) -> None:
        assert sized(contract(*kinds)) == ""
