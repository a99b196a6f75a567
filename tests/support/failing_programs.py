"""A small program with contracts, and helpers that trace it while its checks fail."""

from auditcoder.domain.contract import Clause, Contract, Param
from auditcoder.domain.graph import Node, TaskGraph
from auditcoder.domain.graph import NodeKind as Routing
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import (
    CallExample,
    Example,
    Form,
    FunctionForm,
    Limits,
    Task,
)
from auditcoder.lifecycle.locating.check_driver import trace_plan_of
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.trace_analysis import TraceEvidence, collect_evidence
from auditcoder.lifecycle.locating.trace_run import FailingRun
from auditcoder.lifecycle.ports import Sandbox

READ = Contract(
    name="read",
    params=(Param(name="text", type="str"),),
    returns="list[int]",
    ensures=(Clause(expression="len(result) == len(text.split())"),),
)
TOTAL = Contract(
    name="total",
    params=(Param(name="numbers", type="list[int]"),),
    returns="int",
    requires=(Clause(text="they are few"), Clause(expression="all(n >= 0 for n in numbers)")),
)
MAIN = Contract(name="main", params=(Param(name="text", type="str"),), returns="int")
GRAPH = TaskGraph(
    nodes=(
        Node(id=ROOT, goal="all", kind=Routing.ORCHESTRATION, contract=MAIN),
        *(
            Node(id=NodeId(f"S{n}"), goal=c.name, kind=Routing.GENERAL, parent=ROOT, contract=c)
            for n, c in enumerate((READ, TOTAL), start=1)
        ),
    ),
    order=(NodeId("S1"), NodeId("S2")),
)
GOOD = """
def read(text):
    return [int(word) for word in text.split()]

def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result

def main(text):
    return total(read(text))
"""
CASES = (
    CallExample(arguments="'1 2 3'", result="6"),
    CallExample(arguments="'4'", result="4"),
    CallExample(arguments="''", result="0"),
)


def task(
    *examples: Example,
    form: Form | None = None,
    seconds: float | None = None,
    memory_mb: int | None = None,
) -> Task:
    form = form or FunctionForm(entry="main")
    limits = Limits(seconds=seconds, memory_mb=memory_mb)
    return Task(title="t", statement="t", form=form, examples=examples, limits=limits)


def collect(
    sandbox: Sandbox, program: str, asked: Task, *, memory_ran_out: bool = False
) -> TraceEvidence:
    trial = trace_plan_of(asked, asked.examples, GRAPH)
    assert trial is not None
    trial = trial._replace(memory_ran_out=memory_ran_out)
    contracts = {c.name: c for c in (READ, TOTAL, MAIN)}
    return collect_evidence(
        sandbox, FailingRun(program, tuple(contracts), trial, contracts, root="main")
    )


def kinds(found: TraceEvidence, node: str) -> set[FeatureKind]:
    return {feature.kind for feature in found.features if feature.node == node}
