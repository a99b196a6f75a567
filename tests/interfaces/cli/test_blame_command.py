"""`blame` names the owner of a line and the evidence for it."""

import re
from pathlib import Path

import pytest

from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import RunCommand


def test_blame_names_the_owner_of_a_line(run: RunCommand, example: Path) -> None:
    lines = run("blame", "helpful-currents", "--store", example, "--json").json["lines"]
    target = next(x for x in lines if "def settle" in x["text"])
    result = run("blame", "helpful-currents", target["line"], "--store", example)
    assert result.code == Exit.OK
    for expected in ("owner      S1_2", "event 2", "event 24", "unit       settle", "changed"):
        assert expected in result.out
    found = run("blame", "helpful-currents", target["line"], "--store", example, "--json").json
    assert found["node"] == "S1_2"
    assert found["committed"]["seq"] < found["code"]["event"]
    assert {e["verdict"] for e in found["evidence"]} == {"passed"}
    assert found["interventions"][0]["changed"]


def test_an_import_is_listed_for_the_node_that_requested_it(run: RunCommand, example: Path) -> None:
    result = run("blame", "helpful-currents", 1, "--store", example)
    assert "for S0" in result.out


def test_blame_lists_all_lines_with_their_owners(run: RunCommand, example: Path) -> None:
    result = run("blame", "helpful-currents", "--store", example)
    assert re.search(r"^S1_2 +\d+  def count_routes", result.out, re.MULTILINE)


@pytest.mark.parametrize("line", ["0", "-1", "999999999999"])
def test_an_unknown_line_is_reported(run: RunCommand, example: Path, line: str) -> None:
    result = run("blame", "helpful-currents", line, "--store", example)
    assert result.code == Exit.NOT_FOUND
    assert "lines 1 to" in result.err


def test_a_line_must_be_a_number(run: RunCommand, example: Path) -> None:
    assert run("blame", "helpful-currents", "x", "--store", example).code == Exit.USAGE
