"""The port by which many jobs are done."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """Does many jobs, here or elsewhere."""

    def each(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield what comes of each item, in the order in which it comes."""
        ...

    def close(self) -> None:
        """Let go of whatever is held."""
        ...
