"""The embedded model: a small model that runs in this process.

`xllamacpp` is llama.cpp's own server as a library. It is called in the process; it also listens on
the loopback interface, protected by a key, for clients of the OpenAI API.
"""

import atexit
import json
import os
import secrets
import threading
import time
from pathlib import Path
from typing import Any

from auditcoder.adapters.models.weights import QWEN, ModelWeights
from auditcoder.domain.errors import ModelError, ModelMisconfigured, ModelUnavailable
from auditcoder.domain.request import FREE, FinishReason, Reply, Request, Traits
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import whole

CONTEXT = 16_384
"""Maximum tokens of prompt and reply together."""
_MOST_THREADS = 8
"""Decoding is limited by memory bandwidth: more threads than this slow it down."""
_KEPT_MIB = 1024
"""Memory for cached prompts: about 28 KiB per token."""
_BATCH = 128
"""Prompt tokens between two chances to cancel: about two seconds on two cores. A larger batch is
not faster."""
_CHECK_EVERY = 16
"""Tokens between two checks for repetition."""


class EmbeddedModel:
    """Qwen2.5-Coder-1.5B-Instruct with 4-bit weights. Safe to share between threads."""

    def __init__(
        self,
        path: Path,
        weights: ModelWeights = QWEN,
        *,
        threads: int | None = None,
        at_once: int = 1,
    ) -> None:
        self.name = f"embedded:{weights.name}"
        self.traits = Traits(price=FREE, weights=weights.digest)
        self.key = secrets.token_urlsafe(24)
        """The key that clients on the loopback interface must send."""
        self._server: Any = _start(path, self.key, threads, at_once)
        self._closed = threading.Event()
        self._running: set[_ReplyCollector] = set()
        # The library must be closed before the interpreter ends.
        atexit.register(self.close)

    @property
    def address(self) -> str:
        """The base URL for clients of the OpenAI API, valid while this process runs."""
        if self._server is None:
            raise ModelMisconfigured("model.closed", f"{self.name} was closed")
        return f"{self._server.listening_address}/v1"

    def complete(self, request: Request) -> Reply:
        """Send the request and return the reply; raise if the prompt is too long."""
        if self._closed.is_set():
            raise ModelMisconfigured("model.closed", f"{self.name} was closed")
        started = time.monotonic()
        body = _body(request)
        collector = _ReplyCollector(self._closed)
        # In a thread of its own: the library blocks interrupts, and crashes if the process ends
        # during a request.
        threading.Thread(
            target=collector.run, args=(self._server, body), name="embedded model"
        ).start()
        self._running.add(collector)
        try:
            # An event instead of a join: an interrupted join marks a running thread as ended.
            while not collector.done.wait(0.05):
                pass
        except BaseException:
            collector.cancelled = True
            collector.done.wait()
            raise
        finally:
            self._running.discard(collector)
        return collector.reply(self.name, time.monotonic() - started)

    def close(self) -> None:
        """Cancel running requests and free the memory."""
        self._closed.set()
        for collector in tuple(self._running):
            collector.done.wait()
        self._server = None
        atexit.unregister(self.close)


class _ReplyCollector:
    """Collects one reply token by token; stops it if it repeats itself or is cancelled."""

    def __init__(self, closed: threading.Event) -> None:
        self._closed = closed
        self._text: list[str] = []
        self._tokens = 0
        self._finish = ""
        self._usage: dict[str, Any] = {}
        self._timings: dict[str, Any] = {}
        self._error: ModelError | None = None
        self._repeating = False
        self.done = threading.Event()
        self.cancelled = False

    def run(self, server: Any, body: dict[str, Any]) -> None:
        """Send the request and wait until it ends."""
        try:
            server.handle_chat_completions(body, self._on_chunk)
        except Exception as error:  # any failure means that there is no reply
            self._error = ModelMisconfigured(
                "model.rejected",
                f"the embedded model refused the request: {str(error).strip()[:500]}",
                "its JSON Schema may use a feature that cannot be enforced while decoding",
            )
        finally:
            self.done.set()

    def _on_chunk(self, chunk: Any) -> bool:
        """Add one chunk; return whether to stop. An exception raised here would be lost."""
        try:
            return self._add(chunk)
        except Exception as error:
            self._error = ModelUnavailable(
                "model.malformed", f"the embedded model sent a malformed response: {error!r}"
            )
            return True

    def _add(self, chunk: dict[str, Any]) -> bool:
        if "error" in chunk:
            self._error = _model_error(chunk["error"])
            return True
        self._usage = chunk.get("usage") or self._usage
        self._timings = chunk.get("timings") or self._timings
        for choice in chunk.get("choices", ()):
            self._finish = choice.get("finish_reason") or self._finish
            if piece := choice.get("delta", {}).get("content"):
                self._text.append(piece)
                self._tokens += 1
                if self._tokens % _CHECK_EVERY == 0:
                    self._repeating = is_repeating("".join(self._text))
        return self.cancelled or self._closed.is_set() or self._repeating

    def reply(self, name: str, seconds: float) -> Reply:
        """Return the reply, or raise the error that occurred."""
        if self._error is not None:
            raise self._error
        if self._closed.is_set() and not self._finish:
            raise ModelMisconfigured("model.closed", f"{name} was closed during a request")
        finish = FinishReason.LENGTH if self._finish == "length" else FinishReason.STOP
        return Reply(
            text="".join(self._text),
            finish=FinishReason.REPEATED if self._repeating else finish,
            usage=self._measured(),
            model=name,
            seconds=seconds,
        )

    def _measured(self) -> Usage:
        """Return the server's token counts; those of a cancelled reply are in its timings."""
        used, timed = self._usage, self._timings
        cached = timed.get("cache_n", 0)
        return Usage(
            calls=1,
            prompt_tokens=used.get("prompt_tokens", timed.get("prompt_n", 0) + cached),
            completion_tokens=used.get("completion_tokens", timed.get("predicted_n", self._tokens)),
            cached_tokens=cached,
        )


