"""Check the brackets of a source text.

Round, square and curly brackets have to be closed by their own kind and in the right order.
Brackets inside double quotes and after a # do not count; both quotes and comments end with the
line at the latest, and a # inside quotes begins no comment. A closing bracket always takes away
the bracket opened last, even if it is of another kind. If all is well, answer one line with the
number of pairs and the greatest depth. Otherwise answer the problems by position, each as
line:column and what is wrong, counted from 1; at most as many as the limit says, and after them
one line that tells how many more there are, if there are more.
"""

from collections.abc import Iterator


def blank_out(text: str) -> str:
    """Replace quoted text and comments by spaces, and keep every line break.

    kind: string
    ensures: len(result) == len(text)
    example: blank_out("a # b") == "a    "
    """
    kept = []
    quoted = comment = False
    for letter in text:
        if letter == "\n":
            quoted = comment = False
            kept.append(letter)
        elif comment:
            kept.append(" ")
        elif letter == '"':
            quoted = not quoted
            kept.append(" ")
        elif quoted or letter == "#":
            comment = not quoted
            kept.append(" ")
        else:
            kept.append(letter)
    return "".join(kept)


def find_brackets(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, column and letter of every bracket.

    kind: string
    cost: O(n)
    """
    for number, line in enumerate(text.split("\n"), start=1):
        for column, letter in enumerate(line, start=1):
            if letter in "()[]{}":
                yield number, column, letter


def closing_for(letter: str) -> str:
    """Return the bracket that closes an opening one, and nothing for any other letter.

    kind: string
    requires: len(letter) == 1
    example: closing_for("(") == ")"
    """
    place = "([{".find(letter)
    if place < 0:
        return ""
    return ")]}"[place]


def match_brackets(
    brackets: list[tuple[int, int, str]],
) -> tuple[int, int, list[tuple[int, int, str]]]:
    """Return the number of good pairs, the greatest depth, and all problems with their places.

    kind: general
    uses: closing_for
    ensures: 2 * result[0] <= len(brackets)
    ensures: result[1] <= len(brackets)
    example: match_brackets([(1, 1, "["), (1, 2, "]")]) == (1, 1, [])
    """
    pairs = deepest = 0
    problems = []
    stack: list[tuple[int, int, str]] = []
    for line, column, letter in brackets:
        if closing_for(letter):
            stack.append((line, column, letter))
            deepest = max(deepest, len(stack))
        elif not stack:
            problems.append((line, column, f"unexpected {letter}"))
        else:
            opened_line, _, opened = stack.pop()
            if closing_for(opened) == letter:
                pairs += 1
            else:
                problems.append((line, column, f"{letter} closes {opened} of line {opened_line}"))
    problems.extend((line, column, f"{letter} is never closed") for line, column, letter in stack)
    return pairs, deepest, problems


def list_problems(problems: list[tuple[int, int, str]], limit: int) -> list[str]:
    """Write the first problems by position, and how many are left out.

    kind: sorting
    requires: limit >= 1
    ensures: len(result) <= limit + 1
    example: list_problems([(1, 4, "unexpected )")], 3) == ["1:4 unexpected )"]
    """
    ordered = sorted(problems)
    lines = [f"{line}:{column} {what}" for line, column, what in ordered[:limit]]
    if len(ordered) > limit:
        lines.append(f"and {len(ordered) - limit} more")
    return lines


def bracket_report(text: str, limit: int) -> list[str]:
    """Say that all brackets fit, or what is wrong with them.

    kind: orchestration
    requires: limit >= 1
    ensures: len(result) >= 1
    """
    brackets = list(find_brackets(blank_out(text)))
    pairs, deepest, problems = match_brackets(brackets)
    if not problems:
        return [f"ok: {pairs} pairs, depth {deepest}"]
    return list_problems(problems, limit)


EXAMPLES = (
    ("'', 5", "['ok: 0 pairs, depth 0']"),
    ("'f(a[1], {2})', 5", "['ok: 3 pairs, depth 2']"),
    ("'(]\\n)', 2", "['1:2 ] closes ( of line 1', '2:1 unexpected )']"),
    ("'x = \"(#\" + [] # [\\n{()}', 3", "['ok: 3 pairs, depth 2']"),
    (
        "'((\\n[\\n)', 2",
        "['1:1 ( is never closed', '1:2 ( is never closed', 'and 1 more']",
    ),
    ("'say \"open\\n(a)} # }', 4", "['2:4 unexpected }']"),
)

LARGE = "'\\n'.join('((f[1], {2} \"[\" )' + ']' * (i % 2) + ' # (' for i in range(800)), 250"
