"""The functions of water_levels, written again by their contracts alone."""

from itertools import accumulate, groupby


def left_walls(heights: list[int]) -> list[int]:
    """Return the running maximum from the left."""
    return list(accumulate(heights, max))


def right_walls(heights: list[int]) -> list[int]:
    """Return the running maximum from the right."""
    return list(accumulate(reversed(heights), max))[::-1]


def water_surface(left: list[int], right: list[int]) -> list[int]:
    """Take the lower of both walls at each column."""
    return list(map(min, left, right))


def pool_volume(heights: list[int], surface: list[int], first: int, last: int) -> int:
    """Subtract the ground from the surface over a span of columns."""
    span = slice(first, last + 1)
    return sum(surface[span]) - sum(heights[span])


def find_pools(heights: list[int], surface: list[int]) -> list[tuple[int, int, int]]:
    """Group neighbouring columns by whether they are under water."""
    pools: list[tuple[int, int, int]] = []
    for wet, group in groupby(range(len(heights)), key=lambda at: surface[at] > heights[at]):
        if wet:
            first, *rest = group
            last = rest[-1] if rest else first
            pools.append((first, last, pool_volume(heights, surface, first, last)))
    return pools


def greatest_pool(pools: list[tuple[int, int, int]]) -> tuple[int, int, int]:
    """Return the leftmost of the pools with the most water."""
    return min(pools, key=lambda pool: (-pool[2], pool[0]), default=(-1, -1, 0))


def water_levels(
    heights: list[int],
) -> tuple[int, list[tuple[int, int, int]], tuple[int, int, int]]:
    """Measure all the water, every pool and the greatest one."""
    surface = water_surface(left_walls(heights), right_walls(heights))
    pools = find_pools(heights, surface)
    return sum(surface) - sum(heights), pools, greatest_pool(pools)
