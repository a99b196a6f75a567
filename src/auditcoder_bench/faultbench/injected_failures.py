"""Injected failures: a fault put into solved work, seen to fail, labelled by construction."""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import combinations, islice
from typing import Any, TypeAlias

from msgspec.structs import replace

from auditcoder.domain.execution import Returned
from auditcoder.domain.ids import NodeId
from auditcoder.domain.task import CallExample, CodeExample, Example
from auditcoder.domain.values import Value
from auditcoder.lifecycle.locating.collectors import failing_program_of
from auditcoder.lifecycle.locating.substitution import with_code, with_codes
from auditcoder.lifecycle.locating.trace_run import FailingRun, watch
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.runs import RunResources
from auditcoder.lifecycle.validation.function_calls import run_calls, value_of
from auditcoder.lifecycle.validation.program_checks import bounds
from auditcoder.lifecycle.validation.result_comparison import shown
from auditcoder_bench.faultbench.fault_injector import Fault, Variant, variants
from auditcoder_bench.faultbench.injection_targets import SolvedProgram
from auditcoder_bench.faultbench.prepared_run import put_together
from auditcoder_bench.faultbench.wrong_checks import with_another_answer

NODE, TWO, BETWEEN, GRAPH, CHECK = "node", "two nodes", "interface", "graph", "check"
"""Where a fault is."""
_TRIES = 4
"""Variants of one kind in one node that are tried until one fails."""
_PAIRS = 4
_GRAPHS = 4
_CHECKS = 4
"""Of two faults at once, of faults in the plan in either way, and of wrong checks in one work."""

Open: TypeAlias = Callable[[], RunResources]
"""Opens what a run is made with, with a store of its own."""


class InjectedFailure(Value):
    """Solved work with a fault in it."""

    id: str
    solved: str
    """The program or class that it was put into."""
    where: str
    faults: tuple[str, ...]
    """What kinds."""
    nodes: tuple[NodeId, ...]
    """Whose code was changed; nobody's where a check is wrong."""
    codes: dict[NodeId, str]
    """The changed code."""
    said: str
    """What was changed, in words."""
    promises: dict[NodeId, tuple[CallExample, ...]] = {}
    """All that contracts say beyond their interfaces, where the fault is in the plan already."""
    more: tuple[Example, ...] = ()
    """What it is checked by beside the task's examples, or in place of one."""

    def into(self, solved: SolvedProgram) -> SolvedProgram:
        """Put it into the work that it was made for."""
        checked = solved.with_examples(self.more).with_promises(self.promises)
        return checked._replace(codes={**solved.codes, **self.codes})


def inject(
    open_tools: Open,
    solved: SolvedProgram,
    kinds: Collection[Fault] = tuple(Fault),
    most: int = 100,
) -> list[InjectedFailure]:
    """Put faults into solved work, in every node and of every kind that makes it fail.

    Of faults in one part there are `most` at most.
    """
    context = put_together(open_tools(), solved)
    scene = failing_program_of(context)
    if scene is None:
        return []  # there is nothing to fail at
    if not watch(context.sandbox, scene.failing.program, (), scene.failing.trial).passes:
        return []  # solved only as long as nobody looks
    quick = [kind for kind in kinds if kind is not Fault.SLOW_LOOP]
    failing = scene.failing
    single = list(_single(context, failing, solved, quick, most))
    if Fault.SLOW_LOOP in kinds and (large := _large(context, solved)):
        slow = put_together(open_tools(), solved.with_examples((large,)))
        scene = failing_program_of(slow)
        assert scene is not None
        found = _single(slow, scene.failing, solved, [Fault.SLOW_LOOP], most)
        single += [replace(fault, more=(large,)) for fault in found]
    return [
        *single,
        *_two(context, failing, solved, single),
        *_in_the_plan(context, solved, single),
        *_wrong_checks(solved),
    ]


def _large(context: RunContext, solved: SolvedProgram) -> CodeExample | None:
    """Return an example with a large input, and the answer that solved work gives to it."""
    if not solved.large:
        return None
    outcome = run_calls(context, context.program, (solved.large,), bounds(solved.task))
    match outcome.calls:
        case (Returned(value=text),):
            return CodeExample(code=f"assert {solved.large} == {shown(value_of(text))}")
        case _:
            return None


def _single(
    context: RunContext,
    failing: FailingRun,
    solved: SolvedProgram,
    kinds: Iterable[Fault],
    most: int,
) -> Iterator[InjectedFailure]:
    names = {n.id: n.contract.name for n in solved.plan.graph.nodes if n.contract}
    known: dict[tuple[NodeId, Fault], list[Variant]] = {}
    for node, name in names.items():
        others = [other for other in names.values() if other != name]
        for variant in variants(solved.codes[node], name, others):
            known.setdefault((node, variant.fault), []).append(variant)
    wanted = [(node, kind) for node in names for kind in kinds if (node, kind) in known]
    _shuffle(wanted, f"{solved.name} all")
    made = 0
    for node, kind in wanted:
        found = known[node, kind]
        _shuffle(found, f"{solved.name} {node} {kind.name}")
        for variant in found[:_TRIES] if made < most else ():
            if _fails(context, failing, {node: variant.source}):
                yield _injected(solved, node, variant)
                made += 1
                break


