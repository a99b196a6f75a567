"""Plan who works on which day.

There are days numbered from 1, and every day wants the same number of workers. Nobody works on
two days running, and nobody works on a day of leave, given as (worker, day). Each day is filled
in turn with those who have had the fewest shifts so far; among equals the name that comes first
in the alphabet is taken. If too few can work, the day is filled as far as possible. Leave of
people who are not on the list does not matter. Return the workers of each day in the order in
which they were chosen, the number of shifts of every worker (also those with none), and the
numbers of the days that are short of people.
"""


def blocked_days(leave: list[tuple[str, int]]) -> dict[str, set[int]]:
    """Collect the days of leave of each person.

    kind: general
    ensures: sum(len(days) for days in result.values()) <= len(leave)
    example: blocked_days([("ann", 2), ("ann", 5)]) == {"ann": {2, 5}}
    """
    blocked: dict[str, set[int]] = {}
    for worker, day in leave:
        blocked.setdefault(worker, set()).add(day)
    return blocked


def can_work(worker: str, day: int, blocked: dict[str, set[int]], last_day: dict[str, int]) -> bool:
    """Say whether a worker is neither on leave nor tired from the day before.

    kind: general
    requires: day >= 1
    cost: O(1)
    example: can_work("ann", 1, {}, {}) == True
    """
    if day in blocked.get(worker, set()):
        return False
    return last_day.get(worker, -1) != day - 1


def free_workers(
    workers: list[str], day: int, blocked: dict[str, set[int]], last_day: dict[str, int]
) -> list[str]:
    """List the workers who can work on a day.

    kind: general
    uses: can_work
    ensures: set(result) <= set(workers)
    """
    return [worker for worker in workers if can_work(worker, day, blocked, last_day)]


def pick_least_busy(names: list[str], counts: dict[str, int], wanted: int) -> list[str]:
    """Choose the wanted number of names, those with the fewest shifts first.

    kind: sorting
    requires: wanted >= 0
    ensures: len(result) == min(wanted, len(names))
    example: pick_least_busy(["b", "a"], {"a": 1, "b": 0}, 1) == ["b"]
    """
    ordered = sorted(names, key=lambda name: (counts[name], name))
    return ordered[:wanted]


def record_shift(
    chosen: list[str], day: int, counts: dict[str, int], last_day: dict[str, int]
) -> None:
    """Note in both tables that the chosen work on this day.

    kind: general
    """
    for worker in chosen:
        counts[worker] += 1
        last_day[worker] = day


def build_roster(
    workers: list[str], blocked: dict[str, set[int]], days: int, wanted: int
) -> tuple[list[list[str]], dict[str, int]]:
    """Fill all days in turn; return the workers of each day and everybody's shifts.

    kind: greedy
    uses: free_workers, pick_least_busy, record_shift
    ensures: len(result[0]) == days
    ensures: sum(result[1].values()) == sum(len(day) for day in result[0])
    example: build_roster(["ann"], {}, 1, 1) == ([["ann"]], {"ann": 1})
    """
    counts = dict.fromkeys(workers, 0)
    last_day: dict[str, int] = {}
    roster = []
    for day in range(1, days + 1):
        free = free_workers(workers, day, blocked, last_day)
        chosen = pick_least_busy(free, counts, wanted)
        record_shift(chosen, day, counts, last_day)
        roster.append(chosen)
    return roster, counts


def short_days(roster: list[list[str]], wanted: int) -> list[int]:
    """Return the numbers of the days with fewer workers than wanted.

    kind: general
    example: short_days([["ann"], []], 1) == [2]
    """
    short = []
    for day, names in enumerate(roster, start=1):
        missing = wanted - len(names)
        if missing > 0:
            short.append(day)
    return short


def shift_roster(
    workers: list[str], leave: list[tuple[str, int]], days: int, wanted: int
) -> tuple[list[list[str]], dict[str, int], list[int]]:
    """Return the roster, the shifts of each worker and the days short of people.

    kind: orchestration
    requires: days >= 0 and wanted >= 0
    """
    blocked = blocked_days(leave)
    roster, counts = build_roster(workers, blocked, days, wanted)
    return roster, counts, short_days(roster, wanted)


EXAMPLES = (
    ("[], [], 2, 1", "([[], []], {}, [1, 2])"),
    ("['ann'], [('ann', 2)], 0, 1", "([], {'ann': 0}, [])"),
    (
        "['ann', 'bob', 'cid'], [], 3, 1",
        "([['ann'], ['bob'], ['cid']], {'ann': 1, 'bob': 1, 'cid': 1}, [])",
    ),
    (
        "['ann', 'bob', 'cid'], [('ann', 1), ('cid', 2)], 3, 2",
        "([['bob', 'cid'], ['ann'], ['bob', 'cid']], {'ann': 1, 'bob': 2, 'cid': 2}, [2])",
    ),
    (
        "['zed', 'amy', 'moe', 'kai', 'bea'], [('amy', 1), ('bea', 2), ('kai', 3)], 5, 2",
        (
            "([['bea', 'kai'], ['amy', 'moe'], ['zed', 'bea'], ['amy', 'kai'], ['moe', 'zed']], "
            "{'zed': 2, 'amy': 2, 'moe': 2, 'kai': 2, 'bea': 2}, [])"
        ),
    ),
    (
        "['amy', 'bob'], [('amy', 3), ('amy', 5), ('zoe', 1)], 5, 1",
        "([['amy'], ['bob'], [], ['amy'], ['bob']], {'amy': 2, 'bob': 2}, [3])",
    ),
)

LARGE = (
    "[f'w{i}' for i in range(300)], [(f'w{i}', d) for i in range(300) for d in (5, i % 80 + 1, "
    "i * 7 % 80 + 1)], 80, 15"
)
