"""The Python interface: `auditcoder.solve`."""

import doctest
from pathlib import Path
from typing import Any

import pytest

import auditcoder
from auditcoder.domain.errors import ModelError, TaskInvalid
from auditcoder.domain.events import ReplyRecorded, RunOutcome
from tests.support.modest_model import (
    DOUBLE,
    TASK,
    ModestModel,
)

ROOT = Path(__file__).parents[2]


def test_the_samples_of_the_reference_page_run(tmp_path: Path) -> None:
    page = str(ROOT / "docs" / "reference" / "python.md")
    names: dict[str, Any] = {"model": ModestModel(), "store": tmp_path / "runs.db"}
    found = doctest.testfile(page, module_relative=False, globs=names)
    assert found.attempted > 5
    assert found.failed == 0


def test_solve_accepts_a_path_or_a_task_object(tmp_path: Path) -> None:
    from auditcoder.interfaces.task_sources import read_task_source

    path = tmp_path / "task.md"
    path.write_text(TASK)
    store = tmp_path / "runs.db"
    first = auditcoder.solve(path, model=ModestModel(), store=store)
    second = auditcoder.solve(read_task_source(path), model=ModestModel(), store=store)
    assert first.outcome is second.outcome is RunOutcome.PASSED
    assert first.program == second.program


def test_solve_passes_events_to_the_watcher(tmp_path: Path) -> None:
    seen: list[object] = []
    auditcoder.solve(
        DOUBLE,
        model=ModestModel(),
        store=tmp_path / "runs.db",
        watch=lambda _seq, event: seen.append(event),
    )
    assert any(isinstance(event, ReplyRecorded) for event in seen)


def test_the_public_names_are_fixed() -> None:
    assert sorted(auditcoder.__all__) == [
        "Options",
        "Solution",
        "TaskOptions",
        "__version__",
        "solve",
    ]
    with pytest.raises(AttributeError):
        auditcoder.nothing  # noqa: B018


def test_an_invalid_task_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(TaskInvalid):
        auditcoder.solve("  ", store=tmp_path / "runs.db")


def test_an_unknown_model_leaves_no_store_behind(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        auditcoder.solve("Add two numbers.", model="nobody:x", store=tmp_path / "runs.db")
    assert not (tmp_path / "runs.db").exists()
