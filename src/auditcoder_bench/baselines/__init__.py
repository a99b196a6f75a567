"""The compared methods: the nine baselines of the paper, two more, and AuditCoder itself.

All use the same model, sandbox, budget and recorder, see the statement and the public examples of
the task, and record their runs in the same format.
"""

from functools import partial

from auditcoder import prompts
from auditcoder.domain.errors import NotFound
from auditcoder.lifecycle.loop import auditcoder_strategy
from auditcoder.lifecycle.runs import AUDITCODER, Method
from auditcoder_bench.baselines import (
    agentcoder,
    chain_of_thought,
    direct,
    graph_ablations,
    incremental,
    whole_programs,
)
from auditcoder_bench.baselines.single_program import PROMPTS

_prompts = partial(prompts.digests, PROMPTS, "methods/")

METHODS: dict[str, Method] = {
    method.name: method._replace(prompts=_prompts)  # a manifest lists the prompts of all methods
    for method in (
        Method("direct", direct.direct),
        Method("direct-retry", direct.direct_retry),
        Method("cot", chain_of_thought.cot),
        Method("cot-retry", chain_of_thought.cot_retry),
        Method("step-by-step", incremental.step_by_step),
        Method("framework", incremental.framework),
        Method("agentcoder", agentcoder.agentcoder),
        Method("task-plan", auditcoder_strategy, graph_ablations.task_plan),
        Method("task-plan-agents", auditcoder_strategy, graph_ablations.task_plan_agents),
        Method("best-of-k", whole_programs.best_of_k),
        Method("consensus", whole_programs.consensus),
        AUDITCODER,
    )
}
"""In the order of the paper's table, with the methods that it does not have before AuditCoder."""


def method(name: str) -> Method:
    """Return a method by its name."""
    try:
        return METHODS[name]
    except KeyError:
        raise NotFound(
            "method.unknown",
            f"unknown method '{name}'",
            f"the methods are {', '.join(METHODS)}",
        ) from None
