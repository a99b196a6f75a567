"""Any provider: OpenAI and whatever speaks its protocol, Anthropic, Google and others.

Speaks through `pydantic-ai-slim`, an optional package that takes a second or two to import: it is
imported when a model is opened, not before.
"""

import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError
from typing import Any, NoReturn

from auditcoder.domain.errors import ModelError, ModelMisconfigured, ModelUnavailable
from auditcoder.domain.request import FinishReason, Message, Price, Reply, Request, Speaker, Traits
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Value

_LONG = 500
_LONGEST = 20_000
_ABSURD = 64
"""Characters for each token that was allowed; none is so long on average."""
_COUNTABLE = 1 << 40
_KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]*_API_KEY")


_QUOTED = 8
"""So many characters of a key in a row are not shown to anybody."""


class Secret:
    """A key. It shows itself to nobody who does not ask for it by name."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key.strip()

    def reveal(self) -> str:
        """Return the key."""
        return self._key

    def scrub(self, text: str) -> str:
        """Return `text` without the key, or any longer piece of it that a server quotes."""
        size = min(_QUOTED, len(self._key))
        if size < 4:  # nothing that could be told from an ordinary word
            return text
        pieces = {self._key[at : at + size] for at in range(len(self._key) - size + 1)}
        shown = list(text)
        for at in range(len(text) - size + 1):
            if text[at : at + size] in pieces:
                shown[at : at + size] = [""] * size
                shown[at] = "*"
        return re.sub(r"\*{2,}", "***", "".join(shown)) if shown != list(text) else text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> NoReturn:
        """Go into no pickle."""
        raise TypeError("a key is not to be copied elsewhere")


class Endpoint(Value):
    """Where a model is to be found, but for the key."""

    provider: str
    """Such as `openai`, `anthropic`, `google`, `ollama`; or a name from the configuration."""
    name: str
    """The model's, as the provider calls it."""
    base_url: str = ""
    """The address of a server that speaks OpenAI's protocol; empty for the provider's own."""
    seconds: float = 300.0
    """How long one answer may take, from asking to its last word."""
    parallel: int = 4
    price: Price | None = None
    constrains: bool = True
    """Whether it can be held to a JSON Schema."""


