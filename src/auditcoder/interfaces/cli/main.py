"""The command line: finds the command, parses its arguments and reports errors.

Only the module of the chosen command is imported, so that `--help` is fast.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from auditcoder import __version__
from auditcoder.interfaces.cli.installed_commands import installed_commands

if TYPE_CHECKING:
    from auditcoder.interfaces.cli.command import Command, CommandGroup

SUMMARIES = {
    "solve": "turn a task into a program and its record",
    "resume": "continue a run that was interrupted",
    "replay": "repeat a run without a model, and compare every event",
    "runs": "list the runs in the store",
    "show": "show a run's responsibilities, or one of them in full",
    "blame": "show which responsibility owns a line of the program, and its evidence",
    "verify": "check that a record is complete, unaltered and obeys the laws",
    "export": "write a run, or a part of it, to a file or standard output",
    "import": "copy a bundle's run into the store, if it verifies",
    "audit": "report the structure, repairs and cost of runs",
    "models": "list the models, download the embedded one's weights, or send a test prompt",
    "doctor": "check the sandbox, models and settings of this machine, with remedies",
    "schema": "print the JSON Schema of a record's entries",
    "completion": "print the completion script for a shell",
}

_EPILOG = """\
RUN is a run's id or a unique prefix of it; except for resume and audit, it can also be
the path of a bundle.
Exit codes: 0 done, 1 does not verify, 2 usage, 3 not found, 4 unreadable,
5 store error, 6 refused, 7 model error, 8 sandbox error, 9 over budget,
10 invalid task, 11 the program does not pass its checks, 12 data or machines
unavailable. See docs/reference/exit-codes.md.
"""

_installed = cache(installed_commands)


class _UsageError(Exception):
    """The command line is invalid."""

    def __init__(self, program: str, message: str, advice: str) -> None:
        super().__init__(message)
        self.program = program
        self.advice = advice


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, with a suggestion for an unknown option or choice."""

    def error(self, message: str) -> NoReturn:
        unknown, _, rest = message.partition(": ")
        if unknown == "unrecognized arguments":
            known = [flag for flag in self._option_string_actions if flag.startswith("--")]
            message += _suggestion(rest.partition(" ")[0].partition("=")[0], known)
        raise _UsageError(self.prog, message, f"'{self.prog} --help' lists the arguments")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += _suggestion(str(value), list(map(str, action.choices or ())))
            raise


