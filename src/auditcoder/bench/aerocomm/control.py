"""The negative control: a program that every hidden test must refuse."""


def program(entry: str) -> str:
    """Return a program whose entry takes anything, raises nothing and is always wrong."""
    return f"def {entry}(*arguments, **named):\n    return -1.0\n"
