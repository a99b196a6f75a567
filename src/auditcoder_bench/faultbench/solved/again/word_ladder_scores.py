"""The functions of word_ladder_scores, written again by their contracts alone."""

from collections import defaultdict
from heapq import nsmallest


def clean_words(words: list[str], length: int) -> list[str]:
    """Trim and lower the words and keep one of each with the right length."""
    tidy = (word.strip().lower() for word in words)
    return list(dict.fromkeys(word for word in tidy if len(word) == length))


def patterns_of(word: str) -> list[str]:
    """Put a star in the place of each letter in turn."""
    return [f"{word[:at]}*{word[at + 1 :]}" for at, _ in enumerate(word)]


def group_by_pattern(words: list[str]) -> dict[str, list[str]]:
    """List the words under each of their patterns."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for word in words:
        for pattern in patterns_of(word):
            groups[pattern].append(word)
    return dict(groups)


def ladder_distances(start: str, groups: dict[str, list[str]]) -> dict[str, int]:
    """Widen the set of reached words level by level."""
    steps = {start: 0}
    level = [start]
    while level:
        following: list[str] = []
        for word in level:
            for pattern in patterns_of(word):
                for other in groups.pop(pattern, ()):
                    if other not in steps:
                        steps[other] = steps[word] + 1
                        following.append(other)
        level = following
    return steps


def letter_points(word: str) -> int:
    """Count two points a letter, less for vowels and more for rare ones."""
    vowels = sum(map(word.count, "aeiou"))
    rare = sum(map(word.count, "jqxz"))
    return 2 * len(word) - vowels + 3 * rare


def rank_words(distances: dict[str, int], most: int) -> list[tuple[str, int, int]]:
    """Score the words at least a step away and take the best."""
    scored = [
        (word, steps, max(letter_points(word) - 2 * steps, 0))
        for word, steps in distances.items()
        if steps > 0
    ]
    return nsmallest(most, scored, key=lambda entry: (-entry[2], entry[1], entry[0]))


def word_ladder_scores(words: list[str], start: str, most: int) -> list[tuple[str, int, int]]:
    """Rank what can be reached from the start word."""
    groups = group_by_pattern(clean_words(words, len(start)))
    return rank_words(ladder_distances(start, groups), most)
