"""An address opens the model that it names, with the provider's key, limits and price."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from auditcoder.adapters.models.manual import ManualModel
from auditcoder.adapters.sandboxes.isolation import Strength, strength_of
from auditcoder.domain.errors import ModelMisconfigured, SandboxError
from auditcoder.domain.request import Price
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.factories import open_model, open_sandbox
from auditcoder.interfaces.settings import ProviderSettings, Settings
from tests.conformance.model import HELLO
from tests.support.commands import run_without
from tests.support.fault_server import FaultServer, Handler, completion, serving
from tests.support.weaker_machines import LANDLOCK_CREATE_RULESET, UNSHARE, refusing

KEY = "sk-0011223344556677"


def _ignore(_line: str) -> None:
    """Receive a notice that a test does not look at."""


def _settings(server: FaultServer, name: str = "near", **fields: object) -> Settings:
    provider = ProviderSettings(base_url=server.address, **fields)  # type: ignore[arg-type]
    return Settings(providers={name: provider})


def _keys_sent(settings: Settings, server: FaultServer, environment: dict[str, str]) -> list[str]:
    [name] = settings.providers
    model = open_model(f"{name}:loopback", settings, _ignore, environment)
    model.complete(HELLO)
    model.close()
    return server.keys


@pytest.mark.parametrize(
    "address", ["", "openai", "openai:", "manual:", "nobody", "manual:\udcff", "openai:\udcff"]
)
def test_an_address_without_a_model_is_refused(address: str) -> None:
    with pytest.raises(ModelMisconfigured) as refused:
        open_model(address, Settings(), _ignore, {})
    assert refused.value.code == "model.unknown"
    assert repr(address) in str(refused.value)


def test_an_unknown_embedded_model_is_refused_before_anything_is_fetched() -> None:
    notices: list[str] = []
    with pytest.raises(ModelMisconfigured) as refused:
        open_model("embedded:other", Settings(), notices.append, {})
    assert refused.value.code == "model.unknown"
    assert notices == []


def test_a_missing_engine_is_reported_before_the_weights_are_fetched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")  # no weights can be put there
    environment = os.environ | {"AUDITCODER_CACHE": str(tmp_path / "file")}
    done = run_without(
        ["xllamacpp"],
        *("solve", "Add two numbers.", "--model", "embedded", "--store", tmp_path / "runs.db"),
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == Exit.MODEL
    assert "[model.extra-missing]" in done.stderr
    assert "pip install xllamacpp" in done.stderr
    assert "download" not in done.stderr
    assert not (tmp_path / "runs.db").exists()


def test_a_folder_opens_a_manual_model(tmp_path: Path) -> None:
    model = open_model(f"manual:{tmp_path}/a:b", Settings(), _ignore, {})
    assert isinstance(model, ManualModel)
    assert model.name == f"manual:{tmp_path}/a:b"


def test_the_key_is_read_from_the_variable_of_the_provider() -> None:
    with serving() as server:
        environment = {"NEAR_BY_API_KEY": KEY, "OTHER_API_KEY": "sk-other"}
        assert _keys_sent(_settings(server, "near-by"), server, environment) == [f"Bearer {KEY}"]


def test_the_key_is_read_from_the_configured_variable() -> None:
    with serving() as server:
        settings = _settings(server, key_env="MY_KEY", key="sk-in-the-file")
        environment = {"MY_KEY": KEY, "NEAR_API_KEY": "sk-other"}
        assert _keys_sent(settings, server, environment) == [f"Bearer {KEY}"]


@pytest.mark.parametrize("environment", [{}, {"NEAR_API_KEY": ""}])
def test_the_configured_key_is_used_without_a_variable(environment: dict[str, str]) -> None:
    with serving() as server:
        assert _keys_sent(_settings(server, key=KEY), server, environment) == [f"Bearer {KEY}"]


def test_a_model_has_the_configured_limits_and_price() -> None:
    price = Price(prompt=1.0, completion=2.0)
    with serving() as server:
        settings = _settings(server, parallel=3, price=price)
        model = open_model("near:loopback", settings, _ignore, {"NEAR_API_KEY": KEY})
    assert model.name == "near:loopback"
    assert (model.traits.parallel, model.traits.price) == (3, price)
    model.close()


@pytest.mark.parametrize("constrains", [True, False])
def test_a_schema_is_sent_only_to_a_provider_that_can_constrain_answers(
    constrains: bool,
) -> None:
    schema = '{"type": "object", "properties": {}, "additionalProperties": false}'
    with serving(lambda handler: handler.say(completion("{}"))) as server:
        settings = _settings(server, constrains=constrains)
        model = open_model("near:loopback", settings, _ignore, {"NEAR_API_KEY": KEY})
        model.complete(replace(HELLO, schema=schema))
        model.close()
        assert ("response_format" in server.asked[0]) is constrains


def test_as_many_requests_run_at_once_as_configured() -> None:
    lock, pair = threading.Lock(), threading.Barrier(2)
    running, most = 0, 0

    def answer(handler: Handler) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pair.wait(60)
        with lock:
            running -= 1
        handler.say(completion())

    with serving(*[answer] * 6) as server:
        settings = _settings(server, parallel=2)
        model = open_model("near:loopback", settings, _ignore, {"NEAR_API_KEY": KEY})
        with ThreadPoolExecutor(6) as pool:
            replies = list(pool.map(model.complete, [HELLO] * 6))
        model.close()
    assert [reply.text for reply in replies] == ["fine"] * 6
    assert most == 2


def test_a_sandbox_is_opened_with_isolation() -> None:
    sandbox = open_sandbox(Settings(), _ignore, {})
    try:
        assert strength_of(sandbox.kind) is not Strength.BARE
    finally:
        sandbox.close()


@pytest.mark.parametrize(
    ("variables", "printed"),
    [
        ({}, "sandbox.bare\n"),
        ({"AUDITCODER_SANDBOX": "yes"}, "sandbox.bare\n"),
        ({"AUDITCODER_SANDBOX": "bare"}, "seccomp+rlimits b'42\\n'\n"),
    ],
)
def test_without_namespaces_and_landlock_nothing_runs_unless_the_risk_is_accepted(
    variables: dict[str, str], printed: str
) -> None:
    code = (
        f"{refusing(UNSHARE, LANDLOCK_CREATE_RULESET)}"
        "from auditcoder.domain.errors import SandboxError\n"
        "from auditcoder.domain.execution import *\n"
        "from auditcoder.interfaces.factories import open_sandbox\n"
        "from auditcoder.interfaces.settings import Settings\n"
        "execution = Execution(source='print(6 * 7)', action=RunProgram())\n"
        "try:\n    opened = open_sandbox(Settings(), lambda _: None)\n"
        "    print(opened.kind, opened.run(execution).stdout)\n    opened.close()\n"
        "except SandboxError as error: print(error.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == printed, done.stderr


def test_a_sandbox_is_opened_with_the_configured_packages() -> None:
    with pytest.raises(SandboxError) as refused:
        open_sandbox(Settings(packages=("no_such_package",)), _ignore)
    assert refused.value.code == "sandbox.package"
