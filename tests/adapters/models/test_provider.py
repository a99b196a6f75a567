"""A misbehaving server causes a recorded retry or a typed error, and never loses a run."""

import base64
import gzip
import json
import logging
import sys
import time
import traceback
import tracemalloc
import warnings
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from auditcoder.adapters.models import provider
from auditcoder.adapters.models.provider import Endpoint, ProviderModel
from auditcoder.adapters.models.secret import Secret
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import (
    AuditCoderError,
    BudgetExceeded,
    ModelError,
    ModelMisconfigured,
    ModelUnavailable,
    ReplyUnusable,
)
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.request import FinishReason, Price, Reply, Request, Traits
from auditcoder.domain.usage import total
from auditcoder.interfaces.factories import open_model as open_any
from auditcoder.interfaces.settings import Settings
from auditcoder.lifecycle.budget import Budget, BudgetLedger
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.model_client import ModelClient
from auditcoder.lifecycle.ports import Model
from auditcoder.lifecycle.retry_policy import RetryPolicy
from tests.conformance.model import GREETING, HELLO
from tests.support import fault_server as fault
from tests.support.fault_server import FaultServer, serving
from tests.support.record_builders import RUN, started
from tests.support.records import take

GZIP = {"Content-Encoding": "gzip"}
KEY = "sk-9f8e7d6c5b4a3210"

Open = Callable[..., ProviderModel]
AMPLE, SHORT = 60.0, 0.5
"""Seconds for a request that is answered, and for one that never is."""


@pytest.fixture
def open_model() -> Iterator[Open]:
    opened: list[ProviderModel] = []

    def open_model(server: FaultServer, seconds: float = AMPLE) -> ProviderModel:
        endpoint = Endpoint(
            provider="near", name="loopback", base_url=server.address, seconds=seconds, price=PRICE
        )
        opened.append(ProviderModel(endpoint, Secret(KEY)))
        return opened[-1]

    yield open_model
    for model in opened:
        model.close()


PRICE = Price(prompt=1.0, completion=2.0)
FAST = RetryPolicy(attempts=3, first_wait=0.01)

TRANSIENT = [
    (fault.error(429), "model.rate-limited", False),
    (fault.error(429, Retry_After="0.05"), "model.rate-limited", False),
    (fault.error(500), "model.server", False),
    (fault.error(503), "model.overloaded", False),
    (fault.reset_mid_body, "model.connection", True),
    (fault.truncated_json, "model.malformed", True),
    (fault.wrong_shape, "model.malformed", True),
    (fault.no_choices, "model.malformed", True),
    (fault.not_an_object, "model.malformed", True),
    (fault.wrong_content_type, "model.malformed", True),
    (fault.invalid_utf8, "model.malformed", True),
]
NAMES = [
    *("429", "429 with Retry-After", "500", "503", "reset mid-body"),
    *("truncated JSON", "wrong shape", "no choices", "not an object", "wrong content type"),
    "invalid UTF-8",
]


@pytest.mark.parametrize(("behaviour", "code", "billed"), TRANSIENT, ids=NAMES)
class TestTransientError:
    def test_one_transient_error_is_a_recorded_retry(
        self, behaviour: fault.Behaviour, code: str, billed: bool, open_model: Open
    ) -> None:
        store = SqliteStore(":memory:")
        with serving(behaviour) as server:
            model = open_model(server)
            answered = ModelClient(model, started(store), BudgetLedger(Budget(), PRICE), FAST).ask(
                GREETING
            )
        check_retry(store, answered.seq, code, billed=billed)

    def test_repeated_transient_errors_are_a_recorded_error_with_advice(
        self, behaviour: fault.Behaviour, code: str, billed: bool, open_model: Open
    ) -> None:
        store = SqliteStore(":memory:")
        with serving(behaviour, behaviour, behaviour) as server:
            model = open_model(server)
            with pytest.raises(ModelUnavailable) as given_up:
                ModelClient(model, started(store), BudgetLedger(Budget(), PRICE), FAST).ask(
                    GREETING
                )
            assert len(server.asked) == 3
        check_failure(store, given_up.value, code, billed=billed)


class FallbackModel:
    """Sends its first request to one model, and all others to another."""

    def __init__(self, first: Model, others: Model) -> None:
        self._first: list[Model] = [first]
        self._others = others
        self.name = others.name
        self.traits: Traits = others.traits

    def complete(self, request: Request) -> Reply:
        """Send the request to the model whose turn it is."""
        return (self._first.pop() if self._first else self._others).complete(request)

    def close(self) -> None:
        """Do nothing: whoever opened the models closes them."""


