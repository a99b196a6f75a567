"""The default locator in whole runs: traces, substitutions, diagnoses and bounded repairs."""

from collections.abc import Iterator, Sequence

import msgspec
import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.diagnosis import Abstained, Localised
from auditcoder.domain.errors import SandboxError
from auditcoder.domain.events import (
    CheckRan,
    CodeWritten,
    Located,
    ReplyRecorded,
    RunStarted,
    TransactionOpened,
)
from auditcoder.domain.evidence import CheckKind, Evidence, Verdict
from auditcoder.domain.execution import Execution
from auditcoder.domain.execution import ExecutionOutcome as Seen
from auditcoder.domain.repair import Decision
from auditcoder.domain.request import FREE, FinishReason, Reply, Request, Traits
from auditcoder.domain.targets import AtInterface, AtNode, AtNodes
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    FunctionForm,
    Limits,
    Task,
)
from auditcoder.domain.usage import Phase, Usage
from auditcoder.domain.values import CheckId, Digest
from auditcoder.lifecycle.locating import LOCATORS
from auditcoder.lifecycle.locating.diagnosis_input import Clue
from auditcoder.lifecycle.locating.evidence_model import EvidenceLocator, fitted
from auditcoder.lifecycle.locating.scoring import FittedModels
from auditcoder.lifecycle.options import LocatorName, SecondOpinions
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, Solution, start
from auditcoder.metrics.trace_metrics import DiagnosisCost, diagnosis_cost
from auditcoder.sandboxed import tracer
from tests.support.adder_task import (
    BAD_ADD,
    GOOD_ADD,
    GOOD_READ,
    READ,
    ROOT,
    TASK,
    function,
    script,
)
from tests.support.record_builders import RUN
from tests.support.records import take
from tests.support.scripted_runs import (
    FinishedRun,
    Script,
    ScriptedReplies,
    assert_replays,
    python,
    resume_after,
    run,
    sandboxed,
    stub,
)
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def run_weighed(
    sandbox: Sandbox, task: Task, scripted: ScriptedReplies, *, second_opinions: bool = True
) -> FinishedRun:
    options = sketching(
        second_opinions=SecondOpinions.BLIND if second_opinions else SecondOpinions.NONE
    )
    return run(sandbox, task, scripted, options, locator=LocatorName.WEIGHED)


def class_task(name: str, skeleton: str, tests: str) -> Task:
    return Task(
        title=name,
        statement=skeleton,
        form=ClassForm(name=name, skeleton=skeleton),
        examples=(CodeExample(code=tests),),
    )


def evidence(finished: FinishedRun, kind: CheckKind) -> list[Evidence]:
    return [e.evidence for e in finished.all(CheckRan) if e.evidence.kind is kind]


def test_the_faulty_node_is_named_with_reasons_and_repaired_alone(sandbox: Sandbox) -> None:
    finished = run_weighed(sandbox, TASK, script(GOOD_READ, BAD_ADD))
    (diagnosis,) = finished.diagnoses
    assert isinstance(diagnosis, Localised)
    assert diagnosis.target == AtNode(node=finished.graph.promises["add"])
    assert diagnosis.rule == "weighed"
    assert diagnosis.probability is not None
    assert diagnosis.probability > 0.5
    assert "returned what it promises not to" in diagnosis.explanation
    (opened,) = finished.all(TransactionOpened)
    assert {f.node for f in opened.frozen} == {"S0", finished.graph.promises["read"]}
    assert finished.solution.passed


def test_clues_are_recorded_under_each_node_with_their_cost(sandbox: Sandbox) -> None:
    finished = run_weighed(sandbox, TASK, script(GOOD_READ, BAD_ADD), second_opinions=False)
    clues = evidence(finished, CheckKind.CLUE)
    assert [clue.check for clue in clues] == ["S1.watched", "S2.watched", "S0.watched"]
    assert clues[1].verdict is Verdict.FAILED
    assert "in the failing case it returned what it promises not to" in clues[1].message
    assert (clues[0].milliseconds or 0) > 0
    assert clues[1].milliseconds == 0
    read, add, total = (
        msgspec.json.decode(finished.raw.blob(clue.observed), type=Clue)
        for clue in clues
        if clue.observed
    )
    assert (total.place, read.place, add.place) == (0, 1, 2), "in the order of their first calls"
    assert (total.calls, read.calls, add.calls) == (3, 3, 3)
    assert add.ran is not None
    assert (add.ran.failed, add.ran.passed) == (3, 0)
    spent = diagnosis_cost(finished.solution.trace, finished.raw.blob)
    assert spent == DiagnosisCost(runs=1, milliseconds=clues[0].milliseconds or 0)


