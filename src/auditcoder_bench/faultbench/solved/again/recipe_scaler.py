"""The functions of recipe_scaler, written again by their contracts alone."""

import math
import re
from fractions import Fraction


def split_line(line: str) -> tuple[Fraction, str, str]:
    """Split off the numbers at the front, then the unit, then the rest."""
    found = re.match(r"(\d+(?:/\d+)?(?:\s+\d+/\d+)?)\s*(\S*)\s*(.*)", line)
    if found is None:
        raise ValueError(line)
    numbers, unit, ingredient = found.groups()
    return sum(map(Fraction, numbers.split()), Fraction(0)), unit, ingredient.rstrip()


def larger_unit(amount: Fraction, unit: str) -> tuple[Fraction, str]:
    """Climb from teaspoons to tablespoons to cups while there is enough."""
    amount = Fraction(amount)
    for small, count, large in (("tsp", 3, "tbsp"), ("tbsp", 16, "cup")):
        if unit == small and amount >= count:
            amount, unit = amount / count, large
    return amount, unit


def scale_amount(amount: Fraction, unit: str, old: int, new: int) -> tuple[Fraction, str]:
    """Scale an amount, whole for pieces and in a fitting unit for spoons."""
    scaled = Fraction(amount) * Fraction(new, old)
    if unit == "piece":
        return Fraction(math.ceil(scaled)), unit
    return larger_unit(scaled, unit)


def format_amount(amount: Fraction) -> str:
    """Write the whole part and the fraction that remains."""
    exact = Fraction(amount)
    whole = math.floor(exact)
    rest = exact - whole
    if not rest:
        return str(whole)
    return f"{whole} {rest}" if whole else str(rest)


def scale_recipe(lines: list[str], old: int, new: int) -> list[str]:
    """Scale the ingredient lines and keep the headings."""
    out: list[str] = []
    for line in lines:
        if not line.strip():
            continue
        if not line[0].isdigit():
            out.append(line)
            continue
        amount, unit, ingredient = split_line(line)
        amount, unit = scale_amount(amount, unit, old, new)
        out.append(" ".join(filter(None, (format_amount(amount), unit, ingredient))))
    return out
