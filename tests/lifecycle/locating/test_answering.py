"""Answering: beliefs become a node, several nodes or an abstention, with reasons."""

from auditcoder.domain.diagnosis import Abstained, Level, Localised
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import AtBranch, AtInterface, AtNode, AtNodes
from auditcoder.lifecycle.locating.answering import answer
from auditcoder.lifecycle.locating.believing import Belief, named
from auditcoder.lifecycle.locating.case import Case, Clue
from auditcoder.lifecycle.locating.signs import Kind
from tests.lifecycle.locating.test_rules import GRAPH, S1_1, S1_2, S2_1


def answered(
    beliefs: list[Belief], seqs: tuple[int, ...] = (), case: Case | None = None
) -> Localised | Abstained:
    """Answer with what is likelier than 0.2, and others from 0.8 on."""
    return answer(case or CASE, beliefs, named(beliefs, 0.8), seqs)


CASE = Case(graph=GRAPH, agents={S1_1: "author:math", S2_1: "author:dp"}, program=(), local=())


def belief(node: NodeId, probability: float, *points: Kind, against: Kind | None = None) -> Belief:
    return Belief(
        node=node,
        probability=probability,
        points=tuple(kind.value for kind in points),
        speaks_against=(against.value,) if against else (),
    )


def test_one_that_is_likely_is_named_with_what_points_there_and_what_does_not() -> None:
    found = answered(
        [
            belief(S1_1, 0.93, Kind.RAISED, Kind.ANSWERED, against=Kind.FINE),
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
    tried = CASE._replace(swapped={S2_1: (2, Clue(signs={Kind.TRIED.name: 0.25}))})
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
