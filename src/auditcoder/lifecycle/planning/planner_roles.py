"""The roles of the staged planner, the types of their answers, and the brief made from them.

The schemas that the model reads are files of the prompts (`answer_schema`).
"""

import ast
from enum import Enum
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from auditcoder.domain.brief import (
    AlgorithmCandidate,
    AlgorithmChoice,
    Approach,
    Brief,
    DataRange,
    Parsed,
    Trap,
)
from auditcoder.domain.contract import CostBudget, Param
from auditcoder.domain.python_names import LITERAL_ERRORS, expression
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
from auditcoder.lifecycle.planning.contract_parser import read_cost, read_kind
from auditcoder.lifecycle.planning.plan import brief_for
from auditcoder.lifecycle.response_formats import FormatMismatch, JsonValue
from auditcoder.prompts import answer_schema

FEWEST_CASES = 3
_MAX_CASES = 10
_MAX_SECONDS = 3600
_MAX_MEGABYTES = 1_000_000


class Role(Enum):
    """The roles in the order in which they are asked; the value names the prompt."""

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
"""The roles that the reviewer may send a plan back to; empty for none."""


class RoleReply(Value, forbid_unknown_fields=False):
    """Base class of the roles' answers. Unknown fields are ignored."""


class PlannedCase(RoleReply):
    """One test with input and output as plain text."""

    input: str = ""
    expected_output: str = ""
    description: str = ""


class Parsing(RoleReply):
    """The limits and samples as stated; None for limits that the statement does not give."""

    time_limit_seconds: float | None = None
    memory_limit_mb: float | None = None
    data_ranges: tuple[DataRange, ...] = ()
    sample_cases: tuple[PlannedCase, ...] = ()


class Thinking(RoleReply):
    """The thinker's analysis of the problem, before algorithms are selected."""

    traps: tuple[Trap, ...] = ()
    insights: tuple[str, ...] = ()
    considered: tuple[AlgorithmCandidate, ...] = ()
    assumptions: tuple[str, ...] = ()
    """What the statement leaves open, and how it is settled."""
    summary: str = ""


class Constraints(RoleReply):
    """The time and space costs that the limits allow."""

    time: str = ""
    space: str = ""
    features: tuple[str, ...] = ()
    reasoning: str = ""


class ChosenAlgorithm(RoleReply):
    """One selected algorithm and its subtask."""

    algorithm: str
    subtask: str = ""
    reason: str = ""


class Selection(RoleReply):
    """The selected algorithms and the reasoning for them."""

    observations: tuple[str, ...] = ()
    choices: tuple[ChosenAlgorithm, ...] = ()
    reasoning: tuple[str, ...] = ()


class PartInput(RoleReply):
    """An input of a part; its source is None or "label.output"."""

    name: str
    type: str = ""
    source: str | None = None


class Output(RoleReply):
    """An output of a part."""

    name: str
    type: str = ""


class PlannedPart(RoleReply):
    """One part of the program, which becomes a node."""

    label: str
    goal: str
    kind: str = ""
    parent: str | None = None
    dependencies: tuple[str, ...] = ()
    inputs: tuple[PartInput, ...] = ()
    outputs: tuple[Output, ...] = ()
    hints: tuple[str, ...] = ()
    cost: str = ""
    context: str = ""


class Decomposition(RoleReply):
    """The parts of the program and the reason for their number."""

    strategy: str = ""
    why: str = ""
    parts: tuple[PlannedPart, ...] = ()


class Interface(RoleReply):
    """The function of one part."""

    label: str
    name: str
    params: tuple[Param, ...] = ()
    returns: str = ""
    returns_description: str = ""
    requires: tuple[str, ...] = ()
    ensures: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class Interfaces(RoleReply):
    """One interface for each part."""

    interfaces: tuple[Interface, ...] = ()


class PlannedCases(RoleReply):
    """Test cases of the whole program."""

    edge_cases: tuple[PlannedCase, ...] = ()


class PlanOpinion(RoleReply):
    """The reviewer's verdict on a plan."""

    status: Literal["pass", "fail"] = "pass"
    issues: tuple[str, ...] = ()
    retry_target: Retry = ""
    reason: str = ""


class PlanningNotes(NamedTuple):
    """The latest answer of each role, under the name of the role; empty if there is none yet."""

    parser: Parsing = Parsing()
    thinker: Thinking = Thinking()
    constraint_analyzer: Constraints = Constraints()
    algorithm_selector: Selection = Selection()
    task_decomposer: Decomposition | None = None
    interface_designer: Interfaces | None = None
    test_case_analyzer: PlannedCases = PlannedCases()

    @property
    def cost(self) -> CostBudget:
        """The whole program's cost targets."""
        answer = self.constraint_analyzer
        space = read_cost((answer.space,)).time
        return CostBudget(time=read_cost((answer.time,)).time, space=space)


