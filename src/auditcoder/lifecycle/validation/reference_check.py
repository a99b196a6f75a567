"""Compares a node with a slow reference that another role wrote, on small inputs."""

from auditcoder.domain.contract import Contract, signature_faults
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Bounds, Ending, ExecutionOutcome, Raised, Returned
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtNode
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, digest
from auditcoder.lifecycle.import_completion import completing
from auditcoder.lifecycle.planning.sketch_writer import described
from auditcoder.lifecycle.response_formats import FormatMismatch, ParsedPython
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder.lifecycle.token_limits import REFERENCE
from auditcoder.lifecycle.validation.check_recorder import (
    CheckObservation,
    CheckSpec,
    record_unless_dropped,
)
from auditcoder.lifecycle.validation.function_calls import ended, run_calls, value_of
from auditcoder.lifecycle.validation.node_checks import surroundings
from auditcoder.sandboxed import reference_cases
from auditcoder.sandboxed.result_comparison import same_value, shown

_COUNT = 20
_BOUNDS = Bounds(seconds=10.0)


def reference_shape(contract: Contract) -> ParsedPython[str]:
    """Return the response format of a reference: the function, and `small_input`."""
    function = Contract(name=contract.name, params=contract.params)
    generator = Contract(name="small_input", params=())

    def module(text: str) -> str:
        if faults := signature_faults(function, text):
            raise FormatMismatch(faults[0])
        if "0 functions" in " ".join(signature_faults(generator, text)):
            raise FormatMismatch("there is no function small_input in it")
        return "\n".join([*completing(text, set()), text])

    return ParsedPython(module)


def validate_differential(context: RunContext, node: NodeId) -> list[Evidence]:
    """Compare a node with a slow reference if the option is set and the model writes one."""
    ledger = context.recorder.ledger
    chosen = ledger.graph.by_id[node]
    contract, code = chosen.contract, ledger.working.code.get(node)
    program = surroundings(context, node) if code and not code.scope and node != ROOT else None
    if not context.options.differential or contract is None or program is None:
        return []
    brief = ledger.working.brief
    ranges = ", ".join(
        f"{r.minimum} <= {r.variable} <= {r.maximum}"
        for r in (brief.parsed.ranges if brief else ())
    )
    try:
        answer = context.ask(
            "brute_force",
            reference_shape(contract),
            Phase.VERIFICATION,
            REFERENCE,
            role="brute force",
            node=node,
            statement=context.statement,
            about=described(chosen),
            ranges=ranges or "not stated",
            header=contract.header(),
        )
    except ReplyUnusable:
        return []
    reference = answer.value
    check = CheckSpec(
        CheckId(f"{node}.differential-{digest(reference.encode())[:6]}"),
        AtNode(node=node),
        CheckKind.DIFFERENTIAL,
        Trust.GENERATED,
        f"it agrees with a slow reference on {_COUNT} small inputs",
        reference,
    )
    return record_unless_dropped(
        context, check, lambda: _compare(context, contract, reference, program)
    )


def _compare(
    context: RunContext, contract: Contract, reference: str, program: str
) -> CheckObservation:
    """Get inputs and results from the reference, then run the node on the same inputs."""
    harness = f"{reference}\n\n\n{joined_source(reference_cases.__name__)}"
    seeds = tuple(f"_audit(small_input, {contract.name}, {seed})" for seed in range(_COUNT))
    ran = run_calls(context, harness, seeds, _BOUNDS)
    cases = [case for call in ran.calls if isinstance(call, Returned) and (case := _case(call))]
    if not cases:
        message = f"the reference made no usable case: {_why_none(ran)}"
        return CheckObservation(Verdict.NOT_RUN, message, judge=ran.sandbox)
    calls = tuple(f"{contract.name}(*{arguments})" for arguments, _ in cases)
    outcome = run_calls(context, program, calls, _BOUNDS)
    pairs = zip(cases, outcome.calls, strict=False)
    for tried, ((arguments, expected), call) in enumerate(pairs, start=1):
        if isinstance(call, Raised):
            message = f"{arguments} raises {call.exception}: {call.message}"
            return CheckObservation(Verdict.CRASH, message, outcome=outcome, tried=tried)
        value = value_of(call.value)
        if not same_value(expected, value):
            message = f"{arguments} gives {shown(value)}, the reference {shown(expected)}"
            return CheckObservation(Verdict.FAILED, message[:500], outcome=outcome, tried=tried)
    if len(outcome.calls) < len(cases):
        return CheckObservation(ended(outcome), "it did not come to an end", outcome=outcome)
    message = f"they agree on {len(cases)} of {_COUNT} inputs"
    return CheckObservation(Verdict.PASSED, message, outcome=outcome, tried=len(cases))


def _why_none(ran: ExecutionOutcome) -> str:
    """Say why a run of a reference made no case."""
    for call in ran.calls:
        if isinstance(call, Raised):
            return f"it raises {call.exception}: {call.message}"
    if ran.ending is not Ending.OK:
        return f"it ended with {ran.ending.value}"
    return "its results cannot be read"


def _case(call: Returned) -> tuple[str, object] | None:
    value = value_of(call.value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return value[0], value[1]
    return None
