"""The functions of matrix_tools, written again by their contracts alone."""

import re


def read_matrices(text: str) -> tuple[list[list[int]], list[list[int]]]:
    """Read the two matrices that a blank line separates."""
    first, second = (
        [[int(number) for number in line.split()] for line in block.splitlines()]
        for block in re.split(r"\n\s*\n", text.strip())
    )
    return first, second


def multiply(left: list[list[int]], right: list[list[int]]) -> list[list[int]]:
    """Multiply two matrices; the answer is empty if their sizes do not fit."""
    if not left or not right or len(left[0]) != len(right):
        return []
    result = [[0] * len(right[0]) for _ in left]
    for target, row in zip(result, left, strict=True):
        for factor, other in zip(row, right, strict=True):
            for column, value in enumerate(other):
                target[column] += factor * value
    return result


def identity(size: int) -> list[list[int]]:
    """Build the square matrix with ones on the main diagonal and zeros elsewhere."""
    return [[0] * place + [1] + [0] * (size - place - 1) for place in range(size)]


def power_of(matrix: list[list[int]], exponent: int) -> list[list[int]]:
    """Raise a square matrix to a power by repeated squaring; empty if it is not square."""
    if any(len(row) != len(matrix) for row in matrix):
        return []
    result = identity(len(matrix))
    for bit in f"{exponent:b}":
        result = multiply(result, result)
        if bit == "1":
            result = multiply(result, matrix)
    return result


def transpose(matrix: list[list[int]]) -> list[list[int]]:
    """Turn rows into columns."""
    return list(map(list, zip(*matrix, strict=True)))


def trace(matrix: list[list[int]]) -> int:
    """Sum the main diagonal; 0 for an empty matrix."""
    return sum(row[place] for place, row in enumerate(matrix))


def matrix_report(text: str, exponent: int) -> dict[str, object]:
    """Report the power, trace, product and gram matrix of the two matrices in the text."""
    a, b = read_matrices(text)
    power = power_of(a, exponent)
    return {
        "power": power,
        "trace": trace(power),
        "product": multiply(a, b),
        "gram": multiply(transpose(b), b),
    }
