"""The laws of validation: the recorder refuses each illegal event, and verification finds it."""

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.brief import Brief, PlannedCheck, Requirements
from auditcoder.domain.events import (
    Adjudicated,
    BriefCommitted,
    CheckDropped,
    CheckRan,
    Opinion,
    Ruling,
    RunStarted,
)
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.graph import Node, NodeKind, TaskGraph
from auditcoder.domain.ids import ROOT
from auditcoder.domain.laws import Law
from auditcoder.domain.laws.check_laws import LOADS, LOADS_CHECK
from auditcoder.domain.targets import AtBranch, AtNode, AtProgram
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    Example,
    FilesExample,
    StdioExample,
    example_check,
    example_content,
)
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, digest
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import assert_illegal, parsed_evidence, planning, ran, reply
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
    node,
    observe_node,
    plan_check,
    repairing,
    started,
    ticking,
)
from tests.support.records import forge, take

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

    def test_a_check_that_never_ran_cannot_be_dropped(self, store: SqliteStore) -> None:
        event = CheckDropped(check=CheckId("S1_1.unknown"), reason="it was wrong")
        assert_illegal(failing(store), event, Law.MISDECLARED)

    def test_only_the_dropped_check_and_its_evidence_are_forgotten(
        self, store: SqliteStore
    ) -> None:
        recorder = failing(store)
        dropped, before = CheckId("S1_1.generated"), recorder.ledger
        recorder.record(CheckDropped(check=dropped, reason="it was wrong"))
        after = recorder.ledger
        assert before.checks.keys() - after.checks.keys() == {dropped}
        assert before.working.evidence.keys() - after.working.evidence.keys() == {dropped}

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

    def test_a_node_that_is_the_whole_program_can_be_checked_during_its_repair(
        self, store: SqliteStore
    ) -> None:
        root = Node(id=ROOT, goal="Answer", kind=NodeKind.ORCHESTRATION, dependencies=(S2,))
        recorder = started(store, TaskGraph(nodes=(root, node(S2)), order=(S2,)))
        recorder.write_code(S2, code(S2))
        program = recorder.assemble()
        assert program == recorder.ledger.working.code[S2].digest
        for check in ("example-1", "example-2"):
            check_program(recorder, check, Verdict.FAILED)
        locate(recorder, AtNode(node=S2))
        recorder.open_transaction()
        check_node(recorder, S2, Verdict.FAILED)

    def test_evidence_about_a_branch_before_the_graph_is_refused(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, ticking())
        evidence = Evidence(
            check=CheckId("S1.early"),
            kind=CheckKind.CONTRACT,
            subject=AtBranch(root=S1),
            trust=Trust.DERIVED,
            verdict=Verdict.PASSED,
            against=recorder.ledger.working.codes_of([]),
        )
        assert_illegal(recorder, CheckRan(evidence=evidence), Law.STALE_EVIDENCE)

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

    @pytest.mark.parametrize("trust", [Trust.GIVEN, Trust.STATED])
    def test_a_check_that_the_task_has_must_be_about_the_program(
        self, store: SqliteStore, trust: Trust
    ) -> None:
        recorder = built(store)
        event = ran(S2, recorder.ledger.working.code[S2].digest)
        claimed = replace(event.evidence, trust=trust)
        assert_illegal(recorder, CheckRan(evidence=claimed), Law.MISDECLARED)

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

    def test_the_opinion_of_a_model_is_not_derived(self, store: SqliteStore) -> None:
        recorder = built(store)
        late = ran(S2, recorder.ledger.working.code[S2].digest).evidence
        opinion = replace(late, check=CheckId("S2.review"), kind=CheckKind.REVIEW)
        derived = CheckRan(evidence=replace(opinion, trust=Trust.DERIVED))
        assert_illegal(recorder, derived, Law.MISDECLARED)
        recorder.record(CheckRan(evidence=opinion))

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

    @pytest.mark.parametrize("trust", [Trust.GIVEN, Trust.GENERATED])
    def test_a_brief_cannot_change_how_an_example_is_judged(
        self, store: SqliteStore, trust: Trust
    ) -> None:
        """The verdict on texts that are no literals would be believed if they were expressions."""
        printed = StdioExample(input="1", output="YES")
        recorder = built(store, replace(TASK, examples=(printed,)))
        name = example_check(1) if trust is Trust.GIVEN else CheckId("x")
        planned = PlannedCheck(id=name, trust=trust, example=printed)
        honest = BriefCommitted(
            brief=Brief(requirements=Requirements(checks=(planned,))), reason="as it is"
        )
        recorder.record(honest)
        for other in (
            replace(planned, example=CallExample(arguments="1", result="YES")),
            replace(planned, description="it need not be so"),
        ):
            forged = Brief(requirements=Requirements(checks=(other,)))
            assert_illegal(recorder, replace(honest, brief=forged), Law.MISDECLARED)
        recorder.record(honest)

    def test_a_repair_cannot_win_with_an_invented_given_check(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return x + 1"))
        invented = replace(
            self.example_evidence(recorder, EXAMPLES["stdio"]), check=CheckId("example-3")
        )
        assert_illegal(recorder, CheckRan(evidence=invented), Law.MISDECLARED)


class TestOfTheProgram:
    """Without a plan, the only check of the program is that it loads."""

    def loaded(self, recorder: Recorder) -> Evidence:
        return Evidence(
            check=LOADS,
            kind=LOADS_CHECK.kind,
            subject=AtProgram(),
            trust=LOADS_CHECK.trust,
            verdict=Verdict.PASSED,
            against=recorder.assemble(),
            requirement=LOADS_CHECK.requirement,
            exit_code=0,
        )

    @pytest.mark.parametrize(
        "forged",
        [
            {"check": CheckId("loads-too")},
            {"kind": CheckKind.TEST},
            {"trust": Trust.GENERATED},
            {"requirement": "it can be read"},
        ],
    )
    def test_no_other_check_is_invented(
        self, store: SqliteStore, forged: dict[str, object]
    ) -> None:
        recorder = built(store)
        honest = self.loaded(recorder)
        assert_illegal(recorder, CheckRan(evidence=replace(honest, **forged)), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=honest))


