"""The token limits of replies: tight for a small model, by purpose for others, set by options."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import auditcoder
import auditcoder_bench
from auditcoder.domain.request import GENEROUS, TIGHT, TokenLimits
from auditcoder.lifecycle import token_limits
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.token_limits import (
    REPAIRED_CODE,
    SKETCH,
    Purpose,
    ReplyRoom,
    ReplySize,
    code_size,
    limits_for,
    room_for,
)

SIZES = [size for size in vars(token_limits).values() if isinstance(size, ReplySize)]


@pytest.mark.parametrize("size", SIZES)
def test_the_embedded_model_gets_the_tight_bound_and_no_more(size: ReplySize) -> None:
    room = room_for(size, limits_for(Options(), TIGHT))
    assert (room.tokens, room.most) == (size.tight, size.tight)
    assert room.option == f"--{size.purpose.value}-tokens"


@pytest.mark.parametrize("size", SIZES)
def test_another_model_gets_room_for_reasoning_and_may_get_more(size: ReplySize) -> None:
    room = room_for(size, limits_for(Options(), GENEROUS))
    assert room.tokens >= size.tight + GENEROUS.reasoning
    assert room.least == size.tight
    assert room.most > room.tokens
    assert room.option == "--max-reply-tokens"


def test_the_bound_of_code_grows_with_its_parts_up_to_a_maximum() -> None:
    assert [code_size(range(count)).tight for count in (1, 2, 6, 7, 50)] == [
        *(500, 700, 1500, 1600, 1600)
    ]


def test_an_option_sets_the_limit_of_its_purpose_alone() -> None:
    limits = limits_for(Options(code_tokens=3000, reasoning_tokens=100), TIGHT)
    assert room_for(code_size("a"), limits).tokens == 3100
    assert room_for(SKETCH, limits).tokens == 600


def test_the_longest_reply_bounds_every_limit() -> None:
    limits = limits_for(Options(max_reply_tokens=300), GENEROUS)
    assert room_for(REPAIRED_CODE, limits) == ReplyRoom(300, 300, 300, "--max-reply-tokens")


def test_an_embedded_model_may_grow_if_the_user_says_so() -> None:
    limits = limits_for(Options(max_reply_tokens=2000), TIGHT)
    assert room_for(SKETCH, limits) == ReplyRoom(500, 500, 2000, "--max-reply-tokens")


counts = st.none() | st.integers(1, 50_000)


@given(
    st.sampled_from(SIZES),
    st.builds(TokenLimits, plan=counts, code=counts, repair=counts, check=counts, most=counts),
)
def test_a_room_is_consistent(size: ReplySize, limits: TokenLimits) -> None:
    room = room_for(size, limits)
    assert 1 <= room.least <= room.tokens <= room.most


def test_every_purpose_has_an_option_and_a_limit() -> None:
    for purpose in Purpose:
        assert f"{purpose.value}_tokens" in Options.__struct_fields__
        assert purpose.value in TokenLimits.__struct_fields__


def test_no_other_module_bounds_replies() -> None:
    constant = re.compile(r"^_?[A-Z_]*TOKENS[A-Z_]* = \d|max_tokens=\d", re.MULTILINE)
    packages = (auditcoder, auditcoder_bench)
    files = [f for p in packages for f in Path(p.__path__[0]).rglob("*.py")]
    assert len(files) > 100
    found = [file.name for file in files if constant.search(file.read_text(encoding="utf-8"))]
    assert set(found) <= {"provider.py"}, "it bounds the numbers that a server reports"
