"""What the text of a task says, mechanically, of an example that the program fails."""

from auditcoder.domain.events import Ruling
from auditcoder.domain.evidence import Trust
from auditcoder.domain.task import (
    CallExample,
    Example,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.validation.statement_opinion import statement_opinion

FORM = FunctionForm(entry="twice", signature="def twice(x: int) -> int")
TASK = Task(title="Twice", statement="Double x.\n\n    >>> twice(4)\n    8\n", form=FORM)


def ruling(
    example: Example, got: str | None, task: Task = TASK, trust: Trust = Trust.GENERATED
) -> Ruling | None:
    opinion = statement_opinion(task, example, trust, got)
    return opinion.ruling if opinion else None


def test_a_result_that_the_task_states_is_right() -> None:
    assert ruling(CallExample(arguments="4", result="8"), "9") is Ruling.PROGRAM_WRONG
    assert ruling(CallExample(arguments="4", result="9"), "8") is Ruling.CHECK_WRONG


def test_a_third_result_in_the_task_settles_nothing() -> None:
    assert ruling(CallExample(arguments="4", result="9"), "7") is None


def test_an_input_that_the_task_does_not_name_settles_nothing() -> None:
    assert ruling(CallExample(arguments="5", result="11"), "10") is None
    assert ruling(CallExample(arguments="5", result="11"), None) is None


def test_an_expected_result_of_another_type_than_the_required_one_is_wrong() -> None:
    assert ruling(CallExample(arguments="5", result="'10'"), "10") is Ruling.CHECK_WRONG
    assert ruling(CallExample(arguments="5", result="True"), "10") is Ruling.CHECK_WRONG


def test_a_result_of_another_type_does_not_make_the_expected_one_right() -> None:
    assert ruling(CallExample(arguments="5", result="11"), "'10'") is None


def test_a_type_that_is_unknown_settles_nothing() -> None:
    for signature in ("", "def twice(x)", "def twice(x) -> Number", "def twice(x) -> int | None"):
        task = Task(title="", statement="", form=FunctionForm(entry="twice", signature=signature))
        assert ruling(CallExample(arguments="5", result="'10'"), "10", task) is None


def test_a_check_that_follows_from_an_example_is_right() -> None:
    task = Task(title="", statement="", form=ProgramForm())
    example = StdioExample(input="1", output="2")
    assert ruling(example, None, task, Trust.DERIVED) is Ruling.PROGRAM_WRONG
    assert ruling(example, None, task) is None
