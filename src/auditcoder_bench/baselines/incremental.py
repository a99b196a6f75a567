"""Incremental methods: extend a partial program step by step, or fill in a skeleton."""

from auditcoder.domain.events import RunOutcome
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle.response_formats import PythonBlock
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.task_forms import wanted
from auditcoder.lifecycle.token_limits import WHOLE_PROGRAM
from auditcoder_bench.baselines.single_program import SingleProgram

_STEPS = (
    "what comes in, and the data structures for it",
    "the main computation",
    "what goes out, and the cases that are easy to get wrong",
)


def step_by_step(context: RunContext) -> tuple[RunOutcome, str]:
    """Ask in three steps to continue the program."""
    program = SingleProgram(context, "step-by-step")
    code = "# nothing yet"
    for number, step in enumerate(_STEPS, start=1):
        program.write("step", code=code, number=str(number), steps=str(len(_STEPS)), step=step)
        code = program.code
    return program.finish()


def framework(context: RunContext) -> tuple[RunOutcome, str]:
    """Ask for a skeleton, then for the complete program."""
    program = SingleProgram(context, "framework")
    text = wanted(context.task)
    answer = program.ask("skeleton", PythonBlock(), Phase.PLANNING, WHOLE_PROGRAM, wanted=text)
    program.write("fill", skeleton=answer.value if answer else "# there is none")
    return program.finish()
