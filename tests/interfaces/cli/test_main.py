"""The command line as a process: help, errors, signals and closed output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from auditcoder import __version__
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.altered_stores import alter
from tests.support.commands import RunCommand, run_process
from tests.support.fault_server import FaultServer
from tests.support.record_builders import RUN, failing


def test_json_errors_are_json(run: RunCommand, example: Path) -> None:
    result = run("show", "nothing", "--store", example, "--json")
    assert result.out == ""
    assert json.loads(result.err)["error"]["code"] == "run.unknown"


def test_help_names_every_command_and_loads_no_slow_module() -> None:
    done = run_process("--help")
    assert done.returncode == 0
    for command in ("runs", "show", "blame", "verify", "export", "import"):
        assert command in done.stdout
    # Time is not measured here, but no slow module may be loaded.
    loaded = "import sys; from auditcoder.interfaces.cli.main import main\n"
    loaded += "try: main(['--help'])\nexcept SystemExit: pass\n"
    loaded += "print(*sorted(sys.modules), file=sys.stderr)"
    modules = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    ).stderr.split()
    slow = {"msgspec", "sqlite3", "psycopg", "json", "rich"}
    slow |= {"importlib.metadata", "email", "socket", "zipfile"}
    assert not slow & set(modules)


def test_no_arguments_print_the_help() -> None:
    done = run_process()
    assert (done.returncode, done.stdout) == (Exit.OK, run_process("--help").stdout)


def test_an_unknown_command_or_flag_gets_a_suggestion() -> None:
    done = run_process("verfy", "x")
    assert done.returncode == Exit.USAGE
    assert "did you mean verify?" in done.stderr
    done = run_process("solve", "x", "--max-repiars", "3")
    assert done.returncode == Exit.USAGE
    assert "did you mean --max-repairs?" in done.stderr


@pytest.mark.parametrize("word", ["", " ", "\t\n"])
@pytest.mark.parametrize("command", ["verify x", "runs", "models", "solve x --model y"])
def test_a_blank_argument_is_a_usage_error(run: RunCommand, command: str, word: str) -> None:
    result = run(*command.split(), word)
    assert result.code == Exit.USAGE
    assert repr(word) in result.err


@pytest.mark.parametrize(
    "command",
    [
        "verfy x",
        "",
        "solve x --max-repairs many",
        "models pul",
        "runs --no",
        "show",
        "export x y z",
    ],
)
def test_a_usage_error_has_a_code_and_is_json_with_json(run: RunCommand, command: str) -> None:
    result = run("-q", *command.split())
    assert result.code == Exit.USAGE
    assert result.err.splitlines()[0].endswith(" [usage]")
    as_json = run("--json", *command.split())
    assert as_json.code == Exit.USAGE
    error = json.loads(as_json.err)["error"]
    assert error["code"] == "usage"
    assert error["message"] in result.err
    assert "--help" in error["advice"]


def test_an_unknown_action_or_choice_gets_a_suggestion() -> None:
    done = run_process("models", "pul")
    assert done.returncode == Exit.USAGE
    assert "did you mean pull?" in done.stderr
    done = run_process("completion", "bsh")
    assert done.returncode == Exit.USAGE
    assert "did you mean bash?" in done.stderr


@pytest.mark.parametrize("words", ["help solve", "-q help solve", "--json help -v solve"])
def test_the_help_of_a_command_is_printed(words: str) -> None:
    done = run_process(*words.split())
    assert (done.returncode, done.stdout) == (Exit.OK, run_process("solve", "--help").stdout)


def test_the_help_of_an_action_is_printed() -> None:
    shown = run_process("help", "models", "pull").stdout
    assert shown == run_process("models", "pull", "--help").stdout
    assert shown.startswith("usage: auditcoder models pull")


def test_help_alone_prints_the_help() -> None:
    for words in ["help"], ["-q", "help"]:
        assert run_process(*words).stdout == run_process("--help").stdout


def test_a_run_may_be_named_help(example: Path) -> None:
    assert run_process("-q", "verify", "help", "--store", example).returncode == Exit.OK


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_printed(flag: str) -> None:
    done = run_process(flag)
    assert (done.returncode, done.stdout) == (Exit.OK, f"auditcoder {__version__}\n")


@pytest.mark.parametrize("words", [["-q", "models", "ask"], ["models", "ask", "--quiet"]])
def test_quiet_writes_no_notices(run: RunCommand, server: FaultServer, words: list[str]) -> None:
    assert "tokens read" in run("models", "ask", "hi").err
    assert run(*words, "hi").err == ""


def test_json_is_accepted_before_and_after_the_command(example: Path) -> None:
    after = run_process("runs", "--store", example, "--json")
    assert after.stdout.startswith("{")
    assert run_process("--json", "runs", "--store", example).stdout == after.stdout


def test_a_closed_pipe_does_not_change_the_exit_code(tmp_path: Path, example: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(example.read_bytes())
    alter(path, "UPDATE blobs SET body = x'00' WHERE id = 3")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "auditcoder", "verify", "help", "--store", str(path)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.returncode == Exit.DOES_NOT_HOLD
    assert done.stderr == ""


def test_a_full_output_is_reported(example: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "auditcoder", "show", "help", "--store", str(example)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == Exit.STORE
    assert "[output.unwritable]" in done.stderr


def test_a_closed_output_is_ignored(example: Path) -> None:
    command = f"{sys.executable} -m auditcoder verify help --store {example} >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (Exit.OK, "")


def test_any_text_can_be_shown_in_any_locale(example: Path) -> None:
    env = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = run_process("show", "help", "--store", example, env=env)
    assert done.returncode == Exit.OK


def test_an_internal_error_has_its_own_exit_code(example: Path) -> None:
    program = (
        "import sys\n"
        "import auditcoder.lifecycle.export_import as t\n"
        "def broken(*_, **__): raise KeyError('oops')\n"
        "t.verify = broken\n"
        "from auditcoder.interfaces.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "verify", "help", "--store", str(example)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.INTERNAL
    assert "Traceback" not in done.stderr
    assert "[internal]" in done.stderr
    verbose = subprocess.run([*command, "-v"], capture_output=True, text=True, check=False)
    assert "Traceback" in verbose.stderr


def test_ctrl_c_ends_a_command_without_a_traceback(tmp_path: Path) -> None:
    program = (
        "import sys, threading\n"
        "import auditcoder.lifecycle.export_import as t\n"
        "def slow(*_, **__):\n    print('started', flush=True)\n    threading.Event().wait()\n"
        "t.verify = slow\n"
        "from auditcoder.interfaces.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    store = SqliteStore(tmp_path / "s.db")
    failing(store)
    store.close()
    process = subprocess.Popen(
        [sys.executable, "-c", program, "verify", RUN, "--store", str(tmp_path / "s.db")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(2)
    _, err = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED
    assert "Traceback" not in err
