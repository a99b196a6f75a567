"""Judgements: hidden-test results that are bound to one record's head."""

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.trace import fold
from auditcoder.domain.values import Digest, RunId, digest, encode
from tests.support.record_builders import RUN, failing

JUDGEMENT = Judgement(
    run=RunId("a-run"),
    head=digest(b"the last entry"),
    suite="apps",
    results={digest(b"first"): {"1": False, "2": True}, digest(b"last"): {"1": True, "2": True}},
)


def test_a_judgement_is_read_back_whole() -> None:
    assert msgspec.json.decode(encode(JUDGEMENT), type=Judgement) == JUDGEMENT


@pytest.mark.parametrize("field", ["run", "head", "suite", "results"])
def test_a_judgement_that_is_bound_to_nothing_is_refused(field: str) -> None:
    plain = msgspec.to_builtins(JUDGEMENT)
    del plain[field]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(plain, Judgement)


def test_a_result_is_a_plain_pass_or_failure() -> None:
    plain = msgspec.to_builtins(JUDGEMENT) | {"results": {digest(b"first"): {"1": 1}}}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(plain, Judgement)


def test_a_judgement_of_other_programs_or_another_record_is_refused(store: SqliteStore) -> None:
    failing(store)
    trace = fold(store.read(RUN), store.blob)
    own = trace.programs[0].program

    def judgement(program: Digest = own, run: RunId = RUN, head: str = "") -> Judgement:
        return Judgement(
            run=run, head=Digest(head or trace.head.digest), suite="s", results={program: {}}
        )

    judgement().require_about(trace)
    assert judgement().of(own) == {}
    other = digest(b"another program")
    for wrong in (judgement(other), judgement(run=RunId("another")), judgement(head="0" * 64)):
        with pytest.raises(RecordUnreadable) as refused:
            wrong.require_about(trace)
        assert refused.value.code == "judgement.mismatch"
    with pytest.raises(RecordUnreadable, match="no results of the program"):
        judgement().of(other)
