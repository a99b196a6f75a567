"""The repair benchmark compares two locators on the same failing runs only."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import repair

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.options import LocatorName
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, start
from tests.support.adder_task import BAD_ADD, GOOD_ADD, GOOD_READ, TASK, script
from tests.support.scripted_runs import Script, sandboxed
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.fixture(scope="module", name="stores")
def _stores(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Solve three tasks with each locator: one passes at once, one starts differently."""
    folder = tmp_path_factory.mktemp("repair")
    paths = folder / "rules.db", folder / "weighed.db"
    worse = BAD_ADD.replace("1:", "2:")
    solve(sandbox, paths[0], LocatorName.PAPER_RULES, BAD_ADD)
    solve(sandbox, paths[1], LocatorName.WEIGHED, worse)
    return paths


def solve(
    sandbox: Sandbox,
    path: Path,
    locator: LocatorName,
    apart: str,
    names: tuple[str, str, str] = ("fails", "passes", "apart"),
) -> None:
    store = SqliteStore(path)
    for name, code in zip(names, (BAD_ADD, GOOD_ADD, apart), strict=True):
        answers = [Script(script(GOOD_READ, code, redo="Nothing comes to mind."))] * 40
        tools = RunResources(store, ScriptedModel(answers), sandbox)
        start(tools, TASK, sketching(locator=locator, fallback=True), RunId(name))
    store.close()


def rows(table: Any) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row.cells, strict=True)) for row in table.rows]


def test_only_runs_that_failed_from_the_same_program_are_compared(
    stores: tuple[Path, Path],
) -> None:
    arms = dict(repair.arm(path) for path in stores)
    assert set(arms) == {"paper-rules", "weighed"}
    assert set(arms["weighed"]) == {"fails", "apart"}
    assert repair.paired(arms) == (["fails"], 1)


def test_the_tables_compare_the_results_of_each_locator(stores: tuple[Path, Path]) -> None:
    arms = dict(repair.arm(path) for path in stores)
    found = {}
    for cause in ({"S2"}, {"S1"}):
        by_locator, pairs, *_ = repair.compared(arms, {"fails": cause})
        weighed = next(r for r in rows(by_locator) if r["locator"] == "weighed")
        found[tuple(cause)] = weighed["rightly"]
        assert (weighed["runs"], weighed["located"], weighed["pass their checks"]) == (1, 1.0, 1)
        assert weighed["resolved"] is None
        assert weighed["a fallback attempt"] is None
        assert weighed["region"] == pytest.approx(1 / 3)
        assert [row["pairs"] for row in rows(pairs)] == [1]
    assert found == {("S2",): 1.0, ("S1",): 0.0}


def test_suites_are_separate_and_goals_show_the_difference(
    sandbox: Sandbox, stores: tuple[Path, Path], tmp_path: Path
) -> None:
    paths = [tmp_path / f"{name}.db" for name in ("rules", "weighed", "anew")]
    locators = (LocatorName.PAPER_RULES, LocatorName.WEIGHED, LocatorName.TRACEBACK)
    for path, locator in zip(paths, locators, strict=True):
        solve(sandbox, path, locator, BAD_ADD, names=("one.fails", "two.passes", "two.apart"))
    *two, (_, anew) = (repair.arm(path) for path in paths)
    del anew[RunId("two.apart")]
    by_locator, _, goals, _ = repair.compared(dict(two), {}, anew)
    weighed = [row for row in rows(by_locator) if row["locator"] == "weighed"]
    assert [(row["runs of"], row["runs"]) for row in weighed] == [
        *(("all", 2), ("one", 1), ("two", 1), ("several parts", 2), ("planned anew, too", 1))
    ]
    assert rows(by_locator)[-1]["locator"] == "none: planned anew"
    assert rows(by_locator)[-1]["a fallback attempt"] > 0
    found = {row["measure"]: (row["goal"], row["found"]) for row in rows(goals)}
    assert found["located"] == (0.8, 1.0)
    anew, instead = found["tokens of a run with a boundary, beside planning it anew"]
    assert anew > 0
    assert instead > 0
    assert [row["beyond the goal"] for row in rows(goals)] == [
        None if wanted is None or got is None else pytest.approx((got - wanted) * sign)
        for (wanted, got), sign in zip(found.values(), (1, 1, 1, -1), strict=True)
    ]
    before = dict(repair.arm(path) for path in stores)
    *_, without, _ = repair.compared(before, {})
    assert rows(without)[-1]["goal"] is None, "without replanned runs there is no goal to compare"


@pytest.mark.parametrize("which", [(0, 0), (0, 2), (2, 0)])
def test_stores_that_cannot_be_compared_are_refused_and_nothing_is_written(
    stores: tuple[Path, Path],
    which: tuple[int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    empty, out = tmp_path / "empty.db", tmp_path / "out.json"
    SqliteStore(empty).close()
    chosen = [str((*stores, empty)[place]) for place in which]
    monkeypatch.setattr(sys, "argv", ["repair.py", *chosen, "--out", str(out)])
    with pytest.raises(SystemExit):
        repair.main()
    assert not out.exists()
