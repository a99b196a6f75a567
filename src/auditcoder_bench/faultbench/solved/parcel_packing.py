"""Load parcels into vans.

Every parcel has a name and a weight in kilos, all vans carry the same weight. What is heavier
than a van may carry is rejected, in the order given. The others are loaded from the heaviest to
the lightest, those of equal weight by name. A parcel goes into the van in use that has the least
room among those with room enough, of several such vans into the one opened first; if there is
none, a further van is opened. A van costs the base price; its first ten kilos are included, each
further one costs the price per kilo. Return the names in each van in the order of loading, the
rejected names, and the price of all vans together. Without parcels nothing is paid.
"""

from bisect import bisect_left, insort


def split_oversized(
    parcels: list[tuple[str, int]], capacity: int
) -> tuple[list[tuple[str, int]], list[str]]:
    """Part the parcels that a van can carry from the names of those it cannot.

    kind: general
    ensures: len(result[0]) + len(result[1]) == len(parcels)
    example: split_oversized([("a", 3), ("b", 9)], 5) == ([("a", 3)], ["b"])
    """
    fitting = []
    rejected = []
    for name, weight in parcels:
        if weight > capacity:
            rejected.append(name)
        else:
            fitting.append((name, weight))
    return fitting, rejected


def heaviest_first(parcels: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Order parcels by falling weight, and by name where weights are equal.

    kind: sorting
    ensures: sorted(result) == sorted(parcels)
    example: heaviest_first([("a", 1), ("b", 2)]) == [("b", 2), ("a", 1)]
    """
    return sorted(parcels, key=lambda parcel: (-parcel[1], parcel[0]))


def take_tightest(rooms: list[tuple[int, int]], weight: int) -> tuple[int, int] | None:
    """Take the entry with the least room that is enough out of the ordered (room, van) list.

    kind: binary_search
    requires: rooms == sorted(rooms)
    cost: O(log n) to find it
    example: take_tightest([], 4) == None
    """
    place = bisect_left(rooms, (weight, -1))
    if place == len(rooms):
        return None
    return rooms.pop(place)


def load_vans(parcels: list[tuple[str, int]], capacity: int) -> tuple[list[list[str]], list[int]]:
    """Load the parcels in the order given; return the names and the load of each van.

    kind: greedy
    uses: take_tightest
    requires: all(weight <= capacity for _, weight in parcels)
    ensures: sum(result[1]) == sum(weight for _, weight in parcels)
    example: load_vans([("a", 3)], 5) == ([["a"]], [3])
    """
    rooms: list[tuple[int, int]] = []
    vans: list[list[str]] = []
    loads: list[int] = []
    for name, weight in parcels:
        room, van = take_tightest(rooms, weight) or (capacity, len(vans))
        if van == len(vans):
            vans.append([])
            loads.append(0)
        vans[van].append(name)
        loads[van] += weight
        insort(rooms, (room - weight, van))
    return vans, loads


def van_price(load: int, base: int, per_kilo: int) -> int:
    """Return the price of one van.

    kind: math
    requires: load >= 0
    ensures: result >= base
    """
    included = 10
    return base + per_kilo * max(0, load - included)


def total_price(loads: list[int], base: int, per_kilo: int) -> int:
    """Add up the prices of all vans.

    kind: math
    uses: van_price
    example: total_price([], 7, 2) == 0
    """
    total = 0
    for load in loads:
        total += van_price(load, base, per_kilo)
    return total


def parcel_packing(
    parcels: list[tuple[str, int]], capacity: int, base: int, per_kilo: int
) -> tuple[list[list[str]], list[str], int]:
    """Return the names in each van, the rejected names and the price.

    kind: orchestration
    """
    fitting, rejected = split_oversized(parcels, capacity)
    vans, loads = load_vans(heaviest_first(fitting), capacity)
    return vans, rejected, total_price(loads, base, per_kilo)


EXAMPLES = (
    ("[], 10, 5, 1", "([], [], 0)"),
    ("[('b', 4), ('a', 4)], 4, 1, 3", "([['a'], ['b']], [], 2)"),
    (
        "[('a', 7), ('b', 5), ('c', 3), ('d', 5)], 10, 20, 2",
        "([['a', 'c'], ['b', 'd']], [], 40)",
    ),
    ("[('x', 31), ('y', 30), ('z', 12)], 30, 15, 3", "([['y'], ['z']], ['x'], 96)"),
    (
        "[('m', 10), ('n', 6), ('o', 6), ('p', 3)], 15, 7, 2",
        "([['m'], ['n', 'o', 'p']], [], 24)",
    ),
    (
        "[('q', 9), ('big', 20), ('r', 9), ('s', 3), ('huge', 13), ('t', 11)], 12, 4, 5",
        "([['t'], ['q', 's'], ['r']], ['big', 'huge'], 27)",
    ),
)

LARGE = "[(f'p{i}', i * 37 % 50 + 1) for i in range(1200)], 48, 20, 3"
