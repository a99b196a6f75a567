"""Prices: what a call can cost, whoever of two answers it."""

from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.request import Price

amounts = st.floats(0, 1000)
prices = st.builds(Price, prompt=amounts, completion=amounts, cached=st.one_of(st.none(), amounts))
counts = st.integers(0, 10**6)


@given(prices, prices, counts, counts)
def test_a_price_for_either_of_two_is_exceeded_by_neither(
    one: Price, other: Price, prompt: int, completion: int
) -> None:
    either = one.or_that(other).most(prompt, completion)
    assert either >= one.most(prompt, completion)
    assert either >= other.most(prompt, completion)


@given(prices)
def test_a_price_for_one_and_the_same_changes_nothing(price: Price) -> None:
    assert price.or_that(price).of(3, 4, 2) == price.of(3, 4, 2)
