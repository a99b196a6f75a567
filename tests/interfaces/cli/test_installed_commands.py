"""Commands of other packages are found as `importlib.metadata` finds them, but faster."""

import subprocess
import sys
import zipfile
from importlib.metadata import DistributionFinder, PathDistribution, entry_points
from pathlib import Path

import pytest

from auditcoder.interfaces.cli.installed_commands import GROUP, installed_commands

DECLARED = f"[console_scripts]\nother = a:b\n\n[{GROUP}]\n# a comment = here\nadded=pack.module \n"


@pytest.fixture(params=["{}-1.0.dist-info", "{}-1.0.egg-info", "{}.egg-info", "{}.egg/EGG-INFO"])
def layout(request: pytest.FixtureRequest) -> str:
    """Where the metadata of a package is, relative to the folder of installed packages."""
    return str(request.param)


def _install(site: Path, layout: str, name: str, declared: str = DECLARED) -> None:
    metadata = site / layout.format(name)
    metadata.mkdir(parents=True)
    (metadata / "PKG-INFO").write_text(f"Name: {name}\nVersion: 1.0\n")
    (metadata / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(declared)


def _of_importlib() -> dict[str, str]:
    return {entry.name: entry.value for entry in entry_points(group=GROUP)}


def _prepend(monkeypatch: pytest.MonkeyPatch, *sites: Path) -> None:
    monkeypatch.setattr(sys, "path", [*map(str, sites), *sys.path])


def test_the_commands_of_this_environment_are_those_of_importlib_metadata() -> None:
    assert installed_commands() == _of_importlib()
    assert "bench" in installed_commands()


def test_every_layout_of_metadata_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    _install(tmp_path, layout, "package")
    eggs = tmp_path.glob("*.egg")
    _prepend(monkeypatch, tmp_path, *eggs)
    assert installed_commands()["added"] == "pack.module"
    assert installed_commands() == _of_importlib()


def test_the_first_package_of_a_name_hides_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path / "new", "{}-2.0.dist-info", "some_package", f"[{GROUP}]\nnew = new.module\n")
    _install(tmp_path / "old", "{}-1.0.dist-info", "Some.Package", f"[{GROUP}]\nold = old.module\n")
    _prepend(monkeypatch, tmp_path / "new", tmp_path / "old")
    assert "new" in installed_commands()
    assert "old" not in installed_commands()
    assert installed_commands() == _of_importlib()


def test_unreadable_metadata_hides_no_other_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, "{}-1.0.dist-info", "package")
    (tmp_path / "broken-1.0.dist-info").mkdir()
    (tmp_path / "broken-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe = [x\n")
    (tmp_path / "file-1.0.egg-info").write_text("Name: file\n")
    (tmp_path / "folder-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)
    _prepend(monkeypatch, tmp_path / "missing", tmp_path)
    assert installed_commands()["added"] == "pack.module"


def test_packages_in_a_zip_file_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "packages.pyz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("package-1.0.dist-info/METADATA", "Name: package\nVersion: 1.0\n")
        file.writestr("package-1.0.dist-info/entry_points.txt", DECLARED)
    _prepend(monkeypatch, path)
    assert installed_commands()["added"] == "pack.module"


def test_packages_that_a_hook_provides_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, "{}-1.0.dist-info", "package")

    class Hook(DistributionFinder):
        def find_distributions(
            self, context: DistributionFinder.Context | None = None
        ) -> list[PathDistribution]:
            return [PathDistribution(tmp_path / "package-1.0.dist-info")]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Hook()])
    assert installed_commands()["added"] == "pack.module"


def test_a_command_in_a_zip_file_runs(tmp_path: Path) -> None:
    path = tmp_path / "packages.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("pack-1.0.dist-info/METADATA", "Name: pack\nVersion: 1.0\n")
        file.writestr("pack-1.0.dist-info/entry_points.txt", DECLARED)
        file.writestr("pack/__init__.py", "SUMMARIES = {'added': 'greet the reader'}\n")
        file.writestr("pack/module.py", MODULE)
    for words, shown in (["--help"], "greet the reader"), (["added"], "hello\n"):
        done = subprocess.run(
            [sys.executable, "-m", "auditcoder", *words],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": str(path)},
        )
        assert shown in done.stdout


MODULE = """
from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.command import Command
from auditcoder.interfaces.cli.terminal import say


class Nothing(Value):
    pass


def run(_arguments):
    say("hello")
    return 0


COMMAND = Command(Nothing, lambda _parser: None, run)
"""
