"""Contract blame: broken contracts, time and memory per function, spectra, type conformance."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.contract import Clause, Contract, Param
from auditcoder.domain.graph import Node, TaskGraph
from auditcoder.domain.graph import NodeKind as Routing
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
)
from auditcoder.lifecycle.locating.check_driver import trace_plan_of
from auditcoder.lifecycle.locating.contract_blame import fits
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.trace_analysis import collect_evidence
from auditcoder.lifecycle.locating.trace_run import ContractExpressions, FailingRun, TracePlan
from auditcoder.lifecycle.ports import Sandbox
from tests.support.failing_programs import CASES, GOOD, GRAPH, READ, TOTAL, collect, kinds, task
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestContractsAtRunTime:
    def test_a_program_that_passes_breaks_nothing(self, sandbox: Sandbox) -> None:
        found = collect(sandbox, GOOD, task(*CASES))
        assert found.seen.passes
        assert found.breaches == ()

    def test_a_broken_postcondition_blames_the_function_that_returned(
        self, sandbox: Sandbox
    ) -> None:
        found = collect(sandbox, GOOD.replace("text.split()]", "text.split()[:2]]"), task(*CASES))
        assert FeatureKind.BROKE_PROMISE in kinds(found, "read")
        assert FeatureKind.BROKE_PROMISE not in kinds(found, "total")

    def test_a_broken_precondition_blames_the_provider_of_the_value(self, sandbox: Sandbox) -> None:
        found = collect(sandbox, GOOD.replace("[int(", "[-int("), task(*CASES))
        assert FeatureKind.HANDED_BADLY in kinds(found, "read")
        assert FeatureKind.GIVEN_BADLY in kinds(found, "total")

    def test_a_broken_precondition_blames_the_caller_that_computed_the_value_itself(
        self, sandbox: Sandbox
    ) -> None:
        wrong = GOOD.replace("total(read(text))", "total([-n for n in read(text)])")
        found = collect(sandbox, wrong, task(*CASES))
        assert FeatureKind.HANDED_BADLY in kinds(found, "main")
        assert FeatureKind.HANDED_BADLY not in kinds(found, "read")

    def test_a_broken_precondition_blames_only_the_provider_of_the_value_it_names(
        self, sandbox: Sandbox
    ) -> None:
        fill = Contract(
            name="fill",
            params=(Param(name="n", type="int"), Param(name="items", type="list[int]")),
            returns="list[int]",
            requires=(Clause(expression="len(items) > 0"),),
        )
        program = (
            "def count():\n    return 7\n\ndef items():\n    return []\n\n"
            "def fill(n, items):\n    return items * n\n\ndef main():\n"
            "    return fill(count(), items())\n"
        )
        promised = {"fill": ContractExpressions(requires=("len(items) > 0",))}
        trial = TracePlan("assert main() == [1]\n", promises=promised)
        functions = ("count", "items", "fill", "main")
        found = collect_evidence(
            sandbox, FailingRun(program, functions, trial, {"fill": fill}, "main")
        )
        assert [(b.provider, b.kind) for b in found.breaches] == [
            ("items", FeatureKind.HANDED_BADLY)
        ]

    def test_the_set_up_of_a_failing_test_is_not_a_passing_case(self, sandbox: Sandbox) -> None:
        driver = (
            "import unittest\nclass T(unittest.TestCase):\n"
            "    def setUp(self):\n        self.first = read('1 2 3')\n"
            "    def test_it(self):\n        assert read('4 5') == [4, 5]\n"
        )
        promised = {"read": ContractExpressions(ensures=("len(result) == len(text.split())",))}
        trial = TracePlan(driver, ("T.test_it",), promises=promised)
        wrong = GOOD.replace("text.split()]", "text.split()[1:]]")
        found = collect_evidence(
            sandbox, FailingRun(wrong, ("read", "total"), trial, {"read": READ})
        )
        assert FeatureKind.BROKE_PROMISE in kinds(found, "read")
        assert FeatureKind.RAN_AND_FAILED not in kinds(found, "read"), "no case passes"

    def test_a_wrong_type_is_a_breach_with_a_provider_and_a_consumer(
        self, sandbox: Sandbox
    ) -> None:
        wrong = GOOD.replace("return [int(word)", "return [word").replace("= 0", "= ''")
        found = collect(sandbox, wrong, task(*CASES))
        breaches = {(b.provider, b.consumer, b.kind) for b in found.breaches}
        assert ("read", "total", FeatureKind.WRONG_TYPE) in breaches
        assert FeatureKind.WRONG_TYPE not in kinds(found, "main")  # it only passed on the value

    def test_a_function_that_raises_has_no_result_of_a_wrong_type(self, sandbox: Sandbox) -> None:
        wrong = GOOD.replace("return [int(word)", "raise ValueError\n    return [int(word)")
        found = collect(sandbox, wrong, task(*CASES))
        assert not {FeatureKind.WRONG_TYPE, FeatureKind.RETURNED_NOTHING} & kinds(found, "read")
        assert FeatureKind.RAISED in kinds(found, "read")

    def test_a_promise_that_passing_cases_break_blames_no_function(self, sandbox: Sandbox) -> None:
        wrong = GOOD.replace("split()]", "split() if word != '4'] or [4, 0]")
        cases = (*CASES[:2], CallExample(arguments="''", result="4"))
        found = collect(
            sandbox, wrong.replace("result = 0", "result = 0 * len(numbers)"), task(*cases)
        )
        assert found.seen.passes
        failing = task(*cases, CallExample(arguments="'4 4'", result="8"))
        found = collect(sandbox, wrong, failing)
        assert not found.seen.passes
        assert FeatureKind.BROKE_PROMISE not in kinds(found, "read")

    def test_promises_are_evaluated_on_the_arguments_from_before_the_call(
        self, sandbox: Sandbox
    ) -> None:
        ensured = Contract(
            name="total",
            params=TOTAL.params,
            returns="int",
            ensures=(Clause(expression="result >= len(numbers)"),),
        )
        changing = GOOD.replace("return result", "numbers.clear()\n    return result - 3")
        asked = task(CASES[0])
        graph = TaskGraph(
            nodes=(*GRAPH.nodes[:2], Node(
                id=NodeId("S2"), goal="t", kind=Routing.GENERAL, parent=ROOT, contract=ensured
            )),
            order=GRAPH.order,
        )  # fmt: skip
        trial = trace_plan_of(asked, (CallExample(arguments="'1 1 1'", result="3"),), graph)
        assert trial is not None
        failing = FailingRun(changing, ("read", "total", "main"), trial, {"total": ensured})
        assert FeatureKind.BROKE_PROMISE in kinds(collect_evidence(sandbox, failing), "total")


def test_a_subclass_of_a_builtin_type_conforms_to_that_type(sandbox: Sandbox) -> None:
    derived = "class Numbers(list):\n    pass\n\n" + GOOD.replace(
        "return [int(word) for word in text.split()]", "return Numbers(map(int, text.split()))"
    )
    wrong = derived.replace("result = 0", "result = 1")
    assert FeatureKind.WRONG_TYPE not in kinds(collect(sandbox, wrong, task(*CASES)), "read")


def test_a_broken_invariant_blames_the_method_that_broke_it_first(sandbox: Sandbox) -> None:
    description = "A box.\n\n    invariant: self.n >= 0\n    invariant: nonsense(\n    "
    skeleton = f'class Box:\n    """{description}"""\n'
    box = """
