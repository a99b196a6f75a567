"""A server on the loopback interface that speaks OpenAI's protocol and can misbehave."""

import json
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler"], None]


def completion(
    content: str | None = "fine",
    finish: str = "stop",
    refusal: str | None = None,
    usage: bool = True,
) -> dict[str, Any]:
    """Return a well-formed answer."""
    message = {"role": "assistant", "content": content}
    if refusal is not None:
        message["refusal"] = refusal
    body: dict[str, Any] = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "loopback",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return body


class Handler(BaseHTTPRequestHandler):
    """Answers each request with the next behaviour of the server."""

    server: "FaultServer"
    body: dict[str, Any]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Read the request and call the next behaviour."""
        length = int(self.headers.get("Content-Length", 0))
        self.body = json.loads(self.rfile.read(length))
        self.server.asked.append(self.body)
        self.server.keys.append(self.headers.get("Authorization", ""))
        self.server.next_behaviour()(self)

    def say(
        self,
        body: bytes | dict[str, Any],
        status: int = 200,
        headers: dict[str, str] | None = None,
        kind: str = "application/json",
        length: int | None = None,
    ) -> None:
        """Send a response."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw) if length is None else length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class FaultServer(ThreadingHTTPServer):
    """Uses one behaviour per request, in order; after the last, it answers normally."""

    daemon_threads = True

    def __init__(self, behaviours: tuple[Behaviour, ...]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self._behaviours = list(behaviours)
        self._lock = threading.Lock()
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []

    def next_behaviour(self) -> Behaviour:
        """Return the behaviour for the next request."""
        with self._lock:
            return self._behaviours.pop(0) if self._behaviours else well

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report nothing: clients are expected to close their connections."""

    @property
    def address(self) -> str:
        """The base URL of the server."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serving(*behaviours: Behaviour) -> Iterator[FaultServer]:
    """Run a server."""
    server = FaultServer(behaviours)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def well(handler: Handler) -> None:
    handler.say(completion())


def error(status: int, **headers: str) -> Behaviour:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"error": {"message": "no", "type": "server_error"}}
    return lambda handler: handler.say(body, status, named)


def reset_mid_body(handler: Handler) -> None:
    handler.say(b'{"id": "x", "choi', length=4000)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


def silence(handler: Handler) -> None:
    """Send nothing until the client hangs up."""
    _hung_up(handler)


def slow_drip(handler: Handler) -> None:
    """Send a byte every now and then, until the client hangs up."""
    handler.say(b"", length=1 << 30)
    while not _hung_up(handler, seconds=0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def _hung_up(handler: Handler, seconds: float | None = None) -> bool:
    """Wait until the client closes the connection, at most `seconds`; return whether it did."""
    readable, _, _ = select.select([handler.connection], [], [], seconds)
    return bool(readable)


def truncated_json(handler: Handler) -> None:
    handler.say(json.dumps(completion()).encode()[:40])


def wrong_shape(handler: Handler) -> None:
    handler.say({"answer": ["fine"], "choices": 3})


def no_choices(handler: Handler) -> None:
    handler.say({**completion(), "choices": []})


def not_an_object(handler: Handler) -> None:
    handler.say(b'["fine"]')


def empty(handler: Handler) -> None:
    handler.say(completion(content=""))


def null_content(handler: Handler) -> None:
    handler.say(completion(content=None))


def refusal(handler: Handler) -> None:
    handler.say(completion(content=None, refusal="I will not."))


def filtered(handler: Handler) -> None:
    handler.say(completion(content="", finish="content_filter"))


def cut_by_length(handler: Handler) -> None:
    handler.say(completion(content="half an ans", finish="length"))


def wrong_content_type(handler: Handler) -> None:
    handler.say(b"<html>Sign in to the Wi-Fi</html>", kind="text/html")


def invalid_utf8(handler: Handler) -> None:
    handler.say(json.dumps(completion()).encode().replace(b"fine", b"\xff\xfe\xc3"))


def unmeasured(handler: Handler) -> None:
    handler.say(completion(usage=False))
