"""Methods of installed packages are found by entry points, and loaded only when needed."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import NotFound
from auditcoder.domain.events import Manifest
from auditcoder.interfaces.installed_methods import GROUP, methods_for
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.runs import AUDITCODER, BUILT_IN, method_of
from tests.support.record_builders import RUN, TASK, ticking

MODULE = "package_with_a_method"
SOURCE = """
from auditcoder.lifecycle.runs import AUDITCODER

METHODS = {"added": AUDITCODER._replace(name="added")}
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that provides the method `added`."""
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    about = tmp_path / f"{MODULE}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\nadded = {MODULE}:METHODS\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop(MODULE, None)


def _run_made_by(store: SqliteStore, method: str) -> Manifest:
    manifest = Manifest(method=method)
    Recorder.start(store, RUN, TASK, ticking(), manifest)
    return manifest


@pytest.mark.usefixtures("package")
def test_a_run_of_a_built_in_method_loads_no_package(store: SqliteStore) -> None:
    _run_made_by(store, AUDITCODER.name)
    assert methods_for(store, RUN) == BUILT_IN
    assert MODULE not in sys.modules


@pytest.mark.usefixtures("package")
def test_a_run_of_another_method_finds_it_in_an_installed_package(store: SqliteStore) -> None:
    manifest = _run_made_by(store, "added")
    methods = methods_for(store, RUN)
    assert method_of(manifest, methods).name == "added"
    assert methods.keys() >= BUILT_IN.keys()


@pytest.mark.usefixtures("package")
def test_a_method_that_no_package_provides_is_reported(store: SqliteStore) -> None:
    manifest = _run_made_by(store, "missing")
    with pytest.raises(NotFound) as refused:
        method_of(manifest, methods_for(store, RUN))
    assert refused.value.code == "method.unknown"
    assert "'missing'" in str(refused.value)


def test_the_built_in_methods_are_not_changed_by_installed_ones(
    store: SqliteStore, package: None
) -> None:
    del package
    before = dict(BUILT_IN)
    _run_made_by(store, "added")
    assert "added" in methods_for(store, RUN)
    assert before == BUILT_IN
