"""Substitution: another implementation fixes a failure only in place of the faulty one."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.task import CallExample
from auditcoder.domain.values import digest
from auditcoder.lifecycle.locating.check_driver import own_examples
from auditcoder.lifecycle.locating.features import FeatureKind, feature_strengths
from auditcoder.lifecycle.locating.substitution import (
    SubstitutedProgram,
    SubstitutionResult,
    substitute_each,
    substitution_features,
)
from auditcoder.lifecycle.locating.trace_run import TracePlan, run_traced
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripted_runs import sandboxed

WRONG = "def double(x):\n    return x + 1\n"
RIGHT = "def double(x):\n    return 2 * x\n"
WORSE = "def double(x):\n    return None\n"
SHOW = "def show(x):\n    return f'<{double(x)}>'\n"
OTHER_SHOW = "def show(x):\n    return '<' + str(double(x)) + '>'\n"
TRIAL = TracePlan("assert double(1) == 2\nassert show(2) == '<4>'\nassert double(3) == 6\n")


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_a_failure_disappears_when_the_faulty_function_is_replaced(sandbox: Sandbox) -> None:
    before = run_traced(sandbox, WRONG + SHOW, ("double", "show"), TRIAL)
    assert before.failing == {2, 3}
    swapped = substitute_each(
        sandbox,
        TRIAL,
        before,
        [
            SubstitutedProgram("double", RIGHT + SHOW),
            SubstitutedProgram("double", WORSE + SHOW),
            SubstitutedProgram("double", "def double(:"),
            SubstitutedProgram("show", WRONG + OTHER_SHOW),
            SubstitutedProgram("show", f"{WRONG}{OTHER_SHOW}# again\n"),
        ],
    )
    assert swapped == {
        "double": SubstitutionResult(
            2, (digest((RIGHT + SHOW).encode()),), 1, mended=frozenset({2, 3}), harmed=1, runs=3
        ),
        "show": SubstitutionResult(tried=2, runs=2),
    }
    strengths = feature_strengths(substitution_features(swapped, len(before.failing)))
    assert strengths["double"][FeatureKind.HEALS.name] == 1.0
    assert strengths["double"][FeatureKind.HEALS_OFTEN.name] == 0.5
    assert strengths["double"][FeatureKind.MENDS_MANY.name] == 1.0
    assert strengths["show"] == {FeatureKind.TRIED.name: 0.5, FeatureKind.NO_MATTER.name: 1.0}


def test_a_substitute_that_fails_its_own_examples_counts_only_if_it_fixes_a_failure(
    sandbox: Sandbox,
) -> None:
    before = run_traced(sandbox, WRONG + SHOW, (), TRIAL)
    examples = (CallExample(arguments="0", result="0"), CallExample(arguments="5", result="10"))
    contract = Contract(name="double", params=(Param(name="x", type="int"),), examples=examples)
    own = own_examples(contract)
    assert own is not None
    lopsided = (
        "def double(x):\n    return 2 * x if x > 1 else None\n"  # fixes failures but is wrong
    )
    tries = [SubstitutedProgram("double", code + SHOW, own) for code in (WORSE, lopsided, RIGHT)]
    found = substitute_each(sandbox, TRIAL, before, tries)["double"]
    assert (found.tried, found.unfit, found.healed) == (2, 1, 1)
    assert found.harmed == 1  # the lopsided one
    silent = substitute_each(sandbox, TRIAL, before, tries[:1])
    assert list(substitution_features(silent, 2)) == []
    assert own_examples(Contract(name="double", params=())) is None


def test_a_line_that_the_substitute_never_reaches_is_not_fixed(sandbox: Sandbox) -> None:
    before = run_traced(sandbox, WRONG + SHOW, (), TRIAL)
    endless = "def double(x):\n    while True: pass\n"
    hurried = TRIAL._replace(seconds=0.3)
    swapped = substitute_each(
        sandbox, hurried, before, [SubstitutedProgram("double", endless + SHOW)]
    )
    assert swapped["double"].mended == frozenset()
    assert swapped["double"].first == 0


def test_a_program_that_passes_has_nothing_to_fix(sandbox: Sandbox) -> None:
    before = run_traced(sandbox, RIGHT + SHOW, ("double",), TRIAL)
    swapped = substitute_each(
        sandbox, TRIAL, before, [SubstitutedProgram("show", RIGHT + OTHER_SHOW)]
    )
    assert swapped == {}