def test_exhausted_memory_is_attributed_to_the_function_that_keeps_it(sandbox: Sandbox) -> None:
    limited = msgspec.structs.replace(TASK, limits=Limits(memory_mb=256))
    hoards = GOOD_READ.replace("    return", "    KEPT.append(bytearray(160 << 20))\n    return")
    asks = GOOD_ADD.replace("    return", "    bytearray(160 << 20)\n    return")
    # Without clauses: checking them would allocate as much for every generated input.
    plain = stub("add(numbers: list[int]) -> int", "Add them up.")
    scripted = script("KEPT = []\n" + hoards, asks, sketch=python(READ + plain + ROOT))
    finished = run_weighed(sandbox, limited, scripted, second_opinions=False)
    clues = {str(clue.check): clue.message for clue in evidence(finished, CheckKind.CLUE)}
    assert "most of the memory" in clues["S1.watched"]
    assert "most of the memory" not in clues["S2.watched"]


def test_a_timeout_is_attributed_to_the_function_that_used_the_time(sandbox: Sandbox) -> None:
    hurried = msgspec.structs.replace(TASK, limits=Limits(seconds=2.0), examples=TASK.examples[:1])
    endless = GOOD_ADD.replace("    return", "    while True: pass\n    return")
    plain = stub("add(numbers: list[int]) -> int", "Add them up.")
    scripted = script(GOOD_READ, endless, sketch=python(READ + plain + ROOT))
    finished = run_weighed(sandbox, hurried, scripted, second_opinions=False)
    first = finished.diagnoses[0]
    assert isinstance(first, Localised)
    assert first.target == AtNode(node=finished.graph.promises["add"])
    clues = {str(clue.check): clue.message for clue in evidence(finished, CheckKind.CLUE)}
    assert "most of the time" in clues["S2.watched"]


def test_a_program_that_cannot_be_traced_is_located_by_its_traceback(
    sandbox: Sandbox,
) -> None:
    gone = "LIMIT = 1 // 0\n" + GOOD_ADD.replace("sum(numbers)", "min(sum(numbers), LIMIT)")
    finished = run_weighed(sandbox, TASK, script(GOOD_READ, gone), second_opinions=False)
    first = finished.diagnoses[0]
    assert isinstance(first, Localised)
    assert (first.rule, first.target) == ("R1", AtNode(node=finished.graph.promises["add"]))
    assert first.explanation.startswith("no failing step was observed: ")
    clues = [e for e in finished.all(CheckRan) if e.evidence.kind is CheckKind.CLUE]
    assert {clue.evidence.verdict for clue in clues[:3]} == {Verdict.NOT_RUN}
    assert clues[0].evidence.message == "no failing step was observed"
    assert finished.solution.passed


def test_code_of_a_rejected_repair_is_tried_as_a_substitute_without_asking_a_model(
    sandbox: Sandbox,
) -> None:
    checked = stub("add(numbers: list[int]) -> int", "Add.", "example: add([1, 2]) == 3")
    worse = python("def add(numbers):\n    return 3 if len(numbers) == 2 else 0\n")
    scripted = script(GOOD_READ, BAD_ADD, sketch=python(READ + checked + ROOT), repair_node=worse)
    finished = run_weighed(sandbox, TASK, scripted, second_opinions=False)
    assert [t.decision for t in finished.history][:1] == [Decision.REJECTED]
    swaps = evidence(finished, CheckKind.SWAP)
    assert {(str(swap.check), swap.verdict) for swap in swaps} == {("S2.swapped", Verdict.PASSED)}
    assert (swaps[0].milliseconds or 0) > 0


