"""Graph ablations: a task graph without repair, with or without specialists."""

from msgspec.structs import replace

from auditcoder.lifecycle.options import Build, Options, Planner


def task_plan(options: Options) -> Options:
    """Plan, then write each node with one general agent; nothing is repaired."""
    return replace(task_plan_agents(options), specialists=False)


def task_plan_agents(options: Options) -> Options:
    """Plan, then write each node with the specialist of its kind; nothing is repaired."""
    return replace(
        options,
        planner=Planner.SKETCH,
        build=Build.NODE,
        max_repairs=0,
        fallback=False,
        specialists=True,
    )
