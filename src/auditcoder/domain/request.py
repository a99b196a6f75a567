"""Model requests, replies and prices."""

from collections.abc import Iterable
from enum import Enum
from typing import Annotated

import msgspec

from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Digest, Value, digest_of


class Speaker(Enum):
    """The author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Message(Value):
    """One turn of a conversation."""

    speaker: Speaker
    text: str


class Request(Value):
    """Everything that determines a reply, except the model.

    Text that many requests share comes first in the messages, so that servers can cache it.
    """

    messages: tuple[Message, ...]
    max_tokens: Annotated[int, msgspec.Meta(ge=1)]
    """Maximum length of the reply. Keep it low: small models may not stop by themselves."""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)]
    """It has no default: the digest would depend on whether a number equal to it is encoded."""
    seed: int | None = None
    stop: tuple[str, ...] = ()
    """Texts that end the reply."""
    schema: str = ""
    """A JSON Schema for constrained decoding, if the model supports it; empty for free text.

    The messages contain the schema too: not every model supports constrained decoding, and those
    that do give better replies if they know the schema.
    """
    prompt: Digest | None = None
    """Digest of the prompt template of the request."""

    def __post_init__(self) -> None:
        """Normalise fields so that equal requests have one digest: 0 and 0.0, [] and ()."""
        for field, value in (
            ("messages", tuple(self.messages)),
            ("max_tokens", int(self.max_tokens)),
            ("temperature", float(self.temperature) + 0.0),  # turns -0.0 into 0.0
            ("seed", None if self.seed is None else int(self.seed)),
            ("stop", tuple(self.stop) or ()),
        ):
            msgspec.structs.force_setattr(self, field, value)

    @property
    def digest(self) -> Digest:
        """The digest of the request."""
        return digest_of(self)

    def at_most_tokens(self) -> int:
        """Return an upper bound of the prompt's tokens: a token has at least one byte."""
        texts = (self.schema, *(message.text for message in self.messages))
        return sum(len(text.encode("utf-8", "replace")) + 16 for text in texts)


class FinishReason(Enum):
    """Why a reply ended."""

    STOP = "stop"
    """The model ended the reply, or a stop text was reached."""
    LENGTH = "length"
    """The maximum length was reached."""
    REFUSED = "refused"
    """The model or its provider refused to reply."""
    REPEATED = "repeated"
    """The reply repeated itself and was stopped."""
    FAILED = "failed"
    """There was no reply."""


class Attempt(Value):
    """One failed attempt to get a reply."""

    problem: str
    """The error's code."""
    message: str = ""
    waited: float = 0.0
    """Seconds waited before the next attempt."""
    billed: bool = False
    """Whether the server may have charged for it."""


def charged_for(attempts: Iterable[Attempt]) -> Usage:
    """Return the usage of failed attempts that may have been billed, with unknown amounts."""
    count = sum(attempt.billed for attempt in attempts)
    return Usage(calls=count, unmeasured=count, unpriced=count)


class Reply(Value):
    """The unchanged reply of a model."""

    text: str
    finish: FinishReason
    usage: Usage
    model: str = ""
    """The name of the model, as the server reports it."""
    seconds: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    """The failed attempts before this reply."""


class Price(Value):
    """Prices in US dollars per million tokens."""

    prompt: Annotated[float, msgspec.Meta(ge=0)]
    completion: Annotated[float, msgspec.Meta(ge=0)]
    cached: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """Price of prompt tokens from the server's cache; None means the price of `prompt`."""

    def most(self, prompt: int, completion: int) -> float:
        """Return the maximum cost of these tokens, whether the prompt is cached or not."""
        return max(self.of(prompt, completion), self.of(prompt, completion, prompt))

    def of(self, prompt: int, completion: int, cached: int = 0) -> float:
        """Return the cost of these tokens in US dollars."""
        fresh = prompt - cached
        return (fresh * self.prompt + cached * self.for_cached + completion * self.completion) / 1e6

    def maximum(self, other: "Price") -> "Price":
        """Return the maximum of two prices, field by field."""
        return Price(
            prompt=max(self.prompt, other.prompt),
            completion=max(self.completion, other.completion),
            cached=max(self.for_cached, other.for_cached),
        )

    @property
    def for_cached(self) -> float:
        """The price of cached tokens, with the default applied."""
        return self.prompt if self.cached is None else self.cached


FREE = Price(prompt=0, completion=0)
"""The price of models that run locally."""


class TokenLimits(Value):
    """The maximum tokens of replies by purpose; None means the tight bound of each request."""

    plan: Annotated[int, msgspec.Meta(ge=1)] | None = None
    code: Annotated[int, msgspec.Meta(ge=1)] | None = None
    repair: Annotated[int, msgspec.Meta(ge=1)] | None = None
    check: Annotated[int, msgspec.Meta(ge=1)] | None = None
    reasoning: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens for reasoning, added to each of the others: providers count both together."""
    most: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """The maximum for a reply that was cut and is requested again; None: it does not grow."""

    @property
    def small(self) -> bool:
        """Whether they are of a small model, whose requests are kept short, too."""
        return self.code is None


TIGHT = TokenLimits()
"""The limits of a small model, which may not stop by itself."""
GENEROUS = TokenLimits(plan=4000, code=8000, repair=8000, check=4000, reasoning=8000, most=32_000)
"""The limits of other models. Unused tokens cost nothing; most models allow 16,000 in a reply."""


class Traits(Value):
    """Properties of a model."""

    parallel: int = 1
    """Number of requests that it can usefully process at once."""
    price: Price | None = None
    """None if it is unknown."""
    weights: Digest | None = None
    """Digest of the weights, if they are available."""
    limits: TokenLimits = TIGHT
    """The default limits of its replies."""
