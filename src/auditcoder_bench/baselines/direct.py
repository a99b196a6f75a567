"""Direct generation: one request for the whole program, with one retry in `direct_retry`."""

from auditcoder.domain.events import RunOutcome
from auditcoder.lifecycle.run_context import RunContext
from auditcoder_bench.baselines.single_program import DIRECT, SingleProgram


def direct(context: RunContext) -> tuple[RunOutcome, str]:
    """Ask for the program once."""
    program = SingleProgram(context, "direct")
    program.write(DIRECT)
    return program.finish()


def direct_retry(context: RunContext) -> tuple[RunOutcome, str]:
    """Ask for the program; retry once if it fails an example."""
    program = SingleProgram(context, "direct-retry")
    program.write(DIRECT)
    program.retry()
    return program.finish()
