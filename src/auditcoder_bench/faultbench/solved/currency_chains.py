"""Find the best way to change money.

Each line of the text is one offer: what is given, what is got, and the rate, such as
EUR USD 1.10. It holds in this direction only. Empty lines are skipped. The amount is a whole
number of cents; after each exchange what was got is rounded down to whole cents, and an exchange
that would give nothing is not made. Starting with the amount in one currency, and making at most
the given number of exchanges, as much of the goal currency as possible shall be held at the end.
Return that amount and the currencies of the chain, start and goal among them. If several numbers
of exchanges give the same, the fewest count; if several chains of that length do, the offer of
the currency reached earlier wins. Start and goal may be the same: then making no exchange at all
is one of the possibilities. If the goal cannot be reached return 0 and an empty chain.
"""

from fractions import Fraction


def read_rates(text: str) -> dict[str, list[tuple[str, Fraction]]]:
    """Return the offers for each currency given, in the order of the text.

    kind: string
    ensures: all(rate > 0 for offers in result.values() for _, rate in offers)
    example: read_rates("") == {}
    """
    rates: dict[str, list[tuple[str, Fraction]]] = {}
    for line in text.split("\n"):
        if line.strip():
            given, got, rate = line.split()
            rates.setdefault(given, []).append((got, Fraction(rate)))
    return rates


def exchange(amount: int, rate: Fraction) -> int:
    """Return what an amount becomes at a rate, rounded down.

    kind: math
    requires: amount >= 0 and rate > 0
    ensures: 0 <= result <= amount * rate
    """
    return amount * rate.numerator // rate.denominator


def best_layers(
    rates: dict[str, list[tuple[str, Fraction]]], start: str, amount: int, limit: int
) -> list[dict[str, tuple[int, str]]]:
    """Return for each number of exchanges the most of every currency, and what it came from.

    kind: dp
    uses: exchange
    requires: limit >= 0
    ensures: len(result) == limit + 1
    cost: O(limit * offers)
    example: best_layers({}, "EUR", 5, 0) == [{"EUR": (5, "")}]
    """
    layers = [{start: (amount, "")}]
    for _ in range(limit):
        layer: dict[str, tuple[int, str]] = {}
        for given, (held, _source) in layers[-1].items():
            for got, rate in rates.get(given, []):
                gained = exchange(held, rate)
                if gained > layer.get(got, (0, ""))[0]:
                    layer[got] = (gained, given)
        layers.append(layer)
    return layers


def best_count(layers: list[dict[str, tuple[int, str]]], goal: str) -> int:
    """Return the number of exchanges that gives the most of the goal, or -1 if none does.

    kind: general
    ensures: -1 <= result < len(layers)
    example: best_count([{"A": (5, "")}, {}], "B") == -1
    """
    best = -1
    most = 0
    for count, layer in enumerate(layers):
        if goal in layer and layer[goal][0] > most:
            best = count
            most = layer[goal][0]
    return best


def trace_chain(layers: list[dict[str, tuple[int, str]]], goal: str, count: int) -> list[str]:
    """Return the currencies that lead to the goal with this number of exchanges.

    kind: general
    requires: 0 <= count < len(layers) and goal in layers[count]
    ensures: len(result) == count + 1
    example: trace_chain([{"A": (5, "")}, {"B": (9, "A")}], "B", 1) == ["A", "B"]
    """
    chain = [goal]
    for number in range(count, 0, -1):
        _, source = layers[number][chain[-1]]
        chain.append(source)
    return chain[::-1]


def currency_chains(
    text: str, amount: int, start: str, goal: str, limit: int
) -> tuple[int, list[str]]:
    """Return the most of the goal currency and the chain that leads to it.

    kind: orchestration
    requires: amount >= 0 and limit >= 0
    """
    layers = best_layers(read_rates(text), start, amount, limit)
    count = best_count(layers, goal)
    if count < 0:
        return 0, []
    return layers[count][goal][0], trace_chain(layers, goal, count)


EXAMPLES = (
    ("'', 50, 'EUR', 'USD', 4", "(0, [])"),
    ("'EUR USD 1.5', 50, 'EUR', 'EUR', 2", "(50, ['EUR'])"),
    (
        "'EUR USD 1.10\\nUSD GBP 0.80\\nEUR GBP 0.85\\nGBP EUR 1.15', 1000, 'EUR', 'GBP', 1",
        "(850, ['EUR', 'GBP'])",
    ),
    (
        "'EUR USD 1.10\\nUSD GBP 0.80\\nEUR GBP 0.85\\nGBP EUR 1.15', 1000, 'EUR', 'GBP', 2",
        "(880, ['EUR', 'USD', 'GBP'])",
    ),
    (
        "'EUR USD 1.10\\nUSD GBP 0.80\\nEUR GBP 0.85\\nGBP EUR 1.15', 1000, 'EUR', 'EUR', 3",
        "(1012, ['EUR', 'USD', 'GBP', 'EUR'])",
    ),
    (
        "'A B 0.333\\nB C 3\\n\\nA C 0.99\\nC A 1', 10, 'A', 'C', 2",
        "(9, ['A', 'C'])",
    ),
    ("'A B 2\\nA C 3\\nB D 5\\nC D 3\\nA E 1\\nE D 10', 7, 'A', 'D', 3", "(70, ['A', 'B', 'D'])"),
)

LARGE = (
    "'\\n'.join(f'c{i % 40} c{i * 7 // 5 % 40} {0.9 + i % 23 / 100:.2f}' for i in range(500)), "
    "10000, 'c1', 'c5', 150"
)
