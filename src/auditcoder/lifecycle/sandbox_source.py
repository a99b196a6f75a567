"""Loads code that is sent to the sandbox as text: a module and the sandboxed modules it imports.

A program in the sandbox cannot import this package, so a module of a `sandboxed` folder is joined
with those that it imports into one text. Each stays an ordinary file that is linted, type-checked
and tested.
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
    """Add a module's source to the parts, after those of the modules that it imports."""
    package, _, name = module.rpartition(".")
    text = resources.files(package).joinpath(f"{name}.py").read_text("utf-8")
    for match in _OWN_IMPORT.finditer(text):
        prefix = f"{package}." if match["package"] == "." else match["package"]
        imported = f"{prefix}{match['module']}"
        if imported not in parts:
            _collect(imported, parts)
    parts[module] = _OWN_IMPORT.sub("", text)
