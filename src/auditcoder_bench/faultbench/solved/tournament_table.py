"""Print the table of a tournament.

Each line is a match that was played: home team, goals and guest team, such as Reds 2-1 Blues.
Names have no spaces, empty lines are skipped. A win brings 3 points, a draw 1 point to both, a
defeat none. Teams are ordered by points, then by the difference of goals scored and conceded,
then by goals scored. Teams that are equal in all three share a place and stand in the order of
the alphabet; the places after them are left out, so that two firsts are followed by a third.
Print for each team place, name, points, difference with its sign and goals scored, such as
1. Reds 3 +1 2. A difference of nothing is written +0. Without matches print: no matches.
"""


def parse_match(line: str) -> tuple[str, str, int, int]:
    """Return the home team, the guest team and the goals of each.

    kind: string
    ensures: result[2] >= 0 and result[3] >= 0
    example: parse_match("A 2-1 B") == ("A", "B", 2, 1)
    """
    home, score, guest = line.split()
    home_goals, guest_goals = score.split("-")
    return home, guest, int(home_goals), int(guest_goals)


def add_result(table: dict[str, list[int]], team: str, scored: int, conceded: int) -> None:
    """Add one match to a team's points, goal difference and goals scored in the table.

    kind: general
    requires: scored >= 0 and conceded >= 0
    """
    entry = table.setdefault(team, [0, 0, 0])
    if scored > conceded:
        entry[0] += 3
    elif scored == conceded:
        entry[0] += 1
    entry[1] += scored - conceded
    entry[2] += scored


def build_table(lines: list[str]) -> dict[str, list[int]]:
    """Return points, goal difference and goals scored of every team.

    kind: general
    uses: parse_match, add_result
    ensures: sum(entry[1] for entry in result.values()) == 0
    cost: O(n)
    example: build_table(["A 1-0 B"]) == {"A": [3, 1, 1], "B": [0, -1, 0]}
    """
    table: dict[str, list[int]] = {}
    for line in lines:
        if not line.strip():
            continue
        home, guest, home_goals, guest_goals = parse_match(line)
        add_result(table, home, home_goals, guest_goals)
        add_result(table, guest, guest_goals, home_goals)
    return table


def rank_teams(table: dict[str, list[int]]) -> list[str]:
    """Return the names of the teams, the best first.

    kind: sorting
    ensures: sorted(result) == sorted(table)
    example: rank_teams({"A": [0, 0, 0], "B": [3, 1, 1]}) == ["B", "A"]
    """
    keyed = [
        (-points, -difference, -scored, team)
        for team, (points, difference, scored) in table.items()
    ]
    keyed.sort()
    return [entry[3] for entry in keyed]


def shared_places(ranked: list[str], table: dict[str, list[int]]) -> list[int]:
    """Return the place of each ranked team; equal teams share theirs.

    kind: general
    ensures: len(result) == len(ranked)
    ensures: result == sorted(result)
    """
    places: list[int] = []
    for number, team in enumerate(ranked, start=1):
        if number > 1 and table[team] == table[ranked[number - 2]]:
            places.append(places[-1])
        else:
            places.append(number)
    return places


def table_line(place: int, team: str, entry: list[int]) -> str:
    """Write the line of one team.

    kind: string
    requires: place >= 1 and len(entry) == 3
    example: table_line(1, "A", [3, 1, 1]) == "1. A 3 +1 1"
    """
    points, difference, scored = entry
    return f"{place}. {team} {points} {difference:+d} {scored}"


def solve(data: str) -> str:
    """Print the table of all matches.

    kind: orchestration
    """
    table = build_table(data.split("\n"))
    if not table:
        return "no matches"
    ranked = rank_teams(table)
    places = shared_places(ranked, table)
    lines = [
        table_line(place, team, table[team]) for place, team in zip(places, ranked, strict=True)
    ]
    return "\n".join(lines)


EXAMPLES = (
    ("", "no matches"),
    ("A 2-1 B", "1. A 3 +1 2\n2. B 0 -1 1"),
    ("Y 0-0 X", "1. X 1 +0 0\n1. Y 1 +0 0"),
    (
        "Reds 3-0 Blues\nBlues 2-2 Greens\n\nGreens 1-0 Reds",
        "1. Greens 4 +1 3\n2. Reds 3 +2 3\n3. Blues 1 -3 2",
    ),
    (
        "A 1-0 C\nB 1-0 D\nC 1-1 D",
        "1. A 3 +1 1\n1. B 3 +1 1\n3. C 1 -1 1\n3. D 1 -1 1",
    ),
    (
        "A 1-1 B\nC 3-3 D\nF 8-10 E",
        "1. E 3 +2 10\n2. C 1 +0 3\n2. D 1 +0 3\n4. A 1 +0 1\n4. B 1 +0 1\n6. F 0 -2 8",
    ),
)

LARGE = "'\\n'.join(f'T{i % 400} {i % 5}-{i * 3 % 7} T{(i * 7 + 1) % 400}' for i in range(2000))"
