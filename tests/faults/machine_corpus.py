"""Hostile programs that look for the machine around them, or signal to other runs.

Each prints ESCAPED only if its attack succeeded. Some succeed where namespaces are forbidden; these
say why.
"""

from auditcoder.domain.execution import Ending
from tests.faults.hostile import hostile

_STAT = "Landlock and seccomp cannot hide names, sizes and times of files"

# Other runs.

hostile(
    "other runs, a lock on the library",
    """
import fcntl, os

one, other = (os.open(os.__file__, os.O_RDONLY) for _ in range(2))
fcntl.flock(one, fcntl.LOCK_EX)
try:
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    print("ESCAPED")  # the first lock had an effect
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "other runs, a record lock on the library",
    """
import fcntl, os, struct

file = os.open(os.__file__, os.O_RDONLY)
lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)
for command in (fcntl.F_SETLK, 37, fcntl.F_SETLKW, 38):
    fcntl.fcntl(file, command, lock)
# Seen from another description of the same file, as another process would see it.
seen = fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), 36, struct.pack("hhqqi4x", 1, 0, 0, 0, 0))
if struct.unpack("hhqqi4x", seen)[0] != fcntl.F_UNLCK:
    print("ESCAPED")
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "other runs, a lease or a hint on the library",
    """
import fcntl, os, struct

file = os.open(os.__file__, os.O_RDONLY)
for command, value in ((1024, fcntl.F_RDLCK), (1026, 1), (1036, struct.pack("Q", 3))):
    try:
        fcntl.fcntl(file, command, value)
        print("ESCAPED", command)
    except OSError as error:
        refused = error
raise refused
""",
)

hostile(
    "other runs, pages removed from the cache",
    """
import ctypes, mmap, os, platform

x86 = platform.machine() == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)
path = os.path.dirname(os.__file__) + "/turtle.py"
file = os.open(path, os.O_RDONLY)
os.read(file, 1 << 16)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
page = mmap.mmap(file, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
for advice in (20, 21):
    try:
        page.madvise(advice)
        print("ESCAPED", advice)
    except OSError:
        pass
held = ctypes.create_string_buffer(1)
writable = mmap.mmap(-1, 4096)
place = ctypes.addressof(ctypes.c_char.from_buffer(writable))
if libc.mincore(ctypes.c_void_p(place), 4096, held) >= 0:
    print("ESCAPED, mincore")
span, seen = (ctypes.c_uint64 * 2)(0, 4096), (ctypes.c_uint64 * 5)()
if libc.syscall(451, file, span, seen, 0) >= 0:
    print("ESCAPED, cachestat")
for flag in (os.RWF_NOWAIT, os.RWF_HIPRI, 0x80):
    try:
        os.preadv(file, [bytearray(1)], 0, flag)
        print("ESCAPED", flag)
    except BlockingIOError:
        print("ESCAPED", flag)
    except OSError as error:
        refused = error
raise refused
""",
)

hostile(
    "other runs, their folders",
    """
import os

above = os.path.dirname(os.path.dirname(os.getcwd()))
own = os.path.basename(os.path.dirname(os.getcwd()))
for place in (above, "../..", os.path.dirname(above)):
    try:
        others = set(os.listdir(place)) - {own, "run", "work", "tmp", "stdin"}
        if place != os.path.dirname(above) and others:
            print("ESCAPED", place, others)
    except OSError:
        pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)


# Sockets.

hostile(
    "socket, pairs of every family",
    """
import ctypes, platform

libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 53, "aarch64": 199}[platform.machine()]
pair = (ctypes.c_int * 2)()
for family in [*range(2, 64), 1 << 32 | 2]:
    for kind in (1, 2, 3, 4, 5, 10):
        if libc.syscall(number, ctypes.c_long(family), kind, 0, pair) >= 0:
            print("ESCAPED", family, kind)
raise OSError(ctypes.get_errno(), "socketpair")
""",
)


# Processes.

hostile(
    "other processes, asked about by their ids",
    """
import os, resource, time

own = os.getpid()
if os.getppid():
    print("ESCAPED, the parent", os.getppid())
