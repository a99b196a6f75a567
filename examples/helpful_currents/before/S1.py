def route_count(raw_input: str) -> int | None:
    grid, start = parse_map(raw_input)
    return count_routes(grid, start)
