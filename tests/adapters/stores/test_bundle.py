"""Bundles are untrusted input: each is read safely or refused with a clear error."""

import json
import struct
import time
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from auditcoder.adapters.stores import bundle as module
from auditcoder.adapters.stores.bundle import BundleFile, write_bundle
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.adapters.stores.zip_layout import Writer
from auditcoder.domain.chain import FORMAT
from auditcoder.domain.errors import BundleUnreadable, NotFound, RecordUnreadable, StoreError
from auditcoder.domain.values import Digest, digest
from auditcoder.domain.verification import Report
from auditcoder.lifecycle.export_import import copy_run, verify_run
from tests.support.bundles import EVENTS, deflated, pack, pack_streams, parts, stored
from tests.support.record_builders import RUN, S2, code, failing, started
from tests.support.records import take


@pytest.fixture
def path(tmp_path: Path, store: SqliteStore) -> Path:
    failing(store)
    write_bundle(store, RUN, tmp_path / "run.acb")
    return tmp_path / "run.acb"


def verification_report(path: Path) -> Report:
    with closing(BundleFile(path)) as bundle:
        return verify_run(bundle, bundle.manifest.run)


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def refusal_code(path: Path) -> str:
    with pytest.raises(BundleUnreadable) as refused:
        verification_report(path)
    assert str(path) in str(refused.value)
    return refused.value.code


def damage(path: Path) -> str:
    """Return the code of a refusal, or of the only finding of verification."""
    try:
        (finding,) = verification_report(path).findings
    except BundleUnreadable as error:
        return error.code
    return finding.code


def test_a_bundle_holds_the_run_unchanged(path: Path, store: SqliteStore) -> None:
    bundle = BundleFile(path)
    assert bundle.runs() == [RUN]
    assert take(bundle, RUN) == take(store, RUN)
    assert list(bundle.read(RUN, 3)) == list(store.read(RUN, 3))
    assert verify_run(bundle, RUN).holds
    bundle.close()


def test_the_same_run_makes_the_same_bundle(path: Path, store: SqliteStore) -> None:
    again = path.with_name("again.acb")
    write_bundle(store, RUN, again)
    assert again.read_bytes() == path.read_bytes()


def test_a_bundle_replaces_an_older_file_completely(path: Path, store: SqliteStore) -> None:
    path.write_bytes(b"an older file")
    write_bundle(store, RUN, path)
    assert verification_report(path).holds
    assert [p.name for p in path.parent.iterdir()] == ["run.acb"]


def test_a_bundle_that_cannot_be_written_leaves_no_file_behind(
    tmp_path: Path, store: SqliteStore
) -> None:
    failing(store)
    with pytest.raises(StoreError) as refused:
        write_bundle(store, RUN, tmp_path / "no" / "such" / "folder.acb")
    assert refused.value.advice
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(StoreError):
        write_bundle(store, RUN, folder)
    assert list(tmp_path.iterdir()) == [folder]


def test_a_run_that_does_not_exist_is_not_bundled(tmp_path: Path, store: SqliteStore) -> None:
    with pytest.raises(NotFound):
        write_bundle(store, RUN, tmp_path / "run.acb")


def test_a_run_that_grows_during_the_export_is_bundled_consistently(
    tmp_path: Path, store: SqliteStore
) -> None:
    recorder = started(store)
    whole = store.read

    def read(run: object, start: int = 0) -> object:
        recorder.write_code(S2, code("S2", f"return {recorder.head.entries}"))
        return whole(RUN, start)

    store.read = read  # type: ignore[method-assign, assignment]
    write_bundle(store, RUN, tmp_path / "run.acb")
    assert verification_report(tmp_path / "run.acb").holds


