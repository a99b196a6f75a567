"""Exceptions are described as plain data, whatever their own methods do."""

import io

import pytest

from auditcoder.sandboxed.exception_report import PROGRAM, described, show, text


def raised_by(source: str) -> BaseException:
    try:
        exec(compile(source, PROGRAM, "exec"), {})
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def test_type_message_and_frames_of_the_program_are_reported() -> None:
    report = described(raised_by("def f():\n    raise ValueError('no')\nf()"))
    assert (report["type"], report["message"], report["memory"]) == ("ValueError", "no", False)
    assert report["frames"] == [
        {"function": "<module>", "file": PROGRAM, "line": 3},
        {"function": "f", "file": PROGRAM, "line": 2},
    ]


def test_a_syntax_error_has_the_line_as_its_frame() -> None:
    report = described(raised_by("x = 1\nx = ="))
    assert report["frames"] == [{"function": "", "file": PROGRAM, "line": 2}]


def test_a_message_that_raises_is_replaced() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert described(Mute())["message"] == "<no message>"


def test_lack_of_memory_is_marked() -> None:
    assert described(MemoryError())["memory"] is True


def test_a_deep_stack_keeps_its_outer_and_inner_frames() -> None:
    error = raised_by("def f(n):\n    if n == 0: raise ValueError\n    f(n - 1)\nf(400)")
    frames = described(error)["frames"]
    assert len(frames) == 100
    assert frames[0]["function"] == "<module>"
    assert frames[-1]["line"] == 2


@pytest.mark.parametrize(
    ("report", "expected"), [("a" * 9, "aaaaa"), ("\ud800", "\\ud80"), (3, "<no t")]
)
def test_text_is_cut_and_can_be_encoded(report: object, expected: str) -> None:
    assert text(report, 5) == expected


def test_a_traceback_begins_with_the_program() -> None:
    stream = io.StringIO()
    show(raised_by("raise ValueError('no')"), stream)
    assert stream.getvalue() == (
        "Traceback (most recent call last):\n"
        f'  File "{PROGRAM}", line 1, in <module>\n'
        "ValueError: no\n"
    )
