"""The judge: hidden tests on a finished program. What it finds never reaches a run."""

import ast
from collections.abc import Callable, Iterable
from functools import partial
from typing import assert_never

import msgspec

from auditcoder.bench.over_files import OVER_FILES, TESTS, VERDICTS
from auditcoder.bench.problem import Call, CallTests, CodeTests, FileTests, Problem, StdioTests
from auditcoder.domain.binding import LITERAL_ERRORS
from auditcoder.domain.errors import SandboxError
from auditcoder.domain.execution import (
    Action,
    CallFunction,
    Ending,
    Execution,
    Outcome,
    Returned,
    RunFiles,
    RunProgram,
    RunTests,
    TestVerdict,
)
from auditcoder.domain.observed import read
from auditcoder.domain.task import StdioExample
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validating.comparing import same_output, same_value

_WHOLE = "program"
"""Names the result where no single test came to be run."""
_TIMEOUTS = 3
"""A program that was out of time so often is not run on further cases: it fails them."""


def judge(sandbox: Sandbox, problem: Problem, program: str) -> dict[str, bool]:
    """Return every hidden test and whether the program passes it."""
    match problem.hidden:
        case StdioTests():
            return _stdio(sandbox, problem, problem.hidden, program)
        case CallTests():
            return _calls(sandbox, problem, problem.hidden, program)
        case CodeTests():
            return _tests(sandbox, problem, problem.hidden, program)
        case FileTests():
            return _files(sandbox, problem, problem.hidden, program)
        case _:
            assert_never(problem.hidden)


def resolved(results: dict[str, bool]) -> bool:
    """Whether a program passes everything that there is to pass."""
    return bool(results) and all(results.values())


def _stdio(sandbox: Sandbox, problem: Problem, hidden: StdioTests, program: str) -> dict[str, bool]:
    def right(case: StdioExample, outcome: Outcome) -> bool:
        return same_output(case.output, outcome.stdout.decode("utf-8", "replace"))

    cases = [(RunProgram(stdin=case.input), partial(right, case)) for case in hidden.cases]
    return _one_by_one(sandbox, problem, program, cases)


def _calls(sandbox: Sandbox, problem: Problem, hidden: CallTests, program: str) -> dict[str, bool]:
    def right(case: Call, outcome: Outcome) -> bool:
        match outcome.calls:
            case (Returned(value=text), *_):
                return _is(case.result, text)
            case _:
                return False

    cases = [
        (CallFunction(calls=(case.expression,)), partial(right, case)) for case in hidden.cases
    ]
    return _one_by_one(sandbox, problem, program, cases)


def _one_by_one(
    sandbox: Sandbox,
    problem: Problem,
    program: str,
    cases: Iterable[tuple[Action, Callable[[Outcome], bool]]],
) -> dict[str, bool]:
    """Put each case to the program in a run of its own."""
    results = {}
    late = 0
    for number, (action, right) in enumerate(cases, start=1):
        results[f"case-{number}"] = False
        if late < _TIMEOUTS:
            run = Execution(source=program, action=action, bounds=problem.bounds)
            outcome = sandbox.run(run)
            late += outcome.ending is Ending.TIMEOUT
            results[f"case-{number}"] = outcome.ending is Ending.OK and right(outcome)
    return results


def _is(expected: str, text: str) -> bool:
    try:
        value = read(text)
    except LITERAL_ERRORS:
        return False
    return same_value(ast.literal_eval(expected), value)


def _tests(sandbox: Sandbox, problem: Problem, hidden: CodeTests, program: str) -> dict[str, bool]:
    action = RunTests(code=hidden.code)
    outcome = sandbox.run(Execution(source=program, action=action, bounds=problem.bounds))
    passed = outcome.ending is Ending.OK
    named = {t.name: t.verdict is TestVerdict.PASSED for t in outcome.tests if t.name}
    if not named:
        quiet = all(t.verdict is TestVerdict.PASSED for t in outcome.tests)
        return {_WHOLE: passed and quiet}
    if outcome.planned is None or len(outcome.tests) < outcome.planned or not passed:
        named[_WHOLE] = passed and outcome.planned == len(outcome.tests)
    return named


def _files(sandbox: Sandbox, problem: Problem, hidden: FileTests, program: str) -> dict[str, bool]:
    action = RunFiles(inputs=hidden.inputs, artefacts=hidden.artefacts)
    outcome = sandbox.run(Execution(source=program, action=action, bounds=problem.bounds))
    left = {a.name: a.content for a in outcome.artefacts if a.content is not None}
    results = {_WHOLE: outcome.ending is Ending.OK and len(left) == len(hidden.artefacts)}
    if not results[_WHOLE]:
        return results
    for code in hidden.code:
        files = hidden.inputs | left | {TESTS: code.encode()}
        over = RunFiles(inputs=files, artefacts=(VERDICTS,))
        seen = sandbox.run(Execution(source=OVER_FILES, action=over, bounds=problem.bounds))
        (verdicts,) = seen.artefacts
        if seen.ending is not Ending.OK or verdicts.content is None:
            raise SandboxError(
                "judge.tests",
                f"the hidden tests of {problem.id} do not run: {seen.ending.value} {seen.note}",
                "check that the packages which they import are installed",
            )
        results |= msgspec.json.decode(verdicts.content, type=dict[str, bool])
    return results
