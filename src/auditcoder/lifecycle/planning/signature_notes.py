"""The parts of a stub's signature that a contract does not hold: defaults, keyword-only parameters.

The planner keeps them as lines in the context of a node. The writer of the function sees them in
its header again.
"""

import ast
from typing import NamedTuple

from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.graph import Node
from auditcoder.domain.ids import ROOT
from auditcoder.domain.python_names import Function, parse, parse_fault

_DEFAULT = "default: "
_KEYWORD = "keyword only: "
_VARIADIC = "also takes: "
_LABELS = (_DEFAULT, _KEYWORD, _VARIADIC)


class ShownSignature(NamedTuple):
    """How a node is shown to the writers of code."""

    header: str
    context: str
    """The node's context without the lines that the header holds."""


def signature_notes(function: Function) -> list[str]:
    """Return what the header of a stub says beyond positional parameters and their types."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = zip(reversed(positional), reversed(arguments.defaults), strict=False)
    notes = [f"{_DEFAULT}{a.arg}={ast.unparse(d)}" for a, d in reversed(list(defaults))]
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        value = f"={ast.unparse(default)}" if default else ""
        notes.append(f"{_KEYWORD}{ast.unparse(argument)}{value}")
    notes += [f"{_VARIADIC}*{a.arg}" for a in [arguments.vararg] if a]
    notes += [f"{_VARIADIC}**{a.arg}" for a in [arguments.kwarg] if a]
    return notes + [f"decorator: @{ast.unparse(d)}" for d in function.decorator_list]


def shown_signature(node: Node) -> ShownSignature:
    """Return a node's whole header and the rest of its context.

    The root keeps the header that the task requires. A repair can change the parameters of a
    contract, after which the lines may no longer fit; then they stay as they are.
    """
    if node.contract is None:
        return ShownSignature("", node.context)
    plain = ShownSignature(node.contract.header(), node.context)
    lines = node.context.splitlines()
    if node.id == ROOT or not any(line.startswith(_LABELS) for line in lines):
        return plain
    header = _header(node.contract, lines)
    if parse_fault(f"def {header}:\n    ...\n") is not None or _names_twice(header):
        return plain
    rest = [line for line in lines if not line.startswith(_LABELS)]
    return ShownSignature(header, "\n".join(rest))


def _header(contract: Contract, lines: list[str]) -> str:
    defaults = dict(text.partition("=")[::2] for text in _said(_DEFAULT, lines))
    variadic = _said(_VARIADIC, lines)
    keywords = _said(_KEYWORD, lines)
    starred = [text for text in variadic if not text.startswith("**")]
    params = [_param(p, defaults.get(p.name, "")) for p in contract.params]
    params += [*(starred or ["*"] * bool(keywords)), *keywords]
    params += [text for text in variadic if text.startswith("**")]
    returns = f" -> {contract.returns}" if contract.returns else ""
    return f"{contract.name}({', '.join(params)}){returns}"


def _names_twice(header: str) -> bool:
    names = [n.arg for n in ast.walk(parse(f"def {header}:\n    ...\n")) if isinstance(n, ast.arg)]
    return len(names) != len(set(names))


def _said(label: str, lines: list[str]) -> list[str]:
    return [line.removeprefix(label) for line in lines if line.startswith(label)]


def _param(param: Param, default: str) -> str:
    typed = f"{param.name}: {param.type}" if param.type else param.name
    return typed + (f"={default}" if default else "")
