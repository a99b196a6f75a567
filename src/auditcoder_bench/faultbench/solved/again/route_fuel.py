"""The functions of route_fuel, written again by their contracts alone."""

from operator import mul


def litres_for(kilometres: int, per_hundred: int) -> int:
    """Divide by a hundred, rounding up."""
    litres, rest = divmod(kilometres * per_hundred, 100)
    return litres + (rest > 0)


def positions_of(stretches: list[int]) -> list[int]:
    """Return the running totals of the needs from 0 on."""
    places = [0]
    for need in stretches:
        places.append(places[-1] + need)
    return places


def next_cheaper(positions: list[int], prices: list[int], here: int, tank: int) -> int | None:
    """Look ahead for the first stop in reach that is not dearer, or the destination."""
    offers = [*prices[here + 1 :], prices[here]]
    for ahead, price in enumerate(offers, here + 1):
        if positions[ahead] > positions[here] + tank:
            break
        if price <= prices[here]:
            return ahead
    return None


def litres_to_buy(positions: list[int], prices: list[int], tank: int) -> list[int]:
    """Buy up to the next stop that is not dearer, or else a full tank."""
    bought: list[int] = []
    # how far along the route the fuel bought so far will carry
    reach = 0
    for here in range(len(prices)):
        target = next_cheaper(positions, prices, here, tank)
        wanted = positions[here] + tank if target is None else positions[target]
        bought.append(max(wanted - reach, 0))
        reach += bought[-1]
    return bought


def total_cost(litres: list[int], prices: list[int]) -> int:
    """Sum litres times price."""
    return sum(map(mul, litres, prices))


def plan_fuel(
    stops: list[tuple[str, int, int]], per_hundred: int, tank: int
) -> tuple[list[tuple[str, int]], int]:
    """Plan the purchases of a route that can be driven."""
    needs = [litres_for(kilometres, per_hundred) for _, _, kilometres in stops]
    if max(needs, default=0) > tank:
        return [], -1
    prices = [stop[1] for stop in stops]
    litres = litres_to_buy(positions_of(needs), prices, tank)
    bought = [(stop[0], amount) for stop, amount in zip(stops, litres, strict=True) if amount]
    return bought, total_cost(litres, prices)
