"""The checks of one responsibility: what can be said about it before the whole is there."""

from collections.abc import Callable
from functools import cache, partial

from auditcoder.domain.assembly import AssemblyConflict, assemble
from auditcoder.domain.binding import LITERAL_ERRORS, PARSE_ERRORS, literal_value
from auditcoder.domain.contract import RESULT, Contract, signature_faults
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Ending, Outcome, Raised, Returned
from auditcoder.domain.graph import Node
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import CallExample, StdioExample
from auditcoder.lifecycle.validating.comparing import same_output, same_value, shown
from auditcoder.lifecycle.validating.evidence import VERDICTS, Seen, node_check, record
from auditcoder.lifecycle.validating.growth import validate_growth
from auditcoder.lifecycle.validating.inputs import inputs_for
from auditcoder.lifecycle.validating.running import NODE_BOUNDS, ended, run_calls, value_of
from auditcoder.lifecycle.workshop import Workshop


def validate_node(workshop: Workshop, node: NodeId) -> list[Evidence]:
    """Run every check of one node's own code."""
    ledger = workshop.recorder.ledger
    chosen, code = ledger.graph.by_id[node], ledger.working.code.get(node)
    if code is None:
        return []
    source = workshop.recorder.text(code.digest)
    compiles = node_check(node, "compile", CheckKind.COMPILE)
    seen = [record(workshop, compiles, lambda: _compile(source))]
    contract = chosen.contract
    if contract is None or seen[0].verdict is not Verdict.PASSED:
        return seen
    signature = node_check(node, "signature", CheckKind.SIGNATURE, requirement=contract.header())
    seen.append(record(workshop, signature, lambda: _signature(contract, source)))
    if code.scope or node == ROOT or seen[1].verdict is not Verdict.PASSED:
        return seen  # methods need their object and the root its whole program
    program = surroundings(workshop, node)
    if program is None:
        return seen
    seen += _given(workshop, chosen, contract, program)
    calls = [e for e in contract.examples if isinstance(e, CallExample)]
    seen += [_example(workshop, chosen, contract, e, program) for e in calls]
    seen += _promises(workshop, chosen, contract, program)
    seen += validate_growth(workshop, chosen, contract, program)
    return seen


def surroundings(workshop: Workshop, node: NodeId) -> str | None:
    """Return a module in which a node can run: its code, and that of what it relies on."""
    ledger = workshop.recorder.ledger
    graph, working = ledger.graph, ledger.working
    needed = {node} | graph.relied_on_by(node)
    code = {n: c for n, c in working.code.items() if n in needed and n != ROOT}
    try:
        return assemble(graph, code, working.bundles).text
    except AssemblyConflict:
        return None


def _compile(source: str) -> Seen:
    try:
        compile(source, "bundle", "exec", dont_inherit=True)
    except PARSE_ERRORS as error:
        return Seen(Verdict.FAILED, f"it does not compile: {error}", judge="parser")
    return Seen(Verdict.PASSED, judge="parser")


def _signature(contract: Contract, source: str) -> Seen:
    faults = signature_faults(contract, source)
    verdict = Verdict.FAILED if faults else Verdict.PASSED
    return Seen(verdict, "; ".join(faults), judge="parser")


def _example(
    workshop: Workshop, node: Node, contract: Contract, example: CallExample, program: str
) -> Evidence:
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

    return record(workshop, check, partial(_answer, workshop, program, call, example))


def _given(workshop: Workshop, node: Node, contract: Contract, program: str) -> list[Evidence]:
    """Put the task's own examples to the one node that is all there is: they are about it."""
    if workshop.recorder.ledger.graph.sole is None:
        return []
    seen = []
    for number, example in enumerate(workshop.task.examples, start=1):
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
        put = partial(_answer, workshop, program, f"{contract.name}({call})", example)
        seen.append(record(workshop, check, put))
    return seen


