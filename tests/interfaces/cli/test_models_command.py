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
    said = run_as_user(home, "models")
    assert said.code == Exit.OK
    assert said.out.split()[:2] == ["*", "embedded"]
    assert "models pull" in said.out


def test_models_are_listed_as_json(home: Path) -> None:
    said = json.loads(run_as_user(home, "models", "list", "--json").out)
    assert said["model"] == "embedded"
    assert [m["ready"] for m in said["models"] if m["address"] == "embedded"] == [False]
    assert json.loads(run_as_user(home, "models", "--json").out) == said


def test_missing_weights_cannot_be_verified(home: Path) -> None:
    said = run_as_user(home, "models", "verify")
    assert (said.code, "[weights.missing]" in said.err) == (Exit.MODEL, True)


def test_a_folder_that_cannot_hold_weights_is_reported(home: Path) -> None:
    (home / "file").write_text("")
    said = run_as_user(home, "models", "pull", AUDITCODER_CACHE=str(home / "file"))
    assert said.code == Exit.MODEL
    assert "[weights.unwritable]" in said.err
    assert "AUDITCODER_CACHE" in said.err


def test_a_prompt_is_sent_to_a_server(home: Path) -> None:
    with serving(lambda handler: handler.say(fault.completion("Hello there"))) as server:
        said = run_as_user(
            home,
            *("models", "ask", "hi", "--model", "server:loopback"),
            AUDITCODER_BASE_URL=server.address,
            AUDITCODER_API_KEY=KEY,
        )
        assert server.keys == [f"Bearer {KEY}"]
    assert (said.code, said.out) == (Exit.OK, "Hello there\n")
    assert "7 tokens read" in said.err
    assert KEY not in said.out + said.err


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
        said = run_as_user(
            home,
            *("models", "ask", "hi", "--model", "server:x", "--json"),
            AUDITCODER_BASE_URL=server.address,
            AUDITCODER_API_KEY=KEY,
        )
    assert said.code == Exit.MODEL
    assert json.loads(said.err)["error"]["code"] == "model.key"
    assert KEY not in said.err


@pytest.mark.parametrize("model", ["nope", "embedded:other", "nobody:x", "openai:"])
def test_an_unknown_model_is_reported(home: Path, model: str) -> None:
    said = run_as_user(home, "models", "ask", "hi", "--model", model)
    assert said.code == Exit.MODEL
    assert "[model.unknown]" in said.err


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
        said = run_as_user(
            home,
            *("models", "ask", "a\udcffb", "--model", "server:x"),
            AUDITCODER_BASE_URL=server.address,
        )
        assert said.code == Exit.OK
        assert server.asked[0]["messages"][-1]["content"] == "a?b"


def test_passwords_in_addresses_are_not_shown(home: Path) -> None:
    address = "http://bob:hunter2secret@127.0.0.1:1/v1"
    said = run_as_user(home, "models", AUDITCODER_BASE_URL=address)
    assert "127.0.0.1:1" in said.out
    assert "hunter2secret" not in said.out
    store = "postgresql://bob:hunter2secret@db/x"
    assert "hunter2secret" not in run_as_user(home, "doctor", AUDITCODER_STORE=store).out


def test_an_invalid_configuration_is_reported(home: Path) -> None:
    (home / "c.toml").write_text("modle = 1")
    said = run_as_user(home, "models", AUDITCODER_CONFIG=str(home / "c.toml"))
    assert said.code == Exit.UNREADABLE
    assert "[config.invalid]" in said.err


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
def test_max_tokens_must_be_a_positive_integer(home: Path, number: str) -> None:
    said = run_as_user(home, "models", "ask", "hi", "--max-tokens", number)
    assert said.code == Exit.USAGE
