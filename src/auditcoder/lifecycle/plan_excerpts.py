"""What of the plan is shown to those who write code, labelled; nothing where the plan is silent."""

from collections import Counter
from collections.abc import Iterable, Iterator

from auditcoder.domain.brief import Brief, DataRange
from auditcoder.domain.code import CodeBundle
from auditcoder.domain.graph import Node, TaskGraph
from auditcoder.domain.ids import NodeId
from auditcoder.domain.ledger import WorkingState
from auditcoder.lifecycle.planning.planned_code import split_context
from auditcoder.lifecycle.planning.sketch_writer import facts_of


def shown_plan(brief: Brief | None, node: Node | None = None) -> str:
    """Return what the plan says of the whole task, and of `node` if it is the only function.

    The text goes behind the sentence that requests the code.
    """
    lines = [*(_about(brief) if brief else ()), *(_about_sole(brief, node) if node else ())]
    return "\n\nThe plan says:\n" + "\n".join(lines) if lines else ""


def _about(brief: Brief) -> Iterator[str]:
    approach, parsed = brief.approach, brief.parsed
    if approach.strategy and approach.strategy not in _OWN_STRATEGIES:
        yield f"Strategy: {approach.strategy}"
    yield from (f"Note: {text}" for text in (*approach.observations, *approach.insights))
    yield from (f"Assumes: {text}" for text in approach.assumptions)
    for trap in approach.traps:
        yield f"Trap: {trap.trap}" + (f" ({trap.why})" if trap.why else "")
    ranges = [text for known in parsed.ranges if (text := _range(known))]
    # Limits of time and memory are part of the statement that every prompt shows.
    if limits := [*ranges, *approach.features]:
        yield f"Limits: {'; '.join(limits)}"


_OWN_STRATEGIES = frozenset({"one responsibility", "the skeleton is the plan"})
"""What our own planners record as the strategy; it tells nobody how to write the code."""


def _range(known: DataRange) -> str:
    if known.minimum is None and known.maximum is None:
        return ""
    least = f"{known.minimum:g} <= " if known.minimum is not None else ""
    most = f" <= {known.maximum:g}" if known.maximum is not None else ""
    return f"{least}{known.variable}{most}"


def _about_sole(brief: Brief | None, node: Node) -> Iterator[str]:
    """Yield what the plan says of the only function: its prompt has no sketch."""
    title = brief.parsed.title if brief else ""
    strategy = brief.approach.strategy if brief else ""
    said_elsewhere = {title, strategy[:300], "Do what the task asks", "Answer the task."}
    if node.goal not in said_elsewhere and not node.goal.startswith("Do what "):
        yield f"Goal: {node.goal}"
    rest, draft = split_context(node.context)
    in_draft = {line.strip() for line in draft.split("\n")}
    yield from (line for line in (*rest, *facts_of(node)) if line not in in_draft)
    if draft:
        yield from ("Draft, to be kept or improved:", "```python", draft, "```")


def definitions(
    graph: TaskGraph, working: WorkingState, but: Iterable[NodeId] = ()
) -> Iterator[tuple[NodeId, CodeBundle]]:
    """Yield the nodes that own definitions, except those in `but`, with their code."""
    excluded = set(but)
    for node in graph.defining:
        if node not in excluded and node in working.bundles:
            yield node, working.bundles[node]


def defined_text(graph: TaskGraph, working: WorkingState, but: Iterable[NodeId] = ()) -> str:
    """Return the code of the definitions, as a sketch shows it; empty if there are none."""
    return "\n\n".join(bundle.source.strip() for _, bundle in definitions(graph, working, but))


def defined_names(graph: TaskGraph, working: WorkingState) -> dict[str, NodeId]:
    """Return the names that definitions bind, with the nodes that own them."""
    units = (
        (node, unit) for node, _ in definitions(graph, working) for unit in working.code[node].units
    )
    return {unit.name: node for node, unit in units if "." not in unit.name}


def blamable_names(graph: TaskGraph, working: WorkingState, author: NodeId) -> dict[str, NodeId]:
    """Return the names that the author of a repair can blame, with the nodes that own them.

    Beside promised functions and definitions these are helpers and members, by their names in the
    program and in the code of their nodes. A name of the author's own code means that code.
    """
    repairable = {*graph.promises.values(), *graph.defining} & working.code.keys()
    units = [(n, unit) for n in sorted(repairable) for unit in working.code[n].units]
    found = graph.promises | defined_names(graph, working)
    for node, unit in units:
        if node == author:
            found.setdefault(unit.name, node)
    for node, unit in units:
        found.setdefault(unit.registered, node)
    counts = Counter(unit.name for _, unit in units)
    for node, unit in units:
        if counts[unit.name] == 1:
            found.setdefault(unit.name, node)
    return found
