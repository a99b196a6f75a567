"""What a run looks like while it lives: its responsibilities, its tokens, its time."""

import os
import sys
import threading
import time
from types import TracebackType
from typing import Self

from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.events import (
    Assembled,
    CheckDropped,
    CheckRan,
    CodeWritten,
    Event,
    ExceptionRaised,
    GraphCommitted,
    GraphRevised,
    Located,
    ReplyRecorded,
    RolledBack,
    RunFinished,
    RunResumed,
    RunStarted,
    TransactionDecided,
    TransactionOpened,
)
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.graph import Node
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import AtNode, AtProgram
from auditcoder.domain.repair import Decision
from auditcoder.domain.usage import Usage
from auditcoder.interfaces.cli.text import aside, count, one_line, place, plain

_TICK = 0.5
_WIDTH = 100
_COLOURS = {
    "planned": 90,
    "built": 36,
    "verified": 32,
    "rejected": 31,
    "repairing": 33,
    "repaired": 32,
    "restored": 33,
}


class Board:
    """Follows a run's events. `line` says what an event means, `lines` how everything stands."""

    def __init__(self) -> None:
        self.nodes: dict[NodeId, Node] = {}
        self.state: dict[NodeId, str] = {}
        self.usage = Usage()
        self.checks: dict[str, Verdict] = {}
        self.started = time.monotonic()
        self.title = ""
        self.last = ""
        self._region: tuple[NodeId, ...] = ()
        self._before: dict[NodeId, str] = {}

    def take(self, event: Event) -> str:
        """Follow one event; return what to say about it, empty if that is not worth a line."""
        said = self._follow(event)
        if said:
            self.last = said
        return said

    def _follow(self, event: Event) -> str:  # noqa: C901  one case an event
        match event:
            case RunStarted(run=run, task=task):
                self.title = one_line(task.title)
                return f"run {run}: {self.title}"
            case RunResumed():
                return "going on where the record ends"
            case GraphCommitted(graph=graph, granularity=why):
                self._learn(graph.nodes)
                number = count(len(graph.nodes), "responsibility", "responsibilities")
                return f"planned {number}: {why}"
            case GraphRevised(delta=delta, reason=why):
                self._learn((*delta.added, *delta.revised))
                for gone in delta.retired:
                    self.nodes.pop(gone, None)
                return f"the graph is revised: {why}"
            case ReplyRecorded():
                return self._replied(event)
            case CodeWritten(node=node, agent=agent):
                self.state[node] = "repairing" if node in self._region else "built"
                return f"{node} is written by {agent or 'nobody'}"
            case CheckRan(evidence=evidence):
                return self._checked(event, evidence.check, evidence.verdict)
            case CheckDropped(check=check, reason=why):
                self.checks.pop(check, None)
                return f"{check} is dropped: {why}"
            case Assembled():
                self.checks = {}
                return "the program is put together"
            case Located(diagnosis=diagnosis):
                if isinstance(diagnosis, Localised):
                    where = place(diagnosis.target)
                    return f"{diagnosis.rule} points to {where} ({diagnosis.level.value})"
                return f"no boundary is supported: {diagnosis.reason}"
            case TransactionOpened(number=number, selected=selected, kind=kind):
                self._region, self._before = selected, dict(self.state)
                self.state |= dict.fromkeys(selected, "repairing")
                return f"repair {number} ({kind.value}) may change {', '.join(selected)}"
            case ExceptionRaised(exception=exception):
                self._region = (*self._region, *exception.region)
                return f"the region widens to {', '.join(exception.region)}: {exception.rationale}"
            case TransactionDecided(decision=decision, number=number):
                if decision is Decision.ACCEPTED:
                    self.state |= {n: "repaired" for n in self._region if n in self.nodes}
                    self._region = ()
                return f"repair {number} is {decision.value}"
            case RolledBack():
                self.state = self._before | {
                    n: "restored" for n in self._region if n in self._before
                }
                self._region = ()
                return "everything is as it was before the repair"
            case RunFinished(outcome=outcome, reason=why):
                return f"{outcome.value}{': ' if why else ''}{why}"
            case _:
                return ""

    def _learn(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            self.nodes[node.id] = node
            self.state.setdefault(node.id, "planned")

    def _replied(self, event: ReplyRecorded) -> str:
        self.usage += event.usage
        whom = f" for {event.node}" if event.node else ""
        bad = f", refused: {one_line(event.rejected)}" if event.rejected else ""
        tokens = f"{event.usage.prompt_tokens} + {event.usage.completion_tokens} tokens"
        return f"{event.role}{whom} answered, {tokens}{bad}"

    def _checked(self, event: CheckRan, check: str, verdict: Verdict) -> str:
        match event.evidence.subject:
            case AtNode(node=node):
                passed = verdict is Verdict.PASSED
                if not passed:
                    self.state[node] = "rejected"
                elif self.state.get(node) == "built":
                    self.state[node] = "verified"
                return "" if passed else f"{check}: {verdict.value}"
            case AtProgram():
                self.checks[check] = verdict
                return f"{check}: {verdict.value}"
            case _:
                return ""

    def lines(self) -> list[str]:
        """Return the whole board, a line each, as (text, style) were it painted."""
        seconds = time.monotonic() - self.started
        passed = sum(v is Verdict.PASSED for v in self.checks.values())
        head = f"{self.title}  {self.usage.tokens} tokens  {seconds:.0f} s"
        if self.checks:
            head += f"  {passed} of {count(len(self.checks), 'check')} passed"
        body = []
        for node in sorted(self.nodes):
            indent = "  " * (1 + node.count("_") + (node != "S0"))
            goal = one_line(self.nodes[node].goal)
            body.append(f"{indent}{self.state.get(node, 'planned'):<10}{node}  {goal}")
        return [head, *body, f"  {self.last}"]


class Watching:
    """Shows a board: redrawn in place on a terminal, a line an event elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.board = Board()
        self._live = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._quiet = quiet
        self._drawn = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._live:
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the last picture standing."""
        self._ended.set()
        if self._live:
            self._ticker.join()
            self._draw()

    def __call__(self, _seq: int, event: Event) -> None:
        """Take one event of the run."""
        with self._lock:
            said = self.board.take(event)
        if said and not self._live and not self._quiet:
            aside(said)

    def _tick(self) -> None:
        while not self._ended.wait(_TICK):
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            lines = [plain(line)[:_WIDTH] for line in self.board.lines()]
        up = f"\033[{self._drawn}A" if self._drawn else ""
        painted = "".join(f"\033[K{_painted(line)}\n" for line in lines)
        sys.stderr.write(f"{up}{painted}\033[J")
        sys.stderr.flush()
        self._drawn = len(lines)


def _painted(line: str) -> str:
    word = line.split(None, 1)[0] if line.strip() else ""
    if "NO_COLOR" in os.environ or word not in _COLOURS:
        return line
    return line.replace(word, f"\033[{_COLOURS[word]}m{word}\033[0m", 1)
