"""The embedded model answers with its real weights: in the process, and over HTTP as a server."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditcoder.adapters.models import weights
from auditcoder.adapters.models.embedded import EmbeddedModel
from auditcoder.adapters.models.provider import Endpoint, ProviderModel
from auditcoder.adapters.models.secret import Secret
from auditcoder.domain.errors import ModelMisconfigured, ModelUnavailable
from auditcoder.domain.request import FREE, FinishReason, Message, Request, Speaker
from auditcoder.lifecycle.ports import Model
from tests.conformance.model import HELLO, SHARED, RealModelConformance

# All on one worker: the weights are loaded once, and two models would compete for the cores.
pytestmark = [pytest.mark.xdist_group("embedded"), pytest.mark.campaign]


@pytest.fixture(scope="module")
def embedded() -> Iterator[EmbeddedModel]:
    path = weights.pull(weights.QWEN, weights.folder(), lambda _: None)
    model = EmbeddedModel(path)
    yield model
    model.close()


class TestEmbedded(RealModelConformance):
    @pytest.fixture
    def model(self, embedded: EmbeddedModel) -> Model:
        return embedded


class TestEmbeddedServerOverHttp(RealModelConformance):
    @pytest.fixture
    def model(self, embedded: EmbeddedModel) -> Iterator[Model]:
        endpoint = Endpoint(
            provider="near", name="qwen", base_url=embedded.address, seconds=120, price=FREE
        )
        model = ProviderModel(endpoint, Secret(embedded.key))
        yield model
        model.close()


def _request(text: str, max_tokens: int) -> Request:
    message = Message(speaker=Speaker.USER, text=text)
    return Request(messages=(SHARED, message), max_tokens=max_tokens, temperature=0.0)


def test_the_server_refuses_requests_without_its_key(embedded: EmbeddedModel) -> None:
    stranger = ProviderModel(
        Endpoint(provider="near", name="qwen", base_url=embedded.address), Secret("wrong")
    )
    with pytest.raises(ModelMisconfigured) as refused:
        stranger.complete(HELLO)
    stranger.close()
    assert refused.value.code == "model.key"


def test_a_reply_that_repeats_itself_is_stopped(embedded: EmbeddedModel) -> None:
    line = "print('round and round we go')\n"
    reply = embedded.complete(_request(f"Repeat this line 500 times:\n{line}", 1500))
    assert reply.finish is FinishReason.REPEATED
    assert reply.usage.completion_tokens < 500
    assert reply.usage.prompt_tokens > 20
    assert reply.usage.unmeasured == 0


def test_a_shared_prompt_prefix_is_cached(embedded: EmbeddedModel) -> None:
    shared = "".join(f"def f{n}(): return {n}\n" for n in range(20))
    embedded.complete(_request(f"{shared}What does f3 return?", 2))
    again = embedded.complete(_request(f"{shared}What does f4 return?", 2))
    assert again.usage.cached_tokens > again.usage.prompt_tokens * 0.8


def test_invalid_weights_are_reported(tmp_path: Path) -> None:
    (tmp_path / "false.gguf").write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(ModelMisconfigured) as refused:
        EmbeddedModel(tmp_path / "false.gguf")
    assert refused.value.code == "model.load"


def test_nothing_is_written_to_the_terminal(
    embedded: EmbeddedModel, capfd: pytest.CaptureFixture[str]
) -> None:
    embedded.complete(HELLO)
    assert "".join(capfd.readouterr()) == ""


INTERRUPTED = """
import os, signal, sys
from auditcoder.adapters.models import embedded, weights
from auditcoder.domain.request import Message, Request, Speaker

writing, text = sys.argv[1] == "writing", sys.argv[2]
on_chunk = embedded._ReplyCollector._on_chunk
later = None

def interrupt(collector, chunk):
    global later
    stop = on_chunk(collector, chunk)
    if later is not None:
        later += 1
    elif collector._text or not writing:
        later = 0
        os.kill(os.getpid(), signal.SIGINT)
    return stop

embedded._ReplyCollector._on_chunk = interrupt
model = embedded.EmbeddedModel(weights.find(weights.QWEN, weights.folder()))
told = Message(speaker=Speaker.USER, text=text)
try:
    model.complete(Request(messages=(told,), max_tokens=3000, temperature=0.0))
except KeyboardInterrupt:
    print("interrupted", "soon" if later < 20 else f"after {later} more pieces")
"""
"""Interrupts a request at its first piece: of the reply, or of the prompt that is being read."""


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ("writing", "Count from 1 to 1000, in words."),
        ("reading", "read this " * 2500 + "Count to 1000."),
    ],
)
def test_ctrl_c_ends_a_reply_soon_and_the_process_cleanly(moment: str, text: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, moment, text]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.returncode) == ("interrupted soon\n", 0), done.stderr


def test_closing_ends_a_reply_and_frees_the_memory() -> None:
    path = weights.find(weights.QWEN, weights.folder())
    assert path is not None
    model = EmbeddedModel(path)
    loaded = _resident_bytes()
    failure: list[Exception] = []

    def ask() -> None:
        try:
            model.complete(_request("Count from 1 to 1000, in words.", 3000))
        except (ModelMisconfigured, ModelUnavailable) as error:
            failure.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while asking.is_alive() and not any(reply._text for reply in tuple(model._running)):
        time.sleep(0.01)
    model.close()
    asking.join(60)
    assert [getattr(error, "code", "") for error in failure] == ["model.closed"]
    assert loaded - _resident_bytes() > 1 << 30


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