class ProviderModel:
    """A model behind a provider's interface. Safe to share between threads."""

    def __init__(
        self, endpoint: Endpoint, key: Secret | None = None, secrets: Iterable[str] = ()
    ) -> None:
        self._endpoint = endpoint
        self._key = key or Secret("")
        self._secrets = (self._key, *map(Secret, secrets))
        self.name = f"{endpoint.provider}:{endpoint.name}"
        if not (self._key.reveal().isascii() and self._key.reveal().isprintable()):
            raise ModelMisconfigured(
                "model.key",
                f"the key for {self.name} holds characters that no key has",
                "copy it again, without line ends or quotation marks",
            )
        self._asking = _modules()
        self._model = self._guarded(lambda: self._asking.open(endpoint, self._key))
        self.traits = Traits(
            parallel=endpoint.parallel, price=endpoint.price or self._asking.price(endpoint)
        )
        # One loop for all callers: connections belong to the loop that made them.
        self._loop = asyncio.new_event_loop()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f"model {self.name}", daemon=True
        )
        self._thread.start()
        self._run(self._model.__aenter__())

    def complete(self, request: Request) -> Reply:
        """Ask once."""
        started = time.monotonic()
        asked = self._asking.request(self._model, request, self._endpoint)

        def answered() -> Reply:
            response = self._run(asked)
            text, finish = self._asking.read(response)
            if len(text) > _ABSURD * request.max_tokens + _LONG:
                raise ValueError("it is far longer than was asked for")
            named = self._scrubbed(str(response.model_name or self._endpoint.name))
            return Reply(
                text=self._scrubbed(text),
                finish=finish,
                usage=self._usage(response),
                model=f"{self._endpoint.provider}:{named}",
                seconds=time.monotonic() - started,
            )

        reply: Reply = self._guarded(answered)
        return reply

    def _run(self, asked: Coroutine[Any, Any, Any]) -> Any:
        with self._closing:
            if self._closed:
                asked.close()
                raise self._was_closed()
            future = asyncio.run_coroutine_threadsafe(asked, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise self._was_closed() from None
        except BaseException:
            future.cancel()
            raise

    def _was_closed(self) -> ModelMisconfigured:
        return ModelMisconfigured("model.closed", f"{self.name} was closed")

    def _usage(self, response: Any) -> Usage:
        used = response.usage
        counts = (used.input_tokens, used.output_tokens, used.cache_read_tokens)
        prompt, completion, cached = (
            count if isinstance(count, int) and 0 <= count < _COUNTABLE else 0 for count in counts
        )
        measured = bool(prompt or completion)
        price = self.traits.price
        cached = min(cached, prompt)
        return Usage(
            calls=1,
            prompt_tokens=prompt,
            completion_tokens=completion,
            cached_tokens=cached,
            usd=price.of(prompt, completion, cached) if price else 0.0,
            unpriced=0 if price and measured else 1,
            unmeasured=0 if measured else 1,
        )

    def _guarded(self, act: Callable[[], Any]) -> Any:
        """Do it, and say what went wrong without the key in it, or anything that holds it."""
        try:
            return act()
        except ModelError:
            raise
        except Exception as error:
            meant = self._meant(error)
        raise meant

    def _meant(self, error: Exception) -> ModelError:
        if (variable := _KEY_NAME.search(str(error))) and not self._key.reveal():
            return ModelMisconfigured(
                "model.key",
                f"{self.name} needs a key, and there is none",
                f"set {variable[0]} in the environment, or a key in the configuration",
            )
        meaning = self._asking.meaning(error)
        message = self._scrubbed(str(error)[:_LONGEST]).strip().replace("\n", " ")[:_LONG]
        if meaning is _MALFORMED:
            message = f"what it answered is no answer: {message}"
        said = f"{self.name}: {message or type(error).__name__}"
        if not meaning.passing:
            return ModelMisconfigured(meaning.code, said, meaning.advice)
        return ModelUnavailable(
            meaning.code,
            said,
            meaning.advice,
            retry_after=getattr(error, "retry_after", None),
            billed=meaning.billed and getattr(error, "phase", None) not in {"pool", "connect"},
        )

    def _scrubbed(self, text: str) -> str:
        for secret in self._secrets:
            text = secret.scrub(text)
        return text

    def close(self) -> None:
        """End the loop and its connections, and every answer that is still awaited."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _end(self) -> None:
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        with contextlib.suppress(Exception):
            await self._model.__aexit__(None, None, None)


class _Meaning(Value):
    code: str
    advice: str
    passing: bool = False
    billed: bool = False


_LATER = "try again later; the run can be resumed"
_MALFORMED = _Meaning(
    code="model.malformed",
    advice="check that the base URL leads to a server that speaks the protocol",
    passing=True,
    billed=True,
)
_TOO_LONG = _Meaning(
    code="model.too-long",
    advice="the request does not fit the model; use one with a longer context",
)
_MOVED = _Meaning(code="model.rejected", advice="the server points elsewhere; correct the base URL")
_OVERFLOW = re.compile("exceed_context_size|context_length_exceeded|maximum context length")


class _Asking:
    """What is needed of pydantic-ai, in one place."""

    def __init__(self) -> None:
        from pydantic_ai import direct, exceptions, messages, models, output, providers

        self._direct = direct
        self._messages = messages
        self._models = models
        self._output = output
        self._providers = providers
        self._meanings = _meanings(exceptions)

    def open(self, endpoint: Endpoint, key: Secret) -> Any:
        """Return the library's own model for an endpoint."""
        known = {"api_key": key.reveal()} if key.reveal() else {}
        if endpoint.base_url:
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            provider = OpenAIProvider(base_url=endpoint.base_url, api_key=key.reveal() or "none")
            return OpenAIChatModel(endpoint.name, provider=provider)
        return self._models.infer_model(
            f"{endpoint.provider}:{endpoint.name}",
            provider_factory=lambda name: self._provider(name)(**known),
        )

    def _provider(self, name: str) -> Any:
        try:
            return self._providers.infer_provider_class(name)
        except ValueError as unknown:
            raise ModelMisconfigured(
                "model.unknown",
                f"there is no provider called {name}",
                "name one such as openai, anthropic or google, or describe your own in the"
                " configuration; see docs/guides/models.md",
            ) from unknown

    def price(self, endpoint: Endpoint) -> Price | None:
        """Return the published price, None if there is none."""
        if endpoint.base_url:
            return None
        from genai_prices import Usage as Amount
        from genai_prices import calc_price

        def cost(**tokens: int) -> float:
            spent = calc_price(Amount(**tokens), endpoint.name, provider_id=endpoint.provider)
            return float(spent.total_price) * 1000

        try:
            return Price(
                prompt=cost(input_tokens=1000),
                completion=cost(output_tokens=1000),
                cached=cost(input_tokens=1000, cache_read_tokens=1000),
            )
        except (LookupError, ValueError):
            return None

    async def request(self, model: Any, request: Request, endpoint: Endpoint) -> Any:
        """Ask once."""
        settings: Any = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "request_timeout": endpoint.seconds,
            "max_retries": 0,
        }
        if request.seed is not None:
            settings["seed"] = request.seed
        if request.stop:
            settings["stop_sequences"] = list(request.stop)
        shape = None
        if request.schema and endpoint.constrains:
            shape = self._models.ModelRequestParameters(
                output_mode="native",
                output_object=self._output.OutputObjectDefinition(
                    json_schema=json.loads(request.schema), name="answer", strict=True
                ),
            )
        return await self._direct.model_request(
            model,
            [self._message(message) for message in request.messages],
            model_settings=settings,
            model_request_parameters=shape,
        )

    def _message(self, message: Message) -> Any:
        kinds = self._messages
        match message.speaker:
            case Speaker.SYSTEM:
                return kinds.ModelRequest(parts=[kinds.SystemPromptPart(content=message.text)])
            case Speaker.USER:
                return kinds.ModelRequest(parts=[kinds.UserPromptPart(content=message.text)])
            case Speaker.ASSISTANT:
                return kinds.ModelResponse(parts=[kinds.TextPart(content=message.text)])

    def read(self, response: Any) -> tuple[str, FinishReason]:
        """Return the text of a response, and why it ended."""
        parts = [part for part in response.parts if isinstance(part, self._messages.TextPart)]
        text = "".join(part.content for part in parts)
        match response.finish_reason:
            case "length":
                return text, FinishReason.LENGTH
            case "content_filter":
                return text, FinishReason.REFUSED
            case _:
                return text, FinishReason.STOP

    def meaning(self, error: Exception) -> _Meaning:
        """Say what an exception means; what nobody knows came of an answer that is none."""
        if _OVERFLOW.search(str(getattr(error, "body", ""))):
            return _TOO_LONG
        status = getattr(error.__cause__, "status_code", None)
        if isinstance(status, int) and 300 <= status < 400:
            return _MOVED
        for kind, meaning in self._meanings:
            if isinstance(error, kind):
                return meaning
        return _MALFORMED


