"""The staged planner: eight roles in turn, a review in code, and a way back where it fails.

Models name parts and functions; ids, order and validity are ours. Two roles make the graph. The
others inform it: without a usable answer of theirs, planning goes on with what is known.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from auditcoder.domain.brief import Brief
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.task import Form, FunctionForm, ProgramForm
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import encode
from auditcoder.lifecycle.asking import why
from auditcoder.lifecycle.forms import Root, root_of
from auditcoder.lifecycle.planning.outlining import Outline, names_around, outlined
from auditcoder.lifecycle.planning.plan import Plan, single
from auditcoder.lifecycle.planning.promises import read_kind
from auditcoder.lifecycle.planning.review import (
    Finding,
    Objection,
    cost_findings,
    coverage_findings,
    objection,
    problem_findings,
    reasoning_findings,
)
from auditcoder.lifecycle.planning.roles import (
    Constraints,
    Decomposition,
    EnoughCases,
    Interfaces,
    Notes,
    Opinion,
    Parsing,
    Role,
    Said,
    Selection,
    Thinking,
    examples_of,
    has_data,
    staged_brief,
)
from auditcoder.lifecycle.shapes import Shape, Structured
from auditcoder.lifecycle.workshop import Workshop

PLANNER = "staged"
MOST_ROUNDS = 2
"""How often a plan that does not pass is sent back."""
_REVIEW_TOKENS = 400


class _Step(NamedTuple):
    """One role's turn."""

    role: Role
    answer: type[Said] | None
    """None for the role whose answers are counted."""
    max_tokens: int
    heading: str
    """Under which later roles read the answer."""


_STEPS = (
    _Step(Role.PARSER, Parsing, 600, "The problem in short"),
    _Step(Role.THINKER, Thinking, 800, "Thoughts"),
    _Step(Role.CONSTRAINT_ANALYZER, Constraints, 400, "What the limits allow"),
    _Step(Role.ALGORITHM_SELECTOR, Selection, 700, "The algorithms"),
    _Step(Role.TASK_DECOMPOSER, Decomposition, 1400, "The parts"),
    _Step(Role.INTERFACE_DESIGNER, Interfaces, 1400, "The functions"),
    _Step(Role.TEST_CASE_ANALYZER, None, 900, "The tests"),
)


class _Round(NamedTuple):
    """A plan as it came to review, and what the review held against it."""

    notes: Notes
    outline: Outline
    objected: Objection


def plan(workshop: Workshop) -> Plan:
    """Ask the roles until their plan passes or has been sent back often enough; plan anyway."""
    root = root_of(workshop.task)
    notes, objected = Notes(), Objection(target=Role.PARSER)
    best: _Round | None = None
    for _ in range(1 + MOST_ROUNDS):
        try:
            notes, made, wanted = _asked(workshop, root, notes, objected)
        except _NoAnswer as none:
            reason = f"one node, because no plan could be used: {none}"
            return _one_node(workshop, root, staged_brief(workshop.task, none.notes), reason)
        outline = outlined(root, made, wanted, notes.cost)
        findings = _findings(workshop, notes, outline)
        objected = objection(findings, _opinion(workshop, notes, findings))
        # A plan that was sent back for little must not be lost to one that cannot be used.
        if best is None or outline.usable or not best.outline.usable:
            best = _Round(notes, outline, objected)
        if objected.target is None:
            break
    assert best is not None
    return _settled(workshop, root, best)


class _NoAnswer(Exception):
    """A role without which there is no plan gave no usable answer."""

    def __init__(self, notes: Notes, unusable: ReplyUnusable) -> None:
        super().__init__(why(unusable))
        self.notes = notes


