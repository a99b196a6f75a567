"""Substitution of shared constants by numbers that the task states; it costs no tokens.

A node that owns definitions has no function that could be traced, and no contract for which a
second opinion could be requested. If the task does not state the value of a constant, and every
check passes with a number that it states instead, that is causal evidence against the constant. A
value that the task states is left alone: few checks would be enough to find another by chance.
"""

import ast
import re
import time
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import NamedTuple

import msgspec

from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.execution import Execution
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import PARSE_ERRORS, parse
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import Example
from auditcoder.domain.values import CheckId, digest
from auditcoder.lifecycle.locating.diagnosis_input import (
    Clue,
    DiagnosisInput,
    DiagnosisState,
    diagnosis_input_of,
    localised,
)
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.substitution import with_code
from auditcoder.lifecycle.plan_excerpts import definitions
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import CheckObservation, CheckSpec, record
from auditcoder.lifecycle.validation.program_checks import action_for, bounds, checks, judge

RULE = "definitions"
"""The rule of a diagnosis that such a substitution gives."""
_MAX_PROGRAMS = 24
"""Maximum number of substituted programs for one node."""
_MAX_STOPPED = 3
"""Number of programs that exceeded a limit after which no other is run."""
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?![\w.]*\d)|(?<![\w.])\d+(?:\.\d+)?(?!\w|\.\d)")
_MAX_DIGITS = 18
"""Maximum number of characters of a number; a longer one is left out."""
_NOT_TRIED = "no constant of it could be replaced by a number of the task"
_FLAKY = "what failed passed when it was run again"


class Constant(NamedTuple):
    """A number that a definition gives a name."""

    name: str
    value: float
    before: str
    """The source before the number."""
    after: str


class _Trial(NamedTuple):
    """What the substitutions for one node showed."""

    tried: int = 0
    healed: str = ""
    """The substitution with which everything passed, as a sentence; empty if none did."""
    program: str = ""
    unobserved: str = _NOT_TRIED
    """Why no number was tried; empty if some was."""
    runs: int = 0
    """Sandbox runs of all programs."""


