"""Find the earliest arrival by train on one day.

Each line of the timetable is one train without stops between: origin, departure, target and
arrival, for example: Ulm 08:05 Bonn 11:40. The lines come in any order; every train arrives
after it departs and before midnight. A traveller is at the start station from the given time on
and can board there at once; at every other station a change takes the given number of minutes,
and a train that departs at the very end of that time is still reached. Return the earliest time
of arrival at the goal and the stations on the way, start and goal among them. If several trains
arrive at a station at the same time, the one that departs first counts. Whoever is already at
the goal has arrived. If the goal cannot be reached, return an empty time and no stations.
"""


def to_minutes(clock: str) -> int:
    """Return the minutes since midnight.

    kind: string
    requires: len(clock) == 5
    ensures: 0 <= result < 1440
    example: to_minutes("01:30") == 90
    """
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def to_clock(minutes: int) -> str:
    """Write the minutes since midnight as a time of day.

    kind: string
    requires: 0 <= minutes < 1440
    ensures: len(result) == 5
    example: to_clock(90) == "01:30"
    """
    hours, rest = divmod(minutes, 60)
    return f"{hours:02d}:{rest:02d}"


def read_trains(timetable: str) -> list[tuple[int, int, str, str]]:
    """Read departure, arrival, origin and target of all trains, the earliest departure first.

    kind: sorting
    uses: to_minutes
    ensures: all(train[0] < train[1] for train in result)
    cost: O(n log n)
    example: read_trains("A 00:10 B 01:00") == [(10, 60, "A", "B")]
    """
    trains = []
    for line in timetable.split("\n"):
        if not line.strip():
            continue
        origin, departure, target, arrival = line.split()
        trains.append((to_minutes(departure), to_minutes(arrival), origin, target))
    trains.sort()
    return trains


def scan_trains(
    trains: list[tuple[int, int, str, str]], start: str, ready: int, change: int
) -> tuple[dict[str, int], dict[str, str]]:
    """Return the earliest arrival at every station, and from where each is reached.

    kind: greedy
    requires: change >= 0
    ensures: result[0][start] == ready
    ensures: start not in result[1]
    cost: O(n)
    """
    best = {start: ready}
    came_from: dict[str, str] = {}
    for departure, arrival, origin, target in trains:
        if origin not in best:
            continue
        wait = 0 if origin == start else change
        if best[origin] + wait > departure:
            continue
        if target not in best or arrival < best[target]:
            best[target] = arrival
            came_from[target] = origin
    return best, came_from


def trace_route(came_from: dict[str, str], goal: str) -> list[str]:
    """Return the stations from the start to the goal.

    kind: general
    example: trace_route({"B": "A", "C": "B"}, "C") == ["A", "B", "C"]
    """
    route = [goal]
    while route[-1] in came_from:
        route.append(came_from[route[-1]])
    route.reverse()
    return route


def train_connections(
    timetable: str, start: str, goal: str, leave: str, change: int
) -> tuple[str, list[str]]:
    """Return the earliest arrival at the goal and the stations on the way.

    kind: orchestration
    """
    trains = read_trains(timetable)
    best, came_from = scan_trains(trains, start, to_minutes(leave), change)
    if goal not in best:
        return "", []
    return to_clock(best[goal]), trace_route(came_from, goal)


EXAMPLES = (
    ("'', 'A', 'A', '09:05', 5", "('09:05', ['A'])"),
    ("'B 10:00 A 11:00', 'A', 'B', '08:00', 5", "('', [])"),
    (
        (
            "'A 08:00 B 09:00\\nB 09:05 C 10:00\\nB 09:30 C 10:15\\nA 08:30 C 11:00', "
            "'A', 'C', '08:00', 5"
        ),
        "('10:00', ['A', 'B', 'C'])",
    ),
    (
        (
            "'A 08:00 B 09:00\\nB 09:05 C 10:00\\nB 09:30 C 10:15\\nA 08:30 C 11:00', "
            "'A', 'C', '07:50', 10"
        ),
        "('10:15', ['A', 'B', 'C'])",
    ),
    (
        "'A 08:00 B 09:00\\n\\nB 09:05 C 10:00\\nA 08:30 C 11:07', 'A', 'C', '08:10', 0",
        "('11:07', ['A', 'C'])",
    ),
    (
        (
            "'C 09:00 D 11:00\\nB 10:00 D 11:00\\nA 09:00 B 09:50\\nA 08:00 C 08:40', "
            "'A', 'D', '07:00', 10"
        ),
        "('11:00', ['A', 'C', 'D'])",
    ),
    (
        (
            "'K 12:00 M 15:00\\nK 12:30 L 13:00\\nL 13:20 M 14:59\\nM 15:00 K 16:00\\n"
            "M 15:14 N 23:45', 'K', 'N', '11:11', 15"
        ),
        "('23:45', ['K', 'L', 'M', 'N'])",
    ),
)

LARGE = (
    "'\\n'.join(f'S{m // 3} {m // 60:02d}:{m % 60:02d} S{m // 3 + 1} {(m + k) // 60:02d}:{(m + "
    "k) % 60:02d}' for m in range(1430, 0, -1) for k in (2, 9)), 'S0', 'S476', '00:00', 1"
)
