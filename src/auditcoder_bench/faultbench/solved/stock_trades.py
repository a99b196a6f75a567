"""Work out the realised gain of a list of stock trades, first bought is first sold.

Each trade is a text such as "buy ACME 10 250" or "sell ACME 4 300": action, symbol, number of
shares and price of one share in cents. Trades come in order of time. A sale uses up the oldest
shares of that symbol first; its gain is the difference between the sale price and the price for
which each share was bought. Selling more than is held sells only what is held. Return, for every
symbol in alphabetical order, a tuple of symbol, gain in cents, shares still held, and what those
were bought for altogether. Without trades the list is empty. Actions may be in capital letters.
"""


def parse_trade(line: str) -> tuple[str, str, int, int]:
    """Take a trade apart into action, symbol, shares and price.

    kind: string
    requires: len(line.split()) == 4
    ensures: result[0] in ("buy", "sell")
    example: parse_trade("BUY ACME 10 250") == ("buy", "ACME", 10, 250)
    """
    action, symbol, shares, price = line.split()
    return action.lower(), symbol, int(shares), int(price)


def open_lot(lots: list[tuple[int, int]], shares: int, price: int) -> None:
    """Add a purchase to the end of the lots; shares bought at the last price join that lot.

    kind: general
    requires: shares >= 0 and price >= 0
    """
    if shares == 0:
        return
    if lots and lots[-1][1] == price:
        lots[-1] = (lots[-1][0] + shares, price)
    else:
        lots.append((shares, price))


def close_lots(lots: list[tuple[int, int]], shares: int, price: int) -> int:
    """Take shares from the oldest lots and return the gain of selling them at this price.

    kind: greedy
    requires: shares >= 0
    cost: O(n)
    example: close_lots([(5, 100)], 2, 130) == 60
    """
    gain = 0
    while shares > 0 and lots:
        held, paid = lots[0]
        sold = min(held, shares)
        gain += sold * (price - paid)
        shares -= sold
        if sold == held:
            lots.pop(0)
        else:
            lots[0] = (held - sold, paid)
    return gain


def apply_trade(
    book: dict[str, list[tuple[int, int]]],
    gains: dict[str, int],
    trade: tuple[str, str, int, int],
) -> None:
    """Bring the lots and the gain of the trade's symbol up to date.

    kind: general
    uses: open_lot, close_lots
    """
    action, symbol, shares, price = trade
    lots = book.setdefault(symbol, [])
    gains.setdefault(symbol, 0)
    if action == "buy":
        open_lot(lots, shares, price)
    else:
        gains[symbol] += close_lots(lots, shares, price)


def position(lots: list[tuple[int, int]]) -> tuple[int, int]:
    """Return how many shares the lots hold and what was paid for them.

    kind: math
    ensures: result[0] >= 0 and result[1] >= 0
    example: position([(2, 100), (1, 50)]) == (3, 250)
    """
    held = 0
    cost = 0
    for shares, price in lots:
        held += shares
        cost += shares * price
    return held, cost


def realised_gains(trades: list[str]) -> list[tuple[str, int, int, int]]:
    """Return symbol, gain, shares held and their cost for every symbol that was traded.

    kind: orchestration
    ensures: result == sorted(result)
    example: realised_gains([]) == []
    """
    book: dict[str, list[tuple[int, int]]] = {}
    gains: dict[str, int] = {}
    for line in trades:
        apply_trade(book, gains, parse_trade(line))
    report = []
    for symbol in sorted(book):
        held, cost = position(book[symbol])
        report.append((symbol, gains[symbol], held, cost))
    return report


EXAMPLES = (
    ("[]", "[]"),
    ("['buy ACME 10 250']", "[('ACME', 0, 10, 2500)]"),
    ("['buy ACME 10 250', 'SELL ACME 4 300']", "[('ACME', 200, 6, 1500)]"),
    (
        "['buy X 5 100', 'buy X 5 120', 'sell X 7 110', 'buy B 3 40', 'sell X 1 130']",
        "[('B', 0, 3, 120), ('X', 40, 2, 240)]",
    ),
    (
        "['buy Q 2 10', 'sell Q 5 15', 'sell Q 1 99', 'buy Q 1 30', 'sell R 3 10']",
        "[('Q', 10, 1, 30), ('R', 0, 0, 0)]",
    ),
    (
        "['buy M 4 50', 'buy M 2 50', 'buy M 0 70', 'sell M 5 45', 'sell M 1 60', 'buy A 1 7']",
        "[('A', 0, 1, 7), ('M', -15, 0, 0)]",
    ),
)

LARGE = (
    "[f'buy S{i % 2} {i % 9 + 1} {100 + i % 37}' for i in range(1500)] + [f'SELL S{i % 2} {i * "
    "250} {120 + i % 11}' for i in range(8)]"
)
