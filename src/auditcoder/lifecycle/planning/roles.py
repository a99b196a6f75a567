"""The staged planner's roles: what each is asked for, and what of it goes into the brief.

A class's docstring is part of the schema that a model is shown.
"""

import ast
from enum import Enum
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from auditcoder.domain.binding import LITERAL_ERRORS, expression
from auditcoder.domain.brief import Approach, Brief, Candidate, Choice, DataRange, Parsed, Trap
from auditcoder.domain.contract import RESULT, Clause, Cost, Param
from auditcoder.domain.request import Reply
from auditcoder.domain.task import (
    CallExample,
    Example,
    Form,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.values import Value
from auditcoder.lifecycle.planning.plan import brief_for
from auditcoder.lifecycle.planning.promises import read_clause, read_cost
from auditcoder.lifecycle.shapes import Structured, Unfit

FEWEST_CASES = 3
_MOST_CASES = 10
_MOST_SECONDS = 3600
_MOST_MEGABYTES = 1_000_000


class Role(Enum):
    """Who is asked, in this order; the value names the prompt."""

    PARSER = "parser"
    THINKER = "thinker"
    CONSTRAINT_ANALYZER = "constraint_analyzer"
    ALGORITHM_SELECTOR = "algorithm_selector"
    TASK_DECOMPOSER = "task_decomposer"
    INTERFACE_DESIGNER = "interface_designer"
    TEST_CASE_ANALYZER = "test_case_analyzer"
    PLAN_REVIEWER = "plan_reviewer"


Retry: TypeAlias = Literal[
    "", "constraint_analyzer", "algorithm_selector", "task_decomposer", "interface_designer"
]
"""Whom the reviewer may send a plan back to; empty for nobody."""


class Said(Value, forbid_unknown_fields=False):
    """What a role answers. A field too many does no harm."""


class Case(Said):
    """One test: plain text, no code that would make it."""

    input: str = ""
    expected_output: str = ""
    description: str = ""


class Parsing(Said):
    """The problem as stated; null for what it does not say."""

    title: str = ""
    description: str = ""
    input_format: str = ""
    output_format: str = ""
    time_limit_seconds: float | None = None
    memory_limit_mb: float | None = None
    data_ranges: tuple[DataRange, ...] = ()
    sample_cases: tuple[Case, ...] = ()


class Thinking(Said):
    """What is behind the problem, before anything is decided."""

    nature: str = ""
    traps: tuple[Trap, ...] = ()
    insights: tuple[str, ...] = ()
    considered: tuple[Candidate, ...] = ()
    questions: tuple[str, ...] = ()
    summary: str = ""


class Constraints(Said):
    """What the limits allow."""

    time: str = ""
    space: str = ""
    features: tuple[str, ...] = ()
    reasoning: str = ""


class Selection(Said):
    """The algorithms, and why."""

    category: str = ""
    observations: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    reasoning: tuple[str, ...] = ()


class Input(Said):
    """A value that a part needs; source is null or "label.output"."""

    name: str
    type: str = ""
    description: str = ""
    source: str | None = None


class Output(Said):
    """A value that a part makes."""

    name: str
    type: str = ""
    description: str = ""


class Part(Said):
    """One responsibility."""

    label: str
    goal: str
    kind: str = ""
    parent: str | None = None
    dependencies: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    hints: tuple[str, ...] = ()
    cost: str = ""
    context: str = ""


class Decomposition(Said):
    """The parts, and why there are so many."""

    strategy: str = ""
    why: str = ""
    parts: tuple[Part, ...] = ()


class Interface(Said):
    """One part's function."""

    label: str
    name: str
    params: tuple[Param, ...] = ()
    returns: str = ""
    returns_description: str = ""
    requires: tuple[str, ...] = ()
    ensures: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class Interfaces(Said):
    """One interface for each part."""

    interfaces: tuple[Interface, ...] = ()


class Cases(Said):
    """Cases of the whole program, and what always holds."""

    samples: tuple[Case, ...] = ()
    edge_cases: tuple[Case, ...] = ()
    invariants: tuple[str, ...] = ()


class Opinion(Said):
    """The verdict on a plan."""

    status: Literal["pass", "fail"] = "pass"
    issues: tuple[str, ...] = ()
    retry_target: Retry = ""
    reason: str = ""


class Notes(NamedTuple):
    """The newest answer of each role, under the role's name; what is missing says nothing."""

    parser: Parsing = Parsing()
    thinker: Thinking = Thinking()
    constraint_analyzer: Constraints = Constraints()
    algorithm_selector: Selection = Selection()
    task_decomposer: Decomposition | None = None
    interface_designer: Interfaces | None = None
    test_case_analyzer: Cases = Cases()

    @property
    def cost(self) -> Cost:
        """The whole program's cost targets."""
        said = self.constraint_analyzer
        return Cost(time=read_cost((said.time,)).time, space=read_cost((said.space,)).time)


class EnoughCases:
    """The test-case analyzer's answer: once, too few edge cases are sent back."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._inner = Structured(Cases)
        self.schema = self._inner.schema
        self.found: Cases | None = None
        """The best answer so far, if it was one at all."""

    def instruction(self) -> str:
        """Show the schema."""
        return self._inner.instruction()

    def read(self, reply: Reply) -> Cases:
        """Take enough cases, or, the second time, whatever there is."""
        tests, before = self._inner.read(reply), self.found
        usable = len(examples_of(self._form, tests.edge_cases))
        self.found = tests
        if has_data(self._form) and before is None and usable < FEWEST_CASES:
            raise Unfit(
                f"{usable} of its {len(tests.edge_cases)} edge cases can be used;"
                f" give at least {FEWEST_CASES}, each with an input and an expected output"
            )
        return tests


def has_data(form: Form) -> bool:
    """Whether a test of such a task can be written as an input and an output."""
    return isinstance(form, ProgramForm | FunctionForm)


def examples_of(form: Form, cases: tuple[Case, ...]) -> tuple[tuple[Example, str], ...]:
    """Return the cases that are examples in the task's form, the first of each input, and why."""
    found: dict[str, tuple[Example, str]] = {}
    for case in cases:
        match form:
            case ProgramForm() if case.expected_output.strip():
                example = StdioExample(
                    input=_ended(case.input), output=_ended(case.expected_output)
                )
                found.setdefault(example.input, (example, case.description))
            case FunctionForm(entry=entry) if call := _call(entry, case):
                found.setdefault(call.arguments, (call, case.description))
            case _:
                pass  # it says nothing that could be held against a program
    return tuple(found.values())[:_MOST_CASES]


def _ended(text: str) -> str:
    return text.rstrip("\n") + "\n" if text.strip() else ""


def _call(entry: str, case: Case) -> CallExample | None:
    """Read a call of `entry`, or only its arguments; None unless all of it is literal."""
    text = case.input.strip()
    try:
        call = expression(text if text.startswith(f"{entry}(") else f"{entry}({text})")
        result = expression(case.expected_output)
        match call:
            case ast.Call(func=ast.Name(), args=args, keywords=named) if all(k.arg for k in named):
                for value in (*args, *(keyword.value for keyword in named), result):
                    ast.literal_eval(value)
                if _has_dots(call) or _has_dots(result):
                    return None
                arguments = ast.unparse(call)[len(entry) + 1 : -1]
                return CallExample(arguments=arguments, result=ast.unparse(result))
            case _:
                return None
    except LITERAL_ERRORS:
        return None


def _has_dots(tree: ast.AST) -> bool:
    """Whether three dots stand in it for what was not written."""
    return any(isinstance(n, ast.Constant) and n.value is ... for n in ast.walk(tree))


def staged_brief(task: Task, notes: Notes) -> Brief:
    """Write P, B and Q from what the roles found; what the task itself says comes first."""
    tests = notes.test_case_analyzer
    samples = () if task.examples else tests.samples
    brief = brief_for(task, _approach(notes), examples_of(task.form, samples + tests.edge_cases))
    return msgspec.structs.replace(
        brief,
        parsed=parsed_of(task, notes.parser),
        requirements=msgspec.structs.replace(
            brief.requirements,
            invariants=tuple(_invariant(task.form, t) for t in tests.invariants if t.strip()),
        ),
    )


def parsed_of(task: Task, said: Parsing) -> Parsed:
    """Return P: what the parser read, under what the task says itself."""
    megabytes = _sensible(said.memory_limit_mb, _MOST_MEGABYTES)
    seconds = _sensible(said.time_limit_seconds, _MOST_SECONDS)
    given = task.limits
    return Parsed(
        title=task.title or said.title,
        description=said.description,
        input_format=said.input_format,
        output_format=said.output_format,
        limits=Limits(
            seconds=seconds if given.seconds is None else given.seconds,
            memory_mb=(int(megabytes) if megabytes else None)
            if given.memory_mb is None
            else given.memory_mb,
        ),
        ranges=tuple(r for r in said.data_ranges if r.variable.strip()),
        samples=task.examples or tuple(e for e, _ in examples_of(task.form, said.sample_cases)),
    )


def _sensible(said: float | None, most: float) -> float | None:
    """Return a limit that a statement could set; models put in nought or nonsense."""
    return said if said is not None and 0 < said <= most else None


def _approach(notes: Notes) -> Approach:
    thinking, limits, chosen = notes.thinker, notes.constraint_analyzer, notes.algorithm_selector
    parts = notes.task_decomposer
    return Approach(
        category=chosen.category,
        nature=thinking.nature,
        observations=chosen.observations,
        insights=thinking.insights,
        traps=thinking.traps,
        considered=thinking.considered,
        questions=thinking.questions,
        strategy=(parts.strategy if parts else "") or thinking.summary,
        choices=chosen.choices,
        reasoning=tuple(t for t in (limits.reasoning, *chosen.reasoning) if t.strip()),
        features=limits.features,
        cost=notes.cost,
    )


def _invariant(form: Form, text: str) -> Clause:
    """Read an invariant; of a program's output, which is text, only the sentence is kept."""
    return (
        read_clause(text, {RESULT}) if isinstance(form, FunctionForm) else Clause(text=text.strip())
    )
