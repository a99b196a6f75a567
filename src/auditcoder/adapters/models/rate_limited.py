"""Asks another model no more at once, and no more often, than it bears."""

import threading
import time
from collections.abc import Callable

from auditcoder.domain.request import Reply, Request, Traits
from auditcoder.lifecycle.ports import Model


class RateLimitedModel:
    """Limits how many requests run at once, and how many start in a minute."""

    def __init__(
        self,
        model: Model,
        parallel: int,
        per_minute: float | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._turns = threading.Semaphore(parallel)
        self._gap = 60 / per_minute if per_minute else 0.0
        self._sleep, self._clock = sleep, clock
        self._lock = threading.Lock()
        self._next_start = clock()

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    @property
    def traits(self) -> Traits:
        """The model's own."""
        return self._model.traits

    def complete(self, request: Request) -> Reply:
        """Wait for a turn, then ask."""
        with self._turns:
            with self._lock:
                now = self._clock()
                start = max(now, self._next_start)
                self._next_start = start + self._gap
            if start > now:
                self._sleep(start - now)
            return self._model.complete(request)

    def close(self) -> None:
        """Close the model."""
        self._model.close()
