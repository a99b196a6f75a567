"""`completion`: print the script that completes commands and options in a shell."""

from argparse import ArgumentParser
from typing import Literal

from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.command import Command
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import emit

SHELLS = ("bash", "zsh", "tcsh")


class CompletionArguments(Value):
    """The arguments of `completion`."""

    shell: Literal["bash", "zsh", "tcsh"]


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `completion` to its parser."""
    parser.add_argument(
        "shell",
        choices=SHELLS,
        help="the shell; for bash: `auditcoder completion bash > ~/.local/share/bash-completion/"
        "completions/auditcoder`",
    )


def run(options: CompletionArguments) -> int:
    """Print the script."""
    import shtab

    from auditcoder.interfaces.cli.main import build_parser, command_names

    emit(shtab.complete(build_parser(*command_names()), options.shell) + "\n")
    return Exit.OK


COMMAND = Command(CompletionArguments, declare, run)
