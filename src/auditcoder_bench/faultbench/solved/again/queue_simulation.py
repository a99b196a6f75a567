"""The functions of queue_simulation, written again by their contracts alone."""

from itertools import accumulate
from operator import itemgetter


def read_input(data: str) -> tuple[int, int, list[tuple[str, int, int]]]:
    """Read counters, patience and the customers by arrival."""
    rows = [row for row in map(str.split, data.splitlines()) if row]
    head = rows.pop(0)
    customers = [(row[0], int(row[1]), int(row[2])) for row in rows]
    customers.sort(key=itemgetter(1))
    return int(head[0]), int(head[1]), customers


def first_free(free_at: list[int], now: int) -> int:
    """Pick the lowest counter among those that are free soonest from now on."""
    moments = [max(moment, now) for moment in free_at]
    return moments.index(min(moments))


def serve(
    customers: list[tuple[str, int, int]], counters: int, patience: int
) -> list[tuple[str, int, int, int, int]]:
    """Serve one customer after the other and note each visit."""
    free_at = [0] * counters
    visits: list[tuple[str, int, int, int, int]] = []
    for name, arrival, minutes in customers:
        chosen = first_free(free_at, arrival)
        start = max(free_at[chosen], arrival)
        if start - arrival > patience:
            visits.append((name, 0, arrival, arrival, arrival))
            continue
        free_at[chosen] = start + minutes
        visits.append((name, chosen + 1, arrival, start, free_at[chosen]))
    return visits


def mean_wait(visits: list[tuple[str, int, int, int, int]]) -> float:
    """Average the waits of those who got a counter."""
    waits = [visit[3] - visit[2] for visit in visits if visit[1] != 0]
    return sum(waits) / len(waits) if waits else 0.0


def longest_queue(visits: list[tuple[str, int, int, int, int]]) -> int:
    """Sweep over arrivals and starts, starts first within a minute."""
    events: list[tuple[int, int]] = []
    for _, counter, arrival, start, _ in visits:
        if counter and start > arrival:
            events += [(arrival, 1), (start, -1)]
    return max(accumulate((change for _, change in sorted(events)), initial=0))


def visit_line(visit: tuple[str, int, int, int, int]) -> str:
    """Write counter, start and end of a visit, or that the customer left."""
    name, counter, _, start, end = visit
    return f"{name} {counter} {start} {end}" if counter else f"{name} left"


def solve(data: str) -> str:
    """Report all visits, the mean wait and the longest queue."""
    counters, patience, customers = read_input(data)
    visits = serve(customers, counters, patience)
    out = [*map(visit_line, visits)]
    out += [f"mean wait {mean_wait(visits):.2f}", f"longest queue {longest_queue(visits)}"]
    return "\n".join(out)