def test_a_value_that_its_consumer_does_not_accept_is_located_at_the_interface(
    sandbox: Sandbox,
) -> None:
    texts = GOOD_READ.replace("int(word)", "word")
    finished = run_weighed(sandbox, TASK, script(texts, GOOD_ADD))
    first = finished.diagnoses[0]
    assert isinstance(first, Localised)
    assert first.target == AtInterface(
        provider=finished.graph.promises["read"], consumer=finished.graph.promises["add"]
    )
    assert finished.solution.passed


def test_a_second_opinion_is_requested_only_in_doubt_and_is_recorded(sandbox: Sandbox) -> None:
    silent_add = stub("add(numbers: list[int]) -> int", "Add them up.")
    silent_read = stub("read(text: str) -> list[int]", "Read the numbers.")
    scripted = script(GOOD_READ, BAD_ADD, sketch=python(silent_read + silent_add + ROOT))
    finished = run_weighed(sandbox, TASK, scripted)
    asked = [e for e in finished.all(ReplyRecorded) if e.role == "second opinion"]
    assert {e.phase for e in asked} == {Phase.VERIFICATION}
    assert [set(e.nodes) for e in asked] == [{"S1", "S2"}]  # all doubtful nodes, in one call
    swaps = {e.check: e for e in evidence(finished, CheckKind.SWAP)}
    assert "everything passes" in swaps["S2.swapped"].message  # type: ignore[index]
    # A traced run, a rerun, a substitution and, because every check passes, another rerun.
    spent = diagnosis_cost(finished.solution.trace, finished.raw.blob)
    assert (spent.runs, spent.questions) == (4, 1)
    assert spent.usage == asked[0].usage
    assert isinstance(finished.diagnoses[0], Localised)
    assert finished.diagnoses[0].target == AtNode(node=finished.graph.promises["add"])
    assert finished.solution.passed
    without = run_weighed(sandbox, TASK, scripted, second_opinions=False)
    assert not [e for e in without.all(ReplyRecorded) if e.role == "second opinion"]


def test_a_second_opinion_that_makes_every_check_pass_becomes_the_repair(sandbox: Sandbox) -> None:
    silent = stub("read(text: str) -> list[int]", "R.") + stub(
        "add(numbers: list[int]) -> int", "A."
    )
    finished = run_weighed(sandbox, TASK, script(GOOD_READ, BAD_ADD, sketch=python(silent + ROOT)))
    (opinion,) = [e for e in finished.all(ReplyRecorded) if e.role == "second opinion"]
    (repair,) = finished.history
    assert repair.decision is Decision.ACCEPTED
    written = finished.all(CodeWritten)[-1]
    assert (written.node, written.agent) == (finished.graph.promises["add"], "second opinion")
    assert written.node in opinion.nodes
    assert finished.raw.events()[written.reply or 0] == opinion
    assert "everything passed with it" in written.note
    assert finished.prompts == [
        "sketch",
        "joint",
        "second_opinion",
    ]  # no repair was requested
    assert finished.solution.passed


def test_clues_about_a_failure_do_not_count_against_a_node_after_its_repair(
    sandbox: Sandbox,
) -> None:
    finished = run_weighed(sandbox, TASK, script(GOOD_READ, BAD_ADD))
    trace = finished.solution.trace
    filed = [w for node in finished.graph.ids for w in trace.evidence_of(node)]
    clues = [w for w in filed if w.evidence.kind is CheckKind.CLUE]
    assert Verdict.FAILED in {w.evidence.verdict for w in clues}
    assert not any(map(trace.stands, clues))  # the program that they are about is replaced
    assert {w.evidence.verdict for w in filed if trace.stands(w)} == {Verdict.PASSED}


def test_second_opinions_can_come_from_another_model(sandbox: Sandbox) -> None:
    silent = stub("read(text: str) -> list[int]", "R.") + stub(
        "add(numbers: list[int]) -> int", "A."
    )
    scripted = script(GOOD_READ, BAD_ADD, sketch=python(silent + ROOT))
    store = SqliteStore(":memory:")
    opinion = Reply(
        text=python(GOOD_ADD), finish=FinishReason.STOP, usage=Usage(calls=1), model="other"
    )
    other = ScriptedModel([opinion] * 5, Traits(price=FREE, weights=Digest("f" * 64)))
    other.name = "other"
    tools = RunResources(store, ScriptedModel([Script(scripted)] * 20), sandbox, consulted=other)
    assert start(tools, TASK, sketching(), RUN).passed
    begun, *events = take(store, RUN).events()
    assert isinstance(begun, RunStarted)
    assert begun.manifest.settings["second_opinions_by"] == "other"
    assert begun.manifest.settings["second_opinions_weights"] == "f" * 16
    replies = [event for event in events if isinstance(event, ReplyRecorded)]
    assert len(other.asked) >= 1
    assert [r.role for r in replies if r.model == "other"] == ["second opinion"] * len(other.asked)
    assert "second opinion" not in {r.role for r in replies if r.model != "other"}
    assert_replays(store, sandbox)


