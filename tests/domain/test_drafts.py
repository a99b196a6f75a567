"""The choice among variants: votes, ties, inputs that do not count, and when drafts suffice."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from auditcoder.domain.drafts import (
    Sufficiency,
    TriedVariant,
    best,
    is_enough,
    is_stub,
    ranks,
)
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Rank
from auditcoder.domain.values import digest

S1, S2 = NodeId("S1"), NodeId("S2")
LOW, HIGH = 1, 2
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def checks(passes: int) -> Rank:
    """Return the rank of a program that passes so many given checks of three."""
    return Rank(
        full=passes == 3,
        external_passes=passes,
        internal_passes=0,
        external_clean=3,
        internal_clean=0,
    )


def tried(versions: tuple[int, int], passes: int, outputs: str = "") -> TriedVariant:
    """Return a variant; each letter of `outputs` is one output, and `-` is none."""
    return TriedVariant(
        seq=0,
        versions={S1: versions[0], S2: versions[1]},
        program=digest(str(versions).encode()),
        rank=checks(passes),
        outputs=tuple(None if letter == "-" else digest(letter.encode()) for letter in outputs),
    )


def draft(slot: int, passes: int, outputs: str = "") -> TriedVariant:
    return tried((slot, slot), passes, outputs)


def votes(*variants: TriedVariant) -> list[int]:
    return [rank.votes for rank in ranks(variants)]


class TestVotes:
    def test_a_draft_alone_agrees_with_itself(self) -> None:
        assert votes(draft(1, HIGH, "ab")) == [2]

    def test_a_vote_is_an_input_and_a_draft_with_the_same_output(self) -> None:
        assert votes(draft(1, HIGH, "ab"), draft(2, HIGH, "ac"), draft(3, HIGH, "ac")) == [4, 5, 5]

    def test_drafts_with_other_checks_vote_as_well(self) -> None:
        assert votes(draft(1, HIGH, "a"), draft(2, LOW, "b"), draft(3, LOW, "b")) == [1, 2, 2]

    def test_a_combination_gets_votes_and_gives_none(self) -> None:
        assert votes(draft(1, HIGH, "ab"), draft(2, HIGH, "cd"), tried((1, 2), LOW, "ad")) == [
            2,
            2,
            2,
        ]

    def test_no_output_gets_no_vote(self) -> None:
        assert votes(draft(1, HIGH, "a-"), draft(2, HIGH, "-b")) == [1, 1]

    def test_an_input_without_an_output_of_most_drafts_does_not_count(self) -> None:
        assert votes(draft(1, HIGH, "a"), draft(2, HIGH, "-"), draft(3, HIGH, "-")) == [0, 0, 0]
        assert votes(draft(1, HIGH, "a"), draft(2, HIGH, "-")) == [1, 0]

    def test_combinations_without_a_whole_draft_get_no_votes(self) -> None:
        assert votes(tried((1, 2), HIGH, "ab"), tried((2, 1), HIGH, "ab")) == [0, 0]

    def test_without_inputs_there_are_no_votes(self) -> None:
        assert votes(draft(1, HIGH), draft(2, HIGH)) == [0, 0]
        assert ranks(()) == ()


class TestTheBest:
    def test_checks_come_before_votes(self) -> None:
        few = [draft(1, LOW, "a"), draft(2, LOW, "a"), draft(3, HIGH, "b")]
        assert best(few) == 2

    def test_the_earliest_of_equals_is_the_best(self) -> None:
        assert best([draft(1, HIGH, "a"), draft(2, HIGH, "a")]) == 0
        assert best([draft(1, LOW), draft(2, HIGH), draft(3, HIGH)]) == 1

    def test_a_later_draft_can_turn_the_vote(self) -> None:
        first = [draft(1, HIGH, "a"), draft(2, HIGH, "b")]
        assert best(first) == 0
        assert best([*first, draft(3, LOW, "b")]) == 1

    def test_a_combination_must_be_strictly_better(self) -> None:
        whole = [draft(1, HIGH, "a"), draft(2, LOW, "b")]
        assert best([*whole, tried((1, 2), HIGH, "a")]) == 0
        assert best([*whole, tried((1, 2), 3, "c")]) == 2

    def test_nothing_is_the_best_of_nothing(self) -> None:
        with pytest.raises(ValueError, match="empty"):
            best([])


@st.composite
def several(draw: st.DrawFn) -> list[TriedVariant]:
    """Whole drafts and combinations, with few different ranks and outputs."""
    inputs = draw(st.integers(0, 3))
    return draw(st.lists(variants(inputs), min_size=1, max_size=8))


def variants(inputs: int) -> st.SearchStrategy[TriedVariant]:
    slots = st.integers(1, 3)
    outputs = st.text("abc-", min_size=inputs, max_size=inputs)
    whole = st.builds(lambda n, p, o: draft(n, p, o), slots, st.integers(0, 3), outputs)
    mixed = st.builds(lambda a, p, o: tried((a, a + 1), p, o), slots, st.integers(0, 3), outputs)
    return whole | mixed


@PATIENT
@given(several())
def test_the_best_is_the_earliest_of_the_highest_rank(some: list[TriedVariant]) -> None:
    ranked = ranks(some)
    assert best(some) == ranked.index(max(ranked))
    assert some[best(some)].rank == max(variant.rank for variant in some)


@PATIENT
@given(several(), st.data())
def test_the_order_of_the_variants_does_not_change_their_ranks(
    some: list[TriedVariant], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(some))))
    assert ranks([some[n] for n in order]) == tuple(ranks(some)[n] for n in order)


@PATIENT
@given(several(), st.data())
def test_whatever_follows_the_incumbent_may_come_in_any_order(
    some: list[TriedVariant], data: st.DataObject
) -> None:
    kept = best(some) + 1
    later = data.draw(st.permutations(some[kept:]))
    assert best([*some[:kept], *later]) == best(some)


@PATIENT
@given(several(), st.data())
def test_a_combination_is_chosen_only_if_it_ranks_strictly_higher(
    some: list[TriedVariant], data: st.DataObject
) -> None:
    inputs = len(some[0].outputs)
    new = data.draw(variants(inputs).filter(lambda variant: variant.slot is None))
    incumbent, after = best(some), ranks([*some, new])
    assert after[:-1] == ranks(some)
    is_better = after[-1] > after[incumbent]
    assert best([*some, new]) == (len(some) if is_better else incumbent)


@PATIENT
@given(several(), st.data())
def test_another_draft_with_lower_checks_decides_only_between_equal_checks(
    some: list[TriedVariant], data: st.DataObject
) -> None:
    highest = max(variant.rank for variant in some)
    inputs = len(some[0].outputs)
    lower = variants(inputs).filter(lambda v: v.slot is not None and v.rank < highest)
    assume(highest > checks(0))
    after = best([*some, data.draw(lower)])
    equals = [n for n, variant in enumerate(some) if variant.rank == highest]
    assert after in equals
    assert after == best(some) or len(equals) > 1


class TestEnough:
    @pytest.mark.parametrize(
        ("given_examples", "several_tried", "enough"),
        [
            (3, [], False),
            (3, [draft(1, 2, "a")], False),
            (3, [draft(1, 3, "a")], True),
            (3, [draft(1, 2, "a"), draft(2, 2, "a")], False),
            (3, [draft(1, 2, "a"), tried((1, 2), 3, "a")], False),
            (0, [], False),
            (0, [draft(1, 0, "ab")], False),
            (0, [draft(1, 0, "ab"), draft(2, 0, "ab")], True),
            (0, [draft(1, 0, "ab"), draft(2, 0, "ac")], False),
            (0, [draft(1, 0, "ab"), draft(2, 0, "ac"), draft(3, 0, "ab")], True),
            (0, [draft(1, 0, "ab"), tried((1, 2), 0, "ab")], False),
            (0, [draft(1, 0, "a-"), draft(2, 0, "a-")], False),
            (0, [draft(1, 0, ""), draft(2, 0, "")], False),
        ],
    )
    def test_one_draft_that_passes_or_two_that_agree_suffice(
        self, given_examples: int, several_tried: Sequence[TriedVariant], enough: bool
    ) -> None:
        assert is_enough(several_tried, given_examples, 0, Sufficiency()) is enough

    def test_few_examples_need_agreement_besides(self) -> None:
        rule = Sufficiency(examples=4, agreeing=3)
        passing = [draft(n, 3, "ab") for n in (1, 2, 3)]
        assert not is_enough(passing[:2], 3, 0, rule)
        assert is_enough(passing, 3, 0, rule)
        assert not is_enough([*passing[:2], draft(3, 2, "ab")], 3, 0, rule)

    @PATIENT
    @given(several(), st.integers(0, 3))
    def test_what_suffices_still_does_after_further_variants(
        self, some: list[TriedVariant], given_examples: int
    ) -> None:
        enough = [
            is_enough(some[:n], given_examples, 0, Sufficiency()) for n in range(len(some) + 1)
        ]
        assert enough == sorted(enough)


class TestStubs:
    @pytest.mark.parametrize(
        "source",
        [
            "def f(x):\n    raise NotImplementedError('missing')\n",
            "def f(*_):\n    raise NotImplementedError('missing')\n",
            "def f(self, x, /):\n    raise NotImplementedError('missing')\n",
            "# The definitions could not be used.\n",
        ],
    )
    def test_the_stubs_that_a_run_writes_are_known(self, source: str) -> None:
        assert is_stub(source)

    @pytest.mark.parametrize(
        "source",
        [
            "def f(x):\n    return x\n",
            "def f(x):\n    raise ValueError('missing')\n",
            "def f(x):\n    raise NotImplementedError\n",
            "def f(x):\n    raise NotImplementedError('missing') from x\n",
            "def f(x):\n    raise NotImplementedError(x)\n",
            "def f(x):\n    raise NotImplementedError('missing', text='x')\n",
            "def f(x):\n    pass\n    raise NotImplementedError('missing')\n",
            "async def f(x):\n    raise NotImplementedError('missing')\n",
            "raise NotImplementedError('missing')\n",
            "x = 1\n",
            "(",
        ],
    )
    def test_other_code_is_no_stub(self, source: str) -> None:
        assert not is_stub(source)
