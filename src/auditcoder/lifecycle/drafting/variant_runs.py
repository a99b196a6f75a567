"""Runs variants: programs made of drafts, beside the program."""

import json
from collections.abc import Mapping

from auditcoder.domain.drafts import CheckResult
from auditcoder.domain.events import VariantTried
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.execution import (
    Bounds,
    CallFunction,
    Ending,
    Execution,
    Returned,
    RunProgram,
)
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws.draft_laws import AssembledVariant, variant
from auditcoder.domain.task import FunctionForm, ProgramForm
from auditcoder.domain.values import CheckId, digest, whole
from auditcoder.lifecycle.drafting.comparison_inputs import as_text
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import result_of
from auditcoder.lifecycle.validation.function_calls import value_of
from auditcoder.lifecycle.validation.program_checks import bounds, checks, run_example
from auditcoder.sandboxed.result_comparison import shown

_SECONDS = 3.0
"""Maximum time for all inputs of a function, or for one input of a program."""
_MOST_TIMEOUTS = 2
_LONGEST = 2_000
"""Maximum number of characters of an output; of a longer one, its digest is compared."""


def try_variant(
    context: RunContext, versions: Mapping[NodeId, int], inputs: tuple[str, ...]
) -> bool:
    """Run a variant and record the results; return False if it cannot be assembled."""
    recorder = context.recorder
    draft = variant(recorder.ledger, versions, recorder.read)
    if draft is None:
        return False
    recalled = recorder.recall_variant(versions)
    event = recalled or _run(context, versions, draft, inputs)
    if recalled is not None and context.on_difference is not None:
        _compare(context, recalled, _run(context, versions, draft, inputs))
    recorder.record(event)
    return True


def _run(
    context: RunContext,
    versions: Mapping[NodeId, int],
    draft: AssembledVariant,
    inputs: tuple[str, ...],
) -> VariantTried:
    results = {
        check.id: _owned(
            draft, result_of(context, check, run_example(context, draft.text, example))
        )
        for check, example in checks(context)
    }
    put = context.recorder.put
    return VariantTried(
        versions=dict(versions),
        program=put(draft.text),
        results=results,
        outputs=put(json.dumps(_outputs(context, draft.text, inputs))),
        judge=context.sandbox.kind,
    )


def _owned(draft: AssembledVariant, result: CheckResult) -> CheckResult:
    """Return the result; of code that cannot be read, whose owner is unknown, none is clean."""
    return (
        CheckResult(verdict=Verdict.CRASH)
        if not draft.readable and result.verdict.clean
        else result
    )


def _compare(context: RunContext, recorded: VariantTried, repeated: VariantTried) -> None:
    """Report every check of a variant whose verdict differs from the record."""
    assert context.on_difference is not None
    for check, result in recorded.results.items():
        now = repeated.results[CheckId(check)].verdict
        if now is not result.verdict:
            context.on_difference(
                f"{check} of a draft: {result.verdict.value} in the record, {now.value} now"
            )


def _outputs(context: RunContext, program: str, inputs: tuple[str, ...]) -> list[str | None]:
    match context.task.form:
        case FunctionForm(entry=entry):
            return _results(context, program, entry, inputs)
        case ProgramForm():
            return _printed(context, program, inputs)
        case _:
            return [None] * len(inputs)


def _results(
    context: RunContext, program: str, entry: str, inputs: tuple[str, ...]
) -> list[str | None]:
    """Return the result of each call, all of which share one process."""
    if not inputs:
        return []
    calls = tuple(f"{entry}({arguments})" for arguments in inputs)
    limits = Bounds(seconds=_SECONDS, memory_bytes=bounds(context.task).memory_bytes)
    outcome = context.sandbox.run(
        Execution(source=program, action=CallFunction(calls=calls), bounds=limits)
    )
    seen = [
        _text(_shown(value_of(c.value))) if isinstance(c, Returned) else None for c in outcome.calls
    ]
    return [*seen, *[None] * (len(inputs) - len(seen))]


def _shown(value: object) -> str:
    try:
        return as_text(value)
    except (ValueError, RecursionError):
        return shown(value)


def _printed(context: RunContext, program: str, inputs: tuple[str, ...]) -> list[str | None]:
    """Return what each run of the program printed."""
    limits = bounds(context.task)
    limits = Bounds(seconds=min(limits.seconds, _SECONDS), memory_bytes=limits.memory_bytes)
    seen: list[str | None] = []
    timeouts = 0
    for text in inputs:
        if timeouts == _MOST_TIMEOUTS:
            break
        outcome = context.sandbox.run(
            Execution(source=program, action=RunProgram(stdin=text), bounds=limits)
        )
        timeouts += outcome.ending is Ending.TIMEOUT
        printed = outcome.stdout.decode("utf-8", "replace")
        lines = "\n".join(line.rstrip() for line in printed.rstrip().split("\n"))
        seen.append(_text(lines) if outcome.ending is Ending.OK else None)
    return [*seen, *[None] * (len(inputs) - len(seen))]


def _text(output: str) -> str:
    """Return an output as it is recorded: a long one is replaced by its digest."""
    return (
        whole(output)
        if len(output) <= _LONGEST
        else f"sha256:{digest(output.encode('utf-8', 'replace'))}"
    )
