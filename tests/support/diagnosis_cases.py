"""A small graph with recorded checks, as input for locators."""

from auditcoder.domain.contract import Contract
from auditcoder.domain.evidence import CheckKind, Evidence, Frame, Trust, Verdict
from auditcoder.domain.graph import Node, NodeKind, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtNode, AtProgram
from auditcoder.domain.values import CheckId, digest
from auditcoder.lifecycle.locating.diagnosis_input import RecordedCheck

S1, S1_1, S1_2, S2, S2_1 = (NodeId(n) for n in ("S1", "S1_1", "S1_2", "S2", "S2_1"))


def node(name: NodeId, parent: NodeId) -> Node:
    return Node(id=name, goal=name, kind=NodeKind.MATH, parent=parent, contract=Contract(name=name))


TOP = Node(id=ROOT, goal="All", kind=NodeKind.ORCHESTRATION, contract=Contract(name="solve"))
GRAPH = TaskGraph(
    nodes=(TOP, node(S1, ROOT), node(S1_1, S1), node(S1_2, S1), node(S2, ROOT), node(S2_1, S2)),
    order=(S1_1, S1_2, S2_1),
)


def program(
    verdict: Verdict,
    *nodes: NodeId | None,
    seq: int = 1,
    trust: Trust = Trust.GIVEN,
    ran: tuple[NodeId, ...] | None = None,
) -> RecordedCheck:
    """A check of the program, with the owners of its frames, the innermost last."""
    frames = tuple(Frame(function="f", line=i, node=n) for i, n in enumerate(nodes, start=1))
    return RecordedCheck(
        seq,
        Evidence(
            check=CheckId(f"example-{seq}"),
            kind=CheckKind.EXAMPLE,
            subject=AtProgram(),
            trust=trust,
            verdict=verdict,
            against=digest(b"program"),
            frames=frames,
            ran=ran,
        ),
    )


def local(
    name: NodeId,
    verdict: Verdict = Verdict.FAILED,
    kind: CheckKind = CheckKind.EXAMPLE,
    seq: int = 50,
) -> RecordedCheck:
    return RecordedCheck(
        seq,
        Evidence(
            check=CheckId(f"{name}.{kind.value}"),
            kind=kind,
            subject=AtNode(node=name),
            trust=Trust.GENERATED,
            verdict=verdict,
            against=digest(name.encode()),
            message="no good",
        ),
    )
