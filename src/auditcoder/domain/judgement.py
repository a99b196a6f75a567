"""The results of hidden tests, which a run never sees.

They are stored outside the record, with its head digest, and never influence the run.
"""

from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import Digest, RunId, Value


class Judgement(Value):
    """Hidden-test results for the programs of one finished run."""

    run: RunId
    head: Digest
    """The head of the record that was judged."""
    suite: str
    results: dict[Digest, dict[str, bool]]
    """For each judged program: whether each hidden test passed."""

    def of(self, program: Digest) -> dict[str, bool]:
        """Return the results of a program, or raise RecordUnreadable if it was not judged."""
        if program not in self.results:
            raise self._mismatch(f"it has no results of the program {program[:16]}")
        return self.results[program]

    def require_about(self, trace: Trace) -> None:
        """Raise RecordUnreadable if this judgement is not about a record and its programs."""
        if (self.run, self.head) != (trace.run, trace.head.digest):
            raise self._mismatch(
                f"the judgement is about {self.run} at {self.head[:16]}, not about {trace.run} at"
                f" {trace.head.digest[:16]}"
            )
        if others := set(self.results) - {assembled.program for assembled in trace.programs}:
            raise self._mismatch(f"run {self.run} never had the program {min(others)[:16]}")

    def _mismatch(self, why: str) -> RecordUnreadable:
        return RecordUnreadable(
            "judgement.mismatch",
            f"a judgement by {self.suite!r} does not belong to its run: {why}",
            "judge the record as it is now, in a store without this judgement",
        )
