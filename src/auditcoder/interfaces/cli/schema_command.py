"""`schema`: print the JSON Schema of a record's entries, derived from their types."""

from argparse import ArgumentParser

from auditcoder.domain.chain import entry_schema
from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.command import Command
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import emit_json


class SchemaArguments(Value):
    """The arguments of `schema`."""

    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `schema` to its parser."""
    # It has the common flags only.
    del parser


def run(options: SchemaArguments) -> int:  # noqa: ARG001  the signature of every command
    """Print the JSON Schema."""
    emit_json(entry_schema())
    return Exit.OK


COMMAND = Command(SchemaArguments, declare, run)
