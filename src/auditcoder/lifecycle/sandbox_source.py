"""Loads code that is sent to the sandbox as text: a module and the sandboxed modules it imports.

A program in the sandbox cannot import this package, so a module of a `sandboxed` folder that uses
others of such a folder is joined with them into one text. Each is still a file of its own, which
is linted, type-checked and tested like any other.
"""

import re
from functools import cache
from importlib import resources

_OWN_IMPORT = re.compile(
    r"^from (?P<package>\.|auditcoder\.sandboxed\.|auditcoder_bench\.sandboxed\.)(?P<module>\w+)"
    r" import (?:\([^)]*\)|[^\n]*)\n",
    re.MULTILINE,
)


@cache
def joined_source(module: str) -> str:
    """Return the source of a module, after the source of each sandboxed module that it imports.

    All of them share one namespace, so no two may define the same name, and they must import each
    other by `from … import name`, without renaming.
    """
    parts: dict[str, str] = {}
    _collect(module, parts)
    return "\n\n".join(parts.values())


def _collect(module: str, parts: dict[str, str]) -> None:
    """Add a module's source to the parts, after the parts that it needs."""
    package, _, name = module.rpartition(".")
    text = resources.files(package).joinpath(f"{name}.py").read_text("utf-8")
    for found in _OWN_IMPORT.finditer(text):
        home = f"{package}." if found["package"] == "." else found["package"]
        needed = f"{home}{found['module']}"
        if needed not in parts:
            _collect(needed, parts)
    parts[module] = _OWN_IMPORT.sub("", text)
