# mypy: allow-untyped-defs, allow-untyped-calls
"""Wraps functions of a program so that each call checks a clause about its result.

Appended to the program as text, so it imports nothing at the top and its names begin with
`_audit`. Clauses are passed as text and evaluated with the program's names.
"""

_audit_broken = set()  # type: ignore[var-annotated]


def _audit_promise(function, number, parameters, promise):
    """Return the function with a check: `promise` holds for every result."""

    def holds(result, arguments, named):
        given = {**dict(zip(parameters, arguments, strict=False)), **named}
        return eval(promise, {**globals(), **given, "result": result})  # noqa: S307

    return _audit_watch(function, number, holds)


def _audit_example(function, number, arguments, expected):
    """Return the function with a check: for these arguments it returns the expected result."""

    def holds(result, seen, named):
        if named or seen != eval(f"({arguments},)", globals()):  # noqa: S307
            return True
        return result == eval(expected, globals())  # noqa: S307

    return _audit_watch(function, number, holds)


def _audit_watch(function, number, holds):
    """Return the function with a check; if it does not hold, its number is added to the set.

    The check sees the arguments as they were before the call. A check that raises counts as
    broken.
    """
    import copy
    import functools

    @functools.wraps(function)
    def watched(*arguments, **named):
        before, by_name = copy.deepcopy((arguments, named))
        result = function(*arguments, **named)
        try:
            if not holds(result, before, by_name):
                _audit_broken.add(number)
        except Exception:
            _audit_broken.add(number)
        return result

    return watched
