"""Scale the ingredients of a recipe from one number of servings to another.

Each line is an amount, a unit and an ingredient, such as "2 1/2 cup plain flour". An amount is a
whole number, a fraction, or both. Return the lines with the scaled amounts, written in the same
way with the fraction reduced. Spoons that have become too many are written in a larger unit: 3
tsp or more become tbsp, 16 tbsp or more become cup. The unit "piece" cannot be cut: such amounts
are rounded up to a whole number. Lines that do not begin with a digit are headings and stay as
they are. Blank lines are left out.
"""

import math
from fractions import Fraction


def split_line(line: str) -> tuple[Fraction, str, str]:
    """Take an ingredient line apart into amount, unit and ingredient.

    kind: string
    requires: line[:1].isdigit()
    ensures: result[0] >= 0
    example: split_line("2 cup plain flour") == (2, "cup", "plain flour")
    """
    words = line.split()
    amount = Fraction(words[0])
    used = 1
    if words[1][0].isdigit():
        amount += Fraction(words[1])
        used = 2
    return amount, words[used], " ".join(words[used + 1 :])


def larger_unit(amount: Fraction, unit: str) -> tuple[Fraction, str]:
    """Write an amount in the largest unit of which there is at least one.

    kind: general
    ensures: result[0] <= amount
    example: larger_unit(6, "tsp") == (2, "tbsp")
    """
    steps = {"tsp": (3, "tbsp"), "tbsp": (16, "cup")}
    if unit not in steps:
        return amount, unit
    needed, larger = steps[unit]
    if amount < needed:
        return amount, unit
    return larger_unit(Fraction(amount) / needed, larger)


def scale_amount(amount: Fraction, unit: str, old: int, new: int) -> tuple[Fraction, str]:
    """Scale an amount from the old to the new number of servings and choose its unit.

    kind: math
    requires: old > 0 and new > 0
    uses: larger_unit
    example: scale_amount(3, "piece", 2, 1) == (2, "piece")
    """
    scaled = Fraction(amount) * new / old
    if unit == "piece":
        return Fraction(math.ceil(scaled)), unit
    return larger_unit(scaled, unit)


def format_amount(amount: Fraction) -> str:
    """Write an amount as a whole number, a fraction, or both.

    kind: string
    example: format_amount(4) == "4"
    """
    whole, rest = divmod(amount.numerator, amount.denominator)
    if rest == 0:
        return str(whole)
    fraction = f"{rest}/{amount.denominator}"
    if whole == 0:
        return fraction
    return f"{whole} {fraction}"


def scale_recipe(lines: list[str], old: int, new: int) -> list[str]:
    """Return the lines of a recipe with their amounts scaled.

    kind: orchestration
    """
    scaled = []
    for line in lines:
        text = line.strip()
        if not text:
            continue
        if not text[0].isdigit():
            scaled.append(text)
            continue
        amount, unit, name = split_line(text)
        amount, unit = scale_amount(amount, unit, old, new)
        scaled.append(f"{format_amount(amount)} {unit} {name}")
    return scaled


EXAMPLES = (
    ("[], 2, 4", "[]"),
    ("['2 cup flour'], 1, 2", "['4 cup flour']"),
    (
        "['Dough', '2 1/2 cup plain flour', '', '3/4 cup milk', '3 piece egg'], 4, 6",
        "['Dough', '3 3/4 cup plain flour', '1 1/8 cup milk', '5 piece egg']",
    ),
    (
        "['1 tsp salt', '2 tbsp olive oil', '1/2 tsp pepper'], 1, 3",
        "['1 tbsp salt', '6 tbsp olive oil', '1 1/2 tsp pepper']",
    ),
    (
        "['4 tsp baking soda', '4 tbsp sugar', '5 piece egg'], 2, 24",
        "['1 cup baking soda', '3 cup sugar', '60 piece egg']",
    ),
    (
        "['  1 1/3 cup rice ', '5 piece lemon', '9 tsp oil'], 4, 1",
        "['1/3 cup rice', '2 piece lemon', '2 1/4 tsp oil']",
    ),
)

LARGE = (
    "[f'{i % 9 + 1} {i % 4 + 1}/5 {u} x{i}' for i in range(150) for u in ('tsp', 'tbsp', "
    "'cup', 'piece')] + ['Sauce'], 6, 100"
)