def _asked(
    workshop: Workshop, root: Root, notes: Notes, objected: Objection
) -> tuple[Notes, Decomposition, Interfaces]:
    """Ask every role from the objection's target on; an unusable answer leaves the one before."""
    before = [step.role for step in _STEPS].index(objected.target or Role.PARSER)
    for step in _STEPS[before:]:
        shape: Shape[Any] = (
            Structured(step.answer) if step.answer else EnoughCases(workshop.task.form)
        )
        name = step.role.value
        try:
            answer = workshop.ask(
                name,
                shape,
                Phase.PLANNING,
                step.max_tokens,
                role=name,
                node=None,
                statement=workshop.statement,
                **_variables(workshop.task.form, root, notes, step.role, objected.told),
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
    form: Form, root: Root, notes: Notes, role: Role, told: Mapping[Role, tuple[str, ...]]
) -> dict[str, str]:
    """Return what a role's prompt asks for beside the statement."""
    if role is Role.PARSER:
        return {}
    # Tests are to be independent of the plan: whoever writes them does not see it.
    seen = Role.THINKER if role is Role.TEST_CASE_ANALYZER else role
    values = {"found": _found(notes, seen)}
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
            values |= {"form": _how_to_test(form)}
        case _:
            pass
    return values


def _found(notes: Notes, role: Role) -> str:
    """Write what the roles before `role` found.

    Each text begins with the one before it, so that a server has read most of it already.
    """
    text = ""
    for step in _STEPS:
        if step.role is role:
            break
        answer: Said = getattr(notes, step.role.value)
        if isinstance(answer, Parsing):  # the statement, right above, has the samples
            answer = msgspec.structs.replace(answer, sample_cases=())
        said = encode(answer).decode()
        text += f"# {step.heading}\n{said}\n\n" if said != "{}" else ""
    return text


def _feedback(last: Said | None, issues: tuple[str, ...]) -> str:
    """Write what a review held against a role's last answer."""
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


def _findings(workshop: Workshop, notes: Notes, outline: Outline) -> tuple[Finding, ...]:
    """Make the nine checks; five of them were made while the outline was put together."""
    task, tests = workshop.task, notes.test_case_analyzer
    brief = staged_brief(task, notes)
    found = [
        *problem_findings(brief.parsed),
        *outline.findings,
        *cost_findings(notes.cost, outline.costs),
        *reasoning_findings(notes.algorithm_selector.reasoning),
    ]
    if has_data(task.form):
        samples = len(task.examples) + len(examples_of(task.form, tests.samples))
        found += coverage_findings(samples, len(examples_of(task.form, tests.edge_cases)))
    return tuple(found)


def _opinion(workshop: Workshop, notes: Notes, findings: tuple[Finding, ...]) -> Opinion:
    """Ask the reviewer; one that gives no usable answer objects to nothing."""
    listed = "\n".join(f"- {f.check.value}: {f.text}" for f in findings)
    name = Role.PLAN_REVIEWER.value
    try:
        return workshop.ask(
            name,
            Structured(Opinion),
            Phase.PLANNING,
            _REVIEW_TOKENS,
            role=name,
            statement=workshop.statement,
            found=_found(notes, Role.PLAN_REVIEWER),
            findings=listed or "- nothing was found",
        ).value
    except ReplyUnusable:
        return Opinion()


def _settled(workshop: Workshop, root: Root, best: _Round) -> Plan:
    """Return the plan if it can be committed, whatever is still held against it; else one node."""
    notes, outline, objected = best
    brief = staged_brief(workshop.task, notes)
    said = notes.task_decomposer
    why = (said.why.strip() if said else "") or "so the decomposer has it"
    still = f"; the reviewer still objected: {'; '.join(objected.texts)}" if objected.texts else ""
    if outline.only is not None:
        return _one_node(workshop, root, brief, f"one node: {why}{still}", outline)
    if outline.graph is None:
        reason = f"one node, because no plan could be used: {'; '.join(objected.texts)}"
        return _one_node(workshop, root, brief, reason, outline)
    granularity = f"{len(outline.parts)} nodes: {why}{still}"
    return Plan(brief, outline.graph, PLANNER, granularity, given={})


def _one_node(
    workshop: Workshop, root: Root, brief: Brief, reason: str, outline: Outline | None = None
) -> Plan:
    """Plan one node under the root's contract, with what is known of the one part, if it is one."""
    alone = single(workshop.task, root, reason, PLANNER, outline.root if outline else None)
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