class Box:
    def __init__(self):
        self.n = 0
    def put(self, n):
        self.n += n
    def take(self, n):
        self.n -= n
    def seen(self):
        return self.n
"""
    methods = {f"Box.{n}": Contract(name=n) for n in ("__init__", "put", "take", "seen")}

    def methods_blamed_by(use: str) -> set[str]:
        asked = task(CodeExample(code=use), form=ClassForm(name="Box", skeleton=skeleton))
        trial = trace_plan_of(asked, asked.examples, GRAPH)
        assert trial is not None
        found = collect_evidence(sandbox, FailingRun(box, tuple(methods), trial, methods))
        return {
            feature.node
            for feature in found.features
            if feature.kind is FeatureKind.BROKE_INVARIANT
        }

    use = "box = Box()\nbox.put(1)\nbox.take(2)\nassert box.seen() == 0\n"
    assert methods_blamed_by(use) == {"Box.take"}
    itself = "box = Box()\nbox.n = -3\nbox.put(1)\nassert box.seen() == 0\n"
    assert methods_blamed_by(itself) == set()


def test_time_is_attributed_to_the_function_that_used_it(sandbox: Sandbox) -> None:
    slow = GOOD.replace("    result = 0\n", "    result = 0\n    while True: pass\n")
    found = collect(sandbox, slow, task(CASES[0], seconds=2.0))
    assert {s.node for s in found.features if s.kind is FeatureKind.TOOK_TIME} == {"total"}
    assert FeatureKind.RAISED in kinds(found, "total")


def test_memory_is_attributed_to_the_function_that_keeps_it_not_to_the_failing_one(
    sandbox: Sandbox,
) -> None:
    hoards = GOOD.replace("    return [", "    KEPT.append(bytearray(400 << 20))\n    return [")
    program = "KEPT = []\n" + hoards.replace("result = 0", "result = len(bytearray(200 << 20)) * 0")
    found = collect(sandbox, program, task(CASES[0], memory_mb=512), memory_ran_out=True)
    took = {s.node: s.strength for s in found.features if s.kind is FeatureKind.TOOK_MEMORY}
    assert took["read"] > 0.6


def test_memory_that_a_call_frees_is_not_attributed_to_it(sandbox: Sandbox) -> None:
    program = """
