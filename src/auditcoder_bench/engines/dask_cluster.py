"""An engine that runs jobs on the workers of a Dask cluster."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from auditcoder.domain.errors import EngineUnavailable

T = TypeVar("T")
R = TypeVar("R")

_RETRIES = 3
"""How often a job is sent to another worker when its worker is lost."""


class DaskEngine:
    """Runs jobs on the workers of a Dask scheduler; jobs of a lost worker move to another.

    Jobs must be picklable and idempotent. Those of the runner are: each job is a run in a store,
    and a repeated job resumes it.
    """

    def __init__(self, address: str | None) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise EngineUnavailable(
                "engine.extra",
                "the dask engine needs the package distributed, which is not installed",
                "pip install 'auditcoder-bench[dask]'",
            ) from error
        try:
            self._client = Client(address, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineUnavailable(
                "engine.unreachable",
                f"cannot reach a Dask scheduler at {address}: {error}",
                "start one with `dask scheduler` and workers with `dask worker ADDRESS`",
            ) from error

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield the results of `work` for all items, in the order in which they complete."""
        from distributed import as_completed

        futures = self._client.map(work, list(items), pure=False, retries=_RETRIES)
        try:
            for done in as_completed(futures, loop=self._client.loop):
                yield done.result()
        finally:
            self._client.cancel(futures)

    def close(self) -> None:
        """Disconnect from the scheduler."""
        self._client.close()
