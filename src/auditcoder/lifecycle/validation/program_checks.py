"""The checks of the whole program: given, derived and generated examples, in this order."""

from collections.abc import Iterator
from functools import partial

from auditcoder.domain.evidence import Evidence, Trust, Verdict
from auditcoder.domain.execution import (
    PROGRAM_FILE,
    TESTS_FILE,
    Action,
    Bounds,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    Raised,
    Returned,
    RunFiles,
    RunProgram,
    RunTests,
    TestVerdict,
)
from auditcoder.domain.laws.check_laws import LOADS, LOADS_CHECK, example_kind
from auditcoder.domain.laws.verdict_laws import file_answers
from auditcoder.domain.targets import AtProgram, Subject
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
    example_check,
    example_content,
    files_as_text,
)
from auditcoder.domain.value_decoder import read
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import (
    VERDICTS,
    CheckObservation,
    CheckSpec,
    owned_frames,
    record,
    who_ran,
)
from auditcoder.lifecycle.validation.function_calls import (
    NoValue,
    ended,
    expected_value,
    value_of,
)
from auditcoder.lifecycle.validation.owned_run import run_owned
from auditcoder.sandboxed.result_comparison import same_output, same_value, shown


def validate_program(context: RunContext) -> list[Evidence]:
    """Run every program-level check on the assembled program."""
    program = context.program
    seen = [record(context, _loads(), lambda: _load(context, program))]
    for check, example in checks(context):
        run = partial(run_example, context, program, example)
        seen.append(record(context, check, run))
    return seen


def checks(context: RunContext) -> Iterator[tuple[CheckSpec, Example]]:
    """Yield the examples of the task and the checks of the plan that were not dropped."""
    ledger = context.recorder.ledger
    for number, example in enumerate(context.task.examples, start=1):
        check = check_for(
            example_check(number), AtProgram(), Trust.GIVEN, example, example.explanation
        )
        yield check, example
    brief = ledger.working.brief
    for planned in brief.requirements.checks if brief else ():
        if planned.id not in ledger.dropped:
            yield (
                check_for(
                    planned.id, AtProgram(), planned.trust, planned.example, planned.description
                ),
                planned.example,
            )


def check_for(
    name: CheckId, subject: Subject, trust: Trust, example: Example, requirement: str = ""
) -> CheckSpec:
    """Return the check that runs an example on the program or on one node."""
    kind, (given, expected) = example_kind(example, trust), example_content(example)
    return CheckSpec(name, subject, kind, trust, requirement, given, expected)


def _loads() -> CheckSpec:
    check = LOADS_CHECK
    return CheckSpec(LOADS, check.subject, check.kind, check.trust, check.requirement)


def _load(context: RunContext, program: str) -> CheckObservation:
    """Load the program without running it, and check that its entry function exists.

    A whole program does its work while it is loaded, so it is only compiled.
    """
    form = context.task.form
    entry = form.entry if isinstance(form, FunctionForm) else ""
    calls = (f"callable({entry})",) if entry else ()
    source = program
    ledger = context.recorder.ledger
    is_script = ledger.graph.whole is not None and isinstance(form, ProgramForm | FilesForm)
    if is_script and ledger.working.readable:
        source, calls = "", (f"bool(compile({program!r}, {PROGRAM_FILE!r}, 'exec'))",)
    execution = Execution(
        source=source, action=CallFunction(calls=calls), bounds=bounds(context.task)
    )
    outcome = run_owned(context, execution)
    verdict = VERDICTS[outcome.ending]
    found = all(isinstance(c, Returned) and value_of(c.value) is True for c in outcome.calls)
    if verdict is Verdict.PASSED and not found:
        verdict = Verdict.FAILED
    working = context.recorder.ledger.working
    return CheckObservation(
        verdict,
        _ending_message(outcome),
        outcome=outcome,
        frames=owned_frames(outcome.raised, working),
    )


def bounds(task: Task) -> Bounds:
    """Return the resource limits of one run of the program."""
    memory = task.limits.memory_mb
    return Bounds(
        seconds=task.limits.wall_seconds,
        memory_bytes=memory << 20 if memory else 1 << 30,
    )


def action_for(task: Task, example: Example) -> Action:
    """Return the action that runs an example on the program."""
    match example:
        case StdioExample(input=given):
            return RunProgram(stdin=given)
        case CallExample(arguments=arguments):
            entry = task.form.entry if isinstance(task.form, FunctionForm) else "solve"
            return CallFunction(calls=(f"{entry}({arguments})",))
        case CodeExample(code=code):
            return RunTests(code=code)
        case FilesExample(inputs=inputs, artefacts=artefacts):
            promised = task.form.artefacts if isinstance(task.form, FilesForm) else ()
            return RunFiles(
                inputs={name: text.encode() for name, text in inputs.items()},
                artefacts=tuple(sorted({*artefacts, *promised})),
            )


def run_example(context: RunContext, program: str, example: Example) -> CheckObservation:
    """Run one example on a program; if an assembled one answers wrong, trace which nodes ran."""
    task, sandbox = context.task, context.sandbox
    working = context.recorder.ledger.working
    execution = Execution(source=program, action=action_for(task, example), bounds=bounds(task))
    outcome = run_owned(context, execution)
    seen = judge(context, example, outcome)._replace(outcome=outcome)
    if not seen.frames:
        seen = seen._replace(frames=owned_frames(outcome.raised, working))
    if seen.verdict is Verdict.FAILED and working.assembly is not None:
        watched = sandbox.run(
            Execution(source=program, action=execution.action, bounds=execution.bounds, watch=True)
        )
        seen = seen._replace(ran=who_ran(watched, working))
    return seen


