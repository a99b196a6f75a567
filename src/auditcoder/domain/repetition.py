"""Sees that a text has begun to go round in circles."""

_LEAST = 400
"""Shorter repetitions occur in honest code: tables, cases, docstrings."""
_TIMES = 8
_WINDOW = 1600


def circles(text: str) -> bool:
    """Whether `text` ends in the same words over and over: eight times, and 400 characters."""
    tail = text[-_WINDOW:][::-1]
    if len(tail) < _LEAST:
        return False
    matches = _self_matches(tail)
    return any(
        period + matches[period] >= max(_LEAST, _TIMES * period)
        for period in range(1, len(tail) // _TIMES + 1)
    )


def _self_matches(text: str) -> list[int]:
    """Return for each place how far the text from there on repeats its beginning."""
    matches = [0] * len(text)
    left = right = 0
    for place in range(1, len(text)):
        reach = min(right - place, matches[place - left]) if place < right else 0
        while place + reach < len(text) and text[reach] == text[place + reach]:
            reach += 1
        matches[place] = reach
        if place + reach > right:
            left, right = place, place + reach
    return matches
