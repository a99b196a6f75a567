"""The staged planner: eight roles answer in turn, and after a failed review some answer again.

Models name parts and functions; ids, order and validity are decided here. The graph needs the
answers of the decomposer and the interface designer. If another role gives no usable answer,
planning continues without it. A role whose request would be the same as before is not asked again.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from auditcoder.domain.brief import Brief
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.task import Form, FunctionForm, ProgramForm, Task
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import encode
from auditcoder.lifecycle import token_limits
from auditcoder.lifecycle.model_client import why
from auditcoder.lifecycle.planning.contract_parser import read_kind
from auditcoder.lifecycle.planning.plan import Plan, single
from auditcoder.lifecycle.planning.plan_review import (
    Objection,
    ReviewFinding,
    cost_findings,
    coverage_findings,
    objection,
    problem_findings,
    reasoning_findings,
)
from auditcoder.lifecycle.planning.planner_roles import (
    Constraints,
    Decomposition,
    EnoughCases,
    Interfaces,
    Parsing,
    PlanningNotes,
    PlanOpinion,
    Role,
    RoleReply,
    Selection,
    Thinking,
    examples_of,
    has_data,
    staged_brief,
)
from auditcoder.lifecycle.planning.staged_graph import Outline, names_around, outlined
from auditcoder.lifecycle.response_formats import JsonValue, ResponseFormat
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.task_forms import RootFunction, root_of
from auditcoder.lifecycle.token_limits import ReplySize
from auditcoder.prompts import answer_schema

PLANNER = "staged"
MOST_ROUNDS = 2
"""Maximum number of times that a plan is sent back."""


class _Step(NamedTuple):
    """The request to one role."""

    role: Role
    answer: type[RoleReply] | None
    """The type of the answer; None for the test-case analyzer, which uses EnoughCases."""
    size: ReplySize
    heading: str
    """The heading of the answer in the requests to later roles."""


_STEPS = (
    _Step(Role.PARSER, Parsing, token_limits.PROBLEM_PARSING, "Limits and ranges"),
    _Step(Role.THINKER, Thinking, token_limits.THINKING, "Thoughts"),
    _Step(Role.CONSTRAINT_ANALYZER, Constraints, token_limits.CONSTRAINTS, "What the limits allow"),
    _Step(Role.ALGORITHM_SELECTOR, Selection, token_limits.ALGORITHMS, "The algorithms"),
    _Step(Role.TASK_DECOMPOSER, Decomposition, token_limits.DECOMPOSITION, "The parts"),
    _Step(Role.INTERFACE_DESIGNER, Interfaces, token_limits.INTERFACES, "The functions"),
    _Step(Role.TEST_CASE_ANALYZER, None, token_limits.TEST_CASES, "The tests"),
)


class _Round(NamedTuple):
    """A reviewed plan, and the objections to it."""

    notes: PlanningNotes
    outline: Outline
    objected: Objection


def plan(context: RunContext) -> Plan:
    """Ask the roles until the plan passes or MOST_ROUNDS is reached; return the best plan."""
    root = root_of(context.task)
    notes, objected = PlanningNotes(), Objection(target=Role.PARSER)
    best: _Round | None = None
    asked: _Asked = {role: [] for role in Role}
    for _ in range(1 + MOST_ROUNDS):
        try:
            notes, decomposition, interfaces = _ask_roles(context, root, notes, objected, asked)
        except _NoAnswer as missing:
            reason = f"one node, because no plan could be used: {missing}"
            return _one_node(context, root, staged_brief(context.task, missing.notes), reason)
        outline = outlined(root, decomposition, interfaces, notes.cost)
        findings = _findings(context, notes, outline)
        told = _review_variables(notes, findings)
        if told in asked[Role.PLAN_REVIEWER]:
            break  # this plan was reviewed already
        asked[Role.PLAN_REVIEWER].append(told)
        objected = objection(findings, _opinion(context, told))
        # A usable plan is not replaced by a later one that cannot be used.
        if best is None or outline.usable or not best.outline.usable:
            best = _Round(notes, outline, objected)
        if objected.target is None:
            break
    assert best is not None
    return _final_plan(context, root, best)


_Asked: TypeAlias = dict[Role, list[dict[str, str]]]
"""The variables of all requests to each role."""


class _NoAnswer(Exception):
    """A role that planning depends on gave no usable answer."""

    def __init__(self, notes: PlanningNotes, unusable: ReplyUnusable) -> None:
        super().__init__(why(unusable))
        self.notes = notes


def _ask_roles(
    context: RunContext,
    root: RootFunction,
    notes: PlanningNotes,
    objected: Objection,
    asked: _Asked,
) -> tuple[PlanningNotes, Decomposition, Interfaces]:
    """Ask every role from the target on; keep the earlier answer if a new one is unusable.

    It is also kept if the request would be the same as an earlier one, which `asked` holds.
    """
    before = [step.role for step in _STEPS].index(objected.target or Role.PARSER)
    for step in _STEPS[before:]:
        name = step.role.value
        values = _variables(context.task, root, notes, step.role, objected.told)
        if values in asked[step.role]:
            continue
        asked[step.role].append(values)
        shape: ResponseFormat[Any] = (
            JsonValue(step.answer, answer_schema(name))
            if step.answer
            else EnoughCases(context.task.form)
        )
        try:
            answer = context.ask(
                name,
                shape,
                Phase.PLANNING,
                step.size,
                role=name,
                node=None,
                statement=context.statement,
                **values,
            ).value
        except ReplyUnusable as unusable:
            answer = shape.found if isinstance(shape, EnoughCases) else None
            answer = answer or getattr(notes, name)
            if answer is None:
                raise _NoAnswer(notes, unusable) from unusable
        notes = notes._replace(**{name: answer})
    assert notes.task_decomposer is not None
    assert notes.interface_designer is not None
    return notes, notes.task_decomposer, notes.interface_designer


def _variables(
    task: Task,
    root: RootFunction,
    notes: PlanningNotes,
    role: Role,
    told: Mapping[Role, tuple[str, ...]],
) -> dict[str, str]:
    """Return the variables of a role's prompt, without the statement."""
    if role is Role.PARSER:
        known = "an empty list; the samples are known."
        copied = "every sample of the task, copied character by character; or an empty list."
        return {"samples": known if task.examples else copied}
    # Tests must be independent of the plan, so the test-case analyzer does not see it.
    seen = Role.THINKER if role is Role.TEST_CASE_ANALYZER else role
    values = {"found": _earlier_answers(notes, seen)}
    if role is Role.THINKER:
        return values
    values["feedback"] = _feedback(getattr(notes, role.value), told.get(role, ()))
    match role:
        case Role.TASK_DECOMPOSER:
            values["root"] = root.asked
        case Role.INTERFACE_DESIGNER:
            also = "" if root.fixed else f", and one labelled `root` for `{root.asked}` itself"
            taken = sorted({root.contract.name, *names_around(root)})
            values |= {"root": also, "taken": ", ".join(taken)}
        case Role.TEST_CASE_ANALYZER:
            values |= {"form": _how_to_test(task.form)}
        case _:
            pass
    return values


