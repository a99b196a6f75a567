"""The laws of verdicts: the recorder refuses each contradiction, and verification finds it."""

from signal import SIGKILL, SIGSEGV
from typing import ClassVar

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.contract import Contract
from auditcoder.domain.errors import RecordRefused
from auditcoder.domain.events import CheckRan, GraphRevised, RunStarted
from auditcoder.domain.evidence import CheckKind, Evidence, Frame, Trust, Verdict
from auditcoder.domain.execution import PROGRAM_FILE
from auditcoder.domain.graph import GraphDelta
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws import Law
from auditcoder.domain.laws.check_laws import LOADS, LOADS_CHECK, example_kind
from auditcoder.domain.laws.common import present
from auditcoder.domain.laws.verdict_laws import MAX_OUTPUT, OVER_INPUTS
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import AtBranch, AtNode, AtProgram
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    Limits,
    StdioExample,
    example_check,
    example_content,
    files_as_text,
)
from auditcoder.domain.values import CheckId, digest
from auditcoder.domain.verification import VerifyFinding
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import assert_illegal, parsed_evidence
from tests.support.record_builders import (
    GRAPH,
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    built,
    check_program,
    code,
    locate,
    started,
)
from tests.support.records import forge, take

replace = msgspec.structs.replace

STDIO = StdioExample(input="1", output="2\n")
CALL = CallExample(arguments="2", result="[1.5, {'a': (2,)}]")
FILES = FilesExample(inputs={"a": "1"}, artefacts={"b": "2\n", "c": "3"})

RIGHT: list[tuple[Example, str]] = [
    (STDIO, "2"),
    (STDIO, "2  \n\n"),
    (CALL, "[1.5, {'a': (2,)}]"),
    (CALL, "[1.5000000001, {'a': (2,)}]"),
    (FILES, "==> b <==\n2\n\n==> c <==\n3\n"),
    (FilesExample(inputs={}, artefacts={"b": "==> log <==\n2"}), "==> b <==\n==> log <==\n2\n"),
    (FilesExample(inputs={}, artefacts={"a\nb": "2"}), "==> a\nb <==\n2\n"),
]
WRONG: list[tuple[Example, str]] = [
    (STDIO, ""),
    (STDIO, "3"),
    (CALL, "[1.5, {'a': [2]}]"),
    (CALL, "None"),
    (FILES, "==> b <==\n2\n\n==> c <==\n4\n"),
    (FILES, "==> b <==\n2\n\n"),
    (FILES, ""),
    (FILES, "==> b <==\n3\n\n==> log <==\n2\n\n==> c <==\n3\n"),
    (StdioExample(input="", output="4\n"), "9" * MAX_OUTPUT),
    (FilesExample(inputs={}, artefacts={"b": "2"}), "==> b <==\n" + "9" * (MAX_OUTPUT - 10)),
]
UNKNOWN: list[tuple[Example, str]] = [
    (CallExample(arguments="3", result="Fraction(1, 3)"), "Fraction(1, 3)"),
    (CallExample(arguments="3", result="0.5"), "nan"),
    (CallExample(arguments="3", result="1"), f"1{'0' * 400}+1j"),
    (CallExample(arguments="3", result=f"1{'0' * 400}+1j"), "1"),
    # A wrong output is cut, and can begin like the right one.
    (StdioExample(input="", output="x" * MAX_OUTPUT), "x" * MAX_OUTPUT),
    (
        FilesExample(inputs={}, artefacts={"b": "x" * (MAX_OUTPUT - 11)}),
        "==> b <==\n" + "x" * (MAX_OUTPUT - 11) + "\n",
    ),
]


def evidence_of(recorder: Recorder, example: Example, verdict: Verdict, observed: str) -> Evidence:
    """Evidence that the program's only example was run, with this verdict and result."""
    given, expected = example_content(example)
    return Evidence(
        check=example_check(1),
        kind=example_kind(example, Trust.GIVEN),
        subject=AtProgram(),
        trust=Trust.GIVEN,
        verdict=verdict,
        against=recorder.assemble(),
        input=recorder.put(given),
        expected=None if expected is None else recorder.put(expected),
        observed=recorder.put(observed),
        exit_code=0,
        milliseconds=12.5,
    )


def answer_of(
    recorder: Recorder, subject: AtNode | AtBranch, verdict: Verdict, expected: str, observed: str
) -> Evidence:
    """Evidence that a generated example of a node or branch had this verdict and result."""
    against = present(recorder.ledger.working, subject)
    assert against is not None
    return Evidence(
        check=CheckId(f"{subject.node if isinstance(subject, AtNode) else subject.root}.example"),
        kind=CheckKind.EXAMPLE,
        subject=subject,
        trust=Trust.GENERATED,
        verdict=verdict,
        against=against,
        expected=recorder.put(expected),
        observed=recorder.put(observed),
        exit_code=0,
        judge="test",
    )


def built_with(store: SqliteStore, example: Example, seconds: float | None = None) -> Recorder:
    """A run whose nodes have code and whose task has one example."""
    return built(store, replace(TASK, examples=(example,), limits=Limits(seconds=seconds)))


@pytest.mark.parametrize(("example", "observed"), RIGHT)
def test_a_right_result_has_passed(store: SqliteStore, example: Example, observed: str) -> None:
    recorder = built_with(store, example)
    failed = evidence_of(recorder, example, Verdict.FAILED, observed)
    assert_illegal(recorder, CheckRan(evidence=failed), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(failed, verdict=Verdict.PASSED)))


