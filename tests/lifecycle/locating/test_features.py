"""Features of functions and how they are gathered."""

import pytest

from auditcoder.lifecycle.locating.features import (
    Feature,
    FeatureKind,
    SpectrumCounts,
    feature_strengths,
    kind_of,
    with_lone_failure,
)


def test_features_are_gathered_by_function() -> None:
    found = feature_strengths([Feature("f", FeatureKind.RAISED), Feature("g", FeatureKind.WROTE)])
    assert found == {"f": {"RAISED": 1.0}, "g": {"WROTE": 1.0}}


def test_equal_features_add_up_to_at_most_one() -> None:
    quarter = Feature("f", FeatureKind.FINE, strength=0.25)
    assert feature_strengths([quarter] * 2) == {"f": {"FINE": 0.5}}
    assert feature_strengths([quarter] * 9) == {"f": {"FINE": 1.0}}


def test_a_feature_of_the_first_failure_counts_under_both_names() -> None:
    found = feature_strengths(
        [Feature("f", FeatureKind.RAISED, first=True), Feature("f", FeatureKind.MADE)]
    )
    assert found == {"f": {"RAISED": 1.0, "RAISED_FIRST": 1.0, "MADE": 1.0}}


@pytest.mark.parametrize("name", ["RAISED", "RAISED_FIRST"])
def test_both_names_stand_for_the_same_kind(name: str) -> None:
    assert kind_of(name) is FeatureKind.RAISED


def test_an_unknown_name_is_rejected() -> None:
    with pytest.raises(KeyError):
        kind_of("GUESSED")


def test_only_features_against_a_function_point_to_it() -> None:
    assert FeatureKind.RAISED.points
    assert FeatureKind.HEALS.points
    assert not FeatureKind.FINE.points
    assert not FeatureKind.ROOT.points
    assert not FeatureKind.TRIED.points


ALONE, SEVERAL, ONLY = (
    SpectrumCounts(1, 4, 1, 4),
    SpectrumCounts(2, 3, 2, 3),
    SpectrumCounts(1, 0, 1, 0),
)


@pytest.mark.parametrize(
    ("features", "counts", "alone"),
    [
        ({"f": {"MADE_FIRST": 1.0}, "g": {}}, ALONE, True),
        ({"f": {"MADE": 1.0}, "g": {}}, SEVERAL, False),
        ({"f": {"MADE": 1.0}, "g": {}}, ONLY, False),
        ({"f": {"RAISED_FIRST": 1.0}, "g": {}}, ALONE, False),
        ({"f": {"TOOK_TIME": 0.9}, "g": {}}, ALONE, False),
    ],
    ids=["one wrong result", "two fail", "nothing else was checked", "an error", "a timeout"],
)
def test_a_failure_is_alone_if_one_of_several_tests_has_a_wrong_result(
    features: dict[str, dict[str, float]], counts: SpectrumCounts, alone: bool
) -> None:
    found = with_lone_failure(features, [counts])
    assert {n for n, own in found.items() if "FAILS_ALONE" in own} == (
        set("fg") if alone else set()
    )
    assert with_lone_failure(found, [counts]) == found
