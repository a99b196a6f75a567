"""Faults injected into solved programs fail, carry the right labels and can be traced."""

from collections.abc import Iterator
from functools import partial

import pytest
from msgspec.structs import replace

from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import CallExample, FunctionForm
from auditcoder.lifecycle.loop import passes
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.faultbench.fault_injector import Fault
from auditcoder_bench.faultbench.injected_evidence import trace_fault, try_fault_substitutions
from auditcoder_bench.faultbench.injected_failures import (
    BETWEEN,
    CHECK,
    GRAPH,
    NODE,
    TWO,
    InjectedFailure,
    inject,
    observed_examples,
)
from auditcoder_bench.faultbench.injection_targets import (
    SolvedProgram,
    from_class,
    program,
    programs,
)
from auditcoder_bench.faultbench.prepared_run import prepare_assembled_run, prepare_validated_run
from auditcoder_bench.faultbench.published_answers import Subject
from tests.support.faultbench import AGAIN, TEXT, tools
from tests.support.scripted_runs import sandboxed

THERE_AND_BACK = '''
"""Go up by one, and down again."""


def up(n: int) -> int:
    """Go up."""
    return n + 1


def down(n: int) -> int:
    """Go down."""
    return n - 1


def there_and_back(n: int) -> int:
    """Go up and down."""
    return down(up(n))


EXAMPLES = (("3", "3"), ("0", "0"))
'''.strip()


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.fixture(scope="module", name="solved")
def _solved() -> SolvedProgram:
    return program("totals", TEXT, AGAIN)


@pytest.fixture(scope="module", name="faults")
def _faults(sandbox: Sandbox, solved: SolvedProgram) -> list[InjectedFailure]:
    return inject(partial(tools, sandbox), solved)


class TestSolvedPrograms:
    def test_a_program_is_read_with_its_plan_its_code_and_second_opinions(
        self, solved: SolvedProgram
    ) -> None:
        assert solved.task.form == FunctionForm(
            entry="total", signature="def total(text: str, limit: int) -> int"
        )
        assert solved.task.examples[0] == CallExample(arguments="'1 2 9', 5", result="3")
        assert solved.plan.graph.promises == {"total": "S0", "read": "S1", "keep": "S2"}
        assert set(solved.codes) == {"S0", "S1", "S2"}
        assert solved.codes[solved.plan.graph.promises["read"]].startswith("import re\n")
        assert set(solved.others) == {"S1", "S2"}

    def test_all_packaged_programs_can_be_read(self) -> None:
        found = list(programs())
        assert len(found) >= 36
        assert all(len(each.codes) >= 4 and each.task.examples for each in found)
        assert all(set(each.others) | {ROOT} == set(each.codes) for each in found)

    def test_a_class_is_read_method_by_method(self, sandbox: Sandbox) -> None:
        subject = Subject(
            task_id="ClassEval_7",
            class_name="Box",
            skeleton='class Box:\n    def __init__(self):\n        """Begin."""\n'
            '    def put(self, n):\n        """Put it in."""\n',
            imports="import math",
            reference="",
            tests="import unittest\nclass BoxTest(unittest.TestCase):\n"
            "    def test(self):\n        b = Box()\n        b.put(2)\n"
            "        self.assertEqual(b.n, 2)\n"
            "class PutTest(unittest.TestCase):\n    def test(self):\n        self.fail()\n",
            unit_tests={"put": "PutTest"},
            integration_class="BoxTest",
            cases=(),
        )
        code = (
            "class Box:\n    def __init__(self):\n        self.n = 0\n"
            "    def put(self, n):\n        self.n += n\n"
        )
        other = code.replace("+= n", "= self.n + n")
        solved = from_class("m|h|ClassEval_7", subject, code, [other, "not python ("])
        assert solved is not None
        assert passes(prepare_validated_run(tools(sandbox), solved))
        assert [len(own) for own in solved.others.values()] == [1]
        assert from_class("x", subject, "class Box:\n    pass\n", []) is None


