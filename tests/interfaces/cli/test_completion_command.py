"""`auditcoder completion`: the scripts are complete, and the shell accepts them."""

import subprocess

import pytest

from auditcoder.interfaces.cli.completion_command import SHELLS
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.main import command_names
from auditcoder.lifecycle.options import option_specs
from tests.support.commands import RunCommand, command_runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    return command_runner(capsys, monkeypatch)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_completes_every_command(run: RunCommand, shell: str) -> None:
    printed = run("completion", shell)
    assert printed.code == Exit.OK
    for name in command_names():
        assert name in printed.out


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_script_completes_every_option_of_solve(run: RunCommand, shell: str) -> None:
    script = run("completion", shell).out
    for spec in option_specs():
        assert spec.flag in script


def test_bash_accepts_the_script_and_completes_a_command(run: RunCommand) -> None:
    script = run("completion", "bash").out
    completion_request = (
        'COMP_WORDS=(auditcoder ver); COMP_CWORD=1; COMP_LINE="auditcoder ver"; COMP_POINT=14\n'
        "_shtab_auditcoder\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc"],
        input=script + completion_request,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["verify"]


def test_an_unknown_shell_is_a_usage_error(run: RunCommand) -> None:
    refused = run("completion", "fish")
    assert refused.code == Exit.USAGE
    assert "bash" in refused.err
