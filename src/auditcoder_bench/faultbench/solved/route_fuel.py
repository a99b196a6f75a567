"""Plan where to buy fuel on a route so that it costs as little as possible.

The route is a list of stops (name, price, kilometres): the price of a litre there in cents, and
the way from there to the next stop or, for the last one, to the destination. The car needs
`per_hundred` litres for 100 kilometres; the need of each stretch is rounded up to whole litres.
The tank holds `tank` litres and is empty at the first stop. Return the purchases (name, litres) in
order, without stops at which nothing is bought, and the total cost in cents. At each stop, if a
stop at which fuel is not dearer (or the destination) is within reach of a full tank, buy just
enough to get to the nearest such; otherwise fill the tank. If a stretch needs more than a full
tank, the route cannot be driven: return no purchases and -1. A route without stops costs nothing.
"""

from itertools import accumulate


def litres_for(kilometres: int, per_hundred: int) -> int:
    """Return the need for a stretch, rounded up to whole litres.

    kind: math
    requires: kilometres >= 0 and per_hundred >= 0
    ensures: result * 100 >= kilometres * per_hundred
    example: litres_for(150, 6) == 9
    """
    return (kilometres * per_hundred + 99) // 100


def positions_of(stretches: list[int]) -> list[int]:
    """Add up the needs: how much fuel it takes to get to each stop and to the destination.

    kind: math
    ensures: len(result) == len(stretches) + 1
    ensures: result == sorted(result)
    """
    return list(accumulate(stretches, initial=0))


def next_cheaper(positions: list[int], prices: list[int], here: int, tank: int) -> int | None:
    """Find the nearest stop within a full tank that is not dearer; the destination counts as free.

    kind: greedy
    requires: 0 <= here < len(prices)
    example: next_cheaper([0, 5, 9], [20, 30], 0, 9) == 2
    """
    for stop in range(here + 1, len(positions)):
        if positions[stop] - positions[here] > tank:
            return None
        if stop == len(prices) or prices[stop] <= prices[here]:
            return stop
    return None


def litres_to_buy(positions: list[int], prices: list[int], tank: int) -> list[int]:
    """Decide how many litres to buy at each stop.

    kind: greedy
    uses: next_cheaper
    ensures: all(0 <= litres <= tank for litres in result)
    ensures: sum(result) == positions[-1]
    cost: O(n**2)
    """
    bought = []
    level = 0
    for here in range(len(prices)):
        target = next_cheaper(positions, prices, here, tank)
        wanted = tank if target is None else positions[target] - positions[here]
        litres = max(0, wanted - level)
        bought.append(litres)
        level += litres - (positions[here + 1] - positions[here])
    return bought


def total_cost(litres: list[int], prices: list[int]) -> int:
    """Add up what the purchases cost.

    kind: math
    example: total_cost([3, 0, 2], [10, 99, 20]) == 70
    """
    return sum(amount * price for amount, price in zip(litres, prices, strict=True))


def plan_fuel(
    stops: list[tuple[str, int, int]], per_hundred: int, tank: int
) -> tuple[list[tuple[str, int]], int]:
    """Return the purchases on a route and their total cost.

    kind: orchestration
    """
    stretches = [litres_for(kilometres, per_hundred) for _, _, kilometres in stops]
    if any(need > tank for need in stretches):
        return [], -1
    prices = [price for _, price, _ in stops]
    litres = litres_to_buy(positions_of(stretches), prices, tank)
    purchases = [(stop[0], amount) for stop, amount in zip(stops, litres, strict=True) if amount]
    return purchases, total_cost(litres, prices)


EXAMPLES = (
    ("[], 6, 40", "([], 0)"),
    ("[('Home', 150, 200)], 6, 40", "([('Home', 12)], 1800)"),
    ("[('A', 150, 100), ('B', 140, 501)], 8, 40", "([], -1)"),
    (
        "[('A', 100, 95), ('B', 120, 200), ('C', 90, 101)], 10, 40",
        "([('A', 30), ('C', 11)], 3990)",
    ),
    (
        "[('A', 100, 200), ('B', 110, 200), ('C', 130, 150), ('D', 100, 50)], 10, 40",
        "([('A', 40), ('B', 15), ('D', 5)], 6150)",
    ),
    (
        "[('A', 80, 100), ('B', 80, 300), ('C', 95, 250), ('D', 70, 0)], 10, 30",
        "([('A', 10), ('B', 30), ('C', 25)], 5575)",
    ),
    (
        "[('P', 10, 7), ('Q', 12, 5), ('R', 11, 6), ('S', 15, 8)], 100, 20",
        "([('P', 20), ('R', 6)], 266)",
    ),
)

LARGE = "[(f's{i}', 100 + i % 300 + i * 7 % 5, i % 30 + 1) for i in range(1000)], 10, 300"
