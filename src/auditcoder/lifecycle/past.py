"""What a record already says, while its run is gone through again.

The life of a run depends on nothing but its task, its settings, the model's replies and the
evidence. All of these are on record, so the same code, given them again, makes the same events:
a run that was cut off is resumed by retracing it and going on, and a finished one is replayed to
see that it comes out the same. Nothing is asked, and nothing paid for, twice.
"""

from collections import defaultdict, deque
from collections.abc import Iterable

from auditcoder.domain.chain import Entry
from auditcoder.domain.events import CheckRan, Event, ReplyRecorded, RunResumed
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.request import Finish
from auditcoder.domain.values import CheckId, Digest, encode


class Past:
    """The entries that have yet to be gone through. Not safe for threads by itself."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = deque(entries)
        self._replies: dict[Digest, deque[ReplyRecorded]] = defaultdict(deque)
        for entry in self._entries:
            if isinstance(entry.event, ReplyRecorded) and not brought_nothing(entry.event):
                self._replies[entry.event.request].append(entry.event)

    def __bool__(self) -> bool:
        """Whether anything is left."""
        return bool(self._entries)

    def next(self) -> Entry | None:
        """Return the next entry."""
        return self._entries[0] if self._entries else None

    def take(self) -> Entry:
        """Return the next entry and step past it."""
        return self._entries.popleft()

    def is_next(self, event: Event) -> bool:
        """Whether `event` is what came next, to the last byte."""
        return bool(self._entries) and encode(self._entries[0].event) == encode(event)

    def reply_to(self, request: Digest) -> ReplyRecorded | None:
        """Return the next recorded reply to a request; each is given out once."""
        waiting = self._replies.get(request)
        return waiting.popleft() if waiting else None

    def evidence(self, check: CheckId, against: Digest) -> Evidence | None:
        """Return what a check saw, if that is what came next."""
        if self._entries and isinstance(event := self._entries[0].event, CheckRan):
            found = event.evidence
            if (found.check, found.against) == (check, against):
                return found
        return None


def brought_nothing(event: Event) -> bool:
    """Whether an event is no step of the life itself: a resumption, or a call without answer."""
    if isinstance(event, ReplyRecorded):
        return event.finish == Finish.FAILED.value
    return isinstance(event, RunResumed)
