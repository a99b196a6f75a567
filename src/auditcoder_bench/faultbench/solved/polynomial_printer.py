"""Multiply two polynomials and print the product and its derivative.

Both are given as text in x, such as 3x^2 - x + 4: terms are joined by + or -, a factor of 1 is
not written before x, a power of 1 is not written, and spaces do not count. The coefficients are
whole numbers, the powers whole numbers of at least 0. Terms may come in any order, and a power
may occur several times. Print in the same way, the greatest power first, with one space on both
sides of each + and - between terms; a minus before the first term stands directly before it.
Terms that vanish are not printed, and if none is left the text is 0. An empty text means 0.
"""


def split_terms(text: str) -> list[str]:
    """Cut a polynomial into its terms, each with its minus if it has one.

    kind: string
    ensures: all(result)
    example: split_terms("x - 2") == ["x", "-2"]
    """
    joined = text.replace(" ", "").replace("-", "+-")
    return [term for term in joined.split("+") if term]


def parse_term(term: str) -> tuple[int, int]:
    """Return the coefficient and the power of one term.

    kind: string
    requires: len(term) >= 1
    ensures: result[1] >= 0
    example: parse_term("3x^2") == (3, 2)
    """
    if "x" not in term:
        return int(term), 0
    factor, _, power = term.partition("x")
    if factor in ("", "-"):
        factor += "1"
    return int(factor), int(power[1:]) if power else 1


def read_polynomial(text: str) -> dict[int, int]:
    """Return the coefficient of each power that occurs.

    kind: general
    uses: split_terms, parse_term
    ensures: all(power >= 0 for power in result)
    example: read_polynomial("5") == {0: 5}
    """
    coefficients: dict[int, int] = {}
    for term in split_terms(text):
        coefficient, power = parse_term(term)
        coefficients[power] = coefficients.get(power, 0) + coefficient
    return coefficients


def multiply(left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
    """Return the product, without powers whose coefficient is 0.

    kind: math
    ensures: 0 not in result.values()
    cost: O(n m)
    example: multiply({0: 2}, {1: 3}) == {1: 6}
    """
    product: dict[int, int] = {}
    for left_power, left_factor in left.items():
        for right_power, right_factor in right.items():
            power = left_power + right_power
            product[power] = product.get(power, 0) + left_factor * right_factor
    return {power: factor for power, factor in product.items() if factor != 0}


def derive(polynomial: dict[int, int]) -> dict[int, int]:
    """Return the derivative.

    kind: math
    ensures: len(result) <= len(polynomial)
    """
    derivative = {}
    for power, factor in polynomial.items():
        if power == 0:
            continue
        derivative[power - 1] = power * factor
    return derivative


def format_term(factor: int, power: int) -> str:
    """Write one term without its sign.

    kind: string
    requires: factor != 0 and power >= 0
    example: format_term(4, 1) == "4x"
    """
    size = abs(factor)
    if power == 0:
        return str(size)
    number = "" if size == 1 else str(size)
    return f"{number}x" if power == 1 else f"{number}x^{power}"


def format_polynomial(polynomial: dict[int, int]) -> str:
    """Write a polynomial, the greatest power first.

    kind: string
    uses: format_term
    requires: 0 not in polynomial.values()
    example: format_polynomial({}) == "0"
    """
    text = ""
    for power in sorted(polynomial, reverse=True):
        negative = polynomial[power] < 0
        if text:
            text += " - " if negative else " + "
        elif negative:
            text = "-"
        text += format_term(polynomial[power], power)
    return text or "0"


def polynomial_printer(left: str, right: str) -> tuple[str, str]:
    """Return the product of two polynomials and the derivative of the product.

    kind: orchestration
    """
    product = multiply(read_polynomial(left), read_polynomial(right))
    return format_polynomial(product), format_polynomial(derive(product))


EXAMPLES = (
    ("'', 'x'", "('0', '0')"),
    ("'5', '-1'", "('-5', '0')"),
    ("'x + 1', 'x - 1'", "('x^2 - 1', '2x')"),
    ("'3x^2 - x + 4', '2'", "('6x^2 - 2x + 8', '12x - 2')"),
    ("'-x', 'x^3 + 2x + x'", "('-x^4 - 3x^2', '-4x^3 - 6x')"),
    ("'2x-2x + 7x^10', '1'", "('7x^10', '70x^9')"),
    (
        "'1 + x^2 + x', 'x^3 - 2'",
        "('x^5 + x^4 + x^3 - 2x^2 - 2x - 2', '5x^4 + 4x^3 + 3x^2 - 4x - 2')",
    ),
)

LARGE = (
    "' + '.join(f'{i % 7 + 2}x^{i % 150 + 2}' for i in range(1000)), ' - '.join(f'{i % 5 + "
    "2}x^{i % 150 + 3}' for i in range(1000))"
)
