"""The ten methods that are compared, each a way from a task to one program.

All have the same model, sandbox, budget and recorder, and see the same task: its statement and
its public examples. What a method does is on record as any run is.
"""

from collections.abc import Callable
from typing import NamedTuple

from auditcoder.domain.errors import NotFound
from auditcoder.lifecycle.loop import Life, audited
from auditcoder.lifecycle.workshop import Options
from auditcoder.methods import agentcoder, graphs, growing, plain, reasoning


def _as_asked(options: Options) -> Options:
    return options


class Method(NamedTuple):
    """How a run lives, and what of its options the method itself decides."""

    life: Life
    settle: Callable[[Options], Options] = _as_asked


METHODS: dict[str, Method] = {
    "direct": Method(plain.direct),
    "direct-retry": Method(plain.direct_retry),
    "cot": Method(reasoning.cot),
    "cot-retry": Method(reasoning.cot_retry),
    "step-by-step": Method(growing.step_by_step),
    "framework": Method(growing.framework),
    "agentcoder": Method(agentcoder.agentcoder),
    "task-plan": Method(audited, graphs.task_plan),
    "task-plan-agents": Method(audited, graphs.task_plan_agents),
    "auditcoder": Method(audited),
}
"""In the order of the paper's table."""


def method(name: str) -> Method:
    """Return a method by its name."""
    try:
        return METHODS[name]
    except KeyError:
        raise NotFound(
            "method.unknown",
            f"there is no method {name}",
            f"the methods are {', '.join(METHODS)}",
        ) from None