@pytest.mark.parametrize(("example", "observed"), WRONG)
def test_a_wrong_result_has_failed(store: SqliteStore, example: Example, observed: str) -> None:
    recorder = built_with(store, example)
    passed = evidence_of(recorder, example, Verdict.PASSED, observed)
    assert_illegal(recorder, CheckRan(evidence=passed), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(passed, verdict=Verdict.FAILED)))


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED])
@pytest.mark.parametrize(("example", "observed"), UNKNOWN)
def test_a_result_that_cannot_be_compared_without_running_it_is_believed(
    store: SqliteStore, example: Example, observed: str, verdict: Verdict
) -> None:
    recorder = built_with(store, example)
    recorder.record(CheckRan(evidence=evidence_of(recorder, example, verdict, observed)))


def test_a_check_without_a_result_has_not_passed(store: SqliteStore) -> None:
    recorder = built_with(store, STDIO)
    passed = replace(evidence_of(recorder, STDIO, Verdict.PASSED, "2"), observed=None)
    assert_illegal(recorder, CheckRan(evidence=passed), Law.FALSE_VERDICT)


@pytest.mark.parametrize("ending", [{"exit_code": 1}, {"exit_code": None, "signal": SIGSEGV}])
@pytest.mark.parametrize("example", [STDIO, CALL, CodeExample(code="assert f_S1(2) == 2")])
def test_a_run_that_crashed_has_not_passed(
    store: SqliteStore, example: Example, ending: dict[str, int | None]
) -> None:
    recorder = built_with(store, example)
    passed = evidence_of(recorder, example, Verdict.PASSED, example_content(example)[1] or "")
    crashed = replace(passed, **ending)
    assert_illegal(recorder, CheckRan(evidence=crashed), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(crashed, verdict=Verdict.CRASH)))


def test_a_run_that_crashed_has_no_wrong_result(store: SqliteStore) -> None:
    recorder = built_with(store, STDIO)
    failed = replace(evidence_of(recorder, STDIO, Verdict.FAILED, "3"), exit_code=1)
    assert_illegal(recorder, CheckRan(evidence=failed), Law.FALSE_VERDICT)


@pytest.mark.parametrize(("seconds", "limit"), [(2.0, 2000.0), (None, 5000.0)])
def test_a_timeout_reached_the_time_limit(
    store: SqliteStore, seconds: float | None, limit: float
) -> None:
    recorder = built_with(store, STDIO, seconds)
    timeout = evidence_of(recorder, STDIO, Verdict.TIMEOUT, "")
    early = replace(timeout, milliseconds=limit - 1)
    assert_illegal(recorder, CheckRan(evidence=early), Law.FALSE_VERDICT)
    unknown = replace(timeout, milliseconds=None)
    assert_illegal(recorder, CheckRan(evidence=unknown), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(timeout, milliseconds=limit)))


def test_a_run_that_was_ended_by_a_signal_may_have_timed_out_early(store: SqliteStore) -> None:
    recorder = built_with(store, STDIO)
    timeout = evidence_of(recorder, STDIO, Verdict.TIMEOUT, "")
    killed = replace(timeout, exit_code=None, signal=SIGKILL, milliseconds=1.0)
    recorder.record(CheckRan(evidence=killed))


def test_the_time_limit_of_a_check_of_a_node_is_not_recorded(store: SqliteStore) -> None:
    recorder = built_with(store, STDIO)
    timeout = answer_of(recorder, AtNode(node=S1_1), Verdict.TIMEOUT, "4", "")
    recorder.record(CheckRan(evidence=replace(timeout, milliseconds=1.0)))


@pytest.mark.parametrize(
    "ending",
    [
        {"exit_code": None},
        {"exit_code": 1, "signal": SIGKILL},
        {"exit_code": -1},
        {"exit_code": 256},
        {"exit_code": None, "signal": 0},
        {"exit_code": None, "signal": 65},
    ],
)
def test_a_run_of_the_program_ends_with_an_exit_code_or_with_a_signal(
    store: SqliteStore, ending: dict[str, int | None]
) -> None:
    recorder = built_with(store, STDIO)
    crashed = evidence_of(recorder, STDIO, Verdict.CRASH, "")
    impossible = replace(crashed, **ending)
    assert_illegal(recorder, CheckRan(evidence=impossible), Law.FALSE_VERDICT)


@pytest.mark.parametrize(
    "ending",
    [
        {"exit_code": 0},
        {"exit_code": 255},
        {"exit_code": None, "signal": 1},
        {"exit_code": None, "signal": 64},
    ],
)
def test_every_ending_of_a_process_can_be_recorded(
    store: SqliteStore, ending: dict[str, int | None]
) -> None:
    recorder = built_with(store, STDIO)
    crashed = evidence_of(recorder, STDIO, Verdict.CRASH, "")
    recorder.record(CheckRan(evidence=replace(crashed, **ending)))


@pytest.mark.parametrize("subject", [AtNode(node=S1_1), AtBranch(root=S1)])
def test_an_example_of_a_node_or_branch_is_compared_too(
    store: SqliteStore, subject: AtNode | AtBranch
) -> None:
    recorder = built_with(store, STDIO)
    evidence = answer_of(recorder, subject, Verdict.PASSED, "4", "5")
    assert_illegal(recorder, CheckRan(evidence=evidence), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=replace(evidence, verdict=Verdict.FAILED)))


