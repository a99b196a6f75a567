"""Survey a map of islands.

The map is a list of rows of equal length in which "#" is land and any other character is water.
Land cells that share a side belong to the same island. A lake is a group of water cells, also
joined by their sides, that does not reach the edge of the map. Return a dictionary: "areas" holds
the areas of the islands from the largest to the smallest, "coast" is the length of the shore of
the largest island (every side of its cells at which there is no land, the edge of the map and
lakes included; of equally large islands the one found first in reading order), and "lakes" is the
number of lakes. An empty map has no islands, a coast of 0 and no lakes.
"""


def neighbours(row: int, column: int, height: int, width: int) -> list[tuple[int, int]]:
    """List the cells of the map that share a side with this one.

    kind: general
    requires: 0 <= row < height and 0 <= column < width
    ensures: all(0 <= r < height and 0 <= c < width for r, c in result)
    example: neighbours(0, 0, 1, 2) == [(0, 1)]
    """
    near = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
    return [(r, c) for r, c in near if 0 <= r < height and 0 <= c < width]


def flood(
    rows: list[str], start: tuple[int, int], seen: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Collect the cells of the same sort that hang together with the start, and mark them as seen.

    kind: graph_dfs
    uses: neighbours
    cost: O(n)
    """
    land = rows[start[0]][start[1]] == "#"
    seen.add(start)
    waiting = [start]
    cells = []
    while waiting:
        row, column = waiting.pop()
        cells.append((row, column))
        for r, c in neighbours(row, column, len(rows), len(rows[0])):
            if (r, c) not in seen and (rows[r][c] == "#") == land:
                seen.add((r, c))
                waiting.append((r, c))
    return cells


def split_regions(
    rows: list[str],
) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
    """Divide the map into its islands and its waters, each in reading order.

    kind: graph_dfs
    uses: flood
    ensures: sum(map(len, result[0])) == sum(row.count("#") for row in rows)
    example: split_regions([".#"]) == ([[(0, 1)]], [[(0, 0)]])
    """
    islands = []
    waters = []
    seen: set[tuple[int, int]] = set()
    for row, line in enumerate(rows):
        for column, mark in enumerate(line):
            if (row, column) in seen:
                continue
            region = flood(rows, (row, column), seen)
            if mark == "#":
                islands.append(region)
            else:
                waters.append(region)
    return islands, waters


def coast_length(island: list[tuple[int, int]]) -> int:
    """Count the sides of an island's cells behind which the island does not go on.

    kind: general
    ensures: result % 2 == 0
    example: coast_length([(0, 0)]) == 4
    """
    cells = set(island)
    sides = 4 * len(island)
    for row, column in island:
        if (row, column + 1) in cells:
            sides -= 2
        if (row + 1, column) in cells:
            sides -= 2
    return sides


def is_lake(water: list[tuple[int, int]], height: int, width: int) -> bool:
    """Tell whether none of the water's cells lies at the edge of the map.

    kind: general
    requires: height > 0 and width > 0
    example: is_lake([(1, 1)], 3, 3) == True
    """
    return all(0 < row < height - 1 and 0 < column < width - 1 for row, column in water)


def survey(rows: list[str]) -> dict[str, object]:
    """Report the areas of the islands, the coast of the largest, and the number of lakes.

    kind: orchestration
    """
    if not rows or not rows[0]:
        return {"areas": [], "coast": 0, "lakes": 0}
    islands, waters = split_regions(rows)
    coast = coast_length(max(islands, key=len)) if islands else 0
    height, width = len(rows), len(rows[0])
    return {
        "areas": sorted((len(island) for island in islands), reverse=True),
        "coast": coast,
        "lakes": sum(1 for water in waters if is_lake(water, height, width)),
    }


EXAMPLES = (
    ("[]", "{'areas': [], 'coast': 0, 'lakes': 0}"),
    ("['...', '...']", "{'areas': [], 'coast': 0, 'lakes': 0}"),
    ("['#.', '.#']", "{'areas': [1, 1], 'coast': 4, 'lakes': 0}"),
    (
        "['####.#', '#..#..', '####.#', '.....#']",
        "{'areas': [10, 2, 1], 'coast': 20, 'lakes': 1}",
    ),
    (
        "['##...', '.#.##', '....#', '#..##', '.....']",
        "{'areas': [5, 3, 1], 'coast': 12, 'lakes': 0}",
    ),
    (
        "['##..###', '##..###', '.......', '#####..', '#.#.#..', '#####..', '.......']",
        "{'areas': [13, 6, 4], 'coast': 24, 'lakes': 2}",
    ),
    (
        "['#.###', '#....', '#.#..']",
        "{'areas': [3, 3, 1], 'coast': 8, 'lakes': 0}",
    ),
)

LARGE = "[''.join('#.'[i * i * j % 17 > 8] for j in range(60)) for i in range(60)]"
