"""The checks of one node, which need only its own code and that of its dependencies."""

import re
from functools import partial

from auditcoder.domain.assembly import AssemblyConflict, assemble
from auditcoder.domain.contract import Contract, signature_faults
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Ending, Raised, Returned
from auditcoder.domain.graph import Node
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws.check_laws import parsed_checks
from auditcoder.domain.python_names import compile_fault
from auditcoder.domain.task import CallExample, StdioExample
from auditcoder.lifecycle.plan_excerpts import defined_names
from auditcoder.lifecycle.planning.contract_parser import unread_examples
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import (
    CheckObservation,
    CheckSpec,
    node_check,
    not_assembled,
    record,
    record_unless_dropped,
)
from auditcoder.lifecycle.validation.cost_growth import validate_growth
from auditcoder.lifecycle.validation.function_calls import (
    NODE_BOUNDS,
    NoValue,
    argument_fault,
    ended,
    expected_value,
    run_calls,
    value_of,
)
from auditcoder.lifecycle.validation.promise_checks import validate_promises
from auditcoder.sandboxed.result_comparison import same_output, same_value, shown


def validate_node(context: RunContext, node: NodeId) -> list[Evidence]:
    """Run every check of one node's own code; return the evidence."""
    ledger = context.recorder.ledger
    chosen, code = ledger.graph.by_id[node], ledger.working.code.get(node)
    if code is None:
        return []
    source = context.recorder.text(code.digest)
    compiles, *signature = [
        CheckSpec(check, known.subject, known.kind, known.trust, known.requirement)
        for check, known in parsed_checks(chosen).items()
    ]
    seen = [record(context, compiles, lambda: _compile(source))]
    contract = chosen.contract
    if contract is None or seen[0].verdict is not Verdict.PASSED:
        return seen
    seen.append(record(context, signature[0], lambda: _signature(contract, source)))
    if code.scope or node == ROOT or seen[1].verdict is not Verdict.PASSED:
        return seen  # a method needs its object, and the root needs the whole program
    program = surroundings(context, node)
    seen += _task_examples(context, chosen, contract, program)
    calls = [e for e in contract.examples if isinstance(e, CallExample)]
    for example in calls:
        seen += _example(context, chosen, contract, example, program)
    for sentence in unread_examples(chosen):
        seen += _unread_example(context, chosen, sentence)
    seen += validate_promises(context, chosen, contract, program)
    seen += validate_growth(context, chosen, contract, program)
    return seen


def surroundings(context: RunContext, node: NodeId) -> str | None:
    """Return a module with a node's code and what it relies on; None if they clash.

    It relies on the dependencies of the plan, and on the owners of names that its code mentions.
    """
    ledger = context.recorder.ledger
    graph, working = ledger.graph, ledger.working
    needed, more = set[NodeId](), {node, *_defining_for_examples(context, node)}
    known = working.owners() | graph.promises
    while more:
        needed |= more
        words = {word for n in more if n in working.bundles for word in working.bundles[n].words}
        mentioned = {owner for name, owner in known.items() if name in words}
        more = ({d for n in more for d in graph.relied_on_by(n)} | mentioned) - needed
    code = {n: c for n, c in working.code.items() if n in needed and n != ROOT}
    try:
        return assemble(graph, code, working.bundles).text
    except AssemblyConflict:
        return None


def _defining_for_examples(context: RunContext, node: NodeId) -> set[NodeId]:
    """Return the nodes that own the definitions which the examples of a node name."""
    ledger = context.recorder.ledger
    contract = ledger.graph.by_id[node].contract
    calls = [e for e in contract.examples if isinstance(e, CallExample)] if contract else []
    words = {word for e in calls for word in re.findall(r"\w+", f"{e.arguments} {e.result}")}
    shared = defined_names(ledger.graph, ledger.working)
    return {owner for name, owner in shared.items() if name in words}


def _compile(source: str) -> CheckObservation:
    if fault := compile_fault(source):
        return CheckObservation(Verdict.FAILED, f"it does not compile: {fault}", judge="parser")
    return CheckObservation(Verdict.PASSED, judge="parser")


def _signature(contract: Contract, source: str) -> CheckObservation:
    faults = signature_faults(contract, source)
    verdict = Verdict.FAILED if faults else Verdict.PASSED
    return CheckObservation(verdict, "; ".join(faults), judge="parser")


def _example(
    context: RunContext, node: Node, contract: Contract, example: CallExample, program: str | None
) -> list[Evidence]:
    call = f"{contract.name}({example.arguments})"
    check = node_check(
        node.id,
        "example",
        CheckKind.EXAMPLE,
        Trust.GENERATED,
        requirement=f"{call} == {example.result}",
        given=example.arguments,
        expected=example.result,
    )

    def run() -> CheckObservation:
        if fault := argument_fault(context, example.arguments):
            return CheckObservation(Verdict.NOT_RUN, fault, judge=context.sandbox.kind)
        return _answer(context, program, call, example)

    return record_unless_dropped(context, check, run)


def _unread_example(context: RunContext, node: Node, sentence: str) -> list[Evidence]:
    """Record that an example of the plan cannot be run; it is shown to writers as a sentence."""
    check = node_check(node.id, "example", CheckKind.EXAMPLE, Trust.GENERATED, requirement=sentence)
    observed = CheckObservation(Verdict.NOT_RUN, _UNREAD, judge="parser")
    return record_unless_dropped(context, check, lambda: observed)


_UNREAD = "it is no call with a result that can be evaluated without the function"


def _task_examples(
    context: RunContext, node: Node, contract: Contract, program: str | None
) -> list[Evidence]:
    """Run the examples of the task on the node if it is the only one."""
    if context.recorder.ledger.graph.sole is None:
        return []
    seen = []
    for number, example in enumerate(context.task.examples, start=1):
        match example:
            case StdioExample():
                call = repr(example.input.removesuffix("\n"))
                given, expected = example.input, example.output
            case CallExample():
                call = given = example.arguments
                expected = example.result
            case _:
                continue
        check = node_check(
            node.id,
            f"given-{number}",
            CheckKind.EXAMPLE,
            requirement=f"it answers example {number}",
            given=given,
            expected=expected,
        )
        run = partial(_answer, context, program, f"{contract.name}({call})", example)
        seen.append(record(context, check, run))
    return seen


def _answer(
    context: RunContext, program: str | None, call: str, example: StdioExample | CallExample
) -> CheckObservation:
    if program is None:
        return not_assembled()
    expected = expected_value(context, example) if isinstance(example, CallExample) else None
    if isinstance(expected, NoValue):
        return CheckObservation(Verdict.NOT_RUN, expected.reason, judge=context.sandbox.kind)
    outcome = run_calls(context, program, (call,), NODE_BOUNDS)
    match outcome.calls:
        case (Returned(value=text), *_) if outcome.ending is Ending.OK:
            value = value_of(text)
            observed = shown(value)
            message = f"it is {observed}"[:500]
            if isinstance(example, StdioExample):
                printed = _printed(value)
                right = same_output(example.output, printed)
                if not isinstance(value, str):
                    observed = printed  # a fraction is not printed as it is represented
            else:
                right = same_value(expected, value)
            if right:
                return CheckObservation(Verdict.PASSED, "", observed, outcome)
            return CheckObservation(Verdict.FAILED, message, observed, outcome)
        case (Raised() as raised, *_):
            return CheckObservation(
                Verdict.CRASH, f"{raised.exception}: {raised.message}", outcome=outcome
            )
        case _:
            return CheckObservation(ended(outcome), outcome.note, outcome=outcome)


def _printed(value: object) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):
        return shown(value)