@pytest.mark.parametrize("trust", [Trust.DERIVED, Trust.GENERATED])
@pytest.mark.parametrize("subject", [AtNode(node=S1_1), AtBranch(root=S1)])
def test_a_wrong_result_of_a_node_or_branch_may_be_cut(
    store: SqliteStore, subject: AtNode | AtBranch, trust: Trust
) -> None:
    recorder = built_with(store, STDIO)
    printed = "2" + "\n" * (MAX_OUTPUT - 1)
    cut = replace(
        answer_of(recorder, subject, Verdict.FAILED, STDIO.output, printed),
        trust=trust,
        input=recorder.put(STDIO.input),
    )
    whole = replace(cut, observed=recorder.put(printed[:-1]))
    assert_illegal(recorder, CheckRan(evidence=whole), Law.FALSE_VERDICT)
    recorder.record(CheckRan(evidence=cut))


class TestOfDerivedChecksOfNodes:
    """The example of the task, with whose texts such a check compares, says how."""

    def derived(
        self, recorder: Recorder, example: Example, verdict: Verdict, observed: str
    ) -> Evidence:
        given, expected = example_content(example)
        assert expected is not None
        evidence = answer_of(recorder, AtNode(node=S1_1), verdict, expected, observed)
        return replace(evidence, trust=Trust.DERIVED, input=recorder.put(given))

    @pytest.mark.parametrize(
        ("example", "observed", "right"),
        [
            (CallExample(arguments="1", result="1"), "'1'", False),
            (CallExample(arguments="1", result="1.0"), "'1'", False),
            (CallExample(arguments="1", result="1"), "True", True),
            (CallExample(arguments="1", result="[1,2]"), "[1, 2]", True),
            (CallExample(arguments="1", result="'x'"), '"x"', True),
            (CallExample(arguments="1", result="{'a', 'b'}"), "{'b', 'a'}", True),
            (StdioExample(input="1", output="[1, 2]"), "[1,2]", False),
            (StdioExample(input="1", output="5"), "+5", False),
            (StdioExample(input="1", output="5\n"), "5", True),
            (StdioExample(input="1", output="'5'"), "'5'", None),
            (StdioExample(input="1", output="5\n"), "'5'", None),
            (StdioExample(input="1", output="'5'"), "5", False),
            (CallExample(arguments="1", result="Fraction(1, 3)"), "1", None),
            (CallExample(arguments="1", result="1"), "Decimal('1')", None),
            (FILES, files_as_text(FILES.artefacts), None),
            (FILES, "", None),
        ],
    )
    def test_a_verdict_follows_from_the_form_of_the_example(
        self, store: SqliteStore, example: Example, observed: str, right: bool | None
    ) -> None:
        recorder = built_with(store, example)
        for verdict in (Verdict.PASSED, Verdict.FAILED):
            event = CheckRan(evidence=self.derived(recorder, example, verdict, observed))
            if right in {None, verdict is Verdict.PASSED}:
                recorder.record(event)
            else:
                assert_illegal(recorder, event, Law.FALSE_VERDICT)

    @pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED])
    def test_examples_with_the_same_texts_allow_each_of_their_verdicts(
        self, store: SqliteStore, verdict: Verdict
    ) -> None:
        examples = (
            StdioExample(input="1", output="[1, 2]"),
            CallExample(arguments="1", result="[1, 2]"),
        )
        recorder = built(store, replace(TASK, examples=examples))
        evidence = self.derived(recorder, examples[0], verdict, "[1,2]")
        recorder.record(CheckRan(evidence=evidence))

    def test_other_examples_do_not_count(self, store: SqliteStore) -> None:
        examples = (
            StdioExample(input="1", output="[1, 2]"),
            CallExample(arguments="2", result="[1, 2]"),
        )
        recorder = built(store, replace(TASK, examples=examples))
        passed = self.derived(recorder, examples[0], Verdict.PASSED, "[1,2]")
        assert_illegal(recorder, CheckRan(evidence=passed), Law.FALSE_VERDICT)


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED])
@pytest.mark.parametrize("written", ["==> b <==\n2\n", "==> b <==\n3\n"])
def test_files_that_a_node_writes_are_believed(
    store: SqliteStore, written: str, verdict: Verdict
) -> None:
    recorder = built_with(store, FILES)
    evidence = answer_of(recorder, AtNode(node=S1_1), verdict, "==> b <==\n2\n", written)
    recorder.record(CheckRan(evidence=evidence))


