"""Tests that a user makes visible are shown within a limit, which the text states."""

from auditcoder.domain.task import CallExample, FilesExample, StdioExample
from auditcoder.lifecycle.intake.visible_tests import MOST_CHARACTERS, is_cut, visible_text


def test_test_code_is_shown_as_it_is() -> None:
    shown = visible_text(".py", "\nassert f(1) == 2\n", ())
    assert shown == "assert f(1) == 2"
    assert not is_cut(shown)


def test_examples_of_every_kind_are_shown_one_after_another() -> None:
    examples = (
        StdioExample(input="1\n", output="2\n"),
        CallExample(arguments="1, 2", result="3"),
        FilesExample(inputs={"a": "1"}, artefacts={"b": "2"}),
    )
    assert visible_text(".json", "ignored", examples).split("\n\n") == [
        "Input:\n1\nOutput:\n2",
        "(1, 2) -> 3",
        "==> a <==\n1\nexpected:\n==> b <==\n2",
    ]


def test_what_exceeds_the_limit_is_left_out_and_counted() -> None:
    code = "assert f(1) == 2\n" * 2_000
    shown = visible_text(".py", code, ())
    assert is_cut(shown)
    assert len(shown) < MOST_CHARACTERS + 100
    kept, _, remark = shown.rpartition("\n")
    left_out = len(code.strip()) - len(kept)
    assert remark == f"(… {left_out:,} more characters of the tests are not shown)"
    assert set(kept.split("\n")) == {"assert f(1) == 2"}
