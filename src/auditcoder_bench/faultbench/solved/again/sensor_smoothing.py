"""The functions of sensor_smoothing, written again by their contracts alone."""

from itertools import accumulate, groupby


def fill_missing(readings: list[float | None]) -> list[float]:
    """Interpolate between known readings and repeat the outermost ones."""
    filled: list[float] = []
    last = next((value for value in readings if value is not None), None)
    if last is None:
        return filled
    gap = 0
    for value in readings:
        if value is None:
            gap += 1
            continue
        if filled:
            step = (value - last) / (gap + 1)
            filled.extend(last + step * place for place in range(1, gap + 1))
        else:
            filled.extend([value] * gap)
        filled.append(value)
        last, gap = value, 0
    return filled + [last] * gap


def is_spike(before: float, value: float, after: float, spike: float) -> bool:
    """Check that both differences are large and have the same sign."""
    rise, fall = value - before, value - after
    return min(abs(rise), abs(fall)) > spike and (rise > 0) == (fall > 0)


def remove_spikes(values: list[float], spike: float) -> list[float]:
    """Copy the values and level the spikes within."""
    smooth = list(values)
    for place, (before, value, after) in enumerate(
        zip(values, values[1:], values[2:], strict=False), 1
    ):
        if is_spike(before, value, after, spike):
            smooth[place] = (before + after) / 2
    return smooth


def moving_mean(values: list[float], radius: int) -> list[float]:
    """Take differences of prefix sums over each window."""
    sums = list(accumulate(values, initial=0.0))
    means: list[float] = []
    for place in range(len(values)):
        window = range(len(values))[max(place - radius, 0) : place + radius + 1]
        means.append((sums[window.stop] - sums[window.start]) / len(window))
    return means


def stretches_above(values: list[float], limit: float) -> list[tuple[int, int]]:
    """Group neighbouring positions by whether they are above the limit."""
    found: list[tuple[int, int]] = []
    for above, group in groupby(range(len(values)), key=lambda place: values[place] > limit):
        places = list(group)
        if above:
            found.append((places[0], places[-1]))
    return found


def smooth_readings(
    readings: list[float | None], radius: int, spike: float, limit: float
) -> tuple[list[float], list[tuple[int, int]]]:
    """Fill, clean, smooth and round the readings and find the alarms."""
    clean = remove_spikes(fill_missing(readings), spike)
    rounded = [round(mean, 2) for mean in moving_mean(clean, radius)]
    return rounded, stretches_above(rounded, limit)
