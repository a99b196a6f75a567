"""Report how a shared machine is booked during its opening hours.

Bookings are pairs (start, end) of whole minutes with start before end, in any order; they may
overlap. Only the part of a booking between opening and closing counts. Return a dictionary:
"busy" is the list of merged busy stretches in order (stretches that touch are joined), "minutes"
is how long the machine is busy, "gap" is the longest free stretch as a pair (the earliest of
equally long ones, or None if there is none), and "peak" is a pair of the greatest number of
bookings at the same time and the first minute at which it is reached. A booking that ends when
another starts does not overlap it. Without bookings, "peak" is (0, opening).
"""


def clip_to_hours(
    bookings: list[tuple[int, int]], opening: int, closing: int
) -> list[tuple[int, int]]:
    """Cut the bookings to the opening hours, drop what lies outside, and sort them.

    kind: sorting
    requires: opening <= closing
    ensures: all(opening <= start < end <= closing for start, end in result)
    ensures: result == sorted(result)
    example: clip_to_hours([(0, 5), (8, 20)], 3, 10) == [(3, 5), (8, 10)]
    """
    clipped = []
    for start, end in bookings:
        first, last = max(start, opening), min(end, closing)
        if first < last:
            clipped.append((first, last))
    return sorted(clipped)


def merge_touching(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join the sorted intervals that overlap or touch.

    kind: greedy
    requires: intervals == sorted(intervals)
    ensures: len(result) <= len(intervals)
    cost: O(n)
    example: merge_touching([(1, 3), (3, 4), (6, 7)]) == [(1, 4), (6, 7)]
    """
    merged: list[tuple[int, int]] = []
    for start, end in intervals:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def longest_gap(busy: list[tuple[int, int]], opening: int, closing: int) -> tuple[int, int] | None:
    """Find the longest free stretch, the earliest of equally long ones.

    kind: general
    example: longest_gap([], 3, 9) == (3, 9)
    """
    best = None
    length = 0
    free_from = opening
    for start, end in [*busy, (closing, closing)]:
        if start - free_from > length:
            best = (free_from, start)
            length = start - free_from
        free_from = end
    return best


def sweep_events(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """List the moments at which a booking starts (+1) or ends (-1), ends first on equal times.

    kind: sorting
    ensures: len(result) == 2 * len(intervals)
    ensures: sum(change for _, change in result) == 0
    """
    events = []
    for start, end in intervals:
        events.append((start, 1))
        events.append((end, -1))
    events.sort()
    return events


def peak_load(intervals: list[tuple[int, int]], opening: int) -> tuple[int, int]:
    """Return the greatest number of simultaneous bookings and when it is first reached.

    kind: general
    uses: sweep_events
    example: peak_load([(1, 5), (2, 4)], 0) == (2, 2)
    """
    depth = 0
    most, when = 0, opening
    for moment, change in sweep_events(intervals):
        depth += change
        if depth > most:
            most, when = depth, moment
    return most, when


def booking_report(
    bookings: list[tuple[int, int]], opening: int, closing: int
) -> dict[str, object]:
    """Report busy stretches, busy minutes, the longest gap and the peak.

    kind: orchestration
    """
    clipped = clip_to_hours(bookings, opening, closing)
    busy = merge_touching(clipped)
    return {
        "busy": busy,
        "minutes": sum(end - start for start, end in busy),
        "gap": longest_gap(busy, opening, closing),
        "peak": peak_load(clipped, opening),
    }


EXAMPLES = (
    ("[], 8, 17", "{'busy': [], 'minutes': 0, 'gap': (8, 17), 'peak': (0, 8)}"),
    (
        "[(10, 20)], 0, 30",
        "{'busy': [(10, 20)], 'minutes': 10, 'gap': (0, 10), 'peak': (1, 10)}",
    ),
    (
        "[(0, 50), (90, 200)], 20, 100",
        "{'busy': [(20, 50), (90, 100)], 'minutes': 40, 'gap': (50, 90), 'peak': (1, 20)}",
    ),
    (
        "[(30, 40), (10, 20), (20, 30), (60, 70), (12, 15), (61, 63)], 5, 100",
        "{'busy': [(10, 40), (60, 70)], 'minutes': 40, 'gap': (70, 100), 'peak': (2, 12)}",
    ),
    (
        "[(5, 9), (1, 8), (2, 3), (6, 7), (9, 12), (14, 16)], 1, 14",
        "{'busy': [(1, 12)], 'minutes': 11, 'gap': (12, 14), 'peak': (3, 6)}",
    ),
    (
        "[(0, 4), (4, 8), (9, 11)], 0, 8",
        "{'busy': [(0, 8)], 'minutes': 8, 'gap': None, 'peak': (1, 0)}",
    ),
)

LARGE = "[(i * 7919 % 60000, i * 7919 % 60000 + i % 90 + 1) for i in range(2000)], 1000, 59000"
