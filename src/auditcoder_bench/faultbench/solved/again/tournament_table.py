"""The functions of tournament_table, written again by their contracts alone."""


def parse_match(line: str) -> tuple[str, str, int, int]:
    """Take the teams and the goals from a line."""
    home, score, guest = line.split()
    left, _, right = score.partition("-")
    return home, guest, int(left), int(right)


def add_result(table: dict[str, list[int]], team: str, scored: int, conceded: int) -> None:
    """Add points, difference and goals of a match to a team's entry."""
    points = 3 * (scored > conceded) + (scored == conceded)
    entry = table.setdefault(team, [0, 0, 0])
    for column, gain in enumerate((points, scored - conceded, scored)):
        entry[column] += gain


def build_table(lines: list[str]) -> dict[str, list[int]]:
    """Count every match for both of its teams."""
    table: dict[str, list[int]] = {}
    for home, guest, left, right in map(parse_match, filter(str.strip, lines)):
        add_result(table, home, left, right)
        add_result(table, guest, right, left)
    return table


def rank_teams(table: dict[str, list[int]]) -> list[str]:
    """Sort by name and then, stably, by falling entry."""
    return sorted(sorted(table), key=table.__getitem__, reverse=True)


def shared_places(ranked: list[str], table: dict[str, list[int]]) -> list[int]:
    """Give each team the place of the first team with the same entry."""
    first: dict[tuple[int, ...], int] = {}
    return [
        first.setdefault(tuple(table[team]), place) for place, team in enumerate(ranked, start=1)
    ]


def table_line(place: int, team: str, entry: list[int]) -> str:
    """Write place, team, points, signed difference and goals."""
    return "{}. {} {} {:+d} {}".format(place, team, *entry)


def solve(data: str) -> str:
    """Write the table or that there were no matches."""
    table = build_table(data.splitlines())
    ranked = rank_teams(table)
    places = shared_places(ranked, table)
    rows = [
        table_line(place, team, table[team]) for place, team in zip(places, ranked, strict=True)
    ]
    return "\n".join(rows) or "no matches"
