"""The weighed locator on hand-made cases: what checks of single nodes say, and when it is open."""

from auditcoder.domain.diagnosis import Abstained, Level, Localised
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes
from auditcoder.lifecycle.locating.diagnosis_input import Clue, DiagnosisInput, RecordedCheck
from auditcoder.lifecycle.locating.evidence_model import EvidenceLocator, answer, fitted, signs_of
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.scoring import (
    FeatureWeights,
    FittedModels,
    FittedWeights,
    NodeScore,
    named,
)
from tests.support.diagnosis_cases import GRAPH, S1, S1_1, S1_2, S2, S2_1, local, program

NONE = FeatureWeights(signs={})
KNOWN = FittedWeights(
    looked=FeatureWeights(signs={"ALWAYS": -4.0, "RAISED": 8.0, "BEFORE": 4.0}),
    tried=FeatureWeights(signs={"ALWAYS": -4.0, "HEALS": 8.0}),
)
WEIGHED = EvidenceLocator(
    FittedModels(classes=FittedWeights(looked=NONE, tried=NONE), programs=KNOWN)
)


def case(
    *standing: RecordedCheck,
    looked: dict[NodeId, dict[str, float]] | None = None,
    swapped: dict[NodeId, dict[str, float]] | None = None,
    passes: bool = False,
) -> DiagnosisInput:
    def clues(signs: dict[NodeId, dict[str, float]] | None) -> dict[NodeId, tuple[int, Clue]]:
        if signs is None:
            return {}
        return {n: (70, Clue(signs=signs.get(n, {}), passes=passes)) for n in GRAPH.ids}

    shown = (program(Verdict.FAILED),)
    return DiagnosisInput(GRAPH, {}, shown, standing, looked=clues(looked), swapped=clues(swapped))


def said(found: DiagnosisInput) -> dict[NodeId, set[str]]:
    return {NodeId(node): set(own) for node, own in signs_of(found).items() if own}


class TestChecksOfSingleNodes:
    def test_what_is_rejected_without_what_it_relies_on_is_told_from_what_only_follows(
        self,
    ) -> None:
        alone = case(local(S1), looked={})
        assert said(alone) == {
            S1: {FeatureKind.REJECTED.name},
            S1_1: {FeatureKind.REJECTED_ABOVE.name},
            S1_2: {FeatureKind.REJECTED_ABOVE.name},
        }
        follows = case(local(S1), local(S1_1), looked={})
        assert said(follows) == {
            S1: {FeatureKind.REJECTED_TOO.name},
            S1_1: {FeatureKind.REJECTED.name},
            S1_2: {FeatureKind.REJECTED_ABOVE.name},
        }

    def test_what_rejects_outweighs_what_accepts(self) -> None:
        both = local(S2_1), local(S2_1, Verdict.PASSED, CheckKind.CONTRACT)
        assert said(case(*both, looked={})) == {S2_1: {FeatureKind.REJECTED.name}}

    def test_what_any_code_does_says_nothing(self) -> None:
        compiles = local(S2_1, Verdict.PASSED, CheckKind.COMPILE)
        assert said(case(compiles, looked={})) == {}

    def test_cost_and_opinions_are_kinds_of_their_own(self) -> None:
        grown = local(S2_1, Verdict.FAILED, CheckKind.PROBE)
        opinion = local(S1_1, Verdict.FAILED, CheckKind.REVIEW)
        assert said(case(grown, opinion, looked={})) == {
            S2_1: {FeatureKind.GREW.name},
            S1_1: {FeatureKind.REJECTED_BY_OPINION.name},
        }


