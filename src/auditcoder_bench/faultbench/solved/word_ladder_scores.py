"""Rank the words that can be reached from a start word.

A step changes exactly one letter of a word and has to lead to a word of the list. The list may
hold capitals, spaces around words, repeated words and words of another length than the start
word; all that must not matter. The start word itself is in small letters and need not be in the
list. Every vowel (a, e, i, o, u) is worth 1 point, the letters j, q, x and z are worth 5, all
others 2. A reached word scores its points less 2 for every step of the shortest way to it, but
never less than 0. Return the best words with steps and score: by score, then by fewer steps,
then by the alphabet; the start word is not among them, nor is what cannot be reached.
"""

from collections import deque


def clean_words(words: list[str], length: int) -> list[str]:
    """Return the words of one length in small letters, each once, in the order given.

    kind: string
    requires: length >= 0
    example: clean_words(["Cat ", "cat", "horse"], 3) == ["cat"]
    """
    seen: dict[str, None] = {}
    for word in words:
        plain = word.strip().lower()
        if len(plain) == length:
            seen[plain] = None
    return list(seen)


def patterns_of(word: str) -> list[str]:
    """Return the word with each of its letters in turn replaced by a star.

    kind: string
    ensures: len(result) == len(word)
    example: patterns_of("ab") == ["*b", "a*"]
    """
    return [f"{word[:place]}*{word[place + 1 :]}" for place in range(len(word))]


def group_by_pattern(words: list[str]) -> dict[str, list[str]]:
    """Collect the words that fit each pattern.

    kind: general
    uses: patterns_of
    cost: O(n)
    """
    groups: dict[str, list[str]] = {}
    for word in words:
        for pattern in patterns_of(word):
            groups.setdefault(pattern, []).append(word)
    return groups


def ladder_distances(start: str, groups: dict[str, list[str]]) -> dict[str, int]:
    """Return the fewest steps to every word that can be reached; the groups are used up.

    kind: graph_bfs
    uses: patterns_of
    ensures: result[start] == 0
    cost: O(n)
    example: ladder_distances("a", {"*": ["b"]}) == {"a": 0, "b": 1}
    """
    distances = {start: 0}
    waiting = deque([start])
    while waiting:
        word = waiting.popleft()
        for pattern in patterns_of(word):
            for other in groups.pop(pattern, []):
                if other not in distances:
                    distances[other] = distances[word] + 1
                    waiting.append(other)
    return distances


def letter_points(word: str) -> int:
    """Add up the points of a word's letters.

    kind: string
    ensures: len(word) <= result <= 5 * len(word)
    example: letter_points("jab") == 8
    """
    points = 0
    for letter in word:
        if letter in "aeiou":
            points += 1
        elif letter in "jqxz":
            points += 5
        else:
            points += 2
    return points


def rank_words(distances: dict[str, int], most: int) -> list[tuple[str, int, int]]:
    """Return the best words with steps and score, leaving out the start word.

    kind: sorting
    uses: letter_points
    requires: most >= 0
    ensures: len(result) <= most
    """
    ranked = []
    for word, steps in distances.items():
        if steps == 0:
            continue
        score = max(0, letter_points(word) - 2 * steps)
        ranked.append((word, steps, score))
    ranked.sort(key=lambda entry: (-entry[2], entry[1], entry[0]))
    return ranked[:most]


def word_ladder_scores(words: list[str], start: str, most: int) -> list[tuple[str, int, int]]:
    """Return the best words reached from the start word.

    kind: orchestration
    """
    known = clean_words(words, len(start))
    groups = group_by_pattern(known)
    distances = ladder_distances(start, groups)
    return rank_words(distances, most)


EXAMPLES = (
    ("[], 'cat', 3", "[]"),
    ("['dig', 'cat'], 'dog', 5", "[('dig', 1, 3)]"),
    (
        "['hot', 'dot', 'dog', 'lot', 'log', 'cog'], 'hit', 4",
        "[('hot', 1, 3), ('dot', 2, 1), ('lot', 2, 1), ('dog', 3, 0)]",
    ),
    (
        "['zit', 'Zap ', 'zip', 'zap', 'quiz', 'sap'], 'sit', 10",
        "[('zit', 1, 6), ('zip', 2, 4), ('zap', 3, 2), ('sap', 4, 0)]",
    ),
    (
        "['pit', 'pix', 'pox', 'zit', 'sit'], 'sit', 9",
        "[('zit', 1, 6), ('pix', 2, 4), ('pit', 1, 3), ('pox', 3, 2)]",
    ),
    (
        "['cold', 'cord', 'card', 'ward', 'warm', 'worm', 'word', 'jolt'], 'cold', 4",
        "[('cord', 1, 5), ('card', 2, 3), ('word', 2, 3), ('ward', 3, 1)]",
    ),
)

LARGE = (
    "[''.join('zabcdeij'[i // d % 8] for d in (1, 8, 64, 512)).title() + ' ' for i in "
    "range(2000)], 'dada', 300"
)
