"""Checks that a model wrote are hypotheses: what the given examples contradict is dropped."""

import ast

from auditcoder.domain.binding import PARSE_ERRORS, expression
from auditcoder.domain.events import CheckDropped
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Returned
from auditcoder.domain.graph import Node
from auditcoder.domain.ids import ROOT
from auditcoder.domain.observed import read
from auditcoder.domain.places import AtNode
from auditcoder.domain.task import CallExample, Example, FunctionForm, StdioExample, example_check
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.validating.comparing import same_output
from auditcoder.lifecycle.validating.program import bounds, checks
from auditcoder.lifecycle.validating.running import run_calls
from auditcoder.lifecycle.workshop import Workshop


def drop_contradicted_cases(workshop: Workshop) -> None:
    """Drop planned cases that give another answer to an input that the task answers itself."""
    for check, example in list(checks(workshop)):
        if check.trust is not Trust.GENERATED:
            continue
        for number, given in enumerate(workshop.task.examples, start=1):
            if _same_input(given, example) and not _same_answer(given, example):
                reason = f"{example_check(number)} gives the same input another answer"
                workshop.recorder.record(CheckDropped(check=check.id, reason=reason))
                break


def _same_input(a: Example, b: Example) -> bool:
    match a, b:
        case StdioExample(), StdioExample():
            return a.input.split() == b.input.split()
        case CallExample(), CallExample():
            return _tree(a.arguments) == _tree(b.arguments)
        case _:
            return False


def _same_answer(a: Example, b: Example) -> bool:
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


def drop_contradicted_promises(workshop: Workshop, local: list[Evidence]) -> None:
    """Drop a node's failed promise if the program breaks it on an example that it answers right.

    Then either the promise or the task is wrong, and the task is not.
    """
    recorder = workshop.recorder
    while (dropped := recorder.recall_drop()) is not None:
        recorder.record(dropped)
    if recorder.retracing:
        return
    suspects = [
        e
        for e in local
        if e.verdict is not Verdict.PASSED
        and e.kind in {CheckKind.CONTRACT, CheckKind.EXAMPLE}
        and e.trust is Trust.GENERATED
        and e.check in workshop.recorder.ledger.checks
    ]
    passed = [
        (number, example)
        for number, example in enumerate(workshop.task.examples, start=1)
        if _passes(workshop, example_check(number))
    ]
    if not suspects or not passed:
        return
    broken = _broken(workshop, suspects, passed)
    for check, number in broken.items():
        reason = f"it does not hold in {example_check(number)}, which the program answers right"
        workshop.recorder.record(CheckDropped(check=check, reason=reason))


def _passes(workshop: Workshop, check: CheckId) -> bool:
    standing = workshop.recorder.ledger.working.evidence.get(check)
    return standing is not None and standing.verdict is Verdict.PASSED


def _broken(
    workshop: Workshop, suspects: list[Evidence], passed: list[tuple[int, Example]]
) -> dict[CheckId, int]:
    """Run the passing examples with the suspects watching; return which failed, and where."""
    ledger = workshop.recorder.ledger
    watchers = []
    for number, evidence in enumerate(suspects):
        assert isinstance(evidence.subject, AtNode)
        node = ledger.graph.by_id[evidence.subject.node]
        watchers.append(_watcher(number, node, evidence))
    source = "\n\n".join([workshop.program, _WATCH, *watchers])
    found: dict[CheckId, int] = {}
    for number, example in passed:
        call = _call(workshop, example)
        if call is None:
            continue
        calls = (call, "sorted(_audit_broken)")
        outcome = run_calls(workshop, source, calls, bounds(workshop.task))
        if len(outcome.calls) == 2 and isinstance(last := outcome.calls[1], Returned):
            for index in _indices(last.value, len(suspects)):
                found.setdefault(suspects[index].check, number)
    return found


def _indices(text: str, count: int) -> list[int]:
    try:
        value = read(text)
    except ValueError:
        return []
    if not isinstance(value, list):
        return []
    return [i for i in value if isinstance(i, int) and 0 <= i < count]


def _call(workshop: Workshop, example: Example) -> str | None:
    match example:
        case StdioExample(input=given):
            root = workshop.recorder.ledger.graph.by_id[ROOT].contract
            return f"{root.name if root else 'solve'}({given!r})"
        case CallExample(arguments=arguments) if isinstance(workshop.task.form, FunctionForm):
            return f"{workshop.task.form.entry}({arguments})"
        case _:
            return None


_WATCH = """\
_audit_broken = set()


def _audit_watch(function, number, holds):
    import copy, functools

    @functools.wraps(function)
    def watched(*arguments, **named):
        before, by_name = copy.deepcopy((arguments, named))
        result = function(*arguments, **named)
        try:
            if not holds(result, *before, **by_name):
                _audit_broken.add(number)
        except Exception:
            _audit_broken.add(number)
        return result

    return watched
"""


def _watcher(number: int, node: Node, evidence: Evidence) -> str:
    """Write the lines that put one suspect on watch."""
    contract = node.contract
    assert contract is not None
    names = ", ".join(p.name for p in contract.params)
    if evidence.kind is CheckKind.CONTRACT:
        holds = f"lambda result, {names}: {evidence.requirement}"
    else:
        call, _, expected = evidence.requirement.rpartition(" == ")
        arguments = call.removeprefix(f"{contract.name}(").removesuffix(")")
        holds = (
            "lambda result, *seen, **named:"
            f" named or seen != ({arguments},) or result == ({expected})"
        )
    return f"{contract.name} = _audit_watch({contract.name}, {number}, {holds})"
