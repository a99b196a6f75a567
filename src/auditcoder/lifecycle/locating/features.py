"""Features: named observations for or against a function, each with a fitted weight."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple


class FeatureKind(Enum):
    """The kinds of features; the value is the text that a reviewer reads.

    `{others}` stands for the functions whose substitution shows the feature.
    """

    RAISED = "the exception arose in it"
    PASSED_ON = "the exception went through it"
    LACKED = "it is the name that was not there"
    MISCALLED = "it was called in a way that it cannot be"
    ANSWERED = "the failing step called it last"
    CALLED = "the failing step called it, and others after it"
    UNDER = "it ran below what the failing step called last"
    CAME_THROUGH = "its value came out unchanged of what the failing step called"
    HANDED_ON = "it handed on unchanged what another made"
    MADE = "it made a value that the failing step saw"
    MADE_UNDER = "it ran below what made a value that the failing step saw"
    MADE_TOO = "it made a value that the failing step saw beside calling others"
    RECENT = "it was called last before a failing step that called nothing"
    BEFORE = "it was called last before the failing step"
    WROTE = "it wrote last what the failing step read"
    WROTE_ALONE = "it wrote last what the failing step read, and nothing else leads anywhere"
    WROTE_FILE = "it wrote last the file that the failing step read"
    HAD_IT_WRITTEN = "it called what wrote last what the failing step read"
    WAS_FINE = "what it answers was right before, in the same case"
    SINCE_FINE = "it changed something between a right answer and a wrong one"
    LEFT_ALONE = "it was called last, and left alone what the failing step reads"
    RETURNED_NOTHING = "it returned None in the failing step"
    FINE = "steps that it took part in are fine"
    FINE_UNDER = "steps that it ran below are fine"
    FINE_WROTE = "steps that read what it wrote are fine"
    BROKE_PROMISE = "in the failing case it returned what it promises not to"
    BROKE_INVARIANT = "in the failing case it left its object as it must never be"
    WRONG_TYPE = "in the failing case it returned another type than it promises"
    HANDED_BADLY = "in the failing case it handed over what the next one does not take"
    PASSED_WRONG_TYPE = "in the failing case it passed another type than what it calls takes"
    GIVEN_BADLY = "in the failing case it was given what it does not take"
    TOOK_TIME = "in the failing case most of the time went into it"
    TOOK_MEMORY = "in the failing case most of the memory that ran out went into it"
    RAN_AND_FAILED = "it ran in failing cases"
    FAILS_ALONE = "only one check fails, with a wrong result, so the check may be wrong"
    REJECTED = "a check of its own rejects it"
    REJECTED_TOO = "a check of its own rejects it, and one of what it relies on rejects that"
    REJECTED_ABOVE = "a check rejects what relies on it, and none rejects it"
    REJECTED_BY_OPINION = "a model that looked at it rejects it"
    GREW = "its cost grows faster than it may"
    ACCEPTED = "its own checks accept it"
    ACCEPTED_BY_OPINION = "a model that looked at it finds nothing wrong"
    ROOT = "it puts the others together"
    ABSENT = "it is not there"
    EMPTY = "its body does nothing"
    CONSTRUCTOR = "it only sets the object up"
    UNCALLED = "it was never called"
    HEALS = "with another implementation of it, everything passes"
    HEALS_OFTEN = "with most other implementations of it, everything passes"
    MENDS = "with another implementation of it, the first failing step passes"
    MENDS_OFTEN = "with most other implementations of it, the first failing step passes"
    MENDS_SOME = "with another implementation of it, some failing step passes"
    MENDS_MANY = "with other implementations of it, most failing steps pass"
    HARMS = "with another implementation of it, more fails"
    NO_MATTER = "other implementations of it change nothing"
    OTHER_HEALS = "everything passes with another implementation of {others}"
    OTHER_MENDS = "the first failing step passes with another implementation of {others}"
    OTHERS_IN_VAIN = "another implementation of {others} does not help"
    ALONE_IN_VAIN = "only one check fails, whatever the implementation of {others}"
    TRIED = "another implementation of it does not help"
    UNTRIED = "no other implementation of it was tried"
    """The base rate of functions without a substitution; it is never given as a reason."""

    @property
    def points(self) -> bool:
        """Whether the feature is evidence that a function is at fault."""
        return self not in _NOT_POINTING


_NOT_POINTING = frozenset(
    {
        *(
            FeatureKind.FINE,
            FeatureKind.FINE_UNDER,
            FeatureKind.FINE_WROTE,
            FeatureKind.WAS_FINE,
            FeatureKind.HANDED_ON,
        ),
        *(
            FeatureKind.ACCEPTED,
            FeatureKind.ACCEPTED_BY_OPINION,
            FeatureKind.GIVEN_BADLY,
            FeatureKind.ROOT,
        ),
        *(
            FeatureKind.CONSTRUCTOR,
            FeatureKind.UNCALLED,
            FeatureKind.HARMS,
            FeatureKind.NO_MATTER,
            FeatureKind.OTHER_HEALS,
        ),
        *(FeatureKind.OTHER_MENDS, FeatureKind.TRIED, FeatureKind.UNTRIED),
        *(FeatureKind.FAILS_ALONE, FeatureKind.ALONE_IN_VAIN),
    }
)
"""Features that exonerate a function or only describe it."""


_OF_MOST = frozenset({FeatureKind.HEALS_OFTEN, FeatureKind.MENDS_OFTEN, FeatureKind.MENDS_MANY})
"""Features whose text says "most": it is true from half of the strength on."""


def is_statable(kind: FeatureKind, strength: float) -> bool:
    """Whether the text of a feature is true if it has this strength."""
    if kind is FeatureKind.UNTRIED:
        return False
    return strength > (0.5 if kind in _OF_MOST else 0.0)


def kind_of(name: str) -> FeatureKind:
    """Return the kind of a feature by its name, with or without the suffix `_FIRST`."""
    return FeatureKind[name.removesuffix("_FIRST")]


class SpectrumCounts(NamedTuple):
    """In how many failing and passing tests a function ran, and how many tests there are."""

    failed: int
    passed: int
    all_failed: int
    all_passed: int


class Feature(NamedTuple):
    """One feature of one function."""

    node: str
    kind: FeatureKind
    first: bool = False
    """Whether it is about the first failing step."""
    strength: float = 1.0


_NO_RESULT = frozenset(
    kind.name
    for kind in (
        *(FeatureKind.RAISED, FeatureKind.PASSED_ON, FeatureKind.LACKED, FeatureKind.MISCALLED),
        *(FeatureKind.TOOK_TIME, FeatureKind.TOOK_MEMORY),
    )
)
"""Features of failures other than a wrong result."""


def with_lone_failure(
    features: Mapping[str, Mapping[str, float]], counts: Iterable[SpectrumCounts]
) -> dict[str, dict[str, float]]:
    """Add FAILS_ALONE to each function if only one test fails, with a wrong result.

    A fault in the program usually shows in several tests or as an error; a wrong test fails alone.
    """
    names = {name.removesuffix("_FIRST") for own in features.values() for name in own}
    alone = any(own.all_failed == 1 and own.all_passed for own in counts)
    added = {FeatureKind.FAILS_ALONE.name: 1.0} if alone and not names & _NO_RESULT else {}
    return {node: {**own, **added} for node, own in features.items()}


def feature_strengths(features: Iterable[Feature]) -> dict[str, dict[str, float]]:
    """Return the strength of each feature by function: equal ones are added, up to one."""
    strengths: dict[str, dict[str, float]] = {}
    for feature in features:
        own = strengths.setdefault(feature.node, {})
        for name in [feature.kind.name] + [f"{feature.kind.name}_FIRST"] * feature.first:
            own[name] = min(1.0, own.get(name, 0.0) + feature.strength)
    return strengths
