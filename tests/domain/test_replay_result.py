"""The result of a replay is bound to the run and the head that was replayed."""

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.replay_result import ReplayResult
from auditcoder.domain.values import encode
from tests.support.record_builders import failing, replayed


def test_a_result_is_read_back_whole(store: SqliteStore) -> None:
    failing(store)
    result = replayed(store, same=False)
    assert msgspec.json.decode(encode(result), type=ReplayResult) == result


@pytest.mark.parametrize("field", ["run", "head", "at", "same", "repeated"])
def test_a_result_without_its_subject_or_verdict_is_refused(store: SqliteStore, field: str) -> None:
    failing(store)
    plain = msgspec.to_builtins(replayed(store, same=True))
    del plain[field]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(plain, ReplayResult)
