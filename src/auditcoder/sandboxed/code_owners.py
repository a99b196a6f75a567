"""Maps the code objects of a program to the functions they belong to."""

import types
from collections.abc import Callable


def owners(
    code: types.CodeType, owner_of: Callable[[str], str | None]
) -> dict[types.CodeType, str]:
    """Return the owner of every code object below `code`; those without an owner are left out.

    `owner_of` takes a qualified name.
    """
    found: dict[types.CodeType, str] = {}
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            owner = owner_of(part.co_qualname)
            if owner is not None:
                found[part] = owner
            found |= owners(part, owner_of)
    return found
