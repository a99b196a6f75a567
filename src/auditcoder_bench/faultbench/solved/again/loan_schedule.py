"""The functions of loan_schedule, written again by their contracts alone."""

from bisect import bisect_left
from itertools import count


def monthly_interest(balance: int, rate: int) -> int:
    """Return one month's interest on a balance, to the nearest cent."""
    whole, rest = divmod(balance * rate, 120_000)
    return whole + (rest >= 60_000)


def clears(principal: int, rate: int, months: int, payment: int) -> bool:
    """Say whether a monthly payment pays a loan back within the months."""
    balance = principal
    for _ in range(months):
        balance += monthly_interest(balance, rate) - payment
        if balance <= 0:
            return True
    return False


def smallest_payment(principal: int, rate: int, months: int) -> int:
    """Find the smallest monthly payment that is enough."""
    # Whoever pays everything in the first month is done, so this range holds the answer.
    candidates = range(1, principal + monthly_interest(principal, rate) + 1)
    place = bisect_left(candidates, True, key=lambda sum_: clears(principal, rate, months, sum_))
    return candidates[place]


def pay_off(
    principal: int, rate: int, payment: int, extras: dict[int, int]
) -> list[tuple[int, int, int]]:
    """Return interest, sum paid and balance left for every month until nothing is left."""
    rows: list[tuple[int, int, int]] = []
    balance = principal
    for month in count(1):
        if balance <= 0:
            break
        interest = monthly_interest(balance, rate)
        paid = min(balance + interest, payment + extras.get(month, 0))
        balance += interest - paid
        rows.append((interest, paid, balance))
    return rows


def totals(rows: list[tuple[int, int, int]]) -> tuple[int, int]:
    """Add up the interest and the payments."""
    interest = paid = 0
    for row in rows:
        interest, paid = interest + row[0], paid + row[1]
    return interest, paid


def loan_schedule(
    principal: int, rate: int, months: int, extras: dict[int, int]
) -> dict[str, int | list[int]]:
    """Return the payment, the months, the interest, the sum paid and the balances."""
    payment = smallest_payment(principal, rate, months) if principal > 0 else 0
    rows = pay_off(principal, rate, payment, extras)
    interest, paid = totals(rows)
    return {
        "payment": payment,
        "months": len(rows),
        "interest": interest,
        "paid": paid,
        "balances": [left for *_, left in rows],
    }
