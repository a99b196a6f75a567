"""Experiments: a suite's data found or fetched, and jobs done wherever an engine does them."""

import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from auditcoder.adapters import datasets
from auditcoder.adapters.models.recalling import RecallingModel
from auditcoder.adapters.stores.sql import SqlStore
from auditcoder.bench.problem import Problem
from auditcoder.bench.runner import Done, Job, Ledger, choose, perform
from auditcoder.bench.suite import Source, Suite
from auditcoder.bench.suites import suite
from auditcoder.domain.errors import DataUnavailable, NotFound
from auditcoder.domain.values import Value
from auditcoder.interfaces.api import patience_for
from auditcoder.interfaces.opening import Say, open_model, open_sandbox
from auditcoder.interfaces.settings import Settings, read_settings
from auditcoder.interfaces.sources import open_store
from auditcoder.lifecycle.budget import Budget
from auditcoder.lifecycle.ports import Model, Sandbox
from auditcoder.lifecycle.workshop import Options, WhichLocator
from auditcoder.methods.solving import Tools


class Experiment(Value):
    """What is compared, and with what: everything that whoever does a job has to know."""

    suite: str
    store: str | None = None
    model: str | None = None
    data: str | None = None
    max_repairs: int = 3
    locator: WhichLocator = WhichLocator.WEIGHED
    second_opinions: bool = True
    second_opinions_by: str | None = None
    """Another model that writes them."""
    fallback: bool = False
    budget_tokens: int | None = None
    seed: int | None = None
    recall: str | None = None
    """A store whose runs need not be asked again what they were asked."""
    at_once: int = 1
    """How many jobs one process does at the same time."""

    @property
    def options(self) -> Options:
        """How each run works."""
        return Options(
            max_repairs=self.max_repairs,
            locator=self.locator,
            second_opinions=self.second_opinions,
            fallback=self.fallback,
            budget=Budget(tokens=self.budget_tokens),
            seed=self.seed,
        )


def problems_of(chosen: Suite, data: Path | None) -> list[Problem]:
    """Read a suite's problems, but for those that are of no use."""
    problems = chosen.read(files_of(chosen, data))
    return [problem for problem in problems if problem.id not in chosen.unusable]


def files_of(chosen: Suite, data: Path | None) -> dict[str, Path]:
    """Return a suite's files: from a local copy if one is named, else from their home."""
    return {source.path: _file(chosen, source, data) for source in chosen.sources}


def _file(chosen: Suite, source: Source, data: Path | None) -> Path:
    if data is not None:
        for path in (source.path, *source.instead):
            if (data / path).is_file():
                return data / path
    if not source.url:
        raise DataUnavailable(
            "data.missing",
            f"{chosen.title} needs {source.path}, which cannot be fetched",
            source.advice or f"put it at {source.path} in a folder, and name that with --data",
        )
    return datasets.obtain(source.url, source.sha256, cache_folder() / source.path)


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where fetched data is kept."""
    home = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "auditcoder" / "suites"


class _Place(NamedTuple):
    """What a process needs to do jobs of one experiment, opened once."""

    tools: Tools
    ledger: Ledger
    problems: dict[str, Problem]
    held: ExitStack


class Worker:
    """Does jobs of one experiment. It can be sent to another process, and opens its own tools."""

    def __init__(self, experiment: Experiment, say: Say | None = None) -> None:
        self._experiment = experiment
        self._say = say

    def __getstate__(self) -> Experiment:
        """Send only what the experiment is."""
        return self._experiment

    def __setstate__(self, experiment: Experiment) -> None:
        """Arrive."""
        self._experiment = experiment
        self._say = None

    def __call__(self, job: Job) -> Done:
        """Do one job as far as it is not done."""
        place = self._place()
        problem = place.problems[job.problem]
        return perform(place.tools, place.ledger, job, problem, self._experiment.options)

    def _place(self) -> _Place:
        key = msgspec.json.encode(self._experiment)
        with _opening:
            if key not in _places:
                _places[key] = _open(self._experiment, self._say or (lambda _line: None))
            return _places[key]

    def close(self) -> None:
        """Close what this process opened for the experiment."""
        with _opening:
            place = _places.pop(msgspec.json.encode(self._experiment), None)
        if place is not None:
            place.held.close()


_opening = threading.Lock()
_places: dict[bytes, _Place] = {}
"""One for each experiment that this process works for."""


def sandbox_for(chosen: Suite, settings: Settings, say: Say) -> Sandbox:
    """Open a sandbox in which programs find the packages that they may import."""
    if lacking := [name for name in chosen.packages if find_spec(name) is None]:
        raise DataUnavailable(
            "suite.extra",
            f"programs for {chosen.title} may import {', '.join(lacking)}, not installed here",
            f"pip install 'auditcoder[{chosen.extra}]'",
        )
    packages = tuple(dict.fromkeys((*settings.packages, *chosen.packages)))
    return open_sandbox(replace(settings, packages=packages), say)


def _open(experiment: Experiment, say: Say) -> _Place:
    chosen = suite(experiment.suite)
    with ExitStack() as held:
        sandbox = held.enter_context(closing(sandbox_for(chosen, read_settings(), say)))
        tools, ledger = open_tools(experiment, sandbox, held, say)
        data = Path(experiment.data) if experiment.data else None
        problems = {p.id: p for p in problems_of(chosen, data)}
        return _Place(tools, ledger, problems, held.pop_all())


def open_tools(
    experiment: Experiment, sandbox: Sandbox, held: ExitStack, say: Say
) -> tuple[Tools, SqlStore]:
    """Open store and model of an experiment, for as long as `held` holds them."""
    settings = read_settings()
    address = experiment.model or settings.model
    store = held.enter_context(closing(open_store(experiment.store, create=True)))

    def opened(named: str) -> Model:
        return held.enter_context(
            closing(open_model(named, settings, say, at_once=experiment.at_once))
        )

    model = opened(address)
    if experiment.recall:
        known = held.enter_context(closing(open_store(experiment.recall)))
        model = RecallingModel(model, known)
    # The same model twice would only be read twice.
    other = experiment.second_opinions_by
    consulted = opened(other) if other and other != address else None
    return Tools(store, model, sandbox, patience_for(address, settings), consulted), store


def chosen_ids(experiment: Experiment, ids: tuple[str, ...]) -> list[str]:
    """Return the ids that an experiment is about: those asked for, else the suite's own choice."""
    known = suite(experiment.suite)
    problems = problems_of(known, Path(experiment.data) if experiment.data else None)
    return [problem.id for problem in choose(problems, _sampled(known, problems, ids) or known.ids)]


def _sampled(known: Suite, problems: list[Problem], ids: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids that `@name` stands for, or these ids."""
    if len(ids) != 1 or not ids[0].startswith("@"):
        return ids
    name = ids[0].removeprefix("@")
    if name not in known.samples:
        there = ", ".join(f"@{sample}" for sample in known.samples) or "none"
        raise NotFound(
            "sample.unknown",
            f"{known.title} has no sample {name}",
            f"its samples: {there}; or name problems, with commas",
        )
    return known.samples[name](problems)
