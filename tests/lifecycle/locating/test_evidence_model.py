"""The evidence locator on constructed inputs: node checks, unsettled nodes and diagnoses."""

import pytest
from msgspec.structs import replace

from auditcoder.domain.diagnosis import Abstained, Level, Localised
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes
from auditcoder.lifecycle.locating.diagnosis_input import Clue, DiagnosisInput, RecordedCheck
from auditcoder.lifecycle.locating.evidence_model import (
    EvidenceLocator,
    answer,
    features_of,
    fitted,
)
from auditcoder.lifecycle.locating.features import FeatureKind, SpectrumCounts
from auditcoder.lifecycle.locating.scoring import (
    FeatureWeights,
    FittedModels,
    FittedWeights,
    NodeScore,
    named,
)
from auditcoder.lifecycle.validation.promise_checks import UNLIKE
from tests.support.diagnosis_cases import GRAPH, S1, S1_1, S1_2, S2, S2_1, local, program

NONE = FeatureWeights(features={})
KNOWN = FittedWeights(
    traced=FeatureWeights(features={"ALWAYS": -4.0, "RAISED": 8.0, "BEFORE": 4.0}),
    tried=FeatureWeights(features={"ALWAYS": -4.0, "HEALS": 8.0}),
)
WEIGHED = EvidenceLocator(
    FittedModels(classes=FittedWeights(traced=NONE, tried=NONE), programs=KNOWN)
)


def case(
    *standing: RecordedCheck,
    traced: dict[NodeId, dict[str, float]] | None = None,
    swapped: dict[NodeId, dict[str, float]] | None = None,
    passes: bool = False,
) -> DiagnosisInput:
    def clues(features: dict[NodeId, dict[str, float]] | None) -> dict[NodeId, tuple[int, Clue]]:
        if features is None:
            return {}
        return {n: (70, Clue(features=features.get(n, {}), passes=passes)) for n in GRAPH.ids}

    shown = (program(Verdict.FAILED),)
    return DiagnosisInput(GRAPH, {}, shown, standing, traced=clues(traced), swapped=clues(swapped))


def features_by_node(found: DiagnosisInput) -> dict[NodeId, set[str]]:
    return {NodeId(node): set(own) for node, own in features_of(found).items() if own}


class TestNodeChecks:
    def test_a_node_rejected_alone_is_distinguished_from_one_rejected_with_its_child(
        self,
    ) -> None:
        alone = case(local(S1), traced={})
        assert features_by_node(alone) == {
            S1: {FeatureKind.REJECTED.name},
            S1_1: {FeatureKind.REJECTED_ABOVE.name},
            S1_2: {FeatureKind.REJECTED_ABOVE.name},
        }
        follows = case(local(S1), local(S1_1), traced={})
        assert features_by_node(follows) == {
            S1: {FeatureKind.REJECTED_TOO.name},
            S1_1: {FeatureKind.REJECTED.name},
            S1_2: {FeatureKind.REJECTED_ABOVE.name},
        }

    def test_a_rejecting_check_outweighs_an_accepting_one(self) -> None:
        both = local(S2_1), local(S2_1, Verdict.PASSED, CheckKind.CONTRACT)
        assert features_by_node(case(*both, traced={})) == {S2_1: {FeatureKind.REJECTED.name}}

    def test_a_passed_compile_check_yields_no_feature(self) -> None:
        compiles = local(S2_1, Verdict.PASSED, CheckKind.COMPILE)
        assert features_by_node(case(compiles, traced={})) == {}

    @pytest.mark.parametrize("verdict", [v for v in Verdict if not v.conclusive])
    @pytest.mark.parametrize("kind", [k for k in CheckKind if k.judges])
    def test_an_inconclusive_check_neither_accepts_nor_rejects(
        self, verdict: Verdict, kind: CheckKind
    ) -> None:
        assert features_by_node(case(local(S2_1, verdict, kind), traced={})) == {}

    @pytest.mark.parametrize(("held", "accuses"), [(2, False), (0, True)])
    def test_a_promise_that_fails_for_an_unlike_input_only_accuses_nobody(
        self, held: int, accuses: bool
    ) -> None:
        failed = local(S2_1, Verdict.FAILED, CheckKind.CONTRACT)
        message = f"it does not hold for (-1), {UNLIKE}{held} times"
        weak = failed._replace(evidence=replace(failed.evidence, message=message))
        assert bool(features_by_node(case(weak, traced={}))) is accuses

    def test_probes_and_reviews_have_features_of_their_own(self) -> None:
        grown = local(S2_1, Verdict.FAILED, CheckKind.PROBE)
        opinion = local(S1_1, Verdict.FAILED, CheckKind.REVIEW)
        assert features_by_node(case(grown, opinion, traced={})) == {
            S2_1: {FeatureKind.GREW.name},
            S1_1: {FeatureKind.REJECTED_BY_OPINION.name},
        }


