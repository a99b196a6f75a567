"""The Python interface: `from auditcoder import solve`."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import Task
from auditcoder.domain.values import RunId, is_run_id
from auditcoder.interfaces.factories import Say, open_model, open_sandbox
from auditcoder.interfaces.record_sources import open_store
from auditcoder.interfaces.settings import ProviderSettings, Settings, read_settings
from auditcoder.interfaces.task_sources import read_task_source
from auditcoder.lifecycle.intake import NO_TASK_OPTIONS, TaskOptions
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.ports import Model
from auditcoder.lifecycle.recorder import Watch
from auditcoder.lifecycle.retry_policy import RetryPolicy
from auditcoder.lifecycle.runs import RunResources, Solution, new_run_id, start


def solve(
    task: str | Path | Task,
    options: Options | None = None,
    *,
    about: TaskOptions | None = None,
    tests: str | Path | None = None,
    model: str | Model | None = None,
    store: str | Path | None = None,
    run: str | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Turn a task into a program and the record of how it was built.

    `task` is the text of a task, the path of a file that holds one, or a `Task`. `options` are
    used exactly as given: neither the environment nor a configuration file changes them. `about`
    and `tests` complete a text or a file. `model` is an address as `--model` takes it, or any
    `auditcoder.lifecycle.ports.Model`; by default the configured one, else the embedded one. The
    run is kept in `store`, by default where the command line keeps its runs. `watch` is called
    with every event.

    Raises an `AuditCoderError` for an invalid task, a model that cannot be reached, or a sandbox
    or store that cannot be opened. A program that fails its checks is not an error: see `outcome`.
    """
    options = options or Options()
    if not isinstance(task, Task):
        task = read_task_source(task, about or NO_TASK_OPTIONS, Path(tests) if tests else None)
    store_address = str(store) if store is not None else None
    with open_resources(model, store_address, _silent, options.second_opinions_by) as opened:
        return start(opened, task, options, run_id(run, task), watch)


def run_id(named: str | None, task: Task) -> RunId:
    """Return the id `named` if it is valid; a new id if it is None."""
    if named is None:
        return new_run_id(task)
    if not is_run_id(named):
        raise TaskInvalid(
            "task.run-id",
            f"{named!r} is not a valid run id",
            "use at most 128 letters, digits, dots, dashes and underscores",
        )
    return RunId(named)


@contextmanager
def open_resources(
    model: str | Model | None, store: str | None, say: Say, consulted: str | Model | None = None
) -> Iterator[RunResources]:
    """Open the store, sandbox and models of a run; close all that were opened here."""
    settings = read_settings()
    with ExitStack() as stack:
        sandbox = stack.enter_context(closing(open_sandbox(settings, say)))

        def opened(named: str | Model) -> Model:
            if not isinstance(named, str):
                return named
            return stack.enter_context(closing(open_model(named, settings, say)))

        address = model or settings.model
        retry_policy = (
            retry_policy_for(address, settings) if isinstance(address, str) else RetryPolicy()
        )
        # Opening the same model again would only load it twice.
        other = consulted if consulted != address else None
        models = opened(address), opened(other) if other else None
        # Last, so that a mistyped model address does not leave an empty store behind.
        opened_store = stack.enter_context(closing(open_store(store, create=True)))
        yield RunResources(opened_store, models[0], sandbox, retry_policy, models[1])


def retry_policy_for(address: str, settings: Settings) -> RetryPolicy:
    """Return the retry policy that is configured for a model's provider."""
    provider = address.partition(":")[0]
    return settings.providers.get(provider, ProviderSettings()).retry_policy


def _silent(_line: str) -> None:
    """Discard a notice: a library does not print."""
