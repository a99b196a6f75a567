"""Chooses which node is replaced by a stub when the code of several nodes clashes."""

from collections.abc import Iterator

from auditcoder.domain.assembly import AssemblyConflict, assemble
from auditcoder.domain.code import NodeCode, read_bundle, units_of
from auditcoder.domain.ids import NodeId
from auditcoder.domain.values import digest
from auditcoder.lifecycle.code_builder import DEGRADED, stub_of
from auditcoder.lifecycle.run_context import RunContext


def nodes_to_stub(context: RunContext) -> Iterator[NodeId]:
    """Yield the nodes to replace by stubs, one after another, until the program assembles.

    A node whose stub alone ends the clash comes first, so that no other code is lost.
    """
    graph, code = context.recorder.ledger.graph, context.recorder.ledger.working.code
    written = [
        node
        for node in (*reversed(graph.order), *graph.inner)
        if node not in code or code[node].agent != DEGRADED
    ]
    promising = [n for n in written if graph.by_id[n].contract]
    defining = [n for n in graph.order if graph.by_id[n].contract is None]
    sufficient = [n for n in promising if _suffices(context, n)]
    yield from dict.fromkeys([*sufficient[:1], *promising, *defining])


def _suffices(context: RunContext, node: NodeId) -> bool:
    """Whether the program assembles with a stub of one node, and the other code as it is."""
    ledger = context.recorder.ledger
    if node not in ledger.working.code:
        return False
    source = stub_of(ledger.graph.by_id[node], "")
    stub, scope = read_bundle(source), ledger.working.code[node].scope
    code = NodeCode(
        digest=digest(source.encode()), units=units_of(stub, node, scope), written=0, scope=scope
    )
    try:
        assemble(
            ledger.graph,
            {**ledger.working.code, node: code},
            {**ledger.working.bundles, node: stub},
        )
    except AssemblyConflict:
        return False
    return True
