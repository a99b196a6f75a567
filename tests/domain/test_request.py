"""Prices: the maximum cost of a call, also when either of two models may answer it."""

from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.request import Price

amounts = st.floats(0, 1000)
prices = st.builds(Price, prompt=amounts, completion=amounts, cached=st.one_of(st.none(), amounts))
counts = st.integers(0, 10**6)


@given(prices, prices, counts, counts)
def test_the_combined_price_of_two_models_bounds_the_cost_of_both(
    one: Price, other: Price, prompt: int, completion: int
) -> None:
    either = one.maximum(other).most(prompt, completion)
    assert either >= one.most(prompt, completion)
    assert either >= other.most(prompt, completion)


@given(prices)
def test_combining_a_price_with_itself_changes_nothing(price: Price) -> None:
    assert price.maximum(price).of(3, 4, 2) == price.of(3, 4, 2)
