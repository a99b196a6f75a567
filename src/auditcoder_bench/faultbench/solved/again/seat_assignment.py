"""The functions of seat_assignment, written again by their contracts alone."""

from string import ascii_uppercase


def read_request(data: str) -> tuple[int, int, list[tuple[str, int]]]:
    """Read the size of the theatre and then pairs of name and size."""
    rows, width, *rest = data.split() or ["0", "0"]
    groups = list(zip(rest[::2], map(int, rest[1::2]), strict=True))
    return int(rows), int(width), groups


def seat_label(row: int, seat: int) -> str:
    """Join the number of the row and the letter of the seat."""
    return str(row + 1) + ascii_uppercase[seat]


def best_row(free: list[int], size: int) -> int:
    """Find the first row with the least sufficient number of free seats."""
    least = min((seats for seats in free if seats >= size), default=None)
    return -1 if least is None else free.index(least)


def take_seats(free: list[int], row: int, size: int, width: int) -> list[str]:
    """Name the leftmost free seats of a row and count them as taken."""
    begin = width - free[row]
    free[row] -= size
    return [seat_label(row, seat) for seat in range(begin, begin + size)]


def place_group(free: list[int], size: int, width: int) -> list[str]:
    """Seat a group in one row, else across rows, else not at all."""
    if size > sum(free):
        return []
    row = best_row(free, size)
    if row >= 0:
        return take_seats(free, row, size, width)
    seats: list[str] = []
    for row, available in enumerate(list(free)):
        seats += take_seats(free, row, min(available, size - len(seats)), width)
    return seats


def group_line(name: str, seats: list[str]) -> str:
    """Write a group's name and its seats, if any."""
    return f"{name}: {' '.join(seats) or 'none'}"


def solve(data: str) -> str:
    """Write the seats of every group and the number that stays free."""
    rows, width, groups = read_request(data)
    free = [width for _ in range(rows)]
    out = [group_line(name, place_group(free, size, width)) for name, size in groups]
    return "\n".join([*out, f"free: {sum(free)}"])
