"""The checks of the whole program: given examples first, then derived and generated ones."""

from collections.abc import Iterator
from functools import partial

from auditcoder.domain.binding import LITERAL_ERRORS, literal_value
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import (
    PROGRAM_FILE,
    TESTS_FILE,
    Action,
    Bounds,
    CallFunction,
    Ending,
    Execution,
    Outcome,
    Raised,
    Returned,
    RunFiles,
    RunProgram,
    RunTests,
    TestVerdict,
)
from auditcoder.domain.observed import read
from auditcoder.domain.places import AtProgram, Subject
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    FunctionForm,
    StdioExample,
    Task,
    example_check,
)
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.validating.comparing import same_output, same_value, shown
from auditcoder.lifecycle.validating.evidence import (
    VERDICTS,
    Check,
    Seen,
    owned_frames,
    record,
    who_ran,
)
from auditcoder.lifecycle.validating.running import ended, run_calls
from auditcoder.lifecycle.workshop import Workshop

LOADS = CheckId("loads")
_SECONDS = 5.0


def validate_program(workshop: Workshop) -> list[Evidence]:
    """Run every program-level check on the assembled program."""
    program = workshop.program
    seen = [record(workshop, _loads(), lambda: _load(workshop, program))]
    for check, example in checks(workshop):
        run = partial(run_example, workshop, program, example)
        seen.append(record(workshop, check, run))
    return seen


def checks(workshop: Workshop) -> Iterator[tuple[Check, Example]]:
    """Yield the task's examples and the plan's checks, but for dropped ones."""
    ledger = workshop.recorder.ledger
    for number, example in enumerate(workshop.task.examples, start=1):
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
) -> Check:
    """Return what putting an example to the program, or to what stands for it, is as a check."""
    kind = CheckKind.EXAMPLE if trust is Trust.GIVEN else CheckKind.BOUNDARY
    given: str | None = None
    expected: str | None = None
    match example:
        case StdioExample():
            given, expected = example.input, example.output
        case CallExample():
            given, expected = example.arguments, example.result
        case CodeExample():
            given, kind = example.code, CheckKind.TEST
        case FilesExample(inputs=inputs, artefacts=artefacts):
            given, expected = _folder(inputs), _folder(artefacts)
    return Check(name, subject, kind, trust, requirement, given, expected)


def _folder(files: dict[str, str]) -> str:
    return "".join(f"==> {name} <==\n{text}\n" for name, text in sorted(files.items()))


def _loads() -> Check:
    return Check(LOADS, AtProgram(), CheckKind.COMPILE, Trust.DERIVED, "the program can be loaded")


def _load(workshop: Workshop, program: str) -> Seen:
    """Load the program without running it, and see that its entry is there."""
    form = workshop.task.form
    entry = form.entry if isinstance(form, FunctionForm) else ""
    calls = (f"callable({entry})",) if entry else ()
    outcome = run_calls(workshop, program, calls, bounds(workshop.task))
    verdict = VERDICTS[outcome.ending]
    if verdict is Verdict.PASSED and any(isinstance(c, Raised) for c in outcome.calls):
        verdict = Verdict.FAILED
    working = workshop.recorder.ledger.working
    return Seen(
        verdict, _said(outcome), outcome=outcome, frames=owned_frames(outcome.raised, working)
    )


def bounds(task: Task) -> Bounds:
    """Return what one run of the program may use."""
    memory = task.limits.memory_mb
    return Bounds(
        seconds=task.limits.seconds or _SECONDS,
        memory_bytes=memory << 20 if memory else 1 << 30,
    )


def action_for(task: Task, example: Example) -> Action:
    """Return how an example is put to the program."""
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


def run_example(workshop: Workshop, program: str, example: Example) -> Seen:
    """Put one example to the program; where the answer is wrong, look who took part."""
    task, sandbox = workshop.task, workshop.sandbox
    working = workshop.recorder.ledger.working
    execution = Execution(source=program, action=action_for(task, example), bounds=bounds(task))
    outcome = sandbox.run(execution)
    seen = judge(workshop, example, outcome)._replace(outcome=outcome)
    if not seen.frames:
        seen = seen._replace(frames=owned_frames(outcome.raised, working))
    if seen.verdict is Verdict.FAILED:
        watched = sandbox.run(
            Execution(source=program, action=execution.action, bounds=execution.bounds, watch=True)
        )
        seen = seen._replace(ran=who_ran(watched, working))
    return seen


