"""`models` lists models, manages the weights and sends test prompts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support import fault_server as fault
from tests.support.commands import run_as_user
from tests.support.fault_server import serving

KEY = "sk-1029384756abcdef"


def test_models_are_listed(home: Path) -> None:
    result = run_as_user(home, "models")
    assert result.code == Exit.OK
    assert result.out.split()[:2] == ["*", "embedded"]
    assert "models pull" in result.out


def test_models_are_listed_as_json(home: Path) -> None:
    listed = json.loads(run_as_user(home, "models", "list", "--json").out)
    assert listed["model"] == "embedded"
    assert [m["ready"] for m in listed["models"] if m["address"] == "embedded"] == [False]
    assert json.loads(run_as_user(home, "models", "--json").out) == listed


def test_missing_weights_cannot_be_verified(home: Path) -> None:
    result = run_as_user(home, "models", "verify")
    assert (result.code, "[weights.missing]" in result.err) == (Exit.MODEL, True)


def test_a_folder_that_cannot_hold_weights_is_reported(home: Path) -> None:
    (home / "file").write_text("")
    result = run_as_user(home, "models", "pull", AUDITCODER_CACHE=str(home / "file"))
    assert result.code == Exit.MODEL
    assert "[weights.unwritable]" in result.err
    assert "AUDITCODER_CACHE" in result.err


def test_a_prompt_is_sent_to_a_server(home: Path) -> None:
    with serving(lambda handler: handler.say(fault.completion("Hello there"))) as server:
        result = run_as_user(
            home,
            *("models", "ask", "hi", "--model", "server:loopback"),
            AUDITCODER_BASE_URL=server.address,
            AUDITCODER_API_KEY=KEY,
        )
        assert server.keys == [f"Bearer {KEY}"]
    assert (result.code, result.out) == (Exit.OK, "Hello there\n")
    assert "7 tokens read" in result.err
    assert KEY not in result.out + result.err


def test_a_prompt_is_read_from_standard_input(home: Path) -> None:
    with serving() as server:
        run_as_user(
            home,
            *("models", "ask", "-", "--model", "server:x"),
            stdin="from afar",
            AUDITCODER_BASE_URL=server.address,
        )
        assert server.asked[0]["messages"][-1]["content"] == "from afar"


def test_a_refused_key_is_reported(home: Path) -> None:
    with serving(fault.error(401)) as server:
        result = run_as_user(
            home,
            *("models", "ask", "hi", "--model", "server:x", "--json"),
            AUDITCODER_BASE_URL=server.address,
            AUDITCODER_API_KEY=KEY,
        )
    assert result.code == Exit.MODEL
    assert json.loads(result.err)["error"]["code"] == "model.key"
    assert KEY not in result.err


@pytest.mark.parametrize("model", ["nope", "embedded:other", "nobody:x", "openai:"])
def test_an_unknown_model_is_reported(home: Path, model: str) -> None:
    result = run_as_user(home, "models", "ask", "hi", "--model", model)
    assert result.code == Exit.MODEL
    assert "[model.unknown]" in result.err


def test_a_person_can_be_the_model(home: Path) -> None:
    desk = home / "desk"
    command = [sys.executable, "-m", "auditcoder", "models", "ask", "hi"]
    with subprocess.Popen(
        [*command, "--model", f"manual:{desk}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            assert child.stderr is not None
            announced = child.stderr.readline()
            [request] = desk.glob("*/request.md")
            request.with_name("reply.md").write_text("by hand")
            out, _ = child.communicate(timeout=60)
        finally:
            child.kill()
    assert "waiting for" in announced
    assert out == "by hand\n"


def test_invalid_characters_of_a_prompt_are_replaced(home: Path) -> None:
    with serving() as server:
        result = run_as_user(
            home,
            *("models", "ask", "a\udcffb", "--model", "server:x"),
            AUDITCODER_BASE_URL=server.address,
        )
        assert result.code == Exit.OK
        assert server.asked[0]["messages"][-1]["content"] == "a?b"


def test_passwords_in_addresses_are_not_shown(home: Path) -> None:
    address = "http://bob:hunter2secret@127.0.0.1:1/v1"
    result = run_as_user(home, "models", AUDITCODER_BASE_URL=address)
    assert "127.0.0.1:1" in result.out
    assert "hunter2secret" not in result.out
    store = "postgresql://bob:hunter2secret@db/x"
    assert "hunter2secret" not in run_as_user(home, "doctor", AUDITCODER_STORE=store).out


def test_an_invalid_configuration_is_reported(home: Path) -> None:
    (home / "c.toml").write_text("modle = 1")
    result = run_as_user(home, "models", AUDITCODER_CONFIG=str(home / "c.toml"))
    assert result.code == Exit.UNREADABLE
    assert "[config.invalid]" in result.err


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
def test_max_tokens_must_be_a_positive_integer(home: Path, number: str) -> None:
    result = run_as_user(home, "models", "ask", "hi", "--max-tokens", number)
    assert result.code == Exit.USAGE
