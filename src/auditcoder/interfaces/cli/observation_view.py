"""Shows what was observed about a node when a program failed; an observation judges nobody."""

from itertools import groupby

from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.trace import RecordedEvidence, Trace
from auditcoder.interfaces.cli.terminal import one_line, paint, say, verdict_words


def show_observations(trace: Trace, node: NodeId) -> None:
    """Print the observations about a node, under the program whose failure they are about."""
    for program, recorded in groupby(trace.observations_of(node), key=lambda w: w.program):
        name = f"program {program[:12]}" if program else "a program"
        present = trace.working.assembly is not None and trace.working.assembly.program == program
        age = "the present one" if present else "an earlier one"
        say()
        say(paint(f"Observations about the failure of {name}, {age}", "bold"))
        for each in recorded:
            _show_observation(trace, each)


def _show_observation(trace: Trace, recorded: RecordedEvidence) -> None:
    evidence = recorded.evidence
    notes = [evidence.kind.value, f"event {recorded.when.seq}"]
    if not trace.stands(recorded):
        notes.append("no longer stands")
    seen = _SEEN.get(evidence.verdict) or verdict_words(evidence.verdict)
    message = f": {one_line(evidence.message)}" if evidence.message else ""
    say(f"  {evidence.check}  ({', '.join(notes)})  {seen}{message}")


_SEEN = {Verdict.PASSED: "does not point to it", Verdict.FAILED: "points to it"}