@pytest.mark.parametrize("behaviour", [fault.silence, fault.slow_drip])
class TestTimeout:
    def test_one_timeout_is_a_recorded_retry(
        self, behaviour: fault.Behaviour, open_model: Open
    ) -> None:
        store = SqliteStore(":memory:")
        with serving(behaviour) as hung, serving() as server:
            model = FallbackModel(open_model(hung, SHORT), open_model(server))
            answered = ModelClient(model, started(store), BudgetLedger(Budget(), PRICE), FAST).ask(
                GREETING
            )
        check_retry(store, answered.seq, "model.timeout", billed=True)

    def test_repeated_timeouts_are_a_recorded_error_with_advice(
        self, behaviour: fault.Behaviour, open_model: Open
    ) -> None:
        store = SqliteStore(":memory:")
        with serving(behaviour, behaviour, behaviour) as hung:
            model = open_model(hung, SHORT)
            with pytest.raises(ModelUnavailable) as given_up:
                ModelClient(model, started(store), BudgetLedger(Budget(), PRICE), FAST).ask(
                    GREETING
                )
        check_failure(store, given_up.value, "model.timeout", billed=True)


def check_retry(store: SqliteStore, seq: int, code: str, *, billed: bool) -> None:
    """Check that an answered request is on record with one failed attempt."""
    event = take(store, RUN).events()[seq]
    assert isinstance(event, ReplyRecorded)
    assert [(a.problem, a.billed) for a in event.attempts] == [(code, billed)]
    assert event.usage.calls == (2 if billed else 1)
    assert event.usage.unmeasured == event.usage.unpriced == (1 if billed else 0)
    assert verify_run(store, RUN).holds


def check_failure(store: SqliteStore, error: ModelUnavailable, code: str, *, billed: bool) -> None:
    """Check that a request that was given up is on record with its three failed attempts."""
    assert error.code == code
    assert error.advice
    event = take(store, RUN).events()[-1]
    assert isinstance(event, ReplyRecorded)
    assert event.finish == FinishReason.FAILED.value
    assert event.rejected.startswith(f"{code}: ")
    assert [a.problem for a in event.attempts] == [code] * 3
    assert event.usage.unmeasured == (3 if billed else 0)
    assert verify_run(store, RUN).holds


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "model.rejected"),
        (401, "model.key"),
        (402, "model.quota"),
        (302, "model.rejected"),
        (403, "model.key"),
        (404, "model.unknown"),
        (413, "model.rejected"),
        (418, "model.rejected"),
    ],
)
def test_a_permanent_error_is_not_retried(status: int, code: str, open_model: Open) -> None:
    with serving(fault.error(status)) as server:
        recorder = started(SqliteStore(":memory:"))
        client = ModelClient(open_model(server), recorder, BudgetLedger(Budget(), PRICE), FAST)
        with pytest.raises(ModelMisconfigured) as refused:
            client.ask(GREETING)
        assert len(server.asked) == 1
    assert refused.value.code == code
    assert refused.value.advice


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        (fault.empty, "it is empty"),
        (fault.null_content, "it is empty"),
        (fault.refusal, "refused"),
        (fault.filtered, "refused"),
        (fault.cut_by_length, "cut off"),
    ],
    ids=["empty", "null", "refusal", "content filter", "cut by length"],
)
class TestUnusableReply:
    def test_an_unusable_reply_is_billed_recorded_and_requested_again_with_the_reason(
        self, behaviour: fault.Behaviour, why: str, open_model: Open
    ) -> None:
        store = SqliteStore(":memory:")
        with serving(behaviour) as server:
            client = ModelClient(open_model(server), started(store), BudgetLedger(Budget(), PRICE))
            assert client.ask(GREETING).value == "fine"
            assert why in server.asked[1]["messages"][-1]["content"]
        events = [e for e in take(store, RUN).events() if isinstance(e, ReplyRecorded)]
        assert [why in event.rejected for event in events] == [True, False]
        spent = total(event.usage for event in events)
        assert (spent.calls, spent.tokens) == (2, 20)
        assert spent.usd == pytest.approx(2 * (7 + 3 * 2) / 1e6)

    def test_two_unusable_replies_are_an_error_and_both_are_recorded(
        self, behaviour: fault.Behaviour, why: str, open_model: Open
    ) -> None:
        store = SqliteStore(":memory:")
        with serving(behaviour, behaviour) as server:
            client = ModelClient(open_model(server), started(store), BudgetLedger(Budget(), PRICE))
            with pytest.raises(ReplyUnusable) as unusable:
                client.ask(GREETING)
            assert len(server.asked) == 2
        assert unusable.value.code == "reply.unusable"
        events = [e for e in take(store, RUN).events() if isinstance(e, ReplyRecorded)]
        assert [why in event.rejected for event in events] == [True, True]


