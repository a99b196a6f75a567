"""Declares commands: a summary, typed arguments, their parser and the implementation."""

import argparse
import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from auditcoder.domain.values import Value
    from auditcoder.lifecycle.options import OptionSpec

STORE_HELP = (
    "the store of runs: a SQLite file or a postgresql:// address"
    " (default: $AUDITCODER_STORE, else the configured one, else runs.db in your data folder)"
)
MODEL_HELP = (
    "embedded, manual:FOLDER, or provider:name such as openai:gpt-4o"
    " (default: $AUDITCODER_MODEL, else the configured one, else embedded)"
)


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
    """Return parsed arguments as the struct `kind`, which states the defaults.

    A destination `group name` becomes the item `name` of the field `group`.
    """
    import msgspec

    fields = {field.name for field in msgspec.structs.fields(kind)}
    arguments: dict[str, Any] = {}
    for destination, value in vars(parsed).items():
        field, _, name = destination.partition(" ")
        if value is None or field not in fields:
            continue
        if name:
            arguments.setdefault(field, {})[name] = value
        else:
            arguments[field] = value
    return msgspec.convert(arguments, kind)


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


def add_fail_on_doubts(parser: argparse.ArgumentParser) -> None:
    """Add `--fail-on-doubts`, for continuous integration."""
    parser.add_argument(
        "--fail-on-doubts",
        action="store_true",
        help="exit with 11 if the run passed, but a check that was not given still fails",
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


def add_options(
    parser: "argparse._ActionsContainer",
    declaration: "type[Value] | None" = None,
    group: str = "given",
    fixed: Collection[str] = (),
) -> None:
    """Add a flag for every option of a declaration, by default `Options`, but those in `fixed`.

    `group` is the field of the command's arguments that holds the options set by flags.
    """
    from auditcoder.lifecycle.options import Options, option_specs

    for spec in option_specs(declaration or Options):
        if spec.name not in fixed:
            parser.add_argument(
                spec.flag,
                dest=f"{group} {spec.name}",
                default=None,
                help=(spec.option.help + _default_note(spec.default)).replace("%", "%%"),
                **_form_of(spec),
            )


def _form_of(spec: "OptionSpec") -> dict[str, Any]:
    """Return how a parser reads an option, as keyword arguments of `add_argument`."""
    if spec.is_switch:
        return {"action": argparse.BooleanOptionalAction}
    metavar = spec.option.metavar or "{" + ",".join(spec.choices) + "}"
    if spec.is_list:
        return {"action": "append", "metavar": metavar}
    return {"type": _converter(spec.convert), "metavar": metavar}


def _default_note(default: object) -> str:
    from auditcoder.lifecycle.options import write_value

    return "" if default in (None, ()) else f" (default: {write_value(default)})"


def default_of(arguments: type[Any], name: str) -> str:
    """Return the default of an argument, for its help text."""
    import msgspec

    from auditcoder.lifecycle.options import write_value

    fields = {field.name: field for field in msgspec.structs.fields(arguments)}
    return write_value(fields[name].default)


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
