"""A judge's word on a run's programs, from tests that the run never saw.

It is kept apart from the record and bound to its head digest: nothing flows back.
"""

from auditcoder.domain.values import Digest, RunId, Value


class Judgement(Value):
    """Hidden-test results for the programs of one finished run."""

    run: RunId
    head: Digest
    """The head of the record that was judged."""
    suite: str
    results: dict[Digest, dict[str, bool]]
    """For each program judged: every hidden test, and whether it passed."""
