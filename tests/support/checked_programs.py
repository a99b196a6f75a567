"""Assembled programs whose checks can be run: contracts, their code, a real sandbox and record."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.brief import Approach, Brief
from auditcoder.domain.contract import RESULT, Contract, Param
from auditcoder.domain.events import BriefCommitted, GraphCommitted
from auditcoder.domain.graph import FromTask, Node, NodeKind, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.request import FREE
from auditcoder.domain.task import ProgramForm, Task
from auditcoder.lifecycle.budget import Budget, BudgetLedger
from auditcoder.lifecycle.model_client import ModelClient
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.planning.plan import brief_for, root_node
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.run_context import RunContext
from tests.support.record_builders import RUN, ticking
from tests.support.sketched_runs import sketching

PROGRAM_TASK = Task(title="T", statement="Do it.", form=ProgramForm())
SOLVE = Contract(name="solve", params=(Param(name="data", type="str"),), returns="str")


class WrittenFunction(NamedTuple):
    """One node under the root: its contract and its code."""

    contract: Contract
    source: str


@contextmanager
def written_program(
    sandbox: Sandbox,
    functions: Sequence[WrittenFunction],
    root: str,
    task: Task = PROGRAM_TASK,
    *,
    replies: Sequence[str] = (),
    options: Options | None = None,
    brief: Brief | None = None,
    root_contract: Contract | None = SOLVE,
    assembled: bool = True,
) -> Iterator[RunContext]:
    """Commit a graph of functions, write their code and assemble it, as a run does."""
    options = options or sketching()
    store = SqliteStore(":memory:")
    recorder = Recorder.start(store, RUN, task, ticking())
    client = ModelClient(ScriptedModel(list(replies)), recorder, BudgetLedger(Budget(), FREE))
    recorder.record(BriefCommitted(brief=brief or brief_for(task, Approach())))
    nodes = {NodeId(f"S{n}"): f for n, f in enumerate(functions, start=1)}
    recorder.record(
        GraphCommitted(graph=_graph(nodes, root_contract), planner="test", granularity="")
    )
    recorder.write_code(ROOT, root, agent="form")
    for node, function in nodes.items():
        recorder.write_code(node, function.source, agent="general")
    if assembled:
        recorder.assemble()
    yield RunContext(task, options, recorder, client, sandbox)
    store.close()


def _graph(nodes: Mapping[NodeId, WrittenFunction], root: Contract | None) -> TaskGraph:
    order = tuple(nodes)
    top = (
        root_node(root, order)
        if root
        else Node(id=ROOT, goal="Start it", kind=NodeKind.ORCHESTRATION, dependencies=order)
    )
    leaves = (
        Node(
            id=node,
            goal=f"Do {function.contract.name}",
            kind=NodeKind.GENERAL,
            parent=ROOT,
            inputs=tuple(
                Slot(name=p.name, type=p.type, source=FromTask()) for p in function.contract.params
            ),
            outputs=(Slot(name=RESULT, type=function.contract.returns),),
            contract=function.contract,
        )
        for node, function in nodes.items()
    )
    return TaskGraph(nodes=(top, *leaves), order=order)
