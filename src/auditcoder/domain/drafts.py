"""Drafts: versions of some nodes' code, planned before the first one and chosen by execution.

A variant is a program that takes the code of each drafted node from one of its drafts. Variants are
ranked by the checks of the program, then by their agreement with the whole drafts on inputs without
an expected result.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Sequence

from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import parsed
from auditcoder.domain.repair import Rank
from auditcoder.domain.values import Digest, Value


class DraftSlot(Value):
    """One draft that may be requested: its prompt, and how its reply is sampled."""

    prompt: Digest
    temperature: float
    seed: int | None = None


class Sufficiency(Value):
    """When no further draft is requested."""

    examples: int = 1
    """With at least this many given examples, the first draft that passes all of them suffices."""
    others: int = 2
    """With fewer, and at least this many other checks, the first draft that passes every check."""
    agreeing: int = 2
    """Otherwise, this many drafts that pass what was given and give the same outputs."""


class DraftPart(Value):
    """The code of one node in a draft."""

    node: NodeId
    code: Digest
    scope: str = ""
    """The class that it is placed in; empty for module level."""
    is_stub: bool = False
    """Whether it stands in for code that the reply lacks."""
    losses: tuple[str, ...] = ()
    """What of the reply is lost, because no node owns it: one sentence for each."""
    note: str = ""
    """What was added to the code of the reply, such as imports."""


class CheckResult(Value):
    """The result of one check of the program on a variant."""

    verdict: Verdict
    observed: Digest | None = None
    """The result that was compared with the expected one, if there was any."""


class TriedVariant(Value):
    """A variant that ran, as far as the choice needs it."""

    seq: int
    """The number of its event."""
    versions: dict[NodeId, int]
    """The slot of the draft that each node's code is taken from."""
    program: Digest
    rank: Rank
    outputs: tuple[Digest | None, ...]
    """The output for each input; None if there was none."""

    @property
    def slot(self) -> int | None:
        """The slot of the draft that is this whole variant; None if it combines several."""
        slots = set(self.versions.values())
        return slots.pop() if len(slots) == 1 else None


class VariantRank(Value, order=True):
    """The rank of a variant: its checks first, then its agreement with the whole drafts."""

    checks: Rank
    votes: int


def ranks(tried: Sequence[TriedVariant]) -> tuple[VariantRank, ...]:
    """Return the rank of every variant.

    A variant gets a vote for each input and each whole draft with the same output; a whole draft
    gets its own, too. An input for which most whole drafts give no output does not count.
    """
    whole = [variant for variant in tried if variant.slot is not None]
    inputs = range(len(tried[0].outputs)) if tried else ()
    columns = [Counter(variant.outputs[at] for variant in whole) for at in inputs]
    return tuple(
        VariantRank(checks=variant.rank, votes=_votes(variant, columns, len(whole)))
        for variant in tried
    )


def _votes(variant: TriedVariant, columns: Sequence[Counter[Digest | None]], whole: int) -> int:
    return sum(
        counts[output]
        for output, counts in zip(variant.outputs, columns, strict=True)
        if output is not None and 2 * counts[None] <= whole
    )


def best(tried: Sequence[TriedVariant]) -> int:
    """Return the index of the variant with the highest rank, the earliest of several."""
    ranked = ranks(tried)
    return max(range(len(ranked)), key=lambda index: (ranked[index], -index))


def is_enough(tried: Iterable[TriedVariant], given: int, others: int, rule: Sufficiency) -> bool:
    """Whether the whole drafts so far suffice, if there are so many given and other checks."""
    passing = [v for v in tried if v.slot is not None and v.rank.external_passes == given]
    if given >= rule.examples:
        return bool(passing)
    if others >= rule.others and any(v.rank.internal_passes == others for v in passing):
        return True
    agreed = Counter(v.outputs for v in passing if v.outputs and None not in v.outputs)
    return max(agreed.values(), default=0) >= rule.agreeing


def is_stub(source: str) -> bool:
    """Whether code has nothing but functions that raise NotImplementedError."""
    tree = parsed(source)
    return tree is not None and all(_only_raises(statement) for statement in tree.body)


def _only_raises(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef(
            args=ast.arguments(defaults=[], kw_defaults=[]),
            body=[
                ast.Raise(
                    exc=ast.Call(
                        func=ast.Name(id="NotImplementedError"), args=[ast.Constant()], keywords=[]
                    ),
                    cause=None,
                )
            ],
            decorator_list=[],
            returns=None,
        ):
            taken = statement.args
            every = (*taken.posonlyargs, *taken.args, taken.vararg, taken.kwarg)
            return not any(argument.annotation for argument in every if argument is not None)
        case _:
            return False
