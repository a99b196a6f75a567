"""What a model is asked, and what it answers."""

from collections.abc import Iterable
from enum import Enum
from typing import Annotated

import msgspec

from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Digest, Value, digest_of


class Speaker(Enum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Message(Value):
    """One turn of a conversation."""

    speaker: Speaker
    text: str


class Request(Value):
    """Everything that decides an answer, but for the model itself.

    What many requests share comes first in its messages: a server that has read it once need
    not read it again.
    """

    messages: tuple[Message, ...]
    max_tokens: Annotated[int, msgspec.Meta(ge=1)]
    """The longest answer allowed. Small models can go on for ever; keep it tight."""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)]
    """Without a default: whether a number that equals one is written is not certain enough for
    a digest."""
    seed: int | None = None
    stop: tuple[str, ...] = ()
    """Texts at which the answer ends."""
    schema: str = ""
    """A JSON Schema to hold the answer to, where the model can be held; empty for free text.

    The messages ask for it as well: not every model can be held, and one that knows what is
    wanted answers better than one that is only kept from anything else.
    """
    prompt: Digest | None = None
    """Digest of the prompt template that it was made from."""

    def __post_init__(self) -> None:
        """Write equal requests in one way, so that they have one digest: 0 and 0.0, [] and ()."""
        for field, value in (
            ("messages", tuple(self.messages)),
            ("max_tokens", int(self.max_tokens)),
            ("temperature", float(self.temperature) + 0.0),  # there is a -0.0
            ("seed", None if self.seed is None else int(self.seed)),
            ("stop", tuple(self.stop) or ()),
        ):
            msgspec.structs.force_setattr(self, field, value)

    @property
    def digest(self) -> Digest:
        """Name the request by what it is."""
        return digest_of(self)

    def at_most_tokens(self) -> int:
        """Return a number of tokens that the prompt cannot exceed: none is less than a byte."""
        texts = (self.schema, *(message.text for message in self.messages))
        return sum(len(text.encode("utf-8", "replace")) + 16 for text in texts)


class FinishReason(Enum):
    """Why an answer ended."""

    STOP = "stop"
    """The model had said what it had to say."""
    LENGTH = "length"
    """It reached the longest answer allowed."""
    REFUSED = "refused"
    """The model or its provider would not answer."""
    REPEATED = "repeated"
    """It only repeated itself, and was stopped."""
    FAILED = "failed"
    """No answer came at all."""


class Attempt(Value):
    """One try that brought no answer."""

    problem: str
    """The error's code."""
    message: str = ""
    waited: float = 0.0
    """Seconds waited before the next try."""
    billed: bool = False
    """Whether the server may have charged for it."""


def charged_for(attempts: Iterable[Attempt]) -> Usage:
    """Return what failed attempts may have cost: nobody knows how much, and it is not nothing."""
    count = sum(attempt.billed for attempt in attempts)
    return Usage(calls=count, unmeasured=count, unpriced=count)


class Reply(Value):
    """What a model answered, word for word."""

    text: str
    finish: FinishReason
    usage: Usage
    model: str = ""
    """Who answered, as the server names it."""
    seconds: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    """What went wrong before it."""


class Price(Value):
    """US dollars for a million tokens."""

    prompt: Annotated[float, msgspec.Meta(ge=0)]
    completion: Annotated[float, msgspec.Meta(ge=0)]
    cached: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """For prompt tokens that the server had in its cache; as any other if not given."""

    def most(self, prompt: int, completion: int) -> float:
        """Return what so many tokens can cost, cached or not."""
        return max(self.of(prompt, completion), self.of(prompt, completion, prompt))

    def of(self, prompt: int, completion: int, cached: int = 0) -> float:
        """Return what so many tokens cost."""
        fresh = prompt - cached
        return (fresh * self.prompt + cached * self.for_cached + completion * self.completion) / 1e6

    def or_that(self, other: "Price") -> "Price":
        """Return a price that neither exceeds."""
        return Price(
            prompt=max(self.prompt, other.prompt),
            completion=max(self.completion, other.completion),
            cached=max(self.for_cached, other.for_cached),
        )

    @property
    def for_cached(self) -> float:
        """What cached tokens cost, whether that was given or not."""
        return self.prompt if self.cached is None else self.cached


FREE = Price(prompt=0, completion=0)
"""For models that run on one's own machine."""


class Traits(Value):
    """What can be expected of a model."""

    parallel: int = 1
    """How many requests it can usefully answer at once."""
    price: Price | None = None
    """None if nobody knows."""
    weights: Digest | None = None
    """Digest of the weights, where they are ours to see."""
