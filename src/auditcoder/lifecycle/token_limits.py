"""The token limits of replies: every number that bounds a reply is decided here.

A request names its `ReplySize`. A model without limits of its own (the embedded one) gets the tight
bound of that size, because a small model may not stop by itself. Other models get the limits of
their traits, with room for reasoning. Options override both. The limits of a run are recorded in
its manifest, since a request's digest depends on them.
"""

from collections.abc import Sized
from enum import Enum
from typing import NamedTuple

from msgspec.structs import replace

from auditcoder.domain.request import TokenLimits
from auditcoder.lifecycle.options import Options


class Purpose(Enum):
    """What a reply is for; the value is the first word of the option that limits it."""

    PLAN = "plan"
    CODE = "code"
    REPAIR = "repair"
    CHECK = "check"


class ReplySize(NamedTuple):
    """The expected size of the reply to one kind of request."""

    purpose: Purpose
    tight: int
    """Tokens for a small model: enough for a good reply, little for an endless one."""


SKETCH = ReplySize(Purpose.PLAN, 500)
PROBLEM_PARSING = ReplySize(Purpose.PLAN, 600)
THINKING = ReplySize(Purpose.PLAN, 800)
CONSTRAINTS = ReplySize(Purpose.PLAN, 400)
ALGORITHMS = ReplySize(Purpose.PLAN, 700)
DECOMPOSITION = ReplySize(Purpose.PLAN, 1400)
INTERFACES = ReplySize(Purpose.PLAN, 1400)
TEST_CASES = ReplySize(Purpose.PLAN, 900)
PLAN_REVIEW = ReplySize(Purpose.PLAN, 400)
WHOLE_PROGRAM = ReplySize(Purpose.CODE, 1200)
REPAIRED_PROGRAM = ReplySize(Purpose.REPAIR, 1200)
REPAIRED_CODE = ReplySize(Purpose.REPAIR, 550)
VERDICTS = ReplySize(Purpose.CHECK, 400)
REFERENCE = ReplySize(Purpose.CHECK, 600)
EDGE_CASES = ReplySize(Purpose.PLAN, 600)
INDEPENDENT_CODE = ReplySize(Purpose.CHECK, 1500)
ADJUDICATION = ReplySize(Purpose.CHECK, 800)

_BASE = 300
_PER_NODE = 200
_MOST_TIGHT = 1600


def code_size(nodes: Sized) -> ReplySize:
    """Return the size of a reply with the code of these nodes."""
    return ReplySize(Purpose.CODE, min(_BASE + _PER_NODE * len(nodes), _MOST_TIGHT))


class ReplyRoom(NamedTuple):
    """The tokens of one reply, and how far the number may change."""

    tokens: int
    least: int
    """The number that a budget must leave."""
    most: int
    """The number to which it grows if a reply is cut; `tokens` if it must not grow."""
    option: str
    """The option that allows longer replies."""


def limits_for(options: Options, model: TokenLimits) -> TokenLimits:
    """Return a model's limits with those that the options set."""
    chosen = {
        purpose.value: value
        for purpose in Purpose
        if (value := getattr(options, f"{purpose.value}_tokens")) is not None
    }
    if options.reasoning_tokens is not None:
        chosen["reasoning"] = options.reasoning_tokens
    if options.max_reply_tokens is not None:
        chosen["most"] = options.max_reply_tokens
    return replace(model, **chosen)


def room_for(size: ReplySize, limits: TokenLimits) -> ReplyRoom:
    """Return the room for a reply of a size within the limits of a run."""
    own: int | None = getattr(limits, size.purpose.value)
    wanted = (size.tight if own is None else own) + limits.reasoning
    if limits.most is None:
        return ReplyRoom(wanted, wanted, wanted, f"--{size.purpose.value}-tokens")
    tokens = min(wanted, limits.most)
    return ReplyRoom(tokens, min(size.tight, tokens), limits.most, "--max-reply-tokens")


def quoted_characters(limits: TokenLimits) -> int:
    """Return the maximum length of each input, output, message and test that a prompt quotes."""
    return 600 if limits.small else 6000
