"""`show`, `blame` and their JSON say which drafts there were, and which one was chosen."""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from auditcoder.domain.ids import NodeId
from auditcoder.domain.trace import Trace, fold
from auditcoder.interfaces.cli.draft_view import show_drafts
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.show_command import show_node, show_run
from auditcoder.lifecycle.ports import Sandbox
from tests.support.commands import RunCommand
from tests.support.draft_runs import (
    FUNCTION,
    NEARLY,
    RIGHT,
    class_run,
    drafted,
    function_run,
    hostile_run,
    program_run,
    repaired_run,
    unfixed_run,
)
from tests.support.record_builders import RUN
from tests.support.scripted_runs import FinishedRun, copied_to, sandboxed

S1 = NodeId("S1")
CONTROLS = set("\x1b\x07\u202e\u200b")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.fixture(scope="module")
def finished(sandbox: Sandbox) -> FinishedRun:
    return function_run(sandbox)


def saved(finished: FinishedRun, folder: Path) -> Path:
    """Store a run; return the path of its store."""
    path = folder / "drafts.db"
    copied_to(path, finished).close()
    return path


def without_costs(shown: str) -> str:
    """Replace the numbers of tokens, which depend on the words of the prompt."""
    return re.sub(r"\d+ tokens", "… tokens", shown)


@pytest.fixture
def function(finished: FinishedRun, tmp_path: Path) -> Path:
    return saved(finished, tmp_path)