def judge(workshop: Workshop, example: Example, outcome: Outcome) -> Seen:
    """Compare what came out with what the example says."""
    match example:
        case StdioExample(output=expected):
            return _judge_output(expected, outcome)
        case CallExample(result=expected):
            return _judge_call(workshop, expected, outcome)
        case CodeExample():
            return _judge_tests(workshop, outcome)
        case FilesExample(artefacts=artefacts):
            return _judge_files(artefacts, outcome)


def _judge_output(expected: str, outcome: Outcome) -> Seen:
    printed = outcome.stdout.decode("utf-8", "replace")
    verdict = VERDICTS[outcome.ending]
    if verdict is Verdict.PASSED and not same_output(expected, printed):
        return Seen(Verdict.FAILED, "the output is not the one expected", printed)
    return Seen(verdict, _said(outcome), printed)


def _judge_call(workshop: Workshop, expected: str, outcome: Outcome) -> Seen:
    working = workshop.recorder.ledger.working
    match outcome.calls:
        case (Returned(value=text), *_):
            try:
                value = read(text)
            except ValueError as error:
                return Seen(Verdict.FAILED, f"the result cannot be read: {error}", text)
            if same_value(_expected(workshop, expected), value):
                return Seen(Verdict.PASSED, observed=shown(value))
            return Seen(Verdict.FAILED, "the result is not the one expected", shown(value))
        case (Raised() as raised, *_):
            said = f"{raised.exception}: {raised.message}"
            return Seen(Verdict.CRASH, said, frames=owned_frames(raised, working))
        case _:
            return Seen(ended(outcome), _said(outcome))


def _expected(workshop: Workshop, text: str) -> object:
    """Return the value that an example's text stands for; what is no literal is run, apart."""
    try:
        return literal_value(text)
    except LITERAL_ERRORS:
        pass
    outcome = workshop.sandbox.run(Execution(source="", action=CallFunction(calls=(text,))))
    match outcome.calls:
        case (Returned(value=value), *_):
            return read(value)
        case _:
            return object()  # equals nothing: an example that means nothing is met by nothing


def _judge_tests(workshop: Workshop, outcome: Outcome) -> Seen:
    working = workshop.recorder.ledger.working
    bad = [t for t in outcome.tests if t.verdict is not TestVerdict.PASSED]
    report = "\n".join(f"{t.verdict.value}: {t.name}: {t.message}" for t in bad[:10])
    if outcome.ending is not Ending.OK and not bad:
        return _judge_plain_tests(outcome)
    if not bad and outcome.planned is not None and len(outcome.tests) >= outcome.planned > 0:
        return Seen(Verdict.PASSED)
    for test in bad:
        if test.verdict is TestVerdict.ERROR and test.frames:
            frames = owned_frames(Raised(exception="", message="", frames=test.frames), working)
            if frames[-1].node is not None or frames[-1].file == PROGRAM_FILE:
                return Seen(Verdict.CRASH, report, frames=frames)
    return Seen(Verdict.FAILED, report or "not every test came to its end")


def _judge_plain_tests(outcome: Outcome) -> Seen:
    """Judge test code without test cases: an assertion of its own that fails is a wrong answer."""
    raised = outcome.raised
    own = raised is not None and (not raised.frames or raised.frames[-1].file == TESTS_FILE)
    if own and raised is not None and raised.exception == "AssertionError":
        where = raised.frames[-1].line if raised.frames else 0
        return Seen(Verdict.FAILED, f"the assertion in line {where} of the test fails")
    return Seen(VERDICTS[outcome.ending], _said(outcome))


def _judge_files(artefacts: dict[str, str], outcome: Outcome) -> Seen:
    found = {
        a.name: a.content.decode("utf-8", "replace")
        for a in outcome.artefacts
        if a.content is not None
    }
    observed = _folder(found)
    verdict = VERDICTS[outcome.ending]
    if verdict is not Verdict.PASSED:
        return Seen(verdict, _said(outcome), observed)
    if missing := [a.name for a in outcome.artefacts if a.content is None]:
        return Seen(Verdict.FAILED, f"it left no {', '.join(missing)}", observed)
    wrong = [n for n, text in artefacts.items() if not same_output(text, found.get(n, ""))]
    if wrong:
        said = f"{', '.join(wrong)} is not as expected"
        return Seen(Verdict.FAILED, said, observed)
    return Seen(Verdict.PASSED, observed=observed)


def _said(outcome: Outcome) -> str:
    """Say how a run ended, if not well."""
    if outcome.raised is not None:
        return f"{outcome.raised.exception}: {outcome.raised.message}"
    if outcome.ending is Ending.OK:
        return ""
    return f"{outcome.ending.value}{': ' if outcome.note else ''}{outcome.note}"
