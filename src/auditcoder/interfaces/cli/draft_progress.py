"""The progress of drafting: one line for each draft, and one that is updated for combinations."""

from auditcoder.domain.events import DraftChosen, DraftsCommitted, VariantTried
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.task import example_check
from auditcoder.interfaces.cli.terminal import count, one_line


class DraftProgress:
    """Describes the events of drafting for the live view."""

    def __init__(self, examples: int = 0) -> None:
        self._examples = {example_check(number) for number in range(1, examples + 1)}
        self._slots = self._combined = 0
        self._best, self._results_of_best = (-1, -1), ""

    def take(self, event: DraftsCommitted | VariantTried | DraftChosen) -> tuple[str, bool]:
        """Return a line for an event, and whether it says more than a count."""
        match event:
            case DraftsCommitted(slots=slots, nodes=nodes):
                self._slots = len(slots)
                return f"at most {count(len(slots), 'draft')} of {', '.join(nodes)}", True
            case VariantTried(versions=versions):
                drafts = set(versions.values())
                is_better = (passed := self._passed(event)) > self._best
                if is_better:
                    self._best, self._results_of_best = passed, self._results(event)
                if len(drafts) == 1:
                    most = f" of at most {self._slots}" if self._slots else ""
                    return f"draft {drafts.pop()}{most}: {self._results(event)}", True
                self._combined += 1
                tried = count(self._combined, "combination")
                return f"{tried} of drafts tried, best so far: {self._results_of_best}", is_better
            case DraftChosen(reason=reason):
                return f"chosen: {one_line(reason)}", True

    def _passed(self, event: VariantTried) -> tuple[int, int]:
        """Return the number of examples that pass, and of other checks."""
        passed = {c for c, result in event.results.items() if result.verdict is Verdict.PASSED}
        return len(passed & self._examples), len(passed - self._examples)

    def _results(self, event: VariantTried) -> str:
        examples, others = self._passed(event)
        given = len(event.results.keys() & self._examples)
        rest = len(event.results) - given
        parts = []
        if given:
            parts.append(f"{examples} of {given} examples pass")
        if rest:
            parts.append(f"{others} of {rest} other checks pass")
        return ", ".join(parts) or "it ran"
