"""Scoring: features are weighted, and each score lists its reasons."""

import math

from hypothesis import given
from hypothesis import strategies as st

from auditcoder.lifecycle.locating.evidence_model import fitted
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.scoring import (
    FeatureWeights,
    FittedWeights,
    NodeScore,
    is_settled,
    logistic,
    merge_features,
    score_nodes,
    score_with_substitutions,
    shown_by,
)

WEIGHTS = FeatureWeights(
    features={"ALWAYS": -2.0, "RAISED": 1.0, "RAISED_FIRST": 2.0, "FINE": -1.5, "BEFORE": 0.1}
)


def test_the_most_probable_node_comes_first_with_its_reasons() -> None:
    strengths = {
        "f": {"FINE": 1.0},
        "g": {"RAISED": 1.0, "RAISED_FIRST": 1.0, "FINE": 0.5, "BEFORE": 1.0},
    }
    first, second = score_nodes(strengths, WEIGHTS)
    assert (first.node, second.node) == ("g", "f")
    assert math.isclose(first.probability, logistic(-2.0 + 3.0 - 0.75 + 0.1))
    assert first.points == (FeatureKind.RAISED,)
    assert first.speaks_against == (FeatureKind.FINE,)
    assert second.points == ()


def test_a_feature_without_a_weight_does_not_change_the_score() -> None:
    (score,) = score_nodes({"f": {"EMPTY": 1.0}}, WEIGHTS)
    assert math.isclose(score.probability, logistic(-2.0))
    assert score.points == ()


def test_related_features_are_listed_once_and_never_on_the_wrong_side() -> None:
    weights = FeatureWeights(
        features={
            "ALWAYS": 0.0,
            "HEALS": 0.7,
            "MENDS": -1.4,
            "MENDS_SOME": 1.9,
            "TRIED": 2.7,
            "BROKE_PROMISE": -0.9,
            "FINE": 0.6,
        }
    )
    (score,) = score_nodes(
        {"f": {name: 1.0 for name in weights.features if name != "ALWAYS"}}, weights
    )
    assert score.points == (FeatureKind.HEALS,)
    assert score.speaks_against == ()


def test_the_shipped_weights_count_a_successful_substitution_as_pointing_to_its_node() -> None:
    tried = {"TRIED": 0.25} | dict.fromkeys(
        ("HEALS", "HEALS_OFTEN", "MENDS", "MENDS_OFTEN", "MENDS_SOME", "MENDS_MANY"), 1.0
    )
    for weights in (fitted().classes, fitted().programs):
        (score,) = score_nodes({"f": tried}, weights.tried)
        assert FeatureKind.HEALS in score.points
        assert score.speaks_against == ()


def test_features_that_follow_from_other_substitutions_name_the_functions_that_show_them() -> None:
    tried = {"f": {"TRIED": 0.25}, "g": {"TRIED": 0.25}, "root": {}}
    assert shown_by(FeatureKind.OTHERS_IN_VAIN, "f", tried) == ("g",)
    assert shown_by(FeatureKind.OTHERS_IN_VAIN, "root", tried) == ("f", "g")
    helps = {**tried, "h": {"TRIED": 0.25, "HEALS": 1.0, "MENDS": 1.0, "MENDS_SOME": 1.0}}
    assert shown_by(FeatureKind.OTHERS_IN_VAIN, "root", helps) == ()
    assert shown_by(FeatureKind.OTHERS_IN_VAIN, "h", helps) == ("f", "g")
    assert shown_by(FeatureKind.OTHER_HEALS, "root", helps) == ("h",)
    assert shown_by(FeatureKind.OTHER_HEALS, "h", helps) == ()


def test_a_function_without_a_trial_counts_as_untried_and_not_as_tried_in_vain() -> None:
    merged = merge_features({"f": {}, "g": {}, "h": {}}, {"f": {"TRIED": 0.25}, "g": {}})
    assert merged["f"] == {"TRIED": 0.25}
    assert merged["g"] == merged["h"] == {"UNTRIED": 1.0, "OTHERS_IN_VAIN": 0.5}


def test_a_failure_that_stays_alone_whatever_is_substituted_counts_against_every_function() -> None:
    traced = {"f": {"FAILS_ALONE": 1.0}, "g": {"FAILS_ALONE": 1.0}, "root": {"FAILS_ALONE": 1.0}}
    in_vain = merge_features(traced, {"f": {"TRIED": 0.25}, "g": {"TRIED": 0.25}})
    assert in_vain["root"]["ALONE_IN_VAIN"] == 1.0
    assert in_vain["f"]["ALONE_IN_VAIN"] == 0.5
    helped = merge_features(traced, {"f": {"TRIED": 0.25, "MENDS_SOME": 1.0}})
    assert "ALONE_IN_VAIN" not in helped["root"]
    several = merge_features({"f": {}, "root": {}}, {"f": {"TRIED": 0.25}})
    assert "ALONE_IN_VAIN" not in several["root"]


def test_no_reason_says_most_where_most_did_not() -> None:
    weights = FeatureWeights(features={"MENDS_MANY": 5.0, "MENDS_SOME": 5.0, "UNTRIED": 5.0})
    (score,) = score_nodes({"f": {"MENDS_MANY": 0.4, "MENDS_SOME": 1.0}}, weights)
    assert score.points == (FeatureKind.MENDS_SOME,)
    (untried,) = score_nodes({"f": {"UNTRIED": 1.0}}, weights)
    assert (untried.points, untried.speaks_against) == ((), ())


def test_an_unknown_feature_is_ignored() -> None:
    (score,) = score_nodes({"f": {"OF_OLD": 1.0, "RAISED": 1.0}}, WEIGHTS)
    assert score.points == (FeatureKind.RAISED,)


@given(st.floats(-700, 700), st.floats(-700, 700))
def test_the_logistic_function_is_monotonic_and_symmetric(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0.0 <= logistic(low) <= logistic(high) <= 1.0
    assert math.isclose(logistic(one) + logistic(-one), 1.0)


def test_a_diagnosis_is_settled_if_every_score_is_clear_and_one_is_high() -> None:
    def scores_of(*probabilities: float) -> list[NodeScore]:
        return [NodeScore(node=str(n), probability=p) for n, p in enumerate(probabilities)]

    assert is_settled(scores_of(0.95, 0.02))
    assert is_settled(scores_of(0.95, 0.97, 0.02))
    assert not is_settled(scores_of(0.95, 0.4))
    assert not is_settled(scores_of(0.02, 0.01))
    assert not is_settled([])


def test_substitutions_count_only_where_the_traced_run_left_doubt() -> None:
    fitted = FittedWeights(
        traced=FeatureWeights(features={"ALWAYS": -4.0, "RAISED": 8.0, "BEFORE": 4.0}),
        tried=FeatureWeights(features={"ALWAYS": -4.0, "HEALS": 8.0}),
    )
    tried = {"f": {}, "g": {"HEALS": 1.0}}
    clear = score_with_substitutions({"f": {"RAISED": 1.0}, "g": {}}, tried, fitted)
    assert (clear[0].node, clear[0].probability) == ("f", logistic(4.0))
    doubtful = score_with_substitutions({"f": {"BEFORE": 1.0}, "g": {}}, tried, fitted)
    assert (doubtful[0].node, doubtful[0].probability) == ("g", logistic(4.0))
    assert score_with_substitutions({"f": {"BEFORE": 1.0}, "g": {}}, None, fitted)[0].node == "f"
