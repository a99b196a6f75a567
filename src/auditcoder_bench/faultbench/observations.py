"""Gathering: what the collectors notice about a failure whose cause is known.

The reference never takes part. What other models wrote for the same task may: it is what a
second opinion would be in use.
"""

import random
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum

from msgspec.structs import replace

from auditcoder.domain.task import ClassForm
from auditcoder.lifecycle.locating import substitution
from auditcoder.lifecycle.locating.features import Feature, SpectrumCounts, gathered
from auditcoder.lifecycle.locating.sbfl import counted
from auditcoder.lifecycle.locating.substitution import (
    SubstitutedProgram,
    SubstitutionResult,
    intervene,
)
from auditcoder.lifecycle.locating.trace_analysis import collect_evidence
from auditcoder.lifecycle.locating.trace_run import FailingRun, TracePlan
from auditcoder.lifecycle.planning import class_planner
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.task_forms import is_stub
from auditcoder_bench.faultbench.failure_records import (
    FailingTest,
    FaultRecord,
    GroundTruth,
    OpenValue,
    PassingTest,
)
from auditcoder_bench.faultbench.method_splicer import class_in, meaning, methods_of, splice

_SECONDS = 1.0
"""That one test may take: they take milliseconds, and what takes longer hardly ever ends."""
MOST_SWAPS = 3
"""Other implementations of one method that are tried, the commonest first."""


class LocatorView(Enum):
    """Which tests a locator sees."""

    PROGRAM = "program"
    """Those of the class as a whole, as in real use."""
    ALL = "all"
    """Those of single methods as well."""


UNSEEN = "unseen"
"""The kind of a failure that does not fail any more, or not in this view."""


class Noticed(OpenValue):
    """What was noticed about one failure."""

    id: str
    task: str
    kind: str
    """Of the ground truth."""
    truth: tuple[str, ...]
    signs: dict[str, dict[str, float]]
    """What one watched run shows, by method, then by sign."""
    swaps: dict[str, SubstitutionResult] | None
    """What came of other implementations of each method; None where none was tried."""
    remote: bool
    """Whether the fault is not in the method that the failing test called last."""
    traceback: str
    """The innermost method of the first failing test's traceback, if it has one."""
    counts: dict[str, SpectrumCounts]
    """How often each method ran in failing and in passing tests."""
    runs: int
    """Of the sandbox, beyond the one that failed."""
    milliseconds: float
    failing: int = 0
    """How many lines failed before something was tried."""
    fault: str = ""
    """What was put in, where something was."""
    where: str = ""
    """In a node, in two, between two, or in the plan."""
    rules: tuple[str, ...] | None = None
    """What the paper's rules name; None where they were not asked."""
    crossings: tuple[tuple[str, str], ...] = ()
    """Who handed to whom what that one does not take."""
    blind: bool = False
    """Whether it was gone before it could be watched."""
    view: str = LocatorView.PROGRAM.value
    opinions: int | None = None
    """How many others were asked about each method, as chance had it; None: what most agree on."""
    spoiled: float = 0.0
    """The share of second opinions that were spoiled on purpose."""
    rooted: bool = False
    """Whether one of its parts puts the others together."""


def tried_signs(case: Noticed, nodes: Collection[str]) -> dict[str, dict[str, float]]:
    """Return what is seen of all methods if others' implementations of these alone are tried."""
    chosen = {node: own for node, own in (case.swaps or {}).items() if node in nodes}
    found = gathered(substitution.signs(chosen, case.signs, case.failing))
    return {node: found.get(node, {}) for node in case.signs}


def unseen(name: str) -> Noticed:
    """Say that a failure was looked for in vain."""
    return Noticed(
        id=name,
        task="",
        kind=UNSEEN,
        truth=(),
        signs={},
        swaps=None,
        remote=False,
        traceback="",
        counts={},
        runs=1,
        milliseconds=0.0,
    )


def truth_of(record: FaultRecord, view: LocatorView) -> GroundTruth | None:
    """Return the ground truth of a view; None where nothing fails in it."""
    return record.ground_truth if view is LocatorView.ALL else record.ground_truth_program


def gather(
    sandbox: Sandbox, record: FaultRecord, tests: str, view: LocatorView = LocatorView.PROGRAM
) -> Noticed | None:
    """Look at a failure, with one watched run; None where nothing fails for sure in this view."""
    truth = truth_of(record, view)
    if truth is None or record.flaky:
        return None
    began = time.monotonic()
    seen_failing, seen_passing = _tests(record, view)
    failing, nodes = _failing(record, tests, view)
    found = collect_evidence(sandbox, failing)
    if found.seen.passes:
        return None
    own = gathered(_named(sign, nodes) for sign in found.signs)
    last = seen_failing[0].direct[-1:] if seen_failing else ()
    frames = [f.function for f in seen_failing[0].frames if f.kind == "gen"] if seen_failing else []
    return Noticed(
        id=record.id,
        task=record.task_id,
        kind=truth.kind,
        truth=truth.nodes,
        signs={name: own.get(name, {}) for name in nodes.values()},
        swaps=None,
        remote=last != truth.nodes,
        traceback=frames[-1] if frames else "",
        counts=counted([set(t.cov) for t in seen_failing], [set(t.cov) for t in seen_passing]),
        runs=1,
        milliseconds=1000 * (time.monotonic() - began),
        blind=found.seen.blind,
        view=view.value,
    )


