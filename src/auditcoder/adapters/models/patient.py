"""Patience with a model: waiting, trying again, and not asking too much at once."""

import random
import threading
import time
from collections.abc import Callable

import msgspec

from auditcoder.domain.errors import ModelUnavailable
from auditcoder.domain.request import Attempt, Reply, Request, Traits, charged_for
from auditcoder.domain.values import Value
from auditcoder.lifecycle.ports import Model


class Patience(Value):
    """How long to bear with a model."""

    attempts: int = 5
    first_wait: float = 1.0
    """Seconds before the second attempt; doubled each time, and varied."""
    longest_wait: float = 60.0
    """If the server asks for a longer wait than this, give up and say so."""
    parallel: int | None = None
    """How many requests at once; None for what the model can take."""
    per_minute: float | None = None
    """How many requests a minute; None for no limit."""


class PatientModel:
    """Asks another model, again if need be, and tells what went wrong on the way."""

    def __init__(
        self,
        model: Model,
        patience: Patience | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._patience = patience or Patience()
        self._sleep, self._clock, self._chance = sleep, clock, chance
        self._turns = threading.Semaphore(self._patience.parallel or model.traits.parallel)
        self._pace = threading.Lock()
        self._next_start = clock()

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    @property
    def traits(self) -> Traits:
        """The model's own."""
        return self._model.traits

    def at_most_tokens(self, request: Request) -> int:
        """As the model counts."""
        return self._model.at_most_tokens(request)

    def complete(self, request: Request) -> Reply:
        """Answer, or raise with every attempt told."""
        failed: list[Attempt] = []
        while True:
            try:
                reply = self._once(request)
            except ModelUnavailable as error:
                wait = self._wait_after(error, len(failed))
                failed.append(
                    Attempt(
                        problem=error.code,
                        message=str(error),
                        waited=wait or 0.0,
                        billed=error.billed,
                    )
                )
                if wait is None:
                    error.attempts = tuple(failed)
                    raise
                self._sleep(wait)
            else:
                return _with_attempts(reply, failed)

    def _once(self, request: Request) -> Reply:
        with self._turns:
            self._wait_for_turn()
            return self._model.complete(request)

    def _wait_for_turn(self) -> None:
        if self._patience.per_minute is None:
            return
        with self._pace:
            now = self._clock()
            start = max(now, self._next_start)
            self._next_start = start + 60 / self._patience.per_minute
        if start > now:
            self._sleep(start - now)

    def _wait_after(self, error: ModelUnavailable, failures: int) -> float | None:
        """Return how long to wait before the next attempt, None if there is none."""
        if failures + 1 >= self._patience.attempts:
            return None
        if error.retry_after is not None:
            asked = error.retry_after
            return asked if asked <= self._patience.longest_wait else None
        doubled = self._patience.first_wait * 2.0**failures
        return min(doubled, self._patience.longest_wait) * (0.5 + self._chance() / 2)

    def close(self) -> None:
        """Close the model."""
        self._model.close()


def _with_attempts(reply: Reply, failed: list[Attempt]) -> Reply:
    if not failed:
        return reply
    return msgspec.structs.replace(
        reply, usage=reply.usage + charged_for(failed), attempts=(*failed, *reply.attempts)
    )
