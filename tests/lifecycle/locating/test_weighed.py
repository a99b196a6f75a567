"""The weighed locator on hand-made cases: what checks of single nodes say, and when it is open."""

from auditcoder.domain.diagnosis import Abstained, Localised
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.places import AtBranch, AtNode
from auditcoder.lifecycle.locating import LOCATORS
from auditcoder.lifecycle.locating.believing import Fitted, FittedFor, Weights
from auditcoder.lifecycle.locating.case import Case, Clue, Standing
from auditcoder.lifecycle.locating.ranked import Ranked, Traceback
from auditcoder.lifecycle.locating.signs import Kind
from auditcoder.lifecycle.locating.spectra import Counts
from auditcoder.lifecycle.locating.weighed import Weighed, fitted, signs_of
from auditcoder.lifecycle.workshop import WhichLocator
from tests.lifecycle.locating.test_rules import GRAPH, S1, S1_1, S1_2, S2, S2_1, local, program

NONE = Weights(signs={})
KNOWN = Fitted(
    looked=Weights(signs={"ALWAYS": -4.0, "RAISED": 8.0, "BEFORE": 4.0}),
    tried=Weights(signs={"ALWAYS": -4.0, "HEALS": 8.0}),
)
WEIGHED = Weighed(FittedFor(classes=Fitted(looked=NONE, tried=NONE), programs=KNOWN))


def case(
    *standing: Standing,
    looked: dict[NodeId, dict[str, float]] | None = None,
    swapped: dict[NodeId, dict[str, float]] | None = None,
    passes: bool = False,
) -> Case:
    def clues(signs: dict[NodeId, dict[str, float]] | None) -> dict[NodeId, tuple[int, Clue]]:
        if signs is None:
            return {}
        return {n: (70, Clue(signs=signs.get(n, {}), passes=passes)) for n in GRAPH.ids}

    shown = (program(Verdict.FAILED),)
    return Case(GRAPH, {}, shown, standing, looked=clues(looked), swapped=clues(swapped))


def said(found: Case) -> dict[NodeId, set[str]]:
    return {NodeId(node): set(own) for node, own in signs_of(found).items() if own}


class TestChecksOfSingleNodes:
    def test_what_is_rejected_without_what_it_relies_on_is_told_from_what_only_follows(
        self,
    ) -> None:
        alone = case(local(S1), looked={})
        assert said(alone) == {
            S1: {Kind.REJECTED.name},
            S1_1: {Kind.REJECTED_ABOVE.name},
            S1_2: {Kind.REJECTED_ABOVE.name},
        }
        follows = case(local(S1), local(S1_1), looked={})
        assert said(follows) == {
            S1: {Kind.REJECTED_TOO.name},
            S1_1: {Kind.REJECTED.name},
            S1_2: {Kind.REJECTED_ABOVE.name},
        }

    def test_what_rejects_outweighs_what_accepts(self) -> None:
        both = local(S2_1), local(S2_1, Verdict.PASSED, CheckKind.CONTRACT)
        assert said(case(*both, looked={})) == {S2_1: {Kind.REJECTED.name}}

    def test_what_any_code_does_says_nothing(self) -> None:
        compiles = local(S2_1, Verdict.PASSED, CheckKind.COMPILE)
        assert said(case(compiles, looked={})) == {}

    def test_cost_and_opinions_are_kinds_of_their_own(self) -> None:
        grown = local(S2_1, Verdict.FAILED, CheckKind.PROBE)
        opinion = local(S1_1, Verdict.FAILED, CheckKind.REVIEW)
        assert said(case(grown, opinion, looked={})) == {
            S2_1: {Kind.GREW.name},
            S1_1: {Kind.REJECTED_BY_OPINION.name},
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
    known = {kind.name for kind in Kind} | {f"{kind.name}_FIRST" for kind in Kind} | {"ALWAYS"}
    for part in (fitted().classes, fitted().programs):
        assert part.looked.cases >= 500
        assert part.tried.cases >= 400
        assert set(part.looked.signs) | set(part.tried.signs) <= known
        weighed = {name.removesuffix("_FIRST") for name in part.tried.signs}
        assert {kind.name for kind in Kind} - weighed <= NEVER_SEEN
        assert 0 < part.each < 1


class TestLocatorsToCompareWith:
    def test_each_can_be_chosen(self) -> None:
        assert {which: make().name for which, make in LOCATORS.items()} == {
            which: which.value for which in WhichLocator
        }

    def test_the_traceback_knows_nothing_else(self) -> None:
        crashed = case()._replace(program=(program(Verdict.CRASH, ROOT, S2),))
        found = Traceback().locate(crashed)
        assert isinstance(found, Localised)
        assert found.target == AtNode(node=S2)
        again = Traceback().locate(crashed._replace(tried=(AtNode(node=S2),)))
        assert isinstance(again, Abstained)
        assert isinstance(Traceback().locate(case()), Abstained)

    def test_a_ranking_needs_it_watched_and_one_above_all(self) -> None:
        ranked = Ranked("ochiai")
        assert set(ranked.unsettled(case())) == set(GRAPH.order)
        assert isinstance(ranked.locate(case()), Abstained)
        counts = {S1: Counts(2, 0, 2, 2), S2: Counts(2, 2, 2, 2)}
        seen = case()._replace(
            looked={n: (70, Clue(signs={}, ran=own)) for n, own in counts.items()}
        )
        assert ranked.unsettled(seen) == ()
        found = ranked.locate(seen)
        assert isinstance(found, Localised)
        assert (found.target, found.rule) == (AtNode(node=S1), "ochiai")
        assert isinstance(ranked.locate(seen._replace(tried=(AtNode(node=S1),))), Abstained)