def _meanings(known: Any) -> list[tuple[type[Exception], _Meaning]]:
    """List what each exception means, the narrower before the wider."""

    def stuck(kind: type[Exception], code: str, advice: str) -> tuple[type[Exception], _Meaning]:
        return kind, _Meaning(code=code, advice=advice)

    def passing(
        kind: type[Exception], code: str, advice: str = _LATER, *, billed: bool = False
    ) -> tuple[type[Exception], _Meaning]:
        return kind, _Meaning(code=code, advice=advice, passing=True, billed=billed)

    slow = "the server is slow or silent; allow more seconds in the configuration, or ask another"
    return [
        passing(known.ModelRateLimitError, "model.rate-limited"),
        stuck(known.ModelQuotaExceededError, "model.quota", "top up the account, or use another"),
        passing(known.ModelUnavailableError, "model.overloaded"),
        passing(known.ModelServerError, "model.server"),
        passing(known.ModelRequestTimeout, "model.timeout", slow, billed=True),
        passing(known.ModelTimeoutError, "model.timeout", slow, billed=True),
        passing(
            known.ModelConnectionError,
            "model.connection",
            "check the base URL and that the server runs",
            billed=True,
        ),
        stuck(
            known.ModelAuthenticationError,
            "model.key",
            "set the provider's key in the environment or the configuration",
        ),
        stuck(known.ModelNotFoundError, "model.unknown", "check the model's name"),
        (known.ModelContextWindowExceededError, _TOO_LONG),
        stuck(known.ModelRequestRejectedError, "model.rejected", "the server will not take it"),
        stuck(known.UserError, "model.unknown", "name it as `--model provider:name`"),
        stuck(known.ModelHTTPError, "model.rejected", "the server will not take it"),
    ]


def _modules() -> _Asking:
    try:
        return _Asking()
    except ImportError as error:
        raise ModelMisconfigured(
            "model.extra-missing",
            f"asking a provider needs a package that is not installed: {error}",
            "pip install 'auditcoder[providers]'",
        ) from error
