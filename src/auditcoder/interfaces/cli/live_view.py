"""Shows a run while it is in progress: its responsibilities, tokens and time."""

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.events import (
    Adjudicated,
    Assembled,
    CheckDropped,
    CheckRan,
    CodeWritten,
    DraftChosen,
    DraftsCommitted,
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
    VariantTried,
)
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.graph import Node
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import AtNode, AtProgram
from auditcoder.domain.usage import Usage
from auditcoder.interfaces.cli.draft_progress import DraftProgress
from auditcoder.interfaces.cli.terminal import (
    console_for,
    count,
    is_quiet,
    notice,
    one_line,
    paint,
    place,
    rich_text,
    verdict_words,
)

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

_REDRAWS_PER_SECOND = 2
_STATE_STYLES = {
    "planned": "dim",
    "drafting": "blue",
    "built": "blue",
    "verified": "green",
    "rejected": "red",
    "repairing": "yellow",
    "repaired": "green",
    "restored": "yellow",
}


class RunState:
    """The state of a run, updated by its events."""

    def __init__(self) -> None:
        self.nodes: dict[NodeId, Node] = {}
        self.state: dict[NodeId, str] = {}
        self.usage = Usage()
        self.checks: dict[str, Verdict] = {}
        self.started = time.monotonic()
        self.title = ""
        self.last = ""
        self._drafts = DraftProgress()
        self._region: tuple[NodeId, ...] = ()
        self._before: dict[NodeId, str] = {}

    def take(self, event: Event) -> str:
        """Apply one event; return a line that describes it, empty if it needs none."""
        line = self._apply(event)
        if line:
            self.last = line
        return line

    def _apply(self, event: Event) -> str:  # noqa: C901  one case per event
        match event:
            case RunStarted(run=run, task=task):
                self.title = one_line(task.title)
                self._drafts = DraftProgress(len(task.examples))
                return f"run {run}: {self.title}"
            case RunResumed():
                return "resumed where the record ends"
            case GraphCommitted(graph=graph, granularity=why):
                self._add_nodes(graph.nodes)
                number = count(len(graph.nodes), "responsibility", "responsibilities")
                return f"planned {number}: {why}"
            case GraphRevised(delta=delta, reason=why):
                self._add_nodes((*delta.added, *delta.revised))
                for retired in delta.retired:
                    self.nodes.pop(retired, None)
                return f"the graph is revised: {why}"
            case ReplyRecorded():
                return self._replied(event)
            case DraftsCommitted() | VariantTried() | DraftChosen():
                return self._drafted(event)
            case CodeWritten(node=node, agent=agent):
                self.state[node] = "repairing" if node in self._region else "built"
                return f"{node} is written{f' by {agent}' if agent else ''}"
            case CheckRan(evidence=evidence):
                return self._checked(event, evidence.check, evidence.verdict)
            case CheckDropped(check=check, reason=why):
                self.checks.pop(check, None)
                return f"{check} is dropped: {why}"
            case Adjudicated(check=check, ruling=ruling, reason=why):
                return f"{check} is examined: {ruling.value.replace('_', ' ')}: {why}"
            case Assembled():
                self.checks = {}
                return "the program is assembled"
            case Located(diagnosis=diagnosis):
                if isinstance(diagnosis, Localised):
                    where = place(diagnosis.target)
                    return f"{diagnosis.rule} points to {where} ({diagnosis.level.value})"
                return f"the locator abstains: {diagnosis.reason}"
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
                return "rolled back to the state before the repair"
            case RunFinished(outcome=outcome, reason=why):
                return f"{outcome.value}{': ' if why else ''}{why}"
            case _:
                return ""

    def _add_nodes(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            self.nodes[node.id] = node
            self.state.setdefault(node.id, "planned")

    def _replied(self, event: ReplyRecorded) -> str:
        self.usage += event.usage
        node = f" for {event.node}" if event.node else ""
        rejected = f", rejected: {one_line(event.rejected)}" if event.rejected else ""
        tokens = f"{event.usage.prompt_tokens} + {event.usage.completion_tokens} tokens"
        return f"{event.role}{node} replied, {tokens}{rejected}"

    def _drafted(self, event: DraftsCommitted | VariantTried | DraftChosen) -> str:
        if isinstance(event, DraftsCommitted):
            self.state |= dict.fromkeys(event.nodes, "drafting")
        line, is_news = self._drafts.take(event)
        self.last = line
        return line if is_news else ""

    def _checked(self, event: CheckRan, check: str, verdict: Verdict) -> str:
        match event.evidence.subject:
            case AtNode(node=node):
                if not event.evidence.kind.judges:
                    return f"{check} points to {node}" if verdict.failing else ""
                if verdict.failing:
                    self.state[node] = "rejected"
                elif verdict.conclusive and self.state.get(node) == "built":
                    self.state[node] = "verified"
                return f"{check}: {verdict_words(verdict)}" if verdict is not Verdict.PASSED else ""
            case AtProgram():
                self.checks[check] = verdict
                return f"{check}: {verdict_words(verdict)}"
            case _:
                return ""

    def lines(self) -> list[str]:
        """Return the state of the run as painted lines: a summary, each node, the last event."""
        seconds = time.monotonic() - self.started
        passed = sum(v is Verdict.PASSED for v in self.checks.values())
        head = f"{self.title}  {self.usage.tokens} tokens  {seconds:.0f} s"
        if self.checks:
            head += f"  {passed} of {count(len(self.checks), 'check')} passed"
        body = []
        for node in sorted(self.nodes):
            indent = "  " * (1 + node.count("_") + (node != "S0"))
            goal = one_line(self.nodes[node].goal)
            state = self.state.get(node, "planned")
            body.append(f"{indent}{paint(f'{state:<10}', _STATE_STYLES[state])}{node}  {goal}")
        return [head, *body, f"  {self.last}"]


class LiveView:
    """Shows the state of a run: redrawn in place on a terminal, one line per event elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.state = RunState()
        self._quiet = quiet or is_quiet()
        self._lock = threading.Lock()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        """Start the display; on a terminal only."""
        if not self._quiet and sys.stderr is not None and sys.stderr.isatty():
            from rich.live import Live

            self._live = Live(
                get_renderable=self._rendered,
                console=console_for(sys.stderr),
                refresh_per_second=_REDRAWS_PER_SECOND,
                redirect_stdout=False,
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the display; the last state stays on the screen."""
        if self._live is not None:
            self._live.stop()

    def __call__(self, _seq: int, event: Event) -> None:
        """Apply one event of the run."""
        with self._lock:
            line = self.state.take(event)
        if line and self._live is None and not self._quiet:
            notice(line)

    def _rendered(self) -> "Group":
        from rich.console import Group

        with self._lock:
            lines = [rich_text(line) for line in self.state.lines()]
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)