def _earlier_answers(notes: PlanningNotes, role: Role) -> str:
    """Return the answers of the roles before `role`.

    The text for each role extends the one for the role before it, so that a server can reuse its
    prefix cache.
    """
    text = ""
    for step in _STEPS:
        if step.role is role:
            break
        answer: RoleReply = getattr(notes, step.role.value)
        if isinstance(answer, Parsing):  # the statement, right above, has the samples
            answer = msgspec.structs.replace(answer, sample_cases=())
        shown = encode(answer).decode()
        text += f"# {step.heading}\n{shown}\n\n" if shown != "{}" else ""
    return text


def _feedback(last: RoleReply | None, issues: tuple[str, ...]) -> str:
    """Return the role's last answer with the objections to it; empty if there are none."""
    if not issues or last is None:
        return ""
    listed = "\n".join(f"- {issue}" for issue in issues)
    said = encode(last).decode()
    return f"\n\nYour last answer was:\n{said}\nA review found:\n{listed}\nAnswer again, mended."


def _how_to_test(form: Form) -> str:
    match form:
        case FunctionForm(entry=entry):
            return (
                f"`input` is what stands between the parentheses of a call of `{entry}`, as Python"
                " literals, such as `[1, 2], 3`; `expected_output` is the result as one Python"
                " literal."
            )
        case ProgramForm():
            return (
                "`input` is all that the program reads from standard input; `expected_output` is"
                " all that it prints."
            )
        case _:
            return "`input` is what the input files hold; `expected_output` is what is left."


