"""The judge, which runs hidden tests on finished programs. Its results never reach a run."""

import base64
from collections.abc import Callable, Iterable
from functools import partial
from itertools import zip_longest
from typing import NamedTuple, assert_never

import msgspec
from msgspec.structs import replace

from auditcoder.domain.errors import SandboxError
from auditcoder.domain.execution import (
    Action,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    Returned,
    RunFiles,
    RunProgram,
    RunTests,
    TestVerdict,
)
from auditcoder.domain.python_names import LITERAL_ERRORS, literal_value
from auditcoder.domain.value_decoder import read
from auditcoder.domain.values import digest
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder.sandboxed.result_comparison import same_output, same_value
from auditcoder_bench.problem import CallTests, CodeTests, FileTests, Problem, StdioTests
from auditcoder_bench.sandboxed import batch_driver, file_tests
from auditcoder_bench.sandboxed.file_tests import all_by_name

_WHOLE = "program"
"""Name of the result for the program as a whole."""
_TIMEOUTS = 3
"""After this many timeouts the remaining cases count as failed without being run."""
_CONFIRMATIONS = 3
"""After this many wrong results confirmed in isolation, those of the batch are accepted."""
_EXHAUSTED = {Ending.TIMEOUT, Ending.MEMORY, Ending.OUTPUT_LIMIT, Ending.KILLED}
"""How tests end if the files that they read are too large."""
_SECONDS_PER_INPUT = 0.05
"""Additional seconds for each input of a batch."""


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
    """Whether there are hidden tests and the program passes all of them."""
    return bool(results) and all(results.values())


class _Case(NamedTuple):
    """One hidden case: how to run it in isolation, and its result in the batch of all cases."""

    action: Action
    is_correct: Callable[[str], bool]
    reached: bool
    """Whether the batch got as far as this case."""
    batch_result: str | None
    """The result in the batch; None if the case ended in an error there."""


def _stdio(sandbox: Sandbox, problem: Problem, hidden: StdioTests, program: str) -> dict[str, bool]:
    # The process of a single input is already its own.
    outputs = _batch_outputs(sandbox, problem, hidden, program) if len(hidden.cases) > 1 else []
    cases = [
        _Case(
            RunProgram(stdin=case.input),
            partial(same_output, case.output),
            number < len(outputs),
            outputs[number] if number < len(outputs) else None,
        )
        for number, case in enumerate(hidden.cases)
    ]
    results = _verdicts(sandbox, problem, program, cases, _output)
    # An earlier input cannot have helped the first one.
    right = [case for case in cases[1:] if _is_right(case)]
    if resolved(results) and right and not _is_confirmed(sandbox, problem, program, right):
        alone = [case._replace(reached=False, batch_result=None) for case in cases]
        results = _verdicts(sandbox, problem, program, alone, _output)
    return results


def _is_right(case: _Case) -> bool:
    return case.batch_result is not None and case.is_correct(case.batch_result)


def _is_confirmed(sandbox: Sandbox, problem: Problem, program: str, right: list[_Case]) -> bool:
    """Whether one of the cases that are right in the batch is right in isolation, too.

    The digest of the program chooses it, so that the program cannot know it.
    """
    case = right[int(digest(program.encode("utf-8", "replace"))[:8], 16) % len(right)]
    outcome = sandbox.run(Execution(source=program, action=case.action, bounds=problem.bounds))
    result = _output(outcome) if outcome.ending is Ending.OK else None
    return result is not None and case.is_correct(result)


def _output(outcome: ExecutionOutcome) -> str | None:
    return _decoded(outcome.stdout)


def _decoded(output: bytes) -> str:
    """Decode an output; bytes that are no UTF-8 equal no character that a case expects."""
    return output.decode("utf-8", "surrogateescape")


def _batch_outputs(
    sandbox: Sandbox, problem: Problem, hidden: StdioTests, program: str
) -> list[str | None]:
    """Run the program on all inputs in one process; return no output if it crashed or hung."""
    bounds = problem.bounds
    job = {
        "inputs": [base64.b64encode(_raw(case.input)).decode() for case in hidden.cases],
        "seconds": bounds.seconds,
        "most": bounds.output_bytes,
    }
    files = {
        batch_driver.INPUTS: msgspec.json.encode(job),
        batch_driver.JUDGED: program.encode("utf-8", "replace"),
    }
    outcome = sandbox.run(
        Execution(
            source=joined_source(batch_driver.__name__),
            action=RunFiles(inputs=files, artefacts=(batch_driver.OUTPUTS,)),
            bounds=replace(
                bounds, seconds=2 * bounds.seconds + _SECONDS_PER_INPUT * len(hidden.cases)
            ),
        )
    )
    if outcome.ending is not Ending.OK:
        return []  # right outputs of a program that then hung or crashed prove nothing
    (report,) = outcome.artefacts
    longest = bounds.output_bytes * 4 // 3 + 8  # in base64, with quotes and padding
    return [_text(line, longest) for line in _first_lines(report.content or b"", len(hidden.cases))]


