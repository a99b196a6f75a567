"""Write what every customer has to pay.

Each line of the text is one invoice line: customer;item;quantity;price, for example
ann;pen;2;1.50. Spaces around the fields do not count, empty lines are skipped. A price has at
most two decimals, and they may be missing. A negative quantity is a return. A customer whose
sum is at least the threshold (in cents) gets the discount in percent, the discount itself being
rounded down to a cent. Then the tax in percent is added, rounded to the nearest cent, halves
away from zero. Give the customers by name with their amounts as text, and at the end TOTAL with
the sum of all of them. Without any lines the total is 0.00.
"""


def parse_price(text: str) -> int:
    """Return a price with up to two decimals in cents.

    kind: string
    ensures: result >= 0
    example: parse_price("4.5") == 450
    """
    whole, _, fraction = text.strip().partition(".")
    return int(whole) * 100 + int((fraction + "00")[:2])


def read_lines(text: str) -> list[tuple[str, int, int]]:
    """Read customer, quantity and price in cents of every invoice line.

    kind: string
    uses: parse_price
    cost: O(n)
    """
    rows = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        customer, _item, quantity, price = line.split(";")
        rows.append((customer.strip(), int(quantity), parse_price(price)))
    return rows


def sum_by_customer(rows: list[tuple[str, int, int]]) -> dict[str, int]:
    """Add up quantity times price for each customer.

    kind: general
    ensures: set(result) == {row[0] for row in rows}
    cost: O(n)
    example: sum_by_customer([("ann", 2, 150), ("ann", 1, 5)]) == {"ann": 305}
    """
    sums: dict[str, int] = {}
    for customer, quantity, price in rows:
        sums[customer] = sums.get(customer, 0) + quantity * price
    return sums


def apply_discount(amount: int, threshold: int, percent: int) -> int:
    """Lower an amount that reaches the threshold by the discount.

    kind: math
    requires: 0 <= percent <= 100
    example: apply_discount(1000, 500, 10) == 900
    """
    if amount < threshold:
        return amount
    return amount - amount * percent // 100


def add_tax(amount: int, percent: int) -> int:
    """Add the tax, rounded to the nearest cent.

    kind: math
    requires: percent >= 0
    example: add_tax(100, 20) == 120
    """
    if amount < 0:
        return -add_tax(-amount, percent)
    return amount + (amount * percent + 50) // 100


def format_cents(cents: int) -> str:
    """Write cents as an amount with two decimals.

    kind: string
    example: format_cents(0) == "0.00"
    """
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole}.{rest:02d}"


def invoice_totals(text: str, threshold: int, discount: int, tax: int) -> list[tuple[str, str]]:
    """Return each customer's amount to pay, and the total.

    kind: orchestration
    ensures: len(result) >= 1
    """
    sums = sum_by_customer(read_lines(text))
    total = 0
    report = []
    for customer in sorted(sums):
        lowered = apply_discount(sums[customer], threshold, discount)
        due = add_tax(lowered, tax)
        total += due
        report.append((customer, format_cents(due)))
    report.append(("TOTAL", format_cents(total)))
    return report


EXAMPLES = (
    ("'', 1000, 10, 20", "[('TOTAL', '0.00')]"),
    ("'a;x;1;0.50', 100, 10, 5", "[('a', '0.53'), ('TOTAL', '0.53')]"),
    ("'zoe;box;3;0.05', 15, 50, 0", "[('zoe', '0.08'), ('TOTAL', '0.08')]"),
    (
        "'ann;pen;2;1.50\\nbob;ink;1;4\\nann;pad;1;3.25', 500, 10, 20",
        "[('ann', '6.76'), ('bob', '4.80'), ('TOTAL', '11.56')]",
    ),
    (
        "'kim;chair;-1;19.99\\n\\nabe;lamp;1;7.5', 10000, 10, 7",
        "[('abe', '8.03'), ('kim', '-21.39'), ('TOTAL', '-13.36')]",
    ),
    (
        "' eve ; desk ; 1 ; 120 \\nEve;desk;1;80\\neve;mat;2;9.99', 13000, 5, 19",
        "[('Eve', '95.20'), ('eve', '158.26'), ('TOTAL', '253.46')]",
    ),
)

LARGE = (
    "'\\n'.join(f'c{i % 300};pen;{i % 7 - 2};{i % 50}.{i % 100:02d}' for i in range(2000)), "
    "9000, 10, 19"
)
