"""Simulate the queue at the counters of a post office.

The first line has the number of counters and the patience of the customers in minutes. Each other
line is a customer: name, minute of arrival, and minutes that serving takes. Customers are served
in order of arrival (in the order of the lines, if they arrive together), each at the counter that
is free first, of several the one with the lowest number. Who would have to wait longer than the
patience leaves at once. Print for each customer, in order of arrival, "name counter start end", or
"name left"; then "mean wait" with the mean waiting time of those who were served, with two
decimals (0.00 if nobody was); then "longest queue" with the greatest number of customers who were
waiting at the same time. Who starts in a minute no longer waits in it.
"""


def read_input(data: str) -> tuple[int, int, list[tuple[str, int, int]]]:
    """Read the number of counters, the patience, and the customers in order of arrival.

    kind: string
    ensures: all(a[1] <= b[1] for a, b in zip(result[2], result[2][1:]))
    example: read_input("2 10") == (2, 10, [])
    """
    head, *lines = data.split("\n")
    counters, patience = map(int, head.split())
    customers = []
    for line in lines:
        if line.strip():
            name, arrival, minutes = line.split()
            customers.append((name, int(arrival), int(minutes)))
    customers.sort(key=lambda customer: customer[1])
    return counters, patience, customers


def first_free(free_at: list[int], now: int) -> int:
    """Choose the counter that is free first, where what is free now is free at the same time.

    kind: greedy
    ensures: 0 <= result < len(free_at)
    example: first_free([5, 3, 3], 0) == 1
    """
    best = 0
    for counter in range(1, len(free_at)):
        if max(free_at[counter], now) < max(free_at[best], now):
            best = counter
    return best


def serve(
    customers: list[tuple[str, int, int]], counters: int, patience: int
) -> list[tuple[str, int, int, int, int]]:
    """Serve the customers; return name, counter, arrival, start and end, counter 0 for who left.

    kind: greedy
    requires: counters >= 1 and patience >= 0
    uses: first_free
    ensures: len(result) == len(customers)
    ensures: all(arrival <= start <= end for _, _, arrival, start, end in result)
    """
    free_at = [0] * counters
    visits = []
    for name, arrival, minutes in customers:
        counter = first_free(free_at, arrival)
        start = max(arrival, free_at[counter])
        if start - arrival > patience:
            visits.append((name, 0, arrival, arrival, arrival))
            continue
        free_at[counter] = start + minutes
        visits.append((name, counter + 1, arrival, start, start + minutes))
    return visits


def mean_wait(visits: list[tuple[str, int, int, int, int]]) -> float:
    """Return the mean waiting time of the customers who were served.

    kind: math
    ensures: result >= 0
    example: mean_wait([]) == 0.0
    """
    waits = [start - arrival for _, counter, arrival, start, _ in visits if counter > 0]
    if not waits:
        return 0.0
    return sum(waits) / len(waits)


def longest_queue(visits: list[tuple[str, int, int, int, int]]) -> int:
    """Return the greatest number of customers who were waiting at the same time.

    kind: sorting
    cost: O(n log n)
    """
    changes = []
    for _, _, arrival, start, _ in visits:
        if start > arrival:
            changes.append((arrival, 1))
            changes.append((start, -1))
    waiting = 0
    most = 0
    for _, change in sorted(changes):
        waiting += change
        most = max(most, waiting)
    return most


def visit_line(visit: tuple[str, int, int, int, int]) -> str:
    """Write what became of a customer.

    kind: string
    example: visit_line(("Ann", 2, 5, 7, 10)) == "Ann 2 7 10"
    """
    name, counter, _, start, end = visit
    if counter == 0:
        return f"{name} left"
    return f"{name} {counter} {start} {end}"


def solve(data: str) -> str:
    """Simulate the queue and write the report.

    kind: orchestration
    """
    counters, patience, customers = read_input(data)
    visits = serve(customers, counters, patience)
    lines = [visit_line(visit) for visit in visits]
    lines.append(f"mean wait {mean_wait(visits):.2f}")
    lines.append(f"longest queue {longest_queue(visits)}")
    return "\n".join(lines)


EXAMPLES = (
    ("3 10", "mean wait 0.00\nlongest queue 0"),
    ("1 5\nAnn 0 4", "Ann 1 0 4\nmean wait 0.00\nlongest queue 0"),
    (
        "1 5\nAnn 0 4\nBob 1 6\nCat 2 1\nDan 5 2",
        "Ann 1 0 4\nBob 1 4 10\nCat left\nDan 1 10 12\nmean wait 2.67\nlongest queue 1",
    ),
    (
        "2 20\nEve 3 10\nFay 0 9\nGus 3 4\nHal 4 5\nIda 5 5\n",
        (
            "Fay 1 0 9\nEve 2 3 13\nGus 1 9 13\nHal 1 13 18\nIda 2 13 18\n"
            "mean wait 4.60\nlongest queue 3"
        ),
    ),
    (
        "3 0\nA 0 5\nB 1 2\nC 4 3\nD 4 9\nE 4 1\nF 5 1",
        "A 1 0 5\nB 2 1 3\nC 2 4 7\nD 3 4 13\nE left\nF 1 5 6\nmean wait 0.00\nlongest queue 0",
    ),
    (
        "1 9\nA 0 3\nB 1 4\nC 3 2\nD 7 1",
        "A 1 0 3\nB 1 3 7\nC 1 7 9\nD 1 9 10\nmean wait 2.00\nlongest queue 1",
    ),
)

LARGE = "'60 15\\n' + '\\n'.join(f'c{i} {i * 7 % 500} {i % 80 + 10}' for i in range(700))"
