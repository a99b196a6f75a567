"""`schema` prints the JSON Schema of the entries that records hold."""

import json
from pathlib import Path

import jsonschema
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.values import RunId
from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import RunCommand


def test_schema_describes_the_entries_of_a_record(run: RunCommand, example: Path) -> None:
    printed = run("schema")
    assert printed.code == Exit.OK
    validator = jsonschema.Draft202012Validator(printed.json)
    store = SqliteStore(example)
    entries = [json.loads(body) for body in store.read(RunId("helpful-currents"))]
    store.close()
    for entry in entries:
        validator.validate(entry)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**entries[0], "event": {"type": "no_such_event"}})


def test_schema_prints_the_same_with_and_without_json(run: RunCommand) -> None:
    assert run("schema").json == run("schema", "--json").json


def test_schema_takes_no_arguments(run: RunCommand) -> None:
    assert run("schema", "more").code == Exit.USAGE
