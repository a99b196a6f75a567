"""Usage: totals of model calls, where unknown amounts stay visible."""

import msgspec
import pytest

from auditcoder.domain.usage import Usage, total


def test_a_total_adds_every_field() -> None:
    known = Usage(calls=1, prompt_tokens=10, completion_tokens=5, usd=0.5)
    unpriced = Usage(calls=1, prompt_tokens=1, unpriced=1)
    both = total([known, unpriced])
    assert both == Usage(calls=2, prompt_tokens=11, completion_tokens=5, usd=0.5, unpriced=1)


def test_addition_covers_every_field() -> None:
    one_of_each = Usage(**dict.fromkeys(Usage.__struct_fields__, 1))
    assert one_of_each + one_of_each == Usage(**dict.fromkeys(Usage.__struct_fields__, 2))


def test_the_total_of_no_calls_is_zero() -> None:
    assert total([]) == Usage()


def test_tokens_count_cached_ones_once() -> None:
    assert Usage(prompt_tokens=11, completion_tokens=5, cached_tokens=8).tokens == 16


@pytest.mark.parametrize("field", Usage.__struct_fields__)
def test_a_recorded_usage_refuses_a_negative_amount(field: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({field: -1}, Usage)