class TestWhenItIsOpen:
    def test_everything_is_until_it_was_watched(self) -> None:
        assert set(WEIGHED.unsettled(case())) == set(GRAPH.order)
        assert isinstance(WEIGHED.locate(case()), Abstained)

    def test_nothing_is_when_one_is_clear(self) -> None:
        clear = case(looked={S2: {"RAISED": 1.0}})
        assert WEIGHED.unsettled(clear) == ()
        found = WEIGHED.locate(clear)
        assert isinstance(found, Localised)
        assert found.target == AtNode(node=S2)
        assert found.evidence == (1, 70)

    def test_else_those_that_may_be_at_fault_are_the_likeliest_first(self) -> None:
        doubtful = case(looked={S2: {"BEFORE": 1.0}, S1: {"BEFORE": 0.5}})
        assert WEIGHED.unsettled(doubtful) == (S2, S1)

    def test_where_nothing_could_be_tried_nothing_is_asked_for_and_the_first_weights_hold(
        self,
    ) -> None:
        doubtful = case(looked={S2: {"BEFORE": 1.0}})
        blind = Clue(signs={"UNTRIED": 1.0}, blind=True)
        vain = doubtful._replace(swapped={S2: (71, blind)})
        assert WEIGHED.unsettled(doubtful) == (S2,)
        assert WEIGHED.unsettled(vain) == ()
        found, before = WEIGHED.locate(vain), WEIGHED.locate(doubtful)
        assert isinstance(found, Localised)
        assert isinstance(before, Localised)
        assert found.probability == before.probability

    def test_what_was_tried_then_decides(self) -> None:
        tried = case(looked={S2: {"BEFORE": 1.0}}, swapped={S1_1: {"HEALS": 1.0, "TRIED": 0.25}})
        found = WEIGHED.locate(tried)
        assert isinstance(found, Localised)
        assert found.target == AtNode(node=S1_1)

    def test_what_passes_when_it_is_run_once_more_is_flaky_too(self) -> None:
        passing = Clue(signs={}, passes=True)
        again = case(looked={S2: {"BEFORE": 1.0}})._replace(swapped={S2: (71, passing)})
        assert WEIGHED.unsettled(again) == ()
        diagnosis = WEIGHED.locate(again)
        assert isinstance(diagnosis, Abstained)
        assert "flaky" in diagnosis.reason

    def test_what_passes_when_it_is_watched_is_flaky(self) -> None:
        flaky = case(looked={S2: {"RAISED": 1.0}}, passes=True)
        assert WEIGHED.unsettled(flaky) == ()
        diagnosis = WEIGHED.locate(flaky)
        assert isinstance(diagnosis, Abstained)
        assert "flaky" in diagnosis.reason


def test_a_rejected_repair_is_lifted_to_the_branch_and_then_given_up() -> None:
    clear = case(looked={S1_1: {"RAISED": 1.0}})
    node, branch = AtNode(node=S1_1), AtBranch(root=S1)
    lifted = WEIGHED.locate(clear._replace(tried=(node,)))
    assert isinstance(lifted, Localised)
    assert lifted.target == branch
    assert isinstance(WEIGHED.locate(clear._replace(tried=(node, branch))), Abstained)


NEVER_SEEN = {"CALLED", "REJECTED_BY_OPINION", "ACCEPTED_BY_OPINION", "MISCALLED"}
"""Signs that no failure of the study has; opinions are asked for by the paper's rules alone."""


def test_the_weights_in_the_package_are_of_known_signs() -> None:
    known = (
        {kind.name for kind in FeatureKind}
        | {f"{kind.name}_FIRST" for kind in FeatureKind}
        | {"ALWAYS"}
    )
    for part in (fitted().classes, fitted().programs):
        assert part.looked.cases >= 500
        assert part.tried.cases >= 400
        assert set(part.looked.signs) | set(part.tried.signs) <= known
        weighed = {name.removesuffix("_FIRST") for name in part.tried.signs}
        assert {kind.name for kind in FeatureKind} - weighed <= NEVER_SEEN
        assert 0 < part.each < 1


def answered(
    beliefs: list[NodeScore], seqs: tuple[int, ...] = (), case: DiagnosisInput | None = None
) -> Localised | Abstained:
    """Answer with what is likelier than 0.2, and others from 0.8 on."""
    return answer(case or CASE, beliefs, named(beliefs, 0.8), seqs)


CASE = DiagnosisInput(
    graph=GRAPH, agents={S1_1: "author:math", S2_1: "author:dp"}, program=(), local=()
)


