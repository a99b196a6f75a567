# mypy: allow-untyped-defs, allow-untyped-calls
"""Calls a function of a program and returns which of its clauses hold for the result.

Appended to the program as text, so it imports nothing at the top and its names begin with
`_audit`. The text that follows it defines `admits` and `clauses` with `_audit_holds`.
"""


def _audit(function, arguments, admits, clauses):
    """Return for each clause True, False, or None where the clause itself raises.

    The list is empty if the function's requirements do not admit the arguments. `admits` takes
    the tuple of arguments; `clauses` takes the result and the arguments as they were before the
    call, and returns the list. Their exceptions are not caught here.
    """
    import copy

    given = copy.deepcopy(arguments)
    if not admits(given):
        return []
    result = function(*copy.deepcopy(arguments))
    return clauses(result, given)


def _audit_holds(clause):
    """Return whether a condition without parameters holds; None if it raises."""
    try:
        return bool(clause())
    except Exception:
        return None
