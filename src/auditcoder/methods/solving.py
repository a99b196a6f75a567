"""Starting a run, going on with one, and going through one again, whatever its method is."""

import platform
import re
import secrets
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple, cast

import msgspec

from auditcoder import __version__, prompts
from auditcoder.domain.chain import EMPTY, Head, Reader, starts
from auditcoder.domain.errors import (
    EndOfRecord,
    ModelMisconfigured,
    NotFound,
    RecordRefused,
    RecordUnreadable,
)
from auditcoder.domain.events import Manifest, Outcome, RunFinished, RunStarted
from auditcoder.domain.execution import Execution
from auditcoder.domain.execution import Outcome as Seen
from auditcoder.domain.request import Price, Reply, Request, Traits
from auditcoder.domain.task import Task
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.values import RunId, Value
from auditcoder.lifecycle.asking import Asker
from auditcoder.lifecycle.budget import Budget, Purse
from auditcoder.lifecycle.locating.weighed import weights_digest
from auditcoder.lifecycle.loop import live
from auditcoder.lifecycle.patience import Patience
from auditcoder.lifecycle.ports import Model, Sandbox, TraceReader, TraceStore
from auditcoder.lifecycle.recorder import Recorder, Watch
from auditcoder.lifecycle.workshop import Build, Options, Planner, WhichLocator, Workshop
from auditcoder.methods import method

DEFAULT = "auditcoder"
CONSULTED = "second_opinions_by"
"""The setting under which a manifest names who is asked for second opinions."""


class Tools(NamedTuple):
    """What a run is made with."""

    store: TraceStore
    model: Model
    sandbox: Sandbox
    patience: Patience = Patience()
    consulted: Model | None = None
    """Who is asked for second opinions, if that is another model."""

    @property
    def price(self) -> Price | None:
        """What tokens cost at most, whoever is asked; None if that is not known."""
        first = self.model.traits.price
        second = self.consulted.traits.price if self.consulted else first
        return first.or_that(second) if first and second else None


class Solution(NamedTuple):
    """What solving a task yields: a program, and the record of how it was built."""

    run: RunId
    outcome: Outcome
    program: str | None
    """The program; None if none was ever put together."""
    trace: Trace
    """Everything the record says."""

    @property
    def passed(self) -> bool:
        """Whether every check that decides has passed."""
        return self.outcome is Outcome.PASSED


class Replayed(Value):
    """What going through a record again showed."""

    run: RunId
    events: int
    """How many events came out again, byte for byte."""
    head: Head
    finished: bool
    differences: tuple[str, ...] = ()
    """Checks that saw something else when they ran again."""

    @property
    def same(self) -> bool:
        """Whether everything came out as it is on record."""
        return not self.differences


def new_run_id(task: Task) -> RunId:
    """Name a run so that a person can tell it from others."""
    words = re.findall(r"[a-z0-9]+", task.title.lower().encode("ascii", "ignore").decode())
    return RunId("-".join([*words[:4], secrets.token_hex(3)])[:100])


def _now() -> datetime:
    return datetime.now(UTC)


