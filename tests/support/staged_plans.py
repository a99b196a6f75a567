"""The staged planner with scripted answers: one good answer for each role, and a session."""

import json
from collections.abc import Callable
from typing import Any, cast

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import BriefCommitted, GraphCommitted
from auditcoder.domain.graph import (
    graph_faults,
    order_faults,
)
from auditcoder.domain.request import FREE, Request
from auditcoder.domain.task import (
    CallExample,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.budget import Budget, BudgetLedger
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.model_client import ModelClient
from auditcoder.lifecycle.options import Planner
from auditcoder.lifecycle.planning.plan import Plan
from auditcoder.lifecycle.planning.planner_roles import Role
from auditcoder.lifecycle.planning.staged_planner import plan
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.prompts import load
from tests.support.record_builders import RUN, ticking
from tests.support.sketched_runs import sketching

TASK = Task(
    title="Above the mean",
    statement="Read numbers, print how many distinct ones are above their mean.",
    form=ProgramForm(),
    examples=(StdioExample(input="1 2 9 9\n", output="1\n"),),
    limits=Limits(seconds=20.0),
)
FUNCTION = Task(
    title="Count above the mean",
    statement="Write above(values) that counts the distinct values above their mean.",
    form=FunctionForm(entry="above", signature="def above(values: list[int]) -> int"),
    examples=(CallExample(arguments="[1, 2, 9, 9]", result="1"),),
)

Answer = dict[str, Any] | str
Answers = dict[Role, Answer | list[Answer] | Callable[[Request], Answer]]


def case(given_in: str, out: str, about: str = "an edge") -> dict[str, str]:
    """Return a test case as the test-case analyzer writes it."""
    return {"input": given_in, "expected_output": out, "description": about}


def part(label: str, parent: str | None = None, **fields: object) -> dict[str, Any]:
    """Return a part as the task decomposer writes it."""
    return {
        "label": label,
        "goal": f"Do {label}",
        "kind": "math",
        "parent": parent,
        "cost": "O(n)",
        "outputs": [{"name": "out", "type": "int"}],
        **fields,
    }


def value(name: str, source: str | None = None) -> dict[str, Any]:
    """Return an input of a part."""
    return {"name": name, "type": "int", "source": source}


def interface(label: str, name: str = "", *params: str, **fields: object) -> dict[str, Any]:
    """Return an interface as the interface designer writes it."""
    return {
        "label": label,
        "name": name or f"do_{label}",
        "params": [{"name": p, "type": "int"} for p in params],
        "returns": "int",
        "requires": ["always"],
        "ensures": ["result >= 0"],
        **fields,
    }


PARTS: dict[str, Any] = {
    "strategy": "Parse, then count above the mean.",
    "why": "each can be tested alone",
    "parts": [
        part("read", kind="string", inputs=[value("data")]),
        part("count", inputs=[value("values", "read.out")], hints=["use a set"]),
        part("mean", "count", inputs=[value("values")]),
    ],
}
INTERFACES: dict[str, Any] = {
    "interfaces": [
        interface("read", "read_values", "data", examples=["read_values(1) == 1"]),
        interface("count", "count_above", "values"),
        interface("mean", "mean_of", "values", ensures=["result is the mean", "result >= values"]),
    ]
}
GOOD: dict[Role, dict[str, Any]] = {
    Role.PARSER: {
        "time_limit_seconds": 9,
        "memory_limit_mb": 256,
        "data_ranges": [{"variable": "n", "minimum": 1, "maximum": 1000}],
        "sample_cases": [case("7", "0")],
    },
    Role.THINKER: {
        "traps": [{"trap": "pairs", "why": "too slow"}],
        "insights": ["the mean is one pass"],
        "considered": [{"family": "counting"}],
        "assumptions": ["empty counts as 0"],
        "summary": "One pass.",
    },
    Role.CONSTRAINT_ANALYZER: {
        "time": "O(n log n)",
        "space": "O(n)",
        "features": ["small"],
        "reasoning": "n is small",
    },
    Role.ALGORITHM_SELECTOR: {
        "observations": ["a set is enough"],
        "choices": [{"algorithm": "math"}],
        "reasoning": ["a mean", "a set"],
    },
    Role.TASK_DECOMPOSER: PARTS,
    Role.INTERFACE_DESIGNER: INTERFACES,
    Role.TEST_CASE_ANALYZER: {
        "edge_cases": [case("1", "0", "one"), case("2 2", "0", "equal"), case("-1 1", "1", "sign")],
    },
    Role.PLAN_REVIEWER: {"status": "pass"},
}
_ROLES = {load(role.value).digest: role for role in Role}


class PlanningSession:
    """The staged planner with a scripted model that answers by role, and a record in memory."""

    def __init__(
        self, task: Task = TASK, answers: Answers | None = None, budget: Budget | None = None
    ) -> None:
        self._answers: Answers = {**GOOD, **(answers or {})}
        self._turns = dict.fromkeys(Role, 0)
        self.task = task
        self.model = ScriptedModel([self._answer] * 200)
        self.store = SqliteStore(":memory:")
        self.recorder = Recorder.start(self.store, RUN, task, ticking())
        client = ModelClient(self.model, self.recorder, BudgetLedger(budget or Budget(), FREE))
        options = sketching(planner=Planner.STAGED)
        self.context = RunContext(task, options, self.recorder, client, cast("Sandbox", None))

    def _answer(self, request: Request) -> str:
        assert request.prompt is not None
        role = _ROLES[request.prompt]
        answer = self._answers[role]
        if isinstance(answer, list):  # the last answer is repeated
            at = min(self._turns[role], len(answer) - 1)
            answer = answer[at]
        elif callable(answer):
            answer = answer(request)
        self._turns[role] += 1
        return answer if isinstance(answer, str) else f"```json\n{json.dumps(answer)}\n```"

    @property
    def asked(self) -> list[str]:
        """The roles in the order in which they were asked."""
        return [_ROLES[r.prompt].value for r in self.model.asked if r.prompt]

    def last_request(self, role: Role) -> str:
        """Return the text of the last request to a role."""
        mine = [r for r in self.model.asked if r.prompt and _ROLES[r.prompt] is role]
        return mine[-1].messages[1].text

    def plan(self) -> Plan:
        """Plan, and commit the plan, which shows that the record accepts it."""
        made = plan(self.context)
        assert graph_faults(made.graph) == order_faults(made.graph) == ()
        names = [n.contract.name for n in made.graph.nodes if n.contract]
        assert len(names) == len(set(names))
        self.recorder.record(BriefCommitted(brief=made.brief))
        self.recorder.record(
            GraphCommitted(graph=made.graph, planner=made.planner, granularity=made.granularity)
        )
        assert verify_run(self.store, RUN).holds
        self.store.close()
        return made


def planned(task: Task = TASK, **answers: Any) -> Plan:
    """Plan a task; each keyword names a role whose answers differ from the good ones."""
    return PlanningSession(task, {Role(name): answer for name, answer in answers.items()}).plan()


def size(made: Plan) -> int:
    """Return the number of nodes under the root."""
    return len(made.graph.nodes) - 1


def once(good: Answer, bad: Answer) -> list[Answer]:
    """Return a bad first answer and a good one from then on."""
    return [bad, good]


ALL = [role.value for role in Role]
"""All roles in the order in which they are asked."""
