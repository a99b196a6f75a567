"""The functions of invoice_totals, written again by their contracts alone."""

from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal


def parse_price(text: str) -> int:
    """Return a price with up to two decimals in cents."""
    return int(Decimal(text.strip()).scaleb(2))


def read_lines(text: str) -> list[tuple[str, int, int]]:
    """Read customer, quantity and price in cents of every invoice line."""
    rows: list[tuple[str, int, int]] = []
    for line in filter(str.strip, text.splitlines()):
        customer, _item, quantity, price = map(str.strip, line.split(";"))
        rows.append((customer, int(quantity), parse_price(price)))
    return rows


def sum_by_customer(rows: list[tuple[str, int, int]]) -> dict[str, int]:
    """Add up quantity times price for each customer."""
    sums: defaultdict[str, int] = defaultdict(int)
    for customer, quantity, price in rows:
        sums[customer] += quantity * price
    return dict(sums)


def apply_discount(amount: int, threshold: int, percent: int) -> int:
    """Lower an amount that reaches the threshold by the discount."""
    if amount < threshold:
        return amount
    return amount - divmod(amount * percent, 100)[0]


def add_tax(amount: int, percent: int) -> int:
    """Add the tax, rounded to the nearest cent."""
    tax = Decimal(amount * percent).scaleb(-2)
    return amount + int(tax.to_integral_value(rounding=ROUND_HALF_UP))


def format_cents(cents: int) -> str:
    """Write cents as an amount with two decimals."""
    digits = str(abs(cents)).rjust(3, "0")
    return ("-" if cents < 0 else "") + digits[:-2] + "." + digits[-2:]


def invoice_totals(text: str, threshold: int, discount: int, tax: int) -> list[tuple[str, str]]:
    """Return each customer's amount to pay, and the total."""
    due = {
        customer: add_tax(apply_discount(amount, threshold, discount), tax)
        for customer, amount in sorted(sum_by_customer(read_lines(text)).items())
    }
    pairs = [*due.items(), ("TOTAL", sum(due.values()))]
    return [(name, format_cents(cents)) for name, cents in pairs]
