"""`models` and `doctor`: what there is, what is missing, and what to do about it."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from auditcoder.interfaces.cli.exits import Exit
from tests.support import fault_server as fault
from tests.support.commands import Said
from tests.support.fault_server import serving

KEY = "sk-1029384756abcdef"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def run(home: Path, *arguments: str, stdin: str = "", **environment: str) -> Said:
    """Run the command as a user with nothing set would."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AUDITCODER", "XDG"))}
    done = subprocess.run(
        [sys.executable, "-m", "auditcoder", *arguments],
        env={**clean, "HOME": str(home), **environment},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return Said(done.returncode, done.stdout, done.stderr)


class TestModels:
    def test_lists_what_can_be_asked(self, home: Path) -> None:
        said = run(home, "models")
        assert said.code == Exit.OK
        assert "* embedded" in said.out
        assert "models pull" in said.out

    def test_lists_for_programs_too(self, home: Path) -> None:
        said = json.loads(run(home, "models", "list", "--json").out)
        assert said["model"] == "embedded"
        assert [m["ready"] for m in said["models"] if m["address"] == "embedded"] == [False]
        assert json.loads(run(home, "models", "--json").out) == said

    def test_weights_that_are_not_here_cannot_be_verified(self, home: Path) -> None:
        said = run(home, "models", "verify")
        assert (said.code, "[weights.missing]" in said.err) == (Exit.MODEL, True)

    def test_a_folder_that_cannot_hold_weights_is_said_to_be(self, home: Path) -> None:
        (home / "file").write_text("")
        said = run(home, "models", "pull", AUDITCODER_CACHE=str(home / "file"))
        assert said.code == Exit.MODEL
        assert "[weights.unwritable]" in said.err
        assert "AUDITCODER_CACHE" in said.err

    def test_asks_any_server(self, home: Path) -> None:
        with serving(lambda handler: handler.say(fault.completion("Hello there"))) as server:
            said = run(
                home,
                *("models", "ask", "hi", "--model", "server:loopback"),
                AUDITCODER_BASE_URL=server.address,
                AUDITCODER_API_KEY=KEY,
            )
            assert server.keys == [f"Bearer {KEY}"]
        assert (said.code, said.out) == (Exit.OK, "Hello there\n")
        assert "7 tokens read" in said.err
        assert KEY not in said.out + said.err

    def test_asks_what_comes_on_standard_input(self, home: Path) -> None:
        with serving() as server:
            environment = {"AUDITCODER_BASE_URL": server.address}
            run(home, "models", "ask", "-", "--model", "server:x", stdin="from afar", **environment)
            assert server.asked[0]["messages"][-1]["content"] == "from afar"

    def test_a_server_that_does_not_accept_the_key(self, home: Path) -> None:
        with serving(fault.error(401)) as server:
            said = run(
                home,
                *("models", "ask", "hi", "--model", "server:x", "--json"),
                AUDITCODER_BASE_URL=server.address,
                AUDITCODER_API_KEY=KEY,
            )
        assert said.code == Exit.MODEL
        assert json.loads(said.err)["error"]["code"] == "model.key"
        assert KEY not in said.err

    @pytest.mark.parametrize("model", ["nope", "embedded:other", "nobody:x", "openai:"])
    def test_a_model_that_is_none(self, home: Path, model: str) -> None:
        said = run(home, "models", "ask", "hi", "--model", model)
        assert said.code == Exit.MODEL
        assert "[model.unknown]" in said.err

    def test_a_person_can_be_the_model(self, home: Path) -> None:
        desk = home / "desk"

        def answer() -> None:
            while not (found := list(desk.glob("*/request.md"))):
                time.sleep(0.02)
            found[0].with_name("reply.md").write_text("by hand")

        person = threading.Thread(target=answer)
        person.start()
        said = run(home, "models", "ask", "hi", "--model", f"manual:{desk}")
        person.join()
        assert said.out == "by hand\n"
        assert "reply.md" in said.err

    def test_bytes_that_are_no_text_are_marked(self, home: Path) -> None:
        with serving() as server:
            environment = {"AUDITCODER_BASE_URL": server.address}
            said = run(home, "models", "ask", "a\udcffb", "--model", "server:x", **environment)
            assert said.code == Exit.OK
            assert server.asked[0]["messages"][-1]["content"] == "a?b"

    def test_passwords_in_addresses_are_not_shown(self, home: Path) -> None:
        address = "http://bob:hunter2secret@127.0.0.1:1/v1"
        said = run(home, "models", AUDITCODER_BASE_URL=address)
        assert "127.0.0.1:1" in said.out
        assert "hunter2secret" not in said.out
        store = "postgresql://bob:hunter2secret@db/x"
        assert "hunter2secret" not in run(home, "doctor", AUDITCODER_STORE=store).out

    def test_a_configuration_that_is_wrong(self, home: Path) -> None:
        (home / "c.toml").write_text("modle = 1")
        said = run(home, "models", AUDITCODER_CONFIG=str(home / "c.toml"))
        assert said.code == Exit.UNREADABLE
        assert "[config.invalid]" in said.err

    @pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
    def test_a_length_that_is_none(self, home: Path, number: str) -> None:
        said = run(home, "models", "ask", "hi", "--max-tokens", number)
        assert said.code == Exit.USAGE


class TestDoctor:
    def test_a_machine_that_has_everything(self, home: Path) -> None:
        said = run(home, "doctor", OPENAI_API_KEY=KEY)
        assert said.code == Exit.OK
        assert "full: user+pid+ipc+net+uts+mount+landlock+seccomp+rlimits" in said.out
        assert "OPENAI_API_KEY" in said.out
        assert KEY not in said.out
        assert "models pull" in said.out

    def test_for_programs(self, home: Path) -> None:
        findings = json.loads(run(home, "doctor", "--json").out)["findings"]
        states = {finding["what"]: finding["state"] for finding in findings}
        assert states["sandbox"] == "ok"
        assert states["weights"] == "weaker"

    def test_a_configuration_that_is_wrong_is_a_finding(self, home: Path) -> None:
        (home / "c.toml").write_text("modle = 1")
        said = run(home, "doctor", AUDITCODER_CONFIG=str(home / "c.toml"))
        assert "modle" in said.out
        assert said.code == Exit.UNREADABLE