class TestUnsettledNodes:
    def test_every_node_is_unsettled_before_a_traced_run(self) -> None:
        assert set(WEIGHED.unsettled(case())) == set(GRAPH.order)
        assert isinstance(WEIGHED.locate(case()), Abstained)

    def test_no_node_is_unsettled_when_one_is_clearly_at_fault(self) -> None:
        clear = case(traced={S2: {"RAISED": 1.0}})
        assert WEIGHED.unsettled(clear) == ()
        found = WEIGHED.locate(clear)
        assert isinstance(found, Localised)
        assert found.target == AtNode(node=S2)
        assert found.evidence == (1, 70)

    def test_unsettled_nodes_are_ordered_by_probability(self) -> None:
        doubtful = case(traced={S2: {"BEFORE": 1.0}, S1: {"BEFORE": 0.5}})
        assert WEIGHED.unsettled(doubtful) == (S2, S1)

    def test_without_a_possible_substitution_the_weights_of_the_traced_run_decide(
        self,
    ) -> None:
        doubtful = case(traced={S2: {"BEFORE": 1.0}})
        blind = Clue(features={"UNTRIED": 1.0}, blind=True)
        vain = doubtful._replace(swapped={S2: (71, blind)})
        assert WEIGHED.unsettled(doubtful) == (S2,)
        assert WEIGHED.unsettled(vain) == ()
        found, before = WEIGHED.locate(vain), WEIGHED.locate(doubtful)
        assert isinstance(found, Localised)
        assert isinstance(before, Localised)
        assert found.probability == before.probability

    def test_the_result_of_a_substitution_decides(self) -> None:
        tried = case(traced={S2: {"BEFORE": 1.0}}, swapped={S1_1: {"HEALS": 1.0, "TRIED": 0.25}})
        found = WEIGHED.locate(tried)
        assert isinstance(found, Localised)
        assert found.target == AtNode(node=S1_1)

    def test_a_failure_that_passes_when_run_again_is_flaky(self) -> None:
        passing = Clue(features={}, passes=True)
        again = case(traced={S2: {"BEFORE": 1.0}})._replace(swapped={S2: (71, passing)})
        assert WEIGHED.unsettled(again) == ()
        diagnosis = WEIGHED.locate(again)
        assert isinstance(diagnosis, Abstained)
        assert "flaky" in diagnosis.reason

    def test_a_failure_that_passes_in_the_traced_run_is_flaky(self) -> None:
        flaky = case(traced={S2: {"RAISED": 1.0}}, passes=True)
        assert WEIGHED.unsettled(flaky) == ()
        diagnosis = WEIGHED.locate(flaky)
        assert isinstance(diagnosis, Abstained)
        assert "flaky" in diagnosis.reason


def test_the_locator_widens_a_rejected_target_to_its_branch_and_then_abstains() -> None:
    clear = case(traced={S1_1: {"RAISED": 1.0}})
    node, branch = AtNode(node=S1_1), AtBranch(root=S1)
    lifted = WEIGHED.locate(clear._replace(tried=(node,)))
    assert isinstance(lifted, Localised)
    assert lifted.target == branch
    assert isinstance(WEIGHED.locate(clear._replace(tried=(node, branch))), Abstained)


NEVER_SEEN = {"CALLED", "REJECTED_BY_OPINION", "ACCEPTED_BY_OPINION", "MISCALLED"}
"""Features that no failure of the study has; only the paper's rules request reviews."""


PROGRAMS_ONLY = {"FAILS_ALONE", "ALONE_IN_VAIN"}
"""Features that the weights for classes do not have; they were not fitted again with them."""


