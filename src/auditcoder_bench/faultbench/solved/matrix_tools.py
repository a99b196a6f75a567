"""Read two integer matrices and report on them.

The text holds the matrices A and B, separated by a blank line; each line is one row with its
numbers separated by spaces. Return a dictionary with four entries: "power" is A raised to the
given exponent, "trace" is the sum of the main diagonal of that power, "product" is A times B, and
"gram" is B transposed times B. If A is not square, "power" is an empty matrix and "trace" is 0.
If A does not have as many columns as B has rows, "product" is an empty matrix. The exponent 0 gives
the identity matrix. The text always has two matrices with rows of equal lengths.
"""


def read_matrices(text: str) -> tuple[list[list[int]], list[list[int]]]:
    """Read the two matrices that a blank line separates.

    kind: string
    ensures: all(len(row) == len(result[0][0]) for row in result[0])
    ensures: all(len(row) == len(result[1][0]) for row in result[1])
    """
    matrices: list[list[list[int]]] = [[], []]
    current = 0
    for line in text.strip().split("\n"):
        if line.strip():
            matrices[current].append([int(word) for word in line.split()])
        elif matrices[current]:
            current = 1
    return matrices[0], matrices[1]


def multiply(left: list[list[int]], right: list[list[int]]) -> list[list[int]]:
    """Multiply two matrices; the answer is empty if their sizes do not fit.

    kind: math
    cost: O(n**3)
    example: multiply([[1, 2]], [[3], [4]]) == [[11]]
    """
    if not left or not right or len(left[0]) != len(right):
        return []
    product = [[0] * len(right[0]) for _ in left]
    for i, row in enumerate(left):
        for j in range(len(right[0])):
            total = 0
            for k, value in enumerate(row):
                total += value * right[k][j]
            product[i][j] = total
    return product


def identity(size: int) -> list[list[int]]:
    """Build the square matrix with ones on the main diagonal and zeros elsewhere.

    kind: general
    requires: size >= 0
    ensures: len(result) == size
    ensures: sum(map(sum, result)) == size
    example: identity(2) == [[1, 0], [0, 1]]
    """
    return [[1 if column == row else 0 for column in range(size)] for row in range(size)]


def power_of(matrix: list[list[int]], exponent: int) -> list[list[int]]:
    """Raise a square matrix to a power by repeated squaring; empty if it is not square.

    kind: math
    requires: exponent >= 0
    uses: multiply, identity
    cost: O(n**3 * log(exponent))
    example: power_of([[2]], 5) == [[32]]
    """
    if len(matrix) != len(matrix[0]):
        return []
    result = identity(len(matrix))
    base = matrix
    while exponent > 0:
        if exponent % 2 == 1:
            result = multiply(result, base)
        base = multiply(base, base)
        exponent //= 2
    return result


def transpose(matrix: list[list[int]]) -> list[list[int]]:
    """Turn rows into columns.

    kind: general
    example: transpose([[1, 2, 3]]) == [[1], [2], [3]]
    """
    return [[row[column] for row in matrix] for column in range(len(matrix[0]))]


def trace(matrix: list[list[int]]) -> int:
    """Sum the main diagonal; 0 for an empty matrix.

    kind: math
    """
    total = 0
    for index, row in enumerate(matrix):
        total += row[index]
    return total


def matrix_report(text: str, exponent: int) -> dict[str, object]:
    """Report the power, trace, product and gram matrix of the two matrices in the text.

    kind: orchestration
    ensures: sorted(result) == ["gram", "power", "product", "trace"]
    """
    first, second = read_matrices(text)
    power = power_of(first, exponent)
    return {
        "power": power,
        "trace": trace(power),
        "product": multiply(first, second),
        "gram": multiply(transpose(second), second),
    }


EXAMPLES = (
    ("'2\\n\\n3', 3", "{'power': [[8]], 'trace': 8, 'product': [[6]], 'gram': [[9]]}"),
    (
        "'1 1\\n1 0\\n\\n1 2\\n3 4', 5",
        (
            "{'power': [[8, 5], [5, 3]], 'trace': 11, 'product': [[4, 6], [1, 2]],"
            " 'gram': [[10, 14], [14, 20]]}"
        ),
    ),
    (
        "'1 2\\n3 4\\n\\n1 0 2\\n0 1 -1', 0",
        (
            "{'power': [[1, 0], [0, 1]], 'trace': 2, 'product': [[1, 2, 0], [3, 4, 2]],"
            " 'gram': [[1, 0, 2], [0, 1, -1], [2, -1, 5]]}"
        ),
    ),
    (
        "'1 2 3\\n\\n1\\n0\\n2', 2",
        "{'power': [], 'trace': 0, 'product': [[7]], 'gram': [[5]]}",
    ),
    (
        "'1 2\\n3 4\\n\\n5 6 7', 1",
        (
            "{'power': [[1, 2], [3, 4]], 'trace': 5, 'product': [],"
            " 'gram': [[25, 30, 35], [30, 36, 42], [35, 42, 49]]}"
        ),
    ),
    (
        "'0 1 0\\n0 0 1\\n1 0 0\\n\\n1\\n2\\n3', 4",
        (
            "{'power': [[0, 1, 0], [0, 0, 1], [1, 0, 0]], 'trace': 0,"
            " 'product': [[2], [3], [1]], 'gram': [[14]]}"
        ),
    ),
)

LARGE = (
    "'\\n\\n'.join('\\n'.join(' '.join(str(i * j % 3 - 1) for j in range(w)) for i in "
    "range(40)) for w in (40, 8)), 6"
)
