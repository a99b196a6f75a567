"""Contexts of runs that are being recorded, with a scripted model and a real sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.request import FREE
from auditcoder.domain.task import Task
from auditcoder.lifecycle.budget import Budget, BudgetLedger
from auditcoder.lifecycle.model_client import ModelClient
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.run_context import RunContext
from tests.support.record_builders import TASK
from tests.support.sketched_runs import sketching


class OpenRun(NamedTuple):
    """The context of a run, and the model behind it."""

    context: RunContext
    model: ScriptedModel


@contextmanager
def open_run(
    recorder: Recorder, *replies: str, task: Task = TASK, options: Options | None = None
) -> Iterator[OpenRun]:
    """Open the context of the run that `recorder` writes; the model gives `replies` in turn."""
    model = ScriptedModel(replies)
    client = ModelClient(model, recorder, BudgetLedger(Budget(), FREE))
    with LocalSandbox(layers=()) as sandbox:
        yield OpenRun(RunContext(task, options or sketching(), recorder, client, sandbox), model)
