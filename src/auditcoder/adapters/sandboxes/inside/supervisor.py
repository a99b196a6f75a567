"""One run: a private folder, a clock, and the true account of how the candidate ended.

The candidate is a child in a pid namespace of its own. Nothing that it can reach leads here.
"""

import base64
import contextlib
import json
import os
import select
import signal
import socket
import stat
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from . import harness, kernel, seccomp

_FILES = 4096
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


def supervise(world: World, channels: Channels) -> NoReturn:
    """Run the job that lies in the channels' file, and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = socket.socket(fileno=channels.status)
    folder = ""
    try:
        with open(channels.job, "rb") as file:  # noqa: PTH123 - a descriptor
            job = json.load(file)
        folder = _private_folder(world, job)
        ended = _attend(world, job, folder, channels, status)
        ended["artefacts"] = [_collected(folder, name) for name in job["artefacts"]]
    except BaseException as error:
        ended = {"fault": f"{type(error).__name__}: {error}"}
    with contextlib.suppress(OSError):
        status.sendall(json.dumps(ended).encode())
    if folder and "mount" not in world.layers:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _private_folder(world: World, job: dict[str, Any]) -> str:
    """Make the one place where the candidate may write, with what it is given."""
    os.setsid()
    if "pid" in world.layers:
        kernel.unshare(kernel.NEWPID | (kernel.NEWNS if "mount" in world.layers else 0))
    folder = f"{world.private}/run"
    if "mount" in world.layers:
        kernel.mount_memory(folder, job["files"], _FILES, "0700")
    else:
        folder = f"{world.private}/{os.getpid()}-{job['seal'][:12]}"
        Path(folder).mkdir(0o700)
    for name in ("work", "tmp"):
        Path(folder, name).mkdir()
    Path(folder, "stdin").write_bytes(job["stdin"].encode("utf-8", "surrogateescape"))
    for name, content in job["inputs"].items():
        path = Path(folder, "work", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content))
    if world.uid != os.getuid():
        for place, folders, files in os.walk(folder):
            for name in ("", *folders, *files):
                os.chown(Path(place, name), world.uid, world.uid)
    return folder


def _attend(
    world: World, job: dict[str, Any], folder: str, channels: Channels, status: socket.socket
) -> dict[str, Any]:
    started = time.monotonic()
    ready, locked = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ready)
            _lock_in(world, job, folder, channels, locked)
            harness.run(job, 3)
        finally:
            os._exit(255)
    os.close(locked)
    for descriptor in (channels.stdout, channels.stderr, channels.report):
        os.close(descriptor)
    fault = os.read(ready, 4096)  # empty once the walls stand: the write end is then closed
    timed_out, cancelled = False, False
    if not fault:
        timed_out, cancelled = _wait(child, status, job)
    if fault or timed_out or cancelled:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    _, code, used = os.wait4(child, 0)
    if fault:
        return {"fault": fault.decode("utf-8", "replace")}
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


def _lock_in(
    world: World, job: dict[str, Any], folder: str, channels: Channels, locked: int
) -> None:
    """Put up every wall, from inside. What fails here is our fault, and is said to be."""
    try:
        kernel.die_with_parent()
        if "pid" not in world.layers:
            os.setsid()
        os.chdir(f"{folder}/work")
        kernel.gain_nothing()
        if "landlock" in world.layers:
            rules = world.file_rules
            if rules < 0:
                rules = kernel.file_rules(world.readable, folder, world.devices)
            kernel.restrict_files(rules)
        _keep_only(folder, channels, locked)
        kernel.drop_privileges(world.uid)
        kernel.limit(world.base_memory + job["memory"], job["seconds"], job["files"])
        if "seccomp" in world.layers:
            seccomp.install(world.call_rules or seccomp.program(os.getpid()))
    except BaseException as error:
        os.write(4, f"{type(error).__name__}: {error}".encode())
        os._exit(255)
    os.close(4)
    _fix_chance()


def _keep_only(folder: str, channels: Channels, locked: int) -> None:
    """Leave standard input, output and error, the report on 3 and the lock on 4, and no other."""
    stdin = os.open(f"{folder}/stdin", os.O_RDONLY)
    kept = (stdin, channels.stdout, channels.stderr, channels.report, locked)
    high = [_above(descriptor) for descriptor in kept]
    for place, descriptor in enumerate(high):
        os.dup2(descriptor, place)
    os.closerange(5, 4096)


def _above(descriptor: int) -> int:
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64)


def _fix_chance() -> None:
    """Make unseeded randomness the same in every run."""
    if "random" in sys.modules:
        sys.modules["random"].seed(0)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(0)


def _collected(folder: str, name: str) -> dict[str, Any]:
    """Read one artefact: an ordinary file, not a link, in the folder and nowhere else."""
    place = os.open(f"{folder}/work", os.O_PATH | os.O_DIRECTORY)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        *parents, last = name.split("/")
        for parent in parents:
            place = os.open(parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
        file = os.open(last, flags, dir_fd=place)
    except OSError as error:
        return {"name": name, "missing": error.strerror}
    if not stat.S_ISREG(os.fstat(file).st_mode):
        return {"name": name, "missing": "it is not an ordinary file"}
    with open(file, "rb") as content:  # noqa: PTH123 - a descriptor
        return {"name": name, "content": base64.b64encode(content.read()).decode()}
