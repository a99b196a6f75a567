"""The worker process: isolates itself, imports common packages, and forks a supervisor per run.

It starts with a fixed environment and only its control socket open, so that a fork inherits
nothing else. It builds the restricted root file system for candidates and enters it itself: the
rest of the machine is no longer visible from then on.
"""

import contextlib
import gc
import importlib
import json
import os
import signal
import site
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from . import kernel, seccomp
from .candidate_runner import open_streams
from .supervisor import HostEnvironment, stand_by

_USERS = 2_000_000_000
"""The first user id, outside the namespace, that candidates run as if ids can be chosen."""
_SLOTS = 1000
"""The number of these user ids."""
_ROOT_SIZE = 1 << 20
_DEVICES = ("null", "zero", "random", "urandom", "full")

_PRELOADED = (
    *("abc", "array", "bisect", "cmath", "collections", "copy", "dataclasses", "datetime"),
    *("decimal", "enum", "fractions", "functools", "heapq", "io", "itertools", "json", "math"),
    *("operator", "os", "queue", "random", "re", "statistics", "string", "struct", "textwrap"),
    *("threading", "time", "typing", "unittest"),
)


def main(control: int) -> NoReturn:
    """Serve the control socket until its other end is closed."""
    wire = socket.socket(fileno=control)
    config = json.loads(wire.recv(1 << 20))
    missing: dict[str, str] = {}
    host = _build(config, missing)
    _import_packages(config["packages"], missing)
    time.tzset()
    os.environ.clear()
    host = _with_rules(host)._replace(base_memory=kernel.address_space())
    wire.send(json.dumps({"layers": host.layers, "missing": missing}).encode())
    _serve(wire, host)


def _serve(wire: socket.socket, host: HostEnvironment) -> NoReturn:
    """Hand each run to a supervisor that was prepared before, and prepare the next."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors report to the caller
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the caller
    open_streams()
    site.setquit()
    site.sethelper()
    gc.collect()
    gc.freeze()
    number = 0
    while True:
        number += 1
        # Another user id each time, if possible: limits on threads are counted per user.
        own = host._replace(uid=host.uid + number % host.uids)
        spare = _prepared(own, wire)
        message, descriptors, _, _ = socket.recv_fds(wire, 16, 8)
        if not message:
            os._exit(0)
        if not (spare and _handed_over(spare, descriptors)):
            # The prepared supervisor is gone: try a new one, or report the fault.
            spare = _prepared(own, wire)
            if not (spare and _handed_over(spare, descriptors)):
                with contextlib.suppress(OSError):
                    os.write(descriptors[-1], b'{"fault": "no process can be started"}')
        for descriptor in descriptors:
            os.close(descriptor)


def _prepared(host: HostEnvironment, wire: socket.socket) -> socket.socket | None:
    near, far = socket.socketpair()
    try:
        child = os.fork()
    except OSError:
        return None
    if child == 0:
        wire.close()
        near.close()
        stand_by(host, far)
    far.close()
    return near


def _handed_over(spare: socket.socket, descriptors: list[int]) -> bool:
    try:
        socket.send_fds(spare, [b"run"], descriptors)
    except OSError:
        return False
    finally:
        spare.close()
    return True


def _build(config: dict[str, Any], missing: dict[str, str]) -> HostEnvironment:
    """Apply the isolation layers that this machine offers; note in `missing` which it does not."""
    wanted = set(config["layers"])
    layers: list[str] = []
    uid, uids = os.getuid(), 1
    private = config["private"]
    packages = config["package_folder"]
    readable = [*config["library"], packages, *config["package_files"]]
    devices = [f"/dev/{name}" for name in _DEVICES]
    if "namespaces" in wanted:
        try:
            uids = _enter_namespaces()
            uid = 1 if uids > 1 else 0
            layers += ["user", "pid", "ipc", "net", "uts"]
            _enter_restricted_root(config, devices)
            private, packages = "/private", "/packages"
            readable = [*config["library"], packages]
            layers.append("mount")
        except OSError as error:
            missing["namespaces"] = str(error)
            if layers:  # only partly isolated: nothing can run here
                raise
    if not kernel.landlock_version():
        missing["landlock"] = "the kernel does not support it, or it is not enabled"
    elif "landlock" in wanted:
        layers.append("landlock")
    if not seccomp.supported():
        missing["seccomp"] = "this processor architecture is not supported"
    elif "seccomp" in wanted:
        layers.append("seccomp")
    for name in {"namespaces", "landlock", "seccomp"} - wanted:
        missing[name] = "not requested"
    sys.path.append(packages)
    return HostEnvironment(
        layers=(*layers, "rlimits"),
        uid=uid,
        uids=uids,
        tasks=64 if uids > 1 else 1024,
        private=private,
        readable=readable,
        devices=devices,
    )


def _with_rules(host: HostEnvironment) -> HostEnvironment:
    """Prepare the rules once if they are the same for every run; else each run writes its own."""
    if "mount" not in host.layers:
        return host
    # Private folders are mounted below `private`, and a Landlock rule covers mounts below it.
    if "landlock" in host.layers:
        rules = kernel.file_rules(host.readable, host.private, host.devices)
        host = host._replace(file_rules=rules)
    if "seccomp" in host.layers:
        host = host._replace(call_rules=seccomp.program(1, isolated=True))
    return host


def _enter_namespaces() -> int:
    """Continue as a child in new namespaces; return the number of user ids for candidates.

    User maps can only be written from outside, so the parent stays there to write them; it ends
    together with the child.
    """
    outer_uid, outer_gid = os.getuid(), os.getgid()
    request, answer = os.pipe(), os.pipe()
    child = os.fork()
    if child:
        _write_maps(child, outer_uid, outer_gid, request, answer)
    os.close(request[0])
    os.close(answer[1])
    kernel.die_with_parent()
    failure: OSError | None = None
    try:
        kernel.unshare(
            kernel.NEWUSER
            | kernel.NEWNS
            | kernel.NEWPID
            | kernel.NEWIPC
            | kernel.NEWNET
            | kernel.NEWUTS
            | kernel.NEWCGROUP
        )
    except OSError as error:
        failure = error
    os.write(request[1], b"n" if failure else b"y")
    mapped = os.read(answer[0], 1)
    os.close(request[1])
    os.close(answer[0])
    if failure is not None:
        raise failure
    if mapped == b"n":
        raise OSError(1, "user ids cannot be mapped")
    inner = os.fork()  # process 1 of the new pid namespace: when it ends, all others do
    if inner:
        os._exit(_exit_code_of(inner))
    kernel.die_with_parent()
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    return _SLOTS if mapped == b"2" else 1


def _write_maps(
    child: int, uid: int, gid: int, request: tuple[int, int], answer: tuple[int, int]
) -> NoReturn:
    os.close(request[1])
    os.close(answer[0])
    result = b"n"
    if os.read(request[0], 1) == b"y":
        result = _map_users(child, uid, gid)
    os.write(answer[1], result)
    os.close(answer[1])
    os._exit(_exit_code_of(child))


def _map_users(child: int, uid: int, gid: int) -> bytes:
    """Map user ids: many for root, so that candidates do not share one; else only the caller's."""
    process = Path(f"/proc/{child}")
    if uid == 0:
        try:
            (process / "uid_map").write_text(f"0 0 1\n1 {_USERS} {_SLOTS}\n")
            (process / "gid_map").write_text(f"0 0 1\n1 {_USERS} {_SLOTS}\n")
        except OSError:
            pass  # as without root, below
        else:
            return b"2"
    try:
        (process / "setgroups").write_text("deny")
        (process / "uid_map").write_text(f"0 {uid} 1\n")
        (process / "gid_map").write_text(f"0 {gid} 1\n")
    except OSError:
        return b"n"
    return b"1"


