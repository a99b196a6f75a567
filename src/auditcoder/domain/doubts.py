"""Describes the open doubts of a finished run: the checks that still fail although it passed."""

from auditcoder.domain.laws.common import ReadBlob
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import CheckId, Digest, Value

_MAX_CHARS = 80
"""Maximum length of each value in the one-line description."""


class OpenDoubt(Value):
    """A failing check that was not given with the task, with what was said about it."""

    check: CheckId
    requirement: str
    verdict: str
    input: str | None
    expected: str | None
    got: str | None
    message: str
    ruling: str = ""
    """The ruling on it; empty if nobody ruled."""
    reason: str = ""

    @property
    def line(self) -> str:
        """The doubt as one sentence."""
        if self.expected is None:
            said = f"{self.check}: {_short(self.requirement)}: {_short(self.message)}"
        else:
            given = f" for {_short(self.input)}" if self.input is not None else ""
            got = _short(self.got) if self.got is not None else self.verdict
            said = f"{self.check} expects {_short(self.expected)}{given}, got {got}"
        return f"{said} ({self.ruling.replace('_', ' ')})" if self.ruling else said


def _short(text: str | None) -> str:
    line = repr((text or "").rstrip("\n"))
    return line if len(line) <= _MAX_CHARS else f"{line[: _MAX_CHARS - 3]}..."


def described_doubts(trace: Trace, read: ReadBlob) -> tuple[OpenDoubt, ...]:
    """Return the open doubts of a run, in the order of their checks; none unless it passed."""
    named = trace.finish.doubts if trace.finish else ()
    return tuple(_doubt(trace, check, read) for check in named)


def _doubt(trace: Trace, check: CheckId, read: ReadBlob) -> OpenDoubt:
    def text(name: Digest | None) -> str | None:
        return None if name is None else read(name).decode("utf-8", "replace")

    seen = next(w.evidence for w in trace.evidence if w.evidence.check == check and trace.stands(w))
    ruled = next((r.ruling for r in reversed(trace.rulings) if r.ruling.check == check), None)
    return OpenDoubt(
        check=check,
        requirement=seen.requirement,
        verdict=seen.verdict.value,
        input=text(seen.input),
        expected=text(seen.expected),
        got=text(seen.observed),
        message=seen.message,
        ruling=ruled.ruling.value if ruled else "",
        reason=ruled.reason if ruled else "",
    )
