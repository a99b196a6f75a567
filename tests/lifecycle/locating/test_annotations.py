"""Annotations: a value's type against the one that was promised, both as texts."""

import pytest

from auditcoder.lifecycle.locating.annotations import fits


@pytest.mark.parametrize(
    ("promised", "found"),
    [
        ("int", "int"),
        ("int", "bool"),
        ("float", "int"),
        ("list[int]", "list"),
        ("list[int]", "list[int]"),
        ("list[float]", "list[float | int]"),
        ("tuple[int, str]", "tuple[int, str]"),
        ("tuple[int, ...]", "tuple[int, int, int]"),
        ("dict[str, list[int]]", "dict[str, list[int]]"),
        ("dict[str, int]", "defaultdict[str, int]"),
        ("int | None", "None"),
        ("Optional[int]", "None"),
        ("Union[int, str]", "str"),
        ("List[int]", "list[int]"),
        ("typing.Any", "list[int]"),
        ("Order", "int"),
        ("", "int"),
        ("not an annotation", "int"),
        ("Iterable[int]", "generator"),
        ("'int'", "int"),
        ("int", "int | " * 2000 + "str"),  # nobody reads so much
    ],
)
def test_what_may_stand_there_fits(promised: str, found: str) -> None:
    assert fits(promised, found)


@pytest.mark.parametrize(
    ("promised", "found"),
    [
        ("int", "str"),
        ("int", "float"),
        ("int", "None"),
        ("None", "int"),
        ("list[int]", "tuple[int]"),
        ("list[int]", "list[str]"),
        ("list[int]", "list[int | str]"),
        ("tuple[int, str]", "tuple[str, int]"),
        ("tuple[int, str]", "tuple[int]"),
        ("dict[str, int]", "list[tuple[str, int]]"),
        ("dict[str, int]", "dict[int, str]"),
        ("int | None", "str"),
        ("Sequence[int]", "dict[int, int]"),
    ],
)
def test_what_may_not_does_not(promised: str, found: str) -> None:
    assert not fits(promised, found)
