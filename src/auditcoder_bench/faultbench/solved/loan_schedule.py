"""Work out how a loan is paid back.

The principal is in cents, the yearly rate in hundredths of a percent (350 is 3.5 percent). At
the end of each month a twelfth of the yearly interest on the balance is added, rounded to the
nearest cent with halves up, and then a payment is made. The monthly payment is the smallest
whole number of cents that pays everything back within the given number of months. In some months
an extra sum is paid on top, given as a table from month to cents; it does not change the monthly
payment, but may end the loan sooner. The last payment is only what is still due. Return the
monthly payment, the number of months it really takes, all interest, all that was paid, and the
balance after each month. A loan of nothing needs no payment.
"""


def monthly_interest(balance: int, rate: int) -> int:
    """Return one month's interest on a balance, to the nearest cent.

    kind: math
    requires: balance >= 0 and rate >= 0
    ensures: 0 <= result
    example: monthly_interest(120000, 100) == 100
    """
    year = 12 * 10_000
    return (balance * rate + year // 2) // year


def clears(principal: int, rate: int, months: int, payment: int) -> bool:
    """Say whether a monthly payment pays a loan back within the months.

    kind: math
    uses: monthly_interest
    requires: principal > 0
    cost: O(months)
    example: clears(100, 0, 2, 50) == True
    """
    balance = principal
    for _ in range(months):
        balance += monthly_interest(balance, rate) - payment
        if balance <= 0:
            return True
    return False


def smallest_payment(principal: int, rate: int, months: int) -> int:
    """Find the smallest monthly payment that is enough.

    kind: binary_search
    uses: clears, monthly_interest
    requires: principal > 0 and months >= 1
    ensures: result >= 1
    ensures: result * months >= principal
    cost: O(months log principal)
    example: smallest_payment(300, 0, 3) == 100
    """
    low, high = 1, principal + monthly_interest(principal, rate)
    while low < high:
        middle = (low + high) // 2
        if clears(principal, rate, months, middle):
            high = middle
        else:
            low = middle + 1
    return low


def pay_off(
    principal: int, rate: int, payment: int, extras: dict[int, int]
) -> list[tuple[int, int, int]]:
    """Return interest, sum paid and balance left for every month until nothing is left.

    kind: general
    uses: monthly_interest
    requires: payment > 0 or principal <= 0
    ensures: all(row[2] >= 0 for row in result)
    example: pay_off(100, 0, 60, {}) == [(0, 60, 40), (0, 40, 0)]
    """
    rows: list[tuple[int, int, int]] = []
    balance = principal
    while balance > 0:
        interest = monthly_interest(balance, rate)
        month = len(rows) + 1
        paid = min(balance + interest, payment + extras.get(month, 0))
        balance += interest - paid
        rows.append((interest, paid, balance))
    return rows


def totals(rows: list[tuple[int, int, int]]) -> tuple[int, int]:
    """Add up the interest and the payments.

    kind: math
    example: totals([(1, 5, 9), (2, 6, 3)]) == (3, 11)
    """
    interest = paid = 0
    for month_interest, month_paid, _ in rows:
        interest += month_interest
        paid += month_paid
    return interest, paid


def loan_schedule(
    principal: int, rate: int, months: int, extras: dict[int, int]
) -> dict[str, int | list[int]]:
    """Return the payment, the months, the interest, the sum paid and the balances.

    kind: orchestration
    requires: months >= 1
    ensures: set(result) == {"payment", "months", "interest", "paid", "balances"}
    """
    payment = smallest_payment(principal, rate, months) if principal > 0 else 0
    rows = pay_off(principal, rate, payment, extras)
    interest, paid = totals(rows)
    return {
        "payment": payment,
        "months": len(rows),
        "interest": interest,
        "paid": paid,
        "balances": [balance for _, _, balance in rows],
    }


EXAMPLES = (
    (
        "0, 500, 12, {}",
        "{'payment': 0, 'months': 0, 'interest': 0, 'paid': 0, 'balances': []}",
    ),
    (
        "300, 0, 3, {}",
        "{'payment': 100, 'months': 3, 'interest': 0, 'paid': 300, 'balances': [200, 100, 0]}",
    ),
    (
        "1000, 1200, 1, {}",
        "{'payment': 1010, 'months': 1, 'interest': 10, 'paid': 1010, 'balances': [0]}",
    ),
    (
        "1000, 1200, 2, {}",
        "{'payment': 508, 'months': 2, 'interest': 15, 'paid': 1015, 'balances': [502, 0]}",
    ),
    (
        "1000, 1200, 3, {1: 200}",
        "{'payment': 340, 'months': 3, 'interest': 16, 'paid': 1016, 'balances': [470, 135, 0]}",
    ),
    (
        "500, 600, 4, {2: 1000}",
        "{'payment': 127, 'months': 2, 'interest': 5, 'paid': 505, 'balances': [376, 0]}",
    ),
)

LARGE = "9000000, 300, 1500, {month: 700 for month in range(12, 1500, 12)}"
