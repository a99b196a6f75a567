"""Differential checks: a slow reference that another role wrote, on small inputs of its own."""

from auditcoder.domain.contract import Contract, signature_faults
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import Bounds, Raised, Returned
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.places import AtNode
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, digest
from auditcoder.lifecycle.imports import completing
from auditcoder.lifecycle.planning.rendering import described
from auditcoder.lifecycle.shapes import Code, Unfit
from auditcoder.lifecycle.validating.comparing import same_value, shown
from auditcoder.lifecycle.validating.evidence import Check, Seen, record
from auditcoder.lifecycle.validating.node import surroundings
from auditcoder.lifecycle.validating.running import run_calls, value_of
from auditcoder.lifecycle.workshop import Workshop

_COUNT = 20
_BOUNDS = Bounds(seconds=10.0)
_MAX_TOKENS = 600


def reference_shape(contract: Contract) -> Code[str]:
    """Ask for a block with the function, and with `small_input`."""
    found = Contract(name=contract.name, params=contract.params)
    wanted = Contract(name="small_input", params=())

    def module(text: str) -> str:
        if faults := signature_faults(found, text):
            raise Unfit(faults[0])
        if "0 functions" in " ".join(signature_faults(wanted, text)):
            raise Unfit("there is no function small_input in it")
        return "\n".join([*completing(text, set()), text])

    return Code(module)


def validate_differential(workshop: Workshop, node: NodeId) -> list[Evidence]:
    """Compare a node with a slow reference, where it is asked for and one can be had."""
    ledger = workshop.recorder.ledger
    chosen = ledger.graph.by_id[node]
    contract, code = chosen.contract, ledger.working.code.get(node)
    program = surroundings(workshop, node) if code and not code.scope and node != ROOT else None
    if not workshop.options.differential or contract is None or program is None:
        return []
    brief = ledger.working.brief
    ranges = ", ".join(
        f"{r.minimum} <= {r.variable} <= {r.maximum}"
        for r in (brief.parsed.ranges if brief else ())
    )
    try:
        answer = workshop.ask(
            "brute_force",
            reference_shape(contract),
            Phase.VERIFICATION,
            _MAX_TOKENS,
            role="brute force",
            node=node,
            statement=workshop.statement,
            about=described(chosen),
            ranges=ranges or "not stated",
            header=contract.header(),
        )
    except ReplyUnusable:
        return []  # both answers are on record
    reference = answer.value
    workshop.references[node, contract] = reference
    check = Check(
        CheckId(f"{node}.differential-{digest(reference.encode())[:6]}"),
        AtNode(node=node),
        CheckKind.DIFFERENTIAL,
        Trust.GENERATED,
        f"it agrees with a slow reference on {_COUNT} small inputs",
        reference,
    )
    return [record(workshop, check, lambda: _compare(workshop, contract, reference, program))]


def _compare(workshop: Workshop, contract: Contract, reference: str, program: str) -> Seen:
    """Let the reference make inputs and answers, in a run of its own; then ask the candidate."""
    harness = f"""{reference}


def _audit(seed):
    import copy, random
    arguments = small_input(random.Random(seed))
    if isinstance(arguments, dict):
        arguments = tuple(arguments.values())
    if not isinstance(arguments, tuple):
        arguments = (arguments,)
    return repr(arguments), {contract.name}(*copy.deepcopy(arguments))
"""
    seeds = tuple(f"_audit({seed})" for seed in range(_COUNT))
    made = run_calls(workshop, harness, seeds, _BOUNDS)
    cases = [case for call in made.calls if isinstance(call, Returned) and (case := _case(call))]
    if not cases:
        return Seen(Verdict.PASSED, "the reference made no usable case", outcome=made)
    calls = tuple(f"{contract.name}(*{arguments})" for arguments, _ in cases)
    outcome = run_calls(workshop, program, calls, _BOUNDS)
    for (arguments, expected), call in zip(cases, outcome.calls, strict=False):
        if isinstance(call, Raised):
            said = f"{arguments} raises {call.exception}: {call.message}"
            return Seen(Verdict.CRASH, said, outcome=outcome)
        value = value_of(call.value)
        if not same_value(expected, value):
            said = f"{arguments} gives {shown(value)}, the reference {shown(expected)}"
            return Seen(Verdict.FAILED, said[:500], outcome=outcome)
    if len(outcome.calls) < len(cases):
        return Seen(Verdict.TIMEOUT, "it did not come to an end", outcome=outcome)
    return Seen(Verdict.PASSED, f"they agree on {len(cases)} inputs", outcome=outcome)


def _case(call: Returned) -> tuple[str, object] | None:
    value = value_of(call.value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return value[0], value[1]
    return None
