"""Finds the commands that other packages add, mostly without importing `importlib.metadata`.

That module loads email, socket and zipfile, which would be two fifths of the time of
`auditcoder --help`. A package declares its commands in the file `entry_points.txt` of its
metadata, so it is enough to read these files, if all packages are in folders.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GROUP = "auditcoder.commands"
"""The entry-point group through which other packages add commands."""


def installed_commands() -> dict[str, str]:
    """Return the module of each command that another package adds."""
    if not _other_finders():
        with suppress(OSError):  # such as a zip file in place of a folder
            return {name: module for text in _entry_points() for name, module in _commands(text)}
    from importlib.metadata import entry_points

    return {entry.name: entry.value for entry in entry_points(group=GROUP)}


def _other_finders() -> bool:
    """Whether packages may be found by anything but the search path."""
    return sum(hasattr(finder, "find_distributions") for finder in sys.meta_path) > 1


def _entry_points() -> Iterator[str]:
    """Yield the `entry_points.txt` of each package; of two with the same name, of the first."""
    seen = set()
    for folder in map(Path, sys.path):
        for entry in _entries(folder):
            stem, _, kind = entry.name.lower().rpartition(".")
            package = (stem or folder.name.lower()).partition("-")[0].replace(".", "_")
            if kind in {"dist-info", "egg-info"} and package not in seen:
                seen.add(package)
                yield _text(entry / "entry_points.txt")


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:  # Python's own zip file, for example, is usually missing
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:  # most packages have no entry points
        return ""


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and module of each command that an `entry_points.txt` declares."""
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line
        elif section == f"[{GROUP}]" and "=" in line and not line.startswith("#"):
            name, _, module = line.partition("=")
            yield name.strip(), module.strip()
