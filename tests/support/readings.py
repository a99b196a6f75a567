"""How code is read, as one line of text that must be the same on every Python.

`tests/data/readings.jsonl` has forms of code with their readings. To add forms, append lines with
an empty reading, run `python -m tests.support.readings` and check what it wrote.
"""

import ast
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.helper_renames import renamed
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import (
    LITERAL_ERRORS,
    PARSE_ERRORS,
    compiled,
    literal_value,
    parse,
    parsed,
)

READINGS = Path(__file__).parents[1] / "data" / "readings.jsonl"
_S1 = NodeId("S1")
_IGNORED = frozenset({"type_params", "type_comment", "type_ignores", "kind"})


def readings() -> Iterator[tuple[str, str]]:
    """Yield each form with its reading."""
    for line in READINGS.read_text("utf-8").splitlines():
        entry = json.loads(line)
        yield entry["source"], entry["reading"]


def reading_of(source: str) -> str:
    """Return how code is read: as a bundle, and as a literal."""
    return "; ".join([_bundle(source), *_literal(source)])


def _bundle(source: str) -> str:
    bundle = read_bundle(source)
    if not bundle.parses:
        assert "\r" in source or parsed(source) is None
        return "refused"
    tree = parse(source)
    facts = [f"tree {_digest(_plain(tree))}"]
    facts += [f"{u.kind.value} {u.name} {u.first}-{u.last}" for u in units_of(bundle, _S1)]
    facts += [f"{i.statement}" for i in bundle.imported]
    facts += [f"inside a string {sorted(bundle.inside_string)}"] if bundle.inside_string else []
    facts += ["lifted" for part in bundle.parts if part.lifted]
    facts += [f"sets {t.base}.{t.attribute}" for t in sorted(bundle.targets)]
    facts.append(f"words {_digest(sorted(bundle.words))}")
    after = renamed(source, {"helper": "helper__S1"})
    facts += [f"renamed {_digest(after)}"] if after is not None else []
    try:
        compiled(tree, "bundle")
    except PARSE_ERRORS:
        facts.append("does not compile")
    return "; ".join(facts)


def _literal(source: str) -> list[str]:
    try:
        return [f"value {_digest(_plain(literal_value(source)))}"]
    except LITERAL_ERRORS:
        return []


def _digest(value: object) -> str:
    return sha256(ascii(value).encode()).hexdigest()[:8]


def _plain(node: Any) -> Any:
    """Return a tree without what versions add to it: new fields, empty lists and empty texts."""
    match node:
        case ast.AST():
            lines = [getattr(node, "lineno", 0)] if isinstance(node, ast.stmt) else []
            fields = {n: v for n, v in ast.iter_fields(node) if n not in _IGNORED}
            kept = {n: _plain(v) for n, v in fields.items() if v is not None and v != []}
            return [type(node).__name__, *lines, kept]
        case list():
            # Python 3.12.0 and 3.12.1 add empty texts to the formats of f-strings.
            empty = [isinstance(n, ast.Constant) and n.value == "" for n in node]
            return [_plain(n) for n, skip in zip(node, empty, strict=True) if not skip]
        case bool() | str() | bytes() | float() | complex() | None:
            return ascii(node)
        case int():
            return hex(node)
        case tuple() | set() | frozenset():
            return [type(node).__name__, *sorted(map(str, map(_plain, node)))]
        case dict():
            return [(_plain(key), _plain(value)) for key, value in node.items()]
        case _:
            return str(node)


def main() -> None:
    """Write the readings anew."""
    entries = [{"source": source, "reading": reading_of(source)} for source, _ in readings()]
    READINGS.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")


if __name__ == "__main__":
    main()
