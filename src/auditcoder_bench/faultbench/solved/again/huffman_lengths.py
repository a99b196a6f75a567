"""The functions of huffman_lengths, written again by their contracts alone."""

import heapq
from collections import Counter


def count_characters(text: str) -> dict[str, int]:
    """Count how often each character stands in the text."""
    return dict(Counter(text))


def join_lightest(heap: list[tuple[int, str]]) -> str:
    """Replace the two lightest groups of the heap by one, and return its characters."""
    weight, characters = heapq.heappop(heap)
    other_weight, other_characters = heap[0]
    # The smallest character has to stand first, since it decides between equal weights.
    joined = "".join(sorted(characters + other_characters))
    heapq.heapreplace(heap, (weight + other_weight, joined))
    return joined


def code_lengths(counts: dict[str, int]) -> dict[str, int]:
    """Find the length of each character's code."""
    if len(counts) == 1:
        return dict.fromkeys(counts, 1)
    joins: Counter[str] = Counter()
    heap = sorted((count, character) for character, count in counts.items())
    for _ in range(len(counts) - 1):
        joins.update(join_lightest(heap))
    return {character: joins[character] for character in counts}


def canonical_codes(lengths: dict[str, int]) -> dict[str, str]:
    """Give out the canonical codes of these lengths."""
    longest = max(lengths.values(), default=0)
    codes: dict[str, str] = {}
    position = 0
    # Each code is the start of the range of longest codes that it covers.
    for length, character in sorted((length, character) for character, length in lengths.items()):
        codes[character] = format(position, f"0{longest}b")[:length]
        position += 1 << (longest - length)
    return codes


def encoded_size(counts: dict[str, int], lengths: dict[str, int]) -> int:
    """Count the bits of the encoded text."""
    return sum(count * lengths[character] for character, count in counts.items())


def huffman_table(text: str) -> tuple[dict[str, str], int]:
    """Return the canonical codes of a text's characters, and its encoded size in bits."""
    counts = count_characters(text)
    lengths = code_lengths(counts)
    return canonical_codes(lengths), encoded_size(counts, lengths)
