"""The functions of island_survey, written again by their contracts alone."""

from itertools import product


def neighbours(row: int, column: int, height: int, width: int) -> list[tuple[int, int]]:
    """List the cells of the map that share a side with this one."""
    rows = [(r, column) for r in (row - 1, row + 1) if r in range(height)]
    return rows + [(row, c) for c in (column - 1, column + 1) if c in range(width)]


def flood(
    rows: list[str], start: tuple[int, int], seen: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Collect the cells of the same sort that hang together with the start, and mark them."""
    land = rows[start[0]][start[1]] == "#"
    seen.add(start)
    region = [start]
    # The list grows while it is walked through, so that it serves as the queue, too.
    for row, column in region:
        for cell in neighbours(row, column, len(rows), len(rows[0])):
            if cell not in seen and (rows[cell[0]][cell[1]] == "#") is land:
                seen.add(cell)
                region.append(cell)
    return sorted(region)


def split_regions(
    rows: list[str],
) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
    """Divide the map into its islands and its waters, each in reading order."""
    seen: set[tuple[int, int]] = set()
    islands: list[list[tuple[int, int]]] = []
    waters: list[list[tuple[int, int]]] = []
    for cell in product(range(len(rows)), range(len(rows[0]) if rows else 0)):
        if cell not in seen:
            target = islands if rows[cell[0]][cell[1]] == "#" else waters
            target.append(flood(rows, cell, seen))
    return islands, waters


def coast_length(island: list[tuple[int, int]]) -> int:
    """Count the sides of an island's cells behind which the island does not go on."""
    cells = set(island)
    inner = len(cells & {(row + 1, column) for row, column in cells})
    inner += len(cells & {(row, column + 1) for row, column in cells})
    return 4 * len(cells) - 2 * inner


def is_lake(water: list[tuple[int, int]], height: int, width: int) -> bool:
    """Tell whether none of the water's cells lies at the edge of the map."""
    return not any(row in (0, height - 1) or column in (0, width - 1) for row, column in water)


def survey(rows: list[str]) -> dict[str, object]:
    """Report the areas of the islands, the coast of the largest, and the number of lakes."""
    islands, waters = split_regions(rows)
    ranking = sorted(islands, key=len, reverse=True)
    return {
        "areas": [len(island) for island in ranking],
        "coast": coast_length(ranking[0]) if ranking else 0,
        "lakes": sum(is_lake(water, len(rows), len(rows[0])) for water in waters),
    }