def test_a_slow_reference_is_tried_as_a_substitute_for_its_node(
    sandbox: Sandbox,
) -> None:
    silent = stub("read(text: str) -> list[int]", "R.") + stub(
        "add(numbers: list[int]) -> int", "A."
    )
    small = "def small_input(rng):\n    return ([],)\n"  # this input does not expose the fault
    scripted = script(
        GOOD_READ,
        BAD_ADD,
        sketch=python(silent + ROOT),
        brute_force=lambda request: python(
            small + (GOOD_ADD if "`add(" in request.messages[-1].text else GOOD_READ)
        ),
    )
    options = sketching(differential=True, second_opinions=SecondOpinions.NONE)
    finished = run(sandbox, TASK, scripted, options, locator=LocatorName.WEIGHED)
    swaps = {e.check: e for e in evidence(finished, CheckKind.SWAP)}
    assert "everything passes" in swaps["S2.swapped"].message  # type: ignore[index]
    assert isinstance(finished.diagnoses[0], Localised)
    assert finished.diagnoses[0].target == AtNode(node=finished.graph.promises["add"])
    assert finished.solution.passed


class FlakySandbox:
    """The real sandbox, which enables a program's fault until the first traced run."""

    def __init__(self, real: Sandbox) -> None:
        self._real, self._faulty = real, True
        self.kind = real.kind

    def run(self, execution: Execution) -> Seen:
        if tracer.DRIVER in getattr(execution.action, "inputs", {}):
            self._faulty = False
        if self._faulty:
            source = execution.source.replace("MOOD = 0", "MOOD = 1")
            execution = msgspec.structs.replace(execution, source=source)
        return self._real.run(execution)

    def close(self) -> None:
        """Leave the real sandbox to its owner."""


FLAKY_ADD = "MOOD = 0\n" + GOOD_ADD.replace("sum(numbers)", "sum(numbers) + MOOD")
ONE_PART = "def total(text: str) -> int:\n    ...\n"
FLAKY_TOTAL = "MOOD = 0\ndef total(text):\n    return sum(map(int, text.split())) + MOOD\n"


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize(
    "scripted",
    [
        script(GOOD_READ, FLAKY_ADD),
        script(FLAKY_TOTAL, sketch=python(ONE_PART)),
    ],
    ids=["several parts", "one part"],
)
def test_a_failure_that_passes_when_run_again_is_flaky_and_blames_no_node(
    sandbox: Sandbox, scripted: ScriptedReplies, fallback: bool
) -> None:
    tools = RunResources(
        SqliteStore(":memory:"), ScriptedModel([Script(scripted)] * 20), FlakySandbox(sandbox)
    )
    solution = start(tools, TASK, sketching(fallback=fallback), RUN)
    (answer,) = solution.trace.diagnoses
    assert isinstance(answer.diagnosis, Abstained)
    assert answer.diagnosis.flaky
    assert "flaky" in answer.diagnosis.reason
    assert solution.trace.history == (), "there is no fallback either"


def test_a_program_that_passes_only_while_traced_is_not_flaky(sandbox: Sandbox) -> None:
    sly = "def add(numbers):\n    import sys\n    return sum(numbers) if sys.getprofile() else 0\n"
    finished = run_weighed(sandbox, TASK, script(GOOD_READ, sly))
    first = finished.diagnoses[0]
    assert isinstance(first, Abstained) or first.explanation.startswith("no failing step was")
    assert "flaky" not in (first.reason if isinstance(first, Abstained) else first.explanation)


