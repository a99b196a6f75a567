"""Describes a failing check in text for prompts."""

import re

from auditcoder.domain.evidence import CheckKind, Evidence, Verdict
from auditcoder.domain.execution import TESTS_FILE
from auditcoder.domain.values import Digest
from auditcoder.lifecycle.failing_test import excerpt
from auditcoder.lifecycle.run_context import RunContext

_LINE = re.compile(r"the assertion in line (\d+) of the test")
_TEST = re.compile(r"^\w+: ([\w.]+)", re.MULTILINE)
"""The name of a test at the beginning of a line of a report."""


def failure_text(context: RunContext, evidence: Evidence) -> str:
    """Describe a failing check: its input, the expected and the observed output, the error."""
    lines = [_HEADLINES[evidence.verdict]]
    if evidence.kind is CheckKind.TEST:
        lines.append(f"The test code was:\n{_test_code(context, evidence)}")
    else:
        lines += _part(context, "Input", evidence.input)
        lines += _part(context, "Expected", evidence.expected)
        lines += _part(context, "Got", evidence.observed)
    if evidence.message:
        lines.append(_cut(evidence.message, context.quoted))
    if evidence.verdict is Verdict.CRASH and evidence.frames:
        where = evidence.frames[-1]
        lines.append(f"It was raised in {where.function}, line {where.line}.")
    return "\n".join(lines)


def earlier_failure(context: RunContext, evidence: Evidence) -> str:
    """Describe for a builder how the code failed that it replaces."""
    return f"It was written before, and failed. {failure_text(context, evidence)}"


def _test_code(context: RunContext, evidence: Evidence) -> str:
    code = context.recorder.text(evidence.input) if evidence.input else ""
    named = _LINE.search(evidence.message)
    line = int(named[1]) if named else None
    for frame in evidence.frames:
        line = frame.line if frame.file == TESTS_FILE else line
    return excerpt(code, context.quoted, line, _TEST.findall(evidence.message))


def _part(context: RunContext, name: str, blob: Digest | None) -> list[str]:
    return [f"{name}:\n{_cut(context.recorder.text(blob), context.quoted)}"] if blob else []


def _cut(text: str, most: int) -> str:
    left_out = len(text) - most
    return text if left_out <= 0 else f"{text[:most]}\n[{left_out} more characters are left out]"


_HEADLINES = {
    Verdict.PASSED: "The check passed.",
    Verdict.FAILED: "The answer was wrong.",
    Verdict.TIMEOUT: "It took too long.",
    Verdict.MEMORY: "It used too much memory.",
    Verdict.CRASH: "It ended with an error.",
    Verdict.NOT_RUN: "The check could not be run.",
    Verdict.VACUOUS: "No input met its precondition.",
    Verdict.UNTRIED: "The substitution was not tried.",
    Verdict.UNMEASURABLE: "It could not be measured.",
}