def belief(
    node: NodeId, probability: float, *points: FeatureKind, against: FeatureKind | None = None
) -> NodeScore:
    return NodeScore(
        node=node,
        probability=probability,
        points=tuple(kind.value for kind in points),
        speaks_against=(against.value,) if against else (),
    )


def test_one_that_is_likely_is_named_with_what_points_there_and_what_does_not() -> None:
    found = answered(
        [
            belief(S1_1, 0.93, FeatureKind.RAISED, FeatureKind.ANSWERED, against=FeatureKind.FINE),
            belief(S2_1, 0.2),
        ],
        (7, 9),
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


def test_several_are_named_only_if_each_is_very_likely() -> None:
    found = answered([belief(S1_1, 0.95), belief(S2_1, 0.85), belief(S1_2, 0.79)])
    assert isinstance(found, Localised)
    assert found.target == AtNodes(nodes=(S1_1, S2_1))
    assert (found.level, found.probability) == (Level.MEDIUM, 0.85), "of both at once"


def test_less_likely_is_less_sure() -> None:
    for probability, level in ((0.75, Level.MEDIUM), (0.55, Level.LOW)):
        found = answered([belief(S1_1, probability)])
        assert isinstance(found, Localised)
        assert found.level is level


def test_what_is_not_likely_is_not_named_and_what_would_settle_it_is_said() -> None:
    tried = CASE._replace(swapped={S2_1: (2, Clue(signs={FeatureKind.TRIED.name: 0.25}))})
    found = answered([belief(S1_1, 0.15), belief(S2_1, 0.12)], (3,), tried)
    assert found == Abstained(
        reason="nothing is likely enough: S1_1 (0.15) and S2_1 (0.12) come first;"
        " another implementation of S1_1 would tell",
        evidence=(3,),
    )
    assert isinstance(answered([]), Abstained)
    alone = answered([belief(S2_1, 0.7), belief(S1_1, 0.03)], case=tried)
    assert isinstance(alone, Localised)
    assert alone.explanation.endswith("a check of S2_1 alone would tell")
    clear = answered([belief(S2_1, 0.97), belief(S1_1, 0.03)], case=tried)
    assert isinstance(clear, Localised)
    assert "would tell" not in clear.explanation


def test_who_hands_over_what_the_next_does_not_take_is_named_with_that_one() -> None:
    clue = Clue(signs={}, hands_badly_to=(S2_1,))
    case = CASE._replace(looked={S1_1: (4, clue)})
    found = answered([belief(S1_1, 0.95)], (3,), case)
    assert isinstance(found, Localised)
    assert found.target == AtInterface(provider=S1_1, consumer=S2_1)
    assert found.evidence == (3, 4)


def test_what_was_tried_in_vain_is_lifted_and_then_given_up() -> None:
    likely = [belief(S1_1, 0.95)]
    node, branch = AtNode(node=S1_1), AtBranch(root=GRAPH.branch_root(S1_1))
    lifted = answered(likely, case=CASE._replace(tried=(node,)))
    assert isinstance(lifted, Localised)
    assert lifted.target == branch
    given_up = answered(likely, case=CASE._replace(tried=(node, branch)))
    assert given_up == Abstained(reason="what points to S1_1 was repaired in vain")
    fixed = answered(likely, case=CASE._replace(tried=(node,), replannable=False))
    assert isinstance(fixed, Abstained)


def test_several_that_were_tried_together_are_tried_alone() -> None:
    likely = [belief(S1_1, 0.95), belief(S2_1, 0.85)]
    both = AtNodes(nodes=(S1_1, S2_1))
    found = answered(likely, case=CASE._replace(tried=(both,)))
    assert isinstance(found, Localised)
    assert found.target == AtNode(node=S1_1)
    assert (found.level, found.probability) == (Level.HIGH, 0.95)


def test_the_same_parts_in_another_order_are_the_same_attempt() -> None:
    likely = [belief(S1_1, 0.95), belief(S2_1, 0.9)]
    found = answered(likely, case=CASE._replace(tried=(AtNodes(nodes=(S2_1, S1_1)),)))
    assert isinstance(found, Localised)
    assert found.target == AtNode(node=S1_1)
