"""The laws of verdicts: what was observed, and how the run ended, decides whether a check passed.

A verdict is derived where the record holds what it follows from. `docs/reference/laws.md` lists
what is believed instead.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from auditcoder.domain.assembly import owner_of_line
from auditcoder.domain.contract import signature_faults
from auditcoder.domain.drafts import CheckResult
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import PROGRAM_FILE
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws.common import Law, ReadBlob, refuse, task_of
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.python_names import LITERAL_ERRORS, compile_fault, literal_value
from auditcoder.domain.targets import AtNode, AtProgram
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    StdioExample,
    example_content,
)
from auditcoder.domain.values import CheckId, Digest, whole
from auditcoder.sandboxed.result_comparison import same_output, same_value

MAX_OUTPUT = 100_000
"""Maximum number of characters of an output that are recorded, unless the check passed."""

_MAX_FURTHER_HEADINGS = 16
"""Maximum number of lines like a heading, beyond one for each file, that are compared as such."""

DATA_KINDS = frozenset({CheckKind.EXAMPLE, CheckKind.BOUNDARY})
"""Kinds of checks that compare a result with an expected one."""


OVER_INPUTS = frozenset(
    {CheckKind.CONTRACT, CheckKind.INVARIANT, CheckKind.DIFFERENTIAL, CheckKind.PROBE}
)
"""Kinds of checks of a node over several inputs; one without any that decides is inconclusive."""

_WITHOUT_RUN = frozenset(
    {CheckKind.REVIEW, CheckKind.CLUE, CheckKind.SWAP, CheckKind.STATIC, CheckKind.PROOF}
)
"""Kinds of checks of a node for which nothing runs, or more than one run gives the verdict."""

_ONLY_KINDS = {
    Verdict.UNTRIED: frozenset({CheckKind.SWAP}),
    Verdict.VACUOUS: OVER_INPUTS | {CheckKind.TEST},
    Verdict.UNMEASURABLE: frozenset({CheckKind.PROBE}),
}
"""The kinds of checks that alone can have a verdict."""

PARSED_KINDS = frozenset({CheckKind.COMPILE, CheckKind.SIGNATURE})
"""Kinds of checks of a node that nothing has to run for."""


def refuse_false_verdict(ledger: Ledger, evidence: Evidence, read: ReadBlob) -> None:
    """Refuse a verdict that contradicts the ending, the time or the result of its own run."""
    verdict = evidence.verdict
    abnormal = evidence.signal is not None or evidence.exit_code not in {None, 0}
    _refuse_impossible_ending(ledger, evidence)
    _refuse_impossible_count(ledger, evidence)
    if not verdict.conclusive:
        _refuse_unfounded_inconclusive(ledger, evidence)
    if verdict is Verdict.PASSED and abnormal:
        refuse(Law.FALSE_VERDICT, ledger, f"check {evidence.check} passed, but its run crashed")
    if verdict is Verdict.TIMEOUT and not _ran_out_of_time(ledger, evidence):
        refuse(Law.FALSE_VERDICT, ledger, f"check {evidence.check} ended within its time limit")
    if isinstance(evidence.subject, AtProgram) and verdict.clean and not ledger.working.readable:
        refuse(Law.FALSE_VERDICT, ledger, "the program has code that cannot be read")
    if isinstance(evidence.subject, AtNode) and evidence.kind in PARSED_KINDS:
        _refuse_false_parse(ledger, evidence, evidence.subject.node)
    elif not isinstance(evidence.subject, AtProgram) and ledger.format >= 3:
        _refuse_unfounded_result(ledger, evidence)
    if evidence.expected is None or not verdict.clean:
        return
    if abnormal:
        refuse(Law.FALSE_VERDICT, ledger, f"the run of {evidence.check} ended abnormally")
    answers = _possible_answers(ledger, evidence, read)
    if (verdict is Verdict.PASSED) not in answers:
        refuse(
            Law.FALSE_VERDICT,
            ledger,
            f"check {evidence.check} {verdict.value}, but its result says otherwise",
        )


def _refuse_impossible_count(ledger: Ledger, evidence: Evidence) -> None:
    """Refuse a number of inputs that is negative, or of a check that has one input."""
    if evidence.tried is None:
        return
    if ledger.format < 3 or evidence.kind not in OVER_INPUTS or evidence.tried < 0:
        refuse(
            Law.MISDECLARED, ledger, f"{evidence.check} cannot have tried {evidence.tried} inputs"
        )


def _refuse_unfounded_inconclusive(ledger: Ledger, evidence: Evidence) -> None:
    """Refuse an inconclusive verdict where something always runs, or where a result is known."""
    if ledger.format < 3:
        refuse(Law.FALSE_VERDICT, ledger, f"{evidence.verdict.value} exists since format 3")
    if evidence.kind in PARSED_KINDS or (
        isinstance(evidence.subject, AtProgram) and not _may_decide_nothing(ledger, evidence)
    ):
        refuse(Law.FALSE_VERDICT, ledger, f"{evidence.check} always has a result")
    if evidence.kind.judges and evidence.observed is not None:
        refuse(Law.FALSE_VERDICT, ledger, f"{evidence.check} has a result")
    if evidence.frames or evidence.signal is not None or evidence.exit_code not in {None, 0}:
        refuse(Law.FALSE_VERDICT, ledger, f"the run of {evidence.check} ended abnormally")
    if evidence.tried:
        refuse(Law.FALSE_VERDICT, ledger, f"{evidence.check} was decided by an input")
    if evidence.kind not in _ONLY_KINDS.get(evidence.verdict, {evidence.kind}):
        name = evidence.kind.value
        refuse(Law.FALSE_VERDICT, ledger, f"no {name} check is {evidence.verdict.value}")


def _may_decide_nothing(ledger: Ledger, evidence: Evidence) -> bool:
    """Whether a check of the program has no test, or expects what cannot be evaluated."""
    return _decides_nothing(ledger.examples.get(evidence.check), evidence.verdict)


def _decides_nothing(example: Example | None, verdict: Verdict) -> bool:
    match example, verdict:
        case CodeExample(), Verdict.VACUOUS:
            return True
        case CallExample(result=expected), Verdict.NOT_RUN:
            return _value_answers(expected, "0") == _UNKNOWN
        case _:
            return False


def _refuse_unfounded_result(ledger: Ledger, evidence: Evidence) -> None:
    """Refuse a verdict on a node or branch if nothing ran that could have ended the other way."""
    if not evidence.judge:
        refuse(Law.FALSE_VERDICT, ledger, f"nobody is named who decided {evidence.check}")
    if not evidence.verdict.conclusive:
        return
    no_ending = evidence.exit_code is None and evidence.signal is None
    if no_ending and evidence.kind not in _WITHOUT_RUN:
        refuse(Law.FALSE_VERDICT, ledger, f"how the run of {evidence.check} ended is not recorded")
    if evidence.kind in OVER_INPUTS and evidence.verdict.clean and not evidence.tried:
        refuse(Law.FALSE_VERDICT, ledger, f"no input decided {evidence.check}")


def _refuse_impossible_ending(ledger: Ledger, evidence: Evidence) -> None:
    """Refuse an ending that no process has: it has an exit code or a signal, never both."""
    code, signal = evidence.exit_code, evidence.signal
    if isinstance(evidence.subject, AtProgram) and code is None and signal is None:
        refuse(Law.FALSE_VERDICT, ledger, f"how the run of {evidence.check} ended is not recorded")
    if code is not None and (signal is not None or not 0 <= code <= 255):
        refuse(Law.FALSE_VERDICT, ledger, f"no run ends with exit code {code}")
    if signal is not None and not 1 <= signal <= 64:
        refuse(Law.FALSE_VERDICT, ledger, f"no run ends with signal {signal}")


def _refuse_false_parse(ledger: Ledger, evidence: Evidence, node: NodeId) -> None:
    """Refuse a verdict that does not follow from the code of a node and its contract."""
    outcome = (evidence.exit_code, evidence.signal, evidence.peak_bytes, evidence.ran)
    if evidence.blobs() or evidence.frames or any(part is not None for part in outcome):
        refuse(Law.MISDECLARED, ledger, f"nothing runs for {evidence.check}")
    source = ledger.working.bundles[node].source
    if evidence.kind is CheckKind.COMPILE:
        right = compile_fault(source) is None
    else:
        contract = ledger.graph.by_id[node].contract
        if contract is None or evidence.requirement != whole(contract.header()):
            refuse(Law.MISDECLARED, ledger, f"{evidence.check} is of another contract")
        right = not signature_faults(contract, source)
    if evidence.verdict is not (Verdict.PASSED if right else Verdict.FAILED):
        refuse(Law.FALSE_VERDICT, ledger, f"the code of {node} decides {evidence.check} otherwise")


def _ran_out_of_time(ledger: Ledger, evidence: Evidence) -> bool:
    """Whether a run reached its time limit; limits of other checks than examples are unknown."""
    if evidence.check not in ledger.examples:
        return True
    took = evidence.milliseconds or 0.0
    return evidence.signal is not None or took >= 1000 * task_of(ledger).limits.wall_seconds


_UNKNOWN = frozenset({True, False})


def _possible_answers(ledger: Ledger, evidence: Evidence, read: ReadBlob) -> frozenset[bool]:
    """Return the possible answers to whether the result equals the expected one."""
    if evidence.observed is None:
        return frozenset({False})
    assert evidence.expected is not None
    expected, observed = (_text(read, name) for name in (evidence.expected, evidence.observed))
    if isinstance(evidence.subject, AtProgram):
        return _answers_of_program(ledger, evidence.check, expected, observed)
    return _or_cut(_answers_of_node(ledger, evidence, expected, observed), observed)


def _or_cut(answers: frozenset[bool], observed: str) -> frozenset[bool]:
    """Allow for a wrong result that was cut, and then begins like the right one."""
    return answers | {False} if len(observed) == MAX_OUTPUT else answers


def _answers_of_program(
    ledger: Ledger, check: CheckId, expected: str, observed: str
) -> frozenset[bool]:
    return _or_cut(_answers(ledger, ledger.examples[check], expected, observed), observed)


def refuse_false_result(
    ledger: Ledger, check: CheckId, result: CheckResult, read: ReadBlob
) -> None:
    """Refuse a verdict on a variant that contradicts the result of its run."""
    expected = example_content(ledger.examples[check]).expected
    if not result.verdict.conclusive:
        if not _decides_nothing(ledger.examples[check], result.verdict) or result.observed:
            refuse(Law.FALSE_VERDICT, ledger, f"{check} always has a result")
        return
    if expected is None or not result.verdict.clean:
        return
    answers = frozenset({False})
    if result.observed is not None:
        answers = _answers_of_program(ledger, check, expected, _text(read, result.observed))
    if (result.verdict is Verdict.PASSED) not in answers:
        refuse(
            Law.FALSE_VERDICT,
            ledger,
            f"{check} {result.verdict.value} on a variant, but its result says otherwise",
        )


def _answers(ledger: Ledger, example: Example, expected: str, observed: str) -> frozenset[bool]:
    match example:
        case StdioExample():
            return frozenset({same_output(expected, observed)})
        case CallExample():
            return _value_answers(expected, observed)
        case FilesExample(artefacts=artefacts):
            form = task_of(ledger).form
            promised = form.artefacts if isinstance(form, FilesForm) else ()
            return file_answers(artefacts, {*promised, *artefacts}, observed)
        case _:
            return _UNKNOWN


def _value_answers(expected: str, observed: str) -> frozenset[bool]:
    """Compare two literals; an expression that is none cannot be compared without running it."""
    try:
        return frozenset({same_value(literal_value(expected), literal_value(observed))})
    except LITERAL_ERRORS:
        return _UNKNOWN


def _answers_of_node(
    ledger: Ledger, evidence: Evidence, expected: str, observed: str
) -> frozenset[bool]:
    """Compare the result of a node or branch; a derived check takes the form of its example."""
    if evidence.trust is not Trust.DERIVED:
        return _output_answers(expected, observed) | _value_answers(expected, observed)
    answers: frozenset[bool] = frozenset()
    for example in examples_of(ledger, evidence):
        match example:
            case StdioExample():
                answers |= _output_answers(expected, observed)
            case CallExample():
                answers |= _value_answers(expected, observed)
            case _:
                answers |= _UNKNOWN
    return answers


def examples_of(ledger: Ledger, evidence: Evidence) -> list[Example]:
    """Return the examples of the task with the input and the expected result of a check."""
    content = (evidence.input, evidence.expected)
    return [
        ledger.examples[check]
        for check, known in ledger.checks.items()
        if known.trust is Trust.GIVEN and (known.input, known.expected) == content
    ]


def _output_answers(expected: str, observed: str) -> frozenset[bool]:
    """Compare the output of a node; it is recorded as text or as the literal of a string."""
    return frozenset(same_output(expected, text) for text in (observed, _string(observed)))


def file_answers(
    artefacts: dict[str, str], required: Iterable[str], observed: str
) -> frozenset[bool]:
    """Compare files that were recorded as one text, in every way in which it can be read.

    A file can hold a line like the heading of another one. A reading chooses one heading for every
    required file, in the order of their names, with nothing before the first.
    """
    names = sorted(required)
    if not names or not observed.endswith("\n"):
        return frozenset({not names and not observed})
    headings = [f"==> {name} <==\n" for name in names]
    places = [list(_line_starts(heading, observed)) for heading in headings]
    if sum(map(len, places)) > len(names) + _MAX_FURTHER_HEADINGS:
        return _UNKNOWN
    readings = {place: _Readings(1, 1) for place in places[0] if place == 0}
    ends = (*places[1:], [len(observed)])
    for name, heading, following in zip(names, headings, ends, strict=True):
        readings = {
            end: _read_to(end, readings, len(heading), artefacts.get(name), observed)
            for end in following
        }
    number, right = readings[len(observed)]
    return frozenset({right > 0, right > 0 and right == number})


def _line_starts(heading: str, observed: str) -> Iterator[int]:
    """Yield each place in a text at which a line begins with a heading."""
    line, text = f"\n{heading}", f"\n{observed}"
    place = text.find(line)
    while place >= 0:
        yield place  # in `observed`, which begins one character later
        place = text.find(line, place + 1)


class _Readings(NamedTuple):
    """The ways to read a text up to one place."""

    number: int
    right: int
    """The number of those in which every file has its expected text."""


def _read_to(
    end: int, readings: dict[int, _Readings], heading: int, expected: str | None, observed: str
) -> _Readings:
    """Return the ways to read one more file, whose line end is before `end`.

    Each file begins with a heading of this length, at one of the places of `readings`.
    """
    number = right = 0
    for place, known in readings.items():
        begin = place + heading
        if begin < end:
            number += known.number
            if expected is None or same_output(expected, observed[begin:end]):
                right += known.right
    return _Readings(number, right)


def _string(observed: str) -> str:
    """Return the text that a string literal stands for; other text as it is."""
    try:
        value = literal_value(observed)
    except LITERAL_ERRORS:
        return observed
    return value if isinstance(value, str) else observed


def _text(read: ReadBlob, name: Digest) -> str:
    return read(name).decode("utf-8", "replace")


def refuse_false_frames(ledger: Ledger, evidence: Evidence) -> None:
    """Refuse frames and executed nodes that do not exist, or do not own those lines."""
    working, ran = ledger.working, evidence.ran or ()
    if not isinstance(evidence.subject, AtProgram):
        if ran or any(frame.node is not None for frame in evidence.frames):
            refuse(Law.FALSE_VERDICT, ledger, "only lines of the assembled program have an owner")
        return
    if list(ran) != sorted(set(ran)):
        refuse(Law.FALSE_VERDICT, ledger, "the nodes that ran are not listed once and in order")
    for node in ran:
        if node not in working.code:
            refuse(Law.FALSE_VERDICT, ledger, f"{node} has no code that could run")
    assert working.assembly is not None, "evidence is about the present program"
    for frame in evidence.frames:
        segment = owner_of_line(working.assembly.segments, frame.line)
        owner = segment.node if segment and frame.file == PROGRAM_FILE else None
        if frame.node != owner:
            refuse(Law.FALSE_VERDICT, ledger, f"line {frame.line} is not owned by {frame.node}")
