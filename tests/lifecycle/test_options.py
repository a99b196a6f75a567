"""The declaration of the options: names, checks, and how a manifest writes and reads them."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec.structs import replace

from auditcoder.domain.events import Manifest
from auditcoder.lifecycle.budget import Budget
from auditcoder.lifecycle.options import (
    Build,
    LocatorName,
    ManifestPart,
    Option,
    Options,
    OptionSpec,
    Planner,
    SecondOpinions,
    option_specs,
    read_options,
    recorded_texts,
    recorded_values,
    write_value,
)


class ExtendedOptions(Options):
    """The options with two more, to show that a declaration is enough."""

    patience: Annotated[int, Option("how long to wait", "N", before="7")] = 9
    top_p: Annotated[float | None, Option("the nucleus", "P", ManifestPart.DECODING)] = None


def spec_of(name: str) -> OptionSpec:
    return {spec.name: spec for spec in option_specs()}[name]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_repairs": -1}, "option max_repairs must be a non-negative integer, not -1"),
        ({"max_repairs": "3"}, "option max_repairs must be a non-negative integer, not '3'"),
        ({"max_repairs": True}, "option max_repairs must be a non-negative integer, not True"),
        ({"max_repairs": None}, "option max_repairs must be a non-negative integer, not None"),
        ({"fallback": "yes"}, "option fallback must be true or false, not 'yes'"),
        ({"fallback": 1}, "option fallback must be true or false, not 1"),
        ({"budget_tokens": 0}, "option budget_tokens must be a positive integer, not 0"),
        ({"budget_usd": -0.5}, "option budget_usd must be a positive number, not -0.5"),
        ({"budget_usd": float("nan")}, "option budget_usd must be a positive number, not nan"),
        ({"seed": 1.5}, "option seed must be an integer, not 1.5"),
        ({"temperature": -0.5}, "option temperature must be a number from 0 to 2, not -0.5"),
        ({"temperature": "3"}, "option temperature must be a number from 0 to 2, not '3'"),
        ({"second_opinions_by": 4}, "option second_opinions_by must be text, not 4"),
    ],
)
def test_an_option_with_a_wrong_value_is_rejected_by_name(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match="option") as caught:
        Options(**values)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", ["weighed", "no-such-locator", Planner.SKETCH, 3])
def test_a_locator_must_be_a_member_of_its_enumeration(value: Any) -> None:
    with pytest.raises(ValueError, match="option locator must be one of weighed, paper-rules"):
        Options(locator=value)


def test_a_changed_copy_is_checked_too() -> None:
    with pytest.raises(ValueError, match="option max_repairs"):
        replace(Options(), max_repairs=-2)


def test_an_option_of_a_larger_declaration_is_checked() -> None:
    with pytest.raises(ValueError, match="option patience must be an integer, not 'long'"):
        ExtendedOptions(patience="long")  # type: ignore[arg-type]


def test_a_whole_amount_of_dollars_is_accepted() -> None:
    assert Options(budget_usd=2).budget == Budget(usd=2)


def test_the_budget_holds_both_limits() -> None:
    assert Options(budget_tokens=5, budget_usd=0.5).budget == Budget(tokens=5, usd=0.5)
    assert Options().budget == Budget()


def test_an_option_derives_its_flag_and_variable_from_its_name() -> None:
    spec = spec_of("max_repairs")
    assert (spec.flag, spec.variable) == ("--max-repairs", "AUDITCODER_MAX_REPAIRS")
    assert (spec.default, spec.option.metavar) == (3, "K")


def test_an_option_knows_whether_it_is_a_switch_and_its_choices() -> None:
    assert spec_of("fallback").is_switch
    assert not spec_of("max_repairs").is_switch
    assert spec_of("build").choices == ("joint", "node")
    assert spec_of("budget_tokens").choices == ()


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("max_repairs", "2", 2),
        ("max_repairs", 2, 2),
        ("fallback", "true", True),
        ("fallback", False, False),
        ("locator", "ochiai", LocatorName.OCHIAI),
        ("temperature", "0.5", 0.5),
        ("temperature", 1, 1.0),
        ("budget_usd", "0.25", 0.25),
    ],
)
def test_a_configured_value_is_converted_to_the_type_of_its_option(
    name: str, given: object, expected: object
) -> None:
    converted = spec_of(name).convert(given)
    assert (converted, type(converted)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("max_repairs", "-1", "must be a non-negative integer, not '-1'"),
        ("max_repairs", True, "must be a non-negative integer, not True"),
        ("locator", "guess", "must be one of weighed, paper-rules, traceback, ochiai"),
        ("temperature", 2.5, "must be a number from 0 to 2, not 2.5"),
        ("budget_tokens", 0, "must be a positive integer, not 0"),
    ],
)
def test_a_configured_value_that_does_not_fit_is_rejected(
    name: str, given: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message.split(",")[0]) as caught:
        spec_of(name).convert(given)
    assert str(caught.value).startswith(message)


def manifest_of(options: Options) -> Manifest:
    """The manifest of a run without second opinions of another model."""
    budget = {"budget": msgspec.json.encode(options.budget).decode()}
    return Manifest(
        settings={**recorded_texts(options, ManifestPart.SETTINGS), **budget},
        decoding=recorded_texts(options, ManifestPart.DECODING),
        **recorded_values(options, ManifestPart.FIELD),
    )


def test_recorded_options_are_read_back_as_they_were() -> None:
    options = Options(
        planner=Planner.STAGED,
        build=Build.NODE,
        max_repairs=0,
        fallback=True,
        locator=LocatorName.DSTAR,
        budget_tokens=5,
        budget_usd=0.5,
        seed=3,
        temperature=1.0,
    )
    manifest = manifest_of(options)
    assert manifest.settings["fallback"] == "true"
    assert manifest.settings["locator"] == "dstar"
    assert read_options(manifest) == options
    assert read_options(manifest_of(Options())) == Options()


def test_each_option_is_recorded_in_its_part_of_the_manifest_alone() -> None:
    manifest = manifest_of(Options(budget_tokens=5, seed=3, temperature=1.0))
    assert manifest.settings["budget"] == '{"tokens":5}'
    assert manifest.decoding == {
        "temperature": "1",
        "repair_temperature": "0.5",
        "draft_temperature": "0.8",
    }
    assert manifest.seed == 3
    elsewhere = {"budget_tokens", "budget_usd", "seed", "temperature", "repair_temperature"}
    assert manifest.settings.keys().isdisjoint(elsewhere)


def test_a_recorded_model_for_second_opinions_is_read_back() -> None:
    manifest = manifest_of(Options(second_opinions_by="server:other"))
    assert "second_opinions_by" not in manifest.settings, "the name of the opened model is recorded"
    manifest.settings["second_opinions_by"] = "server:other"
    assert read_options(manifest).second_opinions_by == "server:other"


def test_a_record_older_than_an_option_gets_the_value_of_that_time() -> None:
    manifest = manifest_of(Options())
    for name in ("locator", "second_opinions", "specialists"):
        del manifest.settings[name]
    options = read_options(manifest)
    assert options.locator is LocatorName.PAPER_RULES
    assert (options.second_opinions, options.specialists) == (SecondOpinions.NONE, True)


@pytest.mark.parametrize(("part", "name"), [("settings", "planner"), ("decoding", "temperature")])
def test_a_record_without_an_option_that_every_record_has_is_rejected(part: str, name: str) -> None:
    manifest = manifest_of(Options())
    del getattr(manifest, part)[name]
    with pytest.raises(KeyError, match=name):
        read_options(manifest)


def test_one_declaration_adds_an_option() -> None:
    spec = option_specs(ExtendedOptions)[-2]
    assert (spec.name, spec.flag, spec.default) == ("patience", "--patience", 9)
    manifest = manifest_of(ExtendedOptions(patience=4, top_p=0.5))
    assert manifest.settings["patience"] == "4"
    assert manifest.decoding["top_p"] == "0.5"
    assert read_options(manifest, ExtendedOptions) == ExtendedOptions(patience=4, top_p=0.5)


def test_an_earlier_record_is_read_with_a_larger_declaration() -> None:
    old = read_options(manifest_of(Options()), ExtendedOptions)
    assert old == ExtendedOptions(patience=7, top_p=None)


def test_an_option_without_help_text_is_rejected() -> None:
    class Silent(Options):
        mute: int = 0

    with pytest.raises(TypeError, match="option mute has no help text"):
        option_specs(Silent)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.5, "0.5"), (1.0, "1"), (0.123456789, "0.123456789"), (True, "true")],
)
def test_a_value_is_written_as_earlier_records_have_it(value: object, text: str) -> None:
    assert write_value(value) == text