def _suggestion(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    names = {name.strip("-"): name for name in known}
    close = get_close_matches(word.strip("-"), names, 1)
    return f"; did you mean {names[close[0]]}?" if close else ""


def _summary(module: str, name: str) -> str:
    """Read the summary of another package's command from the package around its module."""
    try:
        package = import_module(module.rpartition(".")[0])
    except ImportError:
        return "cannot be imported"
    return str(getattr(package, "SUMMARIES", {}).get(name, ""))


def build_parser(*chosen: str) -> argparse.ArgumentParser:
    """Build the parser, with the arguments of the chosen commands only."""
    installed = _installed()
    root = _Parser(
        prog="auditcoder",
        description="Generate a program together with the record of how it was built.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("-V", "--version", action="version", version=f"auditcoder {__version__}")
    root.set_defaults(json=False, quiet=False, verbose=False, command=None, chosen=None)
    _add_common(root)
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    for name in command_names():
        summary = SUMMARIES.get(name) or _summary(installed[name], name)
        parser = _add_parser(commands, name, summary)
        if name in chosen:
            _declare(parser, load(name))
    commands.add_parser("help", help="show the help of a command")
    return root


def _add_parser(
    commands: "argparse._SubParsersAction[Any]", name: str, summary: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[:1].upper() + summary[1:] + ".",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Add the flags that are allowed before and after the command."""
    for flags, about in (
        (("--json",), "write JSON instead of text"),
        (("-q", "--quiet"), "write no progress or notices"),
        (("-v", "--verbose"), "show the traceback of an internal error"),
    ):
        parser.add_argument(*flags, action="store_true", default=argparse.SUPPRESS, help=about)


def _declare(parser: argparse.ArgumentParser, command: "Command | CommandGroup") -> None:
    from auditcoder.interfaces.cli.command import Command

    _add_common(parser)
    if isinstance(command, Command):
        command.declare(parser)
        parser.set_defaults(chosen=command)
        return
    if command.default is not None:
        parser.set_defaults(chosen=command.actions[command.default])
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=command.default is None
    )
    for name, action in command.actions.items():
        _declare(_add_parser(actions, name, action.summary), action)


def command_names() -> tuple[str, ...]:
    """Return the names of all commands, those of other packages included."""
    return (*SUMMARIES, *_installed())


def load(name: str) -> "Command | CommandGroup":
    """Import the module of a command and return its declaration."""
    module = _installed().get(name) or f"auditcoder.interfaces.cli.{name}_command"
    command: Command | CommandGroup = import_module(module).COMMAND
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(_parse(_rewrite_help(words)))
    except _UsageError as error:
        _report("usage", str(error), error.advice, as_json="--json" in words, program=error.program)
        return 2
    except KeyboardInterrupt:
        return 130


def _rewrite_help(words: list[str]) -> list[str]:
    """Turn `help solve` into `solve --help`, and no words into `--help`."""
    if _command_word(words) == "help":
        words.remove("help")
        words.append("--help")
    return words or ["--help"]


def _command_word(words: list[str]) -> str | None:
    """Return the first word that is not a flag; the flags before a command take no values."""
    return next((word for word in words if not word.startswith("-")), None)


def _parse(words: list[str]) -> argparse.Namespace:
    chosen = _command_word(words)
    known = (*command_names(), "help")
    if chosen is not None and chosen not in known:
        raise _UsageError(
            "auditcoder",
            f"unknown command {chosen!a}{_suggestion(chosen, known)}",
            "'auditcoder --help' lists the commands",
        )
    parser = build_parser(*([chosen] if chosen else []))
    parsed, unknown = parser.parse_known_args(words)
    if unknown:
        listed = " ".join(word if word.strip() else repr(word) for word in unknown)
        _subparser(parser, parsed).error(f"unrecognized arguments: {listed}")
    if parsed.chosen is None:
        parser.error("a command is missing; 'auditcoder --help' lists the commands")
    return parsed


def _subparser(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace
) -> argparse.ArgumentParser:
    """Return the parser of the command and the action that were parsed."""
    for name in (parsed.command, getattr(parsed, "action", None)):
        for action in parser._actions:  # noqa: SLF001  argparse has no public access
            if name and isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
                parser = action.choices[name]
    return parser


def _run(parsed: argparse.Namespace) -> int:
    from auditcoder.domain.errors import AuditCoderError
    from auditcoder.interfaces.cli.command import read_arguments
    from auditcoder.interfaces.cli.exit_codes import Exit, exit_for
    from auditcoder.interfaces.cli.terminal import finish_output, prepare_output, set_quiet

    prepare_output()
    set_quiet(parsed.quiet)
    try:
        command: Command = parsed.chosen
        code = command.run(read_arguments(command.arguments, parsed))
        finish_output()
    except AuditCoderError as error:
        _report(error.code, str(error), error.advice, as_json=parsed.json)
        return exit_for(error)
    except Exception as error:
        if parsed.verbose or "AUDITCODER_DEBUG" in os.environ:
            raise
        _report(
            "internal",
            f"internal error: {type(error).__name__}: {error}",
            "nothing was altered; please report it, with the output of the command with -v",
            as_json=parsed.json,
        )
        return Exit.INTERNAL
    return code


def _report(
    code: str, message: str, advice: str, *, as_json: bool, program: str = "auditcoder"
) -> None:
    from auditcoder.domain.values import printable

    if sys.stderr is None:
        return
    if as_json:
        import json

        text = json.dumps({"error": {"code": code, "message": message, "advice": advice}}) + "\n"
    else:
        text = f"{program}: {printable(message)} [{code}]\n"
        if advice:
            text += f"  {printable(advice)}\n"
    with contextlib.suppress(OSError):  # standard error is closed; the exit code remains
        sys.stderr.write(text)
        sys.stderr.flush()
