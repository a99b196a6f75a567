"""AgentCoder: a programmer, a test designer who does not see the code, and a test executor."""

from typing import Annotated

from msgspec import Meta

from auditcoder.domain.events import RunOutcome
from auditcoder.domain.evidence import Trust
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesForm,
    Form,
    FunctionForm,
    ProgramForm,
    StdioExample,
)
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import Value
from auditcoder.lifecycle.response_formats import JsonValue, ResponseFormat
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.prompts import answer_schema
from auditcoder_bench.baselines.single_program import PROMPTS, SingleProgram

_ROUNDS = 3
"""How often the programmer hears from the executor."""
_TESTS = 700


class DesignedCase(Value):
    """One case."""

    given: Annotated[str, Meta(max_length=2000)]
    expected: Annotated[str, Meta(max_length=2000)]


class DesignedCases(Value):
    """What the test designer answers."""

    cases: Annotated[tuple[DesignedCase, ...], Meta(max_length=6)]


_ASKED = {
    ProgramForm: "`given` is what the program reads, `expected` what it prints.",
    FunctionForm: "`given` is the arguments of one call, as Python writes them between brackets;"
    " `expected` is the result, as a Python literal.",
    ClassForm: "`given` is Python that makes an object and uses it, `expected` an expression that"
    " must then be true.",
}


def agentcoder(context: RunContext) -> tuple[RunOutcome, str]:
    """Write code and tests apart; let the executor's reports go back to the programmer."""
    piece = SingleProgram(context, "agentcoder")
    piece.write("programmer")
    designed = _designed(piece, context.task.form)
    for _ in range(_ROUNDS):
        failing = piece.try_out() or piece.check(designed)
        if failing is None:
            break
        before = piece.code
        piece.write("programmer_again", code=before, failure=piece.report(failing))
        if piece.code == before:
            break  # the same again would be said for ever
    return piece.finish()


def _designed(piece: SingleProgram, form: Form) -> list[tuple[str, Example, Trust]]:
    """Ask the test designer, once."""
    if isinstance(form, FilesForm):
        return []  # whole files are no cases to write down in a reply
    shape: ResponseFormat[DesignedCases] = JsonValue(
        DesignedCases, answer_schema("test_designer", PROMPTS)
    )
    answer = piece.ask("test_designer", shape, Phase.VERIFICATION, _TESTS, cases=_ASKED[type(form)])
    examples = (_example(form, case) for case in (answer.value.cases if answer else ()))
    return [
        (f"S1.designed-{number}", example, Trust.GENERATED)
        for number, example in enumerate(examples, start=1)
    ]


def _example(form: Form, case: DesignedCase) -> Example:
    match form:
        case ProgramForm():
            return StdioExample(input=case.given, output=case.expected)
        case FunctionForm():
            return CallExample(arguments=case.given, result=case.expected)
        case _:
            return CodeExample(code=f"{case.given}\nassert {case.expected}\n")