def gather_more(
    sandbox: Sandbox,
    record: FaultRecord,
    tests: str,
    others: Iterable[str],
    before: Noticed,
    plausible: Collection[str],
    view: LocatorView = LocatorView.PROGRAM,
    opinions: int | None = None,
) -> Noticed:
    """Try what others wrote in the places of the methods that may be at fault."""
    began = time.monotonic()
    failing, nodes = _failing(record, tests, view)
    tried = list(alternatives(record, others, plausible, opinions))
    found = intervene(sandbox, failing, tried)
    return replace(
        before,
        swaps={nodes[function]: own for function, own in found.swapped.items()},
        failing=found.failing,
        opinions=opinions,
        runs=before.runs + found.runs,
        milliseconds=before.milliseconds + 1000 * (time.monotonic() - began),
    )


def _failing(
    record: FaultRecord, tests: str, view: LocatorView
) -> tuple[FailingRun, dict[str, str]]:
    """Return what fails, and how records name its methods."""
    failing, passing = _tests(record, view)
    names = tuple(f"{t.test_class}.{t.test_name}" for t in (*failing, *passing))
    fine = frozenset(f"{t.test_class}.{t.test_name}" for t in passing)
    nodes = {f"{record.class_name}.{method.name}": method.name for method in record.methods}
    form = ClassForm(name=record.class_name, skeleton=record.skeleton)
    readable = class_in(record.skeleton, record.class_name)  # some were published broken
    told = class_planner.contracts(form) if readable else []
    contracts = {f"{record.class_name}.{contract.name}": contract for contract in told}
    trial = TracePlan(tests, names, _SECONDS, passing=fine)
    return FailingRun(record.generated_code, tuple(nodes), trial, contracts), nodes


def _tests(record: FaultRecord, view: LocatorView) -> tuple[list[FailingTest], list[PassingTest]]:
    """Return the tests of a view: those that fail, and those that pass."""
    return (
        [t for t in record.failing_tests if _in(t.test_class, record, view)],
        [t for t in record.passing_tests if _in(t.test_class, record, view)],
    )


def _in(test_class: str, record: FaultRecord, view: LocatorView) -> bool:
    return view is LocatorView.ALL or test_class == record.integration_class


def _named(sign: Feature, nodes: Mapping[str, str]) -> Feature:
    """Name methods as records do: without their class."""
    return sign._replace(node=nodes.get(sign.node, sign.node))


def alternatives(
    record: FaultRecord,
    others: Iterable[str],
    plausible: Collection[str],
    opinions: int | None = None,
) -> Iterator[SubstitutedProgram]:
    """Yield the class with one method as others wrote it: what most of them agree on first.

    Or, of so many `opinions`, as chance has it: who is asked in use is one of many.
    """
    name = record.class_name
    if class_in(record.generated_code, name) is None:
        return
    own = _bodies(record.generated_code, name)
    known: dict[str, dict[str, list[str]]] = {}
    for other in others:
        for written, body in _bodies(other, name).items():
            if body and (body != own.get(written) or opinions is not None):
                known.setdefault(written, {}).setdefault(body, []).append(other)
    there = {method.name for method in record.methods}
    for method in (method for method in plausible if method in there):
        found = known.get(method, {})
        if opinions is None:
            chosen = sorted(found.values(), key=len, reverse=True)[:MOST_SWAPS]
        else:
            drawn = _drawn(found, opinions, f"{record.id} {method}")
            chosen = [found[body] for body in drawn if body != own.get(method)]
        for code, *_ in chosen:
            program = splice(record.generated_code, code, name, [method])
            yield SubstitutedProgram(f"{name}.{method}", program)


def _drawn(found: Mapping[str, list[str]], number: int, seed: str) -> list[str]:
    """Draw so many answers, who gives what is there already among them."""
    ballots = [body for body, alike in found.items() for _ in alike]
    random.Random(seed).shuffle(ballots)  # noqa: S311 - a draw, not a secret
    return list(dict.fromkeys(ballots[:number]))


def _bodies(code: str, class_name: str) -> dict[str, str]:
    """Return what each method does; empty for one that does nothing."""
    found = {}
    for name, nodes in methods_of(code, class_name).items():
        empty = is_stub(nodes[-1])
        found[name] = "" if empty else meaning(nodes[-1])
    return found
