"""Experiments: finds the data of a suite, and opens the resources of jobs in each process."""

import threading
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from auditcoder.adapters.stores.sql import SqlStore
from auditcoder.adapters.user_folders import cache_folder
from auditcoder.domain.errors import DataUnavailable, NotFound
from auditcoder.domain.values import Value
from auditcoder.interfaces.api import retry_policy_for
from auditcoder.interfaces.factories import Say, open_model, open_sandbox
from auditcoder.interfaces.record_sources import open_store
from auditcoder.interfaces.settings import Settings, read_settings
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.ports import JudgedStore, Model, Sandbox
from auditcoder.lifecycle.runs import RunResources
from auditcoder_bench import datasets
from auditcoder_bench.models.cached import CachedModel
from auditcoder_bench.problem import Problem
from auditcoder_bench.runner import Job, JobResult, choose, perform
from auditcoder_bench.suites import suite
from auditcoder_bench.suites.suite import DataFile, Suite


class Experiment(Value):
    """The settings that the jobs of one experiment share; sent to every worker process."""

    suite: str
    store: str | None = None
    model: str | None = None
    data: str | None = None
    options: Options = Options()
    """The options of each run."""
    recall: str | None = None
    """A store whose recorded replies are reused for identical requests."""
    at_once: int = 1
    """The number of concurrent jobs per process."""


def problems_of(chosen: Suite, data: Path | None) -> list[Problem]:
    """Read the problems of a suite, without its unusable ones."""
    problems = chosen.read(files_of(chosen, data))
    return [problem for problem in problems if problem.id not in chosen.unusable]


def files_of(chosen: Suite, data: Path | None) -> dict[str, Path]:
    """Return the files of a suite, from a local copy if there is one, else downloaded."""
    return {source.path: _file(chosen, source, data) for source in chosen.sources}


def _file(chosen: Suite, source: DataFile, data: Path | None) -> Path:
    if data is not None:
        for path in (source.path, *source.instead):
            if (data / path).is_file():
                return data / path
    if not source.url:
        raise DataUnavailable(
            "data.missing",
            f"{chosen.title} needs {source.path}, which cannot be downloaded",
            source.advice or f"put it at {source.path} in a folder, and pass the folder as --data",
        )
    return datasets.obtain(source.url, source.sha256, data_cache() / source.path)


def data_cache() -> Path:
    """Return the folder of downloaded data sets."""
    return (cache_folder() or Path(".auditcoder")) / "suites"


class _Resources(NamedTuple):
    """The resources of one process for the jobs of one experiment."""

    tools: RunResources
    ledger: JudgedStore
    problems: dict[str, Problem]
    held: ExitStack
    """Closes the other resources."""


class Worker:
    """Runs jobs of one experiment. It can be pickled, and opens its resources in each process."""

    def __init__(self, experiment: Experiment, say: Say | None = None) -> None:
        self._experiment = experiment
        self._say = say

    def __getstate__(self) -> Experiment:
        """Pickle the experiment alone."""
        return self._experiment

    def __setstate__(self, experiment: Experiment) -> None:
        """Restore the experiment in another process."""
        self._experiment = experiment
        self._say = None

    def __call__(self, job: Job) -> JobResult:
        """Complete one job."""
        opened = self._resources()
        problem = opened.problems[job.problem]
        return perform(opened.tools, opened.ledger, job, problem, self._experiment.options)

    def _resources(self) -> _Resources:
        key = msgspec.json.encode(self._experiment)
        with _resources_lock:
            if key not in _open_resources:
                _open_resources[key] = _open(self._experiment, self._say or (lambda _line: None))
            return _open_resources[key]

    def close(self) -> None:
        """Close the resources that this process opened for the experiment."""
        with _resources_lock:
            opened = _open_resources.pop(msgspec.json.encode(self._experiment), None)
        if opened is not None:
            opened.held.close()


_resources_lock = threading.Lock()
_open_resources: dict[bytes, _Resources] = {}
"""The open resources of each experiment in this process."""


def sandbox_for(chosen: Suite, settings: Settings, say: Say) -> Sandbox:
    """Open a sandbox in which programs may import the packages of a suite."""
    if missing := [name for name in chosen.packages if find_spec(name) is None]:
        raise DataUnavailable(
            "suite.extra",
            f"packages that {chosen.title} needs are not installed: {', '.join(missing)}",
            f"pip install 'auditcoder-bench[{chosen.extra}]'",
        )
    packages = tuple(dict.fromkeys((*settings.packages, *chosen.packages)))
    return open_sandbox(replace(settings, packages=packages), say)


def _open(experiment: Experiment, say: Say) -> _Resources:
    chosen = suite(experiment.suite)
    with ExitStack() as held:
        sandbox = held.enter_context(closing(sandbox_for(chosen, read_settings(), say)))
        tools, ledger = open_tools(experiment, sandbox, held, say)
        data = Path(experiment.data) if experiment.data else None
        problems = {p.id: p for p in problems_of(chosen, data)}
        return _Resources(tools, ledger, problems, held.pop_all())


def open_tools(
    experiment: Experiment, sandbox: Sandbox, held: ExitStack, say: Say
) -> tuple[RunResources, SqlStore]:
    """Open the store and the models of an experiment; `held` closes them."""
    settings = read_settings()
    address = experiment.model or settings.model
    store = held.enter_context(closing(open_store(experiment.store, create=True)))

    def opened(name: str) -> Model:
        return held.enter_context(
            closing(open_model(name, settings, say, at_once=experiment.at_once))
        )

    model = opened(address)
    if experiment.recall:
        known = held.enter_context(closing(open_store(experiment.recall)))
        model = CachedModel(model, known)
    # The same model is not loaded twice.
    other = experiment.options.second_opinions_by
    consulted = opened(other) if other and other != address else None
    return RunResources(
        store, model, sandbox, retry_policy_for(address, settings), consulted
    ), store


def chosen_ids(experiment: Experiment, ids: tuple[str, ...]) -> list[str]:
    """Return the ids of the problems to run: these ids, or the default of the suite."""
    known = suite(experiment.suite)
    problems = problems_of(known, Path(experiment.data) if experiment.data else None)
    return [
        problem.id
        for problem in choose(problems, _expand_sample(known, problems, ids) or known.ids)
    ]


def _expand_sample(known: Suite, problems: list[Problem], ids: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of a sample if the only id is `@name`, otherwise the ids as given."""
    if len(ids) != 1 or not ids[0].startswith("@"):
        return ids
    name = ids[0].removeprefix("@")
    if name not in known.samples:
        names = ", ".join(f"@{sample}" for sample in known.samples) or "none"
        raise NotFound(
            "sample.unknown",
            f"{known.title} has no sample {name}",
            f"its samples: {names}; or give problem ids, separated by commas",
        )
    return known.samples[name](problems)
