"""Give rooms to the meetings of a day.

Each line is a meeting with start, end and name, such as "09:30-10:15 Budget review". Meetings that
do not end after they start are ignored. Take the meetings in order of start, then of end, then of
name, and give each the free room with the lowest number; a room is free again in the minute in
which its meeting ends, and a new room is opened only when none is free. Print "rooms" with the
number of rooms, then each meeting in that order with its room, such as "09:30-10:15 Budget review:
room 2", then the room that is used for the most minutes (of several the lowest) with the hours and
minutes of its use, such as "most used: room 1 for 03:45". Without meetings, print only "rooms 0".
"""

import heapq


def to_minutes(clock: str) -> int:
    """Turn a time of day into minutes since midnight.

    kind: string
    requires: ":" in clock
    example: to_minutes("01:30") == 90
    """
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def to_clock(minutes: int) -> str:
    """Write minutes as hours and minutes of two digits each.

    kind: string
    example: to_clock(605) == "10:05"
    """
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def read_meetings(data: str) -> list[tuple[int, int, str]]:
    """Read the meetings as start, end and name, in order, without those that have no length.

    kind: string
    uses: to_minutes
    ensures: all(start < end for start, end, _ in result)
    ensures: result == sorted(result)
    """
    meetings = []
    for line in data.split("\n"):
        if not line.strip():
            continue
        span, _, name = line.strip().partition(" ")
        first, last = span.split("-")
        start, end = to_minutes(first), to_minutes(last)
        if start < end:
            meetings.append((start, end, name.strip()))
    return sorted(meetings)


def assign_rooms(meetings: list[tuple[int, int, str]]) -> list[int]:
    """Return the number of the room for each meeting.

    kind: greedy
    requires: meetings == sorted(meetings)
    ensures: len(result) == len(meetings)
    cost: O(n log n)
    example: assign_rooms([(0, 5, "a"), (3, 9, "b"), (5, 6, "c")]) == [1, 2, 1]
    """
    rooms = []
    opened = 0
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    for start, end, _ in meetings:
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            opened += 1
            free.append(opened)
        room = heapq.heappop(free)
        heapq.heappush(busy, (end, room))
        rooms.append(room)
    return rooms


def most_used(meetings: list[tuple[int, int, str]], rooms: list[int]) -> tuple[int, int]:
    """Return the room that is used for the most minutes, and these minutes.

    kind: general
    requires: 0 < len(meetings) == len(rooms)
    ensures: result[0] in rooms
    example: most_used([(0, 5, "a"), (3, 9, "b")], [1, 2]) == (2, 6)
    """
    used: dict[int, int] = {}
    for (start, end, _), room in zip(meetings, rooms, strict=True):
        used[room] = used.get(room, 0) + end - start
    best = min(used, key=lambda room: (-used[room], room))
    return best, used[best]


def solve(data: str) -> str:
    """Print the rooms of the meetings.

    kind: orchestration
    """
    meetings = read_meetings(data)
    if not meetings:
        return "rooms 0"
    rooms = assign_rooms(meetings)
    lines = [f"rooms {max(rooms)}"]
    for (start, end, name), room in zip(meetings, rooms, strict=True):
        lines.append(f"{to_clock(start)}-{to_clock(end)} {name}: room {room}")
    best, minutes = most_used(meetings, rooms)
    lines.append(f"most used: room {best} for {to_clock(minutes)}")
    return "\n".join(lines)


EXAMPLES = (
    ("", "rooms 0"),
    ("10:00-09:00 Wrong way\n11:00-11:00 Nothing", "rooms 0"),
    ("09:30-10:15 Plan", "rooms 1\n09:30-10:15 Plan: room 1\nmost used: room 1 for 00:45"),
    (
        "09:00-10:00 A\n08:00-09:00 B\n10:05-12:00 C d",
        (
            "rooms 1\n08:00-09:00 B: room 1\n09:00-10:00 A: room 1\n10:05-12:00 C d: room 1\n"
            "most used: room 1 for 03:55"
        ),
    ),
    (
        (
            "09:00-09:30 Stand up\n09:00-12:00 Hiring\n09:10-09:40 Call\n09:40-10:00 Tea\n"
            "\n09:35-11:00 Review"
        ),
        (
            "rooms 3\n09:00-09:30 Stand up: room 1\n09:00-12:00 Hiring: room 2\n"
            "09:10-09:40 Call: room 3\n09:35-11:00 Review: room 1\n09:40-10:00 Tea: room 3\n"
            "most used: room 2 for 03:00"
        ),
    ),
    (
        "13:00-14:00 Z\n13:00-14:00 Y\n14:00-14:20 X\n14:00-14:20 W\n15:00-14:59 V",
        (
            "rooms 2\n13:00-14:00 Y: room 1\n13:00-14:00 Z: room 2\n14:00-14:20 W: room 1\n"
            "14:00-14:20 X: room 2\nmost used: room 1 for 01:20"
        ),
    ),
)

LARGE = (
    "'\\n'.join(f'{i % 20:02d}:{i * 7 // 3 % 60:02d}-{i % 20 + 2:02d}:{i * 7 % 60:02d} m{i}' "
    "for i in range(600))"
)