def test_an_unreachable_server_is_a_connection_error(open_model: Open) -> None:
    with serving() as server:
        model = open_model(server)
    with pytest.raises(ModelUnavailable) as gone:
        model.complete(HELLO)
    assert gone.value.code == "model.connection"
    assert not gone.value.billed


@pytest.mark.parametrize("count", [10**400, -5, 2.5, "many", None, True])
def test_invalid_token_counts_are_unknown(count: object, open_model: Open) -> None:
    body = {**fault.completion(), "usage": {"prompt_tokens": count, "completion_tokens": count}}
    store = SqliteStore(":memory:")
    with (
        serving(lambda handler: handler.say(body)) as server,
        warnings.catch_warnings(action="ignore"),
    ):
        client = ModelClient(
            open_model(server), started(store), BudgetLedger(Budget(), PRICE), FAST
        )
        client.ask(GREETING)
    spent = total(e.usage for e in take(store, RUN).events() if isinstance(e, ReplyRecorded))
    assert spent.tokens < 1000
    assert spent.unmeasured + spent.prompt_tokens > 0


def test_a_reply_far_longer_than_requested_is_malformed(open_model: Open) -> None:
    with serving(lambda handler: handler.say(fault.completion("x" * 5_000_000))) as server:
        model = open_model(server)
        with pytest.raises(ModelUnavailable) as refused:
            model.complete(HELLO)
    assert refused.value.code == "model.malformed"


def test_a_compressed_response_is_read(open_model: Open) -> None:
    body = json.dumps(fault.completion("fine"))
    with serving(lambda h: h.say(gzip.compress(body.encode()), headers=GZIP)) as server:
        assert open_model(server).complete(HELLO).text == "fine"


