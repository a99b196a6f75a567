# mypy: allow-untyped-defs
"""Wraps functions of a program so that each call checks a clause about its result.

Appended to the program as text, so it imports nothing at the top and its names begin with
`_audit`.
"""

_audit_broken = set()  # type: ignore[var-annotated]


def _audit_watch(function, number, holds):
    """Return the function with a check; a clause that does not hold adds its number to the set.

    The clause sees the arguments as they were before the call. A clause that raises counts as
    broken.
    """
    import copy
    import functools

    @functools.wraps(function)
    def watched(*arguments, **named):
        before, by_name = copy.deepcopy((arguments, named))
        result = function(*arguments, **named)
        try:
            if not holds(result, *before, **by_name):
                _audit_broken.add(number)
        except Exception:
            _audit_broken.add(number)
        return result

    return watched
