"""Study tables: locators compared with intervals, and controls at chance level."""

import random

import pytest
from msgspec.structs import replace

from auditcoder.domain.table import Table
from auditcoder.lifecycle.locating.scoring import FittedModels
from auditcoder_bench.faultbench.observations import FailureEvidence
from auditcoder_bench.faultbench.study_tables import (
    as_interface,
    evaluate_weights,
    held_out_table,
    study,
)
from auditcoder_bench.faultbench.weight_fit import NO_WEIGHTS, HeldOutFailure, fit_both
from tests.support.faultbench import cases

pytest.importorskip("numpy")


def tables(failures: list[FailureEvidence]) -> dict[str, Table]:
    return {table.name: table for table in study(failures)}


def cell(table: Table, row: str, column: str) -> object:
    found = next(r for r in table.rows if r.cells[0] == row)
    return found.cells[table.columns.index(column)]


def test_one_table_compares_every_locator_with_its_interval() -> None:
    compared = tables(cases(120, told=1.0))["located-real-failures"]
    assert [row.cells[0] for row in compared.rows] == [
        *("traceback", "ochiai", "tarantula", "dstar", "slice"),
        *("weighed, nothing tried", "weighed"),
    ]
    assert cell(compared, "traceback", "Top-1") == 0.0
    right = cell(compared, "weighed", "precision")
    assert isinstance(right, float)
    assert right > 0.8
    assert " to " in str(cell(compared, "weighed", "Top-1, 95 %"))


def test_failures_observed_with_different_settings_are_not_pooled() -> None:
    some = cases(90, told=1.0)
    drawn = [replace(case, opinions=1) for case in some[30:60]]
    seen = [replace(case, view="all") for case in some[60:]]
    names = [name for name in tables([*some[:30], *drawn, *seen]) if name.startswith("located-")]
    assert names == [
        "located-real-failures",
        "located-real-failures-1-drawn-at-a-time",
        "located-real-failures-all-tests-seen",
    ]


def test_untraced_failures_are_located_by_rules_with_low_confidence() -> None:
    seen = cases(60, told=1.0)
    unseen = [replace(case, blind=True, rules=case.truth, id=f"b{case.id}") for case in seen]
    compared = tables(unseen)
    assert cell(compared["located-real-failures"], "weighed", "Top-1") == 1.0
    by_confidence = compared["by-confidence-real-failures"]
    assert cell(by_confidence, "high or medium", "coverage") == 0.0
    assert cell(by_confidence, "any", "coverage") == 1.0
    assert cell(tables([*seen, *unseen])["located-real-failures"], "weighed", "Top-1") == 1.0


def test_shuffled_labels_give_chance_level() -> None:
    controls = tables(cases(300, told=1.0))["controls"]
    shuffled = cell(controls, "Top-1 with shuffled labels", "share")
    chance = cell(controls, "Top-1 by chance", "share")
    assert isinstance(shuffled, float)
    assert chance == pytest.approx(1 / 3, abs=0.001)
    assert abs(shuffled - 1 / 3) < 0.12


def test_interface_labels_are_shuffled_too() -> None:
    kept = [replace(c, kind="interface", fault="wrong shape") for c in cases(300, told=1.0)]
    some = [replace(c, id=f"s{c.id}") for c in cases(60, told=1.0, seed=5)]
    controls = tables([*kept, *some])["controls"]
    shuffled = cell(controls, "Top-1 with shuffled labels", "share")
    assert isinstance(shuffled, float)
    assert shuffled < 0.6, "unshuffled labels would give a score near 1"


def injected() -> list[FailureEvidence]:
    draw = random.Random(3)
    return [
        replace(
            case,
            fault=draw.choice(["off by one", "lost state"]),
            where="node",
            rules=case.truth if draw.random() < 0.5 else (),
        )
        for case in cases(120, told=1.0)
    ]


def test_injected_faults_are_reported_by_kind_and_place_apart_from_real_ones() -> None:
    found = tables([*injected(), *(replace(c, id=f"r{c.id}") for c in cases(60, told=1.0))])
    assert {"located-real-failures", "located-faults-put-into-programs"} <= set(found)
    assert [row.cells[0] for row in found["by-kind-faults-put-into-programs"].rows] == [
        "lost state",
        "off by one",
    ]
    assert cell(found["by-place-faults-put-into-programs"], "node", "first") == 1.0
    rules = cell(found["by-place-faults-put-into-programs"], "node", "rules")
    assert isinstance(rules, float)
    assert 0.3 < rules < 0.7


def test_an_answer_counts_as_an_interface_if_the_changed_node_is_one_of_its_sides() -> None:
    case = replace(injected()[0], truth=("f",), crossings=(("f", "g"), ("h", "g")))
    assert as_interface(case, HeldOutFailure({}, ("f",)))
    assert not as_interface(case, HeldOutFailure({}, ("h",)))
    assert not as_interface(case, HeldOutFailure({}, ("f", "g")))
    assert not as_interface(case, HeldOutFailure({}, ()))


def test_given_weights_are_evaluated_without_fitting() -> None:
    some = cases(120, told=1.0)
    fitted = fit_both(some[:60])
    found = {table.name: table for table in evaluate_weights(some[60:], fitted)}
    assert "controls" not in found
    assert cell(found["located-real-failures"], "weighed", "single") == 60
    right = cell(found["located-real-failures"], "weighed", "Top-1")
    assert isinstance(right, float)
    assert right > 0.8
    no_models = FittedModels(classes=NO_WEIGHTS, programs=NO_WEIGHTS)
    found = {table.name: table for table in evaluate_weights(some[60:], no_models)}
    assert cell(found["located-real-failures"], "weighed", "coverage") == 0.0


def test_every_measure_of_the_locator_has_an_interval() -> None:
    sure = tables(cases(120, told=1.0))["intervals-real-failures"]
    for measure in ("Top-1", "precision", "Brier", "calibration error"):
        low, value, high = (cell(sure, measure, column) for column in ("from", "value", "to"))
        assert isinstance(low, float), measure
        assert isinstance(value, float)
        assert isinstance(high, float)
        assert low <= value <= high


def test_the_held_out_table_notes_the_overlap_with_the_fitted_tasks() -> None:
    some = cases(90, told=1.0)
    tasks = sorted({case.task for case in some})
    other = [case for case in some if case.task == tasks[0]]
    used = [case for case in some if case.task != tasks[0]][5:]
    held = held_out_table(
        [*other, *(c for c in some if c.task != tasks[0])][:40], fit_both(used), used
    )
    assert [row.cells[0] for row in held.rows] == ["real failures"]
    known = len({case.task for case in used})
    assert (
        f"{known} of {known + 1} tasks of real failures are also among those fitted on."
        in held.notes
    )
