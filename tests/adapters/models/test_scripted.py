"""The scripted model, and the stand-ins for people and records, keep the port's promises."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from auditcoder.adapters.models.manual import ManualModel
from auditcoder.adapters.models.replay import ReplayModel
from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import ModelMisconfigured, ModelUnavailable, NotFound
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.request import Request
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.asking import Asker
from auditcoder.lifecycle.budget import Budget, Purse
from auditcoder.lifecycle.patience import Patience
from auditcoder.lifecycle.ports import Model
from tests.conformance.model import GREETING, HELLO, SKY, ModelConformance, answer
from tests.support.records import take
from tests.support.worlds import RUN, started


class TestScriptedModel(ModelConformance):
    @pytest.fixture
    def model(self) -> Model:
        return ScriptedModel([answer] * 10)

    def test_a_script_that_has_ended_says_so(self) -> None:
        with pytest.raises(ModelMisconfigured, match="no line for request 1"):
            ScriptedModel([]).complete(HELLO)


class TestReplayModel(ModelConformance):
    @pytest.fixture
    def model(self) -> Iterator[Model]:
        """A record in which the suite's own questions were asked often enough."""
        source = SqliteStore(":memory:")
        asker = Asker(ScriptedModel([answer] * 20), started(source), Purse(Budget(), None))
        for _ in range(6):
            asker.ask(GREETING)
            asker.ask(SKY)
        yield ReplayModel(source, RUN)
        source.close()

    def test_there_must_be_a_run_to_replay(self) -> None:
        with pytest.raises(NotFound):
            ReplayModel(SqliteStore(":memory:"), RunId("nothing"))

    def test_a_failure_is_replayed_as_a_failure(self) -> None:
        store = SqliteStore(":memory:")
        failing = ScriptedModel([ModelUnavailable("model.timeout", "too slow", billed=True)])
        once = Patience(attempts=1)
        with pytest.raises(ModelUnavailable):
            Asker(failing, started(store), Purse(Budget(), None), once).ask(GREETING)
        second = SqliteStore(":memory:")
        again = Asker(ReplayModel(store, RUN), started(second), Purse(Budget(), None))
        with pytest.raises(ModelUnavailable) as replayed:
            again.ask(GREETING)
        assert (replayed.value.code, str(replayed.value)) == ("model.timeout", "too slow")
        first, same = (take(kept, RUN).events()[-1] for kept in (store, second))
        assert isinstance(first, ReplyRecorded)
        assert isinstance(same, ReplyRecorded)
        assert (same.attempts, same.usage) == (first.attempts, first.usage)

    def test_a_refusal_is_replayed_as_a_refusal(self) -> None:
        store = SqliteStore(":memory:")
        refusing = ScriptedModel([ModelMisconfigured("model.key", "no key")])
        with pytest.raises(ModelMisconfigured):
            Asker(refusing, started(store), Purse(Budget(), None)).ask(GREETING)
        with pytest.raises(ModelMisconfigured) as replayed:
            ReplayModel(store, RUN).complete(HELLO)
        assert replayed.value.code == "model.key"


class _Person:
    """Answers whatever is asked in a folder, as a person or an agent would."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._done.wait(0.02):
            for request in self._folder.glob("*/request.json"):
                reply = request.with_name("reply.md")
                if not reply.exists():
                    asked = msgspec.json.decode(request.read_bytes(), type=Request)
                    draft = request.with_name("draft")
                    draft.write_text(answer(asked))
                    draft.rename(reply)

    def leave(self) -> None:
        self._done.set()
        self._thread.join()


class TestManualModel(ModelConformance):
    @pytest.fixture
    def model(self, tmp_path: Path) -> Iterator[Model]:
        person = _Person(tmp_path / "desk")
        yield ManualModel(tmp_path / "desk", patience=20, say=lambda _: None)
        person.leave()

    def test_a_request_can_be_read_by_a_person(self, tmp_path: Path) -> None:
        said: list[str] = []
        model = ManualModel(tmp_path, patience=0.3, say=said.append)
        with pytest.raises(ModelUnavailable) as nobody:
            model.complete(HELLO)
        assert nobody.value.code == "model.timeout"
        (request,) = tmp_path.glob("*/request.md")
        assert "Say hello in one word." in request.read_text()
        assert str(request.parent) in said[0]

    def test_an_answer_that_is_there_already_is_taken_at_once(self, tmp_path: Path) -> None:
        person = _Person(tmp_path)
        ManualModel(tmp_path, patience=20, say=lambda _: None).complete(HELLO)
        person.leave()
        again = ManualModel(tmp_path, patience=5, say=lambda _: None)
        assert again.complete(HELLO).text == "Hello"

    def test_an_answer_still_being_written_is_waited_for(self, tmp_path: Path) -> None:
        model = ManualModel(tmp_path, patience=20, say=lambda _: None)

        def write_slowly() -> None:
            while not (found := list(tmp_path.glob("*/request.md"))):
                time.sleep(0.01)
            with found[0].with_name("reply.md").open("w") as file:
                for word in ("one ", "two ", "three"):
                    file.write(word)
                    file.flush()
                    time.sleep(0.15)

        writer = threading.Thread(target=write_slowly)
        writer.start()
        assert model.complete(HELLO).text == "one two three"
        writer.join()

    def test_a_folder_that_cannot_be_written_is_said_to_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        model = ManualModel(tmp_path / "file", patience=1, say=lambda _: None)
        with pytest.raises(ModelMisconfigured) as refused:
            model.complete(HELLO)
        assert refused.value.code == "model.folder"

    @pytest.mark.parametrize("kind", ["folder", "pipe"])
    def test_a_reply_that_is_no_file_is_said_to_be_none(self, tmp_path: Path, kind: str) -> None:
        person = _Person(tmp_path)
        ManualModel(tmp_path, patience=20, say=lambda _: None).complete(HELLO)
        person.leave()
        (reply,) = tmp_path.glob("*/reply.md")
        reply.unlink()
        reply.mkdir() if kind == "folder" else os.mkfifo(reply)
        with pytest.raises(ModelMisconfigured) as refused:
            ManualModel(tmp_path, patience=5, say=lambda _: None).complete(HELLO)
        assert refused.value.code == "model.folder"

    def test_a_request_that_was_removed_is_put_back(self, tmp_path: Path) -> None:
        model = ManualModel(tmp_path, patience=30, say=lambda _: None)

        def clumsy() -> None:
            while not (found := list(tmp_path.glob("*/request.md"))):
                time.sleep(0.01)
            shutil.rmtree(found[0].parent)
            while not found[0].exists():
                time.sleep(0.01)
            found[0].with_name("reply.md").write_text("at last")

        person = threading.Thread(target=clumsy)
        person.start()
        assert model.complete(HELLO).text == "at last"
        person.join()

    def test_closing_ends_the_wait(self, tmp_path: Path) -> None:
        model = ManualModel(tmp_path, say=lambda _: None)
        threading.Timer(0.2, model.close).start()
        with pytest.raises(ModelMisconfigured, match="closed"):
            model.complete(HELLO)
