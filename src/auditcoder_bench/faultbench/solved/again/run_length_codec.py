"""The functions of run_length_codec, written again by their contracts alone."""

import re
from itertools import groupby, starmap


def runs_of(text: str) -> list[tuple[str, int]]:
    """Group equal neighbours and count them."""
    return [(character, sum(1 for _ in same)) for character, same in groupby(text)]


def encode_run(character: str, length: int) -> str:
    """Write a long run with its length and a short one in full."""
    symbol = re.sub(r"([0-9~])", r"~\1", character)
    return symbol * length if length < 3 else str(length) + symbol


def encode(text: str) -> str:
    """Join the codes of all runs."""
    return "".join(starmap(encode_run, runs_of(text)))


def read_length(code: str, place: int) -> tuple[int, int]:
    """Match the digits at a place."""
    found = re.compile("[0-9]+").match(code, place)
    return (1, place) if found is None else (int(found.group()), found.end())


def read_symbol(code: str, place: int) -> tuple[str, int]:
    """Take the character at a place, past a tilde if there is one."""
    if code.startswith("~", place):
        place += 1
    symbol = code[place : place + 1]
    return symbol, place + len(symbol)


def decode(code: str) -> str | None:
    """Read lengths and characters by turns to the end of the code."""
    pieces: list[str] = []
    place = 0
    while place < len(code):
        length, place = read_length(code, place)
        symbol, place = read_symbol(code, place)
        if not length or not symbol:
            return None
        pieces.append(symbol * length)
    return "".join(pieces)


def recode(lines: list[str]) -> tuple[list[str], int]:
    """Treat each line by its first character and total what encoding saved."""
    results: list[str] = []
    saved = 0
    for line in lines:
        sign, body = line[:1], line[1:]
        outcome: str | None = None
        if sign == "+":
            outcome = encode(body)
            saved += len(body) - len(outcome)
        elif sign == "-":
            outcome = decode(body)
        results.append("error" if outcome is None else outcome)
    return results, saved