questions = (
    os.getpgid, os.getsid, os.sched_getaffinity, os.sched_getscheduler, os.sched_getparam,
    lambda pid: os.getpriority(os.PRIO_PROCESS, pid),
    lambda pid: os.getpriority(os.PRIO_PGRP, pid),
    lambda pid: os.kill(pid, 0),
    lambda pid: resource.prlimit(pid, resource.RLIMIT_CPU),
    lambda pid: time.clock_gettime((~pid << 3) | 2),
    lambda pid: time.clock_getres((~pid << 3) | 2),
    lambda pid: os.pidfd_open(pid),
)
for pid in range(1, 33_000):
    for number, ask in enumerate(questions):
        if pid != own:
            try:
                ask(pid)
                print("ESCAPED", number, pid)
            except OSError:
                pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "other processes, found in /proc by name",
    """
import os

found = [pid for pid in range(1, 33_000) if pid != os.getpid() and os.path.exists(f"/proc/{pid}")]
print("ESCAPED" if found else "", found[:3])
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
    without_namespaces=_STAT,
)


# Files.

hostile(
    "files, names and sizes",
    """
import os

for path in ("/etc/passwd", "/etc/hostname", "/usr/bin/env", "/proc/1", "/home", "/var"):
    try:
        print("ESCAPED", path, os.stat(path).st_size)
    except OSError:
        pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
    without_namespaces=_STAT,
)

hostile(
    "files, extended attributes",
    """
import os

for path in (os.__file__, "/", "/etc/passwd", "/usr/bin/ping", "."):
    for ask in (os.listxattr, lambda path: os.getxattr(path, "security.capability")):
        try:
            print("ESCAPED", path, ask(path))
        except OSError as error:
            refused = error
raise refused
""",
)

hostile(
    "files, what links lead to",
    """
import json, os, sys

places = ["/bin", "/var/run", "/etc/mtab", "/etc/localtime", sys.executable, os.__file__]
places += [os.path.dirname(json.__file__), *(f"/proc/self/{name}" for name in ("exe", "cwd"))]
places += [f"/proc/self/fd/{number}" for number in range(256)]
for place in places:
    try:
        print("ESCAPED", place, os.readlink(place))
    except OSError as error:
        refused = error
raise refused
""",
)