def manifest_for(tools: Tools, options: Options, named: str = DEFAULT) -> Manifest:
    """Say what a run is made with: what would have to be the same again."""
    model = tools.model
    versions = {"auditcoder": __version__, "python": platform.python_version()}
    for package in ("msgspec", "xllamacpp", "pydantic-ai-slim"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    settings = {
        "planner": options.planner.value,
        "build": options.build.value,
        "max_repairs": str(options.max_repairs),
        "fallback": str(options.fallback).lower(),
        "differential": str(options.differential).lower(),
        "review": str(options.review).lower(),
        "locator": options.locator.value,
        "locator_weights": weights_digest()[:16] if options.locator is WhichLocator.WEIGHED else "",
        "second_opinions": str(options.second_opinions).lower(),
        **_told_of(tools.consulted),
        "specialists": str(options.specialists).lower(),
        "budget": msgspec.json.encode(options.budget).decode(),
        "price": msgspec.json.encode(tools.price).decode(),
        "parallel": str(model.traits.parallel),
    }
    return Manifest(
        method=named,
        model=model.name,
        weights=model.traits.weights,
        decoding={
            "temperature": options.temperature,
            "repair_temperature": options.repair_temperature,
        },
        prompts=prompts.digests(),
        sandbox=tools.sandbox.kind,
        versions=versions,
        settings=settings,
        seed=options.seed,
    )


def _told_of(consulted: Model | None) -> dict[str, str]:
    if consulted is None:
        return {}
    weights = consulted.traits.weights or ""
    return {CONSULTED: consulted.name, "second_opinions_weights": weights[:16]}


def options_of(manifest: Manifest) -> Options:
    """Read back how a run was asked to work."""
    settings = manifest.settings
    try:
        return Options(
            planner=Planner(settings["planner"]),
            build=Build(settings["build"]),
            max_repairs=int(settings["max_repairs"]),
            fallback=settings["fallback"] == "true",
            differential=settings["differential"] == "true",
            # Runs from before there was a choice had the paper's rules.
            locator=WhichLocator(settings.get("locator", WhichLocator.PAPER_RULES.value)),
            second_opinions=settings.get("second_opinions") == "true",
            review=settings["review"] == "true",
            specialists=settings.get("specialists", "true") == "true",
            budget=msgspec.json.decode(settings["budget"], type=Budget),
            seed=manifest.seed,
            temperature=manifest.decoding["temperature"],
            repair_temperature=manifest.decoding["repair_temperature"],
        )
    except (KeyError, ValueError) as error:
        raise RecordUnreadable(
            "record.not-solved",
            "this run was not made by `solve`, so it cannot be gone through again",
            "`auditcoder show` and `verify` work with any record",
        ) from error


def _price_of(manifest: Manifest) -> Price | None:
    return msgspec.json.decode(manifest.settings.get("price", "null"), type=Price | None)


def start(
    tools: Tools,
    task: Task,
    options: Options,
    run: RunId | None = None,
    watch: Watch | None = None,
    named: str = DEFAULT,
) -> Solution:
    """Solve a task by a method; the record is durable at every step."""
    run = run or new_run_id(task)
    chosen = method(named)
    options = chosen.settle(options)
    if tools.store.head(run) != EMPTY:
        raise RecordRefused(
            "run.exists",
            f"there is a run {run} already",
            f"choose another id, or go on with it: `auditcoder resume {run}`",
        )
    purse = Purse(options.budget, tools.price)
    manifest = manifest_for(tools, options, named)
    recorder = Recorder.start(tools.store, run, task, _now, manifest)
    if watch is not None:
        watch(0, started(tools.store, run))
        recorder.watch = watch
    asker = Asker(tools.model, recorder, purse, tools.patience, consulted=tools.consulted)
    parallel = tools.model.traits.parallel
    live(Workshop(task, options, recorder, asker, tools.sandbox, parallel), chosen.life)
    return solution(tools.store, run)


def resume(tools: Tools, run: RunId, watch: Watch | None = None) -> Solution:
    """Go on with a run that was cut off; what it knows already is neither asked nor run again."""
    begun = started(tools.store, run)
    if finished(tools.store, run):
        return solution(tools.store, run)
    options = options_of(begun.manifest)
    manifest = manifest_for(tools, options, begun.manifest.method)
    purse = Purse(options.budget, _price_of(begun.manifest))
    recorder = Recorder.retrace(tools.store, run, _now, manifest, purse.charge)
    if watch is not None:
        watch(0, begun)
        recorder.watch = watch
    asker = Asker(tools.model, recorder, purse, tools.patience, consulted=tools.consulted)
    life = method(begun.manifest.method).life
    live(_workshop(begun, options, recorder, asker, tools.sandbox), life)
    return solution(tools.store, run)


def _workshop(
    begun: RunStarted,
    options: Options,
    recorder: Recorder,
    asker: Asker,
    sandbox: Sandbox,
    differences: list[str] | None = None,
) -> Workshop:
    parallel = int(begun.manifest.settings.get("parallel", "1"))
    return Workshop(begun.task, options, recorder, asker, sandbox, parallel, differences)


def replay(reader: TraceReader, run: RunId, sandbox: Sandbox | None) -> Replayed:
    """Go through a run again without a model, and compare every event with the record.

    With a sandbox, every check runs again too; without one, what it saw is believed.
    """
    begun = started(reader, run)
    options = options_of(begun.manifest)
    # It only reads: a recorder that may not go beyond its record never appends.
    purse = Purse(options.budget, _price_of(begun.manifest))
    recorder = Recorder.retrace(cast("TraceStore", reader), run, _now, None, purse.charge)
    differences: list[str] = []
    asker = Asker(_NoModel(), recorder, purse)
    workshop = _workshop(
        begun,
        options,
        recorder,
        asker,
        sandbox or _NoSandbox(),
        differences if sandbox is not None else None,
    )
    ended = finished(reader, run)
    try:
        live(workshop, method(begun.manifest.method).life)
    except EndOfRecord:
        if ended:
            raise
    head = recorder.head
    return Replayed(
        run=run,
        events=head.entries,
        head=head,
        finished=ended,
        differences=tuple(differences),
    )


def started(reader: TraceReader, run: RunId) -> RunStarted:
    """Return a run's first event."""
    for body in reader.read(run):
        return starts(Reader().read(body))
    raise NotFound("run.unknown", f"there is no run {run} here", "`auditcoder runs` lists them")


def finished(reader: TraceReader, run: RunId) -> bool:
    """Whether a run has come to its end."""
    entries = Reader()
    head = reader.head(run)
    entries.read(next(iter(reader.read(run))))
    last = next(iter(reader.read(run, head.entries - 1)))
    return head.entries > 1 and isinstance(entries.read(last).event, RunFinished)


def solution(reader: TraceReader, run: RunId) -> Solution:
    """Return what a finished run came to."""
    trace = fold(reader.read(run), reader.blob)
    assembly = trace.working.assembly
    program = reader.blob(assembly.program).decode() if assembly else None
    assert trace.finish is not None
    return Solution(run, trace.finish.outcome, program, trace)


class _NoModel:
    """Stands where a model would: a replay asks nobody."""

    name = "none"
    traits = Traits()

    def complete(self, request: Request) -> Reply:
        """Refuse."""
        raise ModelMisconfigured("replay.miss", f"nobody answers request {request.digest[:16]}")

    def close(self) -> None:
        """Do nothing."""


class _NoSandbox:
    """Stands where a sandbox would: what checks saw is taken from the record."""

    kind = "none"

    def run(self, _execution: Execution) -> Seen:
        """Refuse."""
        raise EndOfRecord

    def close(self) -> None:
        """Do nothing."""
