"""Whole runs with scripted replies: real code in the real sandbox, a real store in memory.

A script holds the replies to each prompt, in order. Every run must verify, and its replay must
give the same head.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from auditcoder.adapters.models.scripted import Line, ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, EntryReader, Head
from auditcoder.domain.diagnosis import Diagnosis
from auditcoder.domain.errors import ModelMisconfigured
from auditcoder.domain.events import (
    CheckRan,
    CodeWritten,
    Event,
    GraphCommitted,
    Located,
    ReplyRecorded,
    RunFinished,
    RunOutcome,
)
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Transaction
from auditcoder.domain.request import FREE, TIGHT, FinishReason, Reply, Request, TokenLimits, Traits
from auditcoder.domain.task import Task
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Digest, digest
from auditcoder.interfaces.factories import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.options import LocatorName, Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, Solution, replay, resume, start
from auditcoder.prompts import Prompt, load
from auditcoder_bench.baselines import METHODS
from auditcoder_bench.baselines.single_program import PROMPTS
from tests.support.record_builders import RUN
from tests.support.records import Raw, take
from tests.support.sketched_runs import sketching

ScriptedReplies: TypeAlias = "Mapping[str, Line | Sequence[Line]]"
"""By prompt: the replies in their order, or one reply that is given every time."""
E = TypeVar("E", bound=Event)


def sandboxed() -> Iterator[Sandbox]:
    """Open the real sandbox; the body of a fixture."""
    opened = open_sandbox(read_settings(), lambda _: None)
    yield opened
    opened.close()


def python(code: str) -> str:
    """Return a reply that holds code in a fenced block."""
    return f"```python\n{code.strip()}\n```"


def caused(cause: str, because: str, code: str = "") -> str:
    """Return a reply that states the root cause of a failure, with the code that removes it."""
    line = f"cause: {cause}, because {because}"
    return f"{line}\n\n{python(code)}" if code else line


def costly(text: str, tokens: int) -> Reply:
    """Return a reply that costs this number of tokens."""
    usage = Usage(calls=1, prompt_tokens=tokens)
    return Reply(text=text, finish=FinishReason.STOP, usage=usage, model="scripted")


def stub(header: str, goal: str, *facts: str) -> str:
    """Return one function of a sketch."""
    lines = "\n    ".join([goal, "", *facts])
    return f'def {header}:\n    """{lines}\n    """\n    ...\n\n'


def opinions(**verdicts: str) -> str:
    """Return a reply with a verdict on each function."""
    said = [{"function": f, "verdict": v, "reason": "I see"} for f, v in verdicts.items()]
    return json.dumps({"opinions": said})


class FinishedRun(NamedTuple):
    """A finished run: its solution, its record and the requests that were sent."""

    solution: Solution
    raw: Raw
    asked: tuple[tuple[str, Request], ...]
    """The prompts that were sent, by name."""

    @property
    def outcome(self) -> RunOutcome:
        return self.solution.outcome

    @property
    def program(self) -> str:
        assert self.solution.program is not None
        return self.solution.program

    @property
    def reason(self) -> str:
        """The reason of the outcome."""
        return self.all(RunFinished)[-1].reason

    @property
    def graph(self) -> TaskGraph:
        """The current graph."""
        assert self.solution.trace.working.graph is not None
        return self.solution.trace.working.graph

    @property
    def committed(self) -> GraphCommitted:
        return self.all(GraphCommitted)[0]

    @property
    def history(self) -> tuple[Transaction, ...]:
        return self.solution.trace.history

    @property
    def diagnoses(self) -> list[Diagnosis]:
        return [event.diagnosis for event in self.all(Located)]

    @property
    def prompts(self) -> list[str]:
        """The names of the prompts that were sent, in their order."""
        return [name for name, _ in self.asked]

    @property
    def rejected(self) -> list[str]:
        """The reasons why replies were rejected."""
        return [e.rejected for e in self.all(ReplyRecorded) if e.rejected]

    def all(self, kind: type[E]) -> list[E]:
        """Return the events of one kind."""
        return [event for event in self.raw.events() if isinstance(event, kind)]

    def request(self, prompt: str) -> str:
        """Return the text of the last request with a prompt."""
        return next(r for name, r in reversed(self.asked) if name == prompt).messages[-1].text

    def written(self, node: str) -> list[CodeWritten]:
        return [e for e in self.all(CodeWritten) if e.node == node]

    def code(self, node: str) -> str:
        """Return a node's current code."""
        return self.text_of(self.solution.trace.working.code[NodeId(node)].digest)

    def text_of(self, name: Digest) -> str:
        """Return the content that the record has under a digest."""
        return self.raw.blob(name).decode()

    def checks(self, prefix: str) -> list[Evidence]:
        """Return all runs of the checks with this prefix."""
        seen = (e.evidence for e in self.all(CheckRan))
        return [e for e in seen if e.check.startswith(prefix)]


