"""Injects faults into solved programs and classes, and keeps those that make a check fail.

The faulty nodes are known by construction.
"""

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
from auditcoder.lifecycle.locating.trace_run import FailingRun, run_traced
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.runs import RunResources
from auditcoder.lifecycle.validation.function_calls import run_calls, value_of
from auditcoder.lifecycle.validation.program_checks import bounds
from auditcoder.sandboxed.result_comparison import shown
from auditcoder_bench.faultbench.fault_injector import Fault, Variant, variants
from auditcoder_bench.faultbench.injection_targets import SolvedProgram
from auditcoder_bench.faultbench.prepared_run import prepare_assembled_run
from auditcoder_bench.faultbench.wrong_checks import with_another_answer

NODE, TWO, BETWEEN, GRAPH, CHECK = "node", "two nodes", "interface", "graph", "check"
"""The places of a fault."""
_TRIES = 4
"""Maximum number of variants per kind and node that are tried until one fails."""
_PAIRS, _GRAPHS, _CHECKS = 4, 4, 4
"""Maximum per work: pairs of faults, faults of each kind in the plan, wrong checks."""

Open: TypeAlias = Callable[[], RunResources]
"""Opens the resources of a run, with a new store."""


class InjectedFailure(Value):
    """A fault, and the solved work (a program, class or run) that it was injected into."""

    id: str
    solved: str
    """The name of the program, class or run."""
    where: str
    faults: tuple[str, ...]
    """The kinds of the faults."""
    nodes: tuple[NodeId, ...]
    """The nodes whose code was changed; empty if a check is wrong."""
    codes: dict[NodeId, str]
    """The changed code."""
    said: str
    """A description of the change."""
    promises: dict[NodeId, tuple[CallExample, ...]] = {}
    """If the fault is in the plan: the examples that replace a contract's clauses and examples."""
    more: tuple[Example, ...] = ()
    """Examples that are added to those of the task, or replace one of them."""

    def into(self, solved: SolvedProgram) -> SolvedProgram:
        """Return the solved work with the fault in it."""
        checked = solved.with_examples(self.more).with_promises(self.promises)
        return checked._replace(codes={**solved.codes, **self.codes})


def inject(
    open_tools: Open,
    solved: SolvedProgram,
    kinds: Collection[Fault] = tuple(Fault),
    most: int = 100,
) -> list[InjectedFailure]:
    """Inject faults of every kind into every node, and return those that make a check fail.

    At most `most` faults of single nodes are returned.
    """
    context = prepare_assembled_run(open_tools(), solved)
    traced = failing_program_of(context)
    if traced is None:
        return []  # no check can fail
    if not run_traced(context.sandbox, traced.failing.program, (), traced.failing.trial).passes:
        return []  # fails while it is traced
    quick = [kind for kind in kinds if kind is not Fault.SLOW_LOOP]
    failing = traced.failing
    single = list(_single_faults(context, failing, solved, quick, most))
    if Fault.SLOW_LOOP in kinds and (large := _large_example(context, solved)):
        with_large = prepare_assembled_run(open_tools(), solved.with_examples((large,)))
        traced = failing_program_of(with_large)
        assert traced is not None
        slow_faults = _single_faults(with_large, traced.failing, solved, [Fault.SLOW_LOOP], most)
        single += [replace(fault, more=(large,)) for fault in slow_faults]
    return [
        *single,
        *_fault_pairs(context, failing, solved, single),
        *_plan_faults(context, solved, single),
        *_wrong_checks(solved),
    ]


def _large_example(context: RunContext, solved: SolvedProgram) -> CodeExample | None:
    """Return an example with a large input and the result of the solved work for it."""
    if not solved.large:
        return None
    outcome = run_calls(context, context.program, (solved.large,), bounds(solved.task))
    match outcome.calls:
        case (Returned(value=text),):
            return CodeExample(code=f"assert {solved.large} == {shown(value_of(text))}")
        case _:
            return None


def _single_faults(
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
        candidates = known[node, kind]
        _shuffle(candidates, f"{solved.name} {node} {kind.name}")
        for variant in candidates[:_TRIES] if made < most else ():
            if _fails(context, failing, {node: variant.source}):
                yield _injected(solved, node, variant)
                made += 1
                break


def _shuffle(items: list[Any], seed: str) -> None:
    random.Random(seed).shuffle(items)  # noqa: S311 - reproducible, not secret


def _fails(context: RunContext, failing: FailingRun, codes: Mapping[NodeId, str]) -> bool:
    """Whether the program loads with this code and fails a check."""
    program = with_codes(context, codes)
    if not program:
        return False
    seen = run_traced(context.sandbox, program, (), failing.trial)
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


def _fault_pairs(
    context: RunContext, failing: FailingRun, solved: SolvedProgram, single: list[InjectedFailure]
) -> Iterator[InjectedFailure]:
    """Inject two faults at once, each of which makes the program fail alone.

    Pairs that compensate each other are skipped.
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


def _plan_faults(
    context: RunContext, solved: SolvedProgram, single: list[InjectedFailure]
) -> Iterator[InjectedFailure]:
    """Empty the contract of a faulty node, or make it promise the wrong results.

    In both cases no contract reveals the fault.
    """
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
    wrong = ((one, observed_examples(context, solved, one)) for one in promising)
    for one, examples in islice(((one, made) for one, made in wrong if made), _GRAPHS):
        (node,) = one.nodes
        yield replace(one, id=f"{one.id}.missaid", where=GRAPH, promises={node: examples})


def observed_examples(
    context: RunContext, solved: SolvedProgram, fault: InjectedFailure
) -> tuple[CallExample, ...]:
    """Return the contract's examples with the faulty code's results; empty if all are correct."""
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
    """Yield failures in which an example expects a wrong result and no node is faulty."""
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
