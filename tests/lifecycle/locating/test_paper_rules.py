"""The paper's rules on constructed inputs: their order and the evidence that each needs."""

from auditcoder.domain.diagnosis import Abstained, Level, Localised
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.graph import Node, NodeKind, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtBranch, AtNode, AtProgram, Target
from auditcoder.lifecycle.locating.diagnosis_input import DiagnosisInput, RecordedCheck, trust_order
from auditcoder.lifecycle.locating.paper_rules import PaperRules
from tests.support.diagnosis_cases import GRAPH, S1, S1_1, S1_2, S2, S2_1, TOP, local, node, program


def locate(
    *standing: RecordedCheck, tried: tuple[Target, ...] = (), graph: TaskGraph = GRAPH
) -> Localised | Abstained:
    shown = [s for s in standing if isinstance(s.evidence.subject, AtProgram)]
    agents = {n.id: f"agent_{n.id}" for n in graph.nodes}
    own = tuple(s for s in standing if s not in shown)
    ordered = tuple(sorted(shown, key=lambda s: trust_order(s.evidence)))
    return PaperRules().locate(DiagnosisInput(graph, agents, ordered, own, tried))


def found(diagnosis: Localised | Abstained) -> tuple[Target, str, Level]:
    assert isinstance(diagnosis, Localised), diagnosis
    return diagnosis.target, diagnosis.rule, diagnosis.level


def abstained(diagnosis: Localised | Abstained) -> str:
    assert isinstance(diagnosis, Abstained), diagnosis
    return diagnosis.reason


class TestTraceback:
    def test_r1_selects_the_node_of_the_innermost_owned_frame(self) -> None:
        diagnosis = locate(program(Verdict.CRASH, ROOT, S1, S1_1, None))
        assert found(diagnosis) == (AtNode(node=S1_1), "R1", Level.HIGH)
        assert isinstance(diagnosis, Localised)
        assert diagnosis.agents == ("agent_S1_1",)
        assert diagnosis.evidence == (1,)

    def test_r1_selects_the_root_if_its_frame_is_the_innermost(self) -> None:
        assert found(locate(program(Verdict.CRASH, ROOT)))[0] == AtNode(node=ROOT)

    def test_r1_skips_a_crash_without_an_owned_frame(self) -> None:
        both = program(Verdict.CRASH, None), program(Verdict.CRASH, S2, seq=2)
        assert found(locate(*both))[0] == AtNode(node=S2)

    def test_r1_skips_frames_of_unknown_nodes(self) -> None:
        assert found(locate(program(Verdict.CRASH, S2, NodeId("S9"))))[0] == AtNode(node=S2)

    def test_r1_precedes_the_other_rules(self) -> None:
        shown = program(Verdict.FAILED), program(Verdict.TIMEOUT, S2, seq=2)
        diagnosis = locate(*shown, program(Verdict.CRASH, S1, seq=3), local(S2))
        assert found(diagnosis)[:2] == (AtNode(node=S1), "R1")

    def test_r1_prefers_given_checks_to_generated_ones(self) -> None:
        generated = program(Verdict.CRASH, S1, trust=Trust.GENERATED)
        assert found(locate(generated, program(Verdict.CRASH, S2, seq=2)))[0] == AtNode(node=S2)


class TestResource:
    def test_r2_selects_the_node_that_a_probe_rejects(self) -> None:
        diagnosis = locate(
            program(Verdict.TIMEOUT, S1), local(S2, Verdict.FAILED, CheckKind.PROBE, seq=7)
        )
        assert found(diagnosis) == (AtNode(node=S2), "R2", Level.MEDIUM)
        assert diagnosis.evidence == (1, 7)

    def test_r2_counts_a_node_check_that_timed_out(self) -> None:
        diagnosis = locate(program(Verdict.TIMEOUT), local(S2, Verdict.TIMEOUT))
        assert found(diagnosis)[0] == AtNode(node=S2)

    def test_r2_selects_the_interrupted_node_if_no_probe_rejects(self) -> None:
        diagnosis = locate(program(Verdict.MEMORY, ROOT, S1, None))
        assert found(diagnosis) == (AtNode(node=S1), "R2", Level.LOW)

    def test_r2_selects_the_lowest_of_candidates_on_one_path(self) -> None:
        probes = [local(n, Verdict.FAILED, CheckKind.PROBE) for n in (S1, S1_1)]
        assert found(locate(program(Verdict.TIMEOUT), *probes))[0] == AtNode(node=S1_1)

    def test_r2_abstains_if_candidates_are_on_different_paths(self) -> None:
        probes = [local(n, Verdict.FAILED, CheckKind.PROBE) for n in (S1, S2)]
        assert "S1, S2 could each" in abstained(locate(program(Verdict.TIMEOUT), *probes))

    def test_r2_abstains_without_a_probe_or_an_interrupted_node(self) -> None:
        assert "nothing says which part" in abstained(locate(program(Verdict.TIMEOUT)))

    def test_r2_precedes_local_rejection(self) -> None:
        shown = program(Verdict.FAILED), program(Verdict.TIMEOUT, S1, seq=2)
        assert found(locate(*shown, local(S2)))[:2] == (AtNode(node=S1), "R2")