def _first_lines(report: bytes, most: int) -> list[bytes]:
    """Return the first lines; the judged program may have written millions of them."""
    return report.split(b"\n", most)[: min(most, report.count(b"\n"))]


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(line: bytes, longest: int) -> str | None:
    """Decode a line of results, which the judged program may have forged."""
    if len(line) > longest:
        return None
    try:
        output = msgspec.json.decode(line, type=bytes | None)
    except msgspec.DecodeError:
        return None
    return None if output is None else _decoded(output)


def _calls(sandbox: Sandbox, problem: Problem, hidden: CallTests, program: str) -> dict[str, bool]:
    batch = CallFunction(calls=tuple(case.expression for case in hidden.cases))
    outcome = sandbox.run(Execution(source=program, action=batch, bounds=problem.bounds))
    # Right results of a program that then hung or crashed prove nothing.
    results = outcome.calls if outcome.ending is Ending.OK else ()
    cases = [
        _Case(
            CallFunction(calls=(case.expression,)),
            partial(_equals, case.result),
            result is not None,
            result.value if isinstance(result, Returned) else None,
        )
        for case, result in zip_longest(hidden.cases, results)
    ]
    return _verdicts(sandbox, problem, program, cases, _value)


def _value(outcome: ExecutionOutcome) -> str | None:
    match outcome.calls:
        case (Returned(value=text), *_):
            return text
        case _:
            return None


def _verdicts(
    sandbox: Sandbox,
    problem: Problem,
    program: str,
    cases: Iterable[_Case],
    read: Callable[[ExecutionOutcome], str | None],
) -> dict[str, bool]:
    """Judge the results of a batch; run each case that failed in it again, in isolation.

    Once a few wrong results of the batch were the same in isolation, the others are accepted.
    """
    results = {}
    timeouts, confirmed, contradicted = 0, 0, False
    for number, case in enumerate(cases, start=1):
        correct = _is_right(case)
        batch_is_trusted = confirmed >= _CONFIRMATIONS and not contradicted
        accepted = correct or (case.reached and batch_is_trusted)
        if not accepted and timeouts < _TIMEOUTS:
            run = Execution(source=program, action=case.action, bounds=problem.bounds)
            outcome = sandbox.run(run)
            timeouts += outcome.ending is Ending.TIMEOUT
            result = read(outcome) if outcome.ending is Ending.OK else None
            correct = result is not None and case.is_correct(result)
            if case.reached:
                confirmed += result == case.batch_result
                contradicted = contradicted or result != case.batch_result
        results[f"case-{number}"] = correct
    return results


def _equals(expected: str, text: str) -> bool:
    try:
        value = read(text)
    except LITERAL_ERRORS:
        return False
    return same_value(literal_value(expected), value)


def _tests(sandbox: Sandbox, problem: Problem, hidden: CodeTests, program: str) -> dict[str, bool]:
    action = RunTests(code=hidden.code)
    outcome = sandbox.run(Execution(source=program, action=action, bounds=problem.bounds))
    named = all_by_name((t.name, t.verdict is TestVerdict.PASSED) for t in outcome.tests if t.name)
    # A program that removes the tests before they are collected has passed none.
    complete = outcome.ending is Ending.OK and outcome.planned == len(outcome.tests) > 0
    if not named:
        return {_WHOLE: complete and all(t.verdict is TestVerdict.PASSED for t in outcome.tests)}
    if not complete:
        named[_WHOLE] = False
    return named


def _files(sandbox: Sandbox, problem: Problem, hidden: FileTests, program: str) -> dict[str, bool]:
    action = RunFiles(inputs=hidden.inputs, artefacts=hidden.artefacts)
    outcome = sandbox.run(Execution(source=program, action=action, bounds=problem.bounds))
    written = {a.name: a.content for a in outcome.artefacts if a.content is not None}
    results = {_WHOLE: outcome.ending is Ending.OK and len(written) == len(hidden.artefacts)}
    if not results[_WHOLE]:
        return results
    for code in hidden.code:
        files = hidden.inputs | written | {file_tests.TESTS: code.encode()}
        run_tests = RunFiles(inputs=files, artefacts=(file_tests.VERDICTS,))
        source = joined_source(file_tests.__name__)
        tested = sandbox.run(Execution(source=source, action=run_tests, bounds=problem.bounds))
        (verdicts,) = tested.artefacts
        if tested.ending in _EXHAUSTED:  # by what the program wrote
            results[_WHOLE] = False
            continue
        if tested.ending is not Ending.OK or verdicts.content is None:
            raise SandboxError(
                "judge.tests",
                f"the hidden tests of {problem.id} do not run: {tested.ending.value} {tested.note}",
                "check that the packages they import are installed",
            )
        found = msgspec.json.decode(verdicts.content, type=dict[str, bool])
        results = all_by_name((*results.items(), *found.items()))
    return results
