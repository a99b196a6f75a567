"""A reference makes the same case for the same seed, whatever form its input has."""

import random
from typing import Any

import pytest

from auditcoder.sandboxed import reference_cases

case: Any = reference_cases._audit


@pytest.mark.parametrize("made", [(3, 4), {"a": 3, "b": 4}])
def test_tuples_and_dictionaries_are_argument_lists(made: object) -> None:
    assert case(lambda chance: made, lambda a, b: a + b, 0) == ("(3, 4)", 7)


def test_any_other_value_is_the_only_argument() -> None:
    assert case(lambda chance: [3], len, 0) == ("([3],)", 1)


def test_a_seed_always_makes_the_same_case() -> None:
    def make(chance: random.Random) -> tuple[int]:
        return (chance.randint(0, 1_000_000),)

    assert case(make, int, 5) == case(make, int, 5)
    assert case(make, int, 5) != case(make, int, 6)


def test_a_reference_that_changes_its_input_does_not_change_the_case() -> None:
    assert case(lambda chance: ([1, 2],), list.pop, 0) == ("([1, 2],)", 2)