def test_equal_code_is_not_substituted_twice(sandbox: Sandbox) -> None:
    """The code of a rejected repair and a second opinion can be equal."""
    checked = stub("add(numbers: list[int]) -> int", "Add.", "example: add([1, 2]) == 3")
    worse = "def add(numbers):\n    return 3 if len(numbers) == 2 else 0\n"
    scripted = script(
        GOOD_READ,
        BAD_ADD,
        sketch=python(READ + checked + ROOT),
        repair_node=python(worse),
        second_opinion=python(GOOD_READ + worse.replace("return", '"""Add."""\n    return')),
    )
    finished = run_weighed(sandbox, TASK, scripted)
    tried = [
        msgspec.json.decode(finished.raw.blob(e.observed), type=Clue).features.get("TRIED", 0.0)
        for e in evidence(finished, CheckKind.SWAP)
        if e.check == "S2.swapped" and e.observed
    ]
    assert max(tried) == 0.25, "one try counts as one of at most four"


PARTS = ("first", "second", "third", "fourth", "fifth")
MORE_PARTS = (*PARTS, "sixth", "seventh")


def chain_plan(parts: Sequence[str]) -> str:
    """Return the sketch of a chain; parts after the fifth belong to the fifth."""
    below = " + ".join(f"{part}(n)" for part in parts[5:])
    uses = f"    return {below}\n" if below else "    ...\n"
    stubs = "".join(
        stub(f"{p}(n: int) -> int", f"Do the {p} step.").replace(
            "    ...\n", uses if p == parts[4] else "    ...\n"
        )
        for p in (*parts[5:], *parts[:5])
    )
    steps = "".join(f"    n = {part}(n)\n" for part in parts[:5])
    return f"{stubs}def total(text: str) -> int:\n    n = len(text.split())\n{steps}    return n\n"


def chain_task(parts: Sequence[str]) -> Task:
    return Task(
        title="Chain",
        statement="Do the steps.",
        form=FunctionForm(entry="total", signature="def total(text: str) -> int"),
        examples=(
            CallExample(arguments="'a b'", result=str(2 + len(parts))),
            CallExample(arguments="''", result=str(len(parts))),
        ),
    )


def step(part: str, body: str, parts: Sequence[str]) -> str:
    below = parts[5:] if part == parts[4] else ()
    for inner in below:
        body = f"{inner}({body})"
    return f"def {part}(n):\n    return {body}\n"


def chain_script(
    parts: Sequence[str], wrong: dict[str, str], opinions: dict[str, str]
) -> ScriptedReplies:
    """Script a chain of steps that each add one; `wrong` and `opinions` are other results."""
    code = "".join(step(part, wrong.get(part, "n + 1"), parts) for part in parts)

    def opinion(request: Request) -> str:
        asked = request.messages[-1].text.rpartition("# Your step")[2]
        wanted = [part for part in opinions if f"{part}(" in asked]
        return python("".join(step(part, opinions[part], parts) for part in wanted))

    return {
        "sketch": python(chain_plan(parts)),
        "joint": python(code),
        "second_opinion": opinion,
        "repair_node": lambda request: function(
            request, *(step(part, "1 + n", parts) for part in parts)
        ),
    }


@pytest.mark.parametrize("at_fault", PARTS)
def test_every_second_opinion_in_hand_is_tried_before_another_is_requested(
    sandbox: Sandbox, at_fault: str
) -> None:
    """The opinions on the other parts are their present code, so only one can be tried."""
    same = dict.fromkeys(PARTS, "n + 1") | {at_fault: "1 + n"}
    scripted = chain_script(PARTS, {at_fault: "n + 2"}, same)
    finished = run_weighed(sandbox, chain_task(PARTS), scripted)
    assert finished.prompts.count("second_opinion") == 1
    node = finished.graph.promises[at_fault]
    verdicts = {e.check: e.verdict for e in evidence(finished, CheckKind.SWAP)}
    others = {f"{n}.swapped" for p, n in finished.graph.promises.items() if p in same and n != node}
    assert verdicts.pop(CheckId(f"{node}.swapped")) is Verdict.FAILED
    assert verdicts == dict.fromkeys(others, Verdict.UNTRIED)
    (first,) = finished.diagnoses
    assert isinstance(first, Localised)
    assert first.target == AtNode(node=node)
    assert "everything passes" in first.explanation
    assert finished.history[0].decision is Decision.ACCEPTED


