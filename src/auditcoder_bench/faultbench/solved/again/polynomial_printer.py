"""The functions of polynomial_printer, written again by their contracts alone."""

import re
from collections import Counter
from itertools import product


def split_terms(text: str) -> list[str]:
    """Find the terms of a polynomial, a minus kept with its term."""
    return re.findall(r"-?[^+-]+", "".join(text.split()))


def parse_term(term: str) -> tuple[int, int]:
    """Read coefficient and power of a term."""
    head, x, tail = term.partition("x")
    factor = int(head + "1") if head in ("", "-", "+") else int(head)
    if not x:
        return factor, 0
    return factor, int(tail.lstrip("^")) if tail else 1


def read_polynomial(text: str) -> dict[int, int]:
    """Add up the coefficients of each power in a text."""
    found: dict[int, int] = {}
    for factor, power in map(parse_term, split_terms(text)):
        found[power] = found.get(power, 0) + factor
    return found


def multiply(left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
    """Multiply every term with every other and drop what vanishes."""
    total: Counter[int] = Counter()
    for (p, a), (q, b) in product(left.items(), right.items()):
        total[p + q] += a * b
    return {power: factor for power, factor in total.items() if factor}


def derive(polynomial: dict[int, int]) -> dict[int, int]:
    """Differentiate term by term."""
    slope: dict[int, int] = {}
    for power, factor in polynomial.items():
        if power > 0:
            slope[power - 1] = power * factor
    return slope


def format_term(factor: int, power: int) -> str:
    """Write a term with the absolute value of its factor."""
    size = str(abs(factor))
    if power == 0:
        return size
    letter = "x" if power == 1 else f"x^{power}"
    return letter if size == "1" else size + letter


def format_polynomial(polynomial: dict[int, int]) -> str:
    """Write the terms by falling power with their signs between."""
    text = ""
    for power, factor in sorted(polynomial.items(), reverse=True):
        if text:
            text += " - " if factor < 0 else " + "
        elif factor < 0:
            text = "-"
        text += format_term(factor, power)
    return text or "0"


def polynomial_printer(left: str, right: str) -> tuple[str, str]:
    """Print the product of two polynomials and its derivative."""
    result = multiply(read_polynomial(left), read_polynomial(right))
    return format_polynomial(result), format_polynomial(derive(result))
