"""The functions of bracket_report, written again by their contracts alone."""

import re
from collections.abc import Iterator


def blank_out(text: str) -> str:
    """Replace quoted text and comments by spaces, and keep every line break."""
    return re.sub(r'"[^"\n]*"?|#[^\n]*', lambda found: " " * len(found[0]), text)


def find_brackets(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and letter of every bracket."""
    line, before = 1, -1
    for found in re.finditer(r"[\[\](){}\n]", text):
        if found[0] == "\n":
            line, before = line + 1, found.start()
        else:
            yield line, found.start() - before, found[0]


def closing_for(letter: str) -> str:
    """Return the bracket that closes an opening one, and nothing for any other letter."""
    return {"(": ")", "[": "]", "{": "}"}.get(letter, "")


def match_brackets(
    brackets: list[tuple[int, int, str]],
) -> tuple[int, int, list[tuple[int, int, str]]]:
    """Return the number of good pairs, the greatest depth, and all problems with their places."""
    pairs = depth = 0
    waiting: list[tuple[int, int, str]] = []
    problems: list[tuple[int, int, str]] = []
    for line, column, letter in brackets:
        if closing_for(letter):
            waiting.append((line, column, letter))
            depth = max(depth, len(waiting))
        elif not waiting:
            problems.append((line, column, f"unexpected {letter}"))
        else:
            wanted = closing_for(waiting.pop()[2])
            if wanted == letter:
                pairs += 1
            else:
                problems.append((line, column, f"expected {wanted} but found {letter}"))
    problems += [(line, column, f"unclosed {letter}") for line, column, letter in waiting]
    return pairs, depth, problems


def list_problems(problems: list[tuple[int, int, str]], limit: int) -> list[str]:
    """Write the first problems by position, and how many are left out."""
    written = [f"{line}:{column} {what}" for line, column, what in sorted(problems)]
    hidden = len(written) - limit
    if hidden > 0:
        written[limit:] = [f"{hidden} more"]
    return written


def bracket_report(text: str, limit: int) -> list[str]:
    """Say that all brackets fit, or what is wrong with them."""
    pairs, depth, problems = match_brackets([*find_brackets(blank_out(text))])
    return list_problems(problems, limit) or [f"{pairs} pairs, depth {depth}"]
