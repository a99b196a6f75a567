"""Declares commands: a summary, typed arguments, their parser and the implementation."""

import argparse
import re
from collections.abc import Callable
from typing import Any, NamedTuple

STORE_HELP = (
    "the store of runs: a SQLite file or a postgresql:// address"
    " (default: $AUDITCODER_STORE, else the configured one, else runs.db in your data folder)"
)
MODEL_HELP = (
    "embedded, manual:FOLDER, or provider:name such as openai:gpt-4o"
    " (default: $AUDITCODER_MODEL, else the configured one, else embedded)"
)
GIVEN = "given option "
"""Prefix under which the parser keeps the options that flags set."""


class Command(NamedTuple):
    """One command, or one action of a command."""

    arguments: type[Any]
    """The type of the arguments: a struct whose fields are the parser's destinations."""
    declare: Callable[[argparse.ArgumentParser], None]
    """Adds the arguments to a parser."""
    run: Callable[[Any], int]
    summary: str = ""
    """Only for an action; `main.SUMMARIES` has those of commands, so that `--help` is fast."""


class CommandGroup(NamedTuple):
    """A command with actions, such as `models pull`."""

    actions: dict[str, Command]
    default: str | None = None
    """The action to run if none is named; None if one must be named."""


def read_arguments(kind: type[Any], parsed: argparse.Namespace) -> Any:
    """Return parsed arguments as the struct `kind`; options set by flags become `given`."""
    import msgspec

    values = vars(parsed)
    given = {
        name.removeprefix(GIVEN): value
        for name, value in values.items()
        if name.startswith(GIVEN) and value is not None
    }
    names = {field.name for field in msgspec.structs.fields(kind)}
    present = {name: value for name, value in values.items() if name in names}
    if "given" in names:
        present["given"] = given
    return msgspec.convert(present, kind)


def add_run(parser: argparse.ArgumentParser, *, bundle: bool = True) -> None:
    """Add the positional argument RUN."""
    about = "a run's id or a unique prefix of it" + (", or the path of a bundle" if bundle else "")
    parser.add_argument("run", metavar="RUN", type=run_name, help=about)


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add `--store`."""
    parser.add_argument("--store", metavar="STORE", help=STORE_HELP)


def add_model(parser: "argparse._ActionsContainer") -> None:
    """Add `--model`."""
    parser.add_argument("--model", metavar="MODEL", help=MODEL_HELP)


def add_program_out(parser: argparse.ArgumentParser) -> None:
    """Add `--out` for the program."""
    parser.add_argument(
        "--out", metavar="FILE", help="where to write the program; - for standard output"
    )


def add_form(parser: argparse.ArgumentParser, *, html: bool = True) -> None:
    """Add `--as` and `--out`: the format of tables, and where to write them."""
    forms = ["text", "markdown", "csv", "json", *(["html"] if html else [])]
    about = "; html is one page with charts" if html else ""
    parser.add_argument(
        "--as",
        dest="form",
        choices=forms,
        default="text",
        help=f"how to write the tables (default: text){about}",
    )
    parser.add_argument("--out", metavar="FILE", help="where to write (default: standard output)")


def add_options(parser: "argparse._ActionsContainer", *names: str) -> None:
    """Add the flags of the declared options; of all, if none are named."""
    from auditcoder.lifecycle.options import option_specs, write_value

    for spec in option_specs():
        if names and spec.name not in names:
            continue
        default = "" if spec.default is None else f" (default: {write_value(spec.default)})"
        about = (spec.option.help + default).replace("%", "%%")
        if spec.is_switch:
            parser.add_argument(
                spec.flag,
                dest=GIVEN + spec.name,
                action=argparse.BooleanOptionalAction,
                default=None,
                help=about,
            )
        else:
            parser.add_argument(
                spec.flag,
                dest=GIVEN + spec.name,
                type=_converter(spec.convert),
                choices=None,
                metavar=spec.option.metavar or "{" + ",".join(spec.choices) + "}",
                help=about,
            )


def _converter(convert: Callable[[object], Any]) -> Callable[[str], Any]:
    def converted(text: str) -> Any:
        try:
            return convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return converted


def positive_integer(text: str) -> int:
    """Parse a positive integer."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError("must be a positive integer")
    return int(text)


def positive_number(text: str) -> float:
    """Parse a positive number."""
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < 1e9:
        raise argparse.ArgumentTypeError("must be a positive number")
    return amount


def fraction(text: str) -> float:
    """Parse a number from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError("must be a number from 0 to 1")
    return share


def run_name(text: str) -> str:
    """Parse the name of a run or the path of a bundle."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty: name a run or a bundle")
    return text


def head_digest(text: str) -> str:
    """Parse a SHA-256 digest."""
    digest = text.strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise argparse.ArgumentTypeError(
            "must be the 64 hexadecimal digits that `export --as head` prints"
        )
    return digest
