"""The worker process: imports common packages, restricts itself, and forks a supervisor per run.

`worker_setup` starts it where the rest of the machine is not visible, or, without namespaces, not
readable, with a fixed environment and only its control socket open: a fork inherits nothing else.
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
import sysconfig
import time
from typing import Any, NoReturn

from . import kernel, seccomp
from .candidate_runner import open_streams
from .supervisor import HostEnvironment, stand_by

_PRELOADED = (
    *("abc", "array", "bisect", "cmath", "collections", "copy", "dataclasses", "datetime"),
    *("decimal", "enum", "fractions", "functools", "heapq", "io", "itertools", "json", "math"),
    *("operator", "os", "queue", "random", "re", "statistics", "string", "struct", "textwrap"),
    *("threading", "time", "typing", "unittest"),
)


def main(control: int, settings: int) -> NoReturn:
    """Serve the control socket until its other end is closed."""
    wire = socket.socket(fileno=control)
    wire.set_inheritable(False)
    _serve(wire, _ready(wire, settings))


def _ready(wire: socket.socket, file: int) -> HostEnvironment:
    """Import common packages, shed what candidates must not see, and announce the worker."""
    with open(file, "rb") as opened:
        settings = json.load(opened)
    missing: dict[str, str] = settings["missing"]
    sys.path.append(settings["package_folder"])
    _import_packages(settings["packages"], missing)
    _rename_installation(settings["home"])
    time.tzset()
    os.environ.clear()
    host = _restricted(settings)
    wire.send(json.dumps({"layers": host.layers, "missing": missing}).encode())
    return host


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


def _restricted(settings: dict[str, Any]) -> HostEnvironment:
    """Remove the sandbox's own code from sight, and prepare the rules that all runs share."""
    layers, code = settings["layers"], settings["code"]
    host = HostEnvironment(
        layers=tuple(layers),
        uid=settings["uid"],
        uids=settings["uids"],
        tasks=64 if settings["uids"] > 1 else 1024,
        private=settings["private"],
        readable=settings["readable"],
        devices=settings["devices"],
        kept=settings["kept"],
        base_memory=kernel.address_space(settings["size"]),
    )
    if "mount" not in layers:
        os.unlink(code)  # noqa: PTH108
        if settings["first_rules"] >= 0:  # of this process and its children; each run adds its own
            kernel.set_no_new_privileges()
            kernel.restrict_files(settings["first_rules"])
            os.close(settings["first_rules"])
        return host
    kernel.unmount(code)
    os.removedirs(code)
    kernel.make_read_only("/")
    return with_rules(host)


def with_rules(host: HostEnvironment) -> HostEnvironment:
    """Prepare the rules of a root file system of one's own, which are the same for every run."""
    # Private folders are mounted below `private`, and a Landlock rule covers mounts below it.
    if "landlock" in host.layers:
        rules = kernel.file_rules(host.readable, host.private, host.devices)
        host = host._replace(file_rules=rules)
    if "seccomp" in host.layers:
        host = host._replace(call_rules=seccomp.program(1, isolated=True))
    return host


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


def _rename_installation(home: str) -> None:
    """Replace the folders of the interpreter in what `sysconfig` tells.

    They are the one that it was built for, and the one that its path, with links resolved, is in.
    The user's own folder is not named either.
    """
    variables = sysconfig.get_config_vars()
    if "userbase" in variables:
        variables["userbase"] = "~/.local"
    real = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))  # noqa: PTH120
    folders = {variables.get("prefix") or home, real} - {"/"}
    for told in (variables, vars(sysconfig)):
        for name, value in told.items():
            if isinstance(value, str) and not name.startswith("__"):
                for folder in sorted(folders, key=len, reverse=True):
                    value = value.replace(folder, home)
                told[name] = value
    for name in [name for name in sys.modules if name.startswith("_sysconfigdata")]:
        del sys.modules[name]
