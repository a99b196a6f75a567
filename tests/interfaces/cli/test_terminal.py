"""Output to a terminal, a pipe or a file."""

import io
import json
import sys
from collections.abc import Callable

import pytest

from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Rank
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes, AtProgram
from auditcoder.interfaces.cli import terminal

S1, S2 = NodeId("S1"), NodeId("S2")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("variables", "on_a_terminal", "in_a_pipe"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_colours_follow_the_stream_and_the_environment(
    variables: dict[str, str],
    on_a_terminal: bool,
    in_a_pipe: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert terminal.wants_colour(Terminal()) is on_a_terminal
    assert terminal.wants_colour(io.StringIO()) is in_a_pipe
    assert terminal.wants_colour(None) is in_a_pipe


def test_a_painted_word_is_coloured_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.say(f"it {terminal.verdict(Verdict.PASSED)}")
    assert capsys.readouterr().out == "it passed\n"
    monkeypatch.setenv("FORCE_COLOR", "1")
    terminal.say(f"it {terminal.verdict(Verdict.PASSED)}")
    assert capsys.readouterr().out == "it \033[32mpassed\033[0m\n"


HOSTILE = "title\033]0;owned\007\x1b[2J\r\b\x9b31m\u202e"


@pytest.mark.parametrize("write", [terminal.say, lambda line: terminal.say_table([[line, "x"]])])
def test_control_characters_of_a_record_are_escaped(
    write: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    write(HOSTILE)
    written = capsys.readouterr().out
    assert "\\u001b" in written
    assert not set(written) & set("\033\007\r\b\x9b\u202e")


def test_a_table_is_aligned_and_nothing_in_it_is_markup(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say_table([["a", "[red]one[/red]"], ["long", ":smile:"]])
    assert capsys.readouterr().out == "a     [red]one[/red]\nlong  :smile:\n"


def test_a_long_cell_is_not_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say_table([["x" * 3000, "end"]])
    assert capsys.readouterr().out == "x" * 3000 + "  end\n"


def test_notices_go_to_standard_error_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.notice("working")
    terminal.set_quiet(True)
    try:
        assert terminal.is_quiet()
        terminal.notice("never seen")
    finally:
        terminal.set_quiet(False)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "auditcoder: working\n")


def test_notices_survive_a_closed_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    terminal.notice("nowhere to go")


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (AtNode(node=S1), "S1"),
        (AtNodes(nodes=(S1, S2)), "S1, S2"),
        (AtBranch(root=S1), "branch S1"),
        (AtInterface(provider=S1, consumer=S2), "interface S1 to S2"),
        (AtProgram(), "program"),
    ],
)
def test_a_target_is_named(
    target: AtNode | AtNodes | AtBranch | AtInterface | AtProgram, text: str
) -> None:
    assert terminal.place(target) == text


def test_a_rank_is_the_compared_tuple() -> None:
    value = Rank(
        full=True, external_passes=3, internal_passes=2, external_clean=4, internal_clean=5
    )
    assert terminal.rank(value) == "(1, 3, 2, 4, 5)"
    assert terminal.rank(None) == "unknown"


@pytest.mark.parametrize(("number", "text"), [(0, "0 entries"), (1, "1 entry"), (2, "2 entries")])
def test_a_count_agrees_with_its_noun(number: int, text: str) -> None:
    assert terminal.count(number, "entry", "entries") == text


def test_text_cannot_colour_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    terminal.say("\ufdd3verified\ufdd6 \ufdd02\ufdd0")
    assert "\x1b" not in capsys.readouterr().out


def test_json_output_cannot_act_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"task": "\x1b[31m\x9b31m\u202ecba\x7f", "path": "\udcff.acb", "é": [1.5, None]}
    terminal.emit_json(value)
    written = capsys.readouterr().out
    assert all(line.isprintable() for line in written.splitlines())
    assert json.loads(written) == value


@pytest.mark.parametrize(
    ("verdict", "painted"),
    [
        (Verdict.PASSED, "\033[32mpassed\033[0m"),
        (Verdict.FAILED, "\033[31mfailed\033[0m"),
        (Verdict.CRASH, "\033[31mcrash\033[0m"),
        (Verdict.NOT_RUN, "\033[2mnot run\033[0m"),
        (Verdict.VACUOUS, "\033[2mvacuous\033[0m"),
        (Verdict.UNTRIED, "\033[2mnot tried\033[0m"),
        (Verdict.UNMEASURABLE, "\033[2mnot measured\033[0m"),
    ],
)
def test_an_inconclusive_verdict_is_neither_green_nor_red(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verdict: Verdict,
    painted: str,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    terminal.say(terminal.verdict(verdict))
    assert capsys.readouterr().out == f"{painted}\n"
