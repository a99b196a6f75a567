"""Work out sums of fractions exactly.

Each line is a sum or difference of whole numbers and fractions, such as "1/2 + 3/4 - 2"; signs and
numbers are separated by spaces, and a line may begin with a sign. Return the value of each line
and, last, the sum of all of them ("0" if there are no lines). Values are written in lowest terms
as mixed numbers: "5", "-3/4", "2 1/3", "-1 1/2" (the minus is for the whole value). A line with a
fraction whose denominator is 0 has the value "undefined" and does not count in the last sum. An
empty line has the value 0.
"""


def read_terms(line: str) -> list[tuple[int, int]]:
    """Read a line's terms as pairs of numerator, with its sign, and denominator.

    kind: string
    example: read_terms("1/2 - 3") == [(1, 2), (-3, 1)]
    """
    terms = []
    sign = 1
    for word in line.split():
        if word in ("+", "-"):
            sign = -1 if word == "-" else 1
            continue
        top, _, bottom = word.partition("/")
        terms.append((sign * int(top), int(bottom or "1")))
        sign = 1
    return terms


def greatest_divisor(first: int, second: int) -> int:
    """Return the greatest common divisor of two numbers that are not negative.

    kind: math
    requires: first >= 0 and second >= 0
    example: greatest_divisor(12, 18) == 6
    """
    if second == 0:
        return first
    return greatest_divisor(second, first % second)


def add_fractions(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    """Add two fractions and reduce the sum.

    kind: math
    requires: left[1] > 0 and right[1] > 0
    uses: greatest_divisor
    ensures: result[1] > 0
    example: add_fractions((1, 2), (1, 6)) == (2, 3)
    """
    numerator = left[0] * right[1] + right[0] * left[1]
    denominator = left[1] * right[1]
    divisor = greatest_divisor(abs(numerator), denominator)
    return numerator // divisor, denominator // divisor


def sum_terms(terms: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Add up fractions; None if one of them has no value.

    kind: math
    uses: add_fractions
    """
    total = (0, 1)
    for term in terms:
        if term[1] == 0:
            return None
        total = add_fractions(total, term)
    return total


def mixed_number(numerator: int, denominator: int) -> str:
    """Write a reduced fraction as a mixed number.

    kind: string
    requires: denominator > 0
    ensures: result.startswith("-") == (numerator < 0)
    example: mixed_number(7, 3) == "2 1/3"
    """
    sign = "-" if numerator < 0 else ""
    whole, rest = divmod(abs(numerator), denominator)
    if rest == 0:
        return f"{sign}{whole}"
    if whole == 0:
        return f"{sign}{rest}/{denominator}"
    return f"{sign}{whole} {rest}/{denominator}"


def rational_sums(lines: list[str]) -> list[str]:
    """Return the value of each line and the sum of the values.

    kind: orchestration
    ensures: len(result) == len(lines) + 1
    example: rational_sums([]) == ["0"]
    """
    values = []
    answers = []
    for line in lines:
        value = sum_terms(read_terms(line))
        if value is None:
            answers.append("undefined")
            continue
        values.append(value)
        answers.append(mixed_number(*value))
    total = sum_terms(values) or (0, 1)
    answers.append(mixed_number(*total))
    return answers


EXAMPLES = (
    ("[]", "['0']"),
    ("['1 + 2', '']", "['3', '0', '3']"),
    ("['1/2 + 3/4 - 2']", "['-3/4', '-3/4']"),
    ("['1/2 + 1/3', '- 7/3 + 5/6', '3/4 - 6/8']", "['5/6', '-1 1/2', '0', '-2/3']"),
    ("['1/3 - 1/0 + 2', '2/4', '5/3 + 2/3']", "['undefined', '1/2', '2 1/3', '2 5/6']"),
    ("['- 4 - 1/6 + 1/6', '10/4 + 7/10 - 1/5']", "['-4', '3', '-1']"),
)

LARGE = (
    "[' - '.join(f'{i * j % 17}/{(i + j) % 12 + 1}' for j in range(100)) for i in range(100)] "
    "+ ['1/0']"
)