class TestInjection:
    def test_a_solved_program_passes_before_injection(
        self, sandbox: Sandbox, solved: SolvedProgram
    ) -> None:
        assert passes(prepare_validated_run(tools(sandbox), solved))

    def test_every_injected_fault_makes_the_program_fail(
        self, sandbox: Sandbox, solved: SolvedProgram, faults: list[InjectedFailure]
    ) -> None:
        assert {fault.where for fault in faults} == {NODE, TWO, BETWEEN, GRAPH, CHECK}
        for fault in faults:
            assert not passes(prepare_validated_run(tools(sandbox), fault.into(solved))), fault

    def test_two_faults_that_cancel_each_other_are_not_a_failure(self, sandbox: Sandbox) -> None:
        solved = program("there_and_back", THERE_AND_BACK)
        found = inject(partial(tools, sandbox), solved, [Fault.OFF_BY_ONE])
        changed = {fault.nodes: fault.said for fault in found if fault.where == NODE}
        assert set(changed) == {("S1",), ("S2",)}
        assert all("`n` instead" in text for text in changed.values())
        assert not [fault for fault in found if fault.where == TWO]

    def test_a_fault_is_labelled_with_the_nodes_whose_code_changed(
        self, solved: SolvedProgram, faults: list[InjectedFailure]
    ) -> None:
        for fault in faults:
            assert set(fault.codes) == set(fault.nodes)
            assert all(solved.codes[node] != code for node, code in fault.codes.items())
            assert len(fault.nodes) == {TWO: 2, CHECK: 0}.get(fault.where, 1)
        assert len({fault.id for fault in faults}) == len(faults)

    def test_injection_is_deterministic(
        self, sandbox: Sandbox, solved: SolvedProgram, faults: list[InjectedFailure]
    ) -> None:
        assert inject(partial(tools, sandbox), solved) == faults

    def test_an_omitted_obligation_leaves_no_conditions_and_examples_of_its_node(
        self, sandbox: Sandbox, solved: SolvedProgram, faults: list[InjectedFailure]
    ) -> None:
        fault = next(f for f in faults if f.id.endswith(".unsaid"))
        context = prepare_validated_run(tools(sandbox), fault.into(solved))
        contract = context.recorder.ledger.graph.by_id[fault.nodes[0]].contract
        assert contract is not None
        assert (contract.ensures, contract.examples) == ((), ())

    def test_a_wrong_contract_matches_the_faulty_code(
        self, sandbox: Sandbox, solved: SolvedProgram, faults: list[InjectedFailure]
    ) -> None:
        fault = next(f for f in faults if f.id.endswith(".missaid"))
        context = prepare_validated_run(tools(sandbox), fault.into(solved))
        (node,) = fault.nodes
        changed_contract = context.recorder.ledger.graph.by_id[node].contract
        right = solved.plan.graph.by_id[node].contract
        assert changed_contract is not None
        assert right is not None
        assert changed_contract.examples
        assert changed_contract.examples != right.examples
        recorder = context.recorder
        standing = recorder.ledger.working.evidence.values()
        present = [recorder.history.evidence(s.seq) for s in standing]
        own = [e for e in present if e.subject == AtNode(node=node)]
        assert {e.verdict for e in own} == {Verdict.PASSED}

    def test_code_that_raises_gives_no_observed_examples(self, sandbox: Sandbox) -> None:
        text = TEXT.replace(
            "example: keep([1, 5], 5) == [1]",
            "example: keep([9], -1) == []\n    example: keep([1, 5], 5) == [1]",
        ).replace("    kept = []\n", "    if limit < 0:\n        return []\n    kept = []\n", 1)
        solved = program("raising", text)
        context = prepare_assembled_run(tools(sandbox), solved)
        keep = solved.plan.graph.promises["keep"]
        raising = solved.codes[keep].replace("return []", "raise ValueError", 1)
        fault = InjectedFailure(
            id="f",
            solved="raising",
            where=NODE,
            faults=("x",),
            nodes=(keep,),
            said="",
            codes={keep: raising},
        )
        assert observed_examples(context, solved, fault) == ()
        wrong = replace(fault, codes={keep: raising.replace("number < limit", "number <= limit")})
        assert [e.result for e in observed_examples(context, solved, wrong)] == ["[1, 5]"]

    def test_a_program_without_examples_gives_no_failures(self, sandbox: Sandbox) -> None:
        nothing = program("nothing", TEXT.partition("EXAMPLES")[0])
        assert inject(partial(tools, sandbox), nothing) == []

    def test_a_program_that_does_not_pass_is_not_used(self, sandbox: Sandbox) -> None:
        wrong = program("wrong", TEXT.replace('"12"', '"13"'))
        assert inject(partial(tools, sandbox), wrong) == []


