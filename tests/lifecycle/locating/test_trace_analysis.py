"""Trace analysis: small programs with a known fault, and the features of each function."""

from collections.abc import Iterator

import pytest

from auditcoder.lifecycle.locating.features import Feature, FeatureKind, feature_strengths
from auditcoder.lifecycle.locating.program_outline import normal_form, outline, outline_features
from auditcoder.lifecycle.locating.trace_analysis import TraceAnalyser, statements
from auditcoder.lifecycle.locating.trace_run import TracePlan, run_traced
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def first_failure_features(
    sandbox: Sandbox, program: str, driver: str
) -> dict[str, set[FeatureKind]]:
    """Return the kinds of features of each function that concern the first failure."""
    found = outline(program)
    seen = run_traced(sandbox, program, found, TracePlan(driver))
    reads = {name: one.reads for name, one in found.items()}
    kinds: dict[str, set[FeatureKind]] = {}
    for feature in TraceAnalyser(seen, driver, reads).features():
        if feature.first or feature.kind.name.startswith("FINE"):
            kinds.setdefault(feature.node, set()).add(feature.kind)
    return kinds


def test_the_innermost_function_raised_the_exception_and_its_callers_passed_it_on(
    sandbox: Sandbox,
) -> None:
    program = "def outer():\n    return inner()\n\ndef inner():\n    return 1 / 0\n"
    kinds = first_failure_features(sandbox, program, "outer()\n")
    assert FeatureKind.RAISED in kinds["inner"]
    assert FeatureKind.PASSED_ON in kinds["outer"]


def test_the_function_that_a_failing_step_called_last_answered(sandbox: Sandbox) -> None:
    program = "def f():\n    return 1\n\ndef g(x):\n    return x + 1\n"
    kinds = first_failure_features(sandbox, program, "assert g(f()) == 3\n")
    assert FeatureKind.ANSWERED in kinds["g"]
    assert FeatureKind.CALLED in kinds["f"]


def test_a_value_returned_unchanged_points_to_the_callee(sandbox: Sandbox) -> None:
    program = "def f():\n    return g()\n\ndef g():\n    return [7, 8]\n"
    kinds = first_failure_features(sandbox, program, "assert f() == [7]\n")
    assert FeatureKind.CAME_THROUGH in kinds["g"]
    assert {FeatureKind.ANSWERED, FeatureKind.HANDED_ON} <= kinds["f"]


def test_a_variable_points_to_the_function_that_produced_it(sandbox: Sandbox) -> None:
    program = "def f():\n    return [7]\n\ndef g():\n    return 5\n"
    kinds = first_failure_features(sandbox, program, "x = f()\ng()\nassert x == [8]\n")
    assert FeatureKind.MADE in kinds["f"]
    assert FeatureKind.MADE not in kinds["g"]


BOX = (
    "class Box:\n    def __init__(self):\n        self.n = 0\n        self.m = 0\n"
    "    def put(self):\n        self.n += 2\n    def other(self):\n        self.m = 1\n"
    "    def get(self):\n        return self.n\n"
)


def test_state_points_to_its_last_writer(sandbox: Sandbox) -> None:
    driver = "box = Box()\nbox.put()\nbox.other()\nassert box.get() == 1\n"
    kinds = first_failure_features(sandbox, BOX, driver)
    assert FeatureKind.WROTE in kinds["Box.put"]
    assert FeatureKind.ANSWERED in kinds["Box.get"]
    assert FeatureKind.BEFORE in kinds["Box.other"]
    assert FeatureKind.WROTE not in kinds["Box.other"]


def test_an_attribute_read_directly_points_to_the_method_called_last(sandbox: Sandbox) -> None:
    kinds = first_failure_features(sandbox, BOX, "box = Box()\nbox.put()\nassert box.n == 1\n")
    assert {FeatureKind.RECENT, FeatureKind.WROTE_ALONE} <= kinds["Box.put"]


def test_a_file_points_to_its_last_writer(sandbox: Sandbox) -> None:
    program = (
        "def put():\n    with open('f.txt', 'w') as f:\n        f.write('xyz')\n"
        "def get():\n    with open('f.txt') as f:\n        return f.read()\n"
    )
    kinds = first_failure_features(sandbox, program, "put()\ntext = get()\nassert text == 'abc'\n")
    assert FeatureKind.WROTE_FILE in kinds["put"]
    assert FeatureKind.MADE in kinds["get"]


def test_a_missing_attribute_is_a_feature_of_its_name(sandbox: Sandbox) -> None:
    assert (
        FeatureKind.LACKED
        in first_failure_features(sandbox, BOX, "box = Box()\nbox.take()\n")["take"]
    )


