"""The table of replays: which runs were replayed, when, and with what result."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from auditcoder.domain.replay_result import ReplayResult
from auditcoder.domain.table import Row, Table
from auditcoder.domain.values import Digest, RunId

_MOST_NOTES = 20
"""Maximum number of runs whose differences are listed."""


class Status(Enum):
    """What is known about the replay of a run; the value is the label of its row."""

    SAME = "same, checks repeated"
    TRUSTED = "same, recorded results trusted"
    DIFFERED = "differed"
    NOT_REPLAYED = "not replayed"


class ReplayedRun(NamedTuple):
    """A run with the last replay of its present head."""

    run: RunId
    last: ReplayResult | None
    """None if its present head was not replayed."""
    earlier: bool = False
    """Whether only an earlier head was replayed."""

    @property
    def status(self) -> Status:
        """The result of the last replay."""
        if self.last is None:
            return Status.NOT_REPLAYED
        if not self.last.same:
            return Status.DIFFERED
        return Status.SAME if self.last.repeated else Status.TRUSTED


def replayed_run(run: RunId, head: Digest, replays: Sequence[ReplayResult]) -> ReplayedRun:
    """Return the last replay of a run's present head; `replays` are all, oldest first."""
    present = [replay for replay in replays if replay.head == head]
    return ReplayedRun(run, present[-1] if present else None, bool(replays) and not present)


def replay_table(runs: Iterable[ReplayedRun]) -> Table:
    """Return the table of replays."""
    by_status: Mapping[Status, list[ReplayedRun]] = {status: [] for status in Status}
    for each in runs:
        by_status[each.status].append(each)
    return Table(
        name="replays",
        title="Replays",
        columns=("result of the last replay", "runs", "first", "last"),
        rows=tuple(_row(status, found) for status, found in by_status.items()),
        notes=(
            *_listed([_difference(each) for each in by_status[Status.DIFFERED]]),
            *_listed(
                [
                    f"{each.run} was replayed at an earlier head only"
                    for each in by_status[Status.NOT_REPLAYED]
                    if each.earlier
                ]
            ),
        ),
    )


def _row(status: Status, found: list[ReplayedRun]) -> Row:
    dates = sorted(each.last.at for each in found if each.last)
    first, last = (f"{dates[n]:%Y-%m-%d %H:%M} UTC" if dates else None for n in (0, -1))
    return Row(
        cells=(status.value, len(found), first, last), runs=tuple(each.run for each in found)
    )


def _difference(each: ReplayedRun) -> str:
    assert each.last is not None
    what = each.last.differences[0] if each.last.differences else "unknown"
    more = len(each.last.differences) - 1
    others = f" and {more} more" if more > 0 else ""
    version = each.last.versions.get("auditcoder", "")
    by = f" with auditcoder {version}" if version else ""
    return f"{each.run} differed on {each.last.at:%Y-%m-%d}{by}: {what}{others}"


def _listed(notes: list[str]) -> list[str]:
    if len(notes) <= _MOST_NOTES:
        return notes
    return [*notes[:_MOST_NOTES], f"and {len(notes) - _MOST_NOTES} more runs"]
