"""Edge cases: checks of the whole program that a model names before any code exists.

They are asked for once, without the sketch, and become generated checks of the brief.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from auditcoder.domain.brief import PlannedCheck
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import Trust
from auditcoder.domain.python_names import PARSE_ERRORS, expression
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.domain.task import Example, FunctionForm, ProgramForm, Task
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, whole
from auditcoder.lifecycle.options import AutoSwitch, Planner
from auditcoder.lifecycle.planning.contract_parser import call_example
from auditcoder.lifecycle.planning.plan import Plan
from auditcoder.lifecycle.planning.sketch_planner import as_stdio
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.token_limits import EDGE_CASES
from auditcoder.lifecycle.validation.contradicted_checks import same_answer, same_input

PREFIX = "edge-"
MOST = 4
_MAX_LINE = 2000
_MAX_REASON = 300
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_ARROW = re.compile(r"\)\s*(?:->|=>|→)\s*")
_PROGRAM_FORM = (
    "solve('3\\n1 2 2') == '2'  # of several, print the smallest\n"
    "Here the argument of `solve` is the whole standard input, and its result the whole output."
)


def with_edge_cases(context: RunContext, plan: Plan) -> Plan:
    """Return the plan with the edge cases of a model among its checks, if they are asked for."""
    options, form = context.options, context.task.form
    wanted = options.edge_cases is AutoSwitch.ON and options.planner is not Planner.STAGED
    if not wanted or not isinstance(form, FunctionForm | ProgramForm):
        return plan
    try:
        cases = context.ask(
            "edge_cases",
            CaseLines(context.task),
            Phase.PLANNING,
            EDGE_CASES,
            role="edge-case analyst",
            statement=context.statement,
            most=str(MOST),
            form=_form(context.task),
        ).value
    except ReplyUnusable:
        return plan
    requirements = plan.brief.requirements
    # A case that contradicts an example of the task is kept, so that its removal is recorded.
    checks = requirements.checks
    derived = (c.example for c in checks if c.trust is not Trust.GENERATED)
    given = (*context.task.examples, *derived)
    new = (c for c in cases if not any(same_input(c, g) and same_answer(c, g) for g in given))
    known = [c.example for c in checks if c.trust is Trust.GENERATED]
    planned = replace(requirements, checks=(*checks, *_planned(new, known)))
    return plan._replace(brief=replace(plan.brief, requirements=planned))


def _planned(cases: Iterable[Example], known: list[Example]) -> Iterator[PlannedCheck]:
    """Yield a check for every case whose input no earlier check has."""
    number = 0
    for case in cases:
        if number < MOST and not any(same_input(case, other) for other in known):
            known.append(case)
            number += 1
            yield PlannedCheck(
                id=CheckId(f"{PREFIX}{number}"),
                trust=Trust.GENERATED,
                example=replace(case, explanation=""),
                description=case.explanation,
            )


def _form(task: Task) -> str:
    if isinstance(task.form, FunctionForm):
        return f"{task.form.entry}(...) == ...  # of several, return the smallest"
    return _PROGRAM_FORM


class CaseLines:
    """One case on each line: a call, its result and a reason. Other lines are skipped."""

    schema = ""

    def __init__(self, task: Task) -> None:
        self._form = task.form

    def instruction(self) -> str:
        """Return no instruction: the prompt shows the form of a line."""
        return ""

    def read(self, reply: Reply) -> tuple[Example, ...]:
        """Return the cases, without a last line that was cut off; there may be none."""
        lines = reply.text.splitlines()
        if reply.finish is not FinishReason.STOP:
            lines = lines[:-1]
        return tuple(case for line in lines if (case := self._case(line)))

    def _case(self, line: str) -> Example | None:
        text = _BULLET.sub("", line).strip()
        if text.startswith("`"):
            code, _, rest = text[1:].partition("`")
            text = f"{code}  #{rest}"
        name = self._form.entry if isinstance(self._form, FunctionForm) else "solve"
        if len(line) > _MAX_LINE or not text.startswith(f"{name}("):
            return None
        text = text if "==" in text else _ARROW.sub(") == ", text, count=1)
        call = call_example(text, name)
        case = call and (call if isinstance(self._form, FunctionForm) else as_stdio(call))
        return case and replace(case, explanation=_reason(text))


def _reason(text: str) -> str:
    """Return the comment after an expression."""
    try:
        end = expression(text).end_col_offset or 0
    except PARSE_ERRORS:
        return ""
    return whole(text.encode()[end:].decode("utf-8", "replace").strip(" #"))[:_MAX_REASON]
