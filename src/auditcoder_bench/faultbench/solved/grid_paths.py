"""Describe the shortest ways through a map.

The map is given as lines: S is the start, G the goal, # a wall, and everything else can be
walked on. One step leads to the neighbouring field above, below, left or right; lines may differ
in length, and what is beyond their end cannot be entered. Print three lines: the number of steps
of a shortest way (steps 4), how many different shortest ways there are (ways 6), and the first
of them in the alphabet (route DDRR), where D is down, L left, R right and U up. If the goal
cannot be reached print only: no way. If the start or the goal is missing print only: bad map.
If a mark occurs several times, the one in the highest line counts, and in it the leftmost.
"""

from collections import deque


def find_mark(grid: list[str], mark: str) -> tuple[int, int]:
    """Return line and column of the first place of a mark, or (-1, -1).

    kind: string
    requires: len(mark) == 1
    example: find_mark(["..", ".S"], "S") == (1, 1)
    """
    for row, line in enumerate(grid):
        if mark in line:
            return row, line.index(mark)
    return -1, -1


def read_grid(data: str) -> tuple[list[str], tuple[int, int], tuple[int, int]]:
    """Return the lines of the map, the start and the goal.

    kind: string
    uses: find_mark
    ensures: len(result[0]) >= 1
    example: read_grid("SG") == (["SG"], (0, 0), (0, 1))
    """
    grid = data.split("\n")
    start = find_mark(grid, "S")
    goal = find_mark(grid, "G")
    return grid, start, goal


def open_neighbours(grid: list[str], cell: tuple[int, int]) -> list[tuple[str, tuple[int, int]]]:
    """Return the letter and the place of every step that is possible, by letter.

    kind: general
    ensures: len(result) <= 4
    example: open_neighbours(["S#", "."], (0, 0)) == [("D", (1, 0))]
    """
    row, column = cell
    found = []
    for letter, down, right in (("D", 1, 0), ("L", 0, -1), ("R", 0, 1), ("U", -1, 0)):
        line, place = row + down, column + right
        if not 0 <= line < len(grid) or not 0 <= place < len(grid[line]):
            continue
        if grid[line][place] != "#":
            found.append((letter, (line, place)))
    return found


def steps_to(grid: list[str], goal: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Return the fewest steps to the goal from every field, the nearest fields first.

    kind: graph_bfs
    uses: open_neighbours
    ensures: result[goal] == 0
    ensures: list(result.values()) == sorted(result.values())
    cost: O(fields)
    """
    steps = {goal: 0}
    waiting = deque([goal])
    while waiting:
        cell = waiting.popleft()
        for _, other in open_neighbours(grid, cell):
            if other not in steps:
                steps[other] = steps[cell] + 1
                waiting.append(other)
    return steps


def count_ways(grid: list[str], steps: dict[tuple[int, int], int], start: tuple[int, int]) -> int:
    """Return the number of shortest ways from the start to the field that is 0 steps away.

    kind: dp
    uses: open_neighbours
    requires: start in steps
    ensures: result >= 1
    cost: O(fields)
    """
    ways: dict[tuple[int, int], int] = {}
    for cell, distance in steps.items():
        ways[cell] = 1 if distance == 0 else 0
        for _, other in open_neighbours(grid, cell):
            if steps[other] == distance - 1:
                ways[cell] += ways[other]
    return ways[start]


def first_route(grid: list[str], steps: dict[tuple[int, int], int], start: tuple[int, int]) -> str:
    """Return the letters of the first shortest way in the alphabet.

    kind: greedy
    uses: open_neighbours
    requires: start in steps
    ensures: len(result) == steps[start]
    example: first_route(["SG"], {(0, 1): 0, (0, 0): 1}, (0, 0)) == "R"
    """
    route = ""
    cell = start
    while steps[cell] > 0:
        nearer = [
            (letter, other)
            for letter, other in open_neighbours(grid, cell)
            if steps[other] < steps[cell]
        ]
        letter, cell = min(nearer)
        route += letter
    return route


def solve(data: str) -> str:
    """Print length, number and first of the shortest ways.

    kind: orchestration
    """
    grid, start, goal = read_grid(data)
    if start == (-1, -1) or goal == (-1, -1):
        return "bad map"
    steps = steps_to(grid, goal)
    if start not in steps:
        return "no way"
    ways = count_ways(grid, steps, start)
    return f"steps {steps[start]}\nways {ways}\nroute {first_route(grid, steps, start)}"


EXAMPLES = (
    ("...", "bad map"),
    ("S#G", "no way"),
    ("S.\n.G", "steps 2\nways 2\nroute DR"),
    ("S..\n...\n..G", "steps 4\nways 6\nroute DDRR"),
    ("S.#.\n..#.\n#...\nG...", "steps 5\nways 2\nroute DRDDL"),
    ("G..\n##.\nS..", "steps 6\nways 1\nroute RRUULL"),
    ("..S\n.\n.GG", "steps 5\nways 1\nroute LLDDR"),
)

LARGE = (
    "'S' + '\\n'.join(''.join('.#'[i * j % 11 == 7] for j in range(60)) for i in range(60)) + 'G'"
)
