# mypy: allow-untyped-defs
"""Times a function of a program on an input of a given size.

Appended to the program as text, so it imports nothing at the top and its names begin with
`_audit`.
"""

_audit_last = 0.0


def _audit_time(function, make_arguments, size, enough):
    """Return the least seconds of up to three calls; None if the previous size took too long.

    `enough` is in seconds: after a size that took longer, no larger one is tried, and no call is
    repeated after that time in total.
    """
    import time

    global _audit_last
    if _audit_last > enough:
        return None
    times: list[float] = []
    while len(times) < 3 and sum(times) < enough:
        arguments = make_arguments(size)
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    _audit_last = min(times)
    return _audit_last
