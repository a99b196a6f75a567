"""The Python interface: `auditcoder.solve`."""

import doctest
from pathlib import Path
from typing import Any

import pytest

import auditcoder
from auditcoder.domain.errors import ModelError, TaskInvalid
from auditcoder.domain.events import ReplyRecorded, RunOutcome
from tests.support.fault_server import Handler, completion, serving
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


def test_the_sample_of_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def answer(handler: Handler) -> None:
        prompt = handler.server.asked[-1]["messages"][-1]["content"]
        body = "..." if "# Your step: the sketch" in prompt else "return text == text[::-1]"
        handler.say(completion(f"```python\ndef palindrome(text: str) -> bool:\n    {body}\n```"))

    page = (ROOT / "README.md").read_text(encoding="utf-8")
    sample = page.partition("```python\n")[2].partition("```")[0]
    with serving(*[answer] * 9) as running:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running.address)
        monkeypatch.setenv("AUDITCODER_MODEL", "server:modest")
        monkeypatch.setenv("AUDITCODER_STORE", str(tmp_path / "runs.db"))
        exec(compile(sample, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "def palindrome(text: str) -> bool:" in printed
    assert printed.splitlines()[-1] == "['S0', 'S1']"


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
