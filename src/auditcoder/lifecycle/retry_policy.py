"""How long to bear with a model that does not answer."""

import random
import time
from collections.abc import Callable
from typing import NamedTuple

from auditcoder.domain.errors import ModelUnavailable
from auditcoder.domain.values import Value


class RetryPolicy(Value):
    """How often to ask, and how long to wait in between."""

    attempts: int = 5
    first_wait: float = 1.0
    """Seconds before the second attempt; doubled each time, and varied."""
    longest_wait: float = 60.0
    """If the server asks for a longer wait than this, give up and say so."""

    def wait_after(
        self, error: ModelUnavailable, failures: int, chance: Callable[[], float]
    ) -> float | None:
        """Return how long to wait after that many failures, None to give up."""
        if failures >= self.attempts or error.attempts:  # or somebody else has given up already
            return None
        if error.retry_after is not None:
            asked = max(0.0, error.retry_after)
            return asked if asked <= self.longest_wait else None
        doubled = self.first_wait * 2.0 ** (failures - 1)
        return min(doubled, self.longest_wait) * (0.5 + chance() / 2)


class Backoff(NamedTuple):
    """The clock and the sleep that a retry policy uses; tests replace both."""

    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random
