"""Seat groups of guests in a small theatre.

The first line holds the number of rows and the number of seats in each row, at most 26. Each
further line is a group in the order of arrival: a name without spaces and a size of at least 1.
Rows are numbered from 1, seats are called A, B, C from the left, and every row fills from the
left. A group sits together in the row with the fewest free seats that has enough of them; of
several such rows it takes the front one. If no row has enough, but the theatre has, the group is
split: it takes free seats row by row from the front. If the theatre has too few seats the group
gets none at all. Print for each group its name and seats, such as ann: 1A 1B, or ann: none, and
on a last line how many seats stay free, such as free: 3.
"""


def read_request(data: str) -> tuple[int, int, list[tuple[str, int]]]:
    """Read the number of rows, the seats in a row, and the groups with their sizes.

    kind: string
    ensures: result[0] >= 0 and result[1] >= 0
    example: read_request("2 3") == (2, 3, [])
    """
    first, *others = data.split("\n")
    rows, width = map(int, first.split())
    groups = []
    for line in others:
        name, size = line.split()
        groups.append((name, int(size)))
    return rows, width, groups


def seat_label(row: int, seat: int) -> str:
    """Return the name of a seat; both numbers count from 0.

    kind: string
    requires: 0 <= seat < 26
    example: seat_label(0, 0) == "1A"
    """
    letter = chr(ord("A") + seat)
    return f"{row + 1}{letter}"


def best_row(free: list[int], size: int) -> int:
    """Return the row with the fewest free seats that are enough, or -1.

    kind: greedy
    ensures: -1 <= result < len(free)
    ensures: result == -1 or free[result] >= size
    example: best_row([3, 2], 2) == 1
    """
    best = -1
    for row, seats in enumerate(free):
        if seats >= size and (best < 0 or seats < free[best]):
            best = row
    return best


def take_seats(free: list[int], row: int, size: int, width: int) -> list[str]:
    """Take the next seats of a row, note it in the list of free seats, and name them.

    kind: general
    uses: seat_label
    requires: 0 <= size <= free[row] <= width
    ensures: len(result) == size
    """
    first = width - free[row]
    free[row] -= size
    return [seat_label(row, seat) for seat in range(first, first + size)]


def place_group(free: list[int], size: int, width: int) -> list[str]:
    """Return the seats of one group and take them; no seats if there are too few.

    kind: greedy
    uses: best_row, take_seats
    requires: size >= 1
    ensures: len(result) in (0, size)
    example: place_group([1, 1], 3, 1) == []
    """
    if size > sum(free):
        return []
    row = best_row(free, size)
    if row >= 0:
        return take_seats(free, row, size, width)
    seats: list[str] = []
    for row in range(len(free)):
        part = min(free[row], size - len(seats))
        seats.extend(take_seats(free, row, part, width))
    return seats


def group_line(name: str, seats: list[str]) -> str:
    """Write the line of one group.

    kind: string
    example: group_line("ann", ["1A", "1B"]) == "ann: 1A 1B"
    """
    if not seats:
        return f"{name}: none"
    return f"{name}: {' '.join(seats)}"


def solve(data: str) -> str:
    """Seat all groups and print their seats.

    kind: orchestration
    """
    rows, width, groups = read_request(data)
    free = [width] * rows
    lines = []
    for name, size in groups:
        seats = place_group(free, size, width)
        lines.append(group_line(name, seats))
    lines.append(f"free: {sum(free)}")
    return "\n".join(lines)


EXAMPLES = (
    ("1 2", "free: 2"),
    ("2 3\nann 2\nbob 3\ncid 1", "ann: 1A 1B\nbob: 2A 2B 2C\ncid: 1C\nfree: 0"),
    ("2 3\na 2\nb 2\nc 2", "a: 1A 1B\nb: 2A 2B\nc: 1C 2C\nfree: 0"),
    (
        "2 2\nbig 5\nfit 3\nlate 2\nlast 1",
        "big: none\nfit: 1A 1B 2A\nlate: none\nlast: 2B\nfree: 0",
    ),
    (
        "3 4\np 3\nq 2\nr 2\ns 1\nt 3",
        "p: 1A 1B 1C\nq: 2A 2B\nr: 2C 2D\ns: 1D\nt: 3A 3B 3C\nfree: 1",
    ),
    ("0 5\nsolo 1", "solo: none\nfree: 0"),
)

LARGE = "'500 4\\n' + '\\n'.join(f'g{i} {i % 5 + 1}' for i in range(680))"
