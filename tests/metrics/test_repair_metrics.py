"""RRS, CCR and regression, computed by hand."""

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Transaction
from auditcoder.domain.targets import AtBranch
from auditcoder.domain.trace import fold
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.metrics.repair_metrics import (
    changed_code,
    code_lines,
    region_size,
    regressed,
    selected_size,
)
from tests.support.histories import add_s1_2, exception
from tests.support.record_builders import RUN, S1, repairing


def transaction(recorder: Recorder, store: SqliteStore) -> Transaction:
    return fold(store.read(RUN), store.blob).history[-1]


def test_the_region_is_counted_in_nodes_before_the_repair(store: SqliteStore) -> None:
    found = transaction(repairing(store), store)
    assert region_size(found) == selected_size(found) == 1 / 4


def test_a_branch_counts_with_everything_below_it(store: SqliteStore) -> None:
    found = transaction(repairing(store, AtBranch(root=S1)), store)
    assert region_size(found) == 2 / 4


def test_an_exception_widens_the_region_but_not_the_selection(store: SqliteStore) -> None:
    recorder = repairing(store)
    recorder.record(exception(NodeId("S1_1"), NodeId("S2")))
    found = transaction(recorder, store)
    assert (region_size(found), selected_size(found)) == (2 / 4, 1 / 4)


def test_nodes_that_the_repair_adds_were_not_there_to_select(store: SqliteStore) -> None:
    recorder = repairing(store, AtBranch(root=S1))
    recorder.record(add_s1_2())
    assert region_size(transaction(recorder, store)) == 2 / 4


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("\n\n# only a comment\n", 0),
        ("x = 1\n", 1),
        ("x = 1  # why\n\n\ny = 2", 2),
        ('text = """one\n\n# not a comment\n"""\n', 3),
        ("def f(:\n# odd\n  x\n", 2),
    ],
)
def test_blank_and_comment_lines_are_not_code(source: str, lines: int) -> None:
    assert len(code_lines(source)) == lines


@pytest.mark.parametrize(
    ("before", "after", "ratio"),
    [
        ("a = 1\nb = 2\n", "a = 1\nb = 2\n", 0.0),
        ("a = 1\nb = 2\n", "a = 1\nb = 3\n", 1 / 2),
        ("a = 1\n", "a = 1\nb = 2\n", 1 / 2),
        ("a = 1\nb = 2\n", "a = 1\n", 1 / 1),
        ("a = 1\n", "a = 1\n\n# a comment is no change\n", 0.0),
        ("a = 1\n", "", None),
    ],
)
def test_changed_code_is_the_ratio_of_changed_lines(
    before: str, after: str, ratio: float | None
) -> None:
    assert changed_code(before, after) == ratio


def test_regression_counts_only_tests_that_passed_before() -> None:
    before = {"a": True, "b": True, "c": False}
    assert regressed(before, {"a": True, "b": False, "c": True}) == (1, 2)
    assert regressed(before, {"a": True}) == (1, 2)
    assert regressed({}, {}) == (0, 0)