def test_passing_steps_count_in_favour_of_the_functions_they_called(sandbox: Sandbox) -> None:
    program = "def f(x):\n    return x\n\ndef g(x):\n    return x + 1\n"
    kinds = first_failure_features(sandbox, program, "assert f(1) == 1\nassert g(f(2)) == 2\n")
    assert FeatureKind.FINE in kinds["f"]
    assert FeatureKind.FINE not in kinds["g"]


def test_a_consequence_of_a_failure_is_not_a_first_failure(sandbox: Sandbox) -> None:
    program = "def f():\n    raise ValueError\n\ndef g(x):\n    return x\n"
    driver = "x = f()\nassert g(x) == 1\ny = g(2)\nassert y == 3\n"
    found = outline(program)
    seen = run_traced(sandbox, program, found, TracePlan(driver))
    signs_found = list(TraceAnalyser(seen, driver, {}).features())
    assert {s.node for s in signs_found if s.first} == {"f"}
    assert Feature("g", FeatureKind.MADE) in signs_found


def test_the_outline_shows_absent_and_empty_functions() -> None:
    program = (
        "class A:\n    def f(self):\n        '''Say.'''\n    def g(self):\n        return self.x\n"
        "    def h(self):\n        raise NotImplementedError('later')\n"
    )
    found = outline(program)
    assert {name: one.empty for name, one in found.items()} == {
        "A.f": True,
        "A.g": False,
        "A.h": True,
    }
    assert found["A.g"].reads == {"x"}
    features = set(outline_features(found, [*found, "A.k"], {"A.g"}))
    assert Feature("A.k", FeatureKind.ABSENT) in features
    assert Feature("A.h", FeatureKind.EMPTY) in features
    assert Feature("A.f", FeatureKind.UNCALLED) in features
    assert not any(feature.node == "A.g" for feature in features)
    assert outline("not Python (") == {}


def test_feature_strengths_add_up_to_at_most_one() -> None:
    fine = Feature("f", FeatureKind.FINE, strength=0.25)
    assert feature_strengths([fine, fine]) == {"f": {"FINE": 0.5}}
    assert feature_strengths([fine] * 9) == {"f": {"FINE": 1.0}}
    assert feature_strengths([Feature("f", FeatureKind.MADE, first=True)]) == {
        "f": {"MADE": 1.0, "MADE_FIRST": 1.0}
    }


def test_a_compound_statement_is_read_without_its_body() -> None:
    lines = statements("for x in xs:\n    y = f(x)\nassert y == z.w\n")
    assert lines[1].used == {"xs"}
    assert lines[1].stored == {"x"}
    assert lines[2].stored == {"y"}
    assert lines[3].asserts
    assert lines[3].attributes == {"w"}


SHELF = (
    "class Shelf:\n    def __init__(self):\n        self.books = ['a', 'b']\n"
    "    def take(self, name):\n        self.books = []\n"
    "    def seen(self):\n        return list(self.books)\n"
    "    def clear(self):\n        pass\n"
)


def test_a_write_between_a_right_and_a_wrong_answer_is_a_feature(sandbox: Sandbox) -> None:
    driver = "s = Shelf()\nassert s.seen() == ['a', 'b']\ns.take('a')\nassert s.seen() == ['b']\n"
    kinds = first_failure_features(sandbox, SHELF, driver)
    assert FeatureKind.SINCE_FINE in kinds["Shelf.take"]
    assert {FeatureKind.ANSWERED, FeatureKind.WAS_FINE} <= kinds["Shelf.seen"]


def test_a_method_called_last_that_did_not_write_the_state_is_marked(sandbox: Sandbox) -> None:
    kinds = first_failure_features(sandbox, SHELF, "s = Shelf()\ns.clear()\nassert s.books == []\n")
    assert {FeatureKind.RECENT, FeatureKind.LEFT_ALONE} <= kinds["Shelf.clear"]
    assert FeatureKind.WROTE_ALONE in kinds["Shelf.__init__"]


def test_the_normal_form_ignores_docstrings_order_and_layout() -> None:
    one = 'def f(a: int) -> int:\n    """Say."""\n    return a  # back\n\ndef g():\n    pass\n'
    other = "def g(): pass\ndef f(a):\n    return (a)\n"
    assert normal_form(one) == normal_form(other)
    assert normal_form(one) != normal_form(other.replace("(a)\n", "a + 1\n"))
    assert normal_form("not python (") == "not python ("
