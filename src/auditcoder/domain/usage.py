"""Tokens and cost of model calls. Unknown is not zero: unpriced calls make a sum a lower bound."""

from collections.abc import Iterable
from enum import Enum
from typing import Annotated, TypeAlias

import msgspec

from auditcoder.domain.values import Value

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Scope(Enum):
    """Whether a call was made for the first program or for a repair."""

    INITIAL = "initial"
    REPAIR = "repair"


class Phase(Enum):
    """The phase that a call belongs to."""

    PLANNING = "planning"
    GENERATION = "generation"
    VERIFICATION = "verification"


class Usage(Value):
    """Tokens and cost of one call, or the sum of several."""

    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cached_tokens: Count = 0
    """Prompt tokens from the server's cache, included in `prompt_tokens`."""
    usd: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """The cost of the calls with a known price."""
    unpriced: Count = 0
    """Number of calls with unknown price; if not 0, `usd` is a lower bound."""
    unmeasured: Count = 0
    """Number of calls without reported tokens; if not 0, tokens are a lower bound."""

    @property
    def tokens(self) -> int:
        """The sum of prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum, field by field."""
        return Usage(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        )


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum of usages."""
    result = Usage()
    for usage in usages:
        result += usage
    return result
