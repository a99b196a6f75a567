"""Front matter is read as TOML, and errors name the key and the reason."""

from typing import Any

import pytest

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import (
    ProgramForm,
)
from auditcoder.lifecycle.intake import make_task
from auditcoder.lifecycle.intake.front_matter import (
    LONGEST,
    FrontMatter,
    is_file_name,
    split_front_matter,
)


def _refused(text: str, code: str, **more: Any) -> str:
    with pytest.raises(TaskInvalid) as invalid:
        make_task(text, **more)
    assert invalid.value.code == code
    assert invalid.value.advice
    return str(invalid.value)


@pytest.mark.parametrize(
    ("matter", "code", "why"),
    [
        ("title = ", "task.front-matter", "Invalid value"),
        ("titel = 'x'", "task.front-matter", "titel"),
        ("seconds = 'long'", "task.front-matter", "seconds"),
        ("x = " + "[" * 5000, "task.front-matter", "front matter"),
        ("inputs = 3", "task.front-matter", "inputs"),
        ("artefacts = ['../x']", "task.front-matter", "'../x'"),
        ("seconds = -1", "task.limits", "-1"),
        ("seconds = nan", "task.limits", "nan"),
        ("form = 'poem'", "task.form", "poem"),
        ("form = 'program'\nentry = 'f'", "task.form", "function"),
        ("signature = 'f(a)'\nclass = 'C'", "task.form", "class"),
        ("form = 'function'", "task.signature", "does not name it"),
        ("signature = 'f(a'", "task.signature", "f(a"),
        ("signature = 'x = 1'", "task.signature", "x = 1"),
        ("signature = 'f(a)'\nentry = 'g'", "task.signature", "f, and the entry is g"),
        ("entry = 'class'", "task.signature", "'class'"),
        ("form = 'class'", "task.skeleton", "a class"),
        ("class = 'C'\nskeleton = 'class D: pass'", "task.skeleton", "the class C"),
        ("form = 'files'\ninputs = 'there'", "task.unreadable", "folder"),
        ("form = 'program'\n[[examples]]\narguments = '1'\nresult = '1'", "task.example", "1 of"),
        ("entry = 'f'\n[[examples]]\narguments = '1)(2'\nresult = '1'", "task.example", "1)(2"),
        ("entry = 'f'\n[[examples]]\narguments = '1'\nresult = '='", "task.example", "result '='"),
        ("entry = 'f'\n[[examples]]\ncall = 'g(1)'\nresult = '1'", "task.example", "call of f"),
        ("entry = 'f'\n[[examples]]\ncode = 'if'", "task.example", "not Python"),
        ("form = 'program'\n[[examples]]\ninput = 1\noutput = ''", "task.example", "input"),
        ("form = 'files'\n[[examples]]\ninputs = {'/x' = ''}", "task.example", "'/x'"),
    ],
)
def test_an_error_in_front_matter_is_reported(matter: str, code: str, why: str) -> None:
    assert why in _refused(f"+++\n{matter}\n+++\nDo it.", code)


def test_input_that_is_not_text_is_refused() -> None:
    _refused("", "task.empty")
    _refused("+++\ntitle = 'x'\n+++\n \n", "task.empty")
    _refused("a\0b", "task.encoding")
    _refused("a\ud800b", "task.encoding")
    _refused("+++\ntitle = 'x'\nDo it.", "task.front-matter")
    assert f"{LONGEST:,}" in _refused("x" * 10_000_000, "task.too-large")


def test_yaml_front_matter_is_distinguished_from_a_horizontal_rule() -> None:
    with pytest.raises(TaskInvalid, match="YAML") as invalid:
        make_task("---\ntitle: Sum\n---\nAdd.")
    assert "TOML between two lines +++" in invalid.value.advice
    assert make_task("---\nAdd two numbers.\n---\nPlease.").form == ProgramForm()


def test_front_matter_is_separated_from_the_statement() -> None:
    text = "\ufeff+++\r\ntitle = 'Sum'\r\nclass = 'C'\r\n+++ \r\n\r\nAdd.\r\nNow."
    assert split_front_matter(text) == (FrontMatter(title="Sum", class_name="C"), "Add.\nNow.")


def test_a_text_without_front_matter_is_all_statement() -> None:
    assert split_front_matter(" Add +++ two. \n") == (FrontMatter(), "Add +++ two.")


def test_the_advice_lists_the_keys() -> None:
    with pytest.raises(TaskInvalid) as invalid:
        split_front_matter("+++\nnone = 1\n+++\nAdd.")
    assert "form, entry, signature, title, seconds, memory_mb" in invalid.value.advice


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("a.txt", True),
        ("folder/a.txt", True),
        ("x" * 255, True),
        ("x" * 256, False),
        ("", False),
        (".", False),
        ("..", False),
        ("a/../b", False),
        ("/a", False),
        ("a//b", False),
        ("./a", False),
        ("a/", False),
        ("a\\b", False),
        ("a\nb", False),
    ],
)
def test_a_file_name_stays_in_its_folder_and_has_one_spelling(name: str, allowed: bool) -> None:
    assert is_file_name(name) is allowed