def _answer(
    workshop: Workshop, program: str, call: str, example: StdioExample | CallExample
) -> Seen:
    outcome = run_calls(workshop, program, (call,), NODE_BOUNDS)
    match outcome.calls:
        case (Returned(value=text), *_):
            value = value_of(text)
            if isinstance(example, StdioExample):
                right = same_output(example.output, _printed(value))
            else:
                right = same_value(_literal(example.result), value)
            said = "" if right else f"it is {shown(value)}"[:500]
            verdict = Verdict.PASSED if right else Verdict.FAILED
            return Seen(verdict, said, shown(value), outcome)
        case (Raised() as raised, *_):
            return Seen(Verdict.CRASH, f"{raised.exception}: {raised.message}", outcome=outcome)
        case _:
            return Seen(ended(outcome), outcome.note, outcome=outcome)


def _printed(value: object) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):
        return shown(value)


def _literal(text: str) -> object:
    try:
        return literal_value(text)
    except LITERAL_ERRORS:
        return text


def _promises(workshop: Workshop, node: Node, contract: Contract, program: str) -> list[Evidence]:
    """Check each executable `ensures` on generated inputs that every `requires` admits."""
    promised = [c.expression for c in contract.ensures if c.expression]
    brief = workshop.recorder.ledger.working.brief
    rows = inputs_for(contract, brief.parsed.ranges if brief else ())
    named_so = any(p.name == RESULT for p in contract.params)  # then nobody can tell which is meant
    if not promised or not rows or named_so:
        return []
    required = [c.expression for c in contract.requires if c.expression]
    harness = f"{program}\n\n{_harness(contract, required, promised)}"
    calls = tuple(f"_audit(({row},))" for row in rows)

    @cache
    def outcome() -> Outcome:
        return run_calls(workshop, harness, calls, NODE_BOUNDS)

    seen = []
    for number, expression in enumerate(promised):
        check = node_check(
            node.id,
            "ensures",
            CheckKind.CONTRACT,
            Trust.GENERATED,
            requirement=expression,
            given="\n".join(rows),
        )
        seen.append(record(workshop, check, _kept(outcome, rows, number, bool(required))))
    return seen


def _harness(contract: Contract, required: list[str], promised: list[str]) -> str:
    """Write a function that calls the node and says, for each promise, whether it was kept.

    None means that nothing can be said: the input is not admitted, or the promise itself fails.
    """
    names = ", ".join(p.name for p in contract.params) + ","
    admitted = " and ".join(f"({e})" for e in required) or "True"
    kept = "\n".join(f"    _audit_kept.append(_audit_holds(lambda: {e}))" for e in promised)
    return f"""\
def _audit_holds(promise):
    try:
        return bool(promise())
    except Exception:
        return None


def _audit(_audit_arguments):
    import copy as _audit_copy
    {names} = _audit_copy.deepcopy(_audit_arguments)
    if not _audit_holds(lambda: {admitted}):
        return []
    result = {contract.name}(*_audit_copy.deepcopy(_audit_arguments))
    _audit_kept = []
{kept}
    return _audit_kept
"""


def _kept(
    outcome: Callable[[], Outcome], rows: tuple[str, ...], number: int, bounded: bool
) -> Callable[[], Seen]:
    def run() -> Seen:
        seen = outcome()
        held = 0
        for row, call in zip(rows, seen.calls, strict=False):
            if isinstance(call, Raised):
                # Without a requirement to say so, nobody promised to take this input.
                if bounded and not call.exception.startswith("_audit"):
                    said = f"({row}) raises {call.exception}: {call.message}"
                    return Seen(Verdict.CRASH, said, outcome=seen)
                continue
            kept = value_of(call.value)
            if isinstance(kept, list) and len(kept) > number:
                if kept[number] is False:
                    return Seen(Verdict.FAILED, f"it does not hold for ({row})", outcome=seen)
                held += kept[number] is True
        if not seen.calls and seen.ending is not Ending.OK:
            return Seen(ended(seen), "it cannot be loaded", outcome=seen)
        if seen.ending in {Ending.TIMEOUT, Ending.MEMORY}:
            return Seen(VERDICTS[seen.ending], f"after {held} inputs", outcome=seen)
        return Seen(Verdict.PASSED, f"held for {held} of {len(rows)} inputs", outcome=seen)

    return run
