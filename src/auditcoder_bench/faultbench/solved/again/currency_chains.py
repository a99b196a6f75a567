"""The functions of currency_chains, written again by their contracts alone."""

from fractions import Fraction


def read_rates(text: str) -> dict[str, list[tuple[str, Fraction]]]:
    """Return the offers for each currency given, in the order of the text."""
    rates: dict[str, list[tuple[str, Fraction]]] = {}
    for words in filter(None, map(str.split, text.splitlines())):
        given, got, rate = words
        rates[given] = [*rates.get(given, []), (got, Fraction(rate))]
    return rates


def exchange(amount: int, rate: Fraction) -> int:
    """Return what an amount becomes at a rate, rounded down."""
    return amount * rate.numerator // rate.denominator


def best_layers(
    rates: dict[str, list[tuple[str, Fraction]]], start: str, amount: int, limit: int
) -> list[dict[str, tuple[int, str]]]:
    """Return for each number of exchanges the most of every currency, and what it came from."""
    layers = [{start: (amount, "")}]
    for _ in range(limit):
        candidates: dict[str, list[tuple[int, str]]] = {}
        for currency, (held, _origin) in layers[-1].items():
            for target, rate in rates.get(currency, []):
                got = exchange(held, rate)
                if got:
                    candidates.setdefault(target, []).append((got, currency))
        # The first of equally good candidates is the one that max returns.
        layers.append(
            {target: max(found, key=lambda pair: pair[0]) for target, found in candidates.items()}
        )
    return layers


def best_count(layers: list[dict[str, tuple[int, str]]], goal: str) -> int:
    """Return the number of exchanges that gives the most of the goal, or -1 if none does."""
    reaching = [count for count, layer in enumerate(layers) if goal in layer]
    return max(reaching, key=lambda count: (layers[count][goal][0], -count), default=-1)


def trace_chain(layers: list[dict[str, tuple[int, str]]], goal: str, count: int) -> list[str]:
    """Return the currencies that lead to the goal with this number of exchanges."""
    if count == 0:
        return [goal]
    return [*trace_chain(layers, layers[count][goal][1], count - 1), goal]


def currency_chains(
    text: str, amount: int, start: str, goal: str, limit: int
) -> tuple[int, list[str]]:
    """Return the most of the goal currency and the chain that leads to it."""
    layers = best_layers(read_rates(text), start, amount, limit)
    count = best_count(layers, goal)
    if count < 0:
        return 0, []
    return layers[count][goal][0], trace_chain(layers, goal, count)
