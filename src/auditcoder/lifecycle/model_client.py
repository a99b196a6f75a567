"""Asking a model: within the budget, on record, again if none came, once more if it is unfit."""

from typing import Generic, NamedTuple, TypeVar

import msgspec

from auditcoder.domain.errors import (
    AuditCoderError,
    BudgetExceeded,
    ModelUnavailable,
    ReplayDiverged,
    ReplyUnusable,
)
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import (
    Attempt,
    FinishReason,
    Message,
    Reply,
    Request,
    Speaker,
    charged_for,
)
from auditcoder.domain.usage import Phase, Scope
from auditcoder.domain.values import Digest, encode, whole
from auditcoder.lifecycle.budget import BudgetLedger
from auditcoder.lifecycle.ports import Model
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.response_formats import FormatMismatch, ResponseFormat
from auditcoder.lifecycle.retry_policy import Backoff, RetryPolicy

T = TypeVar("T")

SECOND_OPINION = "second opinion"
"""The role that another model can have."""
_QUOTED = 2000
"""How much of an unusable answer is shown to the model again."""
_NAME = 200


class ModelQuestion(NamedTuple, Generic[T]):
    """What is asked, on whose behalf, and in which shape the answer must come."""

    messages: tuple[Message, ...]
    shape: ResponseFormat[T]
    role: str
    phase: Phase
    max_tokens: int
    scope: Scope = Scope.INITIAL
    node: NodeId | None = None
    nodes: tuple[NodeId, ...] = ()
    prompt: Digest | None = None
    temperature: float = 0.0
    seed: int | None = None


class ModelAnswer(NamedTuple, Generic[T]):
    """What was answered, and where it stands in the record."""

    value: T
    reply: Reply
    seq: int


def why(unusable: ReplyUnusable) -> str:
    """Say what was wrong with an answer, and not whose it was: a replay asks nobody."""
    return str(unusable.__cause__ or unusable)


