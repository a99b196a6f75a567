"""Encode and decode texts with run lengths.

Each line that begins with "+" holds a text to encode, each one with "-" a code to decode. In a
code, a run of three or more equal characters is written as its length and the character; shorter
runs are written out. A character that is a digit or "~" has a "~" before it, wherever it stands;
so "aaaab" becomes "4ab", "777" becomes "3~7", and "7" becomes "~7". When decoding, any length from
1 on is accepted. A code is wrong if a length is 0, or if the character after a length or after
"~" is missing. Return a list with the results ("error" for a wrong code), and the number of
characters by which all the encoded texts together became shorter (negative if they grew). Any
other line gives "error" too.
"""


def runs_of(text: str) -> list[tuple[str, int]]:
    """Divide a text into runs of equal characters.

    kind: two_pointer
    ensures: sum(length for _, length in result) == len(text)
    cost: O(n)
    example: runs_of("aab") == [("a", 2), ("b", 1)]
    """
    runs = []
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or text[place] != text[start]:
            runs.append((text[start], place - start))
            start = place
    return runs


def encode_run(character: str, length: int) -> str:
    """Write one run as code.

    kind: string
    requires: len(character) == 1 and length >= 1
    example: encode_run("x", 5) == "5x"
    """
    shortest = 3
    symbol = "~" + character if character in "0123456789~" else character
    if length < shortest:
        return symbol * length
    return f"{length}{symbol}"


def encode(text: str) -> str:
    """Encode a text.

    kind: string
    uses: runs_of, encode_run
    example: encode("aaaab") == "4ab"
    """
    return "".join(encode_run(character, length) for character, length in runs_of(text))


def read_length(code: str, place: int) -> tuple[int, int]:
    """Read the length that stands at a place, 1 if there is none, and the place after it.

    kind: string
    requires: 0 <= place < len(code)
    ensures: place <= result[1] <= len(code)
    example: read_length("12a", 0) == (12, 2)
    """
    end = place
    while end < len(code) and code[end] in "0123456789":
        end += 1
    if end == place:
        return 1, place
    return int(code[place:end]), end


def read_symbol(code: str, place: int) -> tuple[str, int]:
    """Read the character that stands at a place, empty if it is missing, and the place after it.

    kind: string
    """
    if code[place : place + 1] == "~":
        place += 1
    return code[place : place + 1], place + 1


def decode(code: str) -> str | None:
    """Decode a code; None if it is wrong.

    kind: string
    uses: read_length, read_symbol
    example: decode("3~7b") == "777b"
    """
    parts = []
    place = 0
    while place < len(code):
        length, place = read_length(code, place)
        symbol, place = read_symbol(code, place)
        if length == 0 or not symbol:
            return None
        parts.append(symbol * length)
    return "".join(parts)


def recode(lines: list[str]) -> tuple[list[str], int]:
    """Encode or decode each line, and count the characters that encoding saved.

    kind: orchestration
    ensures: len(result[0]) == len(lines)
    """
    results = []
    saved = 0
    for line in lines:
        sign, rest = line[:1], line[1:]
        if sign == "+":
            code = encode(rest)
            saved += len(rest) - len(code)
            results.append(code)
        else:
            text = decode(rest) if sign == "-" else None
            results.append("error" if text is None else text)
    return results, saved


EXAMPLES = (
    ("[]", "([], 0)"),
    ("['+', '-', '', '?abc']", "(['', '', 'error', 'error'], 0)"),
    ("['+aaaab', '+abba']", "(['4ab', 'abba'], 2)"),
    (
        "['+aaabbcccccccccccc', '+7', '+99 0000', '+~~~']",
        "(['3abb12c', '~7', '~9~9 4~0', '3~~'], 8)",
    ),
    (
        "['-4ab', '-12x1y', '-3~7~~', '-2 ~1', '-b']",
        "(['aaaab', 'xxxxxxxxxxxxy', '777~', '  1', 'b'], 0)",
    ),
    (
        "['-a3', '-ab~', '-0x', '-5~', '+1a', '-10z']",
        "(['error', 'error', 'error', 'error', '~1a', 'zzzzzzzzzz'], -1)",
    ),
)

LARGE = (
    "['+' + ''.join('ab7~ '[i % 5] * (i % 6 + 1) for i in range(800)), '-' + ''.join(f'{i % 12 "
    "+ 1}x~7' for i in range(800)), '+' + 'z' * 2000]"
)
