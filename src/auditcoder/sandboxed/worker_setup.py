"""The first stage of the worker: isolates the process, then starts the interpreter anew inside.

The second stage, `zygote`, holds none of the machine's paths: in a root file system of its own the
interpreter is in `/python`. Where namespaces are forbidden, a folder of links takes its place. They
lead to each part of the library, but not to packages.
"""

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from . import kernel, seccomp

_USERS = 2_000_000_000
"""The first user id, outside the namespace, that candidates run as if ids can be chosen."""
_SLOTS = 1000
"""The number of these user ids."""
_NOBODY = 65534
"""The unprivileged user id of containers in which few ids exist."""
_ROOT_SIZE = 1 << 20
_LAST_DESCRIPTOR = 255
_DEVICES = ("null", "zero", "random", "urandom", "full")
_FLAGS = ("-S", "-s", "-P", "-B", "-X", "utf8")


def main(control: int) -> NoReturn:
    """Read the configuration from the control socket, isolate this process, start the zygote."""
    wire = socket.socket(fileno=control)
    config = json.loads(wire.recv(1 << 20))
    os.umask(0o022)
    settings = isolated(config)
    home = settings["home"]
    file = os.memfd_create("settings", 0)
    os.write(file, json.dumps(settings).encode())
    os.lseek(file, 0, os.SEEK_SET)
    inherited = {"PYTHONHOME": home, "LD_LIBRARY_PATH": f"{home}/lib"}
    start = f"{settings['code']}/worker_start.py"
    interpreter = f"{home}/bin/python3"
    arguments = [interpreter, *_FLAGS, start, str(wire.detach()), str(file)]
    os.execve(interpreter, arguments, os.environ | inherited)  # noqa: S606 - our own interpreter


def isolated(config: dict[str, Any]) -> dict[str, Any]:
    """Apply the isolation layers that this machine offers; return the settings of the zygote."""
    wanted = set(config["layers"])
    missing = dict.fromkeys({"namespaces", "landlock", "seccomp"} - wanted, "not requested")
    layers: list[str] = []
    settings: dict[str, Any] = {"packages": config["packages"], "missing": missing}
    if "namespaces" in wanted:
        try:
            uids = _enter_namespaces()
            layers += ["user", "pid", "ipc", "net", "uts"]
            settings |= _in_restricted_root(config)
            settings |= {"uid": 1 if uids > 1 else 0, "uids": uids}
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
    if "mount" not in layers:
        settings |= _in_shared_root(config, missing, rules="landlock" in layers)
    return settings | {"layers": [*layers, "rlimits"]}


def _devices() -> list[str]:
    return [f"/dev/{name}" for name in _DEVICES]


# Without namespaces.


