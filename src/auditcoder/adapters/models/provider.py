"""Models of providers: OpenAI and servers with a compatible API, Anthropic, Google and others.

Uses `pydantic-ai-slim`, an optional package that takes one or two seconds to import: it is
imported when a model is opened, not before.
"""

import asyncio
import contextlib
import inspect
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import CancelledError
from typing import Any

from msgspec.structs import replace

from auditcoder.adapters.addresses import secrets_in
from auditcoder.adapters.models.provider_errors import (
    MALFORMED,
    MAX_BYTES,
    REPLY_LIMIT,
    Meaning,
    ResponseTooLarge,
    errors_by_kind,
    meaning_of,
)
from auditcoder.adapters.models.secret import Secret
from auditcoder.domain.errors import ModelError, ModelMisconfigured, ModelUnavailable
from auditcoder.domain.request import (
    GENEROUS,
    Attempt,
    FinishReason,
    Message,
    Price,
    Reply,
    Request,
    Speaker,
    Traits,
)
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Value

_MESSAGE_LENGTH = 500
_SCRUBBED_LENGTH = 20_000
"""Characters of an error message that are searched for keys before it is shortened."""
_MOST_CHARACTERS = 64
"""Characters per allowed token from which a reply counts as malformed."""
_MOST_TOKENS = 1 << 40
_SHORTEST = 256
"""Tokens below which no shorter reply is requested."""
_KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]*_API_KEY")


class Endpoint(Value):
    """The address of a model and its settings, without the key."""

    provider: str
    """Such as `openai`, `anthropic`, `google`, `ollama`; or a name from the configuration."""
    name: str
    """The provider's name of the model."""
    base_url: str = ""
    """Address of a server with an OpenAI-compatible API; empty for the provider's own address."""
    seconds: float = 300.0
    """Maximum duration of one request, until its reply is complete."""
    parallel: int = 4
    price: Price | None = None
    constrains: bool = True
    """Whether the server can constrain replies to a JSON Schema."""
    max_tokens: int | None = None
    """The longest reply that the model allows, reasoning included; None if it is unknown."""


