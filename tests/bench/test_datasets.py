"""Data sets are fetched once, completely and with the right digest, or not at all."""

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


class DataServer(ThreadingHTTPServer):
    """A server with a data set, which counts its requests."""

    requests = 0
    behaviour = "well"


class Handler(BaseHTTPRequestHandler):
    server: DataServer

    def do_GET(self) -> None:
        self.server.requests += 1
        if self.server.behaviour == "gone":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        body = CONTENT.replace(b"two", b"too") if self.server.behaviour == "changed" else CONTENT
        self.wfile.write(body[:100] if self.server.behaviour == "breaks off" else body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def data_server() -> Iterator[DataServer]:
    server = DataServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def address(data_server: DataServer) -> str:
    return f"http://127.0.0.1:{data_server.server_address[1]}/data.json"


def test_a_file_is_fetched_once(data_server: DataServer, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "data.json"
    for _ in range(3):
        assert obtain(address(data_server), DIGEST, path) == path
    assert path.read_bytes() == CONTENT
    assert digest_of_file(path) == DIGEST
    assert data_server.requests == 1


def test_a_partial_file_is_fetched_again(data_server: DataServer, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(CONTENT[:500])
    obtain(address(data_server), DIGEST, path)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [("gone", "data.offline"), ("breaks off", "data.offline"), ("changed", "data.digest")],
)
def test_a_failed_download_leaves_no_file(
    data_server: DataServer, tmp_path: Path, behaviour: str, code: str
) -> None:
    data_server.behaviour = behaviour
    with pytest.raises(DataUnavailable) as caught:
        obtain(address(data_server), DIGEST, tmp_path / "data.json")
    assert caught.value.code == code
    assert "--data" in caught.value.advice
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_server_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable) as caught:
        obtain("http://127.0.0.1:9/data.json", None, tmp_path / "data.json")
    assert caught.value.code == "data.offline"
