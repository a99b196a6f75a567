"""Report the groups of anagrams in a text.

Words are what stands between spaces and line breaks, without any character that is not a letter,
and in small letters; what is left empty is no word. Each different word counts once. Words with
the same letters form a group. Return one line for every group with at least `smallest` words:
the number of words, a colon, and the words in alphabetical order, separated by commas. The groups
with the most words come first; groups of equal size are in order of the length of their words, the
longest first, then of their first word. A last line tells how many words are in none of these
groups, such as "3 other words" or "1 other word"; it is left out if there are none.
"""


def clean_words(text: str) -> list[str]:
    """List the different words of a text in the order in which they first appear.

    kind: string
    ensures: len(result) == len(set(result))
    ensures: all(word.isalpha() for word in result)
    cost: O(n)
    example: clean_words("Tea, eat tea!") == ["tea", "eat"]
    """
    seen: set[str] = set()
    words = []
    for part in text.split():
        word = "".join(letter for letter in part if letter.isalpha()).lower()
        if word and word not in seen:
            seen.add(word)
            words.append(word)
    return words


def letters_of(word: str) -> str:
    """Return what all anagrams of a word have in common: its letters in order.

    kind: string
    example: letters_of("tea") == "aet"
    """
    return "".join(sorted(word))


def group_words(words: list[str]) -> dict[str, list[str]]:
    """Collect the words that have the same letters, each group in alphabetical order.

    kind: general
    uses: letters_of
    ensures: sum(map(len, result.values())) == len(words)
    """
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(letters_of(word), []).append(word)
    for group in groups.values():
        group.sort()
    return groups


def choose_groups(groups: dict[str, list[str]], smallest: int) -> tuple[list[list[str]], int]:
    """Return the groups that are large enough, in order, and how many words are in the others.

    kind: sorting
    requires: smallest >= 1
    ensures: all(len(group) >= smallest for group in result[0])
    example: choose_groups({"aet": ["eat", "tea"], "x": ["x"]}, 2) == ([["eat", "tea"]], 1)
    """
    chosen = []
    others = 0
    for group in groups.values():
        if len(group) >= smallest:
            chosen.append(group)
        else:
            others += len(group)
    chosen.sort(key=lambda group: (-len(group), -len(group[0]), group[0]))
    return chosen, others


def others_line(others: int) -> str:
    """Say how many words were left over.

    kind: string
    requires: others >= 0
    example: others_line(1) == "1 other word"
    """
    if others == 0:
        return ""
    return f"{others} other word" + ("s" if others > 1 else "")


def anagram_report(text: str, smallest: int) -> list[str]:
    """Return a line for each large group of anagrams, and one for the words left over.

    kind: orchestration
    example: anagram_report("", 2) == []
    """
    groups = group_words(clean_words(text))
    chosen, others = choose_groups(groups, smallest)
    lines = [f"{len(group)}: {','.join(group)}" for group in chosen]
    if last := others_line(others):
        lines.append(last)
    return lines


EXAMPLES = (
    ("'', 2", "[]"),
    ("'Hello!', 2", "['1 other word']"),
    ("'tea eat ate', 2", "['3: ate,eat,tea']"),
    (
        "'Listen, silent night: the thing was tin-sel (listen) ... saw 42', 2",
        "['3: listen,silent,tinsel', '2: night,thing', '2: saw,was', '1 other word']",
    ),
    (
        "'stop pots dog god\\nTops cat act arc car sun', 3",
        "['3: pots,stop,tops', '7 other words']",
    ),
    ("'b a ab ba a', 1", "['2: ab,ba', '1: a', '1: b']"),
    (
        "'low owl no on below elbow big', 2",
        "['2: below,elbow', '2: low,owl', '2: no,on', '1 other word']",
    ),
)

LARGE = (
    "' '.join(''.join('abcdefghijklM'[i // d % 13] for d in (1, 13, 169)) + '!' * (i % 2) for "
    "i in range(2000)), 6"
)