def _model_error(error: dict[str, Any]) -> ModelError:
    message = str(error.get("message", error))[:500]
    if error.get("type") == "exceed_context_size_error":
        return ModelMisconfigured(
            "model.too-long",
            f"the request does not fit the embedded model: {message}",
            "make the task smaller, or use a model with a longer context",
        )
    return ModelMisconfigured("model.rejected", f"the embedded model refused: {message}")


def _body(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": [
            {"role": message.speaker.value, "content": whole(message.text)}
            for message in request.messages
        ],
        "max_tokens": min(request.max_tokens, CONTEXT),
        "temperature": request.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
        "timings_per_token": True,
        "return_progress": True,  # makes a request cancellable while its prompt is processed
        "cache_prompt": True,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.stop:
        body["stop"] = list(request.stop)
    if request.schema:
        try:
            content = json.loads(request.schema)
        except ValueError as error:
            raise ModelMisconfigured(
                "model.rejected", f"the request's schema is not valid JSON: {error}"
            ) from error
        schema = {"name": "answer", "strict": True, "schema": content}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def import_engine() -> Any:
    """Import and return `xllamacpp`; raise an error that says what to install."""
    try:
        import xllamacpp
    except ImportError as error:
        raise ModelMisconfigured(
            "model.extra-missing",
            f"the embedded model needs xllamacpp, which cannot be imported: {error}",
            "pip install xllamacpp, or use another model with --model provider:name",
        ) from error
    return xllamacpp


def _start(path: Path, key: str, threads: int | None, at_once: int) -> Any:
    xllamacpp = import_engine()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    # One slot per run: a second one would process the shared prefix of every prompt again, which
    # costs more than parallel decoding gains. Several concurrent runs do gain.
    params.n_parallel = at_once
    params.n_ctx = CONTEXT * at_once
    params.cache_ram_mib = _KEPT_MIB
    params.n_batch = params.n_ubatch = _BATCH
    # With memory mapping, a kernel that reclaims idle file pages would read the weights again.
    params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    params.verbosity = -1
    params.warmup = False
    params.api_keys = [key]
    params.ui = False
    for cpu in (params.cpuparams, params.cpuparams_batch):
        _pin(cpu, threads)
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise ModelMisconfigured(
            "model.load",
            f"the embedded model cannot be loaded from {path}: {error}",
            "`auditcoder models verify` checks the file; loading takes about 1.7 GB of memory",
        ) from error


def _pin(cpu: Any, threads: int | None) -> None:
    """Pin each thread to a core of its own.

    Threads wait for each other at every layer. While another program used a core, pinned threads
    kept half of the speed, others a third.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    count = min(threads or _MOST_THREADS, len(cores) or os.cpu_count() or 1, _MOST_THREADS)
    cpu.n_threads = count
    if cores and cores[count - 1] < len(cpu.cpumask):
        mask = list(cpu.cpumask)
        for core in cores[:count]:
            mask[core] = True
        cpu.cpumask = mask
        cpu.mask_valid = True
        cpu.strict_cpu = True


_REPEATED_CHARACTERS = 400
"""Shorter repetitions occur in ordinary code: tables, cases, docstrings."""
_REPEATED_TIMES = 8
_REPETITION_WINDOW = 1600


def is_repeating(text: str) -> bool:
    """Whether `text` ends in one unit, repeated at least 8 times over at least 400 characters."""
    tail = text[-_REPETITION_WINDOW:][::-1]
    if len(tail) < _REPEATED_CHARACTERS:
        return False
    matches = _self_matches(tail)
    return any(
        period + matches[period] >= max(_REPEATED_CHARACTERS, _REPEATED_TIMES * period)
        for period in range(1, len(tail) // _REPEATED_TIMES + 1)
    )


def _self_matches(text: str) -> list[int]:
    """Return for each index the length of the common prefix with the whole text (Z-function)."""
    matches = [0] * len(text)
    left = right = 0
    for index in range(1, len(text)):
        length = min(right - index, matches[index - left]) if index < right else 0
        while index + length < len(text) and text[length] == text[index + length]:
            length += 1
        matches[index] = length
        if index + length > right:
            left, right = index, index + length
    return matches
