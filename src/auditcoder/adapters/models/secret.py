"""A provider's key, which no representation, error or record shows."""

import base64
import json
import re
from typing import NoReturn
from urllib.parse import quote, unquote

_ECHOED = 16
"""Least length of a key for which replies are searched, and of a piece that refuses a reply."""
_LEAST_DISTINCT = 8
"""Least number of distinct characters of a key; a placeholder such as `xxxxxxxx1` has fewer."""
_QUOTED = 8
"""Consecutive characters of a key that no error shows; shorter keys are ordinary words."""


class Secret:
    """A key that neither `repr` nor pickle reveals."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key.strip()

    def reveal(self) -> str:
        """Return the key."""
        return self._key

    def is_in(self, text: str) -> bool:
        """Whether a text holds a long piece of the key, or the key in a common encoding."""
        if not self._can_be_told_apart():
            return False
        decoded = unquote(text) if "%" in text else text
        pieces = {self._key[at : at + _ECHOED] for at in range(len(self._key) - _ECHOED + 1)}
        return (
            any(piece in text or piece in decoded for piece in pieces)
            or any(encoded in text for encoded in self._encodings())
            or self._key.encode("utf-8", "replace").hex() in text.lower()
        )

    def _can_be_told_apart(self) -> bool:
        """Whether only a leak explains the key in a reply: words, numbers and dashes do not."""
        return (
            len(self._key) >= _ECHOED
            and len(set(self._key)) >= _LEAST_DISTINCT
            and any(character.isalpha() for character in self._key)
            and any(character.isdigit() for character in self._key)
        )

    def scrub(self, text: str) -> str:
        """Return the text of an error without the key and without any longer piece of it."""
        for encoded in self._encodings():
            text = text.replace(encoded, "***")
        pieces = {self._key[at : at + _QUOTED] for at in range(len(self._key) - _QUOTED + 1)}
        shown = list(text)
        for at in range(len(text) - _QUOTED + 1):
            if text[at : at + _QUOTED] in pieces:
                shown[at : at + _QUOTED] = [""] * _QUOTED
                shown[at] = "*"
        return re.sub(r"\*{2,}", "***", "".join(shown)) if shown != list(text) else text

    def _encodings(self) -> tuple[str, ...]:
        """Return the key as a text may hold it; nothing if it is too short to be told apart."""
        if len(self._key) < _QUOTED:
            return ()
        raw = self._key.encode("utf-8", "replace")
        return (
            self._key,
            quote(self._key, safe=""),
            json.dumps(self._key)[1:-1],
            *(text for skipped in range(3) for text in _base64(raw, skipped)),
            raw.hex(),
        )

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise TypeError("a key cannot be pickled")


def _base64(raw: bytes, skipped: int) -> tuple[str, str]:
    """Return the digits that depend on `raw` alone, in both alphabets, after `skipped` bytes."""
    first, last = -(-8 * skipped // 6), 8 * (skipped + len(raw)) // 6
    padded = bytes(skipped) + raw
    return (
        base64.b64encode(padded).decode()[first:last],
        base64.urlsafe_b64encode(padded).decode()[first:last],
    )
