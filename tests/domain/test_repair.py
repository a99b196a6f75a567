"""The rank order and the acceptance rule."""

from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.repair import Decision, Rank, decide, rank
from auditcoder.domain.values import CheckId

ranks = st.builds(
    Rank,
    full=st.booleans(),
    external_passes=st.integers(0, 3),
    internal_passes=st.integers(0, 3),
    external_clean=st.integers(0, 3),
    internal_clean=st.integers(0, 3),
)
A, B, C = CheckId("a"), CheckId("b"), CheckId("c")


def as_tuple(r: Rank) -> tuple[int, ...]:
    return (
        r.full,
        r.external_passes,
        r.internal_passes,
        r.external_clean,
        r.internal_clean,
    )


@given(ranks, ranks)
def test_ranks_compare_as_the_papers_tuple(a: Rank, b: Rank) -> None:
    assert (a > b) == (as_tuple(a) > as_tuple(b))
    assert (decide(a, b) is Decision.ACCEPTED) == (as_tuple(b) > as_tuple(a))


def test_given_checks_are_external_and_the_others_internal() -> None:
    pinned = {A: Trust.GIVEN, B: Trust.DERIVED, C: Trust.GENERATED}
    seen = {A: Verdict.PASSED, B: Verdict.FAILED, C: Verdict.CRASH}
    assert as_tuple(rank(seen, pinned)) == (True, 1, 0, 1, 1)


def test_full_means_every_given_check_passes() -> None:
    pinned = {A: Trust.GIVEN, B: Trust.GIVEN, C: Trust.DERIVED}
    assert rank({A: Verdict.PASSED, B: Verdict.PASSED}, pinned).full
    assert not rank({A: Verdict.PASSED, C: Verdict.PASSED}, pinned).full


def test_derived_checks_decide_if_none_were_given() -> None:
    pinned = {A: Trust.DERIVED, B: Trust.GENERATED}
    assert rank({A: Verdict.PASSED, B: Verdict.FAILED}, pinned).full
    assert not rank({B: Verdict.PASSED}, pinned).full


def test_a_check_that_did_not_run_has_not_passed() -> None:
    assert not rank({}, {}).full
    assert not rank({A: Verdict.PASSED}, {A: Trust.GENERATED}).full
    assert as_tuple(rank({}, {A: Trust.GIVEN, B: Trust.DERIVED})) == (False, 0, 0, 0, 0)


def test_a_wrong_answer_is_a_clean_exit_and_a_timeout_is_not() -> None:
    pinned = {A: Trust.GIVEN, B: Trust.GIVEN, C: Trust.GIVEN}
    seen = {A: Verdict.FAILED, B: Verdict.TIMEOUT, C: Verdict.MEMORY}
    assert rank(seen, pinned).external_clean == 1
