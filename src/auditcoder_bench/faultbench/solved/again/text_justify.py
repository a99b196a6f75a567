"""The functions of text_justify, written again by their contracts alone."""

from collections.abc import Iterator
from itertools import chain, groupby


def split_paragraphs(text: str) -> Iterator[list[str]]:
    """Group lines that have words and yield the words of each group."""
    for filled, group in groupby(map(str.split, text.split("\n")), key=bool):
        if filled:
            yield list(chain.from_iterable(group))


def cut_long_words(words: list[str], width: int) -> list[str]:
    """Slice every word into pieces of at most the width."""
    return [word[at : at + width] for word in words for at in range(0, len(word), width)]


def fill_lines(words: list[str], width: int) -> list[list[str]]:
    """Start a new line whenever the next word no longer fits."""
    lines: list[list[str]] = []
    room = -1
    for word in words:
        room -= len(word) + 1
        if not lines or room < 0:
            lines.append([])
            room = width - len(word)
        lines[-1].append(word)
    return lines


def gap_widths(gaps: int, spaces: int) -> list[int]:
    """Give each gap its share and the first ones a remainder."""
    share, left_over = divmod(spaces, gaps)
    return [share + 1] * left_over + [share] * (gaps - left_over)


def stretch_line(words: list[str], width: int) -> str:
    """Interleave the words with gaps that fill the width."""
    if len(words) == 1:
        return words[0]
    widths = gap_widths(len(words) - 1, width - len("".join(words)))
    return "".join(map(str.__add__, words, [*(" " * gap for gap in widths), ""]))


def justify_paragraph(words: list[str], width: int) -> list[str]:
    """Stretch all lines of a paragraph but the last."""
    *body, last = fill_lines(cut_long_words(words, width), width)
    return [*(stretch_line(line, width) for line in body), " ".join(last)]


def text_justify(text: str, width: int) -> list[str]:
    """Set the paragraphs with an empty line between them."""
    out: list[str] = []
    for words in split_paragraphs(text):
        out += [""] if out else []
        out += justify_paragraph(words, width)
    return out
