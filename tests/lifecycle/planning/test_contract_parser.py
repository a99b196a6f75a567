"""Kinds, costs, clauses and examples are read from the text of a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.contract import Clause, Contract, CostBudget
from auditcoder.domain.graph import NodeKind
from auditcoder.domain.task import CallExample
from auditcoder.lifecycle.planning.contract_parser import (
    call_example,
    is_self_contained,
    read_clause,
    read_cost,
    read_kind,
    validation_of,
)


class TestClauses:
    @pytest.mark.parametrize(
        ("text", "executable"),
        [
            ("result > 0", True),
            ("all(x > y for y in numbers)", True),
            ("`len(numbers) > 0`", True),
            ("sorted(numbers, key=lambda k: -k) == numbers", True),
            ("the result is positive", False),
            ("result > limit", False),
            ("True", False),
            ("", False),
        ],
    )
    def test_a_clause_over_known_names_is_executable(self, text: str, executable: bool) -> None:
        clause = read_clause(text, {"x", "numbers", "result"})
        assert bool(clause.expression) is executable

    @pytest.mark.parametrize(
        ("text", "example"),
        [
            ("f(1, [2]) == 3", CallExample(arguments="1, [2]", result="3")),
            ("f(1) -> 'a'", CallExample(arguments="1", result="'a'")),
            ("f(x) == 3", None),
            ("f(1)", None),
            ("g(1) == 3", None),
            ("f(a=1) == 3", None),
            ("f(1) == 3 and so on", None),
        ],
    )
    def test_an_example_is_a_call_with_literal_values(
        self, text: str, example: CallExample | None
    ) -> None:
        assert call_example(text, "f") == example

    @pytest.mark.parametrize(
        ("text", "example"),
        [
            (
                "f(Rect(2, h=3)) -> Point(1, 2)",
                CallExample(arguments="Rect(2, h=3)", result="Point(1, 2)"),
            ),
            (
                "f([Rect(i, 1) for i in range(3)]) == Color.RED",
                CallExample(arguments="[Rect(i, 1) for i in range(3)]", result="Color.RED"),
            ),
            ("f(DAY_CAP + 1) == 2", CallExample(arguments="DAY_CAP + 1", result="2")),
            ("f(Rect(x, 3)) == 6", None),
            ("f(Rect(f(1), 3)) == 6", None),
            ("f([0] * 3) == 6", None),
            ("f(r=Rect(1, 2)) == 6", None),
        ],
    )
    def test_an_example_can_use_what_the_program_defines(
        self, text: str, example: CallExample | None
    ) -> None:
        shared = frozenset({"Rect", "Point", "Color", "DAY_CAP"})
        assert call_example(text, "f", shared) == example
        assert call_example(text, "f") is None

    @pytest.mark.parametrize(
        ("arguments", "result", "alone"),
        [
            ("1, k=2", "[3]", True),
            ("sorted([x for x in (2, 1)])", "set()", True),
            ("Rect(1)", "1", False),
            ("1", "Color.RED", False),
            ("1 +", "1", False),
        ],
    )
    def test_an_example_is_self_contained_if_it_uses_no_definitions(
        self, arguments: str, result: str, alone: bool
    ) -> None:
        assert is_self_contained(CallExample(arguments=arguments, result=result)) is alone

    @given(st.text())
    def test_any_text_is_a_clause(self, text: str) -> None:
        clause = read_clause(text, {"result"})
        assert not (clause.text and clause.expression)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (("dp",), NodeKind.DP),
        (("`BFS`.",), NodeKind("graph_bfs")),
        (("dfs",), NodeKind("graph_dfs")),
        (("Two-pointers",), NodeKind("two_pointer")),
        (("binary search",), NodeKind("binary_search")),
        (("magic", "string"), NodeKind.STRING),
        (("orchestration",), NodeKind.GENERAL),
        ((), NodeKind.GENERAL),
    ],
)
def test_the_first_known_kind_is_taken(texts: tuple[str, ...], kind: NodeKind) -> None:
    assert read_kind(texts) is kind


@pytest.mark.parametrize(
    ("texts", "time"),
    [
        (("at most O(n log n), I think",), "O(n log n)"),
        (("O(n*log(n))",), "O(n*log(n))"),
        (("linear", "O(n)"), "O(n)"),
        (("linear",), ""),
        ((), ""),
    ],
)
def test_the_first_cost_in_o_notation_is_taken(texts: tuple[str, ...], time: str) -> None:
    assert read_cost(texts).time == time


def test_a_comment_in_an_expression_is_removed() -> None:
    assert read_clause("result > 0  # of course", {"result"}).expression == "result > 0"


def test_a_requirement_that_mentions_the_result_is_a_sentence() -> None:
    assert read_clause("result > 0", {"x"}) == Clause(text="result > 0")


def test_a_bare_tuple_is_an_executable_clause() -> None:
    assert read_clause("result > 0, 'positive'", {"result"}).expression == "result > 0, 'positive'"


def test_validation_lists_the_checks_that_a_contract_allows() -> None:
    least = ("it compiles", "its signature is the contract's")
    assert validation_of(Contract(name="f", params=())) == least
    full = Contract(
        name="f",
        params=(),
        ensures=(Clause(expression="result > 0"),),
        cost=CostBudget(time="O(n)"),
        examples=(CallExample(arguments="", result="1"),),
    )
    assert validation_of(full) == (
        *least,
        "its examples come out right",
        "its promises hold for generated inputs",
        "its cost grows no faster than O(n)",
    )
    sentence = Contract(name="f", params=(), ensures=(Clause(text="it is positive"),))
    assert validation_of(sentence) == least
