"""The functions of parcel_packing, written again by their contracts alone."""

from bisect import bisect_left, insort


def split_oversized(
    parcels: list[tuple[str, int]], capacity: int
) -> tuple[list[tuple[str, int]], list[str]]:
    """Separate what fits a van from the names of what does not."""
    fitting: list[tuple[str, int]] = []
    rejected: list[str] = []
    for name, weight in parcels:
        if weight > capacity:
            rejected.append(name)
        else:
            fitting.append((name, weight))
    return fitting, rejected


def heaviest_first(parcels: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Sort by name and then, stably, by falling weight."""
    ordered = sorted(parcels)
    ordered.sort(key=lambda parcel: parcel[1], reverse=True)
    return ordered


def take_tightest(rooms: list[tuple[int, int]], weight: int) -> tuple[int, int] | None:
    """Remove and return the first entry whose room is at least the weight."""
    spot = bisect_left(rooms, weight, key=lambda entry: entry[0])
    return rooms.pop(spot) if spot < len(rooms) else None


def load_vans(parcels: list[tuple[str, int]], capacity: int) -> tuple[list[list[str]], list[int]]:
    """Put each parcel into the tightest van in use or into a further one."""
    vans: list[list[str]] = []
    rooms: list[tuple[int, int]] = []
    for name, weight in parcels:
        entry = take_tightest(rooms, weight)
        if entry is None:
            entry = (capacity, len(vans))
            vans.append([])
        room, van = entry
        vans[van].append(name)
        insort(rooms, (room - weight, van))
    loads = [0] * len(vans)
    for room, van in rooms:
        loads[van] = capacity - room
    return vans, loads


def van_price(load: int, base: int, per_kilo: int) -> int:
    """Charge the base price and every kilo after the tenth."""
    extra = load - 10
    return base if extra <= 0 else base + extra * per_kilo


def total_price(loads: list[int], base: int, per_kilo: int) -> int:
    """Sum the prices of the vans."""
    total = 0
    for load in loads:
        total += van_price(load, base, per_kilo)
    return total


def parcel_packing(
    parcels: list[tuple[str, int]], capacity: int, base: int, per_kilo: int
) -> tuple[list[list[str]], list[str], int]:
    """Load all parcels that can be carried and price the vans."""
    fitting, rejected = split_oversized(parcels, capacity)
    vans, loads = load_vans(heaviest_first(fitting), capacity)
    return vans, rejected, total_price(loads, base, per_kilo)
