"""One run: a private folder, a clock, and the true account of how the candidate ended.

The candidate is a child in a pid namespace of its own. Nothing that it can reach leads here.
"""

import base64
import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from . import folders, harness, kernel, seccomp

_FILES = 4096
_ROOM = 1 << 20
"""Of a private folder before a job says how much it may hold."""
_LENGTH = struct.Struct("!Q")
_WALLS_STAND, _BEGINS = b"+", b"!"
_GRACE = 0.05
_GRACE_PROFILING = 0.5


class World(NamedTuple):
    """What this machine gave us, and where things are in it."""

    layers: tuple[str, ...]
    uid: int
    private: str
    """Where private folders are put."""
    readable: list[str]
    devices: list[str]
    base_memory: int = 0
    uids: int = 1
    """How many users there are for candidates, from `uid` on."""
    tasks: int = 1024
    """How many threads a user may have: all runs together, where they share one."""
    file_rules: int = -1
    """Landlock's rules, where they are the same for every run."""
    call_rules: bytes = b""
    """Seccomp's, likewise."""


class Channels(NamedTuple):
    """The descriptors of one run."""

    job: int
    stdout: int
    stderr: int
    report: int
    status: int


class Candidate(NamedTuple):
    """A process behind its walls that waits to be told what to run."""

    pid: int
    folder: str
    work: int
    """Its folder, whatever it may do to the name."""
    wire: socket.socket
    ready: int
    """What goes wrong before the candidate's own code begins is told here."""


def stand_by(world: World, wire: socket.socket) -> NoReturn:
    """Prepare a run before there is one, wait for its channels, and see it through."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    candidate: Candidate | OSError
    try:
        candidate = _prepared(world)
    except OSError as error:
        candidate = error
    message, descriptors, _, _ = socket.recv_fds(wire, 16, 8)
    if message:
        _supervise(world, candidate, Channels(*descriptors))
    if isinstance(candidate, Candidate) and "mount" not in world.layers:
        folders.remove(candidate.folder)
    os._exit(0)


def _supervise(world: World, candidate: Candidate | OSError, channels: Channels) -> None:
    """Run the job that lies in the channels' file, and tell how it ended."""
    status = socket.socket(fileno=channels.status)
    begun = False
    try:
        if isinstance(candidate, OSError):
            raise candidate
        with open(channels.job, "rb") as file:  # noqa: PTH123 - a descriptor
            ours, _, theirs = file.read().partition(b"\n")
        job = json.loads(ours)
        _furnish(world, candidate.folder, job)
        _hand_over(candidate.wire, theirs, channels)
        told = os.read(candidate.ready, 4096)
        if not told:
            raise ConnectionResetError("the candidate's process was lost")
        if told != _BEGINS:
            raise OSError(told.decode("utf-8", "replace"))
        begun = True
        ended = _attend(candidate.pid, job, status)
        with _acting_as(world.uid):
            ended["artefacts"] = _collected(candidate.work, job["artefacts"], job["files"])
    except BaseException as error:
        # A candidate that was lost before it began, as to a kernel short of memory: once more.
        lost = isinstance(error, ConnectionError) and not begun
        ended = {"fault": f"{type(error).__name__}: {error}", "again": lost}
    with contextlib.suppress(OSError):
        status.sendall(json.dumps(ended).encode())


def _private_folder(world: World) -> str:
    """Make the one place where a candidate may write."""
    if "pid" in world.layers:
        kernel.unshare(kernel.NEWPID | kernel.NEWNS)
        folder = f"{world.private}/run"
        kernel.mount_memory(folder, _ROOM, _FILES, world.uid)
    else:
        folder = f"{world.private}/{os.getpid()}"
        os.mkdir(folder, 0o700)  # noqa: PTH102 - paths are slow, and this is on everybody's way
    return folder


@contextlib.contextmanager
def _acting_as(uid: int) -> Iterator[None]:
    """Touch the candidate's files as the candidate, with no more rights than it has."""
    own = os.getuid()
    if own == uid:
        yield
        return
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(own)
        os.setegid(own)


def _prepared(world: World) -> Candidate:
    """Start the candidate's process, and let it put up its walls."""
    folder = _private_folder(world)
    with _acting_as(world.uid):
        for name in ("work", "tmp"):
            os.mkdir(f"{folder}/{name}")  # noqa: PTH102
    work = os.open(f"{folder}/work", os.O_PATH | os.O_DIRECTORY)
    near, far = socket.socketpair()
    ready, locked = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ready)
            near.close()
            _lock_in(world, folder, locked)
            _obey(world, folder, far, locked)
        finally:
            os._exit(255)
    os.close(locked)
    far.close()
    told = os.read(ready, 4096)
    if told != _WALLS_STAND:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise OSError(told.decode("utf-8", "replace") or "the candidate's process was lost")
    return Candidate(child, folder, work, near, ready)


def _lock_in(world: World, folder: str, locked: int) -> None:
    """Put up every wall, from inside. What fails here is our fault, and is said to be."""
    try:
        if "pid" not in world.layers:
            os.setsid()
        os.chdir(f"{folder}/work")
        kernel.gain_nothing()
        if "landlock" in world.layers:
            files = world.file_rules
            if files < 0:
                files = kernel.file_rules(world.readable, folder, world.devices)
            kernel.restrict_files(files)
        kernel.drop_privileges(world.uid)
        kernel.die_with_parent()  # after the change of user, which forgets it
        if "seccomp" in world.layers:
            rules = world.call_rules or seccomp.program(os.getpid(), walled=False)
            seccomp.install(rules)
    except BaseException as error:
        os.write(locked, f"{type(error).__name__}: {error}".encode())
        os._exit(255)
    os.write(locked, _WALLS_STAND)


