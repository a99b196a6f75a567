"""The functions of stock_trades, written again by their contracts alone."""


def parse_trade(line: str) -> tuple[str, str, int, int]:
    """Split a trade into its four fields."""
    action, symbol, *numbers = line.split()
    shares, price = map(int, numbers)
    return action.lower(), symbol, shares, price


def open_lot(lots: list[tuple[int, int]], shares: int, price: int) -> None:
    """Append a lot, merged with the last one if the price is the same."""
    if lots and lots[-1][1] == price:
        shares += lots.pop()[0]
    lots.append((shares, price))


def close_lots(lots: list[tuple[int, int]], shares: int, price: int) -> int:
    """Sell from the front of the lots and total the gain."""
    gain = 0
    emptied = 0
    for held, paid in lots:
        sold = min(held, shares)
        gain += sold * (price - paid)
        shares -= sold
        if sold < held:
            lots[emptied] = (held - sold, paid)
            break
        emptied += 1
    del lots[:emptied]
    return gain


def apply_trade(
    book: dict[str, list[tuple[int, int]]],
    gains: dict[str, int],
    trade: tuple[str, str, int, int],
) -> None:
    """Book a purchase or a sale of a symbol."""
    action, symbol, shares, price = trade
    lots = book.setdefault(symbol, [])
    gains.setdefault(symbol, 0)
    if action == "sell":
        gains[symbol] += close_lots(lots, shares, price)
    else:
        open_lot(lots, shares, price)


def position(lots: list[tuple[int, int]]) -> tuple[int, int]:
    """Total the shares and their cost."""
    held = cost = 0
    for shares, paid in lots:
        held, cost = held + shares, cost + shares * paid
    return held, cost


def realised_gains(trades: list[str]) -> list[tuple[str, int, int, int]]:
    """Run through the trades and sum up each symbol."""
    book: dict[str, list[tuple[int, int]]] = {}
    gains: dict[str, int] = {}
    for trade in map(parse_trade, trades):
        apply_trade(book, gains, trade)
    return sorted((symbol, gains[symbol], *position(lots)) for symbol, lots in book.items())