@pytest.mark.parametrize(("at_fault", "sizes"), [("first", [5]), ("sixth", [5, 2])])
def test_nodes_that_one_request_leaves_open_are_asked_for_in_a_second_one(
    sandbox: Sandbox, at_fault: str, sizes: list[int]
) -> None:
    others = dict.fromkeys(MORE_PARTS, "1 + n")
    scripted = chain_script(MORE_PARTS, {at_fault: "n + 2"}, others)
    finished = run_weighed(sandbox, chain_task(MORE_PARTS), scripted)
    requests = [e for e in finished.all(ReplyRecorded) if e.role == "second opinion"]
    assert [len(event.nodes) for event in requests] == sizes
    asked = [node for event in requests for node in event.nodes]
    assert len(asked) == len(set(asked)), "no opinion is paid for twice"
    (first,) = finished.diagnoses
    assert isinstance(first, Localised)
    assert first.target == AtNode(node=finished.graph.promises[at_fault])


@pytest.mark.parametrize(
    ("opinion", "why"),
    [
        ('def add(numbers):\n    """Add."""\n    return sum(numbers[1:])\n', "same code"),
        ("def add(numbers, start):\n    return sum(numbers, start)\n", "no usable"),
        ("def add(numbers: 1 // 0):\n    return sum(numbers)\n", "cannot be loaded"),
    ],
    ids=["the same code", "another signature", "code that does not load"],
)
def test_an_opinion_that_was_never_tried_is_recorded_as_untried_and_exonerates_nobody(
    sandbox: Sandbox, opinion: str, why: str
) -> None:
    silent = stub("read(text: str) -> list[int]", "R.") + stub(
        "add(numbers: list[int]) -> int", "A."
    )
    scripted = script(
        GOOD_READ, BAD_ADD, sketch=python(silent + ROOT), second_opinion=python(opinion)
    )
    finished = run_weighed(sandbox, TASK, scripted)
    swaps = [e for e in evidence(finished, CheckKind.SWAP) if e.check == "S2.swapped"]
    assert swaps[0].verdict is Verdict.UNTRIED
    assert why in swaps[0].message
    assert swaps[0].observed is not None
    assert msgspec.json.decode(finished.raw.blob(swaps[0].observed), type=Clue).features == {}
    first = finished.diagnoses[0]
    said = first.explanation if isinstance(first, Localised) else first.reason
    assert "does not help" not in said


def test_methods_of_a_class_are_distinguished_by_the_state_they_leave(sandbox: Sandbox) -> None:
    skeleton = (
        "class Box:\n    def __init__(self):\n        self.n = 0\n"
        '    def put(self, n):\n        """Put n in."""\n'
        '    def seen(self):\n        """Say what is in it."""\n'
    )
    tests = (
        "import unittest\nclass BoxTest(unittest.TestCase):\n"
        "    def test_box(self):\n        box = Box()\n"
        "        self.assertEqual(box.seen(), 0)\n        box.put(2)\n        box.put(3)\n"
        "        self.assertEqual(box.seen(), 5)\n"
    )
    task = class_task("Box", skeleton, tests)
    written = (
        "class Box:\n    def put(self, n):\n        self.n = n\n"
        "    def seen(self):\n        return self.n\n"
    )
    mended = "class Box:\n    def put(self, n):\n        self.n += n\n"
    scripted: ScriptedReplies = {
        "methods": python(written),
        "second_opinion_methods": python(mended),
        "repair_node": python(mended),
    }
    finished = run_weighed(sandbox, task, scripted)
    assert isinstance(finished.diagnoses[0], Localised)
    assert finished.diagnoses[0].target == AtNode(node=finished.graph.promises["put"])
    assert finished.solution.passed