class TestOfCode:
    """Whether code compiles and keeps its contract's header follows from the code."""

    @pytest.mark.parametrize(
        ("source", "compiles", "keeps"),
        [
            (code("S2"), True, True),
            ("def f_S2(x: int, y: int) -> int:\n    return x\n", True, False),
            ("def f_S2(x: int) -> int:\n    return 1 +\n", False, False),
            ("def f_S2(x: int) -> int:\n    return x\n\nreturn 1\n", False, True),
        ],
    )
    def test_the_code_decides(
        self, store: SqliteStore, source: str, compiles: bool, keeps: bool
    ) -> None:
        recorder = started(store)
        recorder.write_code(S2, source)
        for kind, right in ((CheckKind.COMPILE, compiles), (CheckKind.SIGNATURE, keeps)):
            evidence = parsed_evidence(recorder, S2, kind)
            for verdict in Verdict:
                event = CheckRan(evidence=replace(evidence, verdict=verdict))
                if verdict is not (Verdict.PASSED if right else Verdict.FAILED):
                    assert_illegal(recorder, event, Law.FALSE_VERDICT)
            verdict = Verdict.PASSED if right else Verdict.FAILED
            recorder.record(CheckRan(evidence=replace(evidence, verdict=verdict)))

    @pytest.mark.parametrize("kind", [CheckKind.COMPILE, CheckKind.SIGNATURE])
    @pytest.mark.parametrize(
        "outcome",
        [
            {"exit_code": 0},
            {"peak_bytes": 1000},
            {"ran": ()},
            {"frames": (Frame(function="f_S1_1", line=2, node=S1_1),)},
            {"errors": digest(b"trouble")},
        ],
    )
    def test_nothing_runs_for_it(
        self, store: SqliteStore, kind: CheckKind, outcome: dict[str, object]
    ) -> None:
        recorder = built(store)
        recorder.put("trouble")
        evidence = parsed_evidence(recorder, S1_1, kind)
        forged = replace(evidence, **outcome)
        assert_illegal(recorder, CheckRan(evidence=forged), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=evidence))

    @pytest.mark.parametrize("contract", [None, Contract(name="f_S1_1")])
    def test_a_header_is_compared_with_the_present_contract(
        self, store: SqliteStore, contract: Contract | None
    ) -> None:
        recorder = built(store)
        earlier = parsed_evidence(recorder, S1_1, CheckKind.SIGNATURE)
        recorder.record(CheckRan(evidence=earlier))
        recorder.assemble()
        for check in ("example-1", "example-2"):
            check_program(recorder, check, Verdict.FAILED)
        locate(recorder, AtBranch(root=S1))
        recorder.open_transaction()
        revised = replace(GRAPH.by_id[S1_1], contract=contract)
        delta = GraphDelta(revised=(revised,), order=GRAPH.order)
        recorder.record(GraphRevised(delta=delta, reason="nothing is needed"))
        for verdict in (Verdict.PASSED, Verdict.FAILED):
            event = CheckRan(evidence=replace(earlier, verdict=verdict))
            assert_illegal(recorder, event, Law.MISDECLARED)


LOOPS = "".join("    " * n + "for a in ():\n" for n in range(19)) + "    " * 19 + "pass\n"
UNREADABLE = [
    "\u0242 = 1\n",
    LOOPS,
    f"deep = {'-' * 205}1\n",
    "smile = '\\N{GRINNING FACE}'\n",
    "type X = int\n",
    "x = (\n",
]


