"""The functions of meeting_rooms, written again by their contracts alone."""

import heapq
from collections import Counter


def to_minutes(clock: str) -> int:
    """Count the minutes from midnight to a time of day."""
    hours, _, rest = clock.strip().partition(":")
    return 60 * int(hours) + int(rest)


def to_clock(minutes: int) -> str:
    """Show minutes as HH:MM."""
    return "{:02d}:{:02d}".format(*divmod(minutes, 60))


def read_meetings(data: str) -> list[tuple[int, int, str]]:
    """Collect the meetings that last at least a minute, in order."""
    found: list[tuple[int, int, str]] = []
    for line in filter(str.strip, data.splitlines()):
        span, _, name = line.strip().partition(" ")
        start, end = map(to_minutes, span.split("-"))
        if end > start:
            found.append((start, end, name.strip()))
    found.sort()
    return found


def assign_rooms(meetings: list[tuple[int, int, str]]) -> list[int]:
    """Hand each meeting the free room with the lowest number."""
    vacant: list[int] = []
    running: list[tuple[int, int]] = []
    given: list[int] = []
    opened = 0
    for start, end, _ in meetings:
        while running and running[0][0] <= start:
            heapq.heappush(vacant, heapq.heappop(running)[1])
        if not vacant:
            opened += 1
            vacant.append(opened)
        given.append(heapq.heappop(vacant))
        heapq.heappush(running, (end, given[-1]))
    return given


def most_used(meetings: list[tuple[int, int, str]], rooms: list[int]) -> tuple[int, int]:
    """Find the room with the most minutes of use, the lowest of several."""
    use: Counter[int] = Counter()
    for (start, end, _), room in zip(meetings, rooms, strict=True):
        use[room] += end - start
    best = max(use.values())
    return min(room for room, minutes in use.items() if minutes == best), best


def solve(data: str) -> str:
    """Write the number of rooms, the room of each meeting and the room used most."""
    meetings = read_meetings(data)
    if not meetings:
        return "rooms 0"
    rooms = assign_rooms(meetings)
    out = [f"rooms {len(set(rooms))}"]
    for room, (start, end, name) in zip(rooms, meetings, strict=True):
        out.append(f"{to_clock(start)}-{to_clock(end)} {name}: room {room}")
    busiest, minutes = most_used(meetings, rooms)
    out.append(f"most used: room {busiest} for {to_clock(minutes)}")
    return "\n".join(out)
