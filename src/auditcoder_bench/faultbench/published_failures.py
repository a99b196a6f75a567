"""Examines published answers, and records the failing ones with their ground truth."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.faultbench.failure_records import FaultRecord, MethodCode, OpenValue
from auditcoder_bench.faultbench.ground_truth import FailingClass, TestView, TruthSearch, find_truth
from auditcoder_bench.faultbench.method_splicer import class_in, different, helpers_in, methods_of
from auditcoder_bench.faultbench.method_test_run import ClassProgram, MethodTestRun, watch
from auditcoder_bench.faultbench.published_answers import (
    PublishedModel,
    Subject,
    class_code,
    read_answers,
)

FAILS, PASSES, UNUSABLE = "fails", "passes", "unusable"
"""The outcomes of an answer; only a failing one is recorded."""

LEFT_OUT: Mapping[str, str] = {
    "25": "its tests need files that other tests left behind",
    "35": "its reference exceeds the time limit of a test",
}
"""Tasks that are excluded here, in addition to the unusable ones of the suite."""

_SAMPLE = 10
"""One in this many passing answers has its methods replaced, to check that nothing breaks."""


class PublishedAnswer(NamedTuple):
    """One answer of one model."""

    model: str
    mode: str
    subject: Subject
    text: str

    @property
    def id(self) -> str:
        """The permanent id."""
        return f"{self.model}|{self.mode}|{self.subject.task_id}"


class AnswerOutcome(OpenValue):
    """The outcome of an answer, stored so that a resumed build does not repeat it."""

    id: str
    outcome: str
    why: str = ""
    """For an unusable answer: the reason."""
    swapped: int = 0
    """For a passing class: the number of methods replaced by the reference's, one at a time."""
    broken_by: tuple[str, ...] = ()
    """The replaced methods that made the class fail."""


def answers(
    published: Iterable[PublishedModel], files: Mapping[str, Path], subjects: Iterable[Subject]
) -> Iterator[PublishedAnswer]:
    """Yield all published answers to these tasks."""
    known = {subject.task_id: subject for subject in subjects}
    for each in published:
        for task_id, text in read_answers(files[each.source.path]).items():
            if task_id in known:
                yield PublishedAnswer(each.model, each.mode, known[task_id], text)


def check_reference(sandbox: Sandbox, subject: Subject) -> AnswerOutcome:
    """Check that a reference passes its own tests with two random seeds."""
    program = ClassProgram(subject.reference, subject.class_name, subject.tests)
    for seed in (0, 1):
        seen = watch(sandbox, program, subject.cases, seed=seed, trace=False, to_first=True)
        if not seen.passes:
            failed = ", ".join(test.test_name for test in seen.failing) or seen.broken
            return AnswerOutcome(
                id=reference_id(subject), outcome=UNUSABLE, why=f"it fails {failed}"
            )
    return AnswerOutcome(id=reference_id(subject), outcome=PASSES)


def reference_id(subject: Subject) -> str:
    """Return the id of a task's reference among the outcomes of its answers."""
    return f"reference|{subject.task_id}"


def examine(sandbox: Sandbox, answer: PublishedAnswer) -> tuple[AnswerOutcome, FaultRecord | None]:
    """Test the class of an answer and, if it fails, find the ground truth."""
    subject = answer.subject
    code = class_code(answer.text, subject.imports)
    if class_in(code, subject.class_name) is None:
        return AnswerOutcome(
            id=answer.id, outcome=UNUSABLE, why="it holds no class that is Python"
        ), None
    candidate = FailingClass(subject, code)
    seen = watch(sandbox, candidate.program(code), subject.cases)
    if seen.broken:
        return AnswerOutcome(
            id=answer.id, outcome=UNUSABLE, why=f"it does not load: {seen.broken}"
        ), None
    again = watch(sandbox, candidate.program(code), subject.cases, seed=1, trace=False)
    if seen.passes and again.passes:
        return _check_replacements(sandbox, answer, candidate), None
    if seen.passes:
        return AnswerOutcome(
            id=answer.id, outcome=UNUSABLE, why="it passes, and another time fails"
        ), None
    whole = find_truth(sandbox, candidate, _whole_view(subject, seen))
    inner = _integration_view(subject, seen)
    program = find_truth(sandbox, candidate, inner) if inner.failing else None
    steady = seen.verdicts == again.verdicts and all(f.steady for f in (whole, program) if f)
    record = _record(answer, candidate, seen, whole, program, flaky=not steady)
    return AnswerOutcome(id=answer.id, outcome=FAILS), record


def _whole_view(subject: Subject, seen: MethodTestRun) -> TestView:
    failing = {test.test_class for test in seen.failing}
    at_fault = tuple(name for name, tests in subject.unit_tests.items() if tests in failing)
    return TestView(subject.cases, seen.failing, at_fault)


def _integration_view(subject: Subject, seen: MethodTestRun) -> TestView:
    own = subject.integration_class
    cases = [case for case in subject.cases if case[0] == own]
    return TestView(cases, [test for test in seen.failing if test.test_class == own])


def _record(
    answer: PublishedAnswer,
    candidate: FailingClass,
    seen: MethodTestRun,
    whole: TruthSearch,
    program: TruthSearch | None,
    *,
    flaky: bool,
) -> FaultRecord:
    subject, code = candidate
    own = methods_of(code, subject.class_name)
    return FaultRecord(
        id=answer.id,
        model=answer.model,
        mode=answer.mode,
        task_id=subject.task_id,
        class_name=subject.class_name,
        skeleton=subject.skeleton,
        generated_code=code,
        code_sha1=sha1(code.encode("utf-8", "replace")).hexdigest(),  # noqa: S324 - an identifier
        methods=tuple(
            MethodCode(name=name, in_generated=name in own, unit_test_class=tests)
            for name, tests in subject.unit_tests.items()
        ),
        helpers=helpers_in(code, subject.class_name, subject.unit_tests),
        integration_class=subject.integration_class,
        flaky=flaky,
        failing_tests=seen.failing,
        passing_tests=seen.passing,
        not_run=seen.not_run,
        ground_truth=whole.truth,
        ground_truth_program=program.truth if program else None,
    )


def _check_replacements(
    sandbox: Sandbox, answer: PublishedAnswer, candidate: FailingClass
) -> AnswerOutcome:
    """Replace methods of a passing class by the reference's, which should not break it."""
    subject = candidate.subject
    sampled = sha1(answer.id.encode()).digest()[0] % _SAMPLE == 0  # noqa: S324 - a sample
    changed = different(candidate.code, subject.reference, subject.class_name) if sampled else []
    broken = [
        name
        for name in changed
        if not watch(
            sandbox,
            candidate.program(candidate.with_reference([name])),
            subject.cases,
            trace=False,
            to_first=True,
        ).passes
    ]
    return AnswerOutcome(
        id=answer.id, outcome=PASSES, swapped=len(changed), broken_by=tuple(broken)
    )
