"""`schema`: the format of a record's entries, generated from the code that writes them."""

from argparse import Namespace

from auditcoder.domain.schema import entry_schema
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import emit_json


def run(options: Namespace) -> int:  # noqa: ARG001  every command takes the options
    """Print the JSON Schema."""
    emit_json(entry_schema())
    return Exit.OK