def _obey(world: World, folder: str, wire: socket.socket, locked: int) -> NoReturn:
    """Wait for a job, prepare for it, and run it. What fails before is still our fault."""
    tell = locked
    try:
        job = _received(wire)
        stdin = os.open(f"{folder}/stdin", os.O_RDONLY)
        kept = (stdin, *job["channels"], locked)
        high = [fcntl.fcntl(number, fcntl.F_DUPFD, 64) for number in kept]
        tell = high[-1]
        for place, number in enumerate(high):
            os.dup2(number, place)
        tell = 4
        kernel.close_from(5)
        kernel.limit(world.base_memory + job["memory"], job["seconds"], job["files"], world.tasks)
        _fix_chance()
    except BaseException as error:
        os.write(tell, f"{type(error).__name__}: {error}".encode())
        os._exit(255)
    os.write(4, _BEGINS)
    os.close(4)
    harness.run(job, 3)


def _received(wire: socket.socket) -> dict[str, Any]:
    """Take a job, with the descriptors of its channels."""
    head, descriptors, _, _ = socket.recv_fds(wire, _LENGTH.size, 3)
    if not head:
        os._exit(0)
    (left,) = _LENGTH.unpack(head)
    parts = []
    while left:
        parts.append(wire.recv(min(left, 1 << 20)))
        left -= len(parts[-1])
        if not parts[-1]:
            os._exit(255)
    job: dict[str, Any] = json.loads(b"".join(parts))
    job["channels"] = descriptors
    return job


def _hand_over(wire: socket.socket, job: bytes, channels: Channels) -> None:
    """Give the candidate its job, and keep nothing that it writes to."""
    outputs = [channels.stdout, channels.stderr, channels.report]
    socket.send_fds(wire, [_LENGTH.pack(len(job))], outputs)
    wire.sendall(job)
    for descriptor in outputs:
        os.close(descriptor)


def _furnish(world: World, folder: str, job: dict[str, Any]) -> None:
    """Put into the folder what the candidate is given."""
    given = {f"work/{name}": content for name, content in job["inputs"].items()}
    given["stdin"] = job["stdin"]
    contents = {name: base64.b64decode(content) for name, content in given.items()}
    if "mount" in world.layers:
        room = sum(-(-len(content) // 4096) + 2 for content in contents.values()) * 4096
        kernel.resize_memory(folder, job["files"] + room, _FILES + 8 * len(contents))
    with _acting_as(world.uid):
        for name, content in contents.items():
            path = f"{folder}/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
            _put(path, content)


def _put(path: str, content: bytes) -> None:
    with open(path, "wb", buffering=0) as file:  # noqa: PTH123
        view = memoryview(content)
        while view:
            view = view[file.write(view) :]


def _attend(child: int, job: dict[str, Any], status: socket.socket) -> dict[str, Any]:
    """See the candidate to its end, by itself or by ours."""
    started = time.monotonic()
    timed_out, cancelled = _wait(child, status, job)
    if timed_out or cancelled:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, code, used = os.wait4(child, 0)
    return {
        "exit": os.WEXITSTATUS(code) if os.WIFEXITED(code) else None,
        "signal": os.WTERMSIG(code) if os.WIFSIGNALED(code) else None,
        "timed_out": timed_out,
        "seconds": time.monotonic() - started,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024,
    }


def _wait(child: int, status: socket.socket, job: dict[str, Any]) -> tuple[bool, bool]:
    """Wait for the end, the clock, or word that nobody wants to know any more."""
    handle = os.pidfd_open(child)
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    waiting.register(status, select.POLLIN | select.POLLHUP)
    events = dict(waiting.poll(job["seconds"] * 1000))
    if handle in events:
        return False, False
    if events:
        return False, True
    waiting.unregister(status)
    _ask(child, harness.STACK_SIGNAL)
    if not waiting.poll(_GRACE * 1000) and job["watch"]:
        _ask(child, harness.PROFILE_SIGNAL)
        waiting.poll(_GRACE_PROFILING * 1000)
    return True, False


def _ask(child: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, what)


def _fix_chance() -> None:
    """Make unseeded randomness the same in every run."""
    if "random" in sys.modules:
        sys.modules["random"].seed(0)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(0)


def _collected(work: int, names: list[str], most: int) -> list[dict[str, Any]]:
    """Read the artefacts, together no larger than the candidate's files may be."""
    found = []
    for name in names:
        content = _content(work, name, most)
        if isinstance(content, bytes):
            most -= len(content)
            found.append({"name": name, "content": base64.b64encode(content).decode()})
        else:
            found.append({"name": name, "missing": content})
    return found


def _content(work: int, name: str, most: int) -> bytes | str:
    """Read one artefact: an ordinary file, not a link, in the folder and nowhere else."""
    opened = []
    try:
        *parents, last = name.split("/")
        place = work
        for parent in parents:
            place = os.open(parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
            opened.append(place)
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
        opened.append(file)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return "it is not an ordinary file"
        if os.fstat(file).st_size > most:
            return "it is too large"
        parts = []
        while part := os.read(file, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    except OSError as error:
        return error.strerror or "it cannot be read"
    finally:
        for descriptor in opened:
            os.close(descriptor)
