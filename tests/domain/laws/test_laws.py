"""The laws of a whole run: the recorder refuses each illegal event, and verification finds it."""

from pathlib import Path

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import RecordRefused, RecordUnreadable
from auditcoder.domain.events import (
    CheckDropped,
    GraphCommitted,
    RunFinished,
    RunOutcome,
    RunStarted,
)
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT
from auditcoder.domain.laws import Law, open_doubts
from auditcoder.domain.repair import (
    Decision,
)
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import StdioExample
from auditcoder.domain.values import CheckId, RunId
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import (
    assert_illegal,
    written,
)
from tests.support.record_builders import (
    GRAPH,
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    built,
    check_node,
    check_program,
    code,
    failing,
    locate,
    repairing,
    started,
    ticking,
)
from tests.support.records import forge, take

replace = msgspec.structs.replace


class TestBeginningAndEnd:
    def test_a_run_starts_once(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = RunStarted(format=1, run=RUN, task=TASK)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)

    def test_no_event_follows_the_end_of_a_run(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.record(RunFinished(outcome=RunOutcome.STOPPED, program=None))
        assert_illegal(recorder, written(recorder, S2, code("S2")), Law.OUT_OF_PLACE)

    def test_a_run_with_a_failed_check_cannot_end_as_passed(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        event = RunFinished(outcome=RunOutcome.PASSED, program=assembly.program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)

    @pytest.mark.parametrize(
        "outcome", [RunOutcome.FAILED, RunOutcome.STOPPED, RunOutcome.ABSTAINED]
    )
    def test_a_run_whose_deciding_checks_pass_ends_as_passed(
        self, store: SqliteStore, outcome: RunOutcome
    ) -> None:
        recorder = failing(store)
        locate(recorder, None)
        check_program(recorder, "example-1", Verdict.PASSED)
        assert recorder.ledger.working.assembly is not None
        event = RunFinished(outcome=outcome, program=recorder.ledger.working.assembly.program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)
        passed = replace(event, outcome=RunOutcome.PASSED)
        assert_illegal(recorder, passed, Law.UNEARNED_OUTCOME)
        recorder.record(replace(passed, doubts=(CheckId("S1_1.generated"),)))

    @pytest.mark.parametrize("doubts", [(), ("S2.generated",), ("S1_1.generated", "S2.generated")])
    def test_a_passed_run_names_exactly_its_open_doubts(
        self, store: SqliteStore, doubts: tuple[str, ...]
    ) -> None:
        recorder = failing(store)
        check_node(recorder, S2, Verdict.NOT_RUN)
        check_program(recorder, "example-1", Verdict.PASSED)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        event = RunFinished(outcome=RunOutcome.PASSED, program=assembly.program)
        forged = replace(event, doubts=tuple(map(CheckId, doubts)))
        assert_illegal(recorder, forged, Law.UNEARNED_OUTCOME)
        recorder.record(replace(event, doubts=open_doubts(recorder.ledger)))

    def test_a_run_that_did_not_pass_names_no_doubts(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        doubts = open_doubts(recorder.ledger)
        event = RunFinished(outcome=RunOutcome.FAILED, program=assembly.program, doubts=doubts)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)

    def test_no_run_named_its_doubts_before_format_3(self, store: SqliteStore) -> None:
        recorder = failing(store)
        check_program(recorder, "example-1", Verdict.PASSED)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        end = RunFinished(outcome=RunOutcome.PASSED, program=assembly.program)
        raw = take(store, RUN)
        start, *events = raw.events()
        assert isinstance(start, RunStarted)
        older = [replace(start, format=2), *events]
        assert forge(raw, [*older, end]).verify().findings == ()
        doubting = replace(end, doubts=open_doubts(recorder.ledger))
        (found,) = forge(raw, [*older, doubting]).verify().findings
        assert found.code == "law.unearned-outcome"

    def test_a_run_with_a_failed_check_can_end_as_failed(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        recorder.record(RunFinished(outcome=RunOutcome.FAILED, program=assembly.program))

    def test_a_run_abstains_only_on_a_diagnosis_that_does(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        event = RunFinished(outcome=RunOutcome.ABSTAINED, program=assembly.program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)
        locate(recorder, AtNode(node=S1_1))
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)
        locate(recorder, None)
        recorder.record(event)

    def test_a_run_does_not_end_within_a_transaction(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = RunFinished(outcome=RunOutcome.STOPPED, program=None)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)


class TestRegressions:
    """Illegal histories that an earlier version accepted."""

    def test_a_passed_run_needs_every_given_check_ever_recorded(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        check_program(recorder, "example-1", Verdict.FAILED)
        check_program(recorder, "example-2", Verdict.FAILED)
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        recorder.write_code(S1_1, code("S1_1", "return x + 1"))
        program = recorder.assemble()
        check_program(recorder, "example-1", Verdict.PASSED)
        assert recorder.decide() is Decision.ACCEPTED
        event = RunFinished(outcome=RunOutcome.PASSED, program=program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)

    def test_without_examples_a_passed_run_needs_the_derived_checks(
        self, store: SqliteStore
    ) -> None:
        recorder = built(store, replace(TASK, examples=()))
        program = recorder.assemble()
        event = RunFinished(outcome=RunOutcome.PASSED, program=program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)
        check_program(recorder, "loads", Verdict.FAILED)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)
        check_program(recorder, "loads", Verdict.PASSED)
        recorder.record(event)

    @pytest.mark.parametrize("name", ["../up", "/abs", "", "-flag", "a b", "x" * 200, "\x1b[2J"])
    def test_a_run_id_must_be_a_plain_name(self, store: SqliteStore, name: str) -> None:
        with pytest.raises(RecordRefused) as refused:
            Recorder.start(store, RunId(name), TASK, ticking())
        assert refused.value.code == "law.misdeclared"
        assert store.runs() == []

    def test_an_event_that_cannot_be_encoded_is_refused_and_leaves_the_head_unchanged(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        before = recorder.head
        with pytest.raises(RecordRefused) as refused:
            recorder.record(CheckDropped(check=CheckId("\ud800"), reason="half a character"))
        assert refused.value.code == "record.unwritable"
        assert recorder.head == before

    def test_the_tasks_own_examples_must_pass(self, store: SqliteStore) -> None:
        task = replace(TASK, examples=(StdioExample(input="1", output="2"),))
        recorder = Recorder.start(store, RUN, task, ticking())
        recorder.record(GraphCommitted(graph=GRAPH))
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, code(name))
        program = recorder.assemble()
        check_program(recorder, "loads", Verdict.PASSED)
        event = RunFinished(outcome=RunOutcome.PASSED, program=program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)

    def test_a_program_with_unparsable_code_cannot_pass(self, store: SqliteStore) -> None:
        recorder = started(store)
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, "type X = int\n" if name == S2 else code(name))
        program = recorder.assemble()
        for check in ("example-1", "example-2"):
            with pytest.raises(RecordRefused, match="cannot be read"):
                check_program(recorder, check, Verdict.PASSED)
            check_program(recorder, check, Verdict.CRASH)
        event = RunFinished(outcome=RunOutcome.PASSED, program=program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)
        recorder.record(replace(event, outcome=RunOutcome.FAILED))

    def test_recorder_operations_out_of_place_are_refused(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, ticking())
        for act in (recorder.assemble, recorder.decide, recorder.open_transaction):
            with pytest.raises(RecordRefused):
                act()

    def test_a_recorder_does_not_resume_a_broken_chain(self, store: SqliteStore) -> None:
        started(store)
        store._db.execute("DROP TRIGGER events_stand")
        store._db.execute(
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), '03:04:05', '03:04:09')"
            " AS BLOB) WHERE seq = 0"
        )
        with pytest.raises(RecordUnreadable):
            Recorder.resume(store, RUN, ticking())


def test_every_law_has_a_test_that_breaks_it() -> None:
    tests = Path(__file__).parent.glob("test_*.py")
    source = "".join(path.read_text(encoding="utf-8") for path in tests)
    assert not [law.name for law in Law if f"Law.{law.name})" not in source]
