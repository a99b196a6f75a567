"""The bytes of a bundle around its compressed parts, exactly as the writer makes them.

A zip file states most facts twice or more: in the header before each part, in the directory behind
the last part, and in the end record. Programs differ in the statement that they rely on. A file
whose bytes equal these has the same parts for all of them.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

_HEADER = struct.Struct("<4s5H3L2H")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LARGE_END = struct.Struct("<4sQ2H2L4Q")
_LARGE_LOCATOR = struct.Struct("<4sLQL")

LOCAL_SIZE = _HEADER.size
"""Size of the header before a part, without its name and its extra field."""
END_SIZE = _END.size

LARGE = (1 << 31) - 1
"""Sizes and offsets above this are written in a field of 64 bits."""
MANY = (1 << 16) - 1
"""Maximum number of parts in the end record without fields of 64 bits."""

_DEFLATED = 8
_VERSION = 20
"""The version of the zip format that a reader needs."""
_LARGE_VERSION = 45
"""The version that a reader needs for fields of 64 bits."""
_ELSEWHERE = 0xFFFFFFFF
"""Stands for a number that is in a field of 64 bits."""
_LARGE_FIELD = 1
"""The id of the extra field with numbers of 64 bits."""
_TIME = 0
_DATE = 1 << 5 | 1
"""The first of January 1980, from which zip files count."""
_MODE = 0o644 << 16


class Writer(NamedTuple):
    """What differs between the bundles of earlier versions; no reader relies on it."""

    system: int
    """The operating system: 3 is Unix, which is always written now; 0 is Windows."""
    streamed_version: int
    """The version stated for the streamed part; Python 3.11.3 and older stated the lower one."""

    @property
    def known(self) -> bool:
        """Whether a version of AuditCoder writes such bundles."""
        return self.system in {0, 3} and self.streamed_version in {_VERSION, _LARGE_VERSION}


class Part(NamedTuple):
    """What a zip file states about one part."""

    name: str
    crc: int
    compressed: int
    """Size of the deflate stream."""
    size: int
    """Size of the content."""
    streamed: bool = False
    """Whether it was written while its size was unknown, so that its header has 64-bit sizes."""


def header(part: Part, writer: Writer) -> bytes:
    """Return the header before a part."""
    name = part.name.encode()
    extra, version = b"", _VERSION
    sizes = (part.compressed, part.size)
    if part.streamed:
        extra = struct.pack("<2H2Q", _LARGE_FIELD, 16, part.size, part.compressed)
        version = writer.streamed_version
        if version == _LARGE_VERSION:
            sizes = (_ELSEWHERE, _ELSEWHERE)
    return (
        _HEADER.pack(
            *(b"PK\x03\x04", version, 0, _DEFLATED, _TIME, _DATE),
            *(part.crc, *sizes, len(name), len(extra)),
        )
        + name
        + extra
    )


def directory(parts: Iterable[Part], writer: Writer) -> bytes:
    """Return what follows the last part: the directory and the end record."""
    entries = bytearray()
    at = count = 0
    for part in parts:
        entries += _entry(part, at, writer)
        at += len(header(part, writer)) + part.compressed
        count += 1
    return bytes(entries) + _end(count, len(entries), at)


def _entry(part: Part, at: int, writer: Writer) -> bytes:
    name = part.name.encode()
    version = writer.streamed_version if part.streamed else _VERSION
    sizes, large = (part.compressed, part.size), list[int]()
    if max(sizes) > LARGE:
        large += [part.size, part.compressed]
        sizes = (_ELSEWHERE, _ELSEWHERE)
    if at > LARGE:
        large.append(at)
        at = _ELSEWHERE
    extra = b""
    if large:
        extra = struct.pack(f"<2H{len(large)}Q", _LARGE_FIELD, 8 * len(large), *large)
        version = _LARGE_VERSION
    return (
        _ENTRY.pack(
            *(b"PK\x01\x02", version | writer.system << 8, version, 0, _DEFLATED, _TIME, _DATE),
            *(part.crc, *sizes, len(name), len(extra), 0, 0, 0, _MODE, at),
        )
        + name
        + extra
    )


def _end(count: int, size: int, at: int) -> bytes:
    large = b""
    if count > MANY or max(size, at) > LARGE:
        large = _LARGE_END.pack(
            *(b"PK\x06\x06", 44, _LARGE_VERSION, _LARGE_VERSION, 0, 0),
            *(count, count, size, at),
        ) + _LARGE_LOCATOR.pack(b"PK\x06\x07", 0, at + size, 1)
    count = min(count, 0xFFFF)
    size, at = min(size, _ELSEWHERE), min(at, _ELSEWHERE)
    return large + _END.pack(b"PK\x05\x06", 0, 0, count, count, size, at, 0)
