"""The base class of domain values, and their encoding, digests and identifiers."""

import re
from hashlib import sha256
from typing import Any, NewType, dataclass_transform

import msgspec

RunId = NewType("RunId", str)
"""The permanent id of one run and its record."""

Digest = NewType("Digest", str)
"""SHA-256 of some bytes, as 64 lower-case hexadecimal digits."""

CheckId = NewType("CheckId", str)
"""The id of one check, which stays the same for all its runs."""

NO_DIGEST = Digest("0" * 64)
"""The digest before the first entry of a chain."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _ValueMeta(msgspec.StructMeta):
    """Makes every subclass of Value frozen and keyword-only by default."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any
    ) -> Any:
        """Create the class."""
        config.setdefault("kw_only", True)
        return super().__new__(cls, name, bases, namespace, **config)


class Value(
    msgspec.Struct,
    metaclass=_ValueMeta,
    frozen=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A frozen value. Default values are not encoded, so a new optional field changes no digest."""


_encoder = msgspec.json.Encoder(order="deterministic")


_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)


def is_run_id(text: str) -> bool:
    """Whether `text` is a valid run id: safe in paths, shells and terminals."""
    return _RUN_ID.fullmatch(text) is not None


def whole(text: str) -> str:
    """Return text that can be encoded as UTF-8: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode()


def printable(text: str) -> str:
    """Escape control characters and noncharacters, so that a text cannot act on its reader."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else f"\\u{ord(c):04x}" for c in text)


_NOT_PLAIN = re.compile(r"[^\n -~]")


def printable_json(text: str) -> str:
    """Escape in JSON text what `printable` escapes; the JSON keeps its meaning."""
    return _NOT_PLAIN.sub(lambda found: _escaped(found[0]), text)


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))


def encode(value: object) -> bytes:
    """Encode `value` as JSON deterministically: equal values give equal bytes."""
    return _encoder.encode(value)


_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+|[\[\]{}]', re.DOTALL)


def nests_deeper(text: bytes, limit: int) -> bool:
    """Whether JSON text has more than `limit` levels of arrays and objects.

    Decoders have limits of their own, which depend on the version of Python and on its stack.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    depth = 0
    position = 0
    while (found := _JSON_TOKEN.search(text, position)) is not None:
        position = found.end()
        match found[0]:
            case b"[" | b"{":
                depth += 1
                if depth > limit:
                    return True
            case b"]" | b"}":
                depth -= 1
            case _:
                position += 1  # the closing quote
    return False


def digest(content: bytes) -> Digest:
    """Return the SHA-256 digest of `content`."""
    return Digest(sha256(content).hexdigest())


def digest_of(value: Any) -> Digest:
    """Return the digest of a value's encoding."""
    return digest(encode(value))
