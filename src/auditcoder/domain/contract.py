"""The contract of a node: its typed interface, obligations, cost budget and examples."""

import ast

from auditcoder.domain.python_names import PARSE_ERRORS, Function, parse
from auditcoder.domain.task import Example
from auditcoder.domain.values import Value

RESULT = "result"
"""The name of the return value in the clauses of a contract."""


class Param(Value):
    """One positional parameter."""

    name: str
    type: str = ""
    description: str = ""


class Clause(Value):
    """An obligation: a sentence, an executable expression, or both.

    Only the expression can be checked.
    """

    text: str = ""
    expression: str = ""


class CostBudget(Value):
    """A complexity budget, such as `O(n log n)`; empty means none was set."""

    time: str = ""
    space: str = ""


class Contract(Value):
    """The interface contract F of a node, with its cost budget and examples."""

    name: str
    """The name of the function that the node must define."""
    params: tuple[Param, ...] = ()
    any_params: bool = False
    """Whether the task names the function only, so that code may choose its parameters."""
    returns: str = ""
    returns_description: str = ""
    requires: tuple[Clause, ...] = ()
    ensures: tuple[Clause, ...] = ()
    invariants: tuple[Clause, ...] = ()
    cost: CostBudget = CostBudget()
    examples: tuple[Example, ...] = ()

    @property
    def signature(self) -> tuple[str, tuple[tuple[str, str], ...], str]:
        """The part that callers rely on: a change of it crosses the node's boundary."""
        return self.name, tuple((p.name, p.type) for p in self.params), self.returns

    def header(self) -> str:
        """Return the interface as a function header."""
        if self.any_params:
            return f"{self.name}(...)"
        params = ", ".join(f"{p.name}: {p.type}" if p.type else p.name for p in self.params)
        return f"{self.name}({params})" + (f" -> {self.returns}" if self.returns else "")


def signature_faults(contract: Contract, source: str) -> tuple[str, ...]:
    """Return why `source` does not have the contract's signature; empty if SigMatch holds.

    This is the paper's check: a declared name, code that parses, exactly one function of that
    name, and the declared positional parameters in order, except for a leading `self`. Types,
    defaults and keyword-only parameters are not compared, nor is any parameter if none is declared
    because the task names the function only.
    """
    if not contract.name:
        return ("the contract declares no function name",)
    try:
        tree = parse(source)
    except PARSE_ERRORS as error:
        return (f"the code does not parse: {error}",)
    functions = [
        node for node in ast.walk(tree) if isinstance(node, Function) and node.name == contract.name
    ]
    if len(functions) != 1:
        return (f"{len(functions)} functions are named {contract.name}, not one",)
    if contract.any_params:
        return ()
    arguments = functions[0].args
    actual = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    declared = [p.name for p in contract.params]
    if _without_self(actual) != _without_self(declared):
        return (f"parameters are ({', '.join(actual)}), not ({', '.join(declared)})",)
    return ()


def _without_self(names: list[str]) -> list[str]:
    return names[1:] if names[:1] == ["self"] else names


def sig_match(contract: Contract, source: str) -> bool:
    """Whether `source` has the contract's signature: the paper's SigMatch."""
    return not signature_faults(contract, source)
