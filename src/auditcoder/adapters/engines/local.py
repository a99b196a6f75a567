"""Threads on this machine."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class LocalEngine:
    """Does jobs in threads, as many at once as it is told."""

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield what comes of each item, in the order in which it comes."""
        pool = ThreadPoolExecutor(max_workers=self._workers)
        try:
            for done in as_completed([pool.submit(work, item) for item in items]):
                yield done.result()
        finally:
            # An interrupt or a fault: what has not begun is not begun; what has is on record.
            pool.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        """Let go of nothing."""