class TestOfUnreadableCode:
    """Code that cannot be read owns nothing, but the sandbox may run it."""

    @pytest.mark.parametrize("source", UNREADABLE)
    def test_no_verdict_on_the_program_is_clean(self, store: SqliteStore, source: str) -> None:
        recorder = built_with(store, STDIO)
        recorder.write_code(S2, source + code("S2"))
        for observed, verdict in (("2", Verdict.PASSED), ("3", Verdict.FAILED)):
            evidence = evidence_of(recorder, STDIO, verdict, observed)
            assert_illegal(recorder, CheckRan(evidence=evidence), Law.FALSE_VERDICT)
            loads = replace(evidence, check=LOADS, kind=LOADS_CHECK.kind, trust=LOADS_CHECK.trust)
            loads = replace(loads, requirement=LOADS_CHECK.requirement, input=None, expected=None)
            assert_illegal(recorder, CheckRan(evidence=loads), Law.FALSE_VERDICT)
            recorder.record(CheckRan(evidence=replace(loads, verdict=Verdict.CRASH)))
            recorder.record(CheckRan(evidence=replace(evidence, verdict=Verdict.CRASH)))

    def test_the_program_can_be_unreadable_although_its_parts_are_not(
        self, store: SqliteStore
    ) -> None:
        """Versions disagree on an annotation that uses a name before it is declared global."""
        recorder = built(store)
        recorder.write_code(S1_1, f"def hint(x: later): pass\n\n\n{code('S1_1')}")
        recorder.write_code(ROOT, f"global later\nlater = 1\n\n\n{code('S0')}")
        assert all(bundle.parses for bundle in recorder.ledger.working.bundles.values())
        recorder.assemble()
        with pytest.raises(RecordRefused, match="cannot be read"):
            check_program(recorder, "loads", Verdict.PASSED)
        check_program(recorder, "loads", Verdict.CRASH)

    def test_evidence_about_a_node_is_not_affected(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        recorder.write_code(S2, UNREADABLE[0])
        evidence = answer_of(recorder, AtNode(node=S1_1), Verdict.PASSED, "2", "2")
        recorder.record(CheckRan(evidence=evidence))

    def test_a_repair_with_it_does_not_improve_the_rank(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        for check in ("example-1", "example-2", "loads"):
            check_program(recorder, check, Verdict.CRASH)
        locate(recorder, AtNode(node=S2))
        recorder.open_transaction()
        recorder.write_code(S2, UNREADABLE[0] + code("S2"))
        recorder.assemble()
        for check in ("example-1", "example-2", "loads"):
            for verdict in (Verdict.PASSED, Verdict.FAILED):
                with pytest.raises(RecordRefused, match="cannot be read"):
                    check_program(recorder, check, verdict)
            check_program(recorder, check, Verdict.CRASH)
        assert recorder.decide() is Decision.REJECTED
        check_program(recorder, "loads", Verdict.PASSED)

    def test_a_repair_without_it_can_pass(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.write_code(S2, UNREADABLE[0] + code("S2"))
        recorder.assemble()
        for check in ("example-1", "example-2", "loads"):
            check_program(recorder, check, Verdict.CRASH)
        locate(recorder, AtNode(node=S2))
        recorder.open_transaction()
        recorder.write_code(S2, code("S2"))
        recorder.assemble()
        check_program(recorder, "example-1", Verdict.PASSED)
        assert recorder.decide() is Decision.ACCEPTED


def files(**texts: str) -> FilesExample:
    """An example that expects these files."""
    return FilesExample(inputs={}, artefacts=texts)


class TestOfFiles:
    """Files are recorded as one text, in which a file can hold the heading of another one."""

    ONE_WAY: ClassVar = [
        (files(a="5", b="6"), {"a": "5", "b": "6"}, True),
        (files(a="5", b="6"), {"a": "5", "b": ""}, False),
        (files(a="5", b="6"), {"a": "", "b": "6"}, False),
        (files(a="5"), {"a": "6\n\n==> a <==\n7\n"}, False),
        (files(a="5\n==> a <==\n7"), {"a": "5\n==> a <==\n7"}, True),
        (files(a="5", b="6"), {"a": "5\n\n==> b <==\n6", "b": "6"}, False),
        (files(a="5", b="6"), {"a": "WRONG", "b": "==> b <==\n6\n"}, False),
        (files(a="5", b="==> a <==\n5"), {"a": "5", "b": "==> a <==\n5"}, True),
        (files(), {}, True),
        (files(**{"a <==\nb": "5"}, a="6"), {"a <==\nb": "5", "a": "6"}, True),
    ]

    @pytest.mark.parametrize(("example", "written", "right"), ONE_WAY)
    def test_files_that_can_be_read_in_one_way_decide(
        self, store: SqliteStore, example: FilesExample, written: dict[str, str], right: bool
    ) -> None:
        recorder = built_with(store, example)
        honest = Verdict.PASSED if right else Verdict.FAILED
        forged = Verdict.FAILED if right else Verdict.PASSED
        evidence = evidence_of(recorder, example, forged, files_as_text(written))
        assert_illegal(recorder, CheckRan(evidence=evidence), Law.FALSE_VERDICT)
        recorder.record(CheckRan(evidence=replace(evidence, verdict=honest)))

    @pytest.mark.parametrize(
        ("example", "observed"),
        [
            (files(a="5"), "garbage\n==> a <==\n5\n\n"),
            (files(a="5"), "5\n"),
            (files(a="5"), "\n==> a <==\n5\n"),
            (files(a="5"), "==> a <==\n5"),
            (files(a="5"), "==> a <==\n5x"),
            (files(a="5", b="6"), "==> a <==\n5 ==> b <==\n6\n"),
            (files(a=""), "==> a <==\n"),
            (files(a="5"), "x ==> a <==\n5\n"),
            (files(a="5", b="6"), "==> b <==\n6\n==> a <==\n5\n\n"),
            (files(b="5"), "==> a <==\n5\n\n==> b <==\n5\n\n"),
            (files(a="5", b="6"), "==> a <==\n5\n x ==> b <==\n6\n"),
            (files(a="", b=""), "==> a <==\n==> b <==\n\n"),
            (files(a="5", b="6", c="7"), "==> a <==\n5\n==> c <==\n7\n"),
            (files(), "==> a <==\n5\n"),
            (files(), "\n"),
        ],
    )
    def test_a_text_that_is_not_of_these_files_has_not_passed(
        self, store: SqliteStore, example: FilesExample, observed: str
    ) -> None:
        recorder = built_with(store, example)
        evidence = evidence_of(recorder, example, Verdict.PASSED, observed)
        assert_illegal(recorder, CheckRan(evidence=evidence), Law.FALSE_VERDICT)
        recorder.record(CheckRan(evidence=replace(evidence, verdict=Verdict.FAILED)))

    @pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED])
    @pytest.mark.parametrize(
        ("example", "written"),
        [
            (files(a="5", b="6\n\n==> b <==\n6"), {"a": "5", "b": "6\n\n==> b <==\n6"}),
            (
                files(a="1", b="2\n==> c <==\n3", c="3"),
                {"a": "1", "b": "2\n==> c <==\n3", "c": "3"},
            ),
            (files(a="", b="==> b <==\n"), {"a": "", "b": "==> b <==\n"}),
            (files(a="5"), {"a": "5" + "\n==> a <==" * 17}),
            (files(a="5" + "\n==> a <==" * 17), {"a": "5" + "\n==> a <==" * 17}),
        ],
    )
    def test_files_that_can_be_read_in_several_ways_are_believed(
        self, store: SqliteStore, example: FilesExample, written: dict[str, str], verdict: Verdict
    ) -> None:
        recorder = built_with(store, example)
        evidence = evidence_of(recorder, example, verdict, files_as_text(written))
        recorder.record(CheckRan(evidence=evidence))

    def test_sixteen_further_headings_are_compared(self, store: SqliteStore) -> None:
        text = "5" + "\n==> a <==" * 16
        recorder = built_with(store, files(a=text))
        failed = evidence_of(recorder, files(a=text), Verdict.FAILED, files_as_text({"a": text}))
        assert_illegal(recorder, CheckRan(evidence=failed), Law.FALSE_VERDICT)

    def test_a_missing_file_leaves_no_result_that_looks_right(self, store: SqliteStore) -> None:
        example = files(a="5\n", b="6\n")
        recorder = built_with(store, example)
        text = files_as_text({"a": "5\n\n==> b <==\n6\n"})
        failed = evidence_of(recorder, example, Verdict.FAILED, text)
        assert_illegal(recorder, CheckRan(evidence=failed), Law.FALSE_VERDICT)
        recorder.record(CheckRan(evidence=replace(failed, observed=None)))


def test_every_file_that_the_task_promises_must_be_there(store: SqliteStore) -> None:
    form = FilesForm(inputs=("a",), artefacts=("b", "d"))
    example = FilesExample(inputs={"a": "1"}, artefacts={"b": "2"})
    recorder = built(store, replace(TASK, form=form, examples=(example,)))
    passed = evidence_of(recorder, example, Verdict.PASSED, "==> b <==\n2\n")
    assert_illegal(recorder, CheckRan(evidence=passed), Law.FALSE_VERDICT)
    both = recorder.put("==> b <==\n2\n==> d <==\nanything\n")
    recorder.record(CheckRan(evidence=replace(passed, observed=both)))


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("['a', 'b']", '["a", "b"]'),
        ("[1, 2]", "[1,2]"),
        ("{1, 2}", "{1,2}"),
        ("5", "+5"),
        ("{'a', 'b'}", "{'b', 'a'}"),
    ],
)
def test_another_text_for_the_same_value_may_fail_for_a_node(
    store: SqliteStore, expected: str, printed: str
) -> None:
    recorder = built_with(store, STDIO)
    evidence = answer_of(recorder, AtNode(node=S1_1), Verdict.FAILED, expected, printed)
    recorder.record(CheckRan(evidence=replace(evidence, kind=CheckKind.BOUNDARY)))


