"""The functions of interval_merge_report, written again by their contracts alone."""

from itertools import accumulate


def clip_to_hours(
    bookings: list[tuple[int, int]], opening: int, closing: int
) -> list[tuple[int, int]]:
    """Cut the bookings to the opening hours, drop what lies outside, and sort them."""
    cut = ((max(start, opening), min(end, closing)) for start, end in bookings)
    return sorted(pair for pair in cut if pair[0] < pair[1])


def merge_touching(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join the sorted intervals that overlap or touch."""
    merged: list[tuple[int, int]] = []
    for start, end in intervals:
        if merged and start <= merged[-1][1]:
            before = merged.pop()
            start, end = before[0], max(before[1], end)
        merged.append((start, end))
    return merged


def longest_gap(busy: list[tuple[int, int]], opening: int, closing: int) -> tuple[int, int] | None:
    """Find the longest free stretch, the earliest of equally long ones."""
    begins = [opening, *(end for _, end in busy)]
    ends = [*(start for start, _ in busy), closing]
    gaps = [gap for gap in zip(begins, ends, strict=True) if gap[0] < gap[1]]
    return max(gaps, key=lambda gap: gap[1] - gap[0], default=None)


def sweep_events(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """List the moments at which a booking starts (+1) or ends (-1), ends first on equal times."""
    starts = [(start, 1) for start, _ in intervals]
    return sorted(starts + [(end, -1) for _, end in intervals])


def peak_load(intervals: list[tuple[int, int]], opening: int) -> tuple[int, int]:
    """Return the greatest number of simultaneous bookings and when it is first reached."""
    events = sweep_events(intervals)
    if not events:
        return 0, opening
    loads = list(accumulate(change for _, change in events))
    highest = max(loads)
    return highest, events[loads.index(highest)][0]


def booking_report(
    bookings: list[tuple[int, int]], opening: int, closing: int
) -> dict[str, object]:
    """Report busy stretches, busy minutes, the longest gap and the peak."""
    clipped = clip_to_hours(bookings, opening, closing)
    busy = merge_touching(clipped)
    return {
        "busy": busy,
        "minutes": sum(end for _, end in busy) - sum(start for start, _ in busy),
        "gap": longest_gap(busy, opening, closing),
        "peak": peak_load(clipped, opening),
    }
