"""Features of functions and how they are gathered."""

import pytest

from auditcoder.lifecycle.locating.features import Feature, FeatureKind, feature_strengths, kind_of


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
