"""Shared histories: runs brought to a given state, and events that may or may not follow."""

from datetime import datetime

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.brief import Brief, PlannedCheck, Requirements
from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.contract import Param
from auditcoder.domain.errors import RecordRefused
from auditcoder.domain.events import (
    CheckRan,
    CodeWritten,
    Event,
    ExceptionRaised,
    GraphRevised,
    Located,
    ReplyRecorded,
)
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.graph import GraphDelta
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws import Law, deciding
from auditcoder.domain.laws.check_laws import parsed_checks
from auditcoder.domain.python_names import BUILTINS
from auditcoder.domain.repair import (
    Decision,
    IntegrationException,
)
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import StdioExample
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.usage import Phase, Scope
from auditcoder.domain.values import CheckId, Digest
from auditcoder.lifecycle.recorder import Recorder
from tests.support.record_builders import (
    GRAPH,
    RUN,
    S1,
    S1_1,
    S2,
    check_program,
    code,
    localised,
    node,
    repairing,
)
from tests.support.records import forge, take

replace = msgspec.structs.replace

started_at = msgspec.convert("2026-01-02T03:04:05Z", datetime)


def written(
    recorder: Recorder,
    name: NodeId,
    source: str,
    *,
    scope: str = "",
    cause: NodeId | None = None,
    reply: int | None = None,
) -> CodeWritten:
    """Return the event of writing `source`, with the units that the source has on its own."""
    return CodeWritten(
        node=name,
        code=recorder.put(source),
        units=units_of(read_bundle(source), name, scope, BUILTINS),
        scope=scope,
        cause=cause,
        reply=reply,
    )


def assert_illegal(recorder: Recorder, event: Event, law: Law, *blobs: str) -> None:
    """Assert that the recorder refuses `event`, and verification finds it if forged."""
    before = recorder.head
    with pytest.raises(RecordRefused) as refused:
        recorder.record(event)
    assert refused.value.code == f"law.{law.value}"
    assert recorder.head == before, "a refused event leaves the record as it was"
    raw = take(recorder._store, RUN)
    assert raw.verify().holds
    staged = tuple(recorder._staged.values())
    forged = forge(raw, [*raw.events(), event], *staged, *(b.encode() for b in blobs))
    report = forged.verify()
    assert [f.code for f in report.findings] == [f"law.{law.value}"]
    assert report.findings[0].seq == len(raw.bodies)


def reply(recorder: Recorder, phase: Phase = Phase.GENERATION, text: str = "here") -> ReplyRecorded:
    """Return a recorded reply to a request in `phase`."""
    return ReplyRecorded(
        role="math",
        scope=Scope.REPAIR if recorder.ledger.assembled else Scope.INITIAL,
        phase=phase,
        request=recorder.put("please"),
        reply=recorder.put(text),
    )


def planning(name: str, trust: Trust, output: str = "2") -> Brief:
    """Return a brief that plans one check."""
    example = StdioExample(input="1", output=output)
    planned = PlannedCheck(id=CheckId(name), trust=trust, example=example)
    return Brief(requirements=Requirements(checks=(planned,)))


def ran(name: NodeId, against: Digest) -> CheckRan:
    """Return the event of a passed check of one node against the code `against`."""
    return CheckRan(
        evidence=Evidence(
            check=CheckId(f"{name}.late"),
            kind=CheckKind.BOUNDARY,
            subject=AtNode(node=name),
            trust=Trust.GENERATED,
            verdict=Verdict.PASSED,
            against=against,
            exit_code=0,
            judge="test",
        )
    )


def parsed_evidence(recorder: Recorder, name: NodeId, kind: CheckKind) -> Evidence:
    """Return the evidence that a node's code compiles, or keeps its contract's header."""
    known = parsed_checks(recorder.ledger.graph.by_id[name])
    check, defined = next((c, d) for c, d in known.items() if d.kind is kind)
    return Evidence(
        check=check,
        kind=kind,
        subject=defined.subject,
        trust=defined.trust,
        verdict=Verdict.PASSED,
        against=recorder.ledger.working.code[name].digest,
        requirement=defined.requirement,
    )


def located_at(recorder: Recorder, name: NodeId, *evidence: int) -> Located:
    """Return the event of a diagnosis that names one node and cites `evidence`."""
    return Located(diagnosis=localised(recorder, AtNode(node=name), evidence=evidence))


def exception(parent: NodeId, child: NodeId) -> ExceptionRaised:
    """Return an integration exception that frees `child`."""
    return ExceptionRaised(
        exception=IntegrationException(
            parent=parent, child=child, rationale="the shape must change", region=(child,)
        )
    )


def add_s1_2(promised: str = "f_S1_2") -> GraphRevised:
    """Return a revision of the graph that adds S1_2, whose contract promises a function."""
    new = node("S1_2", S1)
    assert new.contract is not None
    new = replace(new, contract=replace(new.contract, name=promised))
    delta = GraphDelta(added=(new,), order=(S1_1, new.id, S2))
    return GraphRevised(delta=delta, reason="one part was missing")


def retire_s1_1() -> GraphRevised:
    """Return a revision of the graph that retires S1_1."""
    lonely = replace(GRAPH.by_id[S1], dependencies=())
    delta = GraphDelta(revised=(lonely,), retired=(S1_1,), order=(S1, S2))
    return GraphRevised(delta=delta, reason="one part was too many")


def move_interface(name: NodeId) -> GraphRevised:
    """Return a revision of the graph that changes a node's parameters."""
    old = GRAPH.by_id[name]
    assert old.contract is not None
    contract = replace(old.contract, params=(Param(name="y", type="float"),))
    delta = GraphDelta(revised=(replace(old, contract=contract),), order=GRAPH.order)
    return GraphRevised(delta=delta, reason="the types did not fit")


def improved(store: SqliteStore) -> Recorder:
    """Return a run with an open transaction whose candidate passes every check."""
    recorder = repairing(store)
    recorder.write_code(S1_1, code("S1_1", "return 2 * x"))
    recorder.assemble()
    check_program(recorder, "example-1", Verdict.PASSED)
    check_program(recorder, "example-2", Verdict.PASSED)
    check_program(recorder, "loads", Verdict.PASSED)
    return recorder


def rejected(store: SqliteStore) -> Recorder:
    """Return a run whose candidate was rejected and not yet rolled back."""
    recorder = repairing(store)
    recorder.write_code(S1_1, code("S1_1", "return 3"))
    recorder.record(deciding(recorder.ledger))
    return recorder


def traced(store: SqliteStore) -> Trace:
    """Return the trace of the run in `store`."""
    return fold(store.read(RUN), store.blob)


def accept_repair(recorder: Recorder) -> Decision:
    """Write better code for S1_1, pass every check of the program, and decide."""
    recorder.write_code(S1_1, code(S1_1, "return 2 * x"))
    recorder.assemble()
    for check in recorder.ledger.program_checks():
        check_program(recorder, check, Verdict.PASSED)
    return recorder.decide()
