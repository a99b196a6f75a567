"""Build the canonical Huffman code of a text.

Count the characters and join the two lightest groups again and again until one is left; of equally
heavy groups, the one with the smallest character goes first. A character's code is as long as the
number of times its group was joined. Return a pair: a dictionary from each character to its code,
and the number of bits of the encoded text. Codes are canonical: characters are put in order of
code length, then of the alphabet; the first code is all zeros, and each next one is one greater,
with zeros appended where the length grows. A text with only one kind of character uses codes of
length 1. The empty text gives an empty dictionary and 0 bits.
"""

import heapq


def count_characters(text: str) -> dict[str, int]:
    """Count how often each character stands in the text.

    kind: string
    ensures: sum(result.values()) == len(text)
    cost: O(n)
    example: count_characters("aba") == {"a": 2, "b": 1}
    """
    counts: dict[str, int] = {}
    for character in text:
        counts[character] = counts.get(character, 0) + 1
    return counts


def join_lightest(heap: list[tuple[int, str]]) -> str:
    """Replace the two lightest groups of the heap by one, and return the new group's characters.

    kind: greedy
    requires: len(heap) >= 2
    """
    first_weight, first = heapq.heappop(heap)
    second_weight, second = heapq.heappop(heap)
    joined = "".join(sorted(first + second))
    heapq.heappush(heap, (first_weight + second_weight, joined))
    return joined


def code_lengths(counts: dict[str, int]) -> dict[str, int]:
    """Find the length of each character's code.

    kind: greedy
    uses: join_lightest
    ensures: set(result) == set(counts)
    ensures: all(length >= 1 for length in result.values())
    cost: O(n**2)
    example: code_lengths({"a": 5, "b": 2, "c": 1}) == {"a": 1, "b": 2, "c": 2}
    """
    if len(counts) == 1:
        return dict.fromkeys(counts, 1)
    lengths = dict.fromkeys(counts, 0)
    heap = [(weight, character) for character, weight in counts.items()]
    heapq.heapify(heap)
    while len(heap) > 1:
        for character in join_lightest(heap):
            lengths[character] += 1
    return lengths


def canonical_codes(lengths: dict[str, int]) -> dict[str, str]:
    """Give out the canonical codes of these lengths.

    kind: general
    ensures: all(len(result[character]) == lengths[character] for character in lengths)
    """
    codes: dict[str, str] = {}
    value = 0
    previous = 0
    for character in sorted(lengths, key=lambda each: (lengths[each], each)):
        length = lengths[character]
        if codes:
            value = (value + 1) << (length - previous)
        codes[character] = format(value, f"0{length}b")
        previous = length
    return codes


def encoded_size(counts: dict[str, int], lengths: dict[str, int]) -> int:
    """Count the bits of the encoded text.

    kind: math
    requires: set(counts) == set(lengths)
    example: encoded_size({"a": 3, "b": 1}, {"a": 1, "b": 1}) == 4
    """
    bits = 0
    for character, count in counts.items():
        bits += count * lengths[character]
    return bits


def huffman_table(text: str) -> tuple[dict[str, str], int]:
    """Return the canonical codes of a text's characters, and its encoded size in bits.

    kind: orchestration
    example: huffman_table("") == ({}, 0)
    """
    counts = count_characters(text)
    lengths = code_lengths(counts)
    return canonical_codes(lengths), encoded_size(counts, lengths)


EXAMPLES = (
    ("''", "({}, 0)"),
    ("'zzzz'", "({'z': '0'}, 4)"),
    ("'abab'", "({'a': '0', 'b': '1'}, 4)"),
    ("'aabbc'", "({'b': '0', 'a': '10', 'c': '11'}, 8)"),
    ("'abracadabra'", "({'a': '0', 'r': '10', 'b': '110', 'c': '1110', 'd': '1111'}, 23)"),
    ("'abcd'", "({'a': '00', 'b': '01', 'c': '10', 'd': '11'}, 8)"),
    (
        "'aaaaaaaabbbbccde'",
        "({'a': '0', 'b': '10', 'c': '110', 'd': '1110', 'e': '1111'}, 30)",
    ),
)

LARGE = "''.join(chr(256 + i) * (i * i % 13 + 1) for i in range(450))"
