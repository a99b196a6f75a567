"""What model calls cost. Unknown is not zero: an unpriced call makes a total `at least`."""

from collections.abc import Iterable
from enum import Enum
from typing import Annotated, TypeAlias

import msgspec

from auditcoder.domain.values import Value

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Scope(Enum):
    """Whether a call served the first program or a repair."""

    INITIAL = "initial"
    REPAIR = "repair"


class Phase(Enum):
    """The phase family of a call."""

    PLANNING = "planning"
    GENERATION = "generation"
    VERIFICATION = "verification"


class Usage(Value):
    """Tokens of one call, or of many added up."""

    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cached_tokens: Count = 0
    """Prompt tokens that the server took from its cache; part of `prompt_tokens`."""
    usd: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """What the priced calls cost."""
    unpriced: Count = 0
    """Calls whose price is unknown; while there are any, `usd` is a lower bound."""
    unmeasured: Count = 0
    """Calls whose tokens the server did not report; tokens are then a lower bound too."""

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Add field by field."""
        return Usage(
            **{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        )


def total(usages: Iterable[Usage]) -> Usage:
    """Add up any number of usages."""
    result = Usage()
    for usage in usages:
        result += usage
    return result
