"""The context of a run: immutable, with the task as models read it and requests under its scope."""

import dataclasses
from contextlib import AbstractContextManager, suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.python_names import parse
from auditcoder.domain.task import CallExample, ClassForm, FunctionForm, Task
from auditcoder.domain.usage import Phase, Scope
from auditcoder.domain.values import Digest, digest
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.response_formats import FreeText, ParsedPython
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.token_limits import Purpose, ReplySize
from auditcoder.prompts import Prompt
from tests.support.record_builders import RUN, S2, TASK, built, started
from tests.support.records import take
from tests.support.run_contexts import OpenRun, open_run
from tests.support.sketched_runs import sketching

PROMPT = Prompt("tester", "You test.", "Say {{what}}.", digest(b"tester"))
SIZE = ReplySize(Purpose.CODE, 10)
OPTIONS = sketching(temperature=0.25, repair_temperature=0.75, seed=7)


def opened(recorder: Recorder, task: Task = TASK) -> AbstractContextManager[OpenRun]:
    return open_run(recorder, "hello", task=task, options=OPTIONS)


def test_the_context_cannot_be_changed(store: SqliteStore) -> None:
    with opened(started(store)) as (context, _), pytest.raises(dataclasses.FrozenInstanceError):
        context.parallel = 2  # type: ignore[misc]


def test_the_context_holds_no_mutable_collection() -> None:
    kinds = {field.type for field in dataclasses.fields(RunContext)}
    assert not kinds & {dict, list, set}


class TestStatement:
    def test_examples_that_the_text_lacks_are_added(self, store: SqliteStore) -> None:
        task = Task(
            title="Double",
            statement="Double a number.",
            form=FunctionForm(entry="double", signature="def double(x: int) -> int"),
            examples=(CallExample(arguments="21", result="42"),),
        )
        with opened(started(store), task) as (context, _):
            assert context.statement == "Double a number.\n\nExample: double(21) == 42"

    def test_the_statement_of_a_program_names_the_function_to_write(
        self, store: SqliteStore
    ) -> None:
        with opened(started(store)) as (context, _):
            assert context.statement.startswith(TASK.statement)
            assert "`solve` gets everything on standard input" in context.statement

    def test_the_statement_of_a_class_is_its_skeleton(self, store: SqliteStore) -> None:
        skeleton = "class Box:\n    def get(self): ...\n"
        task = Task(title="Box", statement=skeleton, form=ClassForm(name="Box", skeleton=skeleton))
        with opened(started(store), task) as (context, _):
            assert context.statement == skeleton


def test_the_program_is_the_last_assembly(store: SqliteStore) -> None:
    recorder = built(store)
    program = recorder.assemble()
    with opened(recorder) as (context, _):
        assert context.program == recorder.text(program)


class TestRequests:
    def test_requests_before_the_first_assembly_belong_to_the_initial_program(
        self, store: SqliteStore
    ) -> None:
        with opened(started(store)) as (context, model):
            context.ask(
                PROMPT, FreeText(), Phase.GENERATION, SIZE, role="tester", node=S2, what="hi"
            )
        (request,) = model.asked
        assert [message.text for message in request.messages] == ["You test.", "Say hi."]
        assert (request.temperature, request.seed, request.max_tokens) == (0.25, 7, 10)
        reply = take(store, RUN).events()[-1]
        assert (reply.scope, reply.node, reply.nodes) == (Scope.INITIAL, S2, ())  # type: ignore[union-attr]

    def test_requests_after_the_first_assembly_belong_to_repair(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        with opened(recorder) as (context, model):
            context.ask(PROMPT, FreeText(), Phase.GENERATION, SIZE, role="tester", what="hi")
        assert model.asked[0].temperature == 0.75
        assert take(store, RUN).events()[-1].scope is Scope.REPAIR  # type: ignore[union-attr]

    def test_planning_a_repair_keeps_the_temperature_of_first_answers(
        self, store: SqliteStore
    ) -> None:
        recorder = built(store)
        recorder.assemble()
        with opened(recorder) as (context, model):
            context.ask(PROMPT, FreeText(), Phase.PLANNING, SIZE, role="tester", what="hi")
        assert model.asked[0].temperature == 0.25

    def test_a_missing_variable_raises(self, store: SqliteStore) -> None:
        with opened(started(store)) as (context, model), pytest.raises(KeyError, match="what"):
            context.ask(PROMPT, FreeText(), Phase.PLANNING, SIZE, role="tester")
        assert model.asked == []


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(["", "no code", "no code", "```python\nx = (\n```"]), max_size=6))
def test_a_request_that_failed_is_never_sent_again_as_it_was(replies: list[str]) -> None:
    store = SqliteStore(":memory:")
    usable = "```python\ndef f(): ...\n```"
    said = [*replies, *([usable] * (1 + len(replies) % 2))]
    with open_run(started(store), *said, task=TASK, options=OPTIONS) as (context, model):
        while len(model.asked) < len(said):
            with suppress(ReplyUnusable):
                shape = ParsedPython(lambda text: parse(text).body)
                context.ask(PROMPT, shape, Phase.PLANNING, SIZE, role="tester", what="it")
    events = [e for e in take(store, RUN).events() if isinstance(e, ReplyRecorded)]
    failed: dict[Digest, str] = {}
    for event in events:
        assert event.request not in failed
        if event.rejected:
            failed[event.request] = event.rejected
    for event, request in zip(events, model.asked[1:], strict=False):
        if event.rejected:
            assert any(reason in request.messages[-1].text for reason in failed.values())
    store.close()