def _exit_code_of(child: int) -> int:
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) & 0xFF


def _enter_restricted_root(config: dict[str, Any], devices: list[str]) -> None:
    """Build and enter a root with the interpreter, its libraries and a private folder only."""
    root = config["root"]
    kernel.detach_mounts()
    kernel.mount_memory(root, _ROOT_SIZE, 4096)
    for path in (*config["library"], *devices):
        _show(root, path)
    for path in config["hidden"]:
        if Path(root + path).is_dir():
            kernel.mount_memory(root + path, 4096, 2)
    for path in config["package_files"]:
        _show(root, path, f"/packages/{Path(path).name}")
    for folder in ("private/run", "packages"):
        Path(root, folder).mkdir(parents=True, exist_ok=True)
    for link, target in (
        ("tmp", "/private/run/tmp"),
        ("dev/shm", "/private/run/tmp"),
        ("dev/stdin", "/private/run/stdin"),
    ):
        with contextlib.suppress(FileExistsError):
            Path(root, link).symlink_to(target)
    kernel.remember_self()
    kernel.name_host("sandbox")
    kernel.enter_root(root)
    kernel.make_read_only("/")


def _show(root: str, path: str, at: str = "") -> None:
    """Make a file or folder of the machine visible in the new root, by default at the same path."""
    source, target = Path(path), Path(root + (at or path))
    if not source.exists() or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
        _show(root, str(source.resolve()))
    elif source.is_dir():
        target.mkdir()
        kernel.bind(path, str(target))
    else:
        target.touch()
        kernel.bind(path, str(target))


def _import_packages(packages: list[str], missing: dict[str, str]) -> None:
    """Import common packages once, so that runs start faster."""
    extra = ("numpy.random",) if "numpy" in packages else ()  # the supervisor seeds it
    os.environ["HOME"] = "/"  # some packages need it while they are imported
    for name in (*_PRELOADED, *packages, *extra):
        before = set(sys.modules)
        try:
            importlib.import_module(name)
        except Exception as error:
            missing[f"package {name}"] = f"{type(error).__name__}: {error}"
            # A partly imported package would break a program's own import of it.
            for part in set(sys.modules) - before:
                del sys.modules[part]
    del os.environ["HOME"]
