"""The functions of grid_paths, written again by their contracts alone."""


def find_mark(grid: list[str], mark: str) -> tuple[int, int]:
    """Return line and column of the first place of a mark, or (-1, -1)."""
    places = ((number, line.index(mark)) for number, line in enumerate(grid) if mark in line)
    return next(places, (-1, -1))


def read_grid(data: str) -> tuple[list[str], tuple[int, int], tuple[int, int]]:
    """Return the lines of the map, the start and the goal."""
    grid = data.splitlines() or [""]
    return grid, find_mark(grid, "S"), find_mark(grid, "G")


def open_neighbours(grid: list[str], cell: tuple[int, int]) -> list[tuple[str, tuple[int, int]]]:
    """Return the letter and the place of every step that is possible, by letter."""
    steps = {"D": (1, 0), "L": (0, -1), "R": (0, 1), "U": (-1, 0)}
    found: list[tuple[str, tuple[int, int]]] = []
    for letter, (down, right) in steps.items():
        line, column = cell[0] + down, cell[1] + right
        if line < 0 or column < 0 or line >= len(grid) or column >= len(grid[line]):
            continue
        if grid[line][column] != "#":
            found.append((letter, (line, column)))
    return found


def steps_to(grid: list[str], goal: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Return the fewest steps to the goal from every field, the nearest fields first."""
    steps = {goal: 0}
    wave, distance = [goal], 0
    while wave:
        distance += 1
        reached = [place for cell in wave for _, place in open_neighbours(grid, cell)]
        wave = [place for place in dict.fromkeys(reached) if place not in steps]
        steps.update(dict.fromkeys(wave, distance))
    return steps


def count_ways(grid: list[str], steps: dict[tuple[int, int], int], start: tuple[int, int]) -> int:
    """Return the number of shortest ways from the start to the field that is 0 steps away."""
    # Walk down from the start, one wave per step, carrying the number of ways to each field.
    wave = {start: 1}
    for left in range(steps[start] - 1, -1, -1):
        following: dict[tuple[int, int], int] = {}
        for cell, ways in wave.items():
            for _, place in open_neighbours(grid, cell):
                if steps.get(place) == left:
                    following[place] = following.get(place, 0) + ways
        wave = following
    return sum(wave.values())


def first_route(grid: list[str], steps: dict[tuple[int, int], int], start: tuple[int, int]) -> str:
    """Return the letters of the first shortest way in the alphabet."""
    route, cell = "", start
    for left in reversed(range(steps[start])):
        letter, cell = min(
            step for step in open_neighbours(grid, cell) if steps.get(step[1]) == left
        )
        route += letter
    return route


def solve(data: str) -> str:
    """Print length, number and first of the shortest ways."""
    grid, start, goal = read_grid(data)
    if (-1, -1) in {start, goal}:
        return "bad map"
    steps = steps_to(grid, goal)
    if start not in steps:
        return "no way"
    ways, route = count_ways(grid, steps, start), first_route(grid, steps, start)
    return f"steps {steps[start]}\nways {ways}\nroute {route}"
