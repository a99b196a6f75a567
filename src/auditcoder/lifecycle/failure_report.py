"""Says what went wrong, in words that a model can work with."""

from auditcoder.domain.evidence import CheckKind, Evidence, Verdict
from auditcoder.domain.values import Digest
from auditcoder.lifecycle.run_context import RunContext

_SHOWN = 600


def failure_text(context: RunContext, evidence: Evidence) -> str:
    """Describe a failing check: what went in, what was expected, what came out."""
    lines = [_HEADLINES[evidence.verdict]]
    if evidence.kind is CheckKind.TEST:
        lines.append(f"The test code was:\n{_shown(context, evidence.input)}")
    else:
        lines += _part(context, "Input", evidence.input)
        lines += _part(context, "Expected", evidence.expected)
        lines += _part(context, "Got", evidence.observed)
    if evidence.message:
        lines.append(evidence.message[:_SHOWN])
    if evidence.verdict is Verdict.CRASH and evidence.frames:
        where = evidence.frames[-1]
        lines.append(f"It was raised in {where.function}, line {where.line}.")
    return "\n".join(lines)


def lesson(context: RunContext, evidence: Evidence) -> str:
    """Tell a builder how the code failed that its own will replace."""
    return f"It was written before, and failed. {failure_text(context, evidence)}"


def _part(context: RunContext, name: str, blob: Digest | None) -> list[str]:
    text = _shown(context, blob)
    return [f"{name}:\n{text}"] if blob else []


def _shown(context: RunContext, blob: Digest | None) -> str:
    text = context.recorder.text(blob) if blob else ""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\n[...]"


_HEADLINES = {
    Verdict.PASSED: "The check passed.",
    Verdict.FAILED: "The answer was wrong.",
    Verdict.TIMEOUT: "It took too long.",
    Verdict.MEMORY: "It used too much memory.",
    Verdict.CRASH: "It ended with an error.",
}
