"""The functions of anagram_groups_report, written again by their contracts alone."""

from itertools import groupby


def clean_words(text: str) -> list[str]:
    """List the different words of a text in the order in which they first appear."""
    stripped = ("".join(filter(str.isalpha, piece)) for piece in text.lower().split())
    return list(dict.fromkeys(filter(None, stripped)))


def letters_of(word: str) -> str:
    """Return the letters of a word in order."""
    return "".join(sorted(word))


def group_words(words: list[str]) -> dict[str, list[str]]:
    """Collect the words that have the same letters, each group in alphabetical order."""
    ordered = sorted(words, key=lambda word: (letters_of(word), word))
    return {letters: list(members) for letters, members in groupby(ordered, key=letters_of)}


def choose_groups(groups: dict[str, list[str]], smallest: int) -> tuple[list[list[str]], int]:
    """Return the groups that are large enough, in order, and how many words are in the others."""
    total = sum(len(group) for group in groups.values())
    large = [group for group in groups.values() if len(group) >= smallest]
    # Stable sorts, from the least important criterion to the most important one.
    large.sort(key=lambda group: group[0])
    large.sort(key=lambda group: len(group[0]), reverse=True)
    large.sort(key=len, reverse=True)
    return large, total - sum(map(len, large))


def others_line(others: int) -> str:
    """Say how many words were left over."""
    return "1 other word" if others == 1 else f"{others} other words"


def anagram_report(text: str, smallest: int) -> list[str]:
    """Return a line for each large group of anagrams, and one for the words left over."""
    chosen, others = choose_groups(group_words(clean_words(text)), smallest)
    tail = [others_line(others)] if others else []
    return [f"{len(group)}:{','.join(group)}" for group in chosen] + tail