class EnoughCases:
    """The response format of the test-case analyzer, which refuses too few edge cases once."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._inner = JsonValue(PlannedCases, answer_schema(Role.TEST_CASE_ANALYZER.value))
        self.schema = self._inner.schema
        self.found: PlannedCases | None = None
        """The latest answer that was valid JSON; None if there was none."""

    def instruction(self) -> str:
        """Return the instruction that shows the schema."""
        return self._inner.instruction()

    def read(self, reply: Reply) -> PlannedCases:
        """Return the cases; raise FormatMismatch the first time if they are too few."""
        tests, before = self._inner.read(reply), self.found
        usable = len(examples_of(self._form, tests.edge_cases))
        self.found = tests
        if has_data(self._form) and before is None and usable < FEWEST_CASES:
            raise FormatMismatch(
                f"{usable} of its {len(tests.edge_cases)} edge cases can be used;"
                f" give at least {FEWEST_CASES}, each with an input and an expected output"
            )
        return tests


def has_data(form: Form) -> bool:
    """Whether a test of such a task consists of a textual input and output."""
    return isinstance(form, ProgramForm | FunctionForm)


def examples_of(form: Form, cases: tuple[PlannedCase, ...]) -> tuple[tuple[Example, str], ...]:
    """Return the usable cases as examples of the task's form, each with its description.

    Only the first case of an input is kept.
    """
    examples: dict[str, tuple[Example, str]] = {}
    for case in cases:
        match form:
            case ProgramForm() if case.expected_output.strip():
                example = StdioExample(
                    input=_with_line_ending(case.input),
                    output=_with_line_ending(case.expected_output),
                )
                examples.setdefault(example.input, (example, case.description))
            case FunctionForm(entry=entry) if call := _call(entry, case):
                examples.setdefault(call.arguments, (call, case.description))
            case _:
                pass  # not usable as an example
    return tuple(examples.values())[:_MAX_CASES]


def _with_line_ending(text: str) -> str:
    return text.rstrip("\n") + "\n" if text.strip() else ""


def _call(entry: str, case: PlannedCase) -> CallExample | None:
    """Parse a call of `entry`, or only its arguments; None unless all values are literals."""
    text = case.input.strip()
    try:
        call = expression(text if text.startswith(f"{entry}(") else f"{entry}({text})")
        result = expression(case.expected_output)
        match call:
            case ast.Call(func=ast.Name(), args=args, keywords=named) if all(k.arg for k in named):
                for value in (*args, *(keyword.value for keyword in named), result):
                    ast.literal_eval(value)
                if _has_ellipsis(call) or _has_ellipsis(result):
                    return None
                arguments = ast.unparse(call)[len(entry) + 1 : -1]
                return CallExample(arguments=arguments, result=ast.unparse(result))
            case _:
                return None
    except LITERAL_ERRORS:
        return None


def _has_ellipsis(tree: ast.AST) -> bool:
    """Whether an expression contains an ellipsis, which models write for omitted values."""
    return any(isinstance(n, ast.Constant) and n.value is ... for n in ast.walk(tree))


def staged_brief(task: Task, notes: PlanningNotes) -> Brief:
    """Return the brief from the answers of the roles; facts of the task take precedence."""
    cases = notes.test_case_analyzer.edge_cases
    samples = () if task.examples else notes.parser.sample_cases
    brief = brief_for(task, _approach(notes), examples_of(task.form, samples + cases))
    return msgspec.structs.replace(brief, parsed=parsed_of(task, notes.parser))


def parsed_of(task: Task, parsing: Parsing) -> Parsed:
    """Return P: the facts of the task, completed by the answer of the parser."""
    megabytes = _plausible(parsing.memory_limit_mb, _MAX_MEGABYTES)
    seconds = _plausible(parsing.time_limit_seconds, _MAX_SECONDS)
    given = task.limits
    return Parsed(
        title=task.title,
        limits=Limits(
            seconds=seconds if given.seconds is None else given.seconds,
            memory_mb=(int(megabytes) if megabytes else None)
            if given.memory_mb is None
            else given.memory_mb,
        ),
        ranges=tuple(r for r in parsing.data_ranges if r.variable.strip()),
        samples=task.examples or tuple(e for e, _ in examples_of(task.form, parsing.sample_cases)),
    )


def _plausible(limit: float | None, maximum: float) -> float | None:
    """Return a limit if it is plausible, else None; models may answer zero or absurd values."""
    return limit if limit is not None and 0 < limit <= maximum else None


def _approach(notes: PlanningNotes) -> Approach:
    thinking, limits, chosen = notes.thinker, notes.constraint_analyzer, notes.algorithm_selector
    parts = notes.task_decomposer
    return Approach(
        observations=chosen.observations,
        insights=thinking.insights,
        traps=thinking.traps,
        considered=thinking.considered,
        strategy=(parts.strategy if parts else "") or thinking.summary,
        choices=tuple(
            AlgorithmChoice(
                algorithm=choice.algorithm,
                agent=f"agent_{read_kind((choice.algorithm,)).value}",
                subtask=choice.subtask,
                reason=choice.reason,
            )
            for choice in chosen.choices
        ),
        reasoning=tuple(t for t in (limits.reasoning, *chosen.reasoning) if t.strip()),
        assumptions=thinking.assumptions,
        features=limits.features,
        cost=notes.cost,
    )