class ModelClient:
    """Asks models on behalf of one run. Safe to share between threads."""

    def __init__(
        self,
        model: Model,
        recorder: Recorder,
        purse: BudgetLedger,
        retry_policy: RetryPolicy | None = None,
        waiting: Backoff | None = None,
        consulted: Model | None = None,
    ) -> None:
        self._model = model
        self._consulted = consulted or model
        self._recorder = recorder
        self._purse = purse
        self._retry_policy = retry_policy or RetryPolicy()
        self._waiting = waiting or Backoff()

    def ask(self, question: ModelQuestion[T]) -> ModelAnswer[T]:
        """Return a usable answer, or raise; either way everything said is on record."""
        request = _request(question)
        reply = self._complete(question, request)
        try:
            value = question.shape.read(reply)
        except FormatMismatch as unfit:
            self._record(question, request, reply, rejected=str(unfit))
            request = _again(request, reply, unfit)
            reply = self._complete(question, request)
            try:
                value = question.shape.read(reply)
            except FormatMismatch as still:
                self._record(question, request, reply, rejected=str(still))
                raise ReplyUnusable(
                    "reply.unusable",
                    f"{self._of(question).name} gave {question.role} no usable answer, twice:"
                    f" {still}",
                    "both answers are on record; try a stronger model, or a smaller task",
                ) from still
        seq = self._record(question, request, reply)
        return ModelAnswer(value, reply, seq)

    def _of(self, question: ModelQuestion[T]) -> Model:
        return self._consulted if question.role == SECOND_OPINION else self._model

    def _complete(self, question: ModelQuestion[T], request: Request) -> Reply:
        """Ask until an answer comes or the retry policy gives up; every attempt is recorded."""
        failed: list[Attempt] = []
        while True:
            try:
                return _told(self._once(self._of(question), request), failed)
            except ModelUnavailable as error:
                wait = self._retry_policy.wait_after(error, len(failed) + 1, self._waiting.chance)
                failed += error.attempts or (_attempt(error, wait),)
                if wait is None:
                    self._record_failure(question, request, error, failed)
                    raise
            except BudgetExceeded as error:
                if failed:  # a call that was never made is nothing to record
                    self._record_failure(question, request, error, failed)
                raise
            except ReplayDiverged:
                raise  # nothing was asked: the past does not answer
            except AuditCoderError as error:
                self._record_failure(question, request, error, failed)
                raise
            except BaseException as error:  # an interrupt, or a fault of ours: it may have cost
                if self._recorder.replaying:
                    raise  # nothing was asked: the past answers
                code = "interrupted" if isinstance(error, KeyboardInterrupt) else "internal"
                failed.append(Attempt(problem=code, message=type(error).__name__, billed=True))
                self._record_failure(question, request, error, failed)
                raise
            self._waiting.sleep(wait)

    def _once(self, model: Model, request: Request) -> Reply:
        """Make one call, with its most set aside until it is known what it cost.

        An answer that is on record already is taken from there, and charged as it was then: the
        budget must end a run where it ended it before.
        """
        self._recorder.skip_failed_calls()
        most = self._purse.reserve(request.at_most_tokens(), request.max_tokens)
        usage = charged_for([Attempt(problem="", billed=True)])
        try:
            reply = self._recorder.recall_reply(request.digest) or model.complete(request)
            usage = reply.usage
        except AuditCoderError as error:
            usage = charged_for([_attempt(error, None)])
            raise
        finally:
            self._purse.settle(most, usage)
        return reply

    def _record_failure(
        self,
        question: ModelQuestion[T],
        request: Request,
        error: BaseException,
        failed: list[Attempt],
    ) -> None:
        reply = Reply(
            text="", finish=FinishReason.FAILED, usage=charged_for(failed), attempts=tuple(failed)
        )
        code = error.code if isinstance(error, AuditCoderError) else failed[-1].problem
        self._record(question, request, reply, rejected=whole(f"{code}: {error}"))

    def _record(
        self, question: ModelQuestion[T], request: Request, reply: Reply, rejected: str = ""
    ) -> int:
        return self._recorder.record(
            ReplyRecorded(
                role=question.role,
                scope=question.scope,
                phase=question.phase,
                request=self._recorder.put(encode(request)),
                reply=self._recorder.put(reply.text),
                prompt=question.prompt,
                model=reply.model or self._of(question).name,
                node=question.node,
                nodes=question.nodes,
                usage=reply.usage,
                finish=reply.finish.value,
                milliseconds=reply.seconds * 1000,
                rejected=rejected,
                attempts=reply.attempts,
            )
        )


def _request(question: ModelQuestion[T]) -> Request:
    messages = tuple(
        Message(speaker=message.speaker, text=whole(message.text)) for message in question.messages
    )
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


def _attempt(error: AuditCoderError, wait: float | None) -> Attempt:
    return Attempt(
        problem=error.code,
        message=whole(str(error)),
        waited=wait or 0.0,
        billed=isinstance(error, ModelUnavailable) and error.billed,
    )


def _told(reply: Reply, failed: list[Attempt]) -> Reply:
    """Return the reply as the record will have it: whole characters, and what came before it."""
    return msgspec.structs.replace(
        reply,
        text=whole(reply.text),
        model=whole(reply.model)[:_NAME],
        usage=reply.usage + charged_for(failed),
        attempts=(*failed, *reply.attempts),
    )


def _again(request: Request, reply: Reply, unfit: FormatMismatch) -> Request:
    """Ask once more, with what was said and what is wrong with it."""
    said = reply.text if len(reply.text) <= _QUOTED else f"{reply.text[:_QUOTED]}\n[...]"
    objection = f"That cannot be used: {unfit}\nAnswer the request above again, as it asks."
    return msgspec.structs.replace(
        request,
        messages=(
            *request.messages,
            Message(speaker=Speaker.ASSISTANT, text=said or "(nothing)"),
            Message(speaker=Speaker.USER, text=whole(objection)),
        ),
    )