def _findings(
    context: RunContext, notes: PlanningNotes, outline: Outline
) -> tuple[ReviewFinding, ...]:
    """Return the findings of the nine checks; building the outline has made five of them."""
    task, tests = context.task, notes.test_case_analyzer
    brief = staged_brief(task, notes)
    findings = [
        *problem_findings(brief.parsed),
        *outline.findings,
        *cost_findings(notes.cost, outline.costs),
        *reasoning_findings(notes.algorithm_selector.reasoning),
    ]
    if has_data(task.form):
        samples = len(brief.parsed.samples)
        findings += coverage_findings(samples, len(examples_of(task.form, tests.edge_cases)))
    return tuple(findings)


def _review_variables(notes: PlanningNotes, findings: tuple[ReviewFinding, ...]) -> dict[str, str]:
    listed = "\n".join(f"- {f.check.value}: {f.text}" for f in findings)
    return {
        "found": _earlier_answers(notes, Role.PLAN_REVIEWER),
        "findings": listed or "- nothing was found",
    }


def _opinion(context: RunContext, values: dict[str, str]) -> PlanOpinion:
    """Ask the reviewer; an unusable answer counts as no objection."""
    name = Role.PLAN_REVIEWER.value
    try:
        return context.ask(
            name,
            JsonValue(PlanOpinion, answer_schema(name)),
            Phase.PLANNING,
            token_limits.PLAN_REVIEW,
            role=name,
            node=None,
            statement=context.statement,
            **values,
        ).value
    except ReplyUnusable:
        return PlanOpinion()


def _final_plan(context: RunContext, root: RootFunction, best: _Round) -> Plan:
    """Return the plan, even with open objections, if it is valid; else a plan with one node."""
    notes, outline, objected = best
    brief = staged_brief(context.task, notes)
    parts = notes.task_decomposer
    why = (parts.why.strip() if parts else "") or "so the decomposer has it"
    open_objections = (
        f"; the reviewer still objected: {'; '.join(objected.texts)}" if objected.texts else ""
    )
    if outline.only is not None:
        return _one_node(context, root, brief, f"one node: {why}{open_objections}", outline)
    if outline.graph is None:
        reason = f"one node, because no plan could be used: {'; '.join(objected.texts)}"
        return _one_node(context, root, brief, reason, outline)
    granularity = f"{len(outline.parts)} nodes: {why}{open_objections}"
    return Plan(brief, outline.graph, PLANNER, granularity, given={})


def _one_node(
    context: RunContext,
    root: RootFunction,
    brief: Brief,
    reason: str,
    outline: Outline | None = None,
) -> Plan:
    """Return a plan with one node; goal, kind and hints are those of the only part, if any."""
    alone = single(context.task, root, reason, PLANNER, outline.root if outline else None)
    part = outline.only if outline else None
    if part is None:
        return alone._replace(brief=brief)
    top, node = alone.graph.nodes
    node = msgspec.structs.replace(
        node,
        goal=part.goal.strip() or node.goal,
        kind=read_kind((part.kind,)),
        hints=part.hints,
        context=part.context,
    )
    graph = msgspec.structs.replace(alone.graph, nodes=(top, node))
    return alone._replace(brief=brief, graph=graph)
