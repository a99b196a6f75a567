MODULUS = 1000003


def count_routes(grid: list[str], start: int) -> int | None:
    ways = {start: 1}
    for row in reversed(grid):
        ways = settle(row, ways)
        if "@" in row:
            return ways.get(row.index("@"))
        ways = {column: n for column, n in ways.items() if row[column] == "~"}
    return None


def settle(row: str, ways: dict[int, int]) -> dict[int, int]:
    ways = {column: n for column, n in ways.items() if row[column] != "#"}
    for columns, current, step in (
        (range(len(row)), ">", 1),
        (range(len(row) - 1, -1, -1), "<", -1),
    ):
        for column in columns:
            if column in ways and row[column] == current:
                ways[column + step] = (ways.get(column + step, 0) + ways[column]) % MODULUS
    return ways