def test_a_response_that_is_compressed_more_than_once_is_refused(open_model: Open) -> None:
    body = gzip.compress(gzip.compress(json.dumps(fault.completion("fine")).encode()))
    twice = {"Content-Encoding": "gzip, gzip"}
    with serving(lambda h: h.say(body, headers=twice)) as server:
        model = open_model(server)
        with pytest.raises(ModelUnavailable, match="compressed more than once"):
            model.complete(HELLO)


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("status", [200, 500])
def test_a_response_is_read_up_to_a_limit(
    open_model: Open, compressed: bool, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """256 MB of compressed text are sent as 256 kB, and are never held in memory."""
    if compressed:
        packer = zlib.compressobj(wbits=31)
        packed = [packer.compress(b" " * (1 << 20)) for _ in range(256)]
        piece = b"".join([*packed, packer.flush()])
    else:
        monkeypatch.setattr(provider, "MAX_BYTES", 1 << 20)
        piece = b" " * (2 << 20)
    headers = GZIP if compressed else {}
    with serving(lambda h: h.say(piece, status, headers)) as server:
        model = open_model(server)
        tracemalloc.start()
        with pytest.raises(ModelUnavailable) as refused:
            model.complete(HELLO)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert refused.value.code == "model.too-large"
    assert refused.value.billed
    assert peak < 64 << 20


def test_closing_the_model_ends_every_pending_request() -> None:
    with serving(*[fault.silence] * 6) as server:
        endpoint = Endpoint(provider="near", name="x", base_url=server.address, seconds=3600)
        model = ProviderModel(endpoint)
        with ThreadPoolExecutor(6) as pool:
            waiting = [pool.submit(model.complete, HELLO) for _ in range(6)]
            while len(server.asked) < 6:
                time.sleep(0.01)
            model.close()
            errors = [task.exception(60) for task in waiting]
    assert {getattr(error, "code", "") for error in errors} == {"model.closed"}


def test_unreported_usage_is_unknown_and_not_zero(open_model: Open) -> None:
    with serving(fault.unmeasured) as server:
        usage = open_model(server).complete(HELLO).usage
    assert (usage.calls, usage.unmeasured, usage.unpriced) == (1, 1, 1)


class TestKeys:
    def test_the_key_is_sent_to_the_server(self, open_model: Open) -> None:
        with serving() as server:
            open_model(server).complete(HELLO)
            assert server.keys == [f"Bearer {KEY}"]

    @pytest.mark.parametrize("status", [400, 401, 429, 500])
    def test_a_key_quoted_by_an_error_is_removed(
        self,
        status: int,
        open_model: Open,
        caplog: pytest.LogCaptureFixture,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        caplog.set_level(logging.DEBUG)
        quoting = {"error": {"message": f"Incorrect API key provided: {KEY}", "param": KEY}}
        store = SqliteStore(":memory:")
        once = RetryPolicy(attempts=1)
        with serving(lambda handler: handler.say(quoting, status)) as server:
            client = ModelClient(
                open_model(server), started(store), BudgetLedger(Budget(), PRICE), once
            )
            with pytest.raises(ModelError) as refused:
                client.ask(GREETING)
        shown = "".join(traceback.format_exception(refused.value))
        record = b"".join((*take(store, RUN).bodies, *take(store, RUN).blobs.values()))
        logged = "".join(str(entry.__dict__) for entry in caplog.records if _is_own_entry(entry))
        printed = "".join(capfd.readouterr())
        for place in (shown, str(refused.value), record.decode(), logged, printed):
            assert KEY not in place

    @pytest.mark.parametrize(
        "echo",
        [
            f"your key is {KEY}",
            base64.b64encode(KEY.encode()).decode(),
            base64.b64encode(f"{KEY} and more".encode()).decode(),
            KEY.encode().hex(),
            KEY.replace("-", "%2D"),
        ],
    )
    def test_a_reply_that_repeats_the_key_is_refused_and_not_recorded(
        self, echo: str, open_model: Open
    ) -> None:
        store = SqliteStore(":memory:")
        once = RetryPolicy(attempts=1)
        with serving(lambda handler: handler.say(fault.completion(echo))) as server:
            client = ModelClient(
                open_model(server), started(store), BudgetLedger(Budget(), PRICE), once
            )
            with pytest.raises(ModelUnavailable) as refused:
                client.ask(GREETING)
        assert refused.value.code == "model.echoed-key"
        assert refused.value.billed
        assert KEY not in str(refused.value)
        record = b"".join((*take(store, RUN).bodies, *take(store, RUN).blobs.values()))
        assert echo not in record.decode()

    @pytest.mark.parametrize("word", ["root", "token", "x = 1", "secret"])
    def test_a_reply_is_never_edited_even_if_a_password_is_an_ordinary_word(
        self, word: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("DB_PASSWORD", "MY_TOKEN", "SHORT_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.setenv(variable, word)
        code = f"def solve():\n    root = 2 * x  # {word}\n    x = 1\n"
        with serving(lambda handler: handler.say(fault.completion(code))) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.address)
            model = open_any("openai-chat:gpt-4o", Settings(), lambda _: None)
            assert model.complete(HELLO).text == code
            model.close()

    @pytest.mark.parametrize(
        ("key", "query"),
        [
            ("not-needed", ""),
            (KEY, "?deployment=gpt-4o-mini-2024-07-18&api-version=2024-02-01-preview"),
        ],
    )
    def test_placeholders_and_plain_parameters_are_not_keys(self, key: str, query: str) -> None:
        text = "not-needed gpt-4o-mini-2024-07-18 2024-02-01-preview"
        with serving(lambda handler: handler.say(fault.completion(text))) as server:
            endpoint = Endpoint(provider="near", name="x", base_url=server.address + query)
            model = ProviderModel(endpoint, Secret(key))
            assert model.complete(HELLO).text == text
            model.close()

    def test_a_key_in_the_address_of_a_server_is_not_shown(self) -> None:
        def quote_path(handler: fault.Handler) -> None:
            handler.say({"error": {"message": f"no route {handler.path}"}}, 404)

        with serving(quote_path) as server:
            address = f"{server.address}?key={KEY}"
            model = ProviderModel(Endpoint(provider="near", name="x", base_url=address))
            with pytest.raises(ModelError) as refused:
                model.complete(HELLO)
            model.close()
        assert KEY not in str(refused.value)

    def test_a_key_that_the_library_read_from_the_environment_is_removed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        quoting = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
        with serving(lambda handler: handler.say(quoting, 401)) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.address)
            model = open_any("openai-chat:gpt-4o", Settings(), lambda _: None)
            with pytest.raises(ModelError) as refused:
                model.complete(HELLO)
            model.close()
        assert refused.value.code == "model.key"
        assert KEY not in str(refused.value)
        assert refused.value.__context__ is None

    @pytest.mark.parametrize("key", ["sk-\u00e9", "sk-a\nb", "sk\x00"])
    def test_an_invalid_key_is_refused(self, key: str) -> None:
        with pytest.raises(ModelMisconfigured) as refused:
            ProviderModel(Endpoint(provider="openai", name="x"), Secret(key))
        assert refused.value.code == "model.key"

    @pytest.mark.parametrize("address", ["http://[::1", "http://me:pw@h\u2100/", "http://[x]/"])
    def test_an_address_that_is_none_is_refused_without_showing_it(self, address: str) -> None:
        with pytest.raises(ModelMisconfigured) as refused:
            ProviderModel(Endpoint(provider="near", name="x", base_url=address))
        assert refused.value.code == "model.address"
        assert "pw" not in str(refused.value)
        assert refused.value.__context__ is None

    def test_a_key_is_not_shown_by_its_representation(self, open_model: Open) -> None:
        with serving() as server:
            model = open_model(server)
        assert KEY not in repr(Secret(KEY)) + str(vars(model)) + model.name + str(model.traits)


def _is_own_entry(entry: logging.LogRecord) -> bool:
    return entry.name.startswith("auditcoder")


def test_a_reply_that_repeats_the_password_of_an_address_is_refused() -> None:
    sent = base64.b64encode(f"bob:{KEY}".encode()).decode()
    with serving(lambda handler: handler.say(fault.completion(f"Basic {sent}"))) as server:
        address = server.address.replace("://", f"://bob:{KEY}@")
        model = ProviderModel(Endpoint(provider="near", name="x", base_url=address))
        with pytest.raises(ModelUnavailable) as refused:
            model.complete(HELLO)
        model.close()
    assert refused.value.code == "model.echoed-key"


def test_a_missing_package_of_a_provider_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mistralai", None)
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    with pytest.raises(ModelMisconfigured) as refused:
        ProviderModel(Endpoint(provider="mistral", name="x"), Secret(KEY))
    assert refused.value.code == "model.extra-missing"
    assert "pip install" in refused.value.advice


def test_a_missing_key_is_reported_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelMisconfigured) as refused:
        ProviderModel(Endpoint(provider="anthropic", name="claude-sonnet-4-5"))
    assert refused.value.code == "model.key"
    assert "ANTHROPIC_API_KEY" in refused.value.advice


@pytest.mark.parametrize(
    ("provider", "name"),
    [("openai", "gpt-4o"), ("anthropic", "claude-sonnet-4-5"), ("google", "gemini-2.5-flash")],
)
def test_models_of_the_large_providers_have_prices(provider: str, name: str) -> None:
    model = ProviderModel(Endpoint(provider=provider, name=name), Secret(KEY))
    try:
        price = model.traits.price
        assert price is not None
        assert 0 < price.prompt < price.completion < 1000
    finally:
        model.close()


def test_an_unknown_provider_is_reported() -> None:
    with pytest.raises(ModelMisconfigured) as refused:
        ProviderModel(Endpoint(provider="nobody", name="x"), Secret(KEY))
    assert refused.value.code == "model.unknown"


def test_a_budget_in_dollars_refuses_an_unpriced_model() -> None:
    with pytest.raises(BudgetExceeded) as refused:
        BudgetLedger(Budget(usd=1.0), None)
    assert refused.value.code == "budget.unpriced"


def test_a_closed_model_reports_that_it_is_closed(open_model: Open) -> None:
    with serving() as server:
        model = open_model(server)
        model.close()
        with pytest.raises(AuditCoderError, match="closed"):
            model.complete(HELLO)


def test_importing_the_adapter_loads_no_provider_library(tmp_path: Path) -> None:
    """Loading a provider's library takes seconds."""
    import subprocess
    import sys

    code = (
        "import sys; import auditcoder.adapters.models.provider;"
        "assert not {'pydantic_ai', 'openai'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
