"""Recombination: a search for a better program among the drafts of several nodes, without a model.

It starts from the best whole draft and exchanges one node's version at a time. An exchange that
ranks higher is kept; the search ends if none does, or after a number of runs.
"""

from collections.abc import Iterator

from auditcoder.domain.drafts import best
from auditcoder.domain.ids import NodeId
from auditcoder.domain.ledger import Drafting
from auditcoder.lifecycle.drafting.variant_runs import try_variant
from auditcoder.lifecycle.run_context import RunContext


def recombine(context: RunContext, inputs: tuple[str, ...], most_runs: int) -> None:
    """Try variants near the best one until none is better or `most_runs` have run."""
    runs = 0
    while runs < most_runs:
        drafting = _drafting(context)
        incumbent = best(drafting.tried)
        if _cannot_improve(context, drafting, incumbent):
            return
        for versions in _neighbours(drafting, drafting.tried[incumbent].versions):
            runs += try_variant(context, versions, inputs)
            drafting = _drafting(context)
            if best(drafting.tried) != incumbent or runs >= most_runs:
                break
        else:
            return


def _cannot_improve(context: RunContext, drafting: Drafting, incumbent: int) -> bool:
    """Whether a variant passes every check, so that only agreement could prefer another."""
    rank, checks = drafting.tried[incumbent].rank, context.recorder.ledger.examples
    dropped = context.recorder.ledger.dropped
    return rank.external_passes + rank.internal_passes == len(checks.keys() - dropped)


def _neighbours(drafting: Drafting, versions: dict[NodeId, int]) -> Iterator[dict[NodeId, int]]:
    """Yield untried variants that differ in the code of one node."""
    tried = [variant.versions for variant in drafting.tried]
    for node in sorted(versions):
        present = drafting.part(node, versions[node])
        codes = {present.code} if present else set()
        for slot in sorted(drafting.drafts):
            part = drafting.part(node, slot)
            if part is None or part.is_stub or part.code in codes:
                continue
            codes.add(part.code)
            other = versions | {node: slot}
            if other not in tried:
                yield other


def _drafting(context: RunContext) -> Drafting:
    drafting = context.recorder.ledger.drafting
    assert drafting is not None
    return drafting