def substitute_constants(
    context: RunContext, state: DiagnosisState, _nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Replace shared constants by the numbers that the task states, and record the effect."""
    ledger = context.recorder.ledger
    case = diagnosis_input_of(context)
    for node, bundle in definitions(ledger.graph, ledger.working):
        if node not in case.swapped and _substitutions(context.task.statement, bundle.source):
            _record(context, node, bundle.source)
    return state


def _record(context: RunContext, node: NodeId, source: str) -> None:
    check = CheckSpec(
        CheckId(f"{node}.swapped"),
        AtNode(node=node),
        CheckKind.SWAP,
        Trust.DERIVED,
        "failing cases stay as they are with other constants in it",
    )

    def run() -> CheckObservation:
        began = time.monotonic()
        trial = _try_numbers(context, node, source)
        features = {FeatureKind.TRIED.name: 1.0} if trial.tried else {}
        features |= {FeatureKind.HEALS.name: 1.0} if trial.healed else {}
        healers = (digest(trial.program.encode()),) if trial.healed else ()
        clue = Clue(features=features, runs=trial.runs, healers=healers)
        verdict = Verdict.FAILED if trial.healed else Verdict.PASSED
        return CheckObservation(
            Verdict.UNTRIED if trial.unobserved else verdict,
            trial.unobserved or trial.healed,
            msgspec.json.encode(clue).decode(),
            judge=context.sandbox.kind,
            milliseconds=1000 * (time.monotonic() - began),
        )

    record(context, check, run)


def _try_numbers(context: RunContext, node: NodeId, source: str) -> _Trial:
    """Run the checks of the program with other numbers, until all pass or enough were tried."""
    known = diagnosis_input_of(context).program
    verdicts = {s.evidence.check: s.evidence.verdict for s in known}
    planned = [(verdicts.get(check.id), example) for check, example in checks(context)]
    failing = [e for verdict, e in planned if verdict is not None and verdict.failing]
    passing = [e for verdict, e in planned if verdict is Verdict.PASSED]
    if not failing:
        return _Trial()
    tried, stopped = 0, 0
    worst, runs = _worst(context, context.program, failing)
    if worst is Verdict.PASSED:
        return _Trial(unobserved=_FLAKY, runs=runs)
    for constant, number in _substitutions(context.task.statement, source):
        program = with_code(context, node, f"{constant.before}{number}{constant.after}")
        if not program or stopped == _MAX_STOPPED:
            continue
        worst, more = _worst(context, program, [*failing, *passing])
        tried, runs = tried + 1, runs + more
        stopped += worst in {Verdict.TIMEOUT, Verdict.MEMORY}
        if worst is Verdict.PASSED:
            healed = (
                f"the task does not state {constant.value}, the value of {constant.name}; with"
                f" {number}, which it states, everything passes"
            )
            return _Trial(tried, healed, program, "", runs)
    return _Trial(tried, unobserved="" if tried else _NOT_TRIED, runs=runs)


def _worst(context: RunContext, program: str, examples: Sequence[Example]) -> tuple[Verdict, int]:
    """Run examples on a program up to the first that does not pass.

    Return its verdict, and the number of runs.
    """
    for number, example in enumerate(examples, start=1):
        execution = Execution(
            source=program, action=action_for(context.task, example), bounds=bounds(context.task)
        )
        verdict = judge(context, example, context.sandbox.run(execution)).verdict
        if verdict is not Verdict.PASSED:
            return verdict, number
    return Verdict.PASSED, len(examples)


def _substitutions(statement: str, source: str) -> list[tuple[Constant, str]]:
    """Return the numbers of a task for the constants of a module that it does not state."""
    numbers = list(dict.fromkeys(stated_numbers(statement)))  # in the order of the text
    values = {float(number) for number in numbers}
    unstated = (constant for constant in constants(source) if constant.value not in values)
    return list(islice(product(unstated, numbers), _MAX_PROGRAMS))


def stated_numbers(statement: str) -> Iterator[str]:
    """Yield the numbers in a text as Python writes them; of percentages also the fraction."""
    for match in _NUMBER.finditer(statement):
        number = match[0].replace(",", "")
        if len(number) > _MAX_DIGITS:
            continue
        yield number if "." in number else str(int(number))
        if statement[match.end() :].lstrip().startswith(("%", "percent")):
            yield repr(float(number) / 100)


def constants(source: str) -> Iterator[Constant]:
    """Yield the numbers that a module gives names to at its top level."""
    try:
        body = parse(source).body
    except PARSE_ERRORS:
        return
    lines = source.encode().split(b"\n")  # the parser counts bytes
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        number = _number(value)
        if number is not None and value.end_lineno == value.lineno:
            above, line = lines[: value.lineno - 1], lines[value.lineno - 1]
            before = b"\n".join([*above, line[: value.col_offset]])
            after = b"\n".join([line[value.end_col_offset :], *lines[value.lineno :]])
            yield Constant(name, number, before.decode(), after.decode())


def _number(tree: ast.expr) -> float | None:
    match tree:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case _:
            return None


def healed_by_constant(case: DiagnosisInput) -> Localised | None:
    """Return the diagnosis of a constant with which every check passed; None if there is none.

    Its confidence is medium, without a probability: no weight was fitted on such observations.
    """
    failing = [s for s in case.program if s.evidence.verdict.failing]
    for node in case.graph.defining:
        seq, clue = case.swapped.get(node, (0, Clue(features={})))
        target = AtNode(node=node)
        if failing and FeatureKind.HEALS.name in clue.features and target not in case.tried:
            why = next(s.evidence.message for s in case.local if s.seq == seq)
            return localised(case, target, RULE, Level.MEDIUM, (failing[0].seq, seq), why)
    return None