def judge(context: RunContext, example: Example, outcome: ExecutionOutcome) -> CheckObservation:
    """Compare the outcome with what the example expects."""
    match example:
        case StdioExample(output=expected):
            return _judge_output(expected, outcome)
        case CallExample():
            return _judge_call(context, example, outcome)
        case CodeExample():
            return _judge_tests(context, outcome)
        case FilesExample(artefacts=artefacts):
            return _judge_files(artefacts, outcome)


def _judge_output(expected: str, outcome: ExecutionOutcome) -> CheckObservation:
    printed = outcome.stdout.decode("utf-8", "replace")
    verdict = VERDICTS[outcome.ending]
    if verdict is Verdict.PASSED and not same_output(expected, printed):
        return CheckObservation(Verdict.FAILED, "the output is not the one expected", printed)
    return CheckObservation(verdict, _ending_message(outcome), printed)


def _judge_call(
    context: RunContext, example: CallExample, outcome: ExecutionOutcome
) -> CheckObservation:
    working = context.recorder.ledger.working
    match outcome.calls:
        case (Returned(value=text), *_) if outcome.ending is Ending.OK:
            try:
                value = read(text)
            except ValueError as error:
                return CheckObservation(Verdict.FAILED, f"the result cannot be read: {error}")
            wanted = expected_value(context, example)
            if isinstance(wanted, NoValue):
                return CheckObservation(Verdict.NOT_RUN, wanted.reason)
            if same_value(wanted, value):
                return CheckObservation(Verdict.PASSED, observed=shown(value))
            return CheckObservation(
                Verdict.FAILED, "the result is not the one expected", shown(value)
            )
        case (Raised() as raised, *_):
            message = f"{raised.exception}: {raised.message}"
            return CheckObservation(Verdict.CRASH, message, frames=owned_frames(raised, working))
        case _:
            return CheckObservation(ended(outcome), _ending_message(outcome))


def _judge_tests(context: RunContext, outcome: ExecutionOutcome) -> CheckObservation:
    working = context.recorder.ledger.working
    bad = [t for t in outcome.tests if t.verdict is not TestVerdict.PASSED]
    report = "\n".join(f"{t.verdict.value}: {t.name}: {t.message}" for t in bad[:10])
    if outcome.ending is not Ending.OK and not bad:
        return _judge_plain_tests(outcome)
    if outcome.planned == 0 and not bad:
        return CheckObservation(Verdict.VACUOUS, "the test code has no test")
    if not bad and outcome.planned is not None and len(outcome.tests) >= outcome.planned > 0:
        return CheckObservation(Verdict.PASSED)
    for test in bad:
        if test.verdict is TestVerdict.ERROR and test.frames:
            frames = owned_frames(Raised(exception="", message="", frames=test.frames), working)
            if frames[-1].node is not None or frames[-1].file == PROGRAM_FILE:
                return CheckObservation(Verdict.CRASH, report, frames=frames)
    raised = [Raised(exception="", message="", frames=t.frames) for t in bad if t.frames]
    frames = owned_frames(raised[0], working) if raised else ()
    message = report or "not every test came to its end"
    return CheckObservation(Verdict.FAILED, message, frames=frames)


def _judge_plain_tests(outcome: ExecutionOutcome) -> CheckObservation:
    """Judge test code without test cases: a failed assertion in it is a wrong answer."""
    raised = outcome.raised
    own = raised is not None and (not raised.frames or raised.frames[-1].file == TESTS_FILE)
    if own and raised is not None and raised.exception == "AssertionError":
        where = raised.frames[-1].line if raised.frames else 0
        return CheckObservation(Verdict.FAILED, f"the assertion in line {where} of the test fails")
    return CheckObservation(VERDICTS[outcome.ending], _ending_message(outcome))


def _judge_files(artefacts: dict[str, str], outcome: ExecutionOutcome) -> CheckObservation:
    written = {
        a.name: a.content.decode("utf-8", "replace")
        for a in outcome.artefacts
        if a.content is not None
    }
    observed = files_as_text(written)
    verdict = VERDICTS[outcome.ending]
    if verdict is not Verdict.PASSED:
        return CheckObservation(verdict, _ending_message(outcome), observed)
    if missing := [a.name for a in outcome.artefacts if a.content is None]:
        # A file can hold the heading of one that is missing; such a text is no result.
        required = (a.name for a in outcome.artefacts)
        unclear = True in file_answers(artefacts, required, observed)
        message = f"it left no {', '.join(missing)}"
        return CheckObservation(Verdict.FAILED, message, None if unclear else observed)
    wrong = [n for n, text in artefacts.items() if not same_output(text, written.get(n, ""))]
    if wrong:
        message = f"{', '.join(wrong)} is not as expected"
        return CheckObservation(Verdict.FAILED, message, observed)
    return CheckObservation(Verdict.PASSED, observed=observed)


def _ending_message(outcome: ExecutionOutcome) -> str:
    """Describe how a run ended; empty if it ended normally."""
    if outcome.raised is not None:
        return f"{outcome.raised.exception}: {outcome.raised.message}"
    if outcome.ending is Ending.OK:
        return ""
    return f"{outcome.ending.value}{': ' if outcome.note else ''}{outcome.note}"