class ProviderModel:
    """A model of a provider. Safe to share between threads."""

    def __init__(
        self, endpoint: Endpoint, key: Secret | None = None, secrets: Iterable[str] = ()
    ) -> None:
        self._endpoint = endpoint
        self._key = key or Secret("")
        in_address: tuple[str, ...] | None = None
        with contextlib.suppress(ValueError):  # its text can contain a password
            in_address = secrets_in(endpoint.base_url)
        if in_address is None:
            raise ModelMisconfigured(
                "model.address",
                f"the base URL of the provider {endpoint.provider} is not a valid address",
                "correct base_url in the configuration, or AUDITCODER_BASE_URL",
            )
        self._secrets = (self._key, *map(Secret, (*secrets, *in_address)))
        self.name = f"{endpoint.provider}:{endpoint.name}"
        if not (self._key.reveal().isascii() and self._key.reveal().isprintable()):
            raise ModelMisconfigured(
                "model.key",
                f"the key for {self.name} contains invalid characters",
                "copy it again, without line ends or quotation marks",
            )
        self._library = _load_library()
        self._client = self._library.client(endpoint)
        self._model = self._translated(
            lambda: self._library.open(endpoint, self._key, self._client)
        )
        self.traits = Traits(
            parallel=endpoint.parallel,
            price=endpoint.price or self._library.price(endpoint),
            limits=replace(GENEROUS, most=endpoint.max_tokens or GENEROUS.most),
        )
        self._longest = endpoint.max_tokens
        # One event loop for all callers: connections belong to the loop that opened them.
        self._loop = asyncio.new_event_loop()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f"model {self.name}", daemon=True
        )
        self._thread.start()
        self._run(self._model.__aenter__())

    def complete(self, request: Request) -> Reply:
        """Send the request and return the reply.

        If the server rejects the length of the reply, half of it is requested, and no more later.
        The rejections are attempts of the reply.
        """
        rejections: list[Attempt] = []
        while True:
            allowed = min(request.max_tokens, self._longest or request.max_tokens)
            try:
                reply = self._complete(replace(request, max_tokens=allowed))
            except ModelMisconfigured as error:
                if error.code != REPLY_LIMIT.code or allowed < 2 * _SHORTEST:
                    raise
                rejections.append(Attempt(problem=error.code, message=str(error)))
                self._longest = allowed // 2
            else:
                return replace(reply, attempts=tuple(rejections))

    def _complete(self, request: Request) -> Reply:
        started = time.monotonic()
        pending = self._library.request(self._model, request, self._endpoint)

        def receive() -> Reply:
            response = self._run(pending)
            text, finish = self._library.read(response)
            if len(text) > _MOST_CHARACTERS * request.max_tokens + _MESSAGE_LENGTH:
                raise ValueError("the reply is far longer than requested")
            model_name = str(response.model_name or self._endpoint.name)
            self._refuse_echo(text, model_name)
            return Reply(
                text=text,
                finish=finish,
                usage=self._usage(response),
                model=f"{self._endpoint.provider}:{model_name}",
                seconds=time.monotonic() - started,
            )

        reply: Reply = self._translated(receive)
        return reply

    def _refuse_echo(self, *texts: str) -> None:
        """Refuse a reply that contains a key: a reply is recorded as it is, or not at all."""
        if any(secret.is_in(text) for secret in self._secrets for text in texts):
            raise ModelUnavailable(
                "model.echoed-key",
                f"{self.name}: the reply contains the key, so it was not recorded",
                "replace the key, and find out why the provider or the prompt repeats it",
                billed=True,
            )

    def _run(self, pending: Coroutine[Any, Any, Any]) -> Any:
        with self._closing:
            if self._closed:
                pending.close()
                raise self._was_closed()
            future = asyncio.run_coroutine_threadsafe(pending, self._loop)
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
            count if isinstance(count, int) and 0 <= count < _MOST_TOKENS else 0 for count in counts
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

    def _translated(self, act: Callable[[], Any]) -> Any:
        """Call `act`; raise its errors as a ModelError without keys and without a cause."""
        try:
            return act()
        except ModelError:
            raise
        except ImportError as error:
            translated: ModelError = _extra_missing(error)
        except Exception as error:
            translated = self._model_error(error)
        raise translated  # outside the handler: the original error may hold a key

    def _model_error(self, error: Exception) -> ModelError:
        if (variable := _KEY_NAME.search(str(error))) and not self._key.reveal():
            return ModelMisconfigured(
                "model.key",
                f"no key is set for {self.name}",
                f"set {variable[0]} in the environment, or a key in the configuration",
            )
        meaning = self._library.meaning(error)
        message = (
            self._scrubbed(str(error)[:_SCRUBBED_LENGTH])
            .strip()
            .replace("\n", " ")[:_MESSAGE_LENGTH]
        )
        if meaning is MALFORMED:
            message = f"malformed response: {message}"
        text = f"{self.name}: {message or type(error).__name__}"
        if not meaning.retryable:
            return ModelMisconfigured(meaning.code, text, meaning.advice)
        return ModelUnavailable(
            meaning.code,
            text,
            meaning.advice,
            retry_after=getattr(error, "retry_after", None),
            billed=meaning.billed and getattr(error, "phase", None) not in {"pool", "connect"},
        )

    def _scrubbed(self, text: str) -> str:
        for secret in self._secrets:
            text = secret.scrub(text)
        return text

    def close(self) -> None:
        """Cancel pending requests and close the connections and the event loop."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _end(self) -> None:
        pending = asyncio.all_tasks() - {asyncio.current_task()}
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        with contextlib.suppress(Exception):
            await self._model.__aexit__(None, None, None)
        with contextlib.suppress(Exception):
            await self._client.aclose()


async def _bound(response: Any) -> None:
    """Make a response stop at a limit of its decompressed size, when it is read."""
    if "," in response.headers.get("content-encoding", ""):
        # Within one piece of an outer coding, an inner one can keep the decoder busy for minutes.
        raise ValueError("the response is compressed more than once")
    compressed = type(response)(
        response.status_code, headers=response.headers, stream=response.stream
    )
    if "content-encoding" in response.headers:
        del response.headers["content-encoding"]
    response.stream = _bounded_stream(compressed)


def _bounded_stream(compressed: Any) -> Any:
    from httpx2 import AsyncByteStream

    class Bounded(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in compressed.aiter_bytes():
                size += len(piece)
                if size > MAX_BYTES:
                    raise ResponseTooLarge
                yield piece

        async def aclose(self) -> None:
            await compressed.aclose()

    return Bounded()


class _Library:
    """The parts of pydantic-ai that are used, in one place."""

    def __init__(self) -> None:
        from pydantic_ai import direct, exceptions, messages, models, output, providers

        self._direct = direct
        self._messages = messages
        self._models = models
        self._output = output
        self._providers = providers
        self._meanings = errors_by_kind(exceptions)

    def client(self, endpoint: Endpoint) -> Any:
        """Return an HTTP client that reads responses up to a limit."""
        client = self._models.create_async_httpx2_client(timeout=endpoint.seconds)
        client.event_hooks["response"].append(_bound)
        return client

    def open(self, endpoint: Endpoint, key: Secret, client: Any) -> Any:
        """Return the library's own model for an endpoint."""
        known = {"api_key": key.reveal()} if key.reveal() else {}
        if endpoint.base_url:
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            provider = OpenAIProvider(
                base_url=endpoint.base_url, api_key=key.reveal() or "none", http_client=client
            )
            return OpenAIChatModel(endpoint.name, provider=provider)
        return self._models.infer_model(
            f"{endpoint.provider}:{endpoint.name}",
            provider_factory=lambda name: self._provider(name, known, client),
        )

    def _provider(self, name: str, known: dict[str, str], client: Any) -> Any:
        try:
            provider: Any = self._providers.infer_provider_class(name)
        except ValueError as unknown:
            raise ModelMisconfigured(
                "model.unknown",
                f"no provider {name!r}",
                "use one such as openai, anthropic or google, or define your own in the"
                " configuration; see docs/guides/models.md",
            ) from unknown
        accepted = inspect.signature(provider.__init__).parameters.get("http_client")
        # The packages of some providers still need a client of another library.
        if accepted and re.search("httpx2|HTTPClient", str(accepted.annotation)):
            return provider(**known, http_client=client)
        return provider(**known)

    def price(self, endpoint: Endpoint) -> Price | None:
        """Return the published price; None if there is none."""
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
        """Send one request without retries."""
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
        parameters = None
        if request.schema and endpoint.constrains:
            parameters = self._models.ModelRequestParameters(
                output_mode="native",
                output_object=self._output.OutputObjectDefinition(
                    json_schema=json.loads(request.schema), name="answer", strict=True
                ),
            )
        return await self._direct.model_request(
            model,
            [self._message(message) for message in request.messages],
            model_settings=settings,
            model_request_parameters=parameters,
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
        """Return the text of a response and why it ended."""
        parts = [part for part in response.parts if isinstance(part, self._messages.TextPart)]
        text = "".join(part.content for part in parts)
        match response.finish_reason:
            case "length":
                return text, FinishReason.LENGTH
            case "content_filter":
                return text, FinishReason.REFUSED
            case _:
                return text, FinishReason.STOP

    def meaning(self, error: Exception) -> Meaning:
        """Return what an exception means for the caller."""
        return meaning_of(error, self._meanings)


def _load_library() -> _Library:
    try:
        return _Library()
    except ImportError as error:
        raise _extra_missing(error) from error


def _extra_missing(error: ImportError) -> ModelMisconfigured:
    return ModelMisconfigured(
        "model.extra-missing",
        f"this model needs a package that is not installed: {error}",
        "pip install 'auditcoder[providers]', or the package of that provider",
    )
