"""From a published answer to a record of its failure."""

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
"""What can come of an answer: only the first makes a record."""

LEFT_OUT: Mapping[str, str] = {
    "25": "its tests need files that other tests left behind",
    "35": "its reference takes longer than a test may",
}
"""Tasks that are of no use here, beside those that are of none to the suite."""

_SAMPLE = 10
"""Of so many answers that pass, the methods of one are replaced, to see that nothing breaks."""


class PublishedAnswer(NamedTuple):
    """One answer of one model."""

    model: str
    mode: str
    subject: Subject
    text: str

    @property
    def id(self) -> str:
        """Name it for good."""
        return f"{self.model}|{self.mode}|{self.subject.task_id}"


class AnswerOutcome(OpenValue):
    """What came of an answer, kept so that nothing is done twice."""

    id: str
    outcome: str
    why: str = ""
    """Of what is unusable: what is wrong with it."""
    swapped: int = 0
    """How many methods of a class that passes were replaced by the reference's, one at a time."""
    broken_by: tuple[str, ...] = ()
    """Those of them that made it fail."""


def answers(
    published: Iterable[PublishedModel], files: Mapping[str, Path], subjects: Iterable[Subject]
) -> Iterator[PublishedAnswer]:
    """Yield every answer to these tasks."""
    known = {subject.task_id: subject for subject in subjects}
    for each in published:
        for task_id, text in read_answers(files[each.source.path]).items():
            if task_id in known:
                yield PublishedAnswer(each.model, each.mode, known[task_id], text)


def check_reference(sandbox: Sandbox, subject: Subject) -> AnswerOutcome:
    """See that a reference passes its own tests, twice."""
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
    """Name a task's reference among the answers to it."""
    return f"reference|{subject.task_id}"


def examine(sandbox: Sandbox, answer: PublishedAnswer) -> tuple[AnswerOutcome, FaultRecord | None]:
    """Run an answer's class below its tests and, if it fails, find out why."""
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
        return _check(sandbox, answer, candidate), None
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
        code_sha1=sha1(code.encode("utf-8", "replace")).hexdigest(),  # noqa: S324 - a name
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


def _check(sandbox: Sandbox, answer: PublishedAnswer, candidate: FailingClass) -> AnswerOutcome:
    """Replace methods of a class that passes: the reference's should do as well."""
    subject = candidate.subject
    drawn = sha1(answer.id.encode()).digest()[0] % _SAMPLE == 0  # noqa: S324 - a draw
    changed = different(candidate.code, subject.reference, subject.class_name) if drawn else []
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
