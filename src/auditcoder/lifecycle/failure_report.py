"""Describes a failing check in text for prompts."""

from auditcoder.domain.evidence import CheckKind, Evidence, Verdict
from auditcoder.domain.values import Digest
from auditcoder.lifecycle.run_context import RunContext

_MAX_CHARS = 600
"""Maximum length of each quoted input, output and message."""


def failure_text(context: RunContext, evidence: Evidence) -> str:
    """Describe a failing check: its input, the expected and the observed output, the error."""
    lines = [_HEADLINES[evidence.verdict]]
    if evidence.kind is CheckKind.TEST:
        lines.append(f"The test code was:\n{_shown(context, evidence.input)}")
    else:
        lines += _part(context, "Input", evidence.input)
        lines += _part(context, "Expected", evidence.expected)
        lines += _part(context, "Got", evidence.observed)
    if evidence.message:
        lines.append(evidence.message[:_MAX_CHARS])
    if evidence.verdict is Verdict.CRASH and evidence.frames:
        where = evidence.frames[-1]
        lines.append(f"It was raised in {where.function}, line {where.line}.")
    return "\n".join(lines)


def earlier_failure(context: RunContext, evidence: Evidence) -> str:
    """Describe for a builder how the code failed that it replaces."""
    return f"It was written before, and failed. {failure_text(context, evidence)}"


def _part(context: RunContext, name: str, blob: Digest | None) -> list[str]:
    text = _shown(context, blob)
    return [f"{name}:\n{text}"] if blob else []


def _shown(context: RunContext, blob: Digest | None) -> str:
    text = context.recorder.text(blob) if blob else ""
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}\n[...]"


_HEADLINES = {
    Verdict.PASSED: "The check passed.",
    Verdict.FAILED: "The answer was wrong.",
    Verdict.TIMEOUT: "It took too long.",
    Verdict.MEMORY: "It used too much memory.",
    Verdict.CRASH: "It ended with an error.",
    Verdict.NOT_RUN: "It could not be run.",
    Verdict.VACUOUS: "No input met its precondition.",
    Verdict.UNTRIED: "It was not tried.",
    Verdict.UNMEASURABLE: "It could not be measured.",
}
