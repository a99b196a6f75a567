"""Finds the ground truth: the methods of a failing class whose replacement makes tests pass.

Replacements come from the reference solution.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.faultbench.failure_records import (
    INTERFACE,
    MULTI,
    SINGLE,
    UNFIXABLE,
    FailingTest,
    GroundTruth,
)
from auditcoder_bench.faultbench.method_splicer import (
    called_alike,
    different,
    initial_attributes,
    methods_of,
    missing_imports,
    splice,
    with_imports,
)
from auditcoder_bench.faultbench.method_test_run import Case, ClassProgram, watch
from auditcoder_bench.faultbench.published_answers import Subject

IMPORTS = "<imports>"
"""The faulty node if adding imports repairs the class."""


class FailingClass(NamedTuple):
    """A failing class that a model wrote, and its task."""

    subject: Subject
    code: str

    @property
    def missing(self) -> tuple[str, ...]:
        """The reference's methods that the class lacks."""
        own = methods_of(self.code, self.subject.class_name)
        return tuple(name for name in self.subject.unit_tests if name not in own)

    def with_reference(self, names: Iterable[str]) -> str:
        """Return the code with these methods replaced by those of the reference."""
        subject = self.subject
        wanted = [name for name in subject.unit_tests if name in set(names)]
        return splice(self.code, subject.reference, subject.class_name, wanted)

    def program(self, code: str) -> ClassProgram:
        """Return a version of the class with its tests."""
        return ClassProgram(code, self.subject.class_name, self.subject.tests)


class TestView(NamedTuple):
    """The tests that define the ground truth."""

    cases: Sequence[Case]
    failing: Sequence[FailingTest]
    """The tests that the unchanged class fails."""
    unit_failing: tuple[str, ...] = ()
    """The methods whose own test classes have a failing test."""


class TruthSearch(NamedTuple):
    """The ground truth, and whether a second run confirms it."""

    truth: GroundTruth
    steady: bool


def find_truth(sandbox: Sandbox, candidate: FailingClass, view: TestView) -> TruthSearch:
    """Find the smallest repair: one method, imports only, or several methods."""
    search = _Search(sandbox, candidate, view)
    imports = tuple(missing_imports(candidate.code))
    alone = bool(imports) and search.passes_with(with_imports(candidate.code, imports))
    nodes: tuple[str, ...] = ()
    kind, via, subtype = UNFIXABLE, "", ""
    if (one := search.single()) is not None:
        kind, nodes = SINGLE, (one,)
    elif alone:
        kind, nodes, subtype = INTERFACE, (IMPORTS,), "module_or_import"
    elif (several := search.several()) is not None:
        kind, (nodes, via) = MULTI, several
    different_state = _sets_other_attributes(candidate)
    if kind == MULTI and different_state and "__init__" in nodes:
        kind, subtype = INTERFACE, "shared_state"
    tags = {
        "init_attrs_differ": different_state,
        "missing_methods": bool(candidate.missing),
        "needs_unit_passing_method": bool(via) and not set(nodes) <= set(view.unit_failing),
        "init_in_repair": bool(via) and "__init__" in nodes,
    }
    steady = subtype == "module_or_import" or not nodes or search.holds(nodes)
    truth = GroundTruth(
        unit_failing=view.unit_failing,
        missing_methods=candidate.missing,
        missing_imports=imports,
        import_alone_fixes=alone,
        kind=kind,
        subtype=subtype,
        nodes=nodes,
        k=len(nodes),
        via=via,
        tags=tuple(tag for tag, holds in tags.items() if holds),
        runs=search.runs,
    )
    return TruthSearch(truth, steady)


def _sets_other_attributes(candidate: FailingClass) -> bool:
    name = candidate.subject.class_name
    wanted = initial_attributes(candidate.subject.reference, name)
    return initial_attributes(candidate.code, name) != wanted


class _Search:
    """Tries sets of replaced methods; skips sets that were tried or cannot repair the class."""

    def __init__(self, sandbox: Sandbox, candidate: FailingClass, view: TestView) -> None:
        self.runs = 0
        self._sandbox = sandbox
        self._candidate = candidate
        self._view = view
        subject = candidate.subject
        self._methods = different(candidate.code, subject.reference, subject.class_name)
        self._same_signature = called_alike(candidate.code, subject.reference, subject.class_name)
        self._tried: dict[frozenset[str], bool] = {frozenset(): False}
        # Failing tests come first: a trial ends at the first failure.
        failed = [(test.test_class, test.test_name) for test in view.failing]
        self._cases = [*failed, *(case for case in view.cases if case not in set(failed))]

    def single(self) -> str | None:
        """Return a method whose replacement makes all tests pass; None if there is none.

        Methods whose own tests fail are preferred.
        """
        ordered = sorted(self._methods, key=lambda name: name not in self._view.unit_failing)
        return next((name for name in ordered if self._passes([name])), None)

    def several(self) -> tuple[tuple[str, ...], str] | None:
        """Return a minimal set of methods whose replacement makes all tests pass, and its `via`."""
        starts = {"unit_failing": self._view.unit_failing, "all_methods": self._methods}
        for via, start in starts.items():
            wanted = [name for name in self._methods if name in start]
            if self._passes(wanted):
                return self._minimised(wanted), via
        return None

    def _minimised(self, names: list[str]) -> tuple[str, ...]:
        """Remove methods while the tests still pass."""
        for name in names:
            rest = [other for other in names if other != name]
            if self._passes(rest):
                return self._minimised(rest)
        return tuple(names)

    def _passes(self, names: Sequence[str]) -> bool:
        key = frozenset(names)
        if key not in self._tried:
            self._tried[key] = self._may_repair(key) and self.passes_with(
                self._candidate.with_reference(key)
            )
        return self._tried[key]

    def _may_repair(self, names: frozenset[str]) -> bool:
        """Whether replacing these methods can make every failing test pass.

        A method that a test never entered does not affect it, unless its signature differs from
        the reference's: then the call itself fails.
        """
        if not names <= self._same_signature:
            return True
        # A test that ended the process has no coverage.
        return all(names & set(test.cov) for test in self._view.failing if test.cov)

    def passes_with(self, code: str) -> bool:
        """Whether this code passes all tests of the view."""
        self.runs += 1
        program = self._candidate.program(code)
        return watch(self._sandbox, program, self._cases, trace=False, to_first=True).passes

    def holds(self, names: Iterable[str]) -> bool:
        """Whether a repair passes again with another random seed."""
        self.runs += 1
        program = self._candidate.program(self._candidate.with_reference(names))
        again = watch(self._sandbox, program, self._cases, seed=1, trace=False, to_first=True)
        return again.passes
