# mypy: allow-untyped-defs, allow-untyped-calls
"""Calls a function of a program and returns which of its clauses hold for the result.

Appended to the program as text, so it imports nothing at the top and its names begin with
`_audit`. Clauses are passed as text and evaluated with the program's names.
"""


def _audit(function, arguments, contract):
    """Return for each promise True, False, or None where the promise itself raises.

    `contract` has the parameter names, the requirements and the promises. The list is empty if the
    arguments do not match the parameters, or a requirement does not hold for them. Clauses see the
    arguments as they were before the call. Exceptions of the function are not caught here.
    """
    import copy

    parameters, requirements, promises = contract
    if len(arguments) != len(parameters):
        return []
    given = dict(zip(parameters, copy.deepcopy(arguments), strict=True))
    space = {**globals(), **given}
    space.pop("result", None)  # a requirement cannot mention it, even if the program has the name
    if not all(_audit_holds(text, space) for text in requirements):
        return []
    space["result"] = function(*copy.deepcopy(arguments))
    return [_audit_holds(text, space) for text in promises]


def _audit_holds(text, space):
    """Return whether an expression is true; None if it raises, or is a bare tuple."""
    try:
        value = eval(text, dict(space))  # noqa: S307
        # A tuple is always true: an assertion that was written together with its message.
        return None if type(value) is tuple else bool(value)
    except Exception:
        return None
