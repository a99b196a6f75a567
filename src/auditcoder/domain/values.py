"""What every value of the vocabulary is built on: identities, digests, one encoding."""

import re
from hashlib import sha256
from typing import Any, NewType, dataclass_transform

import msgspec

RunId = NewType("RunId", str)
"""Names one run, and its record, for good."""

Digest = NewType("Digest", str)
"""SHA-256 of some bytes, as 64 lower-case hexadecimal digits."""

CheckId = NewType("CheckId", str)
"""Names one check; the same check keeps its id however often it runs."""

NO_DIGEST = Digest("0" * 64)
"""What stands before the first entry of a chain."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _ValueMeta(msgspec.StructMeta):
    """Makes every subclass of Value frozen and keyword-only without saying so each time."""

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
    """A frozen value. Defaults are not written, so that a later optional field alters no digest."""


_encoder = msgspec.json.Encoder(order="deterministic")


_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)


def is_run_id(text: str) -> bool:
    """Whether `text` can name a run: nothing that a path, a shell or a terminal could act on."""
    return _RUN_ID.fullmatch(text) is not None


def whole(text: str) -> str:
    """Return text that can be written: halves of characters, which no text can hold, are marked."""
    return text.encode("utf-8", "replace").decode()


def encode(value: object) -> bytes:
    """Write `value` as JSON, always the same bytes for the same value."""
    return _encoder.encode(value)


def digest(content: bytes) -> Digest:
    """Name `content` by what it is."""
    return Digest(sha256(content).hexdigest())


def digest_of(value: Any) -> Digest:
    """Name a value by its encoding."""
    return digest(encode(value))
