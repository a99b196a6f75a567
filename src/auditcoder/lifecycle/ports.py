"""The interfaces of the lifecycle to stores, sandboxes and models."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from auditcoder.domain.chain import Head
from auditcoder.domain.execution import Execution, ExecutionOutcome
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.replay_result import ReplayResult
from auditcoder.domain.request import Reply, Request, Traits
from auditcoder.domain.values import Digest, RunId


class TraceReader(Protocol):
    """Reads stored records. It is not trusted: callers verify its data by digest."""

    def runs(self) -> list[RunId]:
        """Return every stored run, oldest first."""
        ...

    def head(self, run: RunId) -> Head:
        """Return the head of the run's chain; `EMPTY` for an unknown run."""
        ...

    def read(self, run: RunId, start: int = 0) -> Iterator[bytes]:
        """Yield the bodies of the run's entries from number `start` on, in order."""
        ...

    def blob(self, name: Digest) -> bytes:
        """Return a blob's content.

        Raises NotFound (`blob.missing`), or RecordUnreadable (`blob.mismatch`) if the stored
        content does not match the digest.
        """
        ...


class TraceStore(TraceReader, Protocol):
    """Stores records. Entries and blobs are only ever added."""

    def append(
        self,
        run: RunId,
        after: Head,
        entries: Iterable[bytes],
        head: Head,
        blobs: Mapping[Digest, bytes] | Iterable[tuple[Digest, bytes]] = (),
    ) -> None:
        """Append `entries` after `after` atomically, and return once they are durable.

        `head` is the chain's head afterwards. Raises StoreConflict and adds nothing if the run
        does not end at `after`, because another writer has appended to it.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class Sandbox(Protocol):
    """Runs untrusted code in isolation."""

    @property
    def kind(self) -> str:
        """The name of the isolation in force; it is recorded."""
        ...

    def run(self, execution: Execution) -> ExecutionOutcome:
        """Run untrusted code and return its outcome.

        Failures of the code are part of the outcome; SandboxError is a failure of the sandbox.
        """
        ...

    def close(self) -> None:
        """End all sandbox processes."""
        ...


class Model(Protocol):
    """A language model. Safe to share between threads."""

    @property
    def name(self) -> str:
        """The name that selects it with `--model`; it is recorded."""
        ...

    @property
    def traits(self) -> Traits:
        """Its capabilities, limits and price."""
        ...

    def complete(self, request: Request) -> Reply:
        """Return the model's reply, or raise a ModelError.

        A reply that is empty, refused or cut short is returned, not raised: it was paid for.
        """
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class Judgements(Protocol):
    """Stores the results of hidden tests, separately from the records."""

    def keep_judgement(self, judgement: Judgement) -> None:
        """Store a judgement, once for each suite and head of a record."""
        ...

    def judgements(self, run: RunId) -> list[Judgement]:
        """Return all judgements of a run."""
        ...


class Replays(Protocol):
    """Stores the results of replays, separately from the records."""

    def keep_replay(self, replay: ReplayResult) -> None:
        """Store the result of a replay."""
        ...

    def replays(self, run: RunId) -> list[ReplayResult]:
        """Return the results of all replays of a run, oldest first."""
        ...


class JudgedStore(TraceStore, Judgements, Replays, Protocol):
    """A store of records, judgements and the results of replays."""
