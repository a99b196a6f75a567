"""Whole runs with scripted replies: real code in the real sandbox, a real store in memory.

A script says what each prompt is answered with, one line after another. Whatever a run does, it
must verify, and come out the same when it is gone through again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from auditcoder.adapters.models.scripted import Line, ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, Head, Reader
from auditcoder.domain.diagnosis import Diagnosis
from auditcoder.domain.errors import ModelMisconfigured
from auditcoder.domain.events import (
    CheckRan,
    CodeWritten,
    Event,
    GraphCommitted,
    Located,
    Outcome,
    ReplyRecorded,
    RunFinished,
)
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Transaction
from auditcoder.domain.request import FREE, Finish, Reply, Request, Traits
from auditcoder.domain.task import Task
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Digest, digest
from auditcoder.interfaces.opening import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.transfer import verify_run
from auditcoder.lifecycle.workshop import Options, WhichLocator
from auditcoder.methods.solving import Solution, Tools, replay, resume, start
from auditcoder.prompts import load
from tests.support.records import Raw, take
from tests.support.worlds import RUN

Said: TypeAlias = "Mapping[str, Line | Sequence[Line]]"
"""By prompt: the lines in their order, or one line that is said however often it is asked for."""
E = TypeVar("E", bound=Event)


def sandboxed() -> Iterator[Sandbox]:
    """Open the real sandbox; the body of a fixture."""
    opened = open_sandbox(read_settings(), lambda _: None)
    yield opened
    opened.close()


def python(code: str) -> str:
    """Answer with code, as a model does."""
    return f"```python\n{code.strip()}\n```"


def finding(cause: str = "implementation", explanation: str = "it is off", **said: object) -> str:
    """Answer what was wrong."""
    blank: dict[str, object] = {"hints": [], "cost": "", "signature": ""}
    return json.dumps({"cause": cause, "explanation": explanation, **blank, **said})


def costly(text: str, tokens: int) -> Reply:
    """Answer, at a price."""
    usage = Usage(calls=1, prompt_tokens=tokens)
    return Reply(text=text, finish=Finish.STOP, usage=usage, model="scripted")


def stub(header: str, goal: str, *facts: str) -> str:
    """Write one function of a sketch."""
    lines = "\n    ".join([goal, "", *facts])
    return f'def {header}:\n    """{lines}\n    """\n    ...\n\n'


def opinions(**verdicts: str) -> str:
    """Answer with a verdict on each function."""
    said = [{"function": f, "verdict": v, "reason": "I see"} for f, v in verdicts.items()]
    return json.dumps({"opinions": said})


class Told(NamedTuple):
    """A run that has ended, and what it left."""

    solution: Solution
    raw: Raw
    asked: tuple[tuple[str, Request], ...]
    """The prompts that were sent, by name."""

    @property
    def outcome(self) -> Outcome:
        return self.solution.outcome

    @property
    def program(self) -> str:
        assert self.solution.program is not None
        return self.solution.program

    @property
    def reason(self) -> str:
        """Why it ended as it did."""
        return self.all(RunFinished)[-1].reason

    @property
    def graph(self) -> TaskGraph:
        """The graph as it stands."""
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
        """Why replies were not taken."""
        return [e.rejected for e in self.all(ReplyRecorded) if e.rejected]

    def all(self, kind: type[E]) -> list[E]:
        """Return the events of one kind."""
        return [event for event in self.raw.events() if isinstance(event, kind)]

    def request(self, prompt: str) -> str:
        """Return what was last asked with a prompt."""
        return next(r for name, r in reversed(self.asked) if name == prompt).messages[-1].text

    def written(self, node: str) -> list[CodeWritten]:
        return [e for e in self.all(CodeWritten) if e.node == node]

    def code(self, node: str) -> str:
        """Return a node's code as it stands."""
        return self.text_of(self.solution.trace.working.code[NodeId(node)].digest)

    def text_of(self, name: Digest) -> str:
        """Return what the record keeps under a digest."""
        return self.raw.blob(name).decode()

    def checks(self, prefix: str) -> list[Evidence]:
        """Return all runs of the checks whose names begin so."""
        seen = (e.evidence for e in self.all(CheckRan))
        return [e for e in seen if e.check.startswith(prefix)]


class Script:
    """Answers each prompt with its own lines."""

    def __init__(self, said: Said) -> None:
        self._by_prompt = {load(name).digest: name for name in said}
        # Who writes all of it says the same, whether that is one function or several; who mends
        # it, whether that is a function or a method.
        self._by_prompt.setdefault(load("sole").digest, "joint")
        self._by_prompt.setdefault(load("repair_method").digest, "repair_node")
        self._said = dict(said)
        self._turns = dict.fromkeys(said, 0)
        self.asked: list[tuple[str, Request]] = []

    def __call__(self, request: Request) -> str | Reply:
        """Say what comes next for this prompt."""
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
    said: Said,
    options: Options | None = None,
    *,
    parallel: int = 1,
    method: str = "auditcoder",
    locator: WhichLocator = WhichLocator.PAPER_RULES,
) -> Told:
    """Solve a task by script. The record verifies, and replays to the same head.

    The paper's rules locate unless something else is asked for: what they answer can be told.
    """
    store = SqliteStore(":memory:")
    script = Script(said)
    model = ScriptedModel([script] * 200, Traits(price=FREE, parallel=parallel))
    options = replace(options or Options(), locator=locator)
    solution = start(Tools(store, model, sandbox), task, options, RUN, named=method)
    told = Told(solution, take(store, RUN), tuple(script.asked))
    retold(store, sandbox)
    store.close()
    return told


def retold(store: SqliteStore, sandbox: Sandbox | None) -> None:
    """A run verifies, and going through it again leads to the same head with nothing changed.

    Without a sandbox, what its checks saw is believed.
    """
    report = verify_run(store, RUN)
    assert report.holds, report
    again = replay(store, RUN, sandbox)
    assert again.differences == ()
    assert again.head == store.head(RUN)
    assert again.finished


def cut_off(told: Told, entries: int) -> SqliteStore:
    """A store that holds a run as it was when that many events were written."""
    store, reader = SqliteStore(":memory:"), Reader()
    bodies = told.raw.bodies[:entries]
    names = {name for body in bodies for name in reader.read(body).event.blobs()}
    head = Head(entries=entries, digest=digest(bodies[-1]))
    store.append(RUN, EMPTY, bodies, head, {n: told.raw.blob(n) for n in names})
    return store


def gone_on_with(told: Told, entries: int, sandbox: Sandbox) -> tuple[Solution, int]:
    """Resume a run after so many of its events; return its end, and how often a model was asked."""
    store = cut_off(told, entries)
    answers: dict[Digest, list[str]] = {}
    for event in told.raw.events()[entries:]:
        if isinstance(event, ReplyRecorded):
            answers.setdefault(event.request, []).append(told.text_of(event.reply))
    model = ScriptedModel([lambda request: answers[request.digest].pop(0)] * 200)
    solution = resume(Tools(store, model, sandbox), RUN)
    retold(store, None)
    store.close()
    return solution, len(model.asked)
