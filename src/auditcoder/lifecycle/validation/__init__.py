"""Validation: runs the checks of nodes and programs and records the results as evidence."""

from collections.abc import Iterable

from auditcoder.domain.evidence import Evidence
from auditcoder.domain.ids import NodeId
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.node_checks import validate_node
from auditcoder.lifecycle.validation.program_checks import validate_program
from auditcoder.lifecycle.validation.reference_check import validate_differential

__all__ = ["validate_node", "validate_program", "validate_region"]


def validate_region(context: RunContext, nodes: Iterable[NodeId]) -> list[Evidence]:
    """Run the checks of every node in a region that has code, leaves first."""
    region, graph = set(nodes), context.recorder.ledger.graph
    inner = sorted(n for n in graph.ids if n not in graph.order)
    evidence: list[Evidence] = []
    for node in (*graph.order, *inner):
        if node in region:
            evidence += validate_node(context, node)
            evidence += validate_differential(context, node)
    return evidence
