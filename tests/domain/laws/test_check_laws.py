"""The laws of validation: the recorder refuses each illegal event, and verification finds it."""

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import (
    BriefCommitted,
    CheckDropped,
    CheckRan,
)
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.laws import Law
from auditcoder.domain.targets import AtBranch, AtProgram
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    Example,
    FilesExample,
    StdioExample,
    example_check,
    example_content,
)
from auditcoder.domain.values import CheckId, digest
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import assert_illegal, planning, ran
from tests.support.record_builders import (
    S1,
    S1_1,
    S2,
    TASK,
    built,
    check_node,
    code,
    failing,
    repairing,
    started,
)

replace = msgspec.structs.replace


class TestEvidence:
    def test_evidence_about_replaced_code_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2"))
        old = recorder.ledger.working.code[S2].digest
        recorder.write_code(S2, code("S2", "return x + 1"))
        assert_illegal(recorder, ran(S2, old), Law.STALE_EVIDENCE)

    def test_evidence_about_a_node_without_code_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert_illegal(recorder, ran(S2, digest(b"")), Law.STALE_EVIDENCE)

    def test_a_check_cannot_change_its_declaration(self, store: SqliteStore) -> None:
        recorder = failing(store)
        standing = recorder.ledger.working.code[S1_1].digest
        event = ran(S1_1, standing)
        other = replace(event.evidence, check=CheckId("S1_1.generated"), trust=Trust.GIVEN)
        assert_illegal(recorder, CheckRan(evidence=other), Law.MISDECLARED)

    def test_a_given_check_cannot_be_dropped(self, store: SqliteStore) -> None:
        recorder = failing(store)
        event = CheckDropped(check=CheckId("example-1"), reason="inconvenient")
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_dropped_check_stays_dropped(self, store: SqliteStore) -> None:
        recorder = failing(store)
        recorder.record(CheckDropped(check=CheckId("S1_1.generated"), reason="it was wrong"))
        event = ran(S1_1, recorder.ledger.working.code[S1_1].digest)
        again = replace(event.evidence, check=CheckId("S1_1.generated"))
        assert_illegal(recorder, CheckRan(evidence=again), Law.STALE_EVIDENCE)

    def test_no_check_is_dropped_while_a_transaction_is_open(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = CheckDropped(check=CheckId("S1_1.generated"), reason="in the way")
        assert_illegal(recorder, event, Law.WRONG_DECISION)

    def test_changing_code_invalidates_its_evidence(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2"))
        check_node(recorder, S2, Verdict.PASSED)
        recorder.write_code(S2, code("S2", "return 2 * x"))
        assert not recorder.ledger.working.evidence


class TestRegressions:
    """Illegal histories that an earlier version accepted."""

    def test_a_check_keeps_its_content(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return x + 1"))
        program = recorder.assemble()
        easier = Evidence(
            check=CheckId("example-1"),
            kind=CheckKind.EXAMPLE,
            subject=AtProgram(),
            trust=Trust.GIVEN,
            verdict=Verdict.PASSED,
            against=program,
            expected=recorder.put("whatever it printed"),
        )
        assert_illegal(recorder, CheckRan(evidence=easier), Law.MISDECLARED)

    def test_a_check_cannot_run_again_on_the_unchanged_program_during_a_repair(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        lucky = Evidence(
            check=CheckId("example-1"),
            kind=CheckKind.EXAMPLE,
            subject=AtProgram(),
            trust=Trust.GIVEN,
            verdict=Verdict.PASSED,
            against=assembly.program,
        )
        assert_illegal(recorder, CheckRan(evidence=lucky), Law.STALE_EVIDENCE)

    def test_evidence_about_a_branch_without_code_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        evidence = Evidence(
            check=CheckId("empty"),
            kind=CheckKind.CONTRACT,
            subject=AtBranch(root=S1),
            trust=Trust.DERIVED,
            verdict=Verdict.PASSED,
            against=recorder.ledger.working.codes_of([]),
        )
        assert_illegal(recorder, CheckRan(evidence=evidence), Law.STALE_EVIDENCE)

    def test_a_planned_check_runs_as_it_was_planned(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.record(BriefCommitted(brief=planning("x", Trust.GENERATED)))
        easier = planning("x", Trust.GENERATED, output="0")
        assert_illegal(recorder, BriefCommitted(brief=easier, reason="easier"), Law.MISDECLARED)
        program = recorder.assemble()
        honest = Evidence(
            check=CheckId("x"),
            kind=CheckKind.BOUNDARY,
            subject=AtProgram(),
            trust=Trust.GENERATED,
            verdict=Verdict.PASSED,
            against=program,
            input=recorder.put("1"),
            expected=recorder.put("2"),
            observed=recorder.put("2"),
            exit_code=0,
        )
        forged = replace(honest, expected=recorder.put("0"), observed=recorder.put("0"))
        assert_illegal(recorder, CheckRan(evidence=forged), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=honest))
        recorder.record(BriefCommitted(brief=planning("x", Trust.GENERATED), reason="the same"))

    def test_a_given_check_must_be_about_the_program(self, store: SqliteStore) -> None:
        recorder = built(store)
        event = ran(S2, recorder.ledger.working.code[S2].digest)
        given = replace(event.evidence, trust=Trust.GIVEN)
        assert_illegal(recorder, CheckRan(evidence=given), Law.MISDECLARED)

    def test_a_review_cannot_be_a_given_check(self, store: SqliteStore) -> None:
        recorder = built(store)
        program = recorder.assemble()
        opinion = Evidence(
            check=CheckId("opinion"),
            kind=CheckKind.REVIEW,
            subject=AtProgram(),
            trust=Trust.GIVEN,
            verdict=Verdict.PASSED,
            against=program,
        )
        assert_illegal(recorder, CheckRan(evidence=opinion), Law.MISDECLARED)

    def test_only_generated_checks_can_be_dropped(self, store: SqliteStore) -> None:
        event = CheckDropped(check=CheckId("derived-1"), reason="in the way")
        assert_illegal(failing(store), event, Law.MISDECLARED)


EXAMPLES: dict[str, Example] = {
    "stdio": StdioExample(input="1", output="2"),
    "call": CallExample(arguments="2", result="4"),
    "code": CodeExample(code="assert f_S1(2) == 4"),
    "files": FilesExample(inputs={"a": "1"}, artefacts={"b": "2"}),
}
FORGED_DEFINITIONS: dict[str, dict[str, object]] = {
    "input": {"input": digest(b"0")},
    "expected result": {"expected": digest(b"0")},
    "no expected result": {"expected": None},
    "kind": {"kind": CheckKind.CLUE},
    "trust": {"trust": Trust.DERIVED},
    "requirement": {"requirement": "something easier"},
    "subject": {"subject": AtBranch(root=S1)},
}


class TestGiven:
    """Given checks are the task's examples in every part, and nothing else is given."""

    def example_evidence(self, recorder: Recorder, example: Example) -> Evidence:
        """Evidence that the first example passed on the assembled program."""
        content = example_content(example)
        return Evidence(
            check=example_check(1),
            kind=CheckKind.TEST if isinstance(example, CodeExample) else CheckKind.EXAMPLE,
            subject=AtProgram(),
            trust=Trust.GIVEN,
            verdict=Verdict.PASSED,
            against=recorder.assemble(),
            input=recorder.put(content.input),
            expected=None if content.expected is None else recorder.put(content.expected),
            observed=None if content.expected is None else recorder.put(content.expected),
            exit_code=0,
        )

    @pytest.mark.parametrize(
        ("form", "forged"),
        [
            (form, forged)
            for form in EXAMPLES
            for forged in FORGED_DEFINITIONS
            if (form, forged) != ("code", "no expected result")  # it has none
        ],
    )
    def test_an_example_runs_exactly_as_the_task_states_it(
        self, store: SqliteStore, form: str, forged: str
    ) -> None:
        recorder = built(store, replace(TASK, examples=(EXAMPLES[form],)))
        honest = self.example_evidence(recorder, EXAMPLES[form])
        recorder.put("0")
        other = replace(honest, **FORGED_DEFINITIONS[forged])
        if forged == "subject":
            branch = recorder.ledger.working.codes_of(recorder.ledger.graph.subtree(S1))
            other = replace(other, against=branch)
        assert_illegal(recorder, CheckRan(evidence=other), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=honest))

    def test_a_given_check_cannot_be_invented(self, store: SqliteStore) -> None:
        recorder = built(store)
        invented = replace(
            self.example_evidence(recorder, EXAMPLES["stdio"]), check=CheckId("example-3")
        )
        assert_illegal(recorder, CheckRan(evidence=invented), Law.MISDECLARED)

    def test_a_brief_cannot_plan_a_given_check(self, store: SqliteStore) -> None:
        event = BriefCommitted(brief=planning("x", Trust.GIVEN))
        assert_illegal(started(store), event, Law.MISDECLARED)

    def test_a_repair_cannot_win_with_an_invented_given_check(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return x + 1"))
        invented = replace(
            self.example_evidence(recorder, EXAMPLES["stdio"]), check=CheckId("example-3")
        )
        assert_illegal(recorder, CheckRan(evidence=invented), Law.MISDECLARED)
