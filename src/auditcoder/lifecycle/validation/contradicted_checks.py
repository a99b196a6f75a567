"""Drops generated checks that the examples of the task contradict."""

import ast

from auditcoder.domain.events import CheckDropped
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Returned
from auditcoder.domain.graph import Node
from auditcoder.domain.ids import ROOT
from auditcoder.domain.python_names import PARSE_ERRORS, expression
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import CallExample, Example, FunctionForm, StdioExample, example_check
from auditcoder.domain.value_decoder import read
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder.lifecycle.validation.function_calls import run_calls
from auditcoder.lifecycle.validation.program_checks import bounds, checks
from auditcoder.sandboxed import contract_monitor
from auditcoder.sandboxed.result_comparison import same_output


def drop_contradicted_cases(context: RunContext) -> None:
    """Drop planned cases whose input has a different output in an example of the task."""
    for check, example in list(checks(context)):
        if check.trust is not Trust.GENERATED:
            continue
        for number, given in enumerate(context.task.examples, start=1):
            if same_input(given, example) and not same_answer(given, example):
                reason = f"{example_check(number)} gives the same input another answer"
                context.recorder.record(CheckDropped(check=check.id, reason=reason))
                break


def same_input(a: Example, b: Example) -> bool:
    """Whether two examples have the same input."""
    match a, b:
        case StdioExample(), StdioExample():
            return a.input.split() == b.input.split()
        case CallExample(), CallExample():
            return _tree(a.arguments) == _tree(b.arguments)
        case _:
            return False


def same_answer(a: Example, b: Example) -> bool:
    """Whether two examples of one form expect the same result."""
    match a, b:
        case StdioExample(), StdioExample():
            return same_output(a.output, b.output)
        case CallExample(), CallExample():
            return _tree(a.result) == _tree(b.result)
        case _:
            return True


def _tree(text: str) -> str:
    try:
        return ast.dump(expression(f"f({text})"))
    except PARSE_ERRORS:
        return text


def drop_contradicted_clauses(context: RunContext, local: list[Evidence]) -> None:
    """Drop a node's failed contract checks that a passing example of the task contradicts.

    If the program passes an example while the clause is false, the clause is wrong.
    """
    recorder = context.recorder
    while (dropped := recorder.recall_drop()) is not None:
        recorder.record(dropped)
    if recorder.replaying:
        return
    suspects = [
        e
        for e in local
        if e.verdict.failing
        and e.kind in {CheckKind.CONTRACT, CheckKind.EXAMPLE}
        and e.trust is Trust.GENERATED
        and e.check in context.recorder.ledger.checks
    ]
    passed = [
        (number, example)
        for number, example in enumerate(context.task.examples, start=1)
        if _passes(context, example_check(number))
    ]
    if not suspects or not passed:
        return
    broken = _broken(context, suspects, passed)
    for check, number in broken.items():
        reason = f"it does not hold in {example_check(number)}, which the program answers right"
        context.recorder.record(CheckDropped(check=check, reason=reason))


def _passes(context: RunContext, check: CheckId) -> bool:
    standing = context.recorder.ledger.working.evidence.get(check)
    return standing is not None and standing.verdict is Verdict.PASSED


def _broken(
    context: RunContext, suspects: list[Evidence], passed: list[tuple[int, Example]]
) -> dict[CheckId, int]:
    """Run the passing examples and evaluate the suspects on every call.

    Return the suspects that did not hold, each with the number of the first such example.
    """
    ledger = context.recorder.ledger
    watchers = []
    for number, evidence in enumerate(suspects):
        assert isinstance(evidence.subject, AtNode)
        node = ledger.graph.by_id[evidence.subject.node]
        watchers.append(_watcher(number, node, evidence))
    source = "\n\n".join([context.program, joined_source(contract_monitor.__name__), *watchers])
    broken: dict[CheckId, int] = {}
    for number, example in passed:
        call = call_of(context, example)
        if call is None:
            continue
        calls = (call, "sorted(_audit_broken)")
        outcome = run_calls(context, source, calls, bounds(context.task))
        if len(outcome.calls) == 2 and isinstance(last := outcome.calls[1], Returned):
            for index in _indices(last.value, len(suspects)):
                broken.setdefault(suspects[index].check, number)
    return broken


def _indices(text: str, count: int) -> list[int]:
    try:
        value = read(text)
    except ValueError:
        return []
    if not isinstance(value, list):
        return []
    return [i for i in value if isinstance(i, int) and 0 <= i < count]


def call_of(context: RunContext, example: Example) -> str | None:
    """Return the call of the root that an example makes; None if it makes none."""
    match example:
        case StdioExample(input=given):
            root = context.recorder.ledger.graph.by_id[ROOT].contract
            return f"{root.name if root else 'solve'}({given!r})"
        case CallExample(arguments=arguments) if isinstance(context.task.form, FunctionForm):
            return f"{context.task.form.entry}({arguments})"
        case _:
            return None


def _watcher(number: int, node: Node, evidence: Evidence) -> str:
    """Return the statement that makes every call of a function evaluate one suspect."""
    contract = node.contract
    assert contract is not None
    function = contract.name
    if evidence.kind is CheckKind.CONTRACT:
        names = [p.name for p in contract.params]
        promise = evidence.requirement
        return f"{function} = _audit_promise({function}, {number}, {names}, {promise!r})"
    call, _, expected = evidence.requirement.rpartition(" == ")
    arguments = call.removeprefix(f"{function}(").removesuffix(")")
    return f"{function} = _audit_example({function}, {number}, {arguments!r}, {expected!r})"
