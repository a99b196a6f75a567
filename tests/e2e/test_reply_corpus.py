"""Replies of strong models go through plan, build and repair, and nothing is lost in silence."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.events import RunOutcome
from auditcoder.lifecycle.ports import Sandbox
from tests.support.reply_corpus import Case, cases, play
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_the_corpus_has_at_least_forty_replies() -> None:
    assert sum(len(case.texts) for case in cases()) >= 40


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_correct_reply_is_kept_or_what_it_loses_is_noted(sandbox: Sandbox, case: Case) -> None:
    outcome = play(sandbox, case)
    assert outcome.refused == ()
    assert outcome.finished.outcome is RunOutcome.PASSED, outcome.finished.program
    assert outcome.noted == case.losses
    assert outcome.silent == ()
