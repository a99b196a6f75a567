"""The paper's serialised responsibility record: twelve fields per node, all from the trace."""

from typing import Any

import msgspec

from auditcoder.domain.graph import Node
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.trace import CodeVersion, RecordedEvidence, Trace
from auditcoder.exports.draft_report import draft_summary

FIELDS = (
    "id",
    "goal",
    "parent",
    "dependencies",
    "agent_type",
    "interface",
    "complexity_budget",
    "owned_code",
    "provenance",
    "validation",
    "integration_exceptions",
    "repair_history",
)


def responsibility_record(trace: Trace, node_id: NodeId, read: ReadBlob) -> dict[str, Any]:
    """Return the responsibility record of one node as plain data."""
    node = trace.nodes[node_id]
    return {
        "id": node.id,
        "goal": node.goal,
        "parent": node.parent,
        "dependencies": list(node.dependencies),
        "agent_type": {"kind": node.kind.value, "agent": _agent(trace, node_id)},
        "interface": _interface(node),
        "complexity_budget": _plain(node.contract.cost) if node.contract else None,
        "owned_code": _owned_code(trace, node_id, read),
        "provenance": {k: _plain(v) for k, v in node.provenance().items()} or "none declared",
        "validation": {
            "requirement": list(node.validation),
            "evidence": [_evidence(trace, w) for w in trace.checks_of(node_id)],
            "observations": [
                {"program": w.program, **_evidence(trace, w)}
                for w in trace.observations_of(node_id)
            ],
        },
        "integration_exceptions": [
            {"event": e.when.seq, "transaction": e.transaction, **_plain(e.exception)}
            for e in trace.exceptions
            if node_id in {e.exception.parent, e.exception.child, *e.exception.region}
        ],
        "repair_history": [
            {
                "transaction": t.number,
                "kind": t.kind.value,
                "diagnosis": _plain(t.diagnosis),
                "region": list(t.region),
                "frozen": [f.node for f in t.frozen if f.node not in t.region],
                "code": [_plain(d) for d in t.code_deltas if d.node == node_id],
                "decision": t.decision.value if t.decision else None,
                "rollback": t.rollback.value,
            }
            for t in trace.history_of(node_id)
        ],
    }


def responsibility_records(trace: Trace, read: ReadBlob) -> dict[str, Any]:
    """Return the responsibility records of a run: present and retired nodes, order and head."""
    graph = trace.working.graph
    return {
        "run": trace.run,
        "task": trace.task.source or trace.task.title,
        "head": trace.head.digest,
        "execution_order": list(graph.order) if graph else [],
        "drafting": _plain(draft_summary(trace)),
        "nodes": [
            responsibility_record(trace, node, read) for node in (graph.by_id if graph else {})
        ],
        "retired": [responsibility_record(trace, node, read) for node in sorted(trace.retired)],
    }


def _evidence(trace: Trace, recorded: RecordedEvidence) -> dict[str, Any]:
    return {
        "event": recorded.when.seq,
        "stands": trace.stands(recorded),
        "transaction": recorded.transaction,
        **_plain(recorded.evidence),
    }


def _agent(trace: Trace, node: NodeId) -> str | None:
    code = trace.working.code.get(node)
    return (code.agent or None) if code else None


def _interface(node: Node) -> dict[str, Any] | None:
    if node.contract is None:
        return None
    contract = node.contract
    return {
        "function_name": contract.name,
        "params": [_plain(p) for p in contract.params],
        "any_params": contract.any_params,
        "return_type": contract.returns,
        "return_description": contract.returns_description,
        "preconditions": [_plain(c) for c in contract.requires],
        "postconditions": [_plain(c) for c in contract.ensures],
        "invariants": [_plain(c) for c in contract.invariants],
        "examples": [_plain(e) for e in contract.examples],
        "inputs": [_plain(s) for s in node.inputs],
        "outputs": [_plain(s) for s in node.outputs],
    }


def _owned_code(trace: Trace, node: NodeId, read: ReadBlob) -> dict[str, Any] | None:
    code = trace.working.code.get(node)
    if code is None:
        return None
    return {
        "digest": code.digest,
        "written": code.written,
        "source": read(code.digest).decode("utf-8", "replace"),
        "units": [_plain(u) for u in code.units],
        "draft": trace.draft_of(node),
        "versions": [_version(v) for v in trace.versions_of(node)],
    }


def _version(version: CodeVersion) -> dict[str, Any]:
    return {
        "event": version.when.seq,
        "digest": version.code,
        "agent": version.agent,
        "transaction": version.transaction,
        "draft": version.draft,
    }


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value)
