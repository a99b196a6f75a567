"""Chain of thought: a reasoning step before the program, with one retry in `cot_retry`."""

from auditcoder.domain.events import RunOutcome
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle.response_formats import FreeText
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.token_limits import Purpose, ReplySize
from auditcoder_bench.baselines.single_program import SingleProgram

_REASONING = ReplySize(Purpose.PLAN, 500)


def cot(context: RunContext) -> tuple[RunOutcome, str]:
    """Ask for reasoning, then for the program."""
    return _reasoned_program(context, "cot").finish()


def cot_retry(context: RunContext) -> tuple[RunOutcome, str]:
    """Ask for reasoning, then for the program; retry once if it fails an example."""
    program = _reasoned_program(context, "cot-retry")
    program.retry()
    return program.finish()


def _reasoned_program(context: RunContext, method: str) -> SingleProgram:
    program = SingleProgram(context, method)
    answer = program.ask("reason", FreeText(), Phase.PLANNING, _REASONING)
    program.write("reasoned", thoughts=answer.value if answer else "nothing yet")
    return program
