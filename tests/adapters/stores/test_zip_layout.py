"""The layout is the one of Python's own writer, for small and large files."""

import zipfile
from pathlib import Path

import pytest

from auditcoder.adapters.stores import zip_layout as module
from auditcoder.adapters.stores.zip_layout import Part, Writer, directory, header
from tests.support.bundles import pack


def layout_of(path: Path) -> bytes:
    """Return the file that the layout describes, with the compressed parts of the file itself."""
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as zipped:
        infos = zipped.infolist()
    writer = Writer(system=3, streamed_version=45)
    described, written = b"", []
    for info in infos:
        streamed = info.filename == "events.jsonl"
        part = Part(info.filename, info.CRC, info.compress_size, info.file_size, streamed)
        described += header(part, writer)
        described += whole[len(described) :][: info.compress_size]
        written.append(part)
    return described + directory(written, writer)


@pytest.mark.parametrize("events", [b"", b"{}\n" * 5000])
def test_the_layout_is_that_of_pythons_writer(tmp_path: Path, events: bytes) -> None:
    content = {"manifest.json": b"{}", "events.jsonl": events, "blobs/1": b"one", "blobs/2": b""}
    path = pack(tmp_path / "run.acb", content)
    assert layout_of(path) == path.read_bytes()


@pytest.mark.parametrize("limit", [10, 40, 200, 300, 1000])
def test_the_layout_of_a_large_file_is_that_of_pythons_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """A lower limit stands for the 2 GiB above which numbers have 64 bits."""
    monkeypatch.setattr(module, "LARGE", limit)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    content = {"events.jsonl": bytes(range(256)) * 3, "blobs/1": b"", "blobs/2": b""}
    path = pack(tmp_path / "run.acb", content)
    assert layout_of(path) == path.read_bytes()


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_layout_of_many_parts_is_that_of_pythons_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """A lower limit stands for the 65,535 parts above which their number has 64 bits."""
    monkeypatch.setattr(module, "MANY", limit)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", limit)
    path = pack(tmp_path / "run.acb", {"events.jsonl": b"{}\n", "blobs/1": b"1", "blobs/2": b"2"})
    assert layout_of(path) == path.read_bytes()
