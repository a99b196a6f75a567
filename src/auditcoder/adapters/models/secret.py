"""A provider's key, which no representation, error or record shows."""

import base64
import json
import re
from typing import NoReturn
from urllib.parse import quote, unquote

_ECHOED = 16
"""Least length of a key for which replies are searched; servers of one's own get words as keys."""
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
        """Whether a text contains the key, as it is or in a common encoding."""
        if len(self._key) < _ECHOED:
            return False
        decoded = unquote(text) if "%" in text else text
        return any(encoded in text or encoded in decoded for encoded in self._encodings())

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
        plain, alternative = base64.b64encode(raw), base64.urlsafe_b64encode(raw)
        return (
            self._key,
            quote(self._key, safe=""),
            json.dumps(self._key)[1:-1],
            # The last digits of an encoding depend on what follows the key.
            *(encoded.decode().rstrip("=")[:-1] for encoded in (plain, alternative)),
            raw.hex(),
        )

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise TypeError("a key cannot be pickled")