class TestLocalRejection:
    WRONG = program(Verdict.FAILED, ran=(ROOT, S1, S1_1, S1_2, S2, S2_1))

    def test_r3_selects_the_only_rejected_node(self) -> None:
        diagnosis = locate(self.WRONG, local(S1_1, seq=9))
        assert found(diagnosis) == (AtNode(node=S1_1), "R3", Level.MEDIUM)
        assert diagnosis.evidence == (1, 9)

    def test_r3_selects_the_lowest_branch_of_several_rejected_nodes(self) -> None:
        assert found(locate(self.WRONG, local(S1_1), local(S1_2)))[0] == AtBranch(root=S1)
        assert found(locate(self.WRONG, local(S1), local(S1_2)))[0] == AtBranch(root=S1)

    def test_r3_abstains_if_rejected_nodes_share_only_the_root(self) -> None:
        reason = abstained(locate(self.WRONG, local(S1_1), local(S2_1)))
        assert reason.startswith("S1_1, S2_1 are each rejected")

    def test_r3_ignores_a_node_that_did_not_run(self) -> None:
        wrong = program(Verdict.FAILED, ran=(ROOT, S1, S1_1))
        assert found(locate(wrong, local(S1_1), local(S2)))[0] == AtNode(node=S1_1)
        assert abstained(locate(wrong, local(S2)))

    def test_r3_counts_every_node_if_it_is_unknown_which_ran(self) -> None:
        assert found(locate(program(Verdict.FAILED), local(S2)))[0] == AtNode(node=S2)

    def test_r3_follows_a_review_only_without_stronger_evidence(self) -> None:
        opinion = local(S2, kind=CheckKind.REVIEW)
        assert found(locate(self.WRONG, opinion)) == (AtNode(node=S2), "R3", Level.LOW)
        assert found(locate(self.WRONG, opinion, local(S1_1))) == (
            AtNode(node=S1_1),
            "R3",
            Level.MEDIUM,
        )

    def test_r3_ignores_probes_and_passed_checks(self) -> None:
        probe = local(S1, Verdict.FAILED, CheckKind.PROBE)
        assert abstained(locate(self.WRONG, probe, local(S2, Verdict.PASSED)))

    def test_r3_considers_the_nodes_that_ran_in_the_most_trusted_failure(self) -> None:
        generated = program(Verdict.FAILED, trust=Trust.GENERATED, ran=(S1,))
        given = program(Verdict.FAILED, seq=2, ran=(S2,))
        assert found(locate(generated, given, local(S1), local(S2)))[0] == AtNode(node=S2)


class TestSoleNode:
    ALONE = TaskGraph(
        nodes=(Node(id=ROOT, goal="All", kind=NodeKind.ORCHESTRATION), node(S1, ROOT)), order=(S1,)
    )

    def test_a_sole_node_is_selected_for_every_wrong_answer(self) -> None:
        diagnosis = locate(program(Verdict.FAILED), graph=self.ALONE)
        assert found(diagnosis) == (AtNode(node=S1), "R3", Level.MEDIUM)

    def test_a_leaf_is_not_the_sole_node_if_the_root_has_a_function_too(self) -> None:
        both = TaskGraph(nodes=(TOP, node(S1, ROOT)), order=(S1,))
        assert abstained(locate(program(Verdict.FAILED), graph=both))


class TestRejectedTargets:
    WRONG = program(Verdict.FAILED)

    def test_a_rejected_target_is_widened_to_its_branch(self) -> None:
        diagnosis = locate(self.WRONG, local(S1_1), tried=(AtNode(node=S1_1),))
        assert found(diagnosis) == (AtBranch(root=S1), "R3", Level.MEDIUM)
        assert isinstance(diagnosis, Localised)
        assert diagnosis.agents == ("agent_S1", "agent_S1_1", "agent_S1_2")
        assert diagnosis.explanation.endswith("a repair of S1_1 alone was rejected")

    def test_a_target_is_abandoned_once_its_branch_was_rejected_too(self) -> None:
        tried = (AtNode(node=S1_1), AtBranch(root=S1))
        assert "in vain" in abstained(locate(self.WRONG, local(S1_1), tried=tried))

    def test_a_rejected_root_is_abandoned_because_it_has_no_branch(self) -> None:
        tried = (AtNode(node=ROOT),)
        assert "in vain" in abstained(locate(program(Verdict.CRASH, ROOT), tried=tried))

    def test_a_rejected_branch_is_abandoned(self) -> None:
        rejected = local(S1_1), local(S1_2)
        assert "in vain" in abstained(locate(self.WRONG, *rejected, tried=(AtBranch(root=S1),)))

    def test_a_rejected_target_does_not_affect_another_target(self) -> None:
        diagnosis = locate(self.WRONG, local(S2), tried=(AtNode(node=S1_1), AtBranch(root=S1)))
        assert found(diagnosis)[0] == AtNode(node=S2)


def test_an_abstention_names_the_failure_that_points_to_no_node() -> None:
    diagnosis = locate(program(Verdict.CRASH, None), program(Verdict.PASSED, seq=2))
    assert abstained(diagnosis)
    assert diagnosis.evidence == (1,)
