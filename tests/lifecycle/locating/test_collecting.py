"""Collecting: contracts at run time, whom they blame, where the time went, and who ran when."""

from collections.abc import Iterable, Iterator

import msgspec
import pytest

from auditcoder.domain.contract import Clause, Contract, Param
from auditcoder.domain.execution import Execution, Outcome, RunFiles
from auditcoder.domain.graph import Kind as Routing
from auditcoder.domain.graph import Node, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    Form,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.locating import inside
from auditcoder.lifecycle.locating.collecting import Failing, Look, intervene, look
from auditcoder.lifecycle.locating.signs import Kind
from auditcoder.lifecycle.locating.suites import Suite, suite_of
from auditcoder.lifecycle.locating.swapping import Alternative
from auditcoder.lifecycle.locating.trials import trial_of
from auditcoder.lifecycle.locating.watching import Promised, Trial
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripts import sandboxed

READ = Contract(
    name="read",
    params=(Param(name="text", type="str"),),
    returns="list[int]",
    ensures=(Clause(expression="len(result) == len(text.split())"),),
)
TOTAL = Contract(
    name="total",
    params=(Param(name="numbers", type="list[int]"),),
    returns="int",
    requires=(Clause(text="they are few"), Clause(expression="all(n >= 0 for n in numbers)")),
)
MAIN = Contract(name="main", params=(Param(name="text", type="str"),), returns="int")
GRAPH = TaskGraph(
    nodes=(
        Node(id=ROOT, goal="all", kind=Routing.ORCHESTRATION, contract=MAIN),
        *(
            Node(id=NodeId(f"S{n}"), goal=c.name, kind=Routing.GENERAL, parent=ROOT, contract=c)
            for n, c in enumerate((READ, TOTAL), start=1)
        ),
    ),
    order=(NodeId("S1"), NodeId("S2")),
)
GOOD = """
def read(text):
    return [int(word) for word in text.split()]

def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result

def main(text):
    return total(read(text))
"""
CASES = (
    CallExample(arguments="'1 2 3'", result="6"),
    CallExample(arguments="'4'", result="4"),
    CallExample(arguments="''", result="0"),
)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def task(
    *examples: Example,
    form: Form | None = None,
    seconds: float | None = None,
    memory_mb: int | None = None,
) -> Task:
    form = form or FunctionForm(entry="main")
    limits = Limits(seconds=seconds, memory_mb=memory_mb)
    return Task(title="t", statement="t", form=form, examples=examples, limits=limits)


def looked(sandbox: Sandbox, program: str, asked: Task, *, memory_ran_out: bool = False) -> Look:
    trial = trial_of(asked, asked.examples, GRAPH)
    assert trial is not None
    trial = trial._replace(memory_ran_out=memory_ran_out)
    contracts = {c.name: c for c in (READ, TOTAL, MAIN)}
    return look(sandbox, Failing(program, tuple(contracts), trial, contracts, root="main"))


def kinds(found: Look, node: str) -> set[Kind]:
    return {sign.kind for sign in found.signs if sign.node == node}


