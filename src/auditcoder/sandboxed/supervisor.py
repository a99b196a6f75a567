"""Supervises one run: private folder, time limit, and how the candidate's process ended.

The candidate is a child in a pid namespace of its own and holds no channel to this process.
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
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from . import candidate_runner, cleanup, kernel, seccomp

_FILES = 4096
_LAST_DESCRIPTOR = 255
_INITIAL_SIZE = 1 << 20
"""Bytes of a private folder until the job sets its limit."""
_LENGTH = struct.Struct("!Q")
_ISOLATED, _STARTED = b"+", b"!"
_GRACE = 0.05
_GRACE_PROFILING = 0.5


class HostEnvironment(NamedTuple):
    """The isolation layers that this machine offers, and the paths to use."""

    layers: tuple[str, ...]
    uid: int
    private: str
    """The folder in which private folders are created."""
    readable: Sequence[str | int]
    """Paths, or descriptors where the paths would tell about the machine."""
    devices: list[str]
    base_memory: int = 0
    uids: int = 1
    """The number of user ids for candidates, from `uid` on."""
    tasks: int = 1024
    """The number of threads per user id; all runs together if they share one."""
    file_rules: int = -1
    """The descriptor of Landlock's rules, if they are the same for every run."""
    call_rules: bytes = b""
    """The seccomp filter, if it is the same for every run."""
    kept: int = 0
    """The number of descriptors, down from 255, through which links to the library lead."""


class Channels(NamedTuple):
    """The descriptors of one run."""

    job: int
    stdout: int
    stderr: int
    report: int
    status: int


class CandidateProcess(NamedTuple):
    """An isolated process that waits for a job."""

    pid: int
    folder: str
    work: int
    """A descriptor of its folder, which stays valid if the folder is renamed."""
    wire: socket.socket
    ready: int
    """The pipe that reports errors from before the candidate's code starts."""


def stand_by(host: HostEnvironment, wire: socket.socket) -> NoReturn:
    """Prepare a process before there is a job, wait for the job's channels, and supervise it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    candidate: CandidateProcess | OSError
    try:
        candidate = _prepared(host)
    except OSError as error:
        candidate = error
    message, descriptors, _, _ = socket.recv_fds(wire, 16, 8)
    if message:
        _supervise(host, candidate, Channels(*descriptors))
    if isinstance(candidate, CandidateProcess) and "mount" not in host.layers:
        with _acting_as(host.uid):
            cleanup.remove(candidate.folder)  # except the folder itself, which is in ours
        cleanup.remove(candidate.folder)
    os._exit(0)


def _supervise(
    host: HostEnvironment, candidate: CandidateProcess | OSError, channels: Channels
) -> None:
    """Run the job in the channels' file and report how it ended."""
    status = socket.socket(fileno=channels.status)
    started = False
    try:
        if isinstance(candidate, OSError):
            raise candidate
        with open(channels.job, "rb") as file:  # noqa: PTH123 - a descriptor
            ours, _, theirs = file.read().partition(b"\n")
        job = json.loads(ours)
        _write_inputs(host, candidate.folder, job)
        _hand_over(candidate.wire, theirs, channels)
        answer = os.read(candidate.ready, 4096)
        if not answer:
            raise ConnectionResetError("the candidate's process was lost")
        if answer != _STARTED:
            raise OSError(answer.decode("utf-8", "replace"))
        started = True
        with _acting_as(
            host.uid
        ):  # suffices to end it where root may not end other users' processes
            ended = _await_end(candidate.pid, job, status)
            ended["artefacts"] = _collected(candidate.work, job["artefacts"], job["files"])
    except BaseException as error:
        # A process lost before the job started, for example for lack of memory, is retried.
        lost = isinstance(error, ConnectionError) and not started
        ended = {"fault": f"{type(error).__name__}: {error}", "again": lost}
    with contextlib.suppress(OSError):
        status.sendall(json.dumps(ended).encode())


def _private_folder(host: HostEnvironment) -> str:
    """Create the only folder in which the candidate may write."""
    if "pid" in host.layers:
        kernel.unshare(kernel.NEWPID | kernel.NEWNS)
        folder = f"{host.private}/run"
        kernel.mount_memory(folder, _INITIAL_SIZE, _FILES, host.uid)
    else:
        folder = f"{host.private}/{os.urandom(8).hex()}"
        os.mkdir(folder, 0o700)  # noqa: PTH102 - pathlib is slow, and every run waits for this
        if host.uid != os.getuid():
            os.chown(folder, host.uid, host.uid)
    return folder


@contextlib.contextmanager
def _acting_as(uid: int) -> Iterator[None]:
    """Act with the candidate's user id, so that no other rights are used."""
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


