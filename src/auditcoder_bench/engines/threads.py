"""An engine that runs jobs in threads of this process."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class LocalEngine:
    """Runs jobs in up to `workers` threads."""

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield the results of `work` for all items, in the order in which they complete."""
        pool = ThreadPoolExecutor(max_workers=self._workers)
        try:
            for done in as_completed([pool.submit(work, item) for item in items]):
                yield done.result()
        finally:
            # After an interrupt or an error no further job starts; running jobs can be resumed.
            pool.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        """Do nothing: threads end with each call."""
