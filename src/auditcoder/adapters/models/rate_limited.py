"""Limits the concurrency and the rate of requests to another model."""

import threading
import time
from collections.abc import Callable

from auditcoder.domain.request import Reply, Request, Traits
from auditcoder.lifecycle.ports import Model


class RateLimitedModel:
    """Limits how many requests are in progress, and how many start per minute."""

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
        self._slots = threading.Semaphore(parallel)
        self._gap = 60 / per_minute if per_minute else 0.0
        self._sleep, self._clock = sleep, clock
        self._lock = threading.Lock()
        self._next_start = clock()

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def traits(self) -> Traits:
        """The traits of the model."""
        return self._model.traits

    def complete(self, request: Request) -> Reply:
        """Wait until the limits allow a request, then send it."""
        with self._slots:
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