def test_the_shipped_weights_cover_the_known_features() -> None:
    known = (
        {kind.name for kind in FeatureKind}
        | {f"{kind.name}_FIRST" for kind in FeatureKind}
        | {"ALWAYS"}
    )
    for part, missing in (
        (fitted().classes, NEVER_SEEN | PROGRAMS_ONLY),
        (fitted().programs, NEVER_SEEN),
    ):
        assert part.traced.cases >= 500
        assert part.tried.cases >= 400
        assert set(part.traced.features) | set(part.tried.features) <= known
        weighed = {name.removesuffix("_FIRST") for name in part.tried.features}
        assert {kind.name for kind in FeatureKind} - weighed <= missing
        assert 0 < part.each < 1


def diagnosed(
    scores: list[NodeScore], seqs: tuple[int, ...] = (), case: DiagnosisInput | None = None
) -> Localised | Abstained:
    """Return the diagnosis for these scores; 0.8 is the threshold for naming several nodes."""
    return answer(case or CASE, scores, named(scores, 0.8), seqs)


CASE = DiagnosisInput(
    graph=GRAPH, agents={S1_1: "author:math", S2_1: "author:dp"}, program=(), local=()
)


def score(
    node: NodeId, probability: float, *points: FeatureKind, against: FeatureKind | None = None
) -> NodeScore:
    return NodeScore(
        node=node,
        probability=probability,
        points=points,
        speaks_against=(against,) if against else (),
    )


def test_a_likely_node_is_named_with_the_features_for_and_against_it() -> None:
    observed = Clue(features={"RAISED": 1.0, "ANSWERED_FIRST": 1.0, "FINE": 0.25})
    found = diagnosed(
        [
            score(S1_1, 0.93, FeatureKind.RAISED, FeatureKind.ANSWERED, against=FeatureKind.FINE),
            score(S2_1, 0.2),
        ],
        (7,),
        CASE._replace(traced={S1_1: (9, observed)}),
    )
    assert isinstance(found, Localised)
    assert found.target == AtNode(node=S1_1)
    assert (found.level, found.probability) == (Level.HIGH, 0.93)
    assert found.evidence == (7, 9)
    assert found.agents == ("author:math",)
    assert found.explanation == (
        "S1_1 (0.93): the exception arose in it, the failing step called it last;"
        " against it: steps that it took part in are fine; next is S2_1 (0.20);"
        " another implementation of S2_1 would tell"
    )


def test_a_feature_that_no_event_shows_is_not_a_reason() -> None:
    found = diagnosed([score(S1_1, 0.93, FeatureKind.RAISED), score(S2_1, 0.01)], (7,))
    assert isinstance(found, Localised)
    assert found.explanation == "S1_1 (0.93): nothing in particular; next is S2_1 (0.01)"


def test_a_reason_from_other_substitutions_names_and_cites_those_that_were_tried() -> None:
    tried = Clue(features={"TRIED": 0.25})
    swapped = {S1: (20, tried), S1_2: (21, tried), S2: (22, Clue(features={}))}
    found = diagnosed(
        [score(S1_1, 0.94, FeatureKind.OTHERS_IN_VAIN)], (7,), CASE._replace(swapped=swapped)
    )
    assert isinstance(found, Localised)
    assert found.explanation == (
        "S1_1 (0.94): another implementation of S1 or of S1_2 does not help"
    )
    assert found.evidence == (7, 20, 21)


def test_a_lone_failure_is_a_reason_against_a_node_and_cites_the_traced_run() -> None:
    traced = Clue(features={}, ran=SpectrumCounts(1, 3, 1, 3))
    tried = Clue(features={"TRIED": 0.25})
    case = CASE._replace(traced={S1_1: (19, traced)}, swapped={S2: (22, tried)})
    found = diagnosed([score(S1_1, 0.3, against=FeatureKind.ALONE_IN_VAIN)], (7,), case)
    assert isinstance(found, Localised)
    assert (
        "against it: only one check fails, whatever the implementation of S2" in found.explanation
    )
    assert found.evidence == (7, 19, 22)
    alone = diagnosed([score(S1_1, 0.3, against=FeatureKind.FAILS_ALONE)], (7,), case)
    assert isinstance(alone, Localised)
    assert "so the check may be wrong" in alone.explanation


