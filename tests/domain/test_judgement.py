"""Judgements: hidden-test results that are bound to one record's head."""

import msgspec
import pytest

from auditcoder.domain.judgement import Judgement
from auditcoder.domain.values import RunId, digest, encode

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