@pytest.mark.parametrize("printed", ["'4'", "4", "'4 \\n'"])
def test_a_node_may_answer_the_example_of_a_program_by_its_output(
    store: SqliteStore, printed: str
) -> None:
    recorder = built_with(store, STDIO)
    evidence = answer_of(recorder, AtNode(node=S1_1), Verdict.PASSED, "4\n", printed)
    recorder.record(CheckRan(evidence=evidence))


class TestFrames:
    def crashed(self, recorder: Recorder, *frames: Frame) -> Evidence:
        """Evidence that the example crashed with this traceback."""
        return replace(evidence_of(recorder, STDIO, Verdict.CRASH, ""), exit_code=1, frames=frames)

    def test_a_frame_names_the_owner_of_its_line(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        frame = Frame(function="f_S1_1", line=2, file=PROGRAM_FILE, node=S1_1)
        honest = self.crashed(recorder, frame)
        for owner in (S2, None):
            other = replace(honest, frames=(replace(frame, node=owner),))
            assert_illegal(recorder, CheckRan(evidence=other), Law.FALSE_VERDICT)
        recorder.record(CheckRan(evidence=honest))

    def test_a_line_outside_the_program_has_no_owner(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        for frame in (
            Frame(function="f_S1_1", line=2, file="tests.py", node=S1_1),
            Frame(function="f_S1_1", line=9999, file=PROGRAM_FILE, node=ROOT),
        ):
            evidence = self.crashed(recorder, frame)
            assert_illegal(recorder, CheckRan(evidence=evidence), Law.FALSE_VERDICT)

    def test_only_nodes_with_code_can_have_run(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        failed = evidence_of(recorder, STDIO, Verdict.FAILED, "3")
        unknown = replace(failed, ran=(S1_1, NodeId("S7")))
        assert_illegal(recorder, CheckRan(evidence=unknown), Law.FALSE_VERDICT)
        recorder.record(CheckRan(evidence=replace(failed, ran=(S1_1,))))

    def test_the_nodes_that_ran_are_listed_once_and_in_order(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        failed = evidence_of(recorder, STDIO, Verdict.FAILED, "3")
        for ran in ((S2, S1_1), (S2, S2)):
            event = CheckRan(evidence=replace(failed, ran=ran))
            assert_illegal(recorder, event, Law.FALSE_VERDICT)
        recorder.record(CheckRan(evidence=replace(failed, ran=(S1_1, S2))))

    def test_a_frame_outside_the_program_has_no_owner_and_any_line(
        self, store: SqliteStore
    ) -> None:
        recorder = built_with(store, STDIO)
        frame = Frame(function="<module>", line=0, file="<frozen runpy>")
        recorder.record(CheckRan(evidence=self.crashed(recorder, frame)))

    def test_a_line_of_the_program_is_counted_from_1(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        for line in (0, -1):
            frame = Frame(function="f_S1_1", line=line, file=PROGRAM_FILE, node=S1_1)
            evidence = self.crashed(recorder, frame)
            assert_illegal(recorder, CheckRan(evidence=evidence), Law.FALSE_VERDICT)

    @pytest.mark.parametrize("assembled", [False, True])
    @pytest.mark.parametrize("subject", [AtNode(node=S2), AtBranch(root=S1)])
    def test_a_check_of_a_node_or_branch_names_no_owner_of_code(
        self, store: SqliteStore, subject: AtNode | AtBranch, assembled: bool
    ) -> None:
        recorder = built_with(store, STDIO)
        if assembled:
            recorder.assemble()
        crashed = answer_of(recorder, subject, Verdict.CRASH, "4", "")
        frame = Frame(function="f_S2", line=2, file=PROGRAM_FILE)
        for forged in ({"ran": (S2,)}, {"frames": (frame, replace(frame, node=S2))}):
            event = CheckRan(evidence=replace(crashed, **forged))
            assert_illegal(recorder, event, Law.FALSE_VERDICT)
        recorder.record(CheckRan(evidence=replace(crashed, frames=(frame,), ran=())))


def local(recorder: Recorder, kind: CheckKind, verdict: Verdict) -> Evidence:
    """Evidence about S2 from a check of this kind that compares nothing."""
    return Evidence(
        check=CheckId(f"S2.{kind.value}"),
        kind=kind,
        subject=AtNode(node=S2),
        trust=Trust.GENERATED,
        verdict=verdict,
        against=recorder.ledger.working.code[S2].digest,
        judge="test",
    )


def refused_as(recorder: Recorder, evidence: Evidence, law: Law, message: str) -> None:
    """Assert that evidence is refused, by verification too, and with this message."""
    with pytest.raises(RecordRefused, match=message):
        recorder.record(CheckRan(evidence=evidence))
    assert_illegal(recorder, CheckRan(evidence=evidence), law)


def as_format_2(store: SqliteStore, *evidence: Evidence) -> tuple[VerifyFinding, ...]:
    """Return what verification finds if the same run with more evidence were in format 2."""
    raw = take(store, RUN)
    start, *events = raw.events()
    assert isinstance(start, RunStarted)
    more = (CheckRan(evidence=each) for each in evidence)
    return forge(raw, [replace(start, format=2), *events, *more]).verify().findings


class TestOfFoundedVerdicts:
    """What passed or failed could have ended the other way."""

    RUNNING = (CheckKind.BOUNDARY, CheckKind.EXAMPLE, CheckKind.TEST)
    WITHOUT_RUN = (CheckKind.REVIEW, CheckKind.CLUE, CheckKind.SWAP, CheckKind.STATIC)

    @pytest.mark.parametrize("verdict", [v for v in Verdict if v.conclusive])
    @pytest.mark.parametrize("kind", [*RUNNING, *sorted(OVER_INPUTS, key=str)])
    def test_the_ending_of_a_run_of_a_node_is_recorded(
        self, store: SqliteStore, kind: CheckKind, verdict: Verdict
    ) -> None:
        recorder = built(store)
        evidence = local(recorder, kind, verdict)
        if kind in OVER_INPUTS:
            evidence = replace(evidence, tried=1)
        refused_as(recorder, evidence, Law.FALSE_VERDICT, "how the run of .* ended is not recorded")
        assert as_format_2(store, replace(evidence, tried=None)) == ()
        ending: dict[str, int] = (
            {"signal": SIGKILL} if verdict is Verdict.CRASH else {"exit_code": 0}
        )
        recorder.record(CheckRan(evidence=replace(evidence, **ending)))

    @pytest.mark.parametrize("kind", WITHOUT_RUN)
    def test_an_opinion_or_observation_has_no_single_run(
        self, store: SqliteStore, kind: CheckKind
    ) -> None:
        recorder = built(store)
        for verdict in (Verdict.PASSED, Verdict.FAILED):
            recorder.record(CheckRan(evidence=local(recorder, kind, verdict)))

    @pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.NOT_RUN])
    def test_it_is_recorded_who_decided_a_check_of_a_node(
        self, store: SqliteStore, verdict: Verdict
    ) -> None:
        recorder = built(store)
        named = replace(local(recorder, CheckKind.TEST, verdict), exit_code=0)
        anonymous = replace(named, judge="")
        refused_as(recorder, anonymous, Law.FALSE_VERDICT, "nobody is named who decided S2.test")
        recorder.record(CheckRan(evidence=named))

    @pytest.mark.parametrize("kind", sorted(OVER_INPUTS, key=str))
    @pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.FAILED])
    @pytest.mark.parametrize("tried", [None, 0])
    def test_a_verdict_over_inputs_needs_one_that_decides(
        self, store: SqliteStore, kind: CheckKind, verdict: Verdict, tried: int | None
    ) -> None:
        recorder = built(store)
        decided = replace(local(recorder, kind, verdict), exit_code=0, tried=1)
        undecided = replace(decided, tried=tried)
        refused_as(recorder, undecided, Law.FALSE_VERDICT, "no input decided")
        recorder.record(CheckRan(evidence=decided))

    def test_a_crash_over_inputs_needs_none(self, store: SqliteStore) -> None:
        recorder = built(store)
        crash = replace(local(recorder, CheckKind.CONTRACT, Verdict.CRASH), exit_code=1)
        recorder.record(CheckRan(evidence=crash))

    def test_only_checks_over_inputs_count_them(self, store: SqliteStore) -> None:
        recorder = built_with(store, STDIO)
        program = replace(evidence_of(recorder, STDIO, Verdict.PASSED, "2"), tried=1)
        boundary = replace(
            local(recorder, CheckKind.BOUNDARY, Verdict.PASSED), exit_code=0, tried=1
        )
        contract = replace(
            local(recorder, CheckKind.CONTRACT, Verdict.CRASH), exit_code=1, tried=-1
        )
        for forged in (program, boundary, contract):
            refused_as(recorder, forged, Law.MISDECLARED, "cannot have tried")
        counted = replace(contract, tried=1)
        assert [f.code for f in as_format_2(store, counted)] == ["law.misdeclared"]
        recorder.record(CheckRan(evidence=counted))


INCONCLUSIVE = {
    Verdict.NOT_RUN: CheckKind.TEST,
    Verdict.VACUOUS: CheckKind.CONTRACT,
    Verdict.UNTRIED: CheckKind.SWAP,
    Verdict.UNMEASURABLE: CheckKind.PROBE,
}
"""Each inconclusive verdict and a kind of check that can have it."""


class TestOfInconclusiveVerdicts:
    """They are no evidence for anybody, so they come with no result."""

    @pytest.mark.parametrize("verdict", INCONCLUSIVE)
    def test_they_exist_since_format_3(self, store: SqliteStore, verdict: Verdict) -> None:
        recorder = built(store)
        evidence = local(recorder, INCONCLUSIVE[verdict], verdict)
        assert [f.code for f in as_format_2(store, evidence)] == ["law.false-verdict"]
        recorder.record(CheckRan(evidence=evidence))

    @pytest.mark.parametrize(
        ("verdict", "kind"),
        [
            (Verdict.UNTRIED, CheckKind.CLUE),
            (Verdict.UNMEASURABLE, CheckKind.CONTRACT),
            (Verdict.VACUOUS, CheckKind.EXAMPLE),
            (Verdict.VACUOUS, CheckKind.SWAP),
        ],
    )
    def test_some_belong_to_kinds_of_checks(
        self, store: SqliteStore, verdict: Verdict, kind: CheckKind
    ) -> None:
        recorder = built(store)
        evidence = local(recorder, kind, verdict)
        refused_as(recorder, evidence, Law.FALSE_VERDICT, f"no {kind.value} check is")

    @pytest.mark.parametrize("verdict", INCONCLUSIVE)
    @pytest.mark.parametrize(
        "forged",
        [
            {"exit_code": 1},
            {"signal": SIGKILL},
            {"frames": (Frame(function="f_S2", line=2, file=PROGRAM_FILE),)},
        ],
    )
    def test_a_crash_is_a_result(
        self, store: SqliteStore, verdict: Verdict, forged: dict[str, object]
    ) -> None:
        recorder = built(store)
        evidence = replace(local(recorder, INCONCLUSIVE[verdict], verdict), **forged)
        refused_as(recorder, evidence, Law.FALSE_VERDICT, "ended abnormally")
        honest = replace(evidence, exit_code=0, signal=None, frames=())
        recorder.record(CheckRan(evidence=honest))

    def test_an_input_that_decides_is_a_result(self, store: SqliteStore) -> None:
        recorder = built(store)
        vacuous = local(recorder, CheckKind.CONTRACT, Verdict.VACUOUS)
        refused_as(recorder, replace(vacuous, tried=1), Law.FALSE_VERDICT, "decided by an input")
        recorder.record(CheckRan(evidence=replace(vacuous, tried=0)))

    def test_what_was_observed_is_a_result_of_a_check_that_judges(self, store: SqliteStore) -> None:
        recorder = built(store)
        seen = recorder.put("2")
        judged = replace(local(recorder, CheckKind.EXAMPLE, Verdict.NOT_RUN), observed=seen)
        refused_as(recorder, judged, Law.FALSE_VERDICT, "S2.example has a result")
        clue = replace(local(recorder, CheckKind.CLUE, Verdict.NOT_RUN), observed=seen)
        recorder.record(CheckRan(evidence=clue))

    @pytest.mark.parametrize("kind", [CheckKind.COMPILE, CheckKind.SIGNATURE])
    def test_what_is_parsed_always_has_a_result(self, store: SqliteStore, kind: CheckKind) -> None:
        recorder = built(store)
        evidence = replace(parsed_evidence(recorder, S2, kind), verdict=Verdict.NOT_RUN)
        refused_as(recorder, evidence, Law.FALSE_VERDICT, "always has a result")

    @pytest.mark.parametrize("verdict", INCONCLUSIVE)
    @pytest.mark.parametrize(
        ("example", "allowed"),
        [
            (STDIO, None),
            (CALL, None),
            (FILES, None),
            (CallExample(arguments="2", result="nonsense(3)"), Verdict.NOT_RUN),
            (CodeExample(code="import unittest\n"), Verdict.VACUOUS),
        ],
    )
    def test_a_check_of_the_program_has_a_result_unless_its_example_has_none(
        self, store: SqliteStore, example: Example, allowed: Verdict | None, verdict: Verdict
    ) -> None:
        recorder = built_with(store, example)
        evidence = replace(evidence_of(recorder, example, verdict, ""), observed=None)
        if verdict is allowed:
            recorder.record(CheckRan(evidence=evidence))
        else:
            refused_as(recorder, evidence, Law.FALSE_VERDICT, "always has a result")

    def test_whether_a_program_loads_always_has_a_result(self, store: SqliteStore) -> None:
        recorder = built(store)
        evidence = Evidence(
            check=LOADS,
            kind=LOADS_CHECK.kind,
            subject=AtProgram(),
            trust=LOADS_CHECK.trust,
            verdict=Verdict.NOT_RUN,
            against=recorder.assemble(),
            requirement=LOADS_CHECK.requirement,
            exit_code=0,
        )
        refused_as(recorder, evidence, Law.FALSE_VERDICT, "loads always has a result")