KEPT = []
def read(text):
    for _ in range(400):
        KEPT.append(bytearray(1 << 20))
        total([])
    return [1, 2, 3]
def total(numbers):
    return len(bytearray(1 << 20)) * 0 + sum(numbers)
def main(text):
    return total(read(text))
"""
    found = collect(sandbox, program, task(CASES[0], memory_mb=256), memory_ran_out=True)
    took = {s.node for s in found.features if s.kind is FeatureKind.TOOK_MEMORY}
    assert took == {"read"}


def test_a_returned_value_that_the_caller_drops_is_not_attributed_to_the_callee(
    sandbox: Sandbox,
) -> None:
    program = """
KEPT = []
def read(text):
    return bytearray(1 << 20)
def total(numbers):
    while True:
        KEPT.append(bytes(1 << 20))
        read("")
def main(text):
    return total(read(text))
"""
    found = collect(sandbox, program, task(CASES[0], memory_mb=64), memory_ran_out=True)
    took = {s.node for s in found.features if s.kind is FeatureKind.TOOK_MEMORY}
    assert took == {"total"}


def test_a_function_that_runs_only_in_failing_cases_is_more_suspicious(sandbox: Sandbox) -> None:
    wrong = GOOD.replace("return total(read(text))", "return total(read(text)) if text else 0")
    found = collect(sandbox, wrong.replace("result = 0", "result = 1"), task(*CASES))
    ran = {s.node: s.strength for s in found.features if s.kind is FeatureKind.RAN_AND_FAILED}
    assert ran["total"] > ran["main"]


@pytest.mark.parametrize(
    ("promised", "found"),
    [
        ("int", "int"),
        ("int", "bool"),
        ("float", "int"),
        ("list[int]", "list"),
        ("list[int]", "list[int]"),
        ("list[float]", "list[float | int]"),
        ("tuple[int, str]", "tuple[int, str]"),
        ("tuple[int, ...]", "tuple[int, int, int]"),
        ("dict[str, list[int]]", "dict[str, list[int]]"),
        ("dict[str, int]", "defaultdict[str, int]"),
        ("int | None", "None"),
        ("Optional[int]", "None"),
        ("Union[int, str]", "str"),
        ("List[int]", "list[int]"),
        ("typing.Any", "list[int]"),
        ("Order", "int"),
        ("", "int"),
        ("not an annotation", "int"),
        ("Iterable[int]", "generator"),
        ("'int'", "int"),
        ("int", "int | " * 2000 + "str"),  # too long to be parsed
    ],
)
def test_a_conforming_type_fits(promised: str, found: str) -> None:
    assert fits(promised, found)


@pytest.mark.parametrize(
    ("promised", "found"),
    [
        ("int", "str"),
        ("int", "float"),
        ("int", "None"),
        ("None", "int"),
        ("list[int]", "tuple[int]"),
        ("list[int]", "list[str]"),
        ("list[int]", "list[int | str]"),
        ("tuple[int, str]", "tuple[str, int]"),
        ("tuple[int, str]", "tuple[int]"),
        ("dict[str, int]", "list[tuple[str, int]]"),
        ("dict[str, int]", "dict[int, str]"),
        ("int | None", "str"),
        ("Sequence[int]", "dict[int, int]"),
    ],
)
def test_a_type_that_does_not_conform_does_not_fit(promised: str, found: str) -> None:
    assert not fits(promised, found)
