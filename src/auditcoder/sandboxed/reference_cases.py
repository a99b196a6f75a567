# mypy: allow-untyped-defs
"""Makes a test case from a reference solution: a generated input and the answer to it.

Appended to the reference as text, so it imports nothing at the top and its names begin with
`_audit`.
"""


def _audit(make_input, reference, seed):
    """Return the `repr` of the arguments, and the reference's result for them."""
    import copy
    import random

    arguments = make_input(random.Random(seed))  # noqa: S311 - test inputs
    if isinstance(arguments, dict):
        arguments = tuple(arguments.values())
    if not isinstance(arguments, tuple):
        arguments = (arguments,)
    return repr(arguments), reference(*copy.deepcopy(arguments))
