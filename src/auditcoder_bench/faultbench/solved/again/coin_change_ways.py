"""The functions of coin_change_ways, written again by their contracts alone."""


def usable_coins(coins: list[int]) -> list[int]:
    """Return the different values that can be used, in rising order."""
    return sorted({coin for coin in coins if coin > 0})


def ways_table(coins: list[int], largest: int) -> list[int]:
    """Count, for every amount up to the largest, the ways in which it can be paid."""
    ways = [1] + [0] * largest
    for coin in coins:
        fresh: list[int] = []
        for amount, old in enumerate(ways):
            fresh.append(old + (fresh[amount - coin] if amount >= coin else 0))
        ways = fresh
    return ways


def best_last_coin(fewest: list[int], coins: list[int], amount: int) -> int:
    """Choose the coin after which the rest of the amount takes the fewest coins."""
    options = [
        (fewest[amount - coin], -coin)
        for coin in coins
        if coin <= amount and fewest[amount - coin] >= 0
    ]
    return -min(options)[1] if options else 0


def fewest_table(coins: list[int], largest: int) -> tuple[list[int], list[int]]:
    """Return, for every amount, the fewest coins (or -1) and the coin to give first (or 0)."""
    fewest, chosen = [0], [0]
    while len(fewest) <= largest:
        amount = len(fewest)
        coin = best_last_coin(fewest, coins, amount)
        chosen.append(coin)
        fewest.append(fewest[amount - coin] + 1 if coin else -1)
    return fewest, chosen


def payment(chosen: list[int], amount: int) -> list[int]:
    """List the coins that pay an amount."""
    coins: list[int] = []
    while amount > 0 and (coin := chosen[amount]):
        coins.append(coin)
        amount -= coin
    return sorted(coins, reverse=True)


def change_report(coins: list[int], amounts: list[int]) -> list[tuple[int, int, list[int]]]:
    """Return the ways, the fewest coins and a payment for each amount."""
    usable, largest = usable_coins(coins), max([0, *amounts])
    ways = ways_table(usable, largest)
    fewest, chosen = fewest_table(usable, largest)
    return [
        (0, -1, [])
        if amount < 0 or fewest[amount] < 0
        else (ways[amount], fewest[amount], payment(chosen, amount))
        for amount in amounts
    ]
