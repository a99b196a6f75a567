"""Starts, resumes and replays runs of any method."""

import platform
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, NamedTuple, cast

import msgspec

from auditcoder import __version__, prompts
from auditcoder.domain.chain import EMPTY, EntryReader, Head, starts
from auditcoder.domain.doubts import OpenDoubt, described_doubts
from auditcoder.domain.errors import (
    EndOfRecord,
    ModelMisconfigured,
    NotFound,
    RecordRefused,
    RecordUnreadable,
    ReplayDiverged,
)
from auditcoder.domain.events import Manifest, RunFinished, RunOutcome, RunStarted
from auditcoder.domain.execution import Execution
from auditcoder.domain.execution import ExecutionOutcome as Seen
from auditcoder.domain.request import Price, Reply, Request, TokenLimits, Traits
from auditcoder.domain.task import Task
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import Digest, RunId, Value
from auditcoder.lifecycle.budget import BudgetLedger
from auditcoder.lifecycle.export_import import verified_head, verified_trace
from auditcoder.lifecycle.locating.evidence_model import weights_digest
from auditcoder.lifecycle.loop import Strategy, auditcoder_strategy, run_strategy
from auditcoder.lifecycle.model_client import ModelClient
from auditcoder.lifecycle.options import (
    LocatorName,
    ManifestPart,
    Options,
    read_options,
    recorded_texts,
    recorded_values,
)
from auditcoder.lifecycle.ports import Model, Sandbox, TraceReader, TraceStore
from auditcoder.lifecycle.recorder import Recorder, Watch
from auditcoder.lifecycle.replayer import Replayer
from auditcoder.lifecycle.retry_policy import RetryPolicy
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.token_limits import limits_for

OTHER_PROMPTS = "replay.prompts"
"""The code of the error for a record that was made with other prompts, so it was not replayed."""


def _unchanged(options: Options) -> Options:
    return options


class Method(NamedTuple):
    """A named strategy for solving tasks; `fix_options` sets the options that it fixes."""

    name: str
    strategy: Strategy
    fix_options: Callable[[Options], Options] = _unchanged
    prompts: Callable[[], dict[str, Digest]] = dict
    """The digests of prompts that only this method uses."""


AUDITCODER = Method("auditcoder", auditcoder_strategy)
"""The default method: the lifecycle of this package."""

BUILT_IN: Mapping[str, Method] = {AUDITCODER.name: AUDITCODER}


def method_of(manifest: Manifest, methods: Mapping[str, Method]) -> Method:
    """Return the method that made a run, or raise NotFound with what to install."""
    try:
        return methods[manifest.method]
    except KeyError:
        raise NotFound(
            "method.unknown",
            f"the run was made by the method {manifest.method!r}, which is not installed",
            "install auditcoder-bench, which provides the compared methods",
        ) from None


class RunResources(NamedTuple):
    """The store, models, sandbox and retry policy of a run."""

    store: TraceStore
    model: Model
    sandbox: Sandbox
    retry_policy: RetryPolicy = RetryPolicy()
    consulted: Model | None = None
    """The model for second opinions; None if it is `model`."""

    @property
    def price(self) -> Price | None:
        """The higher price of both models; None if one of them is unknown."""
        first = self.model.traits.price
        second = self.consulted.traits.price if self.consulted else first
        return first.maximum(second) if first and second else None


class Solution(NamedTuple):
    """The result of a run: the program and the trace of its construction."""

    run: RunId
    outcome: RunOutcome
    program: str | None
    """The program; None if none was assembled."""
    trace: Trace
    """The whole record, folded from its events."""
    doubts: tuple[OpenDoubt, ...] = ()
    """If it passed: the checks that still fail, none of which was given with the task."""

    @property
    def passed(self) -> bool:
        """Whether the program passes every check that counts for its rank."""
        return self.outcome is RunOutcome.PASSED


class ReplayReport(Value):
    """The result of a replay."""

    run: RunId
    events: int
    """Number of events that the replay reproduced byte for byte."""
    head: Head
    finished: bool
    differences: tuple[str, ...] = ()
    """Checks whose result differed when they ran again."""

    @property
    def same(self) -> bool:
        """Whether every repeated check had its recorded result."""
        return not self.differences


def new_run_id(task: Task) -> RunId:
    """Return a readable and unique id for a run, from the task's title and random digits."""
    words = re.findall(r"[a-z0-9]+", task.title.lower().encode("ascii", "ignore").decode())
    return RunId("-".join([*words[:4], secrets.token_hex(3)])[:100])


def _now() -> datetime:
    return datetime.now(UTC)