def test_a_rejected_caller_is_cited_for_what_it_relies_on() -> None:
    follows = CASE._replace(local=(local(S1, seq=30), local(S1_1, seq=31)))
    above = diagnosed([score(S1_2, 0.9, FeatureKind.REJECTED_ABOVE)], (7,), follows)
    assert isinstance(above, Localised)
    assert above.evidence == (7, 30)
    too = diagnosed([score(S1, 0.9, FeatureKind.REJECTED_TOO)], (7,), follows)
    assert isinstance(too, Localised)
    assert too.evidence == (7, 30, 31)


def test_several_nodes_are_named_only_if_each_is_very_likely() -> None:
    found = diagnosed([score(S1_1, 0.95), score(S2_1, 0.85), score(S1_2, 0.79)])
    assert isinstance(found, Localised)
    assert found.target == AtNodes(nodes=(S1_1, S2_1))
    assert (found.level, found.probability) == (Level.MEDIUM, 0.85), "of both at once"


def test_a_lower_probability_gives_a_lower_level() -> None:
    for probability, level in ((0.75, Level.MEDIUM), (0.55, Level.LOW)):
        found = diagnosed([score(S1_1, probability)])
        assert isinstance(found, Localised)
        assert found.level is level


def test_an_unlikely_node_is_not_named_and_the_missing_evidence_is_stated() -> None:
    tried = CASE._replace(swapped={S2_1: (2, Clue(features={FeatureKind.TRIED.name: 0.25}))})
    found = diagnosed([score(S1_1, 0.15), score(S2_1, 0.12)], (3,), tried)
    assert found == Abstained(
        reason="nothing is likely enough: S1_1 (0.15) and S2_1 (0.12) come first;"
        " another implementation of S1_1 would tell",
        evidence=(3,),
    )
    assert isinstance(diagnosed([]), Abstained)
    alone = diagnosed([score(S2_1, 0.7), score(S1_1, 0.03)], case=tried)
    assert isinstance(alone, Localised)
    assert alone.explanation.endswith("a check of S2_1 alone would tell")
    clear = diagnosed([score(S2_1, 0.97), score(S1_1, 0.03)], case=tried)
    assert isinstance(clear, Localised)
    assert "would tell" not in clear.explanation


def test_a_provider_of_an_invalid_value_is_named_with_its_consumer() -> None:
    clue = Clue(features={}, hands_badly_to=(S2_1,))
    case = CASE._replace(traced={S1_1: (4, clue)})
    found = diagnosed([score(S1_1, 0.95)], (3,), case)
    assert isinstance(found, Localised)
    assert found.target == AtInterface(provider=S1_1, consumer=S2_1)
    assert found.evidence == (3, 4)


def test_a_target_whose_repair_was_rejected_is_widened_to_its_branch_and_then_abandoned() -> None:
    likely = [score(S1_1, 0.95)]
    node, branch = AtNode(node=S1_1), AtBranch(root=GRAPH.branch_root(S1_1))
    lifted = diagnosed(likely, case=CASE._replace(tried=(node,)))
    assert isinstance(lifted, Localised)
    assert lifted.target == branch
    given_up = diagnosed(likely, case=CASE._replace(tried=(node, branch)))
    assert given_up == Abstained(reason="what points to S1_1 was repaired in vain")
    fixed = diagnosed(likely, case=CASE._replace(tried=(node,), replannable=False))
    assert isinstance(fixed, Abstained)


def test_nodes_whose_joint_repair_was_rejected_are_tried_alone() -> None:
    likely = [score(S1_1, 0.95), score(S2_1, 0.85)]
    both = AtNodes(nodes=(S1_1, S2_1))
    found = diagnosed(likely, case=CASE._replace(tried=(both,)))
    assert isinstance(found, Localised)
    assert found.target == AtNode(node=S1_1)
    assert (found.level, found.probability) == (Level.HIGH, 0.95)


def test_the_same_nodes_in_another_order_are_the_same_target() -> None:
    likely = [score(S1_1, 0.95), score(S2_1, 0.9)]
    found = diagnosed(likely, case=CASE._replace(tried=(AtNodes(nodes=(S2_1, S1_1)),)))
    assert isinstance(found, Localised)
    assert found.target == AtNode(node=S1_1)
