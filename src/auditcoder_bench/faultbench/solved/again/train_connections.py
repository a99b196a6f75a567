"""The functions of train_connections, written again by their contracts alone."""

from collections import deque


def to_minutes(clock: str) -> int:
    """Turn HH:MM into minutes since midnight."""
    return int(clock[:2]) * 60 + int(clock[3:])


def to_clock(minutes: int) -> str:
    """Turn minutes since midnight into HH:MM."""
    return f"{minutes // 60:0>2}:{minutes % 60:0>2}"


def read_trains(timetable: str) -> list[tuple[int, int, str, str]]:
    """Read the trains and sort them by departure."""
    rows = filter(None, map(str.split, timetable.splitlines()))
    return sorted(
        (to_minutes(departs), to_minutes(arrives), origin, target)
        for origin, departs, target, arrives in rows
    )


def scan_trains(
    trains: list[tuple[int, int, str, str]], start: str, ready: int, change: int
) -> tuple[dict[str, int], dict[str, str]]:
    """Board every train that can be reached and keep the best arrivals."""
    arrival = {start: ready}
    came_from: dict[str, str] = {}
    for departs, arrives, origin, target in trains:
        if origin not in arrival:
            continue
        if arrival[origin] + change * (origin != start) > departs:
            continue
        if target not in arrival or arrives < arrival[target]:
            arrival[target] = arrives
            came_from[target] = origin
    return arrival, came_from


def trace_route(came_from: dict[str, str], goal: str) -> list[str]:
    """Walk back from the goal and collect the stations."""
    route = deque([goal])
    while route[0] in came_from:
        route.appendleft(came_from[route[0]])
    return list(route)


def train_connections(
    timetable: str, start: str, goal: str, leave: str, change: int
) -> tuple[str, list[str]]:
    """Find when and on which way the goal is reached first."""
    arrival, came_from = scan_trains(read_trains(timetable), start, to_minutes(leave), change)
    if goal in arrival:
        return to_clock(arrival[goal]), trace_route(came_from, goal)
    return "", []
