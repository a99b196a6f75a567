"""Collects evidence about real failures whose ground truth is known.

The reference is never used. Answers of other models to the same task serve as second opinions.
"""

import random
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum

from msgspec.structs import replace

from auditcoder.domain.task import ClassForm
from auditcoder.lifecycle.locating import substitution
from auditcoder.lifecycle.locating.features import (
    Feature,
    SpectrumCounts,
    feature_strengths,
    with_lone_failure,
)
from auditcoder.lifecycle.locating.sbfl import counted
from auditcoder.lifecycle.locating.substitution import (
    SubstitutedProgram,
    SubstitutionResult,
    run_substitutions,
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
"""Time limit of one test: tests take milliseconds, and a longer one hardly ever ends."""
MOST_SWAPS = 3
"""Maximum number of substitutions per method, the most common implementations first."""


class LocatorView(Enum):
    """The tests that a locator sees."""

    PROGRAM = "program"
    """The tests of the class as a whole, as in a run."""
    ALL = "all"
    """The tests of single methods as well."""


UNSEEN = "unseen"
"""The kind of a case that does not fail any more, or not in this view."""


class FailureEvidence(OpenValue, rename={"features": "signs"}):
    """The evidence about one failure, with its ground truth."""

    id: str
    task: str
    kind: str
    """The kind of the ground truth."""
    truth: tuple[str, ...]
    """The faulty methods or nodes."""
    features: dict[str, dict[str, float]]
    """Feature values from one traced run, by method and feature."""
    swaps: dict[str, SubstitutionResult] | None
    """Results of substitutions by method; None if none was tried."""
    remote: bool
    """Whether the fault is outside the method that the failing test called last."""
    traceback: str
    """The innermost method of the first failing test's traceback, if it has one."""
    counts: dict[str, SpectrumCounts]
    """Coverage of each method in failing and passing tests, for spectrum-based locators."""
    runs: int
    """Number of sandbox runs for the diagnosis."""
    milliseconds: float
    failing: int = 0
    """Number of failing lines before any substitution."""
    fault: str = ""
    """The kind of the injected fault; empty for a real failure."""
    where: str = ""
    """The place of the injected fault; empty for a real failure."""
    rules: tuple[str, ...] | None = None
    """The answer of the paper's rules; None if they were not applied."""
    crossings: tuple[tuple[str, str], ...] = ()
    """Pairs of producer and consumer in which the consumer does not accept the passed value."""
    blind: bool = False
    """Whether the failure could not be traced, for example because the program exited early."""
    view: str = LocatorView.PROGRAM.value
    opinions: int | None = None
    """Number of randomly chosen answers per method; None if the most common ones were used."""
    spoiled: float = 0.0
    """The share of second opinions with an injected fault."""
    rooted: bool = False
    """Whether the program has a root that orchestrates the others."""


def traced_signs(case: FailureEvidence) -> dict[str, dict[str, float]]:
    """Return the features of all methods from the trace alone."""
    return with_lone_failure(case.features, case.counts.values())


def tried_signs(case: FailureEvidence, nodes: Collection[str]) -> dict[str, dict[str, float]]:
    """Return the features of these methods if they are substituted."""
    chosen = {node: own for node, own in (case.swaps or {}).items() if node in nodes}
    return feature_strengths(substitution.substitution_features(chosen, case.failing))


def not_reproduced(name: str) -> FailureEvidence:
    """Return the entry of a failure that could not be reproduced."""
    return FailureEvidence(
        id=name,
        task="",
        kind=UNSEEN,
        truth=(),
        features={},
        swaps=None,
        remote=False,
        traceback="",
        counts={},
        runs=1,
        milliseconds=0.0,
    )


def truth_of(record: FaultRecord, view: LocatorView) -> GroundTruth | None:
    """Return the ground truth of a view; None if no test fails in it."""
    return record.ground_truth if view is LocatorView.ALL else record.ground_truth_program


def trace_failure(
    sandbox: Sandbox, record: FaultRecord, tests: str, view: LocatorView = LocatorView.PROGRAM
) -> FailureEvidence | None:
    """Trace a failure once; None if it is flaky or does not fail in this view."""
    truth = truth_of(record, view)
    if truth is None or record.flaky:
        return None
    began = time.monotonic()
    failing_tests, passing_tests = _tests(record, view)
    failing, nodes = _failing_run(record, tests, view)
    evidence = collect_evidence(sandbox, failing)
    if evidence.seen.passes:
        return None
    features = feature_strengths(_without_class(feature, nodes) for feature in evidence.features)
    last = failing_tests[0].direct[-1:] if failing_tests else ()
    frames = failing_tests[0].frames if failing_tests else ()
    methods = [frame.function for frame in frames if frame.kind == "gen"]
    return FailureEvidence(
        id=record.id,
        task=record.task_id,
        kind=truth.kind,
        truth=truth.nodes,
        features={name: features.get(name, {}) for name in nodes.values()},
        swaps=None,
        remote=last != truth.nodes,
        traceback=methods[-1] if methods else "",
        counts=counted([set(t.cov) for t in failing_tests], [set(t.cov) for t in passing_tests]),
        runs=1,
        milliseconds=1000 * (time.monotonic() - began),
        blind=evidence.seen.blind,
        view=view.value,
    )


def try_substitutions(
    sandbox: Sandbox,
    record: FaultRecord,
    tests: str,
    others: Iterable[str],
    before: FailureEvidence,
    plausible: Collection[str],
    view: LocatorView = LocatorView.PROGRAM,
    opinions: int | None = None,
) -> FailureEvidence:
    """Substitute other models' implementations for the plausible methods."""
    began = time.monotonic()
    failing, nodes = _failing_run(record, tests, view)
    tried = list(alternatives(record, others, plausible, opinions))
    result = run_substitutions(sandbox, failing, tried)
    return replace(
        before,
        swaps={nodes[function]: own for function, own in result.swapped.items()},
        failing=result.failing,
        opinions=opinions,
        runs=before.runs + result.runs,
        milliseconds=before.milliseconds + 1000 * (time.monotonic() - began),
    )


def _failing_run(
    record: FaultRecord, tests: str, view: LocatorView
) -> tuple[FailingRun, dict[str, str]]:
    """Return the failing run, and the method name of each qualified name."""
    failing, passing = _tests(record, view)
    names = tuple(f"{t.test_class}.{t.test_name}" for t in (*failing, *passing))
    passing_names = frozenset(f"{t.test_class}.{t.test_name}" for t in passing)
    nodes = {f"{record.class_name}.{method.name}": method.name for method in record.methods}
    form = ClassForm(name=record.class_name, skeleton=record.skeleton)
    parses = class_in(record.skeleton, record.class_name)  # some published skeletons do not
    planned = class_planner.contracts(form) if parses else []
    contracts = {f"{record.class_name}.{contract.name}": contract for contract in planned}
    trial = TracePlan(tests, names, _SECONDS, passing=passing_names)
    return FailingRun(record.generated_code, tuple(nodes), trial, contracts), nodes


def _tests(record: FaultRecord, view: LocatorView) -> tuple[list[FailingTest], list[PassingTest]]:
    """Return the failing and the passing tests of a view."""
    return (
        [t for t in record.failing_tests if _in(t.test_class, record, view)],
        [t for t in record.passing_tests if _in(t.test_class, record, view)],
    )


def _in(test_class: str, record: FaultRecord, view: LocatorView) -> bool:
    return view is LocatorView.ALL or test_class == record.integration_class


def _without_class(feature: Feature, nodes: Mapping[str, str]) -> Feature:
    """Replace the qualified name of a method by its name, as in fault records."""
    return feature._replace(node=nodes.get(feature.node, feature.node))


def alternatives(
    record: FaultRecord,
    others: Iterable[str],
    plausible: Collection[str],
    opinions: int | None = None,
) -> Iterator[SubstitutedProgram]:
    """Yield the class with one method replaced by another model's implementation.

    The most common implementations come first. With `opinions`, that many answers are drawn at
    random instead, since in a run a single model is asked.
    """
    name = record.class_name
    if class_in(record.generated_code, name) is None:
        return
    own = _bodies(record.generated_code, name)
    known: dict[str, dict[str, list[str]]] = {}
    for other in others:
        for method, body in _bodies(other, name).items():
            if body and (body != own.get(method) or opinions is not None):
                known.setdefault(method, {}).setdefault(body, []).append(other)
    methods = {method.name for method in record.methods}
    for method in (method for method in plausible if method in methods):
        codes_by_body = known.get(method, {})
        if opinions is None:
            chosen = sorted(codes_by_body.values(), key=len, reverse=True)[:MOST_SWAPS]
        else:
            drawn = _draw(codes_by_body, opinions, f"{record.id} {method}")
            chosen = [codes_by_body[body] for body in drawn if body != own.get(method)]
        for code, *_ in chosen:
            program = splice(record.generated_code, code, name, [method])
            yield SubstitutedProgram(f"{name}.{method}", program)


def _draw(codes_by_body: Mapping[str, list[str]], number: int, seed: str) -> list[str]:
    """Draw `number` answers at random, including equal ones; return their distinct bodies."""
    bodies = [body for body, codes in codes_by_body.items() for _ in codes]
    random.Random(seed).shuffle(bodies)  # noqa: S311 - reproducible, not secret
    return list(dict.fromkeys(bodies[:number]))


def _bodies(code: str, class_name: str) -> dict[str, str]:
    """Return a normalised form of each method's code; empty for a stub."""
    bodies = {}
    for name, nodes in methods_of(code, class_name).items():
        bodies[name] = "" if is_stub(nodes[-1]) else meaning(nodes[-1])
    return bodies
