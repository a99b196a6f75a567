"""The attributes of global names that code may set or delete."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from auditcoder.domain.python_names import local_names, mangled, own_scope, scopes

_LAST_ATTRIBUTE = re.compile(r"\.(?:[\s\\]|#[^\n]*\n)*[A-Za-z_]\w*(?!\w|[ \t\f]*[(.\[])")
"""An attribute that is neither called nor indexed, and has no attribute itself."""


def may_set_attributes(source: str) -> bool:
    """Whether code can set an attribute; a fast check, so that most code is not walked."""
    return not source.isascii() or _LAST_ATTRIBUTE.search(source) is not None


class AttributeTarget(msgspec.Struct, frozen=True, order=True):
    """An attribute of a global name that code sets or deletes, such as `C.limit`."""

    base: str
    attribute: str


def attribute_targets(
    nodes: Sequence[ast.AST], local: frozenset[str] = frozenset(), class_name: str = ""
) -> Iterator[AttributeTarget]:
    """Yield the attributes of global names that `nodes` may set or delete.

    `local` are the names of enclosing functions. The names of a class body are not local: they may
    be unbound where they are used, and functions in the class do not see them.
    """
    for node in own_scope(nodes):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del(), value=value, attr=attribute):
                for base, first in _first_attributes(value, attribute):
                    # A local name that is private could be another name inside a class.
                    if base not in local or base.startswith("__"):
                        yield AttributeTarget(mangled(base, class_name), mangled(first, class_name))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                _, inside = scopes(node)
                hidden = (local | local_names(node)) - _global_in(inside)
                yield from attribute_targets(inside, hidden, class_name)
            case ast.ClassDef(name=name, body=body):
                yield from attribute_targets(body, local - _global_in(body), name)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                first_loop = node.generators[0]
                inside = [c for c in ast.iter_child_nodes(node) if c is not first_loop]
                inside += [first_loop.target, *first_loop.ifs]
                yield from attribute_targets(inside, local | local_names(node), class_name)
            case _:
                pass


def _first_attributes(value: ast.AST, attribute: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a value may come from, each with its attribute that is changed.

    `C.a.b` changes `C.a`, and `(C if x else D).a` may change `C.a` and `D.a`. What a call returns
    is known only at run time.
    """
    match value:
        case ast.Name(id=name):
            yield name, attribute
        case ast.Attribute(value=inner, attr=first):
            yield from _first_attributes(inner, first)
        case ast.Subscript(value=inner):
            yield from _first_attributes(inner, attribute)
        case ast.Call():
            pass
        case _:
            for child in ast.iter_child_nodes(value):
                yield from _first_attributes(child, attribute)


def _global_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    declarations = (n for n in own_scope(nodes) if isinstance(n, ast.Global))
    return frozenset(name for declaration in declarations for name in declaration.names)
