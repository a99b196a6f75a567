"""Sends requests to a model: reserves their cost, retries, and records every attempt.

A temporary failure is retried. An unusable reply is requested once more, with the reason; a reply
that was cut at its token limit is requested again with more room, as far as its limits allow.
"""

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
from auditcoder.lifecycle.token_limits import ReplyRoom

T = TypeVar("T")

SECOND_OPINION = "second opinion"
INFORMED_OPINION = "informed second opinion"
"""A second opinion whose author has seen the present code and the failure."""
OPINIONS = frozenset({SECOND_OPINION, INFORMED_OPINION})
"""The only roles that a different model can be configured for."""
_MAX_QUOTED = 2000
"""Maximum number of characters of an unusable reply that are quoted back to the model."""
_MAX_NAME = 200
"""Maximum number of characters of a model's name that are recorded."""


class ModelQuestion(NamedTuple, Generic[T]):
    """A question for a model: messages, expected format, the acting role and its node."""

    messages: tuple[Message, ...]
    shape: ResponseFormat[T]
    role: str
    phase: Phase
    max_tokens: int
    """The first limit of the reply's length."""
    scope: Scope = Scope.INITIAL
    node: NodeId | None = None
    nodes: tuple[NodeId, ...] = ()
    prompt: Digest | None = None
    temperature: float = 0.0
    seed: int | None = None
    room: ReplyRoom | None = None
    """How far the limit may change; None if it must not."""


class ModelAnswer(NamedTuple, Generic[T]):
    """A parsed reply with the number of the event that records it."""

    value: T
    reply: Reply
    seq: int


class NoUsableReply(ReplyUnusable):
    """No reply was usable; `problem` says why, without the model's name, which a replay lacks."""

    def __init__(self, code: str, message: str, advice: str = "", problem: str = "") -> None:
        super().__init__(code, message, advice)
        self.problem = problem


def why(unusable: ReplyUnusable) -> str:
    """Return why a reply was unusable, without the model's name, which a replay does not know."""
    return unusable.problem if isinstance(unusable, NoUsableReply) else str(unusable)


class ModelClient:
    """Sends the requests of one run. Safe to share between threads."""

    def __init__(
        self,
        model: Model,
        recorder: Recorder,
        budget: BudgetLedger,
        retry_policy: RetryPolicy | None = None,
        backoff: Backoff | None = None,
        consulted: Model | None = None,
    ) -> None:
        self._model = model
        self._consulted = consulted or model
        self._recorder = recorder
        self._budget = budget
        self._retry_policy = retry_policy or RetryPolicy()
        self._backoff = backoff or Backoff()
        self._cut: set[str] = set()
        self._failed: dict[Digest, str] = {}
        """The requests that got an unusable reply, with the reason."""

    @property
    def cut(self) -> tuple[str, ...]:
        """Why replies stayed cut at a token limit, and what would allow longer ones."""
        return tuple(sorted(self._cut))

    def ask(self, question: ModelQuestion[T]) -> ModelAnswer[T]:
        """Return a usable answer, or raise; every request and reply is recorded either way.

        No request is sent again as it was after an unusable reply: it would get the same one.
        """
        request = self._affordable(question, _request(question))
        while (reason := self._failed.get(request.digest)) is not None:
            request = _with_earlier_failure(request, reason)
        objected, longest = False, 0
        while True:
            reply = self._complete(question, request)
            try:
                value = question.shape.read(reply)
            except FormatMismatch as mismatch:
                cut = reply.finish is FinishReason.LENGTH and question.room is not None
                problem = self._cut_at(question, request, reply, longest) if cut else str(mismatch)
                self._failed[request.digest] = problem
                self._record(question, request, reply, rejected=problem)
                larger = self._larger(question, request) if cut else None
                if larger is not None and _length(reply, request) > longest:
                    longest, request = _length(reply, request), larger
                    continue
                if objected or (cut and _can_grow(question)):
                    if cut:
                        self._cut.add(problem)
                    name = self._model_for(question).name
                    raise NoUsableReply(
                        "reply.unusable",
                        f"{name} gave {question.role} no usable answer: {problem}",
                        "its replies are recorded; try a stronger model or a smaller task",
                        problem,
                    ) from mismatch
                objected = True
                request = self._affordable(question, _with_objection(request, reply, mismatch))
            else:
                return ModelAnswer(value, reply, self._record(question, request, reply))

    def _affordable(self, question: ModelQuestion[T], request: Request) -> Request:
        """Return the request with the room that the budget leaves, but at least the least room."""
        left = self._budget.affordable(request.at_most_tokens())
        if question.room is None or left is None or left >= request.max_tokens:
            return request
        return msgspec.structs.replace(request, max_tokens=max(left, question.room.least))

    def _larger(self, question: ModelQuestion[T], request: Request) -> Request | None:
        """Return the request with twice the room, as far as allowed; None if it cannot grow."""
        assert question.room is not None
        most = question.room.most
        larger = msgspec.structs.replace(request, max_tokens=min(2 * request.max_tokens, most))
        larger = self._affordable(question, larger)
        return larger if larger.max_tokens > request.max_tokens else None

    def _cut_at(
        self, question: ModelQuestion[T], request: Request, reply: Reply, longest: int
    ) -> str:
        """Describe a reply that was cut, and what would allow a longer one."""
        assert question.room is not None
        cut = f"the reply was cut at {request.max_tokens} tokens"
        if not reply.text.strip():
            cut += ", all of them reasoning"
        if (length := _length(reply, request)) <= longest:
            return (
                f"{cut}, but the model had ended it after {length}: use a model with longer replies"
            )
        if self._larger(question, request) is not None:
            return f"{cut}; it is requested again with more"
        if request.max_tokens < question.room.most:
            return f"{cut}, which is all that the budget leaves: raise the budget"
        return f"{cut}: raise {question.room.option}"

    def _model_for(self, question: ModelQuestion[T]) -> Model:
        return self._consulted if question.role in OPINIONS else self._model

    def _complete(self, question: ModelQuestion[T], request: Request) -> Reply:
        """Call the model until it replies or the retry policy gives up; record failed attempts."""
        failed: list[Attempt] = []
        while True:
            try:
                return _normalised(self._call(self._model_for(question), request), failed)
            except ModelUnavailable as error:
                wait = self._retry_policy.wait_after(error, len(failed) + 1, self._backoff.chance)
                failed += error.attempts or (_attempt(error, wait),)
                if wait is None:
                    self._record_failure(question, request, error, failed)
                    raise
            except BudgetExceeded as error:
                if failed:  # otherwise no call was made and there is nothing to record
                    self._record_failure(question, request, error, failed)
                raise
            except ReplayDiverged:
                raise  # no call was made
            except AuditCoderError as error:
                self._record_failure(question, request, error, failed)
                raise
            except BaseException as error:  # an interrupt or a bug: the call may be billed
                if self._recorder.replaying:
                    raise  # no call was made
                code = "interrupted" if isinstance(error, KeyboardInterrupt) else "internal"
                failed.append(Attempt(problem=code, message=type(error).__name__, billed=True))
                self._record_failure(question, request, error, failed)
                raise
            self._backoff.sleep(wait)

    def _call(self, model: Model, request: Request) -> Reply:
        """Make one call, with its maximum cost reserved until the actual cost is known.

        A recorded reply is taken from the record and charged as it was then, so that a replayed
        run exceeds its budget at the same call.
        """
        self._recorder.skip_failed_calls()
        most = self._budget.reserve(request.at_most_tokens(), request.max_tokens)
        usage = charged_for([Attempt(problem="", billed=True)])
        try:
            reply = self._recorder.recall_reply(request.digest) or model.complete(request)
            usage = reply.usage
        except AuditCoderError as error:
            usage = charged_for([_attempt(error, None)])
            raise
        finally:
            self._budget.settle(most, usage)
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
                model=reply.model or self._model_for(question).name,
                node=question.node,
                nodes=question.nodes,
                usage=reply.usage,
                finish=reply.finish.value,
                milliseconds=reply.seconds * 1000,
                rejected=rejected,
                attempts=reply.attempts,
            )
        )


