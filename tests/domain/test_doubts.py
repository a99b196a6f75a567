"""The description of open doubts in one line."""

from msgspec.structs import replace

from auditcoder.domain.doubts import OpenDoubt
from auditcoder.domain.values import CheckId

DOUBT = OpenDoubt(
    check=CheckId("generated-2"),
    requirement="planned",
    verdict="failed",
    input="1\n2\n",
    expected="3\n",
    got="4\n",
    message="the output is not the one expected",
)


def test_a_doubt_names_input_expected_and_got() -> None:
    assert DOUBT.line == r"generated-2 expects '3' for '1\n2', got '4'"


def test_a_doubt_about_a_program_without_a_result_names_how_it_ended() -> None:
    assert replace(DOUBT, got=None, verdict="crash").line.endswith("got crash")


def test_a_doubt_shows_its_ruling() -> None:
    assert replace(DOUBT, ruling="program_wrong").line.endswith("(program wrong)")


def test_a_check_without_an_expected_result_names_its_requirement() -> None:
    promise = replace(DOUBT, expected=None, requirement="result > 0", message="it is 0")
    assert promise.line == "generated-2: 'result > 0': 'it is 0'"


def test_long_values_are_cut() -> None:
    assert len(replace(DOUBT, input="1 " * 500, expected="2 " * 500).line) < 300