hostile(
    "files, packages and what is beside them",
    """
import os, sys, sysconfig

places = [os.path.dirname(os.__file__), sysconfig.get_config_var("LIBDEST") or "/"]
places += ["/usr/lib/python3", f"/usr/local/lib/python3.{sys.version_info.minor}"]
places += [f"/proc/self/fd/{number}" for number in range(200, 256)]
for place in places:
    for name in ("site-packages", "dist-packages"):
        folder = f"{place}/{name}"
        try:
            if names := os.listdir(folder):
                print("ESCAPED", folder, names[:3])
        except OSError:
            pass
        for file in ("README.txt", *(f"{p}/__init__.py" for p in ("pip", "auditcoder", "msgspec"))):
            try:
                open(f"{folder}/{file}")
                print("ESCAPED", folder, file)
            except OSError:
                pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "files, through descriptors that name a folder",
    """
import os

for number in range(4, 256):
    for name in (".", "..", "../..", "site-packages", "../../bin/python3"):
        for flags in (os.O_RDONLY, os.O_RDONLY | os.O_DIRECTORY, os.O_WRONLY | os.O_TMPFILE):
            try:
                opened = os.open(name, flags, dir_fd=number)
            except OSError:
                continue
            print("ESCAPED", number, name)
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "files, changed through descriptors that name a folder",
    """
import os

for number in range(4, 256):
    for change in (
        lambda: os.mkdir("made", dir_fd=number),
        lambda: os.unlink("os.py", dir_fd=number),
        lambda: os.rename("os.py", "so.py", src_dir_fd=number, dst_dir_fd=number),
        lambda: os.symlink("/", "made", dir_fd=number),
        lambda: os.link("os.py", "made", src_dir_fd=number),
    ):
        try:
            change()
            print("ESCAPED", number)
        except OSError:
            pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)


# Paths.

hostile(
    "paths, of the interpreter and its modules",
    """
import os, sys, sysconfig, traceback

root = os.getcwd().partition("/private/")[0]
ours = tuple(f"{root}/{name}" for name in ("python", "packages", "code", "private"))
shown = [sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix, *sys.path, *sys.orig_argv]
shown += [str(getattr(module, "__file__", "")) for module in list(sys.modules.values())]
shown += [sysconfig.get_config_var("prefix"), *sysconfig.get_paths().values()]
frame = sys._getframe()
while frame:
    shown += [frame.f_code.co_filename]
    frame = frame.f_back
for path in shown:
    if path.startswith("/") and not path.startswith(ours):
        print("ESCAPED", path)
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "paths, of a folder that was entered",
    """
import json, os

entered = os.path.dirname(json.__file__)
os.chdir(entered)
if os.getcwd() != entered:
    print("ESCAPED", os.getcwd())
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
    without_namespaces="the kernel tells a process the path of its working folder",
)

hostile(
    "paths, links in visible folders",
    """
import os, sys

found = []
for top in ("/python", "/packages", "/lib", "/lib64", "/usr/lib", sys.prefix):
    for folder, names, files in os.walk(top):
        for name in names + files:
            path = f"{folder}/{name}"
            try:
                to = os.readlink(path)
            except OSError:
                continue
            if to.startswith(("/root", "/home", "/work", "/opt", "/etc/alt", "/var")):
                found.append((path, to))
print("ESCAPED" if found else "", found[:5])
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "descriptors, credentials of the peer of the standard streams",
    """
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
for fd in (0, 1, 2, 3):
    b, n = (ctypes.create_string_buffer(64), ctypes.c_int(64))
    if libc.getsockopt(fd, 1, 17, b, ctypes.byref(n)) == 0:
        print("ESCAPED", fd, b.raw)
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "descriptors, standard input written or enlarged",
    """
import os

for flags in (os.O_RDWR, os.O_WRONLY):
    for act in (
        lambda: os.write(0, b"x"),
        lambda: os.ftruncate(0, 1 << 20),
        lambda: os.open("/proc/self/fd/1", os.O_RDONLY),
        lambda: os.open("/proc/self/fd/3", os.O_RDONLY),
    ):
        try:
            act()
            print("ESCAPED")
        except OSError:
            pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "descriptors, credentials forged over a socket pair",
    """
import os, socket, struct

one, two = socket.socketpair()
for who in ((1, 0, 0), (os.getpid(), 0, 0), (2, os.getuid(), os.getgid())):
    if who[0] == os.getpid() and os.getuid() == 0:
        continue
    try:
        one.sendmsg([b"x"], [(socket.SOL_SOCKET, 2, struct.pack("iII", *who))])
        if who[0] != os.getpid() or who[1] != os.getuid():
            print("ESCAPED", who)
    except OSError:
        pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "ipc, abstract names by autobind and connect",
    """
import socket, ctypes

libc = ctypes.CDLL(None, use_errno=True)
one, two = socket.socketpair()
for call in (
    lambda: libc.bind(one.fileno(), b"\\x01\\x00", 2),
    lambda: libc.connect(one.fileno(), b"\\x01\\x00\\x00a", 4),
    lambda: libc.listen(one.fileno(), 1),
    lambda: libc.setsockopt(one.fileno(), 1, 16, b"\\x01\\x00\\x00\\x00", 4),
):
    if call() == 0:
        print("ESCAPED")
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "files, O_PATH descriptors of others read by other calls",
    """
import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)
for path in ("/etc/passwd", "/proc/self/maps", "/root"):
    try:
        fd = os.open(path, os.O_PATH)
    except OSError:
        continue
    for act in (
        lambda: os.read(fd, 1),
        lambda: os.pread(fd, 1, 0),
        lambda: os.listdir(fd),
        lambda: os.open("", os.O_RDONLY, dir_fd=fd),
        lambda: os.sendfile(1, fd, 0, 10),
        lambda: os.open(f"/dev/fd/{fd}", os.O_RDONLY),
        lambda: os.open(f"/proc/self/fd/{fd}", os.O_RDONLY),
        lambda: os.fchdir(fd) or os.listdir("."),
    ):
        try:
            act()
            print("ESCAPED", path)
        except OSError:
            pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "files, /dev with other names",
    """
import os

for name in (
    "tty",
    "console",
    "ptmx",
    "pts/0",
    "fuse",
    "kvm",
    "net/tun",
    "vhost-net",
    "vsock",
    "mem",
    "port",
    "sda",
    "vda",
    "loop-control",
    "mqueue/x",
    "hugepages/x",
    "fd/3",
):
    try:
        fd = os.open(f"/dev/{name}", os.O_RDWR)
        print("ESCAPED", name)
    except OSError:
        pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "files, entropy added to the machine's generator",
    """
import fcntl

for path in ("/dev/random", "/dev/urandom"):
    f = open(path, "r+b", buffering=0)
    for request in (20993, 1074287107, 20996, 20998, 20999, 2147766784):
        try:
            fcntl.ioctl(f, request, bytes(64))
            print("ESCAPED", hex(request))
        except OSError as error:
            refused = error
raise refused
""",
    Ending.EXCEPTION,
)

hostile(
    "files, named like the worker's own",
    """
import os

for place in ("..", "../..", "../../.."):
    for name in ("log", "settings", "job", "python", "code", "packages", "private", "root"):
        for act in (
            lambda: os.rename(f"{place}/{name}", f"{place}/x{name}"),
            lambda: os.mkdir(f"{place}/{name}x"),
            lambda: os.unlink(f"{place}/{name}"),
        ):
            try:
                act()
                if place != "..":
                    print("ESCAPED", place, name)
            except OSError:
                pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)
