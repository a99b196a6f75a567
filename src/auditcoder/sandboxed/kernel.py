"""System calls that Python does not offer: namespaces, mounts, Landlock, capabilities, limits."""

import ctypes
import errno
import os
import platform
import resource
import stat
import struct
from collections.abc import Sequence

_libc = ctypes.CDLL(None, use_errno=True)

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CLOSE_RANGE, _MOUNT_SETATTR = 436, 442
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446

_MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND = 2, 4, 32, 4096
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID = 1, 2


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """Move this process (for pids, its children) into new namespaces."""
    _check(_libc.unshare(flags), "unshare")


def detach_mounts() -> None:
    """Make all mounts private, so that new ones are not visible outside."""
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "make mounts private")


def mount_memory(target: str, size: int, files: int, uid: int = 0) -> None:
    """Mount an empty in-memory file system of at most `size` bytes on `target`."""
    options = f"size={size},nr_inodes={files},uid={uid},gid={uid},mode=0755".encode()
    flags = _MS_NOSUID | _MS_NODEV
    _check(_libc.mount(b"tmpfs", target.encode(), b"tmpfs", flags, options), f"tmpfs on {target}")


def resize_memory(target: str, size: int, files: int) -> None:
    """Resize the in-memory file system on `target` to `size` bytes and `files` files."""
    size = min(size, _UNBOUNDED)
    flags = _MS_NOSUID | _MS_NODEV | _MS_REMOUNT
    done = _libc.mount(
        None, target.encode(), None, flags, f"size={size},nr_inodes={files}".encode()
    )
    _check(done, f"resize {target}")


def close_from(first: int, last: int = 0xFFFFFFFF) -> None:
    """Close all file descriptors from `first` on, up to `last`."""
    _check(_libc.syscall(_CLOSE_RANGE, first, last, 0), "close_range")


def bind(source: str, target: str) -> None:
    """Bind-mount `source` at `target`."""
    flags = _MS_BIND | _MS_REC
    done = _libc.mount(source.encode(), target.encode(), None, flags, None)
    _check(done, f"bind {source}")


def make_read_only(target: str) -> None:
    """Remount `target` and everything below it read-only and without set-user-id programs."""
    attributes = struct.pack("=QQQQ", _ATTR_RDONLY | _ATTR_NOSUID, 0, 0, 0)
    done = _libc.syscall(
        _MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE, attributes, len(attributes)
    )
    _check(done, f"make {target} read-only")


def unmount(target: str) -> None:
    """Detach the mount at `target`."""
    _check(_libc.umount2(target.encode(), _MNT_DETACH), f"unmount {target}")


def enter_root(root: str) -> None:
    """Make the mount `root` the root of the file system and detach the old one."""
    os.chdir(root)
    _check(_libc.syscall(_PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH), "leave the old root")
    os.chdir("/")


# Landlock: each version of its interface adds rights.
_READ = 1 << 2 | 1 << 3  # files and folders
_EXECUTE = 1 << 0
_LISTED = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # number of rights by version
_FILE_ONLY = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
_IOCTL_DEVICE = 1 << 15
_NET_ALL = 3  # bind and connect over TCP
_SCOPE_ALL = 3  # abstract sockets, signals


def landlock_version() -> int:
    """Return the kernel's Landlock version; 0 if there is none or it is too old."""
    version = int(_libc.syscall(_LANDLOCK_CREATE, None, 0, 1))
    return version if version >= 3 else 0  # older ones do not control truncation


def name_host(name: str) -> None:
    """Set the host name in this namespace."""
    _check(_libc.sethostname(name.encode(), len(name)), "sethostname")


def file_rules(readable: Sequence[str | int], writable: str, devices: list[str]) -> int:
    """Create the Landlock rules for the files a candidate may use; return their descriptor.

    Files and folders are named by their paths or by open descriptors.
    """
    version = landlock_version()
    handled = (1 << _LISTED[min(version, 5)]) - 1
    if version >= 6:
        rules = struct.pack("=QQQ", handled, _NET_ALL, _SCOPE_ALL)
    elif version >= 4:
        rules = struct.pack("=QQ", handled, _NET_ALL)
    else:
        rules = struct.pack("=Q", handled)
    rule_set = _check(_libc.syscall(_LANDLOCK_CREATE, rules, len(rules), 0), "landlock")
    granted: list[tuple[str | int, int]] = [(path, _READ | _EXECUTE) for path in readable]
    granted += [(writable, handled & ~_IOCTL_DEVICE & ~_EXECUTE)]
    granted += [(path, 1 << 1 | 1 << 2) for path in devices]
    for path, rights in granted:
        _grant(rule_set, path, rights & handled)
    return rule_set


def restrict_files(rule_set: int) -> None:
    """Restrict this process to the files that the rules allow. Needs no_new_privs."""
    _check(_libc.syscall(_LANDLOCK_RESTRICT, rule_set, 0), "landlock")


def _grant(rule_set: int, path: str | int, rights: int) -> None:
    try:
        place = path if isinstance(path, int) else os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        rights &= _FILE_ONLY
    rule = struct.pack("=Qi", rights, place)
    done = _libc.syscall(_LANDLOCK_ADD, rule_set, 1, rule, 0)
    if place != path:
        os.close(place)
    _check(done, f"landlock {path}")


_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP = 1, 4, 38, 24


def die_with_parent() -> None:
    """Have this process killed when its parent ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0), "prctl")


def set_no_new_privileges() -> None:
    """Set no_new_privs: running a program never adds rights. It cannot be undone."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def drop_privileges(uid: int) -> None:
    """Switch to the unprivileged `uid` and drop all capabilities."""
    if os.getuid() == 0:
        for capability in range(64):
            if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                break
    if uid != os.getuid():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    header = struct.pack("=II", 0x20080522, 0)
    done = _libc.syscall(_CAPSET[platform.machine()], header, bytes(24))
    if done < 0 and ctypes.get_errno() != errno.EPERM:
        _check(done, "capset")
    _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "not dumpable")


_UNBOUNDED = 1 << 50
_RESERVE = 32 << 20
"""Bytes that are reserved for reporting that memory ran out."""


def limit(memory: int, seconds: float, file_bytes: int, tasks: int) -> None:
    """Set the resource limits of this process; the supervisor enforces the wall-clock limit."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    room = _UNBOUNDED if hard == resource.RLIM_INFINITY else hard
    soft, most = min(memory, room), min(memory + _RESERVE, room)
    resource.setrlimit(resource.RLIMIT_AS, (soft, most))
    for what, most in (
        (resource.RLIMIT_CPU, int(seconds) * (os.cpu_count() or 1) + 2),  # of all threads
        (resource.RLIMIT_FSIZE, min(file_bytes, _UNBOUNDED)),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, tasks),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 128),
    ):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))


def address_space(size: int) -> int:
    """Return the bytes of address space in use, from the open `statm`, and close that."""
    pages = os.pread(size, 100, 0).split()[0]
    os.close(size)
    return int(pages) * resource.getpagesize()
