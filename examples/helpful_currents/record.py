"""A small worked record: one program, one failure, one bounded repair.

The code was written by hand, first wrong and then right. Everything else is real: each check runs,
each verdict is its result, and the recorder refuses any event that breaks a law.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from auditcoder import __version__
from auditcoder.domain.brief import (
    Approach,
    Brief,
    DataRange,
    Parsed,
    PlannedCheck,
    Requirements,
)
from auditcoder.domain.contract import Clause, Contract, CostBudget, Param, signature_faults
from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.events import (
    BriefCommitted,
    CheckRan,
    GraphCommitted,
    GraphRevised,
    Located,
    Manifest,
    RunFinished,
    RunOutcome,
)
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict, node_check_id
from auditcoder.domain.graph import FromNode, FromTask, GraphDelta, Node, NodeKind, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtBranch, AtNode, AtProgram, Subject
from auditcoder.domain.task import ProgramForm, StdioExample, Task
from auditcoder.domain.values import CheckId, Digest, RunId
from auditcoder.lifecycle.ports import TraceStore
from auditcoder.lifecycle.recorder import Recorder

HERE = Path(__file__).parent
S1, S1_1, S1_2, S2 = (NodeId(i) for i in ("S1", "S1_1", "S1_2", "S2"))

CASES = {
    "example-1": (Trust.GIVEN, "2 2 0\n>@\n>~\n", "2"),
    "example-2": (Trust.GIVEN, "3 5 1\n>>@<<\n>~#~<\n>>>>~\n", "4"),
    "no-way": (Trust.GENERATED, "1 2 1\n@~\n", "begin repairs"),
}

LOCAL = {
    S1_1: ("second-column", "parse_map('1 2 1\\n@~\\n')", "(['@~'], 1)"),
    S1_2: ("north-from-a-current", "count_routes(['@~', '>~'], 0)", "1"),
    S2: ("nothing-found", "present(None)", "'begin repairs'"),
}

TASK = Task(
    title="Helpful currents",
    statement=(HERE / "task.md").read_text(encoding="utf-8"),
    form=ProgramForm(),
    examples=tuple(
        StdioExample(input=given, output=wanted)
        for trust, given, wanted in CASES.values()
        if trust is Trust.GIVEN
    ),
    source="apps/3103",
)

BRIEF = Brief(
    parsed=Parsed(
        title=TASK.title,
        input_format="rows, columns, start column; then the map",
        output_format="the number of routes modulo 1000003, or `begin repairs`",
        ranges=(
            DataRange(variable="rows", minimum=1, maximum=300),
            DataRange(variable="columns", minimum=1, maximum=50000),
        ),
    ),
    approach=Approach(
        category="dynamic programming",
        observations=(
            "the ship never moves south, so rows can be settled from the bottom up",
            "no two currents face each other, so drifting within a row ends",
        ),
        strategy="settle the drift within a row, then carry every reached column north",
        assumptions=("the start column is counted as the statement counts it",),
        cost=CostBudget(time="O(rows * columns)", space="O(columns)"),
    ),
    requirements=Requirements(
        checks=tuple(
            PlannedCheck(
                id=CheckId(name), trust=trust, example=StdioExample(input=given, output=wanted)
            )
            for name, (trust, given, wanted) in CASES.items()
            if trust is not Trust.GIVEN  # the task has those
        )
    ),
)

GRAPH = TaskGraph(
    nodes=(
        Node(
            id=ROOT,
            goal="Answer the task: read, count, present",
            kind=NodeKind.ORCHESTRATION,
            dependencies=(S1, S2),
            inputs=(Slot(name="raw_input", type="str", source=FromTask()),),
            outputs=(Slot(name="answer", type="str"),),
            contract=Contract(
                name="solve", params=(Param(name="raw_input", type="str"),), returns="str"
            ),
        ),
        Node(
            id=S1,
            goal="From the raw input to the number of routes",
            kind=NodeKind.GENERAL,
            parent=ROOT,
            dependencies=(S1_1, S1_2),
            inputs=(Slot(name="raw_input", type="str", source=FromTask()),),
            outputs=(Slot(name="count", type="int | None"),),
            contract=Contract(
                name="route_count",
                params=(Param(name="raw_input", type="str"),),
                returns="int | None",
                ensures=(Clause(text="None exactly when the castle cannot be reached"),),
            ),
        ),
        Node(
            id=S1_1,
            goal="Read the map and where the ship starts",
            kind=NodeKind.STRING,
            parent=S1,
            inputs=(Slot(name="raw_input", type="str", source=FromTask()),),
            outputs=(Slot(name="grid", type="list[str]"), Slot(name="start", type="int")),
            contract=Contract(
                name="parse_map",
                params=(Param(name="raw_input", type="str"),),
                returns="tuple[list[str], int]",
                ensures=(Clause(text="the start is a column", expression="0 <= result[1]"),),
            ),
            validation=("the start column is kept as it is counted in the input",),
        ),
        Node(
            id=S1_2,
            goal="Count the ways from the start to the castle",
            kind=NodeKind.DP,
            parent=S1,
            inputs=(
                Slot(name="grid", type="list[str]", source=FromNode(node=S1_1, slot="grid")),
                Slot(name="start", type="int", source=FromNode(node=S1_1, slot="start")),
            ),
            dependencies=(S1_1,),
            outputs=(Slot(name="count", type="int | None"),),
            contract=Contract(
                name="count_routes",
                params=(Param(name="grid", type="list[str]"), Param(name="start", type="int")),
                returns="int | None",
                requires=(
                    Clause(text="the start is on the map", expression="start < len(grid[0])"),
                ),
                cost=CostBudget(time="O(rows * columns)", space="O(columns)"),
            ),
            validation=("from a current the ship may still go north",),
        ),
        Node(
            id=S2,
            goal="Say the count, or that there is no way",
            kind=NodeKind.STRING,
            parent=ROOT,
            dependencies=(),
            inputs=(Slot(name="count", type="int | None", source=FromNode(node=S1, slot="count")),),
            outputs=(Slot(name="answer", type="str"),),
            contract=Contract(
                name="present", params=(Param(name="count", type="int | None"),), returns="str"
            ),
        ),
    ),
    order=(S1_1, S1_2, S2),
)


def build(store: TraceStore, run: RunId, clock: Callable[[], datetime] | None = None) -> Recorder:
    """Write the worked record into `store`."""
    recorder = Recorder.start(
        store,
        run,
        TASK,
        clock or (lambda: datetime.now(UTC)),
        Manifest(
            method="worked example",
            sandbox="none: the example's own code in a plain subprocess",
            versions={"auditcoder": __version__, "python": sys.version.split()[0]},
        ),
    )
    recorder.record(BriefCommitted(brief=BRIEF))
    recorder.record(
        GraphCommitted(
            graph=GRAPH,
            planner="worked example",
            granularity="reading, counting and presenting can each be checked alone",
        )
    )
    for node in (S1_1, S1_2, S2, S1, ROOT):
        recorder.write_code(node, _source("before", node), agent=_agent(node))
    rejected = [seq for node in (S1_1, S1_2, S2) for seq in _check_node(recorder, node)]
    recorder.assemble()
    failed = _check_program(recorder)

    recorder.record(
        Located(
            diagnosis=Localised(
                target=AtBranch(root=S1),
                agents=tuple(_agent(n) for n in (S1, S1_1, S1_2)),
                rule="R3",
                level=Level.LOW,
                evidence=(*rejected, *failed),
                explanation="two leaves below S1 reject cases that the wrong answer is compatible"
                " with; their lowest common ancestor is the boundary",
            ),
            locator="rules",
        )
    )
    recorder.open_transaction()
    recorder.record(
        GraphRevised(
            delta=GraphDelta(
                revised=(
                    _with_hint(S1_1, "the start column is counted from zero already"),
                    _with_hint(S1_2, "a current is a second choice beside going north"),
                ),
                order=GRAPH.order,
            ),
            reason="both leaves left open what the statement says: where counting starts, and that"
            " a current does not take the way north",
        )
    )
    for node in (S1_1, S1_2):
        recorder.write_code(node, _source("after", node), agent=_agent(node))
        _check_node(recorder, node)
    recorder.assemble()
    _check_program(recorder)
    recorder.decide("the branch was replanned within its own contract")
    assembly = recorder.ledger.working.assembly
    assert assembly is not None
    recorder.record(RunFinished(outcome=RunOutcome.PASSED, program=assembly.program))
    return recorder


def _source(version: str, node: NodeId) -> str:
    return (HERE / version / f"{node}.py").read_text(encoding="utf-8")


def _agent(node: NodeId) -> str:
    return f"author:{GRAPH.by_id[node].kind.value}"


def _with_hint(node: NodeId, hint: str) -> Node:
    old = GRAPH.by_id[node]
    return msgspec.structs.replace(old, hints=(*old.hints, hint))


def _check_node(recorder: Recorder, node: NodeId) -> list[int]:
    """Run the node's local checks; return the event numbers of those that did not pass."""
    code = recorder.ledger.working.code[node].digest
    source = recorder.text(code)
    contract = GRAPH.by_id[node].contract
    assert contract is not None
    faults = signature_faults(contract, source)
    signature = Evidence(
        check=node_check_id(node, "signature", contract.header()),
        kind=CheckKind.SIGNATURE,
        subject=AtNode(node=node),
        trust=Trust.DERIVED,
        requirement=contract.header(),
        verdict=Verdict.FAILED if faults else Verdict.PASSED,
        against=code,
        message="; ".join(faults),
    )
    name, call, wanted = LOCAL[node]
    boundary = _run(
        recorder,
        source=f"{source}\nprint(repr({call}))\n",
        given="",
        wanted=wanted,
        check=CheckId(f"{node}.{name}"),
        kind=CheckKind.BOUNDARY,
        subject=AtNode(node=node),
        trust=Trust.GENERATED,
        against=code,
        requirement=f"{call} is {wanted}",
    )
    return _record_checks(recorder, [signature, boundary])


