"""TOML is read like the standard library reads it, except where that takes too long."""

import tomllib
from contextlib import suppress

import pytest

from auditcoder.domain.toml_reader import read_toml

VALID = [
    "",
    "a = 1\nb.c.d = 1.5\n[x.y]\nz = 1979-05-27T00:32:00.999\n",
    f"text = '{'.' * 100}'\n",
    f'text = "{"." * 100} \\" {"." * 100}"\n',
    f'text = """{"." * 100}"\\"""{"." * 100}"""\n',
    f"text = '''{'.' * 100}''{'.' * 100}'''\n",
    f"# {'.' * 100} \"\n# '''\na = [1.5, {'2.5, ' * 100}]\n",
    "'quoted.key'.\"another.key\" = { a.b = 1, c.d = 2 }\n",
    ".".join("a" * 32) + " = 1\n",
    "[[a.b]]\n" * 200,
    f"number = {'9' * 900}\n",
]


@pytest.mark.parametrize("text", VALID)
def test_valid_text_is_read_like_the_standard_library_reads_it(text: str) -> None:
    assert read_toml(text) == tomllib.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 33) + " = 1",
        ".".join("a" * 90_000) + " = 1",
        "a" + " . a" * 40 + " = 1",
        '"x".' * 40 + '"x" = 1',
        f"[{'.'.join('a' * 40)}]",
        f"[[{'.'.join('a' * 40)}]]",
        "x = { " + ".".join("a" * 40) + " = 1 }",
        f"n = 0x{'f' * 1_000}",
        f"n = {'9' * 1_001}",
        f"n = 1e{'9' * 1_000}",
    ],
)
def test_long_keys_and_numbers_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"more than (32 parts|1,000 characters)"):
        read_toml(text)


@pytest.mark.parametrize("start", ['"""', "'''", '"', "'", '"""\\', '"\\'])
def test_an_unfinished_string_is_an_error(start: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        read_toml(f"x = {start}...")


@pytest.mark.parametrize(
    "piece",
    [
        '"""\\',
        "'''",
        '\\"""',
        '"',
        "'",
        '\\"',
        '""',
        "#",
        ".",
        "[",
        "a .",
        "a.b.c\n",
        "a={b=",
        "\n",
    ],
)
def test_no_text_of_the_size_of_a_task_stalls_the_reader(piece: str) -> None:
    """Where the work grows with the square of the size, this takes minutes."""
    with suppress(ValueError, RecursionError):
        read_toml(piece * (200_000 // len(piece)))