def _shuffle(items: list[Any], seed: str) -> None:
    random.Random(seed).shuffle(items)  # noqa: S311 - a choice, not a secret


def _fails(context: RunContext, failing: FailingRun, codes: Mapping[NodeId, str]) -> bool:
    """Whether the program loads with this code, and fails."""
    program = with_codes(context, codes)
    if not program:
        return False
    seen = watch(context.sandbox, program, (), failing.trial)
    return not seen.loads and not seen.passes


def _injected(solved: SolvedProgram, node: NodeId, variant: Variant) -> InjectedFailure:
    return InjectedFailure(
        id=f"{solved.name}.{node}.{variant.fault.name.lower()}",
        solved=solved.name,
        where=BETWEEN if variant.fault is Fault.WRONG_SHAPE else NODE,
        faults=(variant.fault.value,),
        nodes=(node,),
        codes={node: variant.source},
        said=f"line {variant.line}: {variant.said}",
    )


def _two(
    context: RunContext, failing: FailingRun, solved: SolvedProgram, single: list[InjectedFailure]
) -> Iterator[InjectedFailure]:
    """Put two faults in at once: with either alone mended, the other still fails.

    Together they fail, too, unless one makes up for the other.
    """
    pairs = [
        (one, other)
        for one, other in combinations([i for i in single if i.where == NODE and not i.more], 2)
        if one.nodes != other.nodes
    ]
    _shuffle(pairs, f"{solved.name} two")
    taken: set[tuple[NodeId, ...]] = set()
    for one, other in pairs:
        nodes, codes = (*one.nodes, *other.nodes), {**one.codes, **other.codes}
        if len(taken) == _PAIRS:
            return
        if nodes not in taken and _fails(context, failing, codes):
            taken.add(nodes)
            yield InjectedFailure(
                id=f"{one.id}+{other.id.removeprefix(solved.name + '.')}",
                solved=solved.name,
                where=TWO,
                faults=(*one.faults, *other.faults),
                nodes=nodes,
                codes=codes,
                said=f"{one.said}; {other.said}",
            )


def _in_the_plan(
    context: RunContext, solved: SolvedProgram, single: list[InjectedFailure]
) -> Iterator[InjectedFailure]:
    """Let the plan be silent on what the code gets wrong, or be wrong itself: no contract tells."""
    promising = [
        one
        for one in single
        if one.where == NODE
        and not one.more
        and (contract := solved.plan.graph.by_id[one.nodes[0]].contract)
        and (contract.ensures or contract.examples)
    ]
    _shuffle(promising, f"{solved.name} plan")
    for one in promising[:_GRAPHS]:
        (node,) = one.nodes
        yield replace(one, id=f"{one.id}.unsaid", where=GRAPH, promises={node: ()})
    wrong = ((one, as_it_does(context, solved, one)) for one in promising)
    for one, examples in islice(((one, said) for one, said in wrong if said), _GRAPHS):
        (node,) = one.nodes
        yield replace(one, id=f"{one.id}.missaid", where=GRAPH, promises={node: examples})


def as_it_does(
    context: RunContext, solved: SolvedProgram, fault: InjectedFailure
) -> tuple[CallExample, ...]:
    """Return what faulty code makes of its contract's examples; nothing if that is all right."""
    ((node, code),) = fault.codes.items()
    contract = solved.plan.graph.by_id[node].contract
    assert contract is not None
    known = [example for example in contract.examples if isinstance(example, CallExample)]
    calls = tuple(f"{contract.name}({example.arguments})" for example in known)
    program = with_code(context, node, code)
    made = run_calls(context, program, calls, bounds(solved.task)).calls
    pairs = [
        (example, replace(example, result=shown(value_of(call.value))))
        for example, call in zip(known, made, strict=False)
        if isinstance(call, Returned)
    ]
    wrong = any(value_of(old.result) != value_of(new.result) for old, new in pairs)
    return tuple(new for _, new in pairs) if wrong else ()


def _wrong_checks(solved: SolvedProgram) -> Iterator[InjectedFailure]:
    """Let an example expect another answer than the right one: no part is to blame for that."""
    examples = list(solved.task.examples)
    _shuffle(examples, f"{solved.name} checks")
    wrong = [other for example in examples if (other := with_another_answer(example))]
    for number, example in enumerate(wrong[:_CHECKS], start=1):
        yield InjectedFailure(
            id=f"{solved.name}.check.{number}",
            solved=solved.name,
            where=CHECK,
            faults=("wrong check",),
            nodes=(),
            codes={},
            said="an example expects another answer than the right one",
            more=(example,),
        )