def _in_shared_root(
    config: dict[str, Any], missing: dict[str, str], *, rules: bool
) -> dict[str, Any]:
    """Prepare a worker in the machine's own file system, with an unprivileged user if possible."""
    state, private = config["state"], f"{config['state']}/private"
    packages, home = f"{state}/packages", f"{state}/python"
    for folder in (private, packages, f"{home}/bin", f"{home}/lib", f"{state}/code"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    Path(state, "code/sandboxed").symlink_to(config["code"])
    for folder in (state, private):
        Path(folder).chmod(0o711)
    uid, uids = _unprivileged_ids(private) if os.getuid() == 0 else (os.getuid(), 1)
    kept = _link_library(config, home, packages, uid)
    if os.getuid() == 0:
        library = f"{home}/{config['library_name']}/os.py"
        if uid and not _tried_as(uid, private, lambda: os.access(library, os.R_OK)):
            uid, uids = 0, 1
        if not uid:
            why = "programs run as root, without its rights: no other user id can be used here"
            missing["unprivileged user"] = why
    readable = [home, packages, config["library"], *config["shared"], *config["package_files"]]
    first_rules = -1
    if rules:
        granted = [part for path in readable for part in _without(path, config["hidden"])]
        first_rules = kernel.file_rules(granted, private, _devices())
        os.set_inheritable(first_rules, True)
    return {
        "uid": uid,
        "uids": uids,
        "home": home,
        "private": private,
        "package_folder": packages,
        "code": f"{state}/code/sandboxed",
        "readable": [_opened(path) for path in readable if Path(path).exists()],
        "devices": _devices(),
        "kept": kept,
        "first_rules": first_rules,
        "size": _opened_size(),
    }


def _link_library(config: dict[str, Any], home: str, packages: str, uid: int) -> int:
    """Link the interpreter, each part of its library and the declared packages.

    Links to folders that only root can reach, such as those in `/root`, lead through descriptors
    that candidates inherit. Return their number.
    """
    library = config["library"]
    folders = {library, *(str(Path(file).parent) for file in config["package_files"])}
    ways = {folder: folder for folder in folders}
    kept = 0
    for folder in sorted(folders):
        if uid != os.getuid() and not _tried_as(uid, "", lambda at=folder: os.access(at, os.X_OK)):  # type: ignore[misc]
            number = _LAST_DESCRIPTOR - kept
            os.dup2(os.open(folder, os.O_PATH | os.O_DIRECTORY), number)
            ways[folder] = f"/proc/self/fd/{number}"
            kept += 1
    Path(home, "bin/python3").symlink_to(config["interpreter"])
    for file in config["interpreter_files"]:
        Path(home, "lib", Path(file).name).symlink_to(file)
    linked = Path(home, config["library_name"])
    linked.mkdir(parents=True)
    for part in Path(library).iterdir():
        if str(part) not in config["hidden"]:
            (linked / part.name).symlink_to(f"{ways[library]}/{part.name}")
    for file in map(Path, config["package_files"]):
        Path(packages, file.name).symlink_to(f"{ways[str(file.parent)]}/{file.name}")
    return kept


def _unprivileged_ids(private: str) -> tuple[int, int]:
    """Return the first user id for candidates and their number; (0, 1) if only root exists."""
    for uid, uids in ((_USERS, _SLOTS), (_NOBODY, 1)):
        if _tried_as(uid, private, lambda: True):
            return uid, uids
    return 0, 1


def _tried_as(uid: int, folder: str, attempt: Callable[[], bool]) -> bool:
    """Whether a process can give `folder`, if any, a subfolder of this user, and the attempt works.

    Tried in a process of its own, because a user cannot be changed back.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return status == 0
    try:
        if folder:
            place = f"{folder}/tried-{os.getpid()}"
            os.mkdir(place, 0o700)  # noqa: PTH102
            try:
                os.chown(place, uid, uid)
            finally:
                os.rmdir(place)  # noqa: PTH106
        kernel.drop_privileges(uid)
        worked = attempt() and (not folder or os.access(folder, os.X_OK))
        os._exit(0 if worked else 1)
    finally:
        os._exit(1)


def _without(path: str, hidden: Iterable[str]) -> Iterator[str]:
    """Return `path`, or if hidden folders are in it, the parts of it without them."""
    if path in hidden:
        return
    if not any(folder.startswith(f"{path}/") for folder in hidden):
        yield path
        return
    with os.scandir(path) as entries:
        # What a link leads to is granted where it is.
        inner = [entry.path for entry in entries if not entry.is_symlink()]
    for part in inner:
        yield from _without(part, hidden)


def _opened(path: str) -> int:
    """Open a file or folder only to name it in rules, so that its path need not be kept."""
    place = os.open(path, os.O_PATH)
    os.set_inheritable(place, True)
    return place


def _opened_size() -> int:
    """Open the file with this process's size, for use when /proc is no longer visible."""
    file = os.open("/proc/self/statm", os.O_RDONLY)
    os.set_inheritable(file, True)
    return file


# With namespaces.


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


def _in_restricted_root(config: dict[str, Any]) -> dict[str, Any]:
    """Build and enter a root with the interpreter, its libraries and a private folder only."""
    root = f"{config['state']}/root"
    library = f"/python/{config['library_name']}"
    Path(root).mkdir()
    kernel.detach_mounts()
    kernel.mount_memory(root, _ROOT_SIZE, 4096)
    for path in (*config["shared"], *_devices()):
        _show(root, path)
    _show(root, config["library"], library)
    _show(root, config["interpreter"], "/python/bin/python3")
    for file in config["interpreter_files"]:
        _show(root, file, f"/python/lib/{Path(file).name}")
    for file in _loaded() - set(config["interpreter_files"]):
        if not file.startswith(f"{config['library']}/"):
            _show(root, file)
    for path in config["hidden"]:
        for place in {path, path.replace(config["library"], library, 1)}:
            if Path(root + place).is_dir():
                kernel.mount_memory(root + place, 4096, 2)
    for path in config["package_files"]:
        _show(root, path, f"/packages/{Path(path).name}")
    _show(root, config["code"], "/code/sandboxed")
    for folder in ("private/run", "packages"):
        Path(root, folder).mkdir(parents=True, exist_ok=True)
    for link, target in (
        ("tmp", "/private/run/tmp"),
        ("dev/shm", "/private/run/tmp"),
        ("dev/stdin", "/private/run/stdin"),
    ):
        with contextlib.suppress(FileExistsError):
            Path(root, link).symlink_to(target)
    size = _opened_size()
    kernel.name_host("sandbox")
    kernel.enter_root(root)
    return {
        "home": "/python",
        "private": "/private",
        "package_folder": "/packages",
        "code": "/code/sandboxed",
        "readable": ["/python", *config["shared"], "/packages"],
        "devices": _devices(),
        "kept": 0,
        "first_rules": -1,
        "size": size,
    }


def _loaded() -> set[str]:
    """Return the shared libraries of this process, which some systems keep in unusual places."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    paths = {line.split(maxsplit=5)[5] for line in maps.splitlines() if "/" in line}
    return {path for path in paths if ".so" in path.rsplit("/", 1)[-1] and Path(path).is_file()}


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
