"""Engines, which run many jobs concurrently on one machine or several."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """Runs many jobs, in this process or elsewhere."""

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield the results of `work` for all items, in the order in which they complete."""
        ...

    def close(self) -> None:
        """Release the resources that the engine holds."""
        ...
