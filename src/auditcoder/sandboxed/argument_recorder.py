# mypy: allow-untyped-defs, allow-untyped-calls
"""Wraps a function of a program so that the arguments of its calls are recorded.

Appended to the program as text, so it imports nothing at the top and its names begin with
`_audit`.
"""

_audit_seen = []  # type: ignore[var-annotated]


def _audit_arguments(function, most, longest):
    """Return the function; it records the arguments of up to `most` different calls as text.

    Arguments whose text has more than `longest` characters are left out.
    """
    import functools
    import inspect

    @functools.wraps(function)
    def recorded(*arguments, **named):
        if len(_audit_seen) < most:
            try:
                bound = inspect.signature(function).bind(*arguments, **named)
                bound.apply_defaults()
                text = ", ".join(map(repr, bound.arguments.values()))
            except Exception:
                text = None
            if text is not None and len(text) <= longest and text not in _audit_seen:
                _audit_seen.append(text)
        return function(*arguments, **named)

    return recorded