class TestOfNodes:
    """A check of a node or branch carries its name, and is no other check."""

    def test_a_check_of_a_node_is_named_after_it(self, store: SqliteStore) -> None:
        recorder = built(store)
        honest = ran(S1, recorder.ledger.working.code[S1].digest).evidence
        for name in ("late", "S2.late", "S1_1.late", "S1"):
            forged = replace(honest, check=CheckId(name))
            assert_illegal(recorder, CheckRan(evidence=forged), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=honest))

    def test_a_check_of_a_branch_is_named_after_its_root(self, store: SqliteStore) -> None:
        recorder = built(store)
        working = recorder.ledger.working
        branch = working.codes_of(recorder.ledger.graph.subtree(S1))
        event = ran(S1, working.code[S1].digest)
        honest = replace(event.evidence, subject=AtBranch(root=S1), against=branch)
        forged = replace(honest, check=CheckId("S1_1.late"))
        assert_illegal(recorder, CheckRan(evidence=forged), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=honest))

    @pytest.mark.parametrize("kind", [CheckKind.COMPILE, CheckKind.SIGNATURE])
    @pytest.mark.parametrize(
        "forged",
        [
            {"check": CheckId("S2.parsed")},
            {"kind": CheckKind.STATIC},
            {"trust": Trust.GENERATED},
            {"requirement": "something easier"},
        ],
    )
    def test_a_check_for_which_nothing_runs_has_one_definition(
        self, store: SqliteStore, kind: CheckKind, forged: dict[str, object]
    ) -> None:
        recorder = built(store)
        honest = parsed_evidence(recorder, S2, kind)
        assert_illegal(recorder, CheckRan(evidence=replace(honest, **forged)), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=honest))

    def test_a_node_without_a_contract_has_no_signature_to_check(self, store: SqliteStore) -> None:
        bare = replace(GRAPH.by_id[S2], contract=None)
        recorder = started(store, replace(GRAPH, nodes=(*GRAPH.nodes[:-1], bare)))
        recorder.write_code(S2, code(S2))
        compiles = parsed_evidence(recorder, S2, CheckKind.COMPILE)
        signature = replace(compiles, check=CheckId("S2.signature"), kind=CheckKind.SIGNATURE)
        assert_illegal(recorder, CheckRan(evidence=signature), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=compiles))

    def compared(self, recorder: Recorder, given: str, expected: str, trust: Trust) -> Evidence:
        """Evidence that S2 gave the expected result."""
        return replace(
            ran(S2, recorder.ledger.working.code[S2].digest).evidence,
            trust=trust,
            input=recorder.put(given),
            expected=recorder.put(expected),
            observed=recorder.put(expected),
        )

    @pytest.mark.parametrize("kind", [CheckKind.CONTRACT, CheckKind.TEST, CheckKind.PROBE])
    def test_only_an_example_has_an_expected_result(
        self, store: SqliteStore, kind: CheckKind
    ) -> None:
        recorder = built(store)
        honest = self.compared(recorder, "1", "2", Trust.GENERATED)
        assert_illegal(recorder, CheckRan(evidence=replace(honest, kind=kind)), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=honest))

    def test_a_derived_check_compares_with_an_example_of_the_task(self, store: SqliteStore) -> None:
        recorder = built(store)
        plan_check(recorder, "x")
        for given, expected in (("1", "3"), ("3", "2"), ("1", "4"), ("3 for x", "6")):
            invented = self.compared(recorder, given, expected, Trust.DERIVED)
            assert_illegal(recorder, CheckRan(evidence=invented), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=self.compared(recorder, "1", "2", Trust.DERIVED)))

    def test_a_generated_check_compares_with_anything(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.record(CheckRan(evidence=self.compared(recorder, "3", "6", Trust.GENERATED)))


class TestRulings:
    """A ruling is about a check that fails now, and that nobody gave with the task."""

    def ruling(self, recorder: Recorder, check: str) -> Adjudicated:
        standing = recorder.ledger.working.evidence[CheckId(check)]
        return Adjudicated(
            check=CheckId(check),
            evidence=standing.seq,
            ruling=Ruling.UNDECIDED,
            reason="the statement does not say",
        )

    def test_a_failing_check_that_was_not_given_is_ruled_on(self, store: SqliteStore) -> None:
        recorder = failing(store)
        opinion = Opinion(source="statement", ruling=Ruling.UNDECIDED, reason="it is silent")
        ruling = self.ruling(recorder, "S1_1.generated")
        recorder.record(replace(ruling, opinions=(opinion,)))

    @pytest.mark.parametrize("verdict", [v for v in Verdict if not v.failing])
    def test_a_check_that_does_not_fail_is_not_ruled_on(
        self, store: SqliteStore, verdict: Verdict
    ) -> None:
        recorder = failing(store)
        check_node(recorder, S2, verdict)
        newest = list(recorder.ledger.working.evidence)[-1]
        assert_illegal(recorder, self.ruling(recorder, newest), Law.STALE_EVIDENCE)

    def test_a_check_that_never_ran_is_not_ruled_on(self, store: SqliteStore) -> None:
        recorder = failing(store)
        ruling = replace(self.ruling(recorder, "S1_1.generated"), check=CheckId("S2.generated"))
        assert_illegal(recorder, ruling, Law.STALE_EVIDENCE)

    def test_a_ruling_names_the_newest_evidence(self, store: SqliteStore) -> None:
        recorder = failing(store)
        old = self.ruling(recorder, "S1_1.generated")
        check_node(recorder, S1_1, Verdict.CRASH)
        assert_illegal(recorder, old, Law.STALE_EVIDENCE)
        recorder.record(self.ruling(recorder, "S1_1.generated"))

    def test_a_given_check_is_not_ruled_on(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assert_illegal(recorder, self.ruling(recorder, "example-1"), Law.MISDECLARED)

    def test_an_observation_is_not_ruled_on(self, store: SqliteStore) -> None:
        recorder = failing(store)
        observe_node(recorder, S2, Verdict.FAILED)
        assert_illegal(recorder, self.ruling(recorder, "S2.watched"), Law.MISDECLARED)

    @pytest.mark.parametrize("reason", ["", " \n"])
    def test_a_ruling_has_a_reason(self, store: SqliteStore, reason: str) -> None:
        recorder = failing(store)
        ruling = replace(self.ruling(recorder, "S1_1.generated"), reason=reason)
        assert_illegal(recorder, ruling, Law.MISDECLARED)

    @pytest.mark.parametrize("reply", [-1, 0])
    def test_an_opinion_comes_from_an_earlier_reply(self, store: SqliteStore, reply: int) -> None:
        recorder = failing(store)
        opinion = Opinion(source="model", ruling=Ruling.CHECK_WRONG, reason="r", reply=reply)
        ruling = replace(self.ruling(recorder, "S1_1.generated"), opinions=(opinion,))
        assert_illegal(recorder, ruling, Law.MISDECLARED)
        late = replace(opinion, reply=recorder.ledger.seq)
        assert_illegal(recorder, replace(ruling, opinions=(late,)), Law.MISDECLARED)

    def test_an_opinion_names_a_reply(self, store: SqliteStore) -> None:
        recorder = failing(store)
        seq = recorder.record(reply(recorder, Phase.VERIFICATION))
        opinion = Opinion(source="model", ruling=Ruling.CHECK_WRONG, reason="r", reply=seq)
        ruling = replace(self.ruling(recorder, "S1_1.generated"), opinions=(opinion,))
        other = replace(ruling, opinions=(replace(opinion, reply=seq - 1),))
        assert_illegal(recorder, other, Law.MISDECLARED)
        recorder.record(ruling)

    @pytest.mark.parametrize(
        "said",
        [
            [],
            [Ruling.PROGRAM_WRONG],
            [Ruling.UNDECIDED],
            [Ruling.CHECK_WRONG, Ruling.PROGRAM_WRONG],
        ],
        ids=lambda said: "+".join(r.value for r in said) or "nothing",
    )
    def test_a_ruling_is_what_all_opinions_say(
        self, store: SqliteStore, said: list[Ruling]
    ) -> None:
        recorder = failing(store)
        opinions = tuple(Opinion(source="statement", ruling=r, reason="r") for r in said)
        open_doubt = replace(self.ruling(recorder, "S1_1.generated"), opinions=opinions)
        wrong = replace(open_doubt, ruling=Ruling.CHECK_WRONG)
        assert_illegal(recorder, wrong, Law.MISDECLARED)
        recorder.record(open_doubt)

    def test_a_model_alone_decides_nothing(self, store: SqliteStore) -> None:
        recorder = failing(store)
        seq = recorder.record(reply(recorder, Phase.VERIFICATION))
        opinion = Opinion(source="model", ruling=Ruling.CHECK_WRONG, reason="r", reply=seq)
        open_doubt = replace(self.ruling(recorder, "S1_1.generated"), opinions=(opinion,))
        decided = replace(open_doubt, ruling=Ruling.CHECK_WRONG)
        assert_illegal(recorder, decided, Law.MISDECLARED)
        other = replace(opinion, source="statement", reply=None)
        recorder.record(replace(decided, opinions=(other,)))

    def test_there_are_no_rulings_before_format_3(self, store: SqliteStore) -> None:
        recorder = failing(store)
        ruling = self.ruling(recorder, "S1_1.generated")
        raw = take(store, RUN)
        start, *events = raw.events()
        assert isinstance(start, RunStarted)
        older = forge(raw, [replace(start, format=2), *events, ruling])
        assert [f.code for f in older.verify().findings] == ["law.out-of-place"]
