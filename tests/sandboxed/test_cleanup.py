"""Files that a candidate left are removed."""

import os
import subprocess
import sys
from pathlib import Path

from auditcoder.sandboxed.cleanup import remove


def test_a_folder_is_removed_with_its_contents(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "file").write_text("x")
    remove(str(top))
    assert not top.exists()


def test_read_only_folders_are_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "big").write_text("x")
    for folder in (top / "a" / "b", top / "a", top):
        folder.chmod(0)
    code = f"from auditcoder.sandboxed.cleanup import remove; remove({str(top)!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not top.exists()


def test_folders_named_like_those_that_are_moved_do_not_stop_it(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for number in range(1, 40):
        folder = top / f".lifted-{number}-{os.getpid()}"
        folder.mkdir(parents=True)
        (folder / "x").write_text("x")
    remove(str(top))
    assert not top.exists()


def test_a_path_longer_than_the_system_allows_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    place = os.open(top, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=place)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    remove(str(top))
    assert not top.exists()


def test_a_link_is_removed_and_its_target_kept(tmp_path: Path) -> None:
    target, top = tmp_path / "target", tmp_path / "top"
    target.mkdir()
    (target / "mine").write_text("x")
    top.mkdir()
    (top / "link").symlink_to(target)
    remove(str(top))
    assert not top.exists()
    assert (target / "mine").read_text() == "x"


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine").write_text("x")
    (tmp_path / "top").symlink_to(target)
    remove(str(tmp_path / "top"))
    assert (target / "mine").exists()
