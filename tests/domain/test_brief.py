"""The brief: what planning fixed before any code, named by its digest."""

import msgspec

from auditcoder.domain.brief import (
    Approach,
    Brief,
    DataRange,
    Parsed,
    PlannedCheck,
    Requirements,
    Trap,
)
from auditcoder.domain.evidence import Trust
from auditcoder.domain.task import StdioExample
from auditcoder.domain.values import CheckId, digest_of, encode

BRIEF = Brief(
    parsed=Parsed(title="Double it", ranges=(DataRange(variable="n", minimum=1.0),)),
    approach=Approach(strategy="multiply", traps=(Trap(trap="overflow"),)),
    requirements=Requirements(
        checks=(
            PlannedCheck(
                id=CheckId("example-1"),
                trust=Trust.GIVEN,
                example=StdioExample(input="1", output="2"),
            ),
        )
    ),
)


def test_a_brief_is_read_back_whole() -> None:
    assert msgspec.json.decode(encode(BRIEF), type=Brief) == BRIEF


def test_equal_briefs_have_one_digest() -> None:
    again = msgspec.json.decode(encode(BRIEF), type=Brief)
    assert again.digest == BRIEF.digest == digest_of(BRIEF)


def test_any_change_gives_another_digest() -> None:
    replace = msgspec.structs.replace
    changed = replace(BRIEF, approach=replace(BRIEF.approach, strategy="add twice"))
    assert BRIEF.digest != changed.digest != Brief().digest


def test_reading_the_digest_does_not_change_the_encoding() -> None:
    fresh = msgspec.structs.replace(BRIEF)
    before = encode(fresh)
    assert fresh.digest
    assert encode(fresh) == before


def test_an_unset_end_of_a_range_is_unknown() -> None:
    (found,) = BRIEF.parsed.ranges
    assert (found.minimum, found.maximum) == (1, None)
