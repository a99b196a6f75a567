def parse_map(raw_input: str) -> tuple[list[str], int]:
    first, *rows = raw_input.split("\n")
    height, _, column = map(int, first.split())
    return rows[:height], column
