"""Builders of small records: a task, a graph of three responsibilities and code for them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from signal import SIGKILL

from auditcoder.domain.brief import Brief, PlannedCheck, Requirements
from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level, Localised
from auditcoder.domain.events import BriefCommitted, CheckRan, GraphCommitted, Located
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.graph import FromTask, Node, NodeKind, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws.check_laws import LOADS_CHECK
from auditcoder.domain.replay_result import ReplayResult
from auditcoder.domain.targets import AtBranch, AtNode, Target
from auditcoder.domain.task import ProgramForm, StdioExample, Task, example_content
from auditcoder.domain.values import CheckId, RunId
from auditcoder.lifecycle.ports import TraceReader, TraceStore
from auditcoder.lifecycle.recorder import Clock, Recorder

RUN = RunId("a-run")
TASK = Task(
    title="Double it",
    statement="Read a number, print its double.",
    form=ProgramForm(),
    examples=(StdioExample(input="1", output="2"), StdioExample(input="2", output="4")),
)
S1, S1_1, S2 = NodeId("S1"), NodeId("S1_1"), NodeId("S2")


def ticking() -> Clock:
    """A clock that moves by a second each time it is read."""
    ticks = count()
    return lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC) + timedelta(seconds=next(ticks))


def node(name: str, parent: NodeId = ROOT, *dependencies: NodeId, goal: str = "") -> Node:
    """A responsibility with a contract of one parameter."""
    return Node(
        id=NodeId(name),
        goal=goal or f"Do the part of {name}",
        kind=NodeKind.MATH,
        parent=parent,
        dependencies=dependencies,
        inputs=(Slot(name="x", type="int", source=FromTask()),),
        contract=Contract(name=f"f_{name}", params=(Param(name="x", type="int"),), returns="int"),
    )


ROOT_NODE = Node(
    id=ROOT,
    goal="Answer the task",
    kind=NodeKind.ORCHESTRATION,
    dependencies=(S1, S2),
    contract=Contract(name="solve", params=(Param(name="x", type="int"),)),
)

GRAPH = TaskGraph(
    nodes=(ROOT_NODE, node("S1", ROOT, S1_1), node("S1_1", S1), node("S2")), order=(S1_1, S2)
)
"""S0 over S1 over S1_1, and S2 beside them."""


def code(name: str, body: str = "return x") -> str:
    """Code that keeps the contract of the node called `name`."""
    function = "solve" if name == ROOT else f"f_{name}"
    return f"def {function}(x: int) -> int:\n    {body}\n"


def replayed(store: TraceReader, hour: int = 3, *, same: bool = True) -> ReplayResult:
    """The result of a replay of the run as the store has it."""
    return ReplayResult(
        run=RUN,
        head=store.head(RUN).digest,
        at=datetime(2026, 1, 3, hour, tzinfo=UTC),
        same=same,
        repeated=True,
        versions={"auditcoder": "1.0"},
        differences=() if same else ("example-1: different output",),
    )


def started(store: TraceStore, graph: TaskGraph = GRAPH, task: Task = TASK) -> Recorder:
    """A run whose graph is committed."""
    recorder = Recorder.start(store, RUN, task, ticking())
    recorder.record(GraphCommitted(graph=graph))
    return recorder


def built(
    store: TraceStore, task: Task = TASK, before: Mapping[NodeId, str] | None = None
) -> Recorder:
    """A run whose nodes all have code, some with other code before their function."""
    recorder = started(store, task=task)
    for name in (S1_1, S2, S1, ROOT):
        recorder.write_code(name, (before or {}).get(name, "") + code(name))
    return recorder


def failing(store: TraceStore) -> Recorder:
    """A run whose program is assembled and fails: one given check, and S1_1's own."""
    return failing_with(store, {})


def failing_with(store: TraceStore, before: Mapping[NodeId, str]) -> Recorder:
    """A failing run in which some nodes have other code before their function."""
    recorder = built(store, before=before)
    check_node(recorder, S1_1, Verdict.FAILED)
    recorder.assemble()
    check_program(recorder, "example-1", Verdict.FAILED)
    check_program(recorder, "example-2", Verdict.PASSED)
    check_program(recorder, "loads", Verdict.PASSED)
    return recorder


def repairing(store: TraceStore, target: Target | None = None) -> Recorder:
    """A failing run with a transaction open, on S1_1 by default."""
    recorder = failing(store)
    locate(recorder, target or AtNode(node=S1_1))
    recorder.open_transaction()
    return recorder


def plan_check(recorder: Recorder, name: str, trust: Trust = Trust.GENERATED) -> int:
    """Record a brief that plans a check of the program; see `check_program`."""
    example = StdioExample(input=f"3 for {name}", output="6")
    check = PlannedCheck(id=CheckId(name), trust=trust, example=example)
    brief = Brief(requirements=Requirements(checks=(check,)))
    return recorder.record(BriefCommitted(brief=brief, reason=f"{name} was missing"))


