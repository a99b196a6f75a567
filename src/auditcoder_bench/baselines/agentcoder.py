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
from auditcoder.lifecycle.token_limits import Purpose, ReplySize
from auditcoder.prompts import answer_schema
from auditcoder_bench.baselines.single_program import PROMPTS, SingleProgram

_ROUNDS = 3
"""Maximum number of executor reports to the programmer."""
_TESTS = ReplySize(Purpose.CHECK, 700)


class DesignedCase(Value):
    """One test case that the test designer wrote."""

    given: Annotated[str, Meta(max_length=2000)]
    expected: Annotated[str, Meta(max_length=2000)]


class DesignedCases(Value):
    """The reply of the test designer."""

    cases: Annotated[tuple[DesignedCase, ...], Meta(max_length=6)]


_CASE_FORMATS = {
    ProgramForm: "`given` is what the program reads, `expected` what it prints.",
    FunctionForm: "`given` is the arguments of one call, as Python writes them between brackets;"
    " `expected` is the result, as a Python literal.",
    ClassForm: "`given` is Python that makes an object and uses it, `expected` an expression that"
    " must then be true.",
}


def agentcoder(context: RunContext) -> tuple[RunOutcome, str]:
    """Write code and tests independently; let the programmer revise the code after failures."""
    program = SingleProgram(context, "agentcoder")
    program.write("programmer")
    designed = _design_cases(program, context.task.form)
    for _ in range(_ROUNDS):
        failing = program.try_out() or program.check(designed)
        if failing is None:
            break
        before = program.code
        program.write("programmer_again", code=before, failure=program.report(failing))
        if program.code == before:
            break  # further rounds would repeat the same request
    return program.finish()


def _design_cases(program: SingleProgram, form: Form) -> list[tuple[str, Example, Trust]]:
    """Ask the test designer for cases, once."""
    if isinstance(form, FilesForm):
        return []  # a reply cannot contain whole files as cases
    shape: ResponseFormat[DesignedCases] = JsonValue(
        DesignedCases, answer_schema("test_designer", PROMPTS)
    )
    answer = program.ask(
        "test_designer", shape, Phase.VERIFICATION, _TESTS, cases=_CASE_FORMATS[type(form)]
    )
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
