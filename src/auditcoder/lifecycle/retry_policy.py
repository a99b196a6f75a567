"""Retry policy for requests to a model: number of attempts and waiting times."""

import random
import time
from collections.abc import Callable
from typing import NamedTuple

from auditcoder.domain.errors import ModelUnavailable
from auditcoder.domain.values import Value


class RetryPolicy(Value):
    """The maximum number of attempts and the waiting time between them."""

    attempts: int = 5
    first_wait: float = 1.0
    """Seconds before the second attempt; doubled each time, with jitter."""
    longest_wait: float = 60.0
    """Maximum wait in seconds; if the server asks for a longer one, give up."""

    def wait_after(
        self, error: ModelUnavailable, failures: int, chance: Callable[[], float]
    ) -> float | None:
        """Return the seconds to wait after that many failures; None to give up.

        `chance` returns a random number between 0 and 1 for the jitter.
        """
        if failures >= self.attempts or error.attempts:  # the adapter has made its own retries
            return None
        if error.retry_after is not None:
            requested = max(0.0, error.retry_after)
            return requested if requested <= self.longest_wait else None
        doubled = self.first_wait * 2.0 ** (failures - 1)
        return min(doubled, self.longest_wait) * (0.5 + chance() / 2)


class Backoff(NamedTuple):
    """The sleep and the random source that retries use; tests replace both."""

    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
