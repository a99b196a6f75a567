"""Bundles as parts, which tests alter and pack again as the writer would."""

import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from auditcoder.adapters.stores.zip_layout import Part, Writer, directory, header

Parts = dict[str, bytes]
EVENTS = "events.jsonl"
WRITER = Writer(system=3, streamed_version=45)


def parts(path: Path) -> Parts:
    """Return the content of a bundle's parts by their names, in the order of the file."""
    with zipfile.ZipFile(path) as zipped:
        return {name: zipped.read(name) for name in zipped.namelist()}


def pack(path: Path, content: Parts) -> Path:
    """Write parts in the layout of a bundle, whatever they hold."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, raw in content.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system, info.external_attr = 3, 0o644 << 16
            with zipped.open(info, "w", force_zip64=name == EVENTS) as part:
                part.write(raw)
    return path


def pack_streams(
    path: Path,
    content: Parts,
    streams: Mapping[str, bytes] = {},
    sizes: Mapping[str, int] = {},
    writer: Writer = WRITER,
) -> Path:
    """Write parts in the layout of a bundle with deflate streams or stated sizes of their own."""
    whole, written = b"", []
    for name, raw in content.items():
        stream = streams.get(name) or deflated(raw)
        size = sizes.get(name, len(raw))
        part = Part(name, zlib.crc32(raw), len(stream), size, streamed=name == EVENTS)
        whole += header(part, writer) + stream
        written.append(part)
    path.write_bytes(whole + directory(written, writer))
    return path


def deflated(raw: bytes) -> bytes:
    """Return a deflate stream, as a part holds it."""
    deflater = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return deflater.compress(raw) + deflater.flush()


def stored(raw: bytes) -> bytes:
    """Return a deflate stream that holds its content uncompressed, at most 65,535 bytes."""
    return struct.pack("<BHH", 1, len(raw), len(raw) ^ 0xFFFF) + raw
