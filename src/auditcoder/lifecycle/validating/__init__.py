"""Validating: what is checked, on what, and what was seen. Outcomes become evidence here."""

from collections.abc import Iterable

from auditcoder.domain.evidence import Evidence
from auditcoder.domain.ids import NodeId
from auditcoder.lifecycle.validating.differential import validate_differential
from auditcoder.lifecycle.validating.node import validate_node
from auditcoder.lifecycle.validating.program import validate_program
from auditcoder.lifecycle.workshop import Workshop

__all__ = ["validate_node", "validate_program", "validate_region"]


def validate_region(workshop: Workshop, nodes: Iterable[NodeId]) -> list[Evidence]:
    """Run the checks of every node in a region that has code, in the order of building."""
    wanted, graph = set(nodes), workshop.recorder.ledger.graph
    inner = sorted(n for n in graph.ids if n not in graph.order)
    seen: list[Evidence] = []
    for node in (*graph.order, *inner):
        if node in wanted:
            seen += validate_node(workshop, node)
            seen += validate_differential(workshop, node)
    return seen
