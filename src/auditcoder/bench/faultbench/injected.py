"""Injected failures: a fault put into solved work, seen to fail, labelled by construction."""

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import TypeAlias

from auditcoder.bench.faultbench.injecting import Fault, Variant, variants
from auditcoder.bench.faultbench.material import Solved
from auditcoder.bench.faultbench.staging import stage
from auditcoder.domain.ids import NodeId
from auditcoder.domain.values import Value
from auditcoder.lifecycle.locating.clues import scene_of, with_code
from auditcoder.lifecycle.locating.collecting import Failing
from auditcoder.lifecycle.locating.watching import watch
from auditcoder.lifecycle.workshop import Workshop
from auditcoder.methods.solving import Tools

NODE, TWO, INTERFACE, GRAPH = "node", "two nodes", "interface", "graph"
"""Where a fault is."""
_TRIES = 4
"""Variants of one kind in one node that are tried until one fails."""
_PAIRS = 4
_GRAPHS = 4

Open: TypeAlias = Callable[[], Tools]
"""Opens what a run is made with, with a store of its own."""


class Injected(Value):
    """Solved work with a fault in it."""

    id: str
    solved: str
    """The program or class that it was put into."""
    where: str
    faults: tuple[str, ...]
    """What kinds."""
    nodes: tuple[NodeId, ...]
    """Whose code was changed."""
    codes: dict[NodeId, str]
    """The changed code."""
    said: str
    """What was changed, in words."""
    silent: tuple[NodeId, ...] = ()
    """Nodes whose contracts say nothing: the fault is in the plan already."""
    sides: tuple[NodeId, ...] = ()
    """For an interface: those on its other side."""


def inject(open_tools: Open, solved: Solved, kinds: Iterable[Fault] = Fault) -> list[Injected]:
    """Put faults into solved work, in every node and of every kind that makes it fail."""
    workshop = stage(open_tools(), solved, {}, frozenset())
    scene = scene_of(workshop)
    assert scene is not None, f"{solved.name} has nothing to fail at"
    if not watch(workshop.sandbox, scene.failing.program, (), scene.failing.trial).passes:
        return []  # solved only as long as nobody looks
    single = list(_single(workshop, scene.failing, solved, tuple(kinds)))
    return [*single, *_two(solved, single), *_in_the_plan(solved, single)]


def _single(
    workshop: Workshop, failing: Failing, solved: Solved, kinds: tuple[Fault, ...]
) -> Iterator[Injected]:
    graph = solved.plan.graph
    names = {n.id: n.contract.name for n in graph.nodes if n.contract}
    for node, name in names.items():
        others = [other for other in names.values() if other != name]
        known: dict[Fault, list[Variant]] = {}
        for variant in variants(solved.codes[node], name, others):
            known.setdefault(variant.fault, []).append(variant)
        for kind in kinds:
            found = known.get(kind, [])
            random.Random(f"{solved.name} {node} {kind.name}").shuffle(found)  # noqa: S311
            for variant in found[:_TRIES]:
                if _fails(workshop, failing, node, variant.source):
                    yield _injected(solved, node, variant)
                    break


def _fails(workshop: Workshop, failing: Failing, node: NodeId, source: str) -> bool:
    """Whether the program loads with this code, and fails."""
    program = with_code(workshop, node, source)
    if not program:
        return False
    seen = watch(workshop.sandbox, program, (), failing.trial)
    return not seen.loads and not seen.passes


def _injected(solved: Solved, node: NodeId, variant: Variant) -> Injected:
    graph = solved.plan.graph
    crossing = variant.fault is Fault.WRONG_SHAPE
    around = graph.callers(node) | set(graph.by_id[node].dependencies)
    parent = graph.by_id[node].parent
    return Injected(
        id=f"{solved.name}.{node}.{variant.fault.name.lower()}",
        solved=solved.name,
        where=INTERFACE if crossing else NODE,
        faults=(variant.fault.value,),
        nodes=(node,),
        codes={node: variant.source},
        said=f"line {variant.line}: {variant.said}",
        sides=tuple(sorted(around | ({parent} if parent else set()))) if crossing else (),
    )


def _two(solved: Solved, single: list[Injected]) -> Iterator[Injected]:
    """Put two faults in at once: with either alone mended, the other still fails."""
    pairs = [
        (one, other)
        for one, other in combinations([i for i in single if i.where == NODE], 2)
        if one.nodes != other.nodes
    ]
    random.Random(f"{solved.name} two").shuffle(pairs)  # noqa: S311 - a choice, not a secret
    taken: set[tuple[NodeId, ...]] = set()
    for one, other in pairs:
        nodes = (*one.nodes, *other.nodes)
        if nodes not in taken and len(taken) < _PAIRS:
            taken.add(nodes)
            yield Injected(
                id=f"{one.id}+{other.id.removeprefix(solved.name + '.')}",
                solved=solved.name,
                where=TWO,
                faults=(*one.faults, *other.faults),
                nodes=nodes,
                codes={**one.codes, **other.codes},
                said=f"{one.said}; {other.said}",
            )


def _in_the_plan(solved: Solved, single: list[Injected]) -> Iterator[Injected]:
    """Let the plan be silent on what the code gets wrong: no contract tells."""
    promising = [
        one
        for one in single
        if one.where == NODE
        and (contract := solved.plan.graph.by_id[one.nodes[0]].contract)
        and (contract.ensures or contract.examples)
    ]
    random.Random(f"{solved.name} plan").shuffle(promising)  # noqa: S311
    for one in promising[:_GRAPHS]:
        yield Injected(
            id=f"{one.id}.unsaid",
            solved=solved.name,
            where=GRAPH,
            faults=one.faults,
            nodes=one.nodes,
            codes=one.codes,
            said=one.said,
            silent=one.nodes,
        )