class TestContractsAtRunTime:
    def test_a_program_that_passes_breaks_nothing(self, sandbox: Sandbox) -> None:
        found = looked(sandbox, GOOD, task(*CASES))
        assert found.seen.passes
        assert found.breaches == ()

    def test_a_broken_assurance_blames_who_returned(self, sandbox: Sandbox) -> None:
        found = looked(sandbox, GOOD.replace("text.split()]", "text.split()[:2]]"), task(*CASES))
        assert Kind.BROKE_PROMISE in kinds(found, "read")
        assert Kind.BROKE_PROMISE not in kinds(found, "total")

    def test_a_broken_requirement_blames_who_provided_the_value(self, sandbox: Sandbox) -> None:
        found = looked(sandbox, GOOD.replace("[int(", "[-int("), task(*CASES))
        assert Kind.HANDED_BADLY in kinds(found, "read")
        assert Kind.GIVEN_BADLY in kinds(found, "total")

    def test_or_who_passed_it_on_where_nobody_else_made_it(self, sandbox: Sandbox) -> None:
        wrong = GOOD.replace("total(read(text))", "total([-n for n in read(text)])")
        found = looked(sandbox, wrong, task(*CASES))
        assert Kind.HANDED_BADLY in kinds(found, "main")
        assert Kind.HANDED_BADLY not in kinds(found, "read")

    def test_the_value_that_a_requirement_names_is_meant_and_no_other(
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
        promised = {"fill": Promised(requires=("len(items) > 0",))}
        trial = Trial("assert main() == [1]\n", promises=promised)
        functions = ("count", "items", "fill", "main")
        found = look(sandbox, Failing(program, functions, trial, {"fill": fill}, "main"))
        assert [(b.provider, b.kind) for b in found.breaches] == [("items", Kind.HANDED_BADLY)]

    def test_what_sets_a_failing_test_up_is_not_a_case_that_comes_out_right(
        self, sandbox: Sandbox
    ) -> None:
        driver = (
            "import unittest\nclass T(unittest.TestCase):\n"
            "    def setUp(self):\n        self.first = read('1 2 3')\n"
            "    def test_it(self):\n        assert read('4 5') == [4, 5]\n"
        )
        promised = {"read": Promised(ensures=("len(result) == len(text.split())",))}
        trial = Trial(driver, ("T.test_it",), promises=promised)
        wrong = GOOD.replace("text.split()]", "text.split()[1:]]")
        found = look(sandbox, Failing(wrong, ("read", "total"), trial, {"read": READ}))
        assert Kind.BROKE_PROMISE in kinds(found, "read")
        assert Kind.RAN_AND_FAILED not in kinds(found, "read"), "no case passes"

    def test_another_type_is_a_breach_with_two_sides(self, sandbox: Sandbox) -> None:
        wrong = GOOD.replace("return [int(word)", "return [word").replace("= 0", "= ''")
        found = looked(sandbox, wrong, task(*CASES))
        breaches = {(b.provider, b.consumer, b.kind) for b in found.breaches}
        assert ("read", "total", Kind.WRONG_TYPE) in breaches
        assert Kind.WRONG_TYPE not in kinds(found, "main")  # it only handed on what it got

    def test_what_raised_returned_nothing_of_another_type(self, sandbox: Sandbox) -> None:
        wrong = GOOD.replace("return [int(word)", "raise ValueError\n    return [int(word)")
        found = looked(sandbox, wrong, task(*CASES))
        assert not {Kind.WRONG_TYPE, Kind.RETURNED_NOTHING} & kinds(found, "read")
        assert Kind.RAISED in kinds(found, "read")

    def test_a_promise_that_right_answers_break_blames_nobody(self, sandbox: Sandbox) -> None:
        wrong = GOOD.replace("split()]", "split() if word != '4'] or [4, 0]")
        cases = (*CASES[:2], CallExample(arguments="''", result="4"))
        found = looked(
            sandbox, wrong.replace("result = 0", "result = 0 * len(numbers)"), task(*cases)
        )
        assert found.seen.passes
        failing = task(*cases, CallExample(arguments="'4 4'", result="8"))
        found = looked(sandbox, wrong, failing)
        assert not found.seen.passes
        assert Kind.BROKE_PROMISE not in kinds(found, "read")

    def test_what_changes_what_it_was_given_is_held_to_what_that_was(
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
        trial = trial_of(asked, (CallExample(arguments="'1 1 1'", result="3"),), graph)
        assert trial is not None
        failing = Failing(changing, ("read", "total", "main"), trial, {"total": ensured})
        assert Kind.BROKE_PROMISE in kinds(look(sandbox, failing), "total")


def test_a_type_derived_from_pythons_own_is_as_good(sandbox: Sandbox) -> None:
    derived = "class Numbers(list):\n    pass\n\n" + GOOD.replace(
        "return [int(word) for word in text.split()]", "return Numbers(map(int, text.split()))"
    )
    wrong = derived.replace("result = 0", "result = 1")
    assert Kind.WRONG_TYPE not in kinds(looked(sandbox, wrong, task(*CASES)), "read")


def test_a_name_that_is_missing_points_to_the_method_that_should_have_it(sandbox: Sandbox) -> None:
    program = "class Box:\n    def get(self):\n        return self.take()\n"
    trial = Trial("b = Box()\nassert b.get() == 1\n")
    found = look(sandbox, Failing(program, ("Box.get", "Box.take"), trial))
    assert {Kind.LACKED, Kind.ABSENT} <= kinds(found, "Box.take")


def test_who_is_called_in_a_way_that_it_cannot_be_is_named(sandbox: Sandbox) -> None:
    found = looked(sandbox, GOOD.replace("def total(numbers)", "def total()"), task(CASES[0]))
    assert Kind.MISCALLED in kinds(found, "total")
    assert Kind.RAISED in kinds(found, "main")


def test_what_must_always_hold_of_an_object_blames_who_broke_it_first(sandbox: Sandbox) -> None:
    told = "A box.\n\n    invariant: self.n >= 0\n    invariant: nonsense(\n    "
    skeleton = f'class Box:\n    """{told}"""\n'
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

    def broke(use: str) -> set[str]:
        asked = task(CodeExample(code=use), form=ClassForm(name="Box", skeleton=skeleton))
        trial = trial_of(asked, asked.examples, GRAPH)
        assert trial is not None
        found = look(sandbox, Failing(box, tuple(methods), trial, methods))
        return {sign.node for sign in found.signs if sign.kind is Kind.BROKE_INVARIANT}

    use = "box = Box()\nbox.put(1)\nbox.take(2)\nassert box.seen() == 0\n"
    assert broke(use) == {"Box.take"}
    itself = "box = Box()\nbox.n = -3\nbox.put(1)\nassert box.seen() == 0\n"
    assert broke(itself) == set()


def test_the_time_is_seen_where_it_went(sandbox: Sandbox) -> None:
    slow = GOOD.replace("    result = 0\n", "    result = 0\n    while True: pass\n")
    found = looked(sandbox, slow, task(CASES[0], seconds=0.8))
    spent = {s.node: s.strength for s in found.signs if s.kind is Kind.TOOK_TIME}
    assert spent["total"] > 0.9
    assert Kind.RAISED in kinds(found, "total")


def test_the_memory_is_seen_where_it_went_not_where_there_was_none_left(sandbox: Sandbox) -> None:
    hoards = GOOD.replace("    return [", "    KEPT.append(bytearray(400 << 20))\n    return [")
    program = "KEPT = []\n" + hoards.replace("result = 0", "result = len(bytearray(200 << 20)) * 0")
    found = looked(sandbox, program, task(CASES[0], memory_mb=512), memory_ran_out=True)
    took = {s.node: s.strength for s in found.signs if s.kind is Kind.TOOK_MEMORY}
    assert took["read"] > 0.6


def test_what_is_given_back_is_not_what_is_kept(sandbox: Sandbox) -> None:
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
    found = looked(sandbox, program, task(CASES[0], memory_mb=256), memory_ran_out=True)
    took = {s.node for s in found.signs if s.kind is Kind.TOOK_MEMORY}
    assert took == {"read"}


def test_what_is_returned_and_dropped_is_not_held(sandbox: Sandbox) -> None:
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
    found = looked(sandbox, program, task(CASES[0], memory_mb=64), memory_ran_out=True)
    took = {s.node for s in found.signs if s.kind is Kind.TOOK_MEMORY}
    assert took == {"total"}


def test_what_is_taken_at_import_counts_too(sandbox: Sandbox) -> None:
    program = "TABLE = bytearray(200 << 20)\n" + GOOD
    found = looked(sandbox, program, task(CASES[0], memory_mb=128), memory_ran_out=True)
    assert found.seen.loads.startswith("TooMuch")


def test_who_catches_it_and_goes_on_does_not_pass(sandbox: Sandbox) -> None:
    stubborn = """
    kept = []
    while True:
        try:
            while True: kept.append(bytes(4096))
        except Exception:
            pass
"""
    program = GOOD.replace("    result = 0\n", stubborn)
    found = looked(sandbox, program, task(CASES[0], seconds=1, memory_mb=64), memory_ran_out=True)
    assert not found.seen.passes


def test_a_program_that_leaves_no_memory_is_heard_of_all_the_same(sandbox: Sandbox) -> None:
    greedy = "    while True: KEPT.append(bytes(4096))\n"
    program = "KEPT = []\n" + GOOD.replace("    result = 0\n", greedy)
    found = looked(sandbox, program, task(CASES[0], memory_mb=128), memory_ran_out=True)
    assert {Kind.RAISED, Kind.TOOK_MEMORY} <= kinds(found, "total")


def test_who_runs_in_failing_cases_only_is_more_suspicious(sandbox: Sandbox) -> None:
    wrong = GOOD.replace("return total(read(text))", "return total(read(text)) if text else 0")
    found = looked(sandbox, wrong.replace("result = 0", "result = 1"), task(*CASES))
    ran = {s.node: s.strength for s in found.signs if s.kind is Kind.RAN_AND_FAILED}
    assert ran["total"] > ran["main"]


REMEMBERS = """
SEEN = []

def main(text):
    SEEN.append(text)
    return 0 if text == "bad" else len(SEEN)
"""
CASE_BY_CASE = (
    CallExample(arguments="'a'", result="1"),
    CallExample(arguments="'b'", result="1"),
    CallExample(arguments="'bad'", result="1"),
)


class TestCasesThatAreKnownToPass:
    """Each was checked in a process of its own, where nothing is left of the others."""

    def failing(self, *passed: int) -> Failing:
        asked = task(*CASE_BY_CASE)
        trial = trial_of(asked, asked.examples, GRAPH, passed)
        assert trial is not None
        return Failing(REMEMBERS, ("main",), trial)

    def test_are_not_taken_for_failing_where_they_are_driven_together(
        self, sandbox: Sandbox
    ) -> None:
        unknown = look(sandbox, self.failing())
        assert unknown.seen.failed_tests == {"Examples.test_2", "Examples.test_3"}
        known = look(sandbox, self.failing(0, 1))
        assert known.seen.failed_tests == {"Examples.test_3"}

    def test_do_not_speak_for_what_is_promised_either(self, sandbox: Sandbox) -> None:
        """There, it is broken by what other cases left behind."""
        promised = {"main": Promised(ensures=("result == 1",))}
        ensures = (Clause(expression="result == 1"),)
        contract = Contract(name="main", params=MAIN.params, returns="int", ensures=ensures)
        known = self.failing(0, 1)
        trial = known.trial._replace(promises=promised)
        found = look(sandbox, known._replace(trial=trial, contracts={"main": contract}))
        assert Kind.BROKE_PROMISE in kinds(found, "main")

    def test_do_not_keep_another_implementation_from_healing(self, sandbox: Sandbox) -> None:
        mended = Alternative("main", REMEMBERS.replace('0 if text == "bad"', '1 if text == "bad"'))
        assert not intervene(sandbox, self.failing(), [mended]).swapped["main"].healed
        found = intervene(sandbox, self.failing(0, 1), [mended])
        assert (found.swapped["main"].healed, found.swapped["main"].harmed) == (1, 0)


class Moody:
    """A sandbox in which a program is in a bad mood for so many runs of some kind."""

    def __init__(self, sandbox: Sandbox, moods: Iterable[bool]) -> None:
        self._sandbox, self._moods = sandbox, iter(moods)
        self.kind = sandbox.kind

    def run(self, execution: Execution) -> Outcome:
        action = execution.action
        assert isinstance(action, RunFiles)
        program = action.inputs[inside.PROGRAM]
        if next(self._moods, False):
            program = program.replace(b"MOOD = 0", b"MOOD = 1")
        inputs = {**action.inputs, inside.PROGRAM: program}
        return self._sandbox.run(
            msgspec.structs.replace(
                execution, action=msgspec.structs.replace(action, inputs=inputs)
            )
        )

    def close(self) -> None:
        """Leave the sandbox to its owner."""


@pytest.mark.parametrize("bad_again", [False, True])
def test_what_heals_is_believed_only_if_the_program_itself_still_fails(
    sandbox: Sandbox, bad_again: bool
) -> None:
    """Both pass in a good mood: the first run fails, the try passes, and once more is decisive."""
    moody = "MOOD = 0\n" + GOOD.replace("return result", "return result + MOOD")
    trial = trial_of(task(*CASES), CASES, GRAPH)
    assert trial is not None
    other = Alternative("read", moody.replace("int(word)", "int(word) + 0"))
    failing = Failing(moody, ("read", "total", "main"), trial)
    found = intervene(Moody(sandbox, [True, False, bad_again]), failing, [other])
    assert found.passes == (not bad_again)
    assert bool(found.swapped) == bad_again


class TestTrials:
    def test_standard_input_is_given_to_the_root_as_its_main_block_does(
        self, sandbox: Sandbox
    ) -> None:
        program = "def solve(data):\n    return data.upper()"
        asked = task(StdioExample(input="a\n", output="A\n"), form=ProgramForm())
        assert looked(sandbox, program, asked).seen.passes
        wrong = task(StdioExample(input="a\n", output="B\n"), form=ProgramForm())
        assert not looked(sandbox, program, wrong).seen.passes

    def test_files_are_written_before_and_compared_after(self, sandbox: Sandbox) -> None:
        program = "def solve():\n    open('b', 'w').write(open('a').read() + '!')"
        example = FilesExample(inputs={"a": "x"}, artefacts={"b": "x!"})
        asked = task(example, form=FilesForm(inputs=("a",), artefacts=("b",)))
        assert looked(sandbox, program, asked).seen.passes

    def test_near_floats_are_the_same_as_where_verdicts_are_made(self, sandbox: Sandbox) -> None:
        program = "def main(a, b):\n    return a + b"
        asked = task(CallExample(arguments="0.1, 0.2", result="0.3"))
        assert looked(sandbox, program, asked).seen.passes

    def test_a_driver_takes_no_name_from_the_program(self, sandbox: Sandbox) -> None:
        program = "def _lines(n):\n    return n\n\ndef main(n):\n    return _lines(n)"
        assert looked(sandbox, program, task(CallExample(arguments="3", result="3"))).seen.passes

    def test_test_code_is_driven_test_by_test_and_plain_code_as_one(self, sandbox: Sandbox) -> None:
        code = (
            "import unittest\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        self.assertEqual(main('1'), 1)\n"
            "    def test_b(self):\n        self.assertEqual(main('1'), 2)\n"
        )
        assert suite_of(code) == Suite(code, ("T.test_a", "T.test_b"))
        seen = looked(sandbox, GOOD, task(CodeExample(code=code))).seen
        assert seen.failed_tests == {"T.test_b"}
        plain = looked(sandbox, GOOD, task(CodeExample(code="assert main('1') == 2"))).seen
        assert plain.failed_tests == {"Examples.test_1"}

    def test_tests_without_unittest_are_driven_as_they_are_judged(self, sandbox: Sandbox) -> None:
        code = (
            "LIMIT = 2\n"
            "def test_right():\n    assert main('1') == 1\n"
            "def test_wrong(n=1):\n    assert main(str(n)) == LIMIT\n"
            "def test_with_a_fixture(tmp_path):\n    assert False\n"
            "class TestPlain:\n    def test_wrong(self):\n        assert main('1') == 2\n"
            "class Helper:\n    def test_nothing(self):\n        assert False\n"
        )
        found = looked(sandbox, GOOD, task(CodeExample(code=code))).seen
        assert set(found.tests) == {
            *("TestPlain.test_wrong", "Functions.test_right", "Functions.test_wrong")
        }
        assert found.failed_tests == {"TestPlain.test_wrong", "Functions.test_wrong"}
        assert all(step.test in found.failed_tests for step in found.failing_steps)
        assert not found.blind

    def test_two_pieces_of_test_code_may_call_their_tests_alike(self, sandbox: Sandbox) -> None:
        def case(expected: int) -> CodeExample:
            return CodeExample(
                code="import unittest\nclass Test(unittest.TestCase):\n"
                f"    wanted = {expected}\n"
                "    def test(self):\n        self.assertEqual(main('1'), Test.wanted)\n"
                f"def test_alike():\n    assert main('1') == {expected}\n"
            )

        trial = trial_of(task(case(2), case(1)), (case(2), case(1)), GRAPH, passed=[1])
        assert trial is not None
        assert trial.passing == {"Test2.test", "Functions2.test_alike"}
        found = looked(sandbox, GOOD, task(case(2), case(1))).seen
        assert found.failed_tests == {"Test.test", "Functions.test_alike"}

    def test_files_have_the_folders_that_they_are_in(self, sandbox: Sandbox) -> None:
        program = "def solve():\n    open('b', 'w').write(open('in/of/a').read())"
        example = FilesExample(inputs={"in/of/a": "x"}, artefacts={"b": "x"})
        asked = task(example, form=FilesForm(inputs=("in/of/a",), artefacts=("b",)))
        assert looked(sandbox, program, asked).seen.passes

    def test_who_fails_beside_its_steps_was_not_seen_to_fail(self, sandbox: Sandbox) -> None:
        code = (
            "import unittest\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        self.assertEqual(main('1'), 1)\n"
            "    def tearDown(self):\n        self.assertEqual(main('1'), 2)\n"
        )
        found = looked(sandbox, GOOD, task(CodeExample(code=code))).seen
        assert not found.passes
        assert found.blind

    def test_one_case_that_never_ends_leaves_the_others_their_time(self, sandbox: Sandbox) -> None:
        slow = GOOD.replace("def main(text):\n", "def main(text):\n    while text == '4': pass\n")
        seen = looked(sandbox, slow, task(*CASES, seconds=0.5)).seen
        assert seen.failed_tests == {"Examples.test_2"}
        assert len(seen.tests) == 3

    def test_a_name_that_the_comparison_has_is_the_programs_own(self, sandbox: Sandbox) -> None:
        program = "def same_value(n):\n    return n\n\ndef main(n):\n    return same_value(n)"
        form = FunctionForm(entry="same_value")
        asked = task(CallExample(arguments="3", result="3"), form=form)
        assert looked(sandbox, program, asked).seen.passes

    def test_star_imports_stay_where_they_are_allowed(self, sandbox: Sandbox) -> None:
        code = CodeExample(code="from math import *\nassert main('9') == int(sqrt(81))")
        assert looked(sandbox, GOOD, task(code)).seen.passes

    def test_nothing_to_drive_is_no_trial(self) -> None:
        assert trial_of(task(), (), GRAPH) is None
