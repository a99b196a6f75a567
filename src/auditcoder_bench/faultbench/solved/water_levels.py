"""Find the pools that rain leaves between walls.

The heights of a row of columns, each one metre wide, are given as whole numbers of at least 0.
After long rain water stands wherever there is higher ground on both sides; it runs off at the
two ends. Columns next to each other that are under water make one pool. Return the total volume,
all pools from left to right, each with its first and last column (counted from 0) and its
volume, and the pool with the greatest volume; of equal ones the leftmost. If there is no pool,
the list is empty and the greatest pool is (-1, -1, 0).
"""


def left_walls(heights: list[int]) -> list[int]:
    """Return for each column the greatest height from the left end up to it.

    kind: dp
    ensures: len(result) == len(heights)
    ensures: result == sorted(result)
    example: left_walls([2, 1, 3]) == [2, 2, 3]
    """
    walls = []
    highest = 0
    for height in heights:
        highest = max(highest, height)
        walls.append(highest)
    return walls


def right_walls(heights: list[int]) -> list[int]:
    """Return for each column the greatest height from it to the right end.

    kind: dp
    ensures: len(result) == len(heights)
    example: right_walls([]) == []
    """
    walls = list(heights)
    for place in range(len(heights) - 2, -1, -1):
        walls[place] = max(walls[place], walls[place + 1])
    return walls


def water_surface(left: list[int], right: list[int]) -> list[int]:
    """Return the height up to which water can stand in each column.

    kind: general
    requires: len(left) == len(right)
    """
    surface = []
    for place in range(len(left)):
        lower_wall = min(left[place], right[place])
        surface.append(lower_wall)
    return surface


def pool_volume(heights: list[int], surface: list[int], first: int, last: int) -> int:
    """Return how much water stands between two columns, both included.

    kind: math
    requires: 0 <= first <= last < len(heights)
    ensures: result >= 0
    example: pool_volume([3, 1, 3], [3, 3, 3], 1, 1) == 2
    """
    volume = 0
    for place in range(first, last + 1):
        volume += surface[place] - heights[place]
    return volume


def find_pools(heights: list[int], surface: list[int]) -> list[tuple[int, int, int]]:
    """Return first column, last column and volume of every pool, from left to right.

    kind: general
    uses: pool_volume
    ensures: all(first <= last and volume > 0 for first, last, volume in result)
    cost: O(n)
    """
    pools = []
    first = -1
    for place, height in enumerate(heights):
        under_water = surface[place] > height
        if under_water and first < 0:
            first = place
        elif not under_water and first >= 0:
            pools.append((first, place - 1, pool_volume(heights, surface, first, place - 1)))
            first = -1
    return pools


def greatest_pool(pools: list[tuple[int, int, int]]) -> tuple[int, int, int]:
    """Return the pool with the greatest volume.

    kind: general
    example: greatest_pool([(1, 1, 2), (3, 5, 4)]) == (3, 5, 4)
    """
    greatest = (-1, -1, 0)
    for pool in pools:
        if pool[2] > greatest[2]:
            greatest = pool
    return greatest


def water_levels(
    heights: list[int],
) -> tuple[int, list[tuple[int, int, int]], tuple[int, int, int]]:
    """Return the total volume, all pools and the greatest one.

    kind: orchestration
    requires: all(height >= 0 for height in heights)
    ensures: result[0] >= result[2][2]
    """
    surface = water_surface(left_walls(heights), right_walls(heights))
    pools = find_pools(heights, surface)
    total = sum(volume for _, _, volume in pools)
    return total, pools, greatest_pool(pools)


EXAMPLES = (
    ("[]", "(0, [], (-1, -1, 0))"),
    ("[3, 2, 1]", "(0, [], (-1, -1, 0))"),
    ("[2, 0, 0, 1]", "(2, [(1, 2, 2)], (1, 2, 2))"),
    ("[5, 1, 2, 1, 4]", "(8, [(1, 3, 8)], (1, 3, 8))"),
    ("[3, 0, 3, 0, 3]", "(6, [(1, 1, 3), (3, 3, 3)], (1, 1, 3))"),
    (
        "[0, 1, 0, 2, 1, 0, 1, 3, 2, 1, 2, 1]",
        "(6, [(2, 2, 1), (4, 6, 4), (9, 9, 1)], (4, 6, 4))",
    ),
)

LARGE = "[abs(abs(i - 1000) - 700) + i * 7 % 13 for i in range(2000)]"
