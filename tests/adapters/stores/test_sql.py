"""Behaviour that both SQL stores share, beyond that of the conformance suite."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from auditcoder.adapters.stores.bundle import write_bundle
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import NotFound, StoreForeign
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.values import Digest, RunId, digest
from tests.support.record_builders import RUN, failing, replayed
from tests.support.records import take


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def stored(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    failing(opened)
    yield opened
    opened.close()


def test_pages_are_read_one_after_another(stored: SqliteStore) -> None:
    assert list(stored.read(RUN)) == take(stored, RUN).bodies


@pytest.mark.parametrize(
    ("rows", "use"),
    [
        ([(0, "text")], lambda store: list(store.read(RUN))),
        ([("0", b"body")], lambda store: list(store.read(RUN))),
        ([(-1, b"body")], lambda store: list(store.read(RUN))),
        ([(7,)], lambda store: store.blob(digest(b"x"))),
        ([(7,)], lambda store: store.runs()),
        ([("many", b"x")], lambda store: store.head(RUN)),
        *(([(n, bytes(32))], lambda store: store.head(RUN)) for n in (-(1 << 63), -1, 0, 1 << 63)),
        *(([(1, bytes(n))], lambda store: store.head(RUN)) for n in (0, 31, 33)),
        ([((1 << 63) - 1, b"body")], lambda store: list(store.read(RUN))),
    ],
    ids=[
        *("text body", "text number", "number repeated", "blob", "run", "text entries"),
        *("lowest entries", "negative entries", "no entries", "too many entries"),
        *("no digest", "short digest", "long digest", "highest number"),
    ],
)
def test_an_invalid_value_means_a_damaged_store(
    rows: list[tuple[object, ...]],
    use: Callable[[SqliteStore], object],
    stored: SqliteStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored, "fetch", lambda _query, _parameters: rows)
    with pytest.raises(StoreForeign) as damaged:
        use(stored)
    assert damaged.value.code == "store.damaged"


def test_a_blob_with_an_invalid_digest_is_not_found(stored: SqliteStore) -> None:
    with pytest.raises(NotFound):
        stored.blob(Digest("no digest"))


class TestReplays:
    @pytest.mark.parametrize(
        "change", ["at = 'x'", "head = 'x'", "body = 'x'", "body = '{}'", "run = 'x'"]
    )
    def test_a_replay_under_a_wrong_key_means_a_damaged_store(
        self, stored: SqliteStore, change: str
    ) -> None:
        stored.keep_replay(replayed(stored))
        stored._db.execute(f"UPDATE replays SET {change}")
        with pytest.raises(StoreForeign) as damaged:
            stored.replays(RUN if "run" not in change else RunId("x"))
        assert damaged.value.code == "store.damaged"

    def test_a_replay_is_not_part_of_the_record_or_its_bundle(
        self, stored: SqliteStore, tmp_path: Path
    ) -> None:
        before = take(stored, RUN)
        write_bundle(stored, RUN, tmp_path / "before.acb")
        stored.keep_replay(replayed(stored))
        assert take(stored, RUN) == before
        write_bundle(stored, RUN, tmp_path / "after.acb")
        assert (tmp_path / "after.acb").read_bytes() == (tmp_path / "before.acb").read_bytes()


class TestJudgements:
    def judgement(self, head: bytes = b"head") -> Judgement:
        return Judgement(run=RUN, suite="toys", head=digest(head), results={})

    def test_a_run_has_no_judgements_at_first(self, stored: SqliteStore) -> None:
        assert stored.judgements(RUN) == []

    def test_one_judgement_is_kept_for_each_suite_and_head(self, stored: SqliteStore) -> None:
        for head in (b"head", b"head", b"another"):
            stored.keep_judgement(self.judgement(head))
        assert len(stored.judgements(RUN)) == 2

    @pytest.mark.parametrize(
        "change", ["suite = 'x'", "head = 'x'", "body = 'x'", "body = '{}'", "run = 'x'"]
    )
    def test_a_judgement_under_a_wrong_key_means_a_damaged_store(
        self, stored: SqliteStore, change: str
    ) -> None:
        stored.keep_judgement(self.judgement())
        stored._db.execute(f"UPDATE judgements SET {change}")
        with pytest.raises(StoreForeign) as damaged:
            stored.judgements(RUN if "run" not in change else RunId("x"))
        assert damaged.value.code == "store.damaged"

    def test_a_judgement_is_not_part_of_the_record(self, stored: SqliteStore) -> None:
        before = take(stored, RUN)
        stored.keep_judgement(self.judgement())
        assert take(stored, RUN) == before