def _prepared(host: HostEnvironment) -> CandidateProcess:
    """Start the candidate's process and let it isolate itself."""
    folder = _private_folder(host)
    with _acting_as(host.uid):
        for name in ("work", "tmp"):
            os.mkdir(f"{folder}/{name}")  # noqa: PTH102
    work = os.open(f"{folder}/work", os.O_PATH | os.O_DIRECTORY)
    near, far = socket.socketpair()
    ready, ready_writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ready)
            near.close()
            _isolate(host, folder, ready_writer)
            _run_job(host, folder, far, ready_writer)
        finally:
            os._exit(255)
    os.close(ready_writer)
    far.close()
    answer = os.read(ready, 4096)
    if answer != _ISOLATED:
        for uid in (os.getuid(), host.uid):  # it may or may not have changed its user
            with _acting_as(uid), contextlib.suppress(PermissionError):
                os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if not answer:
            raise ConnectionResetError("the candidate's process was lost")
        raise OSError(answer.decode("utf-8", "replace"))
    return CandidateProcess(child, folder, work, near, ready)


def _isolate(host: HostEnvironment, folder: str, ready_writer: int) -> None:
    """Apply every isolation layer to this process; a failure is reported as the sandbox's fault."""
    try:
        if "pid" not in host.layers:
            os.setsid()
        os.chdir(f"{folder}/work")
        kernel.set_no_new_privileges()
        if "landlock" in host.layers:
            files = host.file_rules
            if files < 0:
                files = kernel.file_rules(host.readable, folder, host.devices)
            kernel.restrict_files(files)
        kernel.drop_privileges(host.uid)
        kernel.die_with_parent()  # after the change of user, which resets it
        if "seccomp" in host.layers:
            rules = host.call_rules or seccomp.program(os.getpid(), isolated=False)
            seccomp.install(rules)
    except BaseException as error:
        os.write(ready_writer, f"{type(error).__name__}: {error}".encode())
        os._exit(255)
    os.write(ready_writer, _ISOLATED)


def _run_job(
    host: HostEnvironment, folder: str, wire: socket.socket, ready_writer: int
) -> NoReturn:
    """Wait for a job and run it; a failure before the job starts is the sandbox's fault."""
    error_pipe = ready_writer
    try:
        job = _received(wire)
        stdin = os.open(f"{folder}/stdin", os.O_RDONLY)
        kept = (stdin, *job["channels"], ready_writer)
        duplicates = [fcntl.fcntl(number, fcntl.F_DUPFD, 64) for number in kept]
        error_pipe = duplicates[-1]
        for place, number in enumerate(duplicates):
            os.dup2(number, place)
        error_pipe = 4
        kernel.close_from(5, _LAST_DESCRIPTOR - host.kept)
        kernel.close_from(_LAST_DESCRIPTOR + 1)
        kernel.limit(host.base_memory + job["memory"], job["seconds"], job["files"], host.tasks)
        _seed_randomness()
    except BaseException as error:
        os.write(error_pipe, f"{type(error).__name__}: {error}".encode())
        os._exit(255)
    os.write(4, _STARTED)
    os.close(4)
    candidate_runner.run(job, 3)


def _received(wire: socket.socket) -> dict[str, Any]:
    """Receive a job and the descriptors of its channels; end the process if none comes."""
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
    """Send the candidate its job, and close our copies of the channels that it writes to."""
    outputs = [channels.stdout, channels.stderr, channels.report]
    socket.send_fds(wire, [_LENGTH.pack(len(job))], outputs)
    wire.sendall(job)
    for descriptor in outputs:
        os.close(descriptor)


def _write_inputs(host: HostEnvironment, folder: str, job: dict[str, Any]) -> None:
    """Write the candidate's input files into its folder."""
    given = {f"work/{name}": content for name, content in job["inputs"].items()}
    given["stdin"] = job["stdin"]
    contents = {name: base64.b64decode(content) for name, content in given.items()}
    if "mount" in host.layers:
        room = sum(-(-len(content) // 4096) + 2 for content in contents.values()) * 4096
        kernel.resize_memory(folder, job["files"] + room, _FILES + 8 * len(contents))
    with _acting_as(host.uid):
        for name, content in contents.items():
            path = f"{folder}/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
            _write_file(path, content)


def _write_file(path: str, content: bytes) -> None:
    with open(path, "wb", buffering=0) as file:  # noqa: PTH123
        view = memoryview(content)
        while view:
            view = view[file.write(view) :]


def _await_end(child: int, job: dict[str, Any], status: socket.socket) -> dict[str, Any]:
    """Wait until the candidate ends, or end it; return how it ended."""
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
    """Wait for the end; return whether the time ran out, and whether the run was cancelled."""
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
    _send_signal(child, candidate_runner.STACK_SIGNAL)
    if not waiting.poll(_GRACE * 1000) and job["watch"]:
        _send_signal(child, candidate_runner.PROFILE_SIGNAL)
        waiting.poll(_GRACE_PROFILING * 1000)
    return True, False


def _send_signal(child: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def _seed_randomness() -> None:
    """Seed the random generators, so that every run sees the same numbers."""
    if "random" in sys.modules:
        sys.modules["random"].seed(0)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(0)


def _collected(work: int, names: list[str], most: int) -> list[dict[str, Any]]:
    """Read the artefacts, up to the size limit of the candidate's files in total."""
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
    """Read one artefact: a regular file in the folder, never through a link."""
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
