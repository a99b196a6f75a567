"""The parts that commands are declared with: arguments as types, shared flags and parsers."""

import argparse
from typing import Any

import pytest

from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.command import (
    add_form,
    add_model,
    add_options,
    add_program_out,
    add_run,
    add_store,
    default_of,
    fraction,
    head_digest,
    positive_integer,
    read_arguments,
    run_name,
)
from auditcoder.lifecycle.intake import TaskOptions
from auditcoder.lifecycle.options import Planner, option_specs


class _Arguments(Value):
    run: str
    store: str | None = None
    names: tuple[str, ...] = ()
    limit: float = 0.5
    about: TaskOptions = TaskOptions()
    given: dict[str, Any] = {}


class _PlainArguments(Value):
    run: str


def _parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(exit_on_error=False)


def test_arguments_are_read_as_their_type() -> None:
    parsed = argparse.Namespace(run="a", store=None, names=["x", "y"], verbose=True)
    assert read_arguments(_Arguments, parsed) == _Arguments(run="a", names=("x", "y"))


def test_only_options_that_flags_set_are_given() -> None:
    parser = _parser()
    add_run(parser)
    add_options(parser)
    parsed = parser.parse_args(["a", "--planner", "staged", "--no-review", "--max-repairs", "0"])
    read = read_arguments(_Arguments, parsed)
    assert read.given == {"planner": Planner.STAGED, "review": False, "max_repairs": 0}


def test_given_options_are_left_out_of_arguments_without_them() -> None:
    parser = _parser()
    add_run(parser)
    add_options(parser)
    read = read_arguments(_PlainArguments, parser.parse_args(["a", "--seed", "3"]))
    assert read == _PlainArguments(run="a")


def test_every_declared_option_has_a_flag_with_its_help() -> None:
    parser = _parser()
    add_options(parser)
    printed = " ".join(parser.format_help().split())
    for spec in option_specs():
        assert spec.flag in printed
        assert " ".join(spec.option.help.split()) in printed.replace("- ", "-")
        if spec.is_switch:
            assert f"--no-{spec.flag[2:]}" in printed


def test_fixed_options_have_no_flags() -> None:
    parser = _parser()
    add_options(parser, fixed=[s.name for s in option_specs() if s.name not in {"seed", "review"}])
    flags = {flag for action in parser._actions for flag in action.option_strings}
    assert flags == {"-h", "--help", "--seed", "--review", "--no-review"}


def test_options_of_another_declaration_are_read_into_their_own_field() -> None:
    parser = _parser()
    add_run(parser)
    add_options(parser)
    add_options(parser, TaskOptions, "about")
    about = ["--entry", "f", "--seconds", "0.5", "--artefact", "x", "--artefact", "y"]
    read = read_arguments(_Arguments, parser.parse_args(["a", *about, "--seed", "3"]))
    assert read.about == TaskOptions(entry="f", seconds=0.5, artefacts=("x", "y"))
    assert read.given == {"seed": 3}
    assert read_arguments(_Arguments, parser.parse_args(["a"])) == _Arguments(run="a")


def test_a_default_is_stated_in_the_struct_alone() -> None:
    parsed = argparse.Namespace(run="a", names=None)
    assert read_arguments(_Arguments, parsed).names == ()
    assert default_of(_Arguments, "limit") == "0.5"


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--planner", "guess"], "must be one of task, sketch, staged, not 'guess'"),
        (["--max-repairs", "-1"], "must be a non-negative integer, not '-1'"),
        (["--budget-usd", "0"], "must be a positive number, not '0'"),
        (["--temperature", "3"], "must be a number from 0 to 2, not '3'"),
    ],
)
def test_an_invalid_option_is_rejected_with_the_expected_values(
    flags: list[str], reason: str
) -> None:
    parser = _parser()
    add_options(parser)
    with pytest.raises(argparse.ArgumentError) as rejected:
        parser.parse_args(flags)
    assert flags[0] in str(rejected.value)
    assert reason in str(rejected.value)


def test_shared_arguments_have_their_destinations() -> None:
    parser = _parser()
    add_run(parser)
    add_store(parser)
    add_model(parser)
    add_program_out(parser)
    flags = ["--store", "s.db", "--model", "embedded", "--out", "-"]
    parsed = parser.parse_args(["a", *flags])
    assert vars(parsed) == {"run": "a", "store": "s.db", "model": "embedded", "out": "-"}
    assert vars(parser.parse_args(["a"])) == dict.fromkeys(("store", "model", "out")) | {"run": "a"}


def test_a_command_that_takes_no_bundle_does_not_offer_one() -> None:
    with_bundle, without = _parser(), _parser()
    add_run(with_bundle)
    add_run(without, bundle=False)
    assert "bundle" in with_bundle.format_help()
    assert "bundle" not in without.format_help()


def test_tables_are_text_unless_another_format_is_chosen() -> None:
    parser = _parser()
    add_form(parser)
    assert parser.parse_args([]).form == "text"
    assert parser.parse_args(["--as", "html"]).form == "html"


def test_a_command_without_charts_does_not_offer_html() -> None:
    parser = _parser()
    add_form(parser, html=False)
    with pytest.raises(argparse.ArgumentError):
        parser.parse_args(["--as", "html"])


def test_positive_integers_are_parsed() -> None:
    assert [positive_integer(text) for text in ("1", "007", "512")] == [1, 7, 512]
    for text in ("0", "-1", "1.5", "x", "", " 1", "+1"):
        with pytest.raises(argparse.ArgumentTypeError, match="positive integer"):
            positive_integer(text)


def test_fractions_are_parsed() -> None:
    assert [fraction(text) for text in ("0", "0.25", "1")] == [0.0, 0.25, 1.0]
    for text in ("-0.1", "1.01", "nan", "x", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="from 0 to 1"):
            fraction(text)


def test_the_name_of_a_run_must_not_be_empty() -> None:
    assert run_name("a-run") == "a-run"
    for text in ("", " \t"):
        with pytest.raises(argparse.ArgumentTypeError, match="must not be empty"):
            run_name(text)


def test_digests_are_parsed_in_any_case_and_with_a_prefix() -> None:
    digest = "0123456789abcdef" * 4
    for text in (digest, digest.upper(), f"sha256:{digest}", f" {digest}\n"):
        assert head_digest(text) == digest
    for text in (digest[:-1], digest + "0", "g" * 64, ""):
        with pytest.raises(argparse.ArgumentTypeError, match="64 hexadecimal digits"):
            head_digest(text)
