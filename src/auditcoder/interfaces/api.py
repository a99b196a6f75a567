"""The Python interface: `from auditcoder import solve`."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from enum import Enum
from pathlib import Path
from typing import TypeVar

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import Task
from auditcoder.domain.values import RunId, is_run_id
from auditcoder.interfaces.opening import Say, open_model, open_sandbox
from auditcoder.interfaces.settings import ProviderSettings, Settings, read_settings
from auditcoder.interfaces.sources import open_store
from auditcoder.interfaces.tasks import read_task_source
from auditcoder.lifecycle.budget import Budget
from auditcoder.lifecycle.intake import TaskOptions
from auditcoder.lifecycle.patience import Patience
from auditcoder.lifecycle.ports import Model
from auditcoder.lifecycle.recorder import Watch
from auditcoder.lifecycle.workshop import Build, Options, Planner, WhichLocator
from auditcoder.methods.solving import Solution, Tools, new_run_id, start

Choice = TypeVar("Choice", bound=Enum)


def solve(
    task: str | Path | Task,
    *,
    form: str | None = None,
    entry: str | None = None,
    signature: str | None = None,
    tests: str | Path | None = None,
    model: str | Model | None = None,
    planner: str = "sketch",
    build: str = "joint",
    max_repairs: int = 3,
    fallback: bool = False,
    differential: bool = False,
    review: bool = True,
    locator: str = "weighed",
    second_opinions: bool = True,
    second_opinions_by: str | Model | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    seed: int | None = None,
    store: str | Path | None = None,
    run: str | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Turn a task into a program and the record of how it was built.

    `task` is the text of a task, the path of a file that holds one, or a `Task`. `model` is an
    address as `--model` takes it, or anything with the shape of `auditcoder.lifecycle.ports.Model`;
    by default it is the configured one, else the embedded one. `second_opinions_by` is another one,
    for implementations to compare with; by default it is the same. The run is kept in `store`, by
    default where the command line keeps its runs. `watch` is called with every event.

    Raises an `AuditCoderError` for a task that cannot be understood, a model that cannot be
    reached, a sandbox or a store that cannot be opened. A program that fails its checks is no
    error: look at `outcome`.
    """
    if not isinstance(task, Task):
        asked = TaskOptions(form=form, entry=entry, signature=signature)
        task = read_task_source(task, asked, Path(tests) if tests is not None else None)
    options = Options(
        planner=_one_of(Planner, planner),
        build=_one_of(Build, build),
        max_repairs=max_repairs,
        fallback=fallback,
        differential=differential,
        review=review,
        locator=_one_of(WhichLocator, locator),
        second_opinions=second_opinions,
        budget=Budget(tokens=budget_tokens, usd=budget_usd),
        seed=seed,
    )
    kept = str(store) if store is not None else None
    with tools(model, kept, _silent, second_opinions_by) as opened:
        return start(opened, task, options, run_id(run, task), watch)


def _one_of(choices: type[Choice], named: str) -> Choice:
    try:
        return choices(named)
    except ValueError as error:
        known = ", ".join(str(choice.value) for choice in choices)
        raise TaskInvalid(
            "option.unknown", f"{named!r} is none of {known}", "choose one of them"
        ) from error


def run_id(named: str | None, task: Task) -> RunId:
    """Return the run's id: the one that was asked for, if it can be one."""
    if named is None:
        return new_run_id(task)
    if not is_run_id(named):
        raise TaskInvalid(
            "task.run-id",
            f"{named!r} cannot name a run",
            "use letters, digits, dots, dashes and underscores, at most 128 of them",
        )
    return RunId(named)


@contextmanager
def tools(
    model: str | Model | None, store: str | None, say: Say, consulted: str | Model | None = None
) -> Iterator[Tools]:
    """Open everything that a run is made with, and close what was opened here."""
    settings = read_settings()
    with ExitStack() as held:
        kept = held.enter_context(closing(open_store(store, create=True)))
        sandbox = held.enter_context(closing(open_sandbox(settings, say)))

        def opened(named: str | Model) -> Model:
            if not isinstance(named, str):
                return named
            return held.enter_context(closing(open_model(named, settings, say)))

        address = model or settings.model
        patience = patience_for(address, settings) if isinstance(address, str) else Patience()
        # The same model twice would only be read twice.
        other = consulted if consulted != address else None
        yield Tools(kept, opened(address), sandbox, patience, opened(other) if other else None)


def patience_for(address: str, settings: Settings) -> Patience:
    """Return how long to bear with a model, as its provider is configured."""
    provider = address.partition(":")[0]
    return settings.providers.get(provider, ProviderSettings()).patience


def _silent(_line: str) -> None:
    """Say nothing: a library does not print."""
