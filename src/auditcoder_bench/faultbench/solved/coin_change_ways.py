"""Answer questions about giving change with certain coins.

Given the values of the coins, of each of which there are as many as needed, and a list of amounts,
return for each amount a tuple: in how many ways it can be paid (the order of the coins does not
matter), the smallest number of coins that pay it, and one such payment as a list with the largest
coins first. Among the payments with the fewest coins, take the one whose largest coin is largest,
then the one whose next coin is largest, and so on. Coins may be named twice, and values below 1
are ignored. The amount 0 is paid in one way, with no coins. An amount that cannot be paid, also a
negative one, gives (0, -1, []).
"""


def usable_coins(coins: list[int]) -> list[int]:
    """Return the different values that can be used, in rising order.

    kind: sorting
    ensures: result == sorted(set(result))
    ensures: all(coin >= 1 for coin in result)
    example: usable_coins([5, 1, 5, 0]) == [1, 5]
    """
    return sorted({coin for coin in coins if coin >= 1})


def ways_table(coins: list[int], largest: int) -> list[int]:
    """Count, for every amount up to the largest, the ways in which it can be paid.

    kind: dp
    requires: largest >= 0
    cost: O(n * m)
    example: ways_table([1, 2], 4) == [1, 1, 2, 2, 3]
    """
    ways = [0] * (largest + 1)
    ways[0] = 1
    for coin in coins:
        for amount in range(coin, largest + 1):
            ways[amount] += ways[amount - coin]
    return ways


def best_last_coin(fewest: list[int], coins: list[int], amount: int) -> int:
    """Choose the coin after which the rest of the amount takes the fewest coins, the largest such.

    kind: greedy
    requires: amount > 0 and coins == sorted(coins)
    ensures: result == 0 or result in coins
    example: best_last_coin([0], [1, 2], 1) == 1
    """
    best = 0
    count = -1
    for coin in coins:
        if coin > amount:
            break
        rest = fewest[amount - coin]
        if rest >= 0 and (count < 0 or rest <= count):
            best, count = coin, rest
    return best


def fewest_table(coins: list[int], largest: int) -> tuple[list[int], list[int]]:
    """Return, for every amount, the fewest coins (or -1) and the coin to give first (or 0).

    kind: dp
    uses: best_last_coin
    ensures: len(result[0]) == len(result[1]) == largest + 1
    example: fewest_table([2], 2) == ([0, -1, 1], [0, 0, 2])
    """
    fewest = [0]
    chosen = [0]
    for amount in range(1, largest + 1):
        coin = best_last_coin(fewest, coins, amount)
        chosen.append(coin)
        fewest.append(fewest[amount - coin] + 1 if coin else -1)
    return fewest, chosen


def payment(chosen: list[int], amount: int) -> list[int]:
    """List the coins that pay an amount.

    kind: general
    """
    coins = []
    while amount > 0:
        coins.append(chosen[amount])
        amount -= chosen[amount]
    return coins


def change_report(coins: list[int], amounts: list[int]) -> list[tuple[int, int, list[int]]]:
    """Return the ways, the fewest coins and a payment for each amount.

    kind: orchestration
    """
    largest = max([0, *amounts])
    values = usable_coins(coins)
    ways = ways_table(values, largest)
    fewest, chosen = fewest_table(values, largest)
    report: list[tuple[int, int, list[int]]] = []
    for amount in amounts:
        if amount < 0 or fewest[amount] < 0:
            report.append((0, -1, []))
        else:
            report.append((ways[amount], fewest[amount], payment(chosen, amount)))
    return report


EXAMPLES = (
    ("[1, 2], []", "[]"),
    ("[], [0, 5]", "[(1, 0, []), (0, -1, [])]"),
    ("[1, 2, 5], [5]", "[(4, 1, [5])]"),
    ("[5, 1, 2, 5], [11, 3, -4]", "[(11, 3, [5, 5, 1]), (2, 2, [2, 1]), (0, -1, [])]"),
    ("[4, 3, 1], [6, 8]", "[(4, 2, [3, 3]), (6, 2, [4, 4])]"),
    (
        "[7, 3, 0, -2], [5, 10, 8, 13]",
        "[(0, -1, []), (1, 2, [7, 3]), (0, -1, []), (1, 3, [7, 3, 3])]",
    ),
    ("[1, 4, 5, 6, 9], [10]", "[(9, 2, [9, 1])]"),
)

LARGE = "list(range(40, 3, -1)) * 20, list(range(-5, 2000, 40))"
