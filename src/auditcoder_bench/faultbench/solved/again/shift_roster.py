"""The functions of shift_roster, written again by their contracts alone."""

from collections import defaultdict
from heapq import nsmallest


def blocked_days(leave: list[tuple[str, int]]) -> dict[str, set[int]]:
    """Gather each person's days of leave in a set."""
    days: defaultdict[str, set[int]] = defaultdict(set)
    for person, day in leave:
        days[person].add(day)
    return dict(days)


def can_work(worker: str, day: int, blocked: dict[str, set[int]], last_day: dict[str, int]) -> bool:
    """Check leave and the last shift of a worker."""
    if worker in blocked and day in blocked[worker]:
        return False
    return worker not in last_day or last_day[worker] + 1 != day


def free_workers(
    workers: list[str], day: int, blocked: dict[str, set[int]], last_day: dict[str, int]
) -> list[str]:
    """Keep those who can work on the day."""
    return list(filter(lambda worker: can_work(worker, day, blocked, last_day), workers))


def pick_least_busy(names: list[str], counts: dict[str, int], wanted: int) -> list[str]:
    """Take the names with the fewest shifts, ties by the alphabet."""
    return nsmallest(wanted, names, key=lambda name: (counts.get(name, 0), name))


def record_shift(
    chosen: list[str], day: int, counts: dict[str, int], last_day: dict[str, int]
) -> None:
    """Count a shift for each of the chosen and remember its day."""
    last_day.update(dict.fromkeys(chosen, day))
    for name in chosen:
        counts[name] = 1 + counts.get(name, 0)


def build_roster(
    workers: list[str], blocked: dict[str, set[int]], days: int, wanted: int
) -> tuple[list[list[str]], dict[str, int]]:
    """Fill one day after the other with the least busy."""
    roster: list[list[str]] = []
    counts = dict.fromkeys(workers, 0)
    last_day: dict[str, int] = {}
    while len(roster) < days:
        today = len(roster) + 1
        able = free_workers(workers, today, blocked, last_day)
        roster.append(pick_least_busy(able, counts, wanted))
        record_shift(roster[-1], today, counts, last_day)
    return roster, counts


def short_days(roster: list[list[str]], wanted: int) -> list[int]:
    """Number the days from 1 and keep those that lack workers."""
    return [day for day, team in enumerate(roster, start=1) if len(team) < wanted]


def shift_roster(
    workers: list[str], leave: list[tuple[str, int]], days: int, wanted: int
) -> tuple[list[list[str]], dict[str, int], list[int]]:
    """Plan all days and say which are short."""
    roster, counts = build_roster(workers, blocked_days(leave), days, wanted)
    return roster, counts, short_days(roster, wanted)
