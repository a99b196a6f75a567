"""What the lifecycle needs of the outside, as small as it can be said."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from auditcoder.domain.chain import Head
from auditcoder.domain.execution import Execution, ExecutionOutcome
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.request import Reply, Request, Traits
from auditcoder.domain.values import Digest, RunId


class TraceReader(Protocol):
    """Somewhere records can be read. It is not trusted: what it gives is verified by digest."""

    def runs(self) -> list[RunId]:
        """Return every run kept here, oldest first."""
        ...

    def head(self, run: RunId) -> Head:
        """Return where the run's chain ends; `EMPTY` for a run that is not here."""
        ...

    def read(self, run: RunId, start: int = 0) -> Iterator[bytes]:
        """Yield the bodies of the run's entries from number `start` on, in order."""
        ...

    def blob(self, name: Digest) -> bytes:
        """Return a blob's content, or raise NotFound (`blob.missing`)."""
        ...


class TraceStore(TraceReader, Protocol):
    """Somewhere records can be kept. Entries and blobs are only ever added."""

    def append(
        self,
        run: RunId,
        after: Head,
        entries: Iterable[bytes],
        head: Head,
        blobs: Mapping[Digest, bytes] | Iterable[tuple[Digest, bytes]] = (),
    ) -> None:
        """Add `entries` behind `after`, all or none, and return once they would survive a crash.

        `head` is the chain's head afterwards. Raises StoreConflict if the run does not end at
        `after`: then someone else has written, and nothing is added.
        """
        ...

    def close(self) -> None:
        """Let go of whatever is held."""
        ...


class Sandbox(Protocol):
    """Somewhere untrusted code can run and do no harm."""

    @property
    def kind(self) -> str:
        """Name the walls that stand; it goes into the record."""
        ...

    def run(self, execution: Execution) -> ExecutionOutcome:
        """Run untrusted code and say how it ended.

        The code's own fault is in the outcome. SandboxError is ours, and blames nobody.
        """
        ...

    def close(self) -> None:
        """End everything that runs."""
        ...


class Model(Protocol):
    """Something that answers requests. Safe to share between threads."""

    @property
    def name(self) -> str:
        """Name it as `--model` does; it goes into the record."""
        ...

    @property
    def traits(self) -> Traits:
        """Say what can be expected of it."""
        ...

    def complete(self, request: Request) -> Reply:
        """Answer, or raise a ModelError.

        An answer that is empty, refused or cut short is still an answer: it was paid for.
        """
        ...

    def close(self) -> None:
        """Let go of whatever is held."""
        ...


class Judgements(Protocol):
    """Where judges' words are kept, apart from the records."""

    def keep_judgement(self, judgement: Judgement) -> None:
        """Keep what a judge found, once for each suite and head of a record."""
        ...

    def judgements(self, run: RunId) -> list[Judgement]:
        """Return what judges found about a run."""
        ...


class JudgedStore(TraceStore, Judgements, Protocol):
    """A store that keeps both."""