def test_two_faulty_methods_are_named_and_repaired_together(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    bold = msgspec.structs.replace(fitted().classes, each=0.6)
    weights = FittedModels(classes=bold, programs=bold)
    monkeypatch.setitem(LOCATORS, LocatorName.WEIGHED, lambda: EvidenceLocator(weights))
    skeleton = (
        "class Bag:\n    def __init__(self):\n        self.all = []\n"
        '    def put(self, n):\n        """Put n in."""\n'
        '    def most(self):\n        """Say which is the largest."""\n'
    )
    tests = (
        "import unittest\nclass BagTest(unittest.TestCase):\n"
        "    def test_put(self):\n        bag = Bag()\n        bag.put(2)\n"
        "        self.assertEqual(bag.all, [2])\n"
        "    def test_most(self):\n        bag = Bag()\n        bag.all = [1, 3, 2]\n"
        "        self.assertEqual(bag.most(), 3)\n"
    )
    task = class_task("Bag", skeleton, tests)
    written = (
        "class Bag:\n    def put(self, n):\n        self.all.push(n)\n"
        "    def most(self):\n        return self.all.max()\n"
    )
    put = "class Bag:\n    def put(self, n):\n        self.all.append(n)\n"
    most = "class Bag:\n    def most(self):\n        return max(self.all)\n"
    scripted: ScriptedReplies = {
        "methods": [python(written), python(put + most.removeprefix("class Bag:\n"))],
        "second_opinion_methods": python(put + most.removeprefix("class Bag:\n")),
        "repair_node": python(put + most.removeprefix("class Bag:\n")),
    }
    finished = run_weighed(sandbox, task, scripted)
    first = finished.diagnoses[0]
    assert isinstance(first, Localised)
    assert isinstance(first.target, AtNodes)
    assert set(first.target.nodes) == {
        finished.graph.promises["put"],
        finished.graph.promises["most"],
    }
    assert finished.history[0].decision is Decision.ACCEPTED
    assert finished.solution.passed


def test_a_run_interrupted_anywhere_resumes_to_the_same_result(sandbox: Sandbox) -> None:
    silent_read = stub("read(text: str) -> list[int]", "Read the numbers.")
    silent_add = stub("add(numbers: list[int]) -> int", "Add them up.")
    scripted = script(
        GOOD_READ.replace("text.split()", "text.split()[1:]"),
        GOOD_ADD,
        sketch=python(silent_read + silent_add + ROOT),
        second_opinion=python(GOOD_READ + GOOD_ADD.replace("sum(", "0 + sum(")),
    )
    finished = run_weighed(sandbox, TASK, scripted)
    assert len([e for e in finished.all(ReplyRecorded) if e.role == "second opinion"]) == 1
    for entries in range(1, len(finished.raw.bodies), 3):
        solution, _ = resume_after(finished, entries, sandbox)
        assert solution.program == finished.program
        assert located_targets(solution) == located_targets(finished.solution)


def located_targets(solution: Solution) -> list[tuple[object, float | None]]:
    found = [answer.diagnosis for answer in solution.trace.diagnoses]
    return [(d.target, d.probability) for d in found if isinstance(d, Localised)]


class BreakingSandbox:
    """The real sandbox, which fails after a number of traced runs."""

    def __init__(self, real: Sandbox, after: int) -> None:
        self._real = real
        self._left = after
        self.kind = real.kind

    def run(self, execution: Execution) -> Seen:
        if tracer.DRIVER in getattr(execution.action, "inputs", {}):
            if self._left == 0:
                raise SandboxError("sandbox.gone", "the sandbox is gone")
            self._left -= 1
        return self._real.run(execution)

    def close(self) -> None:
        """Leave the real sandbox to its owner."""


@pytest.mark.parametrize("after", [0, 1, 2], ids=["watching", "running again", "swapping"])
def test_a_sandbox_failure_is_raised_and_blames_no_node(sandbox: Sandbox, after: int) -> None:
    store = SqliteStore(":memory:")
    silent = (
        stub("read(text: str) -> list[int]", "R."),
        stub("add(numbers: list[int]) -> int", "A."),
    )
    scripted = script(GOOD_READ, BAD_ADD, sketch=python("".join(silent) + ROOT))
    tools = RunResources(
        store, ScriptedModel([Script(scripted)] * 20), BreakingSandbox(sandbox, after)
    )
    with pytest.raises(SandboxError):
        start(tools, TASK, sketching(), RUN)
    events = take(store, RUN).events()
    kinds = {e.evidence.kind for e in events if isinstance(e, CheckRan)}
    assert not [e for e in events if isinstance(e, Located)]
    assert CheckKind.SWAP not in kinds
    assert (CheckKind.CLUE in kinds) == (after > 0)
