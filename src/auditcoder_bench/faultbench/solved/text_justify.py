"""Set a text in lines of equal width.

Paragraphs are parted by one or more empty lines; within a paragraph line breaks and repeated
spaces only part words. A word longer than the width is cut into pieces of that width, the last
of which may be shorter, and each piece is then treated as a word. As many words as fit go into
each line, with at least one space between two words. All lines of a paragraph but the last are
stretched to the full width: the spaces are spread evenly over the gaps, and if they do not come
out even the gaps further left get one more. A line with a single word is not stretched, nor is
the last line of a paragraph. Return the lines, with one empty line between paragraphs; a text
without words gives no lines.
"""

from collections.abc import Iterator


def split_paragraphs(text: str) -> Iterator[list[str]]:
    """Yield the words of each paragraph.

    kind: string
    """
    words: list[str] = []
    for line in text.split("\n"):
        if line.strip():
            words.extend(line.split())
        elif words:
            yield words
            words = []
    if words:
        yield words


def cut_long_words(words: list[str], width: int) -> list[str]:
    """Cut the words that are longer than a line.

    kind: string
    requires: width >= 1
    ensures: "".join(result) == "".join(words)
    example: cut_long_words(["abcd", "e"], 3) == ["abc", "d", "e"]
    """
    pieces = []
    for word in words:
        rest = word
        while len(rest) > width:
            pieces.append(rest[:width])
            rest = rest[width:]
        pieces.append(rest)
    return pieces


def fill_lines(words: list[str], width: int) -> list[list[str]]:
    """Put as many words as fit into each line.

    kind: greedy
    requires: all(len(word) <= width for word in words)
    ensures: all(len(" ".join(line)) <= width for line in result)
    ensures: sum(len(line) for line in result) == len(words)
    cost: O(n)
    """
    lines: list[list[str]] = []
    used = 0
    for word in words:
        if lines and used + 1 + len(word) <= width:
            lines[-1].append(word)
            used += 1 + len(word)
        else:
            lines.append([word])
            used = len(word)
    return lines


def gap_widths(gaps: int, spaces: int) -> list[int]:
    """Spread spaces over gaps as evenly as possible.

    kind: math
    requires: gaps >= 1
    ensures: sum(result) == spaces
    example: gap_widths(2, 4) == [2, 2]
    """
    each, left_over = divmod(spaces, gaps)
    widths = [each] * gaps
    for gap in range(left_over):
        widths[gap] += 1
    return widths


def stretch_line(words: list[str], width: int) -> str:
    """Join the words of a line so that it has the full width.

    kind: string
    uses: gap_widths
    requires: len(words) >= 1
    example: stretch_line(["a"], 5) == "a"
    """
    if len(words) == 1:
        return words[0]
    spaces = width - sum(len(word) for word in words)
    line = words[0]
    for word, gap in zip(words[1:], gap_widths(len(words) - 1, spaces), strict=True):
        line += " " * gap + word
    return line


def justify_paragraph(words: list[str], width: int) -> list[str]:
    """Return the lines of one paragraph.

    kind: general
    uses: cut_long_words, fill_lines, stretch_line
    requires: len(words) >= 1
    ensures: all(len(line) <= width for line in result)
    example: justify_paragraph(["a", "b"], 9) == ["a b"]
    """
    lines = fill_lines(cut_long_words(words, width), width)
    stretched = [stretch_line(line, width) for line in lines[:-1]]
    return [*stretched, " ".join(lines[-1])]


def text_justify(text: str, width: int) -> list[str]:
    """Return the lines of all paragraphs.

    kind: orchestration
    requires: width >= 1
    """
    lines: list[str] = []
    for words in split_paragraphs(text):
        if lines:
            lines.append("")
        lines.extend(justify_paragraph(words, width))
    return lines


EXAMPLES = (
    ("' \\n', 10", "[]"),
    ("'one  two', 10", "['one two']"),
    ("'abcdefgh ij', 3", "['abc', 'def', 'gh', 'ij']"),
    ("'a b c\\n\\n\\n  d e f g  \\nh', 5", "['a b c', '', 'd e f', 'g h']"),
    ("'a bb c d eeeeee f', 10", "['a  bb  c d', 'eeeeee f']"),
    (
        "'This is an example of text justification.', 16",
        "['This    is    an', 'example  of text', 'justification.']",
    ),
    ("'x yy\\nextraordinary z\\n\\nw', 6", "['x   yy', 'extrao', 'rdinar', 'y z', '', 'w']"),
)

LARGE = (
    "'\\n'.join('w' * (i % 9 + 1) + '\\n' * (i % 700 // 699) for i in range(1500)) + ' ' + 'x' "
    "* 5000, 250"
)
