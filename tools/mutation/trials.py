"""Runs tests on mutants: each mutant in a forked process that imports it in place of its module."""

import contextlib
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import CodeType, ModuleType

import hypothesis
import pytest

from mutation.conditions import Mutant, compile_mutant

OPTIONS = (
    *("-x", "-m", "not campaign", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
UNCHANGED_SECONDS = 3600.0
"""Limit for the tests on unchanged modules; it only ends tests that hang."""


class TrialFailed(Exception):
    """The tests could not be run, which says nothing about a mutant."""


class Outcome(Enum):
    """What the tests said about a mutant."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"


@dataclass(frozen=True)
class Trial:
    """The tests of one mutant, up to the first that fails."""

    outcome: Outcome
    test: str
    """The test that failed; empty if none did."""
    seconds: float


@dataclass(frozen=True)
class _Report:
    """What a forked process sends."""

    code: pytest.ExitCode
    """The exit code of pytest in the last stage that was run."""
    failed_test: str
    imported: frozenset[str]
    """The files of all imported modules."""


@dataclass(frozen=True)
class _Running:
    process: ForkProcess
    answer: Connection
    began: float

    def stop(self) -> None:
        """Kill the process and what it started."""
        assert self.process.pid is not None
        self.process.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.join()


def warm_up() -> None:
    """Make the tests repeatable; the processes forked later share what is imported here."""
    hypothesis.settings.register_profile(
        "mutants",
        derandomize=True,
        database=None,
        deadline=None,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutants")


def try_unchanged(tests: Sequence[Path]) -> tuple[Trial, frozenset[str]]:
    """Run all tests on the unchanged modules; also return the files of the imported modules."""
    running = _start([tests], None)
    answered = running.answer.poll(UNCHANGED_SECONDS)
    report = _read_report(running) if answered else None
    running.stop()
    seconds = time.monotonic() - running.began
    if report is None:
        return Trial(Outcome.TIMED_OUT, "", seconds), frozenset()
    return _trial(report, seconds), report.imported


def try_mutants(
    root: Path, mutants: Iterable[Mutant], tests: Sequence[Path], processes: int, limit: float
) -> Iterator[tuple[Mutant, Trial]]:
    """Run the tests on each mutant, in `processes` at a time, for `limit` seconds at most each."""
    todo = iter(mutants)
    running: dict[int, tuple[Mutant, _Running]] = {}
    try:
        while True:
            while len(running) < processes and (mutant := next(todo, None)):
                started = _start(stages(mutant, tests), (root, mutant))
                running[started.process.sentinel] = mutant, started
            if not running:
                return
            oldest = min(each.began for _, each in running.values())
            ready = set(wait(list(running), max(0.0, oldest + limit - time.monotonic())))
            for sentinel, (mutant, each) in list(running.items()):
                seconds = time.monotonic() - each.began
                if sentinel in ready:
                    trial = _trial(_read_report(each), seconds)
                elif seconds >= limit:
                    trial = Trial(Outcome.TIMED_OUT, "", seconds)
                else:
                    continue
                each.stop()
                del running[sentinel]
                yield mutant, trial
    finally:
        for _, each in running.values():
            each.stop()


def stages(mutant: Mutant, tests: Sequence[Path]) -> list[list[Path]]:
    """Divide tests in those of the mutated module, which run first, and the others."""
    path = mutant.path
    name = path.parent.name if path.stem == "__init__" else path.stem
    own = [test for test in tests if test.name == f"test_{name}.py"]
    return [stage for stage in (own, [test for test in tests if test not in own]) if stage]


def _trial(report: _Report, seconds: float) -> Trial:
    match report.code:
        case pytest.ExitCode.OK:
            return Trial(Outcome.SURVIVED, "", seconds)
        case pytest.ExitCode.TESTS_FAILED | pytest.ExitCode.INTERRUPTED:
            return Trial(Outcome.KILLED, report.failed_test, seconds)
        case code:
            raise TrialFailed(f"pytest ended with exit code {code}")


def _start(tests: Sequence[Sequence[Path]], mutated: tuple[Path, Mutant] | None) -> _Running:
    context = get_context("fork")
    answer, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run_tests, args=(tests, mutated, sender))
    process.start()
    sender.close()
    return _Running(process, answer, time.monotonic())


def _read_report(running: _Running) -> _Report:
    """Return the report; a mutant can also end the process that runs its tests."""
    with contextlib.suppress(EOFError):
        report: _Report = running.answer.recv()
        return report
    running.process.join()
    if running.process.exitcode == 1:
        raise TrialFailed("a process could not run any test")
    return _Report(pytest.ExitCode.TESTS_FAILED, "(the process ended)", frozenset())


def _run_tests(
    tests: Sequence[Sequence[Path]], mutated: tuple[Path, Mutant] | None, sender: Connection
) -> None:
    """Run the tests stage by stage until one fails, and send the report."""
    os.setsid()
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 0)
    os.dup2(silence, 1)
    if mutated is not None:
        root, mutant = mutated
        path = root / mutant.path
        sys.meta_path.insert(0, _MutantFinder(path, compile_mutant(mutant, path)))
    witness, code = _Witness(), pytest.ExitCode.NO_TESTS_COLLECTED
    for stage in tests:
        code = pytest.ExitCode(pytest.main([*OPTIONS, *map(str, stage)], plugins=[witness]))
        if code != pytest.ExitCode.OK:
            break
    modules = list(sys.modules.values())
    imported = frozenset(str(getattr(module, "__file__", "")) for module in modules)
    sender.send(_Report(code, witness.failed, imported))


class _Witness:
    """A plugin that remembers the first test that failed."""

    failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a test that failed."""
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember a test module that could not be imported."""
        if report.failed:
            self.failed = self.failed or report.nodeid


class _MutantFinder(importlib.machinery.PathFinder):
    """Finds modules as usual, except that one file has other code."""

    def __init__(self, path: Path, code: CodeType) -> None:
        self.path, self.code = str(path), code

    def find_spec(  # type: ignore[override]
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module; its loader executes the mutant if the module is the mutated one."""
        spec = super().find_spec(fullname, path, target)
        if spec is None or spec.origin != self.path:
            return None
        spec.loader = _MutantLoader(fullname, self.path, self.code)
        return spec


class _MutantLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        """Return the code of the mutant."""
        return self.code