def _check_program(recorder: Recorder) -> list[int]:
    """Run the program on every case; return the event numbers of those that did not pass."""
    assembly = recorder.ledger.working.assembly
    assert assembly is not None
    evidence = [
        _run(
            recorder,
            source=recorder.text(assembly.program),
            given=given,
            wanted=wanted,
            check=CheckId(name),
            kind=CheckKind.EXAMPLE if trust is Trust.GIVEN else CheckKind.BOUNDARY,
            subject=AtProgram(),
            trust=trust,
            against=assembly.program,
        )
        for name, (trust, given, wanted) in CASES.items()
    ]
    return _record_checks(recorder, evidence)


def _record_checks(recorder: Recorder, evidence: list[Evidence]) -> list[int]:
    numbers = [recorder.record(CheckRan(evidence=e)) for e in evidence]
    return [n for n, e in zip(numbers, evidence, strict=True) if e.verdict is not Verdict.PASSED]


def _run(
    recorder: Recorder,
    *,
    source: str,
    given: str,
    wanted: str,
    check: CheckId,
    kind: CheckKind,
    subject: Subject,
    trust: Trust,
    against: Digest,
    requirement: str = "",
) -> Evidence:
    """Run `source` on the input `given`; return the result as evidence."""
    done, milliseconds = _python(source, given)
    answer = done.stdout.strip()
    wrong = Verdict.CRASH if done.returncode else Verdict.FAILED
    right = not done.returncode and answer == wanted
    return Evidence(
        check=check,
        kind=kind,
        subject=subject,
        trust=trust,
        verdict=Verdict.PASSED if right else wrong,
        against=against,
        requirement=requirement,
        message="" if right else f"expected {wanted}, observed {answer or 'nothing'}",
        input=recorder.put(given),
        expected=recorder.put(wanted),
        observed=recorder.put(done.stdout),
        errors=recorder.put(done.stderr) if done.stderr else None,
        exit_code=done.returncode,
        milliseconds=round(milliseconds, 1),
        judge="subprocess",
    )


def _python(source: str, given: str) -> tuple[subprocess.CompletedProcess[str], float]:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-I", "-c", source],
        input=given,
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    return done, (time.perf_counter() - started) * 1000
