"""Asking a model: within the budget, on record, and once more if the answer cannot be used."""

from typing import Generic, NamedTuple, TypeVar

import msgspec

from auditcoder.domain.errors import ModelError, ModelUnavailable, ReplyUnusable
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import (
    Attempt,
    Finish,
    Message,
    Reply,
    Request,
    Speaker,
    charged_for,
)
from auditcoder.domain.usage import Phase, Scope, Usage
from auditcoder.domain.values import Digest, encode
from auditcoder.lifecycle.budget import Purse
from auditcoder.lifecycle.ports import Model
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.shapes import Shape, Unfit

T = TypeVar("T")

_QUOTED = 2000
"""How much of an unusable answer is shown to the model again."""


class Question(NamedTuple, Generic[T]):
    """What is asked, on whose behalf, and in which shape the answer must come."""

    messages: tuple[Message, ...]
    shape: Shape[T]
    role: str
    phase: Phase
    max_tokens: int
    scope: Scope = Scope.INITIAL
    node: NodeId | None = None
    prompt: Digest | None = None
    temperature: float = 0.0
    seed: int | None = None


class Answer(NamedTuple, Generic[T]):
    """What was answered, and where it stands in the record."""

    value: T
    reply: Reply
    seq: int


class Asker:
    """Asks one model on behalf of one run. Safe to share between threads."""

    def __init__(self, model: Model, recorder: Recorder, purse: Purse) -> None:
        self._model = model
        self._recorder = recorder
        self._purse = purse

    def ask(self, question: Question[T]) -> Answer[T]:
        """Return a usable answer, or raise; either way everything said is on record."""
        request = self._request(question)
        reply = self._complete(question, request)
        try:
            value = question.shape.read(reply)
        except Unfit as unfit:
            self._record(question, request, reply, rejected=str(unfit))
            request = _again(request, reply, unfit)
            reply = self._complete(question, request)
            try:
                value = question.shape.read(reply)
            except Unfit as still:
                self._record(question, request, reply, rejected=str(still))
                raise ReplyUnusable(
                    "reply.unusable",
                    f"{self._model.name} gave {question.role} no usable answer, twice: {still}",
                    "both answers are on record; try a stronger model, or a smaller task",
                ) from still
        seq = self._record(question, request, reply)
        return Answer(value, reply, seq)

    @staticmethod
    def _request(question: Question[T]) -> Request:
        messages = question.messages
        if instruction := question.shape.instruction():
            last = messages[-1]
            told = Message(speaker=last.speaker, text=f"{last.text}\n\n{instruction}")
            messages = (*messages[:-1], told)
        return Request(
            messages=messages,
            max_tokens=question.max_tokens,
            temperature=question.temperature,
            seed=question.seed,
            schema=question.shape.schema,
            prompt=question.prompt,
        )

    def _complete(self, question: Question[T], request: Request) -> Reply:
        most = self._purse.reserve(self._model.at_most_tokens(request), request.max_tokens)
        usage = Usage()
        try:
            reply = self._model.complete(request)
            usage = reply.usage
        except ModelError as error:
            failure = _failure(error)
            usage = failure.usage
            self._record(question, request, failure, rejected=f"{error.code}: {error}")
            raise
        finally:
            self._purse.settle(most, usage)
        return reply

    def _record(
        self, question: Question[T], request: Request, reply: Reply, rejected: str = ""
    ) -> int:
        return self._recorder.record(
            ReplyRecorded(
                role=question.role,
                scope=question.scope,
                phase=question.phase,
                request=self._recorder.put(encode(request)),
                reply=self._recorder.put(reply.text),
                prompt=question.prompt,
                model=reply.model or self._model.name,
                node=question.node,
                usage=reply.usage,
                finish=reply.finish.value,
                milliseconds=reply.seconds * 1000,
                rejected=rejected,
                attempts=reply.attempts,
            )
        )


def _failure(error: ModelError) -> Reply:
    """Return what to record of a call that brought no answer."""
    attempts: tuple[Attempt, ...] = ()
    if isinstance(error, ModelUnavailable):
        attempts = error.attempts or (
            Attempt(problem=error.code, message=str(error), billed=error.billed),
        )
    return Reply(text="", finish=Finish.FAILED, usage=charged_for(attempts), attempts=attempts)


def _again(request: Request, reply: Reply, unfit: Unfit) -> Request:
    """Ask once more, with what was said and what is wrong with it."""
    said = reply.text if len(reply.text) <= _QUOTED else f"{reply.text[:_QUOTED]}\n[...]"
    objection = f"That cannot be used: {unfit}\nAnswer the request above again, as it asks."
    return msgspec.structs.replace(
        request,
        messages=(
            *request.messages,
            Message(speaker=Speaker.ASSISTANT, text=said or "(nothing)"),
            Message(speaker=Speaker.USER, text=objection),
        ),
    )
