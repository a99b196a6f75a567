"""Clean and smooth the readings of a sensor and find the stretches with an alarm.

A reading is a number, or None if it is missing. Missing readings between two known ones are filled
in on a straight line; those before the first or after the last known one repeat it. Then a reading
that differs from both its neighbours by more than `spike`, in the same direction, is replaced by
the mean of these neighbours (as they were before any replacing). Then each reading becomes the
mean of all readings at most `radius` places away. Return the smoothed readings rounded to two
decimals, and the list of stretches (first, last) of positions at which the rounded value is
greater than `limit`. If no reading is known, both lists are empty.
"""

from itertools import pairwise


def fill_missing(readings: list[float | None]) -> list[float]:
    """Fill in the missing readings; nothing comes out if none is known.

    kind: general
    ensures: len(result) in (0, len(readings))
    cost: O(n)
    example: fill_missing([None, 1, None, 3]) == [1, 1, 2, 3]
    """
    known = [(place, value) for place, value in enumerate(readings) if value is not None]
    if not known:
        return []
    filled = [known[0][1]] * len(readings)
    for (left, before), (right, after) in pairwise(known):
        for place in range(left, right):
            filled[place] = before + (after - before) * (place - left) / (right - left)
    last, value = known[-1]
    for place in range(last, len(readings)):
        filled[place] = value
    return filled


def is_spike(before: float, value: float, after: float, spike: float) -> bool:
    """Tell whether a value stands out from both its neighbours in the same direction.

    kind: math
    example: is_spike(1, 9, 2, 5) == True
    """
    upwards = value - before > spike and value - after > spike
    downwards = before - value > spike and after - value > spike
    return upwards or downwards


def remove_spikes(values: list[float], spike: float) -> list[float]:
    """Replace every spike by the mean of its neighbours; the ends stay.

    kind: general
    uses: is_spike
    ensures: len(result) == len(values)
    example: remove_spikes([1, 9, 3], 5) == [1, 2, 3]
    """
    calm = list(values)
    for place in range(1, len(values) - 1):
        before, value, after = values[place - 1 : place + 2]
        if is_spike(before, value, after, spike):
            calm[place] = (before + after) / 2
    return calm


def moving_mean(values: list[float], radius: int) -> list[float]:
    """Average each value with those at most `radius` places away, by means of prefix sums.

    kind: math
    requires: radius >= 0
    ensures: len(result) == len(values)
    cost: O(n)
    example: moving_mean([2, 4], 0) == [2, 4]
    """
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    means = []
    for place in range(len(values)):
        first = max(0, place - radius)
        end = min(len(values), place + radius + 1)
        means.append(round((sums[end] - sums[first]) / (end - first), 2))
    return means


def stretches_above(values: list[float], limit: float) -> list[tuple[int, int]]:
    """List the stretches of positions whose values are greater than the limit.

    kind: two_pointer
    """
    stretches = []
    start = None
    for place, value in enumerate(values):
        if value > limit and start is None:
            start = place
        elif value <= limit and start is not None:
            stretches.append((start, place - 1))
            start = None
    if start is not None:
        stretches.append((start, len(values) - 1))
    return stretches


def smooth_readings(
    readings: list[float | None], radius: int, spike: float, limit: float
) -> tuple[list[float], list[tuple[int, int]]]:
    """Return the smoothed readings and the stretches with an alarm.

    kind: orchestration
    """
    filled = fill_missing(readings)
    if not filled:
        return [], []
    smoothed = moving_mean(remove_spikes(filled, spike), radius)
    return smoothed, stretches_above(smoothed, limit)


EXAMPLES = (
    ("[None, None], 1, 5, 10", "([], [])"),
    ("[4, 6, 5], 0, 10, 5", "([4, 6, 5], [(1, 1)])"),
    ("[None, 2, None, None, 8, None], 0, 50, 4", "([2, 2, 4, 6, 8, 8], [(3, 5)])"),
    ("[1, 2, 3, 4, 6], 1, 5, 2.5", "([1.5, 2, 3, 4.33, 5], [(2, 4)])"),
    (
        "[10, 30, 12, 11, -9, 13, 40, 50], 0, 15, 11",
        "([10, 11, 12, 11, 12, 13, 40, 50], [(2, 2), (4, 7)])",
    ),
    (
        "[5, 20, 5, 20, None, 5, 5, None, 9], 2, 10, 9",
        "([10.0, 12.5, 12.5, 12.5, 12.5, 9.9, 7.7, 6.5, 7.0], [(0, 5)])",
    ),
    ("[0, 6, 1, 6, 2, 7], 1, 5, 3", "([3.0, 2.33, 4.33, 3.0, 5.0, 4.5], [(2, 2), (4, 5)])"),
)

LARGE = "[None if i % 5 == 2 else i * 37 % 101 + i % 400 // 8 for i in range(1500)], 100, 30, 75"
