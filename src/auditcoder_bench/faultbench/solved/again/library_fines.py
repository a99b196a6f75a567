"""The functions of library_fines, written again by their contracts alone."""


def parse_loan(line: str, today: int) -> tuple[str, str, int, int]:
    """Take a loan apart into member, kind, due day and day of return."""
    member, kind, due, returned = (part.strip() for part in line.split(";"))
    return member, kind, int(due), today if returned == "-" else int(returned)


def charged_days(due: int, returned: int) -> int:
    """Count the days of a loan that cost something."""
    return len(range(due + 2, returned))


def loan_fine(kind: str, due: int, returned: int) -> int:
    """Return what one loan costs, in cents."""
    match kind:
        case "book":
            daily, most = 10, 500
        case "film":
            daily, most = 50, 1000
        case "magazine":
            daily, most = 5, 500
        case _:
            daily, most = 20, 500
    return min(most, daily * charged_days(due, returned))


def add_fine(debts: dict[str, int], member: str, fine: int) -> None:
    """Add a fine to a member's debt, which does not grow beyond its limit."""
    if fine > 0:
        debts.update({member: min(2000, fine + debts.get(member, 0))})


def rank_debts(debts: dict[str, int]) -> list[tuple[str, int]]:
    """Put the debts in order, the largest first, equal ones by name."""
    return [(name, -cents) for cents, name in sorted((-debts[name], name) for name in debts)]


def fines_report(loans: list[str], today: int) -> tuple[list[tuple[str, int]], int]:
    """Return what each member owes, the largest debt first, and the sum."""
    debts: dict[str, int] = {}
    for loan in loans:
        member, kind, due, returned = parse_loan(loan, today)
        add_fine(debts, member, loan_fine(kind, due, returned))
    owing = rank_debts({member: cents for member, cents in debts.items() if cents})
    return owing, sum(cents for _, cents in owing)