@pytest.fixture(scope="module")
def of_class(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(class_run(sandbox), tmp_path_factory.mktemp("class"))


def test_a_run_says_how_many_drafts_there_were_and_why_one_was_chosen(
    run: RunCommand, function: Path
) -> None:
    shown = run("show", RUN, "--store", function).out
    assert (
        "drafts: 4 requested of at most 4, 3 usable, 3 variants tried;"
        " chosen at event 15: draft 4\n"
        "  draft 4, best of 3 tried: 3 of 3 given checks pass;" in shown
    )
    assert "       code from event 16 (draft 4), 5 checks passed\n" in shown


def test_a_combination_is_named_by_the_draft_of_each_node(run: RunCommand, of_class: Path) -> None:
    shown = run("show", RUN, "--store", of_class).out
    assert "4 variants tried; chosen at event 14: draft 1 for S2, draft 2 for S3\n" in shown


def test_a_node_says_from_which_draft_its_code_is(run: RunCommand, function: Path) -> None:
    shown = run("show", RUN, "S1", "--store", function).out
    assert ", event 16, draft 4 of 4\n  chosen at event 15: draft 4, best of 3 tried: " in shown
    assert " written by drafter, draft 4\n" in shown


def test_the_drafts_of_a_node_are_listed_with_differences(run: RunCommand, function: Path) -> None:
    shown = without_costs(run("show", RUN, "S1", "--drafts", "--store", function).out)
    _, first, second, _, fourth = shown.split("\n\n")
    assert first == (
        "Draft 1  event 5, reply 4, prompt draft, temperature 0, no seed, … tokens\n"
        "  checks    1 of 3 pass: example-2; example-1 failed, example-3 failed\n"
        "  votes     6, from 6 inputs\n"
        "  code      difference from the chosen code\n"
        "    @@ -1,2 +1,2 @@\n"
        "     def twice_and_one(x):\n"
        "    -    return 2 * x + 1\n"
        "    +    return x + 1"
    )
    assert second.splitlines()[1:] == [
        "  rejected  there is no ```python block in it",
        "  no draft: no usable reply",
    ]
    assert fourth == (
        "Draft 4  chosen  event 13, reply 12, prompt draft, temperature 0.8, seed 3, … tokens\n"
        "  checks    3 of 3 pass: example-1, example-2, example-3\n"
        "  votes     10, from 6 inputs\n"
        "  code\n"
        "     1  def twice_and_one(x):\n"
        "     2      return 2 * x + 1\n"
    )


def test_without_a_node_the_drafts_of_every_node_are_listed(
    run: RunCommand, of_class: Path
) -> None:
    shown = without_costs(run("show", RUN, "--drafts", "--store", of_class).out)
    assert "each draft has code for S2, S3, and is tried as a whole\n" in shown
    assert "the chosen combination: 2 of 2 pass: example-1, example-2\n" in shown
    assert [line for line in shown.splitlines() if line.startswith(("S", "Draft 1"))] == [
        "S2  Count one more and say how many.",
        "Draft 1  chosen  event 7, reply 6, prompt draft, temperature 0, no seed, … tokens",
        "S3  Count one less and say how many.",
        "Draft 1  event 7, reply 6, prompt draft, temperature 0, no seed, … tokens",
    ]
    assert "votes" not in shown, "there are no inputs to agree on"


def test_identical_code_is_printed_once(run: RunCommand, sandbox: Sandbox, tmp_path: Path) -> None:
    finished = drafted(sandbox, FUNCTION, NEARLY, RIGHT.replace("2", "3"), NEARLY, most=3)
    shown = run("show", RUN, "S1", "--drafts", "--store", saved(finished, tmp_path)).out
    assert shown.count("     2      return 2 * abs(x) + 1\n") == 1
    assert "  code      the same as that of draft 1\n" in shown


def test_json_has_every_draft_uncut(run: RunCommand, function: Path) -> None:
    found = run("show", RUN, "S1", "--drafts", "--store", function, "--json").json
    assert (found["run"], found["drafting"]["requested"]) == (RUN, 4)
    assert [draft["draft"] for draft in found["drafts"]["S1"]] == [1, 2, 3, 4]
    assert found["drafts"]["S1"][3]["source"] == RIGHT
    whole = run("show", RUN, "--store", function, "--json").json
    assert whole["drafting"] == found["drafting"]
    assert whole["nodes"][1]["owned_code"]["draft"] == 4


def test_a_run_without_drafts_says_what_to_ask_instead(run: RunCommand, example: Path) -> None:
    result = run("show", "help", "S1", "--drafts", "--store", example)
    assert result.code == Exit.NOT_FOUND
    assert "run helpful-currents has no drafts [drafts.none]\n" in result.err
    assert "`auditcoder show helpful-currents --history`" in result.err


def test_a_node_without_drafts_is_reported_with_those_that_have_them(
    run: RunCommand, of_class: Path
) -> None:
    result = run("show", RUN, "S1", "--drafts", "--store", of_class)
    assert result.code == Exit.NOT_FOUND
    assert "run a-run has no drafts of S1 [drafts.none]\n  it has drafts of S2, S3" in result.err


def test_drafts_and_history_are_shown_one_at_a_time(run: RunCommand, function: Path) -> None:
    words = ("show", RUN, "S1", "--drafts", "--history", "--store", function)
    assert run(*words).code == Exit.USAGE


def test_blame_names_the_draft_of_a_line(run: RunCommand, function: Path) -> None:
    shown = run("blame", RUN, 2, "--store", function).out
    assert "\ncode       draft 4 of 4, chosen at event 15: draft 4, best of 3 tried: " in shown
    draft = run("blame", RUN, 2, "--store", function, "--json").json["code"]["draft"]
    assert (draft["draft"], draft["event"], draft["reply"], draft["chosen"]) == (4, 13, 12, 15)


def test_code_that_a_repair_wrote_is_no_draft(
    run: RunCommand, sandbox: Sandbox, tmp_path: Path
) -> None:
    store = saved(repaired_run(sandbox), tmp_path)
    assert "draft" not in run("blame", RUN, 2, "--store", store).out
    shown = run("show", RUN, "S1", "--store", store).out
    assert re.search(r", event \d+\n     1  def twice_and_one\(x\):", shown)
    assert " written by drafter, draft 1\n" in shown, "the first version was one"
    drafts = run("show", RUN, "S1", "--drafts", "--store", store).out
    assert "the chosen code was replaced since; `--history` shows all versions\n" in drafts


def test_blame_names_no_draft_of_code_that_was_given(run: RunCommand, of_class: Path) -> None:
    lines = run("blame", RUN, "--store", of_class, "--json").json["lines"]
    given = next(line["line"] for line in lines if "def __init__" in line["text"])
    found = run("blame", RUN, given, "--store", of_class, "--json").json
    assert (found["node"], found["code"]["draft"]) == ("S1", None)
    assert "draft" not in run("blame", RUN, given, "--store", of_class).out


def test_a_whole_program_is_shown_with_its_inputs_and_outputs(
    run: RunCommand, sandbox: Sandbox, tmp_path: Path
) -> None:
    shown = run("show", RUN, "S1", "--store", saved(program_run(sandbox), tmp_path)).out
    assert "  no function of its own\n  input      stdin: from the task\n" in shown


def test_a_function_with_any_parameters_is_shown_with_an_ellipsis(
    run: RunCommand, sandbox: Sandbox, tmp_path: Path
) -> None:
    store = saved(unfixed_run(sandbox), tmp_path)
    assert "       twice(...)\n" in run("show", RUN, "--store", store).out
    assert "Contract\n  twice(...)\n" in run("show", RUN, "S1", "--store", store).out
    interface = run("show", RUN, "S1", "--store", store, "--json").json["interface"]
    assert (interface["params"], interface["any_params"]) == ([], True)
    assert "owner      S1  Twice\n" in run("blame", RUN, 1, "--store", store).out


def test_control_characters_of_drafts_do_not_reach_the_terminal(
    run: RunCommand, sandbox: Sandbox, tmp_path: Path
) -> None:
    finished = hostile_run(sandbox)
    store = saved(finished, tmp_path)
    events = [("--event", str(number)) for number in range(len(finished.raw.bodies))]
    for words in ([], ["S1"], ["S1", "--drafts"], ["S1", "--history"], *events):
        for form in ((), ("--json",)):
            result = run("show", RUN, *words, *form, "--store", store)
            assert result.code == Exit.OK
            assert not set(result.out) & CONTROLS
    assert not set(run("blame", RUN, 1, "--store", store).out) & CONTROLS


@settings(max_examples=60, deadline=None)
@given(text=st.text())
def test_no_text_of_a_record_controls_the_terminal(finished: FinishedRun, text: str) -> None:
    trace = _saying(finished.solution.trace, text)
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        show_run(trace, finished.raw.blob)
        show_node(trace, S1, finished.raw.blob)
        show_drafts(trace, None, finished.raw.blob, as_json=False)
    shown = page.getvalue()
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert len(shown.splitlines()) == shown.count("\n"), "a text cannot add lines"


def _saying(trace: Trace, text: str) -> Trace:
    """Return a trace in which every free text about drafts is replaced."""
    record = trace.drafting
    assert record is not None
    assert record.choice is not None
    requested = {
        slot: replace(
            draft,
            rejected=(text,) * len(draft.rejected),
            parts={n: replace(p, losses=(text,), note=text) for n, p in draft.parts.items()},
        )
        for slot, draft in record.requested.items()
    }
    choice = replace(record.choice, reason=text)
    return replace(trace, drafting=replace(record, requested=requested, choice=choice))


@pytest.mark.parametrize(
    ("entries", "requested", "line"),
    [
        (4, 0, "S1  Twice and one"),
        (5, 1, "  no draft: its code is not on record"),
        (6, 1, "  not tried"),
        (8, 2, "  no draft: no usable reply"),
    ],
)
def test_an_interrupted_run_shows_the_drafts_so_far(
    finished: FinishedRun,
    entries: int,
    requested: int,
    line: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = fold(finished.raw.bodies[:entries], finished.raw.blob)
    show_drafts(trace, None, finished.raw.blob, as_json=False)
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].startswith(f"drafts: {requested} requested of at most 4")
    assert shown[1].endswith("; none is chosen")
    assert line in shown
