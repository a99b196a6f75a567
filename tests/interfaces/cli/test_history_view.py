"""`show --history` prints every version of a node's code, and the differences."""

from pathlib import Path

from tests.support.commands import RunCommand

BUNDLE = Path(__file__).parents[2] / "data" / "runs" / "staged.acb"


def test_the_versions_of_a_node_are_printed_with_differences(run: RunCommand) -> None:
    shown = run("show", BUNDLE, "S1_1_1", "--history").out
    assert "Version 1  event 26, " in shown
    assert "  current; first code\n     1  def join_parts(" in shown
    assert "  rejected, rolled back; repair 1: The function `join_parts` does not" in shown
    assert "  difference to version 1\n" in shown
    assert "    +    if not capitalized_parts:\n" in shown


def test_without_a_node_every_history_is_shown(run: RunCommand) -> None:
    histories = run("show", BUNDLE, "--history", "--json").json["history"]
    assert set(histories) == {"S0", "S1", "S1_1", "S1_1_1"}
    assert histories["S1_1_1"][0]["fate"] == "current"
    assert histories["S1_1_1"][1]["diff"].startswith("--- before")