def _length(reply: Reply, request: Request) -> int:
    """Return the tokens of a reply that was cut; those allowed if the server reports none."""
    return reply.usage.completion_tokens or request.max_tokens


def _can_grow(question: ModelQuestion[T]) -> bool:
    return question.room is not None and question.room.most > question.room.least


def _request(question: ModelQuestion[T]) -> Request:
    messages = tuple(
        Message(speaker=message.speaker, text=whole(message.text)) for message in question.messages
    )
    if instruction := question.shape.instruction():
        last = messages[-1]
        instructed = Message(speaker=last.speaker, text=f"{last.text}\n\n{instruction}")
        messages = (*messages[:-1], instructed)
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


def _normalised(reply: Reply, failed: list[Attempt]) -> Reply:
    """Return the reply as it is recorded: valid Unicode, and the failed attempts added."""
    return msgspec.structs.replace(
        reply,
        text=whole(reply.text),
        model=whole(reply.model)[:_MAX_NAME],
        usage=reply.usage + charged_for(failed),
        attempts=(*failed, *reply.attempts),
    )


def _with_earlier_failure(request: Request, reason: str) -> Request:
    """Return the request with the reason why an earlier reply to it was unusable."""
    *before, last = request.messages
    told = f"{last.text}\n\nAn earlier answer to this could not be used: {whole(reason)}"
    return msgspec.structs.replace(
        request, messages=(*before, Message(speaker=last.speaker, text=told))
    )


def _with_objection(request: Request, reply: Reply, mismatch: FormatMismatch) -> Request:
    """Return the request with the unusable reply and the objection to it added."""
    quoted = reply.text if len(reply.text) <= _MAX_QUOTED else f"{reply.text[:_MAX_QUOTED]}\n[...]"
    objection = f"That cannot be used: {mismatch}\nAnswer the request above again, as it asks."
    return msgspec.structs.replace(
        request,
        messages=(
            *request.messages,
            Message(speaker=Speaker.ASSISTANT, text=quoted or "(nothing)"),
            Message(speaker=Speaker.USER, text=whole(objection)),
        ),
    )
