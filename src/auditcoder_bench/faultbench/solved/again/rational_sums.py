"""The functions of rational_sums, written again by their contracts alone."""

from functools import reduce


def read_terms(line: str) -> list[tuple[int, int]]:
    """Read signed numerators and denominators from a line."""
    terms: list[tuple[int, int]] = []
    sign = 1
    for piece in line.split():
        if piece in ("+", "-"):
            sign = -1 if piece == "-" else 1
            continue
        top, _, bottom = piece.partition("/")
        terms.append((sign * int(top), int(bottom or "1")))
        sign = 1
    return terms


def greatest_divisor(first: int, second: int) -> int:
    """Apply Euclid's algorithm."""
    return first if second == 0 else greatest_divisor(second, first % second)


def add_fractions(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    """Add two fractions over a common denominator and cancel."""
    top = left[0] * right[1] + right[0] * left[1]
    bottom = left[1] * right[1]
    common = greatest_divisor(abs(top), bottom)
    return top // common, bottom // common


def sum_terms(terms: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Fold the fractions into one unless a denominator is 0."""
    if not all(bottom for _, bottom in terms):
        return None
    return reduce(add_fractions, terms, (0, 1))


def mixed_number(numerator: int, denominator: int) -> str:
    """Write the sign, the whole part and the rest of a fraction."""
    whole, rest = divmod(abs(numerator), denominator)
    parts = [str(whole)] if whole or not rest else []
    if rest:
        parts.append(f"{rest}/{denominator}")
    return ("-" if numerator < 0 else "") + " ".join(parts)


def rational_sums(lines: list[str]) -> list[str]:
    """Evaluate every line and then all of them together."""
    values = [sum_terms(read_terms(line)) for line in lines]
    total = reduce(add_fractions, (value for value in values if value is not None), (0, 1))
    return ["undefined" if value is None else mixed_number(*value) for value in [*values, total]]
