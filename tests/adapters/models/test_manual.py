"""The manual model waits for a person or an agent to reply in a folder."""

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from auditcoder.adapters.models.manual import ManualModel
from auditcoder.domain.errors import ModelMisconfigured, ModelUnavailable
from auditcoder.domain.request import Request
from auditcoder.lifecycle.ports import Model
from tests.conformance.model import HELLO, ModelConformance, answer


class _Person:
    """Answers the requests in a folder, as a person or an agent would."""

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
                    decoded = msgspec.json.decode(request.read_bytes(), type=Request)
                    draft = request.with_name("draft")
                    draft.write_text(answer(decoded))
                    draft.rename(reply)

    def leave(self) -> None:
        self._done.set()
        self._thread.join()


class TestManualModel(ModelConformance):
    @pytest.fixture
    def model(self, tmp_path: Path) -> Iterator[Model]:
        person = _Person(tmp_path / "desk")
        yield ManualModel(tmp_path / "desk", say=lambda _: None)
        person.leave()

    def test_a_request_can_be_read_by_a_person(self, tmp_path: Path) -> None:
        notices: list[str] = []
        model = ManualModel(tmp_path, timeout=0, say=notices.append)
        with pytest.raises(ModelUnavailable) as timed_out:
            model.complete(HELLO)
        assert timed_out.value.code == "model.timeout"
        (request,) = tmp_path.glob("*/request.md")
        assert "Say hello in one word." in request.read_text()
        assert str(request.parent) in notices[0]

    def test_an_existing_reply_is_used(self, tmp_path: Path) -> None:
        person = _Person(tmp_path)
        ManualModel(tmp_path, say=lambda _: None).complete(HELLO)
        person.leave()
        again = ManualModel(tmp_path, say=lambda _: None)
        assert again.complete(HELLO).text == "Hello"

    def test_a_reply_that_is_still_being_written_is_not_taken(self, tmp_path: Path) -> None:
        words = ["one ", "two ", "three"]

        def write_a_word(_: float) -> None:
            (request,) = tmp_path.glob("*/request.md")
            if words:
                with request.with_name("reply.md").open("a") as file:
                    file.write(words.pop(0))

        model = ManualModel(tmp_path, say=lambda _: None, pause=write_a_word)
        assert model.complete(HELLO).text == "one two three"

    def test_a_folder_that_cannot_be_written_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        model = ManualModel(tmp_path / "file", say=lambda _: None)
        with pytest.raises(ModelMisconfigured) as refused:
            model.complete(HELLO)
        assert refused.value.code == "model.folder"

    @pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000, "a\0b"])
    def test_an_invalid_folder_name_is_reported(self, tmp_path: Path, name: str) -> None:
        model = ManualModel(tmp_path / name, say=lambda _: None)
        with pytest.raises(ModelMisconfigured) as refused:
            model.complete(HELLO)
        assert refused.value.code == "model.folder"

    @pytest.mark.parametrize("kind", ["folder", "pipe"])
    def test_a_reply_that_is_not_a_file_is_reported(self, tmp_path: Path, kind: str) -> None:
        person = _Person(tmp_path)
        ManualModel(tmp_path, say=lambda _: None).complete(HELLO)
        person.leave()
        (reply,) = tmp_path.glob("*/reply.md")
        reply.unlink()
        reply.mkdir() if kind == "folder" else os.mkfifo(reply)
        with pytest.raises(ModelMisconfigured) as refused:
            ManualModel(tmp_path, say=lambda _: None).complete(HELLO)
        assert refused.value.code == "model.folder"

    def test_a_removed_request_is_written_again(self, tmp_path: Path) -> None:
        removed: list[Path] = []

        def remove_then_reply(_: float) -> None:
            (request,) = tmp_path.glob("*/request.md")
            if not removed:
                removed.append(request)
                shutil.rmtree(request.parent)
            elif not request.with_name("reply.md").exists():
                request.with_name("reply.md").write_text("at last")

        model = ManualModel(tmp_path, say=lambda _: None, pause=remove_then_reply)
        assert model.complete(HELLO).text == "at last"
        assert removed

    def test_closing_the_model_ends_the_wait(self, tmp_path: Path) -> None:
        model = ManualModel(tmp_path, say=lambda _: None, pause=lambda _: model.close())
        with pytest.raises(ModelMisconfigured, match="closed"):
            model.complete(HELLO)
