"""Ground truth: which methods of a failing class, taken from the reference, make tests pass."""

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
"""The node to blame where nothing but imports is missing."""


class FailingClass(NamedTuple):
    """A class as a model wrote it, and the task that it was written for."""

    subject: Subject
    code: str

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the reference's methods that it does not have."""
        own = methods_of(self.code, self.subject.class_name)
        return tuple(name for name in self.subject.unit_tests if name not in own)

    def with_reference(self, names: Iterable[str]) -> str:
        """Return its code with these methods as the reference has them."""
        subject = self.subject
        wanted = [name for name in subject.unit_tests if name in set(names)]
        return splice(self.code, subject.reference, subject.class_name, wanted)

    def program(self, code: str) -> ClassProgram:
        """Return code of this class, to be tested."""
        return ClassProgram(code, self.subject.class_name, self.subject.tests)


class TestView(NamedTuple):
    """The tests by which a class is judged."""

    cases: Sequence[Case]
    failing: Sequence[FailingTest]
    """Those of them that the class fails as it is."""
    unit_failing: tuple[str, ...] = ()
    """The methods whose own tests are among these."""


class TruthSearch(NamedTuple):
    """The ground truth, and whether it holds on a second run."""

    truth: GroundTruth
    steady: bool


def find_truth(sandbox: Sandbox, candidate: FailingClass, view: TestView) -> TruthSearch:
    """Find the smallest repair: one method, imports alone, or several methods."""
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
    apart = _sets_other_attributes(candidate)
    if kind == MULTI and apart and "__init__" in nodes:
        kind, subtype = INTERFACE, "shared_state"
    said = {
        "init_attrs_differ": apart,
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
        tags=tuple(tag for tag, holds in said.items() if holds),
        runs=search.runs,
    )
    return TruthSearch(truth, steady)


def _sets_other_attributes(candidate: FailingClass) -> bool:
    name = candidate.subject.class_name
    wanted = initial_attributes(candidate.subject.reference, name)
    return initial_attributes(candidate.code, name) != wanted


class _Search:
    """Tries sets of methods, none twice, and none that cannot do."""

    def __init__(self, sandbox: Sandbox, candidate: FailingClass, view: TestView) -> None:
        self.runs = 0
        self._sandbox = sandbox
        self._candidate = candidate
        self._view = view
        subject = candidate.subject
        self._methods = different(candidate.code, subject.reference, subject.class_name)
        self._alike = called_alike(candidate.code, subject.reference, subject.class_name)
        self._tried: dict[frozenset[str], bool] = {frozenset(): False}
        # What fails now is the likeliest to fail again, and the first failure ends a trial.
        failed = [(test.test_class, test.test_name) for test in view.failing]
        self._cases = [*failed, *(case for case in view.cases if case not in set(failed))]

    def single(self) -> str | None:
        """Return a method that alone makes all pass, if there is one; a failing one for choice."""
        ordered = sorted(self._methods, key=lambda name: name not in self._view.unit_failing)
        return next((name for name in ordered if self._passes([name])), None)

    def several(self) -> tuple[tuple[str, ...], str] | None:
        """Return methods that together make all pass, none too many, and where it began."""
        starts = {"unit_failing": self._view.unit_failing, "all_methods": self._methods}
        for via, start in starts.items():
            wanted = [name for name in self._methods if name in start]
            if self._passes(wanted):
                return self._whittled(wanted), via
        return None

    def _whittled(self, names: list[str]) -> tuple[str, ...]:
        """Drop what is not needed, until nothing can be dropped."""
        for name in names:
            rest = [other for other in names if other != name]
            if self._passes(rest):
                return self._whittled(rest)
        return tuple(names)

    def _passes(self, names: Sequence[str]) -> bool:
        key = frozenset(names)
        if key not in self._tried:
            self._tried[key] = self._can(key) and self.passes_with(
                self._candidate.with_reference(key)
            )
        return self._tried[key]

    def _can(self, names: frozenset[str]) -> bool:
        """Whether every failing test ran something of this: what never ran changes nothing.

        But for what is called otherwise than it is written, which fails before it runs.
        """
        if not names <= self._alike:
            return True
        # A test that took the process with it left no word of what ran.
        return all(names & set(test.cov) for test in self._view.failing if test.cov)

    def passes_with(self, code: str) -> bool:
        """Run all tests of the view below some code."""
        self.runs += 1
        program = self._candidate.program(code)
        return watch(self._sandbox, program, self._cases, trace=False, to_first=True).passes

    def holds(self, names: Iterable[str]) -> bool:
        """Whether a repair passes once more, by other chances."""
        self.runs += 1
        program = self._candidate.program(self._candidate.with_reference(names))
        again = watch(self._sandbox, program, self._cases, seed=1, trace=False, to_first=True)
        return again.passes
