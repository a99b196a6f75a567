"""Files of JSON lines: what is read, what is refused, and how interrupted work continues."""

import gzip
import json
from pathlib import Path

import pytest

from auditcoder.domain.errors import NotFound, RecordUnreadable, StoreError
from auditcoder.domain.values import Value
from auditcoder_bench.faultbench.line_file import ResumableLineFile, read_lines, write_lines


class Measured(Value):
    """A line of the test files."""

    id: str
    value: int = 0


A, B, C = Measured(id="a"), Measured(id="b"), Measured(id="c")


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


class TestReading:
    @pytest.mark.parametrize("name", ["lines.jsonl", "lines.jsonl.gz"])
    def test_a_file_is_read_compressed_or_not(self, tmp_path: Path, name: str) -> None:
        text = b'{"id":"a"}\n{"id":"b"}\n'
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        assert read_lines(tmp_path / name, Measured) == [A, B]

    def test_the_number_of_an_invalid_line_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(RecordUnreadable, match="line 2"):
            read_lines(write(tmp_path / "lines", {"id": "a"}, {"id": 5}), Measured)

    def test_a_missing_file_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(NotFound) as caught:
            read_lines(tmp_path / "nothing", Measured)
        assert caught.value.code == "faults.missing"

    def test_a_damaged_compressed_file_is_reported(self, tmp_path: Path) -> None:
        path = tmp_path / "lines.jsonl.gz"
        damaged = bytearray(gzip.compress(b"a line of some length\n" * 9))
        damaged[12:20] = b"\xff" * 8
        for content in (b"plain", bytes(damaged), gzip.compress(b"a line\n")[:-9]):
            path.write_bytes(content)
            with pytest.raises(RecordUnreadable):
                read_lines(path, Measured)

    def test_a_partial_last_line_is_ignored_only_on_request(self, tmp_path: Path) -> None:
        path = write(tmp_path / "lines", {"id": "a"})
        with path.open("ab") as file:
            file.write(b'{"id": "b')
        assert read_lines(path, Measured, allow_partial=True) == [A]
        with pytest.raises(RecordUnreadable):
            read_lines(path, Measured)


class TestResuming:
    def test_lines_are_on_disk_as_soon_as_they_are_appended(self, tmp_path: Path) -> None:
        path = tmp_path / "lines"
        with ResumableLineFile(path, Measured) as file:
            file.append(A)
            assert read_lines(path, Measured) == [A]

    def test_a_partial_last_line_is_dropped_and_the_others_are_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "lines"
        write_lines(path, [A, B])
        path.write_bytes(path.read_bytes()[:-4])
        with ResumableLineFile(path, Measured) as file:
            assert list(file.lines) == ["a"]
            file.append(C)
        assert read_lines(path, Measured) == [A, C]

    def test_a_later_line_replaces_an_earlier_one_with_the_same_id(self, tmp_path: Path) -> None:
        path, newer = tmp_path / "lines", Measured(id="a", value=2)
        with ResumableLineFile(path, Measured) as file:
            file.append(A)
            file.append(newer)
        with ResumableLineFile(path, Measured) as file:
            assert file.lines == {"a": newer}
        assert read_lines(path, Measured) == [newer]

    @pytest.mark.parametrize(("keep_others", "left"), [(True, [C, A, B]), (False, [C, A])])
    def test_lines_are_sorted_by_a_list_of_ids(
        self, tmp_path: Path, keep_others: bool, left: list[Measured]
    ) -> None:
        path = tmp_path / "lines"
        with ResumableLineFile(path, Measured) as file:
            for line in (A, B, C):
                file.append(line)
            assert file.sort(["c", "x", "a"], keep_others=keep_others) == [C, A]
        assert read_lines(path, Measured) == left

    def test_an_unrelated_file_is_not_overwritten(self, tmp_path: Path) -> None:
        path = tmp_path / "lines"
        path.write_text("my diary\n")
        with pytest.raises(RecordUnreadable):
            ResumableLineFile(path, Measured)
        assert path.read_text() == "my diary\n"

    def test_a_compressed_file_cannot_be_appended_to(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError) as caught:
            ResumableLineFile(tmp_path / "lines.gz", Measured)
        assert caught.value.code == "file.unwritable"

    def test_a_missing_folder_is_reported_before_any_work(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError), ResumableLineFile(tmp_path / "no" / "lines", Measured):
            pass