def _prompt(name: str) -> Prompt:
    """Return a prompt of the lifecycle or, by `methods/…`, of a compared method."""
    return load(name, PROMPTS) if name.startswith("methods/") else load(name)


class Script:
    """Answers each prompt with the replies that are scripted for it."""

    def __init__(self, said: ScriptedReplies) -> None:
        self._by_prompt = {_prompt(name).digest: name for name in said}
        # "sole" is answered like "joint", and "repair_method" like "repair_node".
        self._by_prompt.setdefault(load("sole").digest, "joint")
        self._by_prompt.setdefault(load("repair_method").digest, "repair_node")
        self._said = dict(said)
        self._turns = dict.fromkeys(said, 0)
        self.asked: list[tuple[str, Request]] = []

    def __call__(self, request: Request) -> str | Reply:
        """Return the next reply to this prompt."""
        assert request.prompt is not None
        name = self._by_prompt.get(request.prompt, "")
        self.asked.append((name or request.messages[-1].text, request))
        said = self._said.get(name, [])
        lines = said if isinstance(said, Sequence) and not isinstance(said, str) else None
        turn = self._turns[name] = self._turns.get(name, 0) + 1
        if lines is not None and turn > len(lines):
            text = request.messages[-1].text
            raise ModelMisconfigured("script.ended", f"no line {turn} for {name or text}")
        line = lines[turn - 1] if lines is not None else said
        if isinstance(line, Exception):
            raise line
        if isinstance(line, str | Reply):
            return line
        assert callable(line)
        return line(request)


def run(
    sandbox: Sandbox,
    task: Task,
    said: ScriptedReplies,
    options: Options | None = None,
    *,
    parallel: int = 1,
    method: str = "auditcoder",
    locator: LocatorName = LocatorName.PAPER_RULES,
    limits: TokenLimits = TIGHT,
) -> FinishedRun:
    """Solve a task by script. The record verifies, and replays to the same head.

    The default locator here is the paper's rules, because their diagnosis is easy to predict.
    """
    store = SqliteStore(":memory:")
    script = Script(said)
    model = ScriptedModel([script] * 200, Traits(price=FREE, parallel=parallel, limits=limits))
    options = replace(options or sketching(), locator=locator)
    solution = start(
        RunResources(store, model, sandbox), task, options, RUN, method=METHODS[method]
    )
    finished = FinishedRun(solution, take(store, RUN), tuple(script.asked))
    assert_replays(store, sandbox)
    store.close()
    return finished


def assert_replays(store: SqliteStore, sandbox: Sandbox | None) -> None:
    """Assert that a run verifies and that its replay gives the same head.

    Without a sandbox, the replay uses the recorded evidence.
    """
    report = verify_run(store, RUN)
    assert report.holds, report
    again = replay(store, RUN, sandbox, METHODS)
    assert again.differences == (), again.differences
    assert again.head == store.head(RUN)
    assert again.finished


def truncated_store(finished: FinishedRun, entries: int) -> SqliteStore:
    """Return a store that holds the first `entries` events of a run."""
    return copied_to(":memory:", finished, entries)


def copied_to(path: Path | str, finished: FinishedRun, entries: int | None = None) -> SqliteStore:
    """Return a store at `path` that holds the first events of a run; by default all of them."""
    entries = len(finished.raw.bodies) if entries is None else entries
    store, reader = SqliteStore(path), EntryReader()
    bodies = finished.raw.bodies[:entries]
    names = {name for body in bodies for name in reader.read(body).event.blobs()}
    head = Head(entries=entries, digest=digest(bodies[-1]))
    store.append(RUN, EMPTY, bodies, head, {n: finished.raw.blob(n) for n in names})
    return store


def resume_after(finished: FinishedRun, entries: int, sandbox: Sandbox) -> tuple[Solution, int]:
    """Resume a run after its first `entries` events; return its solution and its model calls."""
    store = truncated_store(finished, entries)
    answers: dict[Digest, list[str]] = {}
    for event in finished.raw.events()[entries:]:
        if isinstance(event, ReplyRecorded):
            answers.setdefault(event.request, []).append(finished.text_of(event.reply))
    model = ScriptedModel([lambda request: answers[request.digest].pop(0)] * 200)
    solution = resume(RunResources(store, model, sandbox), RUN, methods=METHODS)
    assert_replays(store, None)
    store.close()
    return solution, len(model.asked)
