"""The results of hidden tests, which a run never sees.

They are stored outside the record, with its head digest, and never influence the run.
"""

from auditcoder.domain.values import Digest, RunId, Value


class Judgement(Value):
    """Hidden-test results for the programs of one finished run."""

    run: RunId
    head: Digest
    """The head of the record that was judged."""
    suite: str
    results: dict[Digest, dict[str, bool]]
    """For each judged program: whether each hidden test passed."""