class TestTracing:
    def test_a_broken_contract_is_observed(
        self, sandbox: Sandbox, solved: SolvedProgram, faults: list[InjectedFailure]
    ) -> None:
        fault = next(f for f in faults if f.nodes == ("S2",) and Fault.OFF_BY_ONE.value in f.faults)
        found = trace_fault(partial(tools, sandbox), solved, fault)
        assert found is not None
        assert (found.kind, found.truth, found.task) == ("single", ("S2",), "totals")
        assert "BROKE_PROMISE" in found.features["S2"]
        assert "ROOT" in found.features["S0"]
        assert found.swaps is None

    def test_a_second_opinion_substituted_for_the_faulty_node_makes_every_check_pass(
        self, sandbox: Sandbox, solved: SolvedProgram, faults: list[InjectedFailure]
    ) -> None:
        fault = next(f for f in faults if f.where == NODE and f.nodes == ("S2",))
        found = trace_fault(partial(tools, sandbox), solved, fault)
        assert found is not None
        more = try_fault_substitutions(partial(tools, sandbox), solved, fault, found, ("S1", "S2"))
        assert more.swaps is not None
        assert more.swaps["S2"].healed == 1
        assert more.swaps["S1"].healed == 0
        assert more.failing > 0
        # The baseline, S1, the contract examples of S1 since it fixes nothing, S2, and a rerun.
        assert more.runs == found.runs + 5

    def test_a_spoiled_second_opinion_fixes_nothing_and_is_deterministic(
        self, sandbox: Sandbox, solved: SolvedProgram, faults: list[InjectedFailure]
    ) -> None:
        fault = next(f for f in faults if f.where == NODE and f.nodes == ("S2",))
        found = trace_fault(partial(tools, sandbox), solved, fault)
        assert found is not None
        opened = partial(tools, sandbox)
        spoiled = try_fault_substitutions(opened, solved, fault, found, ("S1", "S2"), spoiled=1.0)
        assert spoiled.swaps is not None
        assert spoiled.swaps["S2"].healed == 0
        again = try_fault_substitutions(opened, solved, fault, found, ("S1", "S2"), spoiled=1.0)
        assert again.swaps == spoiled.swaps

    def test_a_wrong_check_has_no_faulty_node(
        self, sandbox: Sandbox, solved: SolvedProgram, faults: list[InjectedFailure]
    ) -> None:
        wrong = next(f for f in faults if f.where == CHECK)
        assert len(solved.with_examples(wrong.more).task.examples) == len(solved.task.examples)
        found = trace_fault(partial(tools, sandbox), solved, wrong)
        assert found is not None
        assert (found.kind, found.truth) == ("unfixable", ())
        more = try_fault_substitutions(partial(tools, sandbox), solved, wrong, found, ("S1", "S2"))
        assert not any(own.healed for own in (more.swaps or {}).values())

    def test_a_program_that_does_not_fail_is_not_traced(
        self, sandbox: Sandbox, solved: SolvedProgram
    ) -> None:
        nothing = InjectedFailure(
            id="x", solved="totals", where=NODE, faults=(), nodes=(), codes={}, said=""
        )
        assert trace_fault(partial(tools, sandbox), solved, nothing) is None
