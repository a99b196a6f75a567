"""Atomic files: a file appears completely or not at all."""

import os
from pathlib import Path

import pytest

from auditcoder.adapters.atomic_files import atomic_file
from auditcoder.domain.errors import StoreError


def write(path: Path, content: bytes) -> None:
    """Write a whole file."""
    with atomic_file(path) as file:
        file.write(content)


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with atomic_file(path) as file:
        file.write(b"content")
        assert not path.exists()
    assert path.read_bytes() == b"content"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), atomic_file(path) as file:
        file.writelines([b"new", None])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(StoreError) as refused:
        write(tmp_path / "one", b"new")
    assert refused.value.code == "file.unwritable"
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "file", b"")
        assert os.umask(0o027) == 0o027, "the umask is restored"
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_path_that_is_not_a_regular_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "missing" / "file"):
        with pytest.raises(StoreError) as refused:
            write(path, b"x")
        assert refused.value.code == "file.unwritable"
        assert str(path) in str(refused.value)
    assert pipe.is_fifo()


def test_a_full_disk_is_reported_as_full(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as refused, atomic_file(tmp_path / "file"):
        Path("/dev/full").write_bytes(b"x")
    assert refused.value.code == "file.full"
    assert list(tmp_path.iterdir()) == []
