"""Processes on many machines, by way of a Dask scheduler."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from auditcoder.domain.errors import EngineUnavailable

T = TypeVar("T")
R = TypeVar("R")

_RETRIES = 3
"""How often a job goes to another worker when its own is lost."""


class DaskEngine:
    """Does jobs on the workers of a scheduler. What a lost worker had begun, another goes on with.

    The work must be picklable, and a job that is done twice must come to the same: the runner's
    are, because the store is their ledger.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise EngineUnavailable(
                "engine.extra",
                "the dask engine needs a library that is not installed",
                "pip install 'auditcoder[dask]'",
            ) from error
        try:
            self._client = Client(address, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineUnavailable(
                "engine.unreachable",
                f"there is no scheduler at {address}: {error}",
                "start one with `dask scheduler` and workers with `dask worker ADDRESS`",
            ) from error

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield what comes of each item, in the order in which it comes."""
        from distributed import as_completed

        futures = self._client.map(work, list(items), pure=False, retries=_RETRIES)
        try:
            for done in as_completed(futures, loop=self._client.loop):
                yield done.result()
        finally:
            self._client.cancel(futures)

    def close(self) -> None:
        """Leave the scheduler."""
        self._client.close()