class TestNotABundle:
    def test_a_missing_file_is_not_found(self, tmp_path: Path) -> None:
        with pytest.raises(NotFound):
            BundleFile(tmp_path / "missing.acb")

    @pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", bytes(range(256)) * 100])
    def test_a_file_of_another_kind_is_refused(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "file"
        path.write_bytes(content)
        assert refusal_code(path) == "bundle.not-a-bundle"

    def test_a_folder_is_refused(self, tmp_path: Path) -> None:
        assert refusal_code(tmp_path) == "bundle.unreadable"

    def test_another_zip_file_is_refused(self, tmp_path: Path) -> None:
        assert refusal_code(pack(tmp_path / "a.zip", {})) == "bundle.not-a-bundle"
        other = pack(tmp_path / "b.zip", {"readme.txt": b"hello"})
        assert refusal_code(other) == "bundle.foreign-entry"

    @pytest.mark.parametrize("manifest", [b"", b"[]", b"{}", b'{"bundle": "x"}', b"\xff\xfe", b"{"])
    def test_an_invalid_manifest_is_refused(self, path: Path, manifest: bytes) -> None:
        pack(path, parts(path) | {"manifest.json": manifest})
        assert refusal_code(path) == "bundle.not-a-bundle"


class TestDamaged:
    def test_a_bundle_truncated_anywhere_is_refused(self, path: Path) -> None:
        whole = path.read_bytes()
        for length in range(0, len(whole), max(1, len(whole) // 60)):
            path.write_bytes(whole[:length])
            assert refusal_code(path) == "bundle.not-a-bundle"

    def test_a_changed_byte_is_detected_or_harmless(self, path: Path) -> None:
        """A changed byte within a compressed part can leave its content as it was."""
        whole = path.read_bytes()
        with closing(BundleFile(path)) as bundle:
            original = take(bundle, RUN)
        for at in range(len(whole)):
            altered = bytearray(whole)
            altered[at] ^= 1 << at % 8
            path.write_bytes(altered)
            # Damage is either reported by an error that says so, or found by verification.
            with suppress(BundleUnreadable, NotFound):
                if verification_report(path).holds:
                    with closing(BundleFile(path)) as bundle:
                        assert take(bundle, RUN) == original

    def test_an_entry_without_a_line_end_is_refused(self, path: Path) -> None:
        content = parts(path)
        content["events.jsonl"] = content["events.jsonl"].rstrip(b"\n")
        assert refusal_code(pack(path, content)) == "bundle.damaged"

    def test_a_long_entry_is_read_in_time_proportional_to_its_length(self, path: Path) -> None:
        content = parts(path)
        line = b"".join(b"%08d" % number + b"a" * 900 for number in range(32_000)) + b"\n"
        pack(path, content | {EVENTS: content[EVENTS].split(b"\n")[0] + b"\n" + line})
        before = time.process_time()
        with closing(BundleFile(path)) as bundle:
            assert len(list(bundle.read(RUN))[1]) == len(line) - 1
        assert time.process_time() - before < 3

    def test_an_entry_beyond_the_size_limit_is_refused(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        content = parts(path)
        longest = max(map(len, content[EVENTS].split(b"\n")))
        monkeypatch.setattr(module, "MOST_BLOB_BYTES", longest)
        assert verification_report(path).holds
        monkeypatch.setattr(module, "MOST_BLOB_BYTES", longest - 1)
        assert refusal_code(path) == "bundle.damaged"

    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_entries_are_the_lines_wherever_a_chunk_ends(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, size: int
    ) -> None:
        monkeypatch.setattr(module, "_CHUNK", size)
        lines = b"\n\n{}\n\nfour\nfifth1\n\n"
        with closing(BundleFile(pack(path, parts(path) | {EVENTS: lines}))) as bundle:
            assert list(bundle.read(RUN)) == lines.split(b"\n")[:-1]

    def test_a_missing_blob_is_found_by_verification(self, path: Path) -> None:
        content = parts(path)
        del content[next(name for name in content if name.startswith("blobs/"))]
        report = verification_report(pack(path, content))
        assert "blob.missing" in {f.code for f in report.findings}

    def test_entries_that_are_not_json_are_found_by_verification(self, path: Path) -> None:
        content = parts(path)
        lines = content["events.jsonl"].splitlines(keepends=True)
        lines[3] = b"\xff not json\n"
        report = verification_report(pack(path, content | {"events.jsonl": b"".join(lines)}))
        assert "chain.unreadable" in {f.code for f in report.findings}


class TestUnsafe:
    @pytest.mark.parametrize(
        "name",
        [
            "../../etc/cron.d/evil",
            "/etc/passwd",
            "blobs/../../evil",
            "blobs/" + "A" * 64,
            "blobs/" + "0" * 63,
            "blobs/",
            "C:\\evil",
            "events.jsonl/x",
            "notes.txt",
        ],
    )
    def test_an_unexpected_member_name_is_refused(self, path: Path, name: str) -> None:
        before = sorted(p for p in path.parent.rglob("*"))
        pack(path, parts(path) | {name: b"evil"})
        assert refusal_code(path) == "bundle.foreign-entry"
        assert sorted(p for p in path.parent.rglob("*")) == before

    def test_a_duplicate_member_name_is_refused(self, path: Path) -> None:
        with (
            pytest.warns(UserWarning, match="Duplicate name"),
            zipfile.ZipFile(path, "a") as zipped,
        ):
            zipped.writestr("events.jsonl", b"{}\n")
        assert refusal_code(path) == "bundle.foreign-entry"

    @pytest.mark.parametrize("where", ["before", "after", "in the comment"])
    def test_data_around_the_archive_is_refused(self, path: Path, where: str) -> None:
        other = path.with_name("other.acb")
        if where == "in the comment":
            other.write_bytes(path.read_bytes())
            with zipfile.ZipFile(other, "a") as zipped:
                zipped.comment = b"another record"
        else:
            extra = b"<html>another record</html>\n"
            before, after = (extra, b"") if where == "before" else (b"", extra)
            other.write_bytes(before + path.read_bytes() + after)
        assert refusal_code(other) == "bundle.surrounded"

    def test_a_zip_bomb_is_refused(self, path: Path) -> None:
        bomb = bytes(300 << 20)
        pack(path, parts(path) | {"events.jsonl": bomb})
        assert path.stat().st_size < 1 << 20
        assert refusal_code(path) == "bundle.bomb"

    def test_a_zip_bomb_in_a_blob_is_refused(self, path: Path) -> None:
        pack(path, parts(path) | {"blobs/" + "0" * 64: bytes(30 << 20)})
        assert refusal_code(path) == "bundle.bomb"

    def test_many_small_blobs_beyond_the_total_limit_are_refused(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MOST_BYTES", 1 << 20)
        noise = {f"blobs/{n:064x}": bytes(1000) for n in range(1200)}
        pack(path, parts(path) | noise)
        assert refusal_code(path) == "bundle.bomb"

    def test_a_member_with_a_false_size_inflates_no_further_than_declared(self, path: Path) -> None:
        content = parts(path)
        blob = next(name for name in content if name.startswith("blobs/"))
        pack_streams(path, content | {blob: bytes(1 << 20)}, sizes={blob: 4096})
        with closing(BundleFile(path)) as bundle, pytest.raises(BundleUnreadable) as refused:
            bundle.blob(Digest(blob.removeprefix("blobs/")))
        assert refused.value.code == "bundle.damaged"

    def test_an_encrypted_member_is_refused(self, path: Path) -> None:
        whole = bytearray(path.read_bytes())
        for at in _positions(whole, b"PK\x03\x04"):
            whole[at + 6] |= 1
        for at in _positions(whole, b"PK\x01\x02"):
            whole[at + 8] |= 1
        path.write_bytes(whole)
        assert refusal_code(path) == "bundle.surrounded"

    def test_a_blob_that_no_event_names_is_refused(self, path: Path) -> None:
        payload = b"travels with the run"
        pack(path, parts(path) | {f"blobs/{digest(payload)}": payload})
        assert refusal_code(path) == "bundle.foreign-entry"

    def test_a_blob_under_another_name_is_not_read(self, path: Path) -> None:
        name = next(name for name in parts(path) if name.startswith("blobs/"))
        pack(path, parts(path) | {name: b"altered"})
        with closing(BundleFile(path)) as bundle, pytest.raises(RecordUnreadable) as refused:
            bundle.blob(Digest(name.removeprefix("blobs/")))
        assert refused.value.code == "blob.mismatch"

    def test_data_between_the_parts_is_refused(self, path: Path) -> None:
        """The part is in the file, but no longer in its table of contents."""
        content = parts(path)
        pack(path, {"blobs/" + "0" * 64: b"hidden"} | content)
        with zipfile.ZipFile(path) as zipped:
            start = zipped.start_dir
            first = zipped.infolist()[0]
        whole = path.read_bytes()
        entry = 46 + len(first.filename)
        table = whole[start + entry :]
        size = len(table) - 22
        end = bytearray(table[-22:])
        end[8:12] = struct.pack("<HH", len(content), len(content))
        end[12:20] = struct.pack("<II", size, start)
        path.write_bytes(whole[:start] + table[:-22] + end)
        with zipfile.ZipFile(path) as zipped:
            assert zipped.namelist() == list(content), "other readers accept the file"
        assert refusal_code(path) == "bundle.surrounded"


class TestOneReading:
    """No two programs may read different parts, or different content, from one bundle."""

    def test_every_byte_around_the_compressed_parts_is_checked(
        self, tmp_path: Path, store: SqliteStore
    ) -> None:
        started(store).write_code(S2, code("S2", "return 1"))
        path = tmp_path / "run.acb"
        write_bundle(store, RUN, path)
        whole = path.read_bytes()
        with zipfile.ZipFile(path) as zipped:
            infos, behind = zipped.infolist(), zipped.start_dir
        starts = [info.header_offset for info in infos[1:]] + [behind]
        around = set(range(behind, len(whole)))
        for info, start in zip(infos, starts, strict=True):
            around |= set(range(info.header_offset, start - info.compress_size))
        assert len(around) > 22 + len(infos) * (30 + 46)
        for at in around:
            altered = bytearray(whole)
            altered[at] ^= 1 << at % 8
            path.write_bytes(altered)
            with pytest.raises(BundleUnreadable):
                BundleFile(path)

    @pytest.mark.parametrize("name", ["manifest.json", EVENTS, "blobs/"])
    @pytest.mark.parametrize("form", [deflated, stored])
    def test_bytes_behind_a_compressed_stream_are_refused(
        self, path: Path, name: str, form: Callable[[bytes], bytes]
    ) -> None:
        content = parts(path)
        name = next(part for part in content if part.startswith(name))
        stream = form(content[name][:60_000])
        content[name] = content[name][:60_000]
        hidden = {name: stream + pack(path, content).read_bytes()}
        assert damage(pack_streams(path, content, hidden)) == "bundle.damaged"

    @pytest.mark.parametrize("change", [-1, 1, 100_000])
    @pytest.mark.parametrize("name", ["manifest.json", EVENTS, "blobs/"])
    def test_a_part_of_another_size_than_stated_is_refused(
        self, path: Path, name: str, change: int
    ) -> None:
        content = parts(path)
        name = next(part for part in content if part.startswith(name))
        size = {name: max(0, len(content[name]) + change)}
        assert damage(pack_streams(path, content, sizes=size)) == "bundle.damaged"

    def test_a_stream_that_does_not_end_is_refused(self, path: Path) -> None:
        content = parts(path)
        cut = deflated(content[EVENTS])[:-1]
        assert refusal_code(pack_streams(path, content, {EVENTS: cut})) == "bundle.damaged"

    def test_another_compression_of_the_same_content_is_read(self, path: Path) -> None:
        """Versions of zlib compress differently."""
        content = parts(path)
        name = next(part for part in content if part.startswith("blobs/"))
        assert verification_report(pack_streams(path, content, {name: stored(content[name])})).holds

    @pytest.mark.parametrize(
        "alter",
        [
            lambda raw: raw + b" ",
            lambda raw: raw.replace(b",", b", ", 1),
            lambda raw: raw.replace(b'"run":', b'"run":"other","run":', 1),
            lambda raw: b'{"head":"' + json.loads(raw)["head"].encode() + b'",' + raw[1:],
            lambda raw: raw.replace(b"a", b"\\u0061", 1),
        ],
        ids=["whitespace", "inner whitespace", "duplicate key", "key order", "escape"],
    )
    def test_a_manifest_has_one_encoding(self, path: Path, alter: Callable[[bytes], bytes]) -> None:
        content = parts(path)
        altered = alter(content["manifest.json"])
        assert altered != content["manifest.json"]
        refused = refusal_code(pack(path, content | {"manifest.json": altered}))
        assert refused == "bundle.not-a-bundle"

    def test_a_name_with_a_suffix_behind_a_nul_is_refused(self, path: Path) -> None:
        """`zipfile` leaves the suffix out; other programs do not."""
        content = parts(path)
        content[EVENTS + "\0.exe"] = content.pop(EVENTS)
        with pytest.raises(BundleUnreadable):
            BundleFile(pack_streams(path, content))

    def test_the_parts_have_one_order(self, path: Path) -> None:
        content = list(parts(path).items())
        for order, refused in (
            ([content[1], content[0], *content[2:]], "bundle.surrounded"),
            ([*content[:2], *content[:1:-1]], "bundle.foreign-entry"),
        ):
            assert refusal_code(pack(path, dict(order))) == refused

    def test_an_end_record_with_64_bits_that_is_not_needed_is_refused(self, path: Path) -> None:
        whole = path.read_bytes()
        with zipfile.ZipFile(path) as zipped:
            count, start = len(zipped.infolist()), zipped.start_dir
        at = len(whole) - 22
        large = struct.pack(
            "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, *[count] * 2, at - start, start
        )
        large += struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
        path.write_bytes(whole[:at] + large + whole[at:])
        with zipfile.ZipFile(path) as zipped:
            assert len(zipped.infolist()) == count, "other readers accept the file"
        assert refusal_code(path) == "bundle.surrounded"

    @pytest.mark.parametrize("writer", [(0, 45), (3, 20), (0, 20)])
    def test_a_bundle_written_on_another_system_or_python_is_read(
        self, path: Path, writer: tuple[int, int]
    ) -> None:
        pack_streams(path, parts(path), writer=Writer(*writer))
        assert verification_report(path).holds

    @pytest.mark.parametrize("writer", [(1, 45), (3, 46)])
    def test_a_bundle_of_an_unknown_writer_is_refused(
        self, path: Path, writer: tuple[int, int]
    ) -> None:
        pack_streams(path, parts(path), writer=Writer(*writer))
        assert refusal_code(path) == "bundle.surrounded"


class TestFalseClaims:
    @pytest.mark.parametrize(
        ("field", "value", "finding"),
        [
            ("entries", 3, "head.mismatch"),
            ("head", "0" * 64, "head.mismatch"),
            ("run", "somebody-elses", "head.run"),
        ],
    )
    def test_a_false_manifest_is_found_by_verification(
        self, path: Path, field: str, value: object, finding: str
    ) -> None:
        content = parts(path)
        manifest = json.loads(content["manifest.json"]) | {field: value}
        pack(path, content | {"manifest.json": compact(manifest)})
        assert finding in {f.code for f in verification_report(path).findings}

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *(("entries", number) for number in (-1, 0, 1 << 63, 10**30)),
            *(("head", text) for text in ("", "0" * 63, "A" * 64, "0" * 64 + "\n", "\u0660" * 64)),
        ],
    )
    def test_an_impossible_number_of_entries_or_digest_is_refused(
        self, path: Path, field: str, value: object
    ) -> None:
        content = parts(path)
        manifest = json.loads(content["manifest.json"]) | {field: value}
        pack(path, content | {"manifest.json": compact(manifest)})
        assert refusal_code(path) == "bundle.not-a-bundle"

    def test_another_bundle_version_is_refused_with_its_number(self, path: Path) -> None:
        content = parts(path)
        manifest = json.loads(content["manifest.json"]) | {"bundle": 9, "new": "field"}
        pack(path, content | {"manifest.json": compact(manifest)})
        with pytest.raises(BundleUnreadable, match="version 9") as refused:
            BundleFile(path)
        assert refused.value.code == "bundle.version"

    def test_a_newer_record_format_is_refused_with_its_number(self, path: Path) -> None:
        content = parts(path)
        current = f'"format":{FORMAT}'.encode()
        newer = content["events.jsonl"].replace(current, b'"format":99', 1)
        pack(path, content | {"events.jsonl": newer})
        with pytest.raises(RecordUnreadable, match="format 99") as refused:
            verification_report(path)
        assert refused.value.code == "record.newer-format"

    def test_a_bundle_that_does_not_verify_is_not_imported(
        self, path: Path, tmp_path: Path
    ) -> None:
        content = parts(path)
        name = next(name for name in content if name.startswith("blobs/"))
        pack(path, content | {name: b"altered"})
        target = SqliteStore(tmp_path / "target.db")
        with closing(BundleFile(path)) as bundle, pytest.raises(RecordUnreadable) as refused:
            copy_run(bundle, RUN, target)
        assert refused.value.code == "record.unverified"
        assert target.runs() == []
        target.close()


def _positions(whole: bytearray, mark: bytes) -> list[int]:
    found, at = [], whole.find(mark)
    while at >= 0:
        found.append(at)
        at = whole.find(mark, at + 1)
    return found
