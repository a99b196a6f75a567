"""Work out what the members of a library owe for late returns.

Each loan is a text "member;kind;due;returned" with the days as whole numbers; `returned` is "-" if
the item is still out, and then it counts as returned today. A loan is late by the days after the
due day; the first two late days of a loan are free of charge. Each further day costs 10 cents for
a book, 50 for a film, 5 for a magazine and 20 for any other kind. A loan costs at most 500 cents,
and a film at most 1000. A member owes at most 2000 cents altogether. Return the members who owe
something as pairs (member, cents), the largest debt first and equal ones in order of name, and
the sum of these debts. Spaces around the parts of a loan do not matter.
"""


def parse_loan(line: str, today: int) -> tuple[str, str, int, int]:
    """Take a loan apart into member, kind, due day and day of return.

    kind: string
    requires: line.count(";") == 3
    example: parse_loan("Ann;book;10;-", 15) == ("Ann", "book", 10, 15)
    """
    member, kind, due, returned = (part.strip() for part in line.split(";"))
    back = today if returned == "-" else int(returned)
    return member, kind, int(due), back


def charged_days(due: int, returned: int) -> int:
    """Count the days of a loan that cost something.

    kind: math
    example: charged_days(10, 15) == 3
    """
    free = 2
    if returned <= due + free:
        return 0
    return returned - due - free


def loan_fine(kind: str, due: int, returned: int) -> int:
    """Return what one loan costs, in cents.

    kind: math
    uses: charged_days
    ensures: 0 <= result <= 1000
    example: loan_fine("book", 10, 10) == 0
    """
    rates = {"book": 10, "film": 50, "magazine": 5}
    most = 1000 if kind == "film" else 500
    return min(most, charged_days(due, returned) * rates.get(kind, 20))


def add_fine(debts: dict[str, int], member: str, fine: int) -> None:
    """Add a fine to a member's debt, which does not grow beyond its limit.

    kind: general
    """
    limit = 2000
    if fine == 0:
        return
    debts[member] = min(limit, debts.get(member, 0) + fine)


def rank_debts(debts: dict[str, int]) -> list[tuple[str, int]]:
    """Put the debts in order, the largest first, equal ones by name.

    kind: sorting
    ensures: len(result) == len(debts)
    ensures: all(a[1] >= b[1] for a, b in zip(result, result[1:]))
    example: rank_debts({"Bob": 5, "Ann": 5}) == [("Ann", 5), ("Bob", 5)]
    """
    return sorted(debts.items(), key=lambda item: (-item[1], item[0]))


def fines_report(loans: list[str], today: int) -> tuple[list[tuple[str, int]], int]:
    """Return what each member owes, the largest debt first, and the sum.

    kind: orchestration
    ensures: result[1] == sum(cents for _, cents in result[0])
    """
    debts: dict[str, int] = {}
    for line in loans:
        member, kind, due, returned = parse_loan(line, today)
        add_fine(debts, member, loan_fine(kind, due, returned))
    ranked = rank_debts(debts)
    return ranked, sum(cents for _, cents in ranked)


EXAMPLES = (
    ("[], 100", "([], 0)"),
    ("['Ann;book;10;12', 'Bob;film;10;9'], 50", "([], 0)"),
    ("['Ann;book;10;13', 'Bob ; magazine ; 10 ; - '], 20", "([('Bob', 40), ('Ann', 10)], 50)"),
    (
        "['Zoe;map;1;5', 'Ann;book;1;7', 'Kim;magazine;3;13', 'Zoe;film;9;11'], 30",
        "([('Ann', 40), ('Kim', 40), ('Zoe', 40)], 120)",
    ),
    (
        "['Cy;film;0;-', 'Di;book;0;-', 'Cy;film;60;70', 'Di;magazine;40;-'], 80",
        "([('Cy', 1400), ('Di', 690)], 2090)",
    ),
    (
        "['Ed;film;0;90', 'Flo;map;50;99', 'Ed;film;1;99', 'Ed;book;3;60'], 99",
        "([('Ed', 2000), ('Flo', 500)], 2500)",
    ),
)

LARGE = (
    "[f'm{i % 400};{k};{i % 90};{r}' for i in range(700) for k, r in (('book', '-'), ('film', "
    "i % 99), ('map', 80))], 100"
)