def manifest_for(tools: RunResources, options: Options, method: Method = AUDITCODER) -> Manifest:
    """Return the manifest of a run: everything that a reproduction would have to keep the same."""
    model = tools.model
    options = options.decided(model.traits)
    versions = {"auditcoder": __version__, "python": platform.python_version()}
    for package in ("msgspec", "xllamacpp", "pydantic-ai-slim"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    settings = {
        **recorded_texts(options, ManifestPart.SETTINGS),
        "locator_weights": weights_digest()[:16] if options.locator is LocatorName.WEIGHED else "",
        **_second_opinion_settings(tools.consulted),
        "budget": msgspec.json.encode(options.budget).decode(),
        "price": msgspec.json.encode(tools.price).decode(),
        "parallel": str(model.traits.parallel),
        "token_limits": _limits_text(options, model),
        **({_OPINION_LIMITS: _limits_text(options, tools.consulted)} if tools.consulted else {}),
    }
    return Manifest(
        method=method.name,
        model=model.name,
        weights=model.traits.weights,
        decoding=recorded_texts(options, ManifestPart.DECODING),
        prompts={**prompts.digests(), **method.prompts()},
        sandbox=tools.sandbox.kind,
        versions=versions,
        settings=settings,
        **recorded_values(options, ManifestPart.FIELD),
    )


def _second_opinion_settings(consulted: Model | None) -> dict[str, str]:
    if consulted is None:
        return {}
    weights = consulted.traits.weights or ""
    return {
        "second_opinions_by": consulted.name,
        "second_opinions_weights": weights[:16],
    }


_OPINION_LIMITS = "second_opinions_token_limits"
"""The setting with the token limits of the model for second opinions."""


def _limits_text(options: Options, model: Model) -> str:
    return msgspec.json.encode(limits_for(options, model.traits.limits)).decode()


def _limits_of(manifest: Manifest, name: str = "token_limits") -> TokenLimits:
    """Return recorded token limits; records from before them were made with the tight ones."""
    with _refuse_unreadable_settings():
        return msgspec.json.decode(manifest.settings.get(name, "{}"), type=TokenLimits)


def _context(
    begun: RunStarted, options: Options, recorder: Recorder, client: ModelClient, sandbox: Sandbox
) -> RunContext:
    """Return the context of a run with the settings that its first event records."""
    return RunContext(
        begun.task,
        options,
        recorder,
        client,
        sandbox,
        _parallel_of(begun.manifest),
        _limits_of(begun.manifest),
        _limits_of(begun.manifest, _OPINION_LIMITS)
        if _OPINION_LIMITS in begun.manifest.settings
        else None,
    )


def options_of(manifest: Manifest) -> Options:
    """Return the options that a manifest records."""
    with _refuse_unreadable_settings():
        return read_options(manifest)


def _price_of(manifest: Manifest) -> Price | None:
    with _refuse_unreadable_settings():
        return msgspec.json.decode(manifest.settings.get("price", "null"), type=Price | None)


_Parallel = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


def _parallel_of(manifest: Manifest) -> int:
    with _refuse_unreadable_settings():
        return msgspec.convert(manifest.settings.get("parallel", "1"), _Parallel, strict=False)


@contextmanager
def _refuse_unreadable_settings() -> Iterator[None]:
    try:
        yield
    except (KeyError, ValueError, OverflowError, RecursionError) as error:
        raise RecordUnreadable(
            "record.not-solved",
            "the settings in this record are not those of a run that `solve` made, so it cannot be"
            " replayed or resumed",
            "`auditcoder show` and `verify` work with any record",
        ) from error


def start(
    tools: RunResources,
    task: Task,
    options: Options,
    run: RunId | None = None,
    watch: Watch | None = None,
    method: Method = AUDITCODER,
) -> Solution:
    """Solve a task with a method; every event is durable before the next step."""
    run = run or new_run_id(task)
    options = method.fix_options(options).decided(tools.model.traits)
    if tools.store.head(run) != EMPTY:
        raise RecordRefused(
            "run.exists",
            f"run {run} exists already",
            f"choose another id, or continue it: `auditcoder resume {run}`",
        )
    budget = BudgetLedger(options.budget, tools.price)
    manifest = manifest_for(tools, options, method)
    recorder = Recorder.start(tools.store, run, task, _now, manifest)
    begun = started(tools.store, run)
    if watch is not None:
        watch(0, begun)
        recorder.watch = watch
    client = ModelClient(
        tools.model, recorder, budget, tools.retry_policy, consulted=tools.consulted
    )
    run_strategy(_context(begun, options, recorder, client, tools.sandbox), method.strategy)
    return solution(tools.store, run)


def resume(
    tools: RunResources,
    run: RunId,
    watch: Watch | None = None,
    methods: Mapping[str, Method] = BUILT_IN,
) -> Solution:
    """Continue an interrupted run; recorded requests and checks are not repeated."""
    verified_head(tools.store, run)
    begun = started(tools.store, run)
    if finished(tools.store, run):
        return solution(tools.store, run)
    method = method_of(begun.manifest, methods)
    options = options_of(begun.manifest)
    manifest = manifest_for(tools, options, method)
    budget = BudgetLedger(options.budget, _price_of(begun.manifest))
    recorder = Replayer.open(tools.store, run, _now, manifest, budget.charge)
    if watch is not None:
        watch(0, begun)
        recorder.watch = watch
    client = ModelClient(
        tools.model, recorder, budget, tools.retry_policy, consulted=tools.consulted
    )
    run_strategy(_context(begun, options, recorder, client, tools.sandbox), method.strategy)
    return solution(tools.store, run)


def replay(
    reader: TraceReader,
    run: RunId,
    sandbox: Sandbox | None,
    methods: Mapping[str, Method] = BUILT_IN,
) -> ReplayReport:
    """Replay a run without a model and compare every event with the record.

    With a sandbox, every check runs again too; without one, the recorded evidence is used.
    """
    verified_head(reader, run)
    begun = started(reader, run)
    options = options_of(begun.manifest)
    # The cast is safe: without a manifest to resume with, the replayer never appends.
    budget = BudgetLedger(options.budget, _price_of(begun.manifest))
    recorder = Replayer.open(cast("TraceStore", reader), run, _now, None, budget.charge)
    differences: list[str] = []
    client = ModelClient(_NoModel(), recorder, budget)
    context = replace(
        _context(begun, options, recorder, client, sandbox or _NoSandbox()),
        on_difference=differences.append if sandbox is not None else None,
    )
    ended = finished(reader, run)
    method = method_of(begun.manifest, methods)
    try:
        run_strategy(context, method.strategy)
    except EndOfRecord:
        if ended:
            raise
    except ReplayDiverged as diverged:
        raise _explained(diverged, begun, method) from diverged
    head = recorder.head
    return ReplayReport(
        run=run,
        events=head.entries,
        head=head,
        finished=ended,
        differences=tuple(differences),
    )


def _explained(diverged: ReplayDiverged, begun: RunStarted, method: Method) -> ReplayDiverged:
    """Name the prompts that have changed since a run was recorded, if any have."""
    present = {**prompts.digests(), **method.prompts()}
    recorded = begun.manifest.prompts
    changed = sorted(name for name in recorded if present.get(name) != recorded[name])
    if not changed:
        return diverged
    version = begun.manifest.versions.get("auditcoder", "its own version")
    return ReplayDiverged(
        OTHER_PROMPTS,
        f"run {begun.run} was recorded with other prompts: {', '.join(changed)}",
        f"replay it with auditcoder {version}; verify, show and export work with any version",
    )


def started(reader: TraceReader, run: RunId) -> RunStarted:
    """Return a run's first event."""
    for body in reader.read(run):
        return starts(EntryReader().read(body))
    raise NotFound("run.unknown", f"there is no run {run} here", "`auditcoder runs` lists them")


def finished(reader: TraceReader, run: RunId) -> bool:
    """Whether the last event of a run is RunFinished."""
    entries = EntryReader()
    head = reader.head(run)
    entries.read(next(iter(reader.read(run)), b""))
    last = next(iter(reader.read(run, head.entries - 1)), b"")
    return head.entries > 1 and isinstance(entries.read(last).event, RunFinished)


def solution(reader: TraceReader, run: RunId) -> Solution:
    """Return the result of a finished run."""
    trace = verified_trace(reader, run)
    assembly = trace.working.assembly
    program = reader.blob(assembly.program).decode() if assembly else None
    assert trace.finish is not None
    return Solution(run, trace.finish.outcome, program, trace, described_doubts(trace, reader.blob))


class _NoModel:
    """The model of a replay: every call raises, since replies come from the record."""

    name = "none"
    traits = Traits()

    def complete(self, request: Request) -> Reply:
        """Refuse."""
        raise ModelMisconfigured(
            "replay.miss", f"a replay has no model for request {request.digest[:16]}"
        )

    def close(self) -> None:
        """Do nothing."""


class _NoSandbox:
    """The sandbox of a replay without one: every execution raises EndOfRecord."""

    kind = "none"

    def run(self, _execution: Execution) -> Seen:
        """Refuse."""
        raise EndOfRecord

    def close(self) -> None:
        """Do nothing."""