def check_node(
    recorder: Recorder, name: NodeId, verdict: Verdict, trust: Trust = Trust.GENERATED
) -> int:
    """Record a local check of a node; what is not tried or measured is a check of its own."""
    kind, what = CheckKind.BOUNDARY, trust.value
    if verdict in SPECIAL:
        kind, what, trust = SPECIAL[verdict], SPECIAL[verdict].value, Trust.DERIVED
    return recorder.record(
        CheckRan(
            evidence=Evidence(
                check=CheckId(f"{name}.{what}"),
                kind=kind,
                subject=AtNode(node=name),
                trust=trust,
                verdict=verdict,
                against=recorder.ledger.working.code[name].digest,
                exit_code=ENDINGS.get(verdict),
                signal=SIGKILL if verdict is Verdict.TIMEOUT else None,
                judge="test",
            )
        )
    )


def observe_node(recorder: Recorder, name: NodeId, verdict: Verdict) -> int:
    """Record what the trace of the failing checks shows about a node."""
    return recorder.record(
        CheckRan(
            evidence=Evidence(
                check=CheckId(f"{name}.watched"),
                kind=CheckKind.CLUE,
                subject=AtNode(node=name),
                trust=Trust.DERIVED,
                verdict=verdict,
                against=recorder.ledger.working.code[name].digest,
                observed=recorder.put(f"{name} ran"),
                judge="test",
            )
        )
    )


SPECIAL = {
    Verdict.UNTRIED: CheckKind.SWAP,
    Verdict.VACUOUS: CheckKind.CONTRACT,
    Verdict.UNMEASURABLE: CheckKind.PROBE,
}
"""The kind of the checks that have a verdict which most kinds cannot have."""


def check_branch(recorder: Recorder, root: NodeId, verdict: Verdict) -> int:
    """Record a check of a whole branch."""
    working = recorder.ledger.working
    return recorder.record(
        CheckRan(
            evidence=Evidence(
                check=CheckId(f"{root}.branch"),
                kind=CheckKind.CONTRACT,
                subject=AtBranch(root=root),
                trust=Trust.DERIVED,
                verdict=verdict,
                against=working.codes_of(recorder.ledger.graph.subtree(root)),
                exit_code=ENDINGS.get(verdict),
                signal=SIGKILL if verdict is Verdict.TIMEOUT else None,
                judge="test",
                tried=int(verdict.clean),
            )
        )
    )


def check_program(recorder: Recorder, name: str, verdict: Verdict, seen: str = "") -> int:
    """Record a check of the assembled program: a given, a planned one, or that it loads."""
    ledger, check = recorder.ledger, CheckId(name)
    assembly, known = ledger.working.assembly, ledger.checks.get(check, LOADS_CHECK)
    assert assembly is not None
    if check in ledger.examples:
        given, expected = example_content(ledger.examples[check])
        assert expected is not None
        recorder.put(given), recorder.put(expected)
        seen = seen or (expected if verdict is Verdict.PASSED else f"not {expected}")
    return recorder.record(
        CheckRan(
            evidence=Evidence(
                check=check,
                kind=known.kind,
                subject=known.subject,
                trust=known.trust,
                verdict=verdict,
                against=assembly.program,
                requirement=known.requirement,
                input=known.input,
                expected=known.expected,
                observed=recorder.put(seen or f"{name} was {verdict.value}"),
                exit_code=ENDINGS[verdict],
                signal=SIGKILL if verdict is Verdict.TIMEOUT else None,
            )
        )
    )


ENDINGS = {
    Verdict.PASSED: 0,
    Verdict.FAILED: 0,
    Verdict.CRASH: 1,
    Verdict.MEMORY: 1,
    Verdict.TIMEOUT: None,
}
"""The exit code of a run that ends with each verdict; a timeout ends with a signal."""


def standing_failures(recorder: Recorder) -> tuple[int, ...]:
    """The events whose evidence stands and is a failure."""
    return tuple(
        sorted(
            s.seq
            for s in recorder.ledger.working.evidence.values()
            if s.verdict.failing and s.kind.judges
        )
    )


def locate(recorder: Recorder, target: Target | None) -> int:
    """Record a diagnosis; None abstains."""
    evidence = standing_failures(recorder)
    diagnosis: Diagnosis = (
        Abstained(reason="nothing points anywhere", evidence=evidence)
        if target is None
        else localised(recorder, target, "R3", evidence, Level.LOW)
    )
    return recorder.record(Located(diagnosis=diagnosis))


def localised(
    recorder: Recorder,
    target: Target,
    rule: str = "R1",
    evidence: tuple[int, ...] = (),
    level: Level = Level.HIGH,
) -> Localised:
    """A diagnosis that names a target and the authors of its code."""
    agents = recorder.ledger.agents_of(target)
    return Localised(target=target, agents=agents, rule=rule, level=level, evidence=evidence)
