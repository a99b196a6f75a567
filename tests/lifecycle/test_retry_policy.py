"""How long the retry policy waits, and when it gives up."""

import pytest

from auditcoder.domain.errors import ModelUnavailable
from auditcoder.domain.request import Attempt
from auditcoder.lifecycle.retry_policy import RetryPolicy


def unavailable(
    retry_after: float | None = None, attempts: tuple[Attempt, ...] = ()
) -> ModelUnavailable:
    error = ModelUnavailable("model.unavailable", "busy")
    error.retry_after = retry_after
    error.attempts = attempts
    return error


def test_the_wait_doubles_after_each_failure() -> None:
    policy = RetryPolicy(first_wait=1.0)
    waits = [policy.wait_after(unavailable(), failures, lambda: 1.0) for failures in (1, 2, 3)]
    assert waits == [1.0, 2.0, 4.0]


def test_chance_shortens_the_wait_by_at_most_half() -> None:
    assert RetryPolicy(first_wait=2.0).wait_after(unavailable(), 1, lambda: 0.0) == 1.0


def test_the_wait_is_never_longer_than_the_longest() -> None:
    policy = RetryPolicy(attempts=50, longest_wait=60.0)
    assert policy.wait_after(unavailable(), 40, lambda: 1.0) == 60.0


def test_the_policy_gives_up_after_its_last_attempt() -> None:
    policy = RetryPolicy(attempts=2)
    assert policy.wait_after(unavailable(), 1, lambda: 1.0) is not None
    assert policy.wait_after(unavailable(), 2, lambda: 1.0) is None


@pytest.mark.parametrize(
    ("asked", "wait"), [(0.0, 0.0), (30.0, 30.0), (60.0, 60.0), (61.0, None), (-5.0, 0.0)]
)
def test_the_wait_that_a_server_asks_for_is_kept_unless_it_is_too_long(
    asked: float, wait: float | None
) -> None:
    assert RetryPolicy().wait_after(unavailable(asked), 1, lambda: 0.0) == wait


def test_a_call_that_another_layer_retried_is_not_retried_again() -> None:
    tried = unavailable(attempts=(Attempt(problem="model.unavailable"),))
    assert RetryPolicy().wait_after(tried, 1, lambda: 1.0) is None
