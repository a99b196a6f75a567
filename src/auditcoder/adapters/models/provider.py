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
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from auditcoder.domain.errors import ModelError, ModelMisconfigured, ModelUnavailable
from auditcoder.domain.request import Finish, Message, Price, Reply, Request, Speaker, Traits
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Value

_LONG = 500
_KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]*_API_KEY")


class Secret:
    """A key. It shows itself to nobody who does not ask for it by name."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key

    def reveal(self) -> str:
        """Return the key."""
        return self._key

    def scrub(self, text: str) -> str:
        """Return `text` without the key, or the beginnings and ends of it that servers quote."""
        for part in (self._key, self._key[:8], self._key[-4:]):
            if len(part) >= 4:
                text = text.replace(part, "***")
        return text

    def __repr__(self) -> str:
        return "Secret(***)"


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

    def __init__(self, endpoint: Endpoint, key: Secret | None = None) -> None:
        self._endpoint = endpoint
        self._key = key or Secret("")
        self.name = f"{endpoint.provider}:{endpoint.name}"
        self._asking = _modules()
        self._model = self._guarded(lambda: self._asking.open(endpoint, self._key))
        self.traits = Traits(
            parallel=endpoint.parallel,
            price=endpoint.price or self._asking.price(endpoint),
        )
        # One loop for all callers: connections belong to the loop that made them.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f"model {self.name}", daemon=True
        )
        self._thread.start()
        self._run(self._model.__aenter__())

    def at_most_tokens(self, request: Request) -> int:
        """Count bytes: whose tokenizer it is nobody tells."""
        return request.at_most_tokens()

    def complete(self, request: Request) -> Reply:
        """Ask once."""
        if self._loop.is_closed():
            raise ModelMisconfigured("model.closed", f"{self.name} was closed")
        started = time.monotonic()
        asked = self._asking.request(self._model, request, self._endpoint)
        response = self._guarded(lambda: self._run(asked))
        text, finish = self._asking.read(response)
        return Reply(
            text=text,
            finish=finish,
            usage=self._usage(response),
            model=f"{self._endpoint.provider}:{response.model_name or self._endpoint.name}",
            seconds=time.monotonic() - started,
        )

    def _run(self, asked: Coroutine[Any, Any, Any]) -> Any:
        future = asyncio.run_coroutine_threadsafe(asked, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _usage(self, response: Any) -> Usage:
        used = response.usage
        measured = bool(used.input_tokens or used.output_tokens)
        price = self.traits.price
        cached = min(used.cache_read_tokens or 0, used.input_tokens)
        return Usage(
            calls=1,
            prompt_tokens=used.input_tokens,
            completion_tokens=used.output_tokens,
            cached_tokens=cached,
            usd=price.of(used.input_tokens, used.output_tokens, cached) if price else 0.0,
            unpriced=0 if price and measured else 1,
            unmeasured=0 if measured else 1,
        )

    def _guarded(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except ModelError:
            raise
        except Exception as error:
            self._raise(error)

    def _raise(self, error: Exception) -> NoReturn:
        """Turn what the provider's library raises into what it means, without the key in it."""
        if (variable := _KEY_NAME.search(str(error))) and not self._key.reveal():
            raise ModelMisconfigured(
                "model.key",
                f"{self.name} needs a key, and there is none",
                f"set {variable[0]} in the environment, or a key in the configuration",
            ) from None
        known = self._asking.meaning(error)
        message = self._key.scrub(str(error)).strip().replace("\n", " ")[:_LONG]
        if known is _MALFORMED:
            message = f"what it answered is no answer: {message}"
        said = f"{self.name}: {message or type(error).__name__}"
        if known.passing:
            raise ModelUnavailable(
                known.code,
                said,
                known.advice,
                retry_after=getattr(error, "retry_after", None),
                billed=known.billed,
            ) from None
        raise ModelMisconfigured(known.code, said, known.advice) from None

    def close(self) -> None:
        """End the loop and its connections."""
        if not self._loop.is_closed():
            with contextlib.suppress(Exception):
                self._run(self._model.__aexit__(None, None, None))
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5)
            self._loop.close()


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

    def read(self, response: Any) -> tuple[str, Finish]:
        """Return the text of a response, and why it ended."""
        parts = [part for part in response.parts if isinstance(part, self._messages.TextPart)]
        text = "".join(part.content for part in parts)
        match response.finish_reason:
            case "length":
                return text, Finish.LENGTH
            case "content_filter":
                return text, Finish.REFUSED
            case _:
                return text, Finish.STOP

    def meaning(self, error: Exception) -> _Meaning:
        """Say what an exception means; what nobody knows came of an answer that is none."""
        if _OVERFLOW.search(str(getattr(error, "body", ""))):
            return _TOO_LONG
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
        passing(known.ModelHTTPError, "model.server"),
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
