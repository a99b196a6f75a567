"""The default sandbox: a worker process on this machine that forks once for each run."""

import contextlib
import json
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from auditcoder import sandboxed
from auditcoder.adapters.sandboxes import visible_paths
from auditcoder.adapters.sandboxes.job_writer import encoded_job
from auditcoder.adapters.sandboxes.outcome_reader import RawResult, outcome, seal_of
from auditcoder.domain.errors import SandboxError
from auditcoder.domain.execution import Execution, ExecutionOutcome
from auditcoder.sandboxed import cleanup

LAYERS = ("namespaces", "landlock", "seccomp")
"""The isolation layers that a kernel may offer, besides resource limits."""

_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_START_SECONDS = 60.0
_REPORT_BYTES = 16 << 20
"""Maximum bytes that a candidate may report: values that it returned, tests that ran."""
_GRACE_SECONDS = 10.0
"""Seconds after the time limit until a missing report counts as a fault of the worker."""


class LocalSandbox:
    """Runs untrusted Python on this machine. Safe to share between threads.

    `kind` names the isolation layers in use. Callers decide which they require: see
    `open_sandbox`.
    """

    def __init__(self, packages: Iterable[str] = (), layers: Iterable[str] = LAYERS) -> None:
        self._packages = tuple(packages)
        self._layers = tuple(layers)
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._closed = False
        worker = self._ready()
        self.kind = worker.kind
        self.missing = worker.missing

    def run(self, execution: Execution) -> ExecutionOutcome:
        """Run untrusted code and return how it ended; raise SandboxError if the sandbox failed."""
        proof = secrets.token_hex(16)
        job = encoded_job(execution, proof)
        for last in (False, True):
            worker = self._ready()
            try:
                raw = worker.run(job, execution)
            except _Lost as lost:
                if isinstance(lost, _WorkerLost):
                    self._discard(worker)
                if last:
                    raise SandboxError(
                        "sandbox.lost",
                        f"the sandbox's worker ended while a program ran: {lost}",
                        "the machine may be out of memory; the run can be resumed",
                    ) from lost
            else:
                return outcome(execution, raw, seal_of(proof), worker.kind)
        raise AssertionError

    def _ready(self) -> "_Worker":
        with self._lock:
            if self._closed:
                raise SandboxError("sandbox.closed", "the sandbox was closed")
            if self._worker is None:
                self._worker = self._start()
            return self._worker

    def _start(self) -> "_Worker":
        """Start a worker; if that fails with namespaces, start one without them."""
        try:
            return _Worker(self._packages, self._layers)
        except SandboxError as error:
            if error.code != "sandbox.start" or "namespaces" not in self._layers:
                raise
            self._layers = tuple(layer for layer in self._layers if layer != "namespaces")
            worker = _Worker(self._packages, self._layers)
            worker.missing["namespaces"] = str(error).rsplit("\n", 1)[-1]
            return worker

    def _discard(self, worker: "_Worker") -> None:
        with self._lock:
            if self._worker is worker:
                self._worker = None
        worker.close()

    def close(self) -> None:
        """End the worker and everything that it runs."""
        with self._lock:
            self._closed = True
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def __enter__(self) -> Self:
        """Use as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


class _Lost(Exception):
    """The sandbox lost a process; a retry may help."""


class _WorkerLost(_Lost):
    """The worker ended or does not answer."""


class _CandidateLost(_Lost):
    """The prepared process ended before it received its job."""


class _Worker:
    """The worker process and the socket to it."""

    def __init__(self, packages: tuple[str, ...], layers: tuple[str, ...]) -> None:
        self._state = Path(tempfile.mkdtemp(prefix="auditcoder-"))
        # Also runs if the sandbox is never closed: at the latest when the interpreter ends.
        self._owner = os.getpid()
        self._remove_state = weakref.finalize(self, _remove_state, str(self._state), self._owner)
        self._wire, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._sending = threading.Lock()
        try:
            config = self._config(packages, layers)
            try:
                self._process = self._start(far)
            except OSError as error:
                raise _not_started(str(error)) from error
            finally:
                far.close()  # an open copy would hide the end of the worker
            hello = self._configure(config)
        except BaseException:
            self._wire.close()
            far.close()
            self._remove_state()
            raise
        self.kind = "+".join(hello["layers"])
        self.missing: dict[str, str] = hello["missing"]

    def _start(self, far: socket.socket) -> subprocess.Popen[bytes]:
        start = Path(sandboxed.__file__).parent / "worker_start.py"
        log = (self._state / "log").open("wb")
        with log:
            return subprocess.Popen(  # noqa: S603 - our own interpreter, our own code
                [
                    visible_paths.interpreter(),
                    *("-S", "-s", "-P", "-B", "-X", "utf8"),
                    *(str(start), str(far.fileno())),
                ],
                env=_ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(far.fileno(),),
                start_new_session=True,
            )

    def _config(self, packages: tuple[str, ...], layers: tuple[str, ...]) -> dict[str, Any]:
        library = visible_paths.library_folder()
        return {
            "layers": layers,
            "state": str(self._state),
            "code": str(Path(sandboxed.__file__).parent),
            "interpreter": visible_paths.interpreter(),
            "interpreter_files": visible_paths.interpreter_files(),
            "library": library,
            "library_name": f"{sys.platlibdir}/{Path(library).name}",
            "shared": visible_paths.shared_libraries(),
            "hidden": visible_paths.hidden_folders(),
            "package_files": list(map(str, visible_paths.package_files(packages))),
            "packages": packages,
        }

    def _configure(self, config: dict[str, Any]) -> dict[str, Any]:
        """Send the worker its configuration and return what it could set up."""
        self._wire.send(json.dumps(config).encode())
        self._wire.settimeout(_START_SECONDS)
        try:
            hello = self._wire.recv(1 << 16)
        except OSError:
            hello = b""
        self._wire.settimeout(None)
        if not hello:
            log = (self._state / "log").read_text(errors="replace").strip()[-500:]
            self._process.kill()
            self._process.wait()
            raise _not_started(log or "it printed nothing")
        answer: dict[str, Any] = json.loads(hello)
        return answer

    def run(self, job: bytes, execution: Execution) -> RawResult:
        """Send one job and collect its results until it ends."""
        bounds = execution.bounds
        limits = (bounds.output_bytes, bounds.output_bytes, _REPORT_BYTES)
        # Artefacts arrive base64-encoded and are limited by the size of files.
        max_report = bounds.file_bytes * 4 // 3 + (1 << 20)
        with ExitStack() as ours:
            readers: list[int] = []
            try:
                with ExitStack() as theirs:
                    writers = [_pipe(readers, ours, theirs) for _ in limits]
                    near, status = socket.socketpair()
                    ours.callback(near.close)
                    theirs.callback(status.close)
                    file = os.memfd_create("job", os.MFD_CLOEXEC)
                    theirs.callback(os.close, file)
                    _write_all(file, job)
                    waiting = ours.enter_context(selectors.DefaultSelector())
                    self._send([file, *writers, status.fileno()])
            except ConnectionError as error:
                raise _WorkerLost(str(error)) from error
            except OSError as error:
                raise SandboxError(
                    "sandbox.fault",
                    f"a program could not be sent to the sandbox: {error.strerror}",
                    "this process may have too many files open, or the machine too little memory",
                ) from error
            return _collect(
                waiting, readers, limits, near, max_report, bounds.seconds + _GRACE_SECONDS
            )

    def _send(self, descriptors: list[int]) -> None:
        with self._sending:
            socket.send_fds(self._wire, [b"run"], descriptors)

    def close(self) -> None:
        """End the worker and with it every process in its namespace."""
        self._wire.close()
        if os.getpid() != self._owner:
            return  # a fork of the process that owns it
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._remove_state()


def _remove_state(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        cleanup.remove(folder)


def _not_started(why: str) -> SandboxError:
    return SandboxError(
        "sandbox.start",
        f"the sandbox's worker did not start: {why}",
        "`auditcoder doctor` shows what this machine lacks",
    )


def _write_all(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]
    os.lseek(file, 0, os.SEEK_SET)


def _pipe(readers: list[int], ours: ExitStack, theirs: ExitStack) -> int:
    reader, writer = os.pipe()
    ours.callback(os.close, reader)
    theirs.callback(os.close, writer)
    os.set_blocking(reader, False)
    readers.append(reader)
    return writer


class _Stream:
    """The output of one pipe, up to a limit."""

    def __init__(self, reader: int, limit: int) -> None:
        self.reader = reader
        self.kept = bytearray()
        self.cut = False
        self._limit = limit

    def read(self) -> bool:
        """Read what is available; return whether there may be more."""
        try:
            chunk = os.read(self.reader, 1 << 16)
        except BlockingIOError:
            return False
        room = self._limit - len(self.kept)
        self.kept += chunk[:room]
        self.cut = self.cut or len(chunk) > room
        return bool(chunk)


def _collect(
    waiting: selectors.BaseSelector,
    readers: list[int],
    limits: tuple[int, ...],
    status: socket.socket,
    max_report: int,
    seconds: float,
) -> RawResult:
    """Read the candidate's output, up to its limits, until the supervisor reports the end."""
    streams = [_Stream(*pair) for pair in zip(readers, limits, strict=True)]
    report = bytearray()
    deadline = time.monotonic() + seconds
    for stream in streams:
        waiting.register(stream.reader, selectors.EVENT_READ, stream)
    waiting.register(status, selectors.EVENT_READ, None)
    ended = False
    while not ended:
        events = waiting.select(max(0.0, deadline - time.monotonic()))
        if not events:
            raise _WorkerLost("the supervisor did not answer in time")
        for key, _ in events:
            if key.data is None:
                ended = not _receive(status, report, max_report)
            elif not key.data.read():
                waiting.unregister(key.fileobj)
            elif key.data.cut:
                _cancel(status)
    # The candidate has ended. Other processes may keep the pipes open, so their end is not awaited.
    for stream in streams:
        while stream.read() and not stream.cut:
            pass
    return _raw_result(report, streams)


def _raw_result(report: bytearray, streams: list[_Stream]) -> RawResult:
    if not report:
        raise _WorkerLost("the supervisor ended without a report")
    ended = json.loads(report)
    if ended.get("again"):
        raise _CandidateLost(ended["fault"])
    if "fault" in ended:
        raise SandboxError(
            "sandbox.fault",
            f"the sandbox could not run a program: {ended['fault']}",
            "`auditcoder doctor` shows what this machine lacks",
        )
    stdout, stderr, own_report = (bytes(stream.kept) for stream in streams)
    return RawResult(ended, stdout, stderr, own_report, [stream.cut for stream in streams])


def _receive(status: socket.socket, report: bytearray, limit: int) -> bool:
    """Append what the supervisor sent to `report`; return whether there may be more."""
    try:
        chunk = status.recv(1 << 20)
    except ConnectionError:
        return False
    report += chunk
    if len(report) > limit:
        raise _WorkerLost("the supervisor's report is too long")
    return bool(chunk)


def _cancel(status: socket.socket) -> None:
    """Ask the supervisor to end the run."""
    with contextlib.suppress(OSError):
        status.shutdown(socket.SHUT_WR)
