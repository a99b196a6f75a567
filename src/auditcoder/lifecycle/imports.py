"""The imports that a piece of code uses and forgot."""

import ast

from auditcoder.domain.binding import (
    BUILTINS,
    PARSE_ERRORS,
    Function,
    imported_by,
    on_a_fresh_stack,
    parse,
)

_MODULES = frozenset(
    [
        "bisect",
        "collections",
        "copy",
        "csv",
        "datetime",
        "decimal",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "io",
        "itertools",
        "json",
        "math",
        "operator",
        "os",
        "random",
        "re",
        "statistics",
        "string",
        "sys",
        "time",
    ]
)
_FROM = {
    name: module
    for module, names in {
        "bisect": "bisect_left bisect_right insort",
        "collections": "Counter OrderedDict defaultdict deque namedtuple",
        "dataclasses": "dataclass field",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "functools": "cache cmp_to_key lru_cache partial reduce",
        "heapq": "heapify heappop heappush",
        "itertools": "accumulate chain combinations groupby pairwise permutations product"
        " zip_longest",
        "math": "ceil comb factorial floor gcd isqrt lcm sqrt",
        "pathlib": "Path",
        "typing": "Any Callable Dict Iterable Iterator List Optional Sequence Set Tuple Union",
    }.items()
    for name in names.split()
}


def completing(source: str, bound: set[str]) -> list[str]:
    """Return the imports of the standard library that a piece of code uses and forgot."""
    try:
        module = on_a_fresh_stack(lambda: parse(source))
    except PARSE_ERRORS:
        return []
    stored = {
        n.id
        for n in ast.walk(module)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    } | {a.arg for a in ast.walk(module) if isinstance(a, ast.arg)}
    defined = {n.name for n in ast.walk(module) if isinstance(n, Function | ast.ClassDef)}
    known = stored | defined | imported_by(module) | bound | BUILTINS
    wanted = []
    for node in ast.walk(module):
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in _MODULES - known:
                wanted.append(f"import {name}")
            case ast.Name(id=name) if name in _FROM and name not in known:
                wanted.append(f"from {_FROM[name]} import {name}")
            case _:
                pass
    return sorted(set(wanted))
