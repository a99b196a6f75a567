"""Data sets: fetched once, whole, and what they must be, or not at all."""

import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from auditcoder.domain.errors import DataUnavailable
from auditcoder.domain.values import Digest
from auditcoder_bench.datasets import digest_of_file, obtain

CONTENT = b"one\ntwo\n" * 1000
DIGEST = Digest(sha256(CONTENT).hexdigest())


class Home(ThreadingHTTPServer):
    """A data set's home, which counts its visitors."""

    asked = 0
    mood = "well"


class Handler(BaseHTTPRequestHandler):
    server: Home

    def do_GET(self) -> None:
        self.server.asked += 1
        if self.server.mood == "gone":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        body = CONTENT.replace(b"two", b"too") if self.server.mood == "changed" else CONTENT
        self.wfile.write(body[:100] if self.server.mood == "breaks off" else body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def home() -> Iterator[Home]:
    server = Home(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def address(home: Home) -> str:
    return f"http://127.0.0.1:{home.server_address[1]}/data.json"


def test_a_file_is_fetched_once(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "data.json"
    for _ in range(3):
        assert obtain(address(home), DIGEST, path) == path
    assert path.read_bytes() == CONTENT
    assert digest_of_file(path) == DIGEST
    assert home.asked == 1


def test_what_is_half_written_is_fetched_again(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(CONTENT[:500])
    obtain(address(home), DIGEST, path)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("mood", "code"),
    [("gone", "data.offline"), ("breaks off", "data.offline"), ("changed", "data.digest")],
)
def test_what_goes_wrong_leaves_nothing_behind(
    home: Home, tmp_path: Path, mood: str, code: str
) -> None:
    home.mood = mood
    with pytest.raises(DataUnavailable) as caught:
        obtain(address(home), DIGEST, tmp_path / "data.json")
    assert caught.value.code == code
    assert "--data" in caught.value.advice
    assert list(tmp_path.iterdir()) == []


def test_nobody_at_home(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable) as caught:
        obtain("http://127.0.0.1:9/data.json", None, tmp_path / "data.json")
    assert caught.value.code == "data.offline"
