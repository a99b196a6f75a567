"""Hostile programs. Each prints ESCAPED only if its attack succeeded.

With fewer isolation layers than Landlock and seccomp some would do harm (kill all processes, set
the clock, write to /etc): never run them in a sandbox that has no other.
"""

from auditcoder.domain.execution import CallFunction, Ending, RunFiles, RunTests
from tests.faults.hostile import CORPUS, hostile

ASSERTING = RunTests(
    code="""
assert answer() == 42
print("ESCAPED")
"""
)
"""A wrong answer must not pass the assertion."""

CASES = RunTests(
    code="""
import unittest

class Judge(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(answer(), 42)
        print("ESCAPED")

    def test_true(self):
        self.assertTrue(answer() == 42)
        print("ESCAPED")
"""
)

ANSWER = CallFunction(calls=("answer()",))


# Starting processes.

hostile(
    "fork bomb",
    """
import os

for _ in range(1000):
    if os.fork() == 0:
        print("ESCAPED", flush=True)
        os._exit(0)
""",
)

hostile(
    "fork that is refused and tried again",
    """
import os

for _ in range(10_000):
    try:
        if os.fork() == 0:
            os._exit(0)
        print("ESCAPED")
        break
    except OSError:
        pass
else:
    raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "fork through libc",
    """
import ctypes

child = ctypes.CDLL(None, use_errno=True).fork()
if child < 0:
    raise OSError(ctypes.get_errno(), "fork")
print("ESCAPED", flush=True)
""",
)

hostile(
    "vfork, raw",
    """
import ctypes, platform

libc = ctypes.CDLL(None, use_errno=True)
if platform.machine() == "x86_64":
    child = libc.syscall(58)
else:
    child = libc.syscall(220, 0x4111, 0, 0, 0, 0)
if child < 0:
    raise OSError(ctypes.get_errno(), "vfork")
libc.write(1, b"ESCAPED", 7)
libc._exit(0)
""",
)

hostile(
    "clone, raw",
    """
import ctypes, platform

libc = ctypes.CDLL(None, use_errno=True)
clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
child = libc.syscall(clone, 17, 0, 0, 0, 0)
if child < 0:
    raise OSError(ctypes.get_errno(), "clone")
print("ESCAPED", flush=True)
""",
)

hostile(
    "clone into a new user namespace, raw",
    """
import ctypes, platform

libc = ctypes.CDLL(None, use_errno=True)
clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
for flags in (0x10000000, 0x10000000 | 0x10000, 0x10000000 | 0x10000 | 0x900, 0x20010900):
    if libc.syscall(clone, flags | 17, 0, 0, 0, 0) >= 0:
        print("ESCAPED", flush=True)
raise OSError(ctypes.get_errno(), "clone")
""",
)

hostile(
    "clone3, raw",
    """
import ctypes, struct

libc = ctypes.CDLL(None, use_errno=True)
arguments = struct.pack("11Q", 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
child = libc.syscall(435, arguments, len(arguments))
if child < 0:
    raise OSError(ctypes.get_errno(), "clone3")
print("ESCAPED", flush=True)
""",
)

hostile(
    "subprocess",
    """
import subprocess

print("ESCAPED", subprocess.run(["/bin/sh", "-c", "id"], capture_output=True))
""",
)

hostile(
    "shell command",
    """
import os

if os.system("true") == 0:
    print("ESCAPED")
else:
    raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "multiprocessing",
    """
import multiprocessing

process = multiprocessing.get_context("fork").Process(target=print, args=("ESCAPED",))
process.start()
process.join()
print("ESCAPED")
""",
)

hostile(
    "process pool",
    """
from concurrent.futures import ProcessPoolExecutor

with ProcessPoolExecutor(2) as pool:
    print("ESCAPED", list(pool.map(abs, [1, 2])))
""",
)

hostile(
    "spawned program",
    """
import os, sys

os.posix_spawn(sys.executable, [sys.executable, "-c", "print('ESCAPED')"], {})
print("ESCAPED")
""",
)

hostile(
    "exec of another program",
    """
import os, sys

os.execv(sys.executable, [sys.executable, "-c", "print('ESCAPED')"])
""",
)

hostile(
    "daemon by double fork",
    """
import os, time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1)
        os.write(1, b"ESCAPED")
    os._exit(0)
""",
)

hostile(
    "thread bomb",
    """
import threading, time

def idle():
    time.sleep(3600)

started = 0
for _ in range(5000):
    threading.Thread(target=idle, daemon=True).start()
    started += 1
    if started > 200:
        print("ESCAPED")
        break
""",
)

hostile(
    "threads that start threads",
    """
import threading

def breed():
    while True:
        try:
            threading.Thread(target=breed).start()
        except RuntimeError:
            pass

breed()
""",
    Ending.TIMEOUT,
    Ending.MEMORY,
)


# Memory.

hostile("memory, one list", "x = [0] * (1 << 33)\nprint('ESCAPED')\n", Ending.MEMORY)

hostile(
    "memory, one bytearray",
    """
held = bytearray(1 << 30)
print("ESCAPED")
""",
    Ending.MEMORY,
)

hostile(
    "memory, a list that grows",
    """
held = []
while True:
    held.append(bytearray(1 << 20))
    if len(held) > 1000:
        print("ESCAPED")
        break
""",
    Ending.MEMORY,
)

hostile(
    "memory, many small objects",
    """
held = []
for number in range(20_000_000):
    held.append([number])
print("ESCAPED")
""",
    Ending.MEMORY,
)

hostile(
    "memory, a string doubled",
    """
text = "x"
for _ in range(40):
    text += text
print("ESCAPED")
""",
    Ending.MEMORY,
)

hostile(
    "memory, a huge integer",
    """
number = 1 << (1 << 34)
print("ESCAPED")
""",
    Ending.MEMORY,
)

hostile(
    "memory, mapped privately",
    """
import mmap

held = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
held.write(b"x" * (1 << 26))
print("ESCAPED")
""",
    Ending.EXCEPTION,
    Ending.MEMORY,
)

hostile(
    "memory, mapped shared, in pieces",
    """
import mmap

held = []
for _ in range(64):
    held.append(mmap.mmap(-1, 32 << 20))
    held[-1].write(b"x" * (32 << 20))
print("ESCAPED")
""",
    Ending.EXCEPTION,
    Ending.MEMORY,
)

hostile(
    "memory, one file mapped many times",
    """
import mmap, os

file = os.open("big", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 60 << 20)
held = []
for _ in range(100):
    held.append(mmap.mmap(file, 60 << 20))
    held[-1].write(b"x" * (60 << 20))
print("ESCAPED")
""",
    Ending.EXCEPTION,
    Ending.MEMORY,
)

hostile(
    "memory, MemoryError caught repeatedly",
    """
held = []
while True:
    try:
        held.append(bytearray(8 << 20))
    except MemoryError:
        pass
    if len(held) > 200:
        print("ESCAPED")
        break
""",
    Ending.TIMEOUT,
)

hostile(
    "memory, in the buffers of sockets",
    """
import socket

held, filled = [], 0
for _ in range(100):
    held += socket.socketpair()
    for end in held[-2:]:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
        end.setblocking(False)
        try:
            while filled < 512 << 20:
                filled += end.send(bytes(1 << 18))
        except BlockingIOError:
            pass
if filled >= 512 << 20:
    print("ESCAPED")
raise OSError("full")
""",
)

hostile(
    "memory, in pipes, with descriptors for every thread",
    """
import ctypes, fcntl, os, threading

libc = ctypes.CDLL(None, use_errno=True)
filled = []

def fill():
    if libc.syscall(436, 1000, 1001, 2):  # close_range, and a table of descriptors of its own
        return
    for _ in range(100):
        one, other = os.pipe()
        os.set_blocking(other, False)
        try:
            fcntl.fcntl(other, 1031, 1 << 20)
        except OSError:
            pass
        try:
            while sum(filled) < 300 << 20:
                filled.append(os.write(other, bytes(1 << 16)))
        except BlockingIOError:
            pass

threading.stack_size(1 << 18)
threads = [threading.Thread(target=fill) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if sum(filled) >= 300 << 20:
    print("ESCAPED")
raise OSError(ctypes.get_errno(), "full")
""",
)

hostile(
    "descriptors, a table for every thread",
    """
import ctypes, os, threading

libc = ctypes.CDLL(None, use_errno=True)
count = [0]

def take():
    if libc.syscall(436, 1000, 1001, 2) < 0:
        return
    try:
        while True:
            os.dup(0)
            count[0] += 1
    except OSError:
        pass

threading.stack_size(1 << 18)
for _ in range(4):
    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
if count[0] > 256:
    print("ESCAPED", count)
raise OSError("no more")
""",
)

hostile(
    "own limits raised",
    """
import resource

for what in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):
    resource.setrlimit(what, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("ESCAPED")
""",
)

hostile(
    "limits of process 1 raised",
    """
import resource

resource.prlimit(1, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print("ESCAPED")
""",
)


# Time.

hostile("endless loop", "while True:\n    pass\n", Ending.TIMEOUT)

hostile("endless sleep", "import time\ntime.sleep(3600)\nprint('ESCAPED')\n", Ending.TIMEOUT)

hostile(
    "endless loop inside one instruction",
    """
print("ESCAPED" if sum(range(10**15)) else "")
""",
    Ending.TIMEOUT,
)

hostile(
    "endless backtracking",
    """
import re

re.match(r"(a+)+$", "a" * 64 + "b")
print("ESCAPED")
""",
    Ending.TIMEOUT,
)

hostile(
    "every signal ignored",
    """
import signal

for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
""",
    Ending.TIMEOUT,
)

hostile(
    "every signal blocked",
    """
import signal, time

signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
time.sleep(3600)
print("ESCAPED")
""",
    Ending.TIMEOUT,
)

hostile(
    "clean exit from the handler of the time limit's signal",
    """
import os, signal, sys

def leave(*_):
    os._exit(0)

for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM, signal.SIGXCPU):
    signal.signal(number, leave)
while True:
    pass
""",
    Ending.TIMEOUT,
)

hostile(
    "every exception is caught",
    """
while True:
    try:
        while True:
            pass
    except BaseException:
        continue
""",
    Ending.TIMEOUT,
)

hostile(
    "main thread ends, another continues",
    """
import ctypes, platform, threading

def go_on():
    while True:
        pass

threading.Thread(target=go_on, daemon=True).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
""",
    Ending.TIMEOUT,
)

hostile(
    "thread that never ends",
    """
import threading, time

def never():
    while True:
        time.sleep(0.1)

threading.Thread(target=never).start()
""",
    Ending.TIMEOUT,
)

hostile(
    "endless work at exit",
    """
import atexit

def again():
    while True:
        pass

atexit.register(again)
""",
    Ending.TIMEOUT,
)

hostile(
    "exit handlers that register exit handlers",
    """
import atexit

def again():
    atexit.register(again)
    again()

atexit.register(again)
raise SystemExit(0)
""",
    Ending.EXCEPTION,
    Ending.OK,
)

hostile(
    "stopping oneself",
    """
import os, signal, time

os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(3600)
""",
    Ending.TIMEOUT,
)

hostile(
    "profiler and tracer that never return",
    """
import sys

def forever(*_):
    while True:
        pass

sys.setprofile(forever)
sys.settrace(forever)
print("ESCAPED")
""",
    Ending.TIMEOUT,
)


# Output.

hostile("flood on stdout", "while True:\n    print('x' * 10_000)\n", Ending.OUTPUT_LIMIT)

hostile(
    "flood on stderr",
    """
import sys

while True:
    sys.stderr.write("x" * 10_000)
""",
    Ending.OUTPUT_LIMIT,
)

hostile(
    "flood on both, from threads",
    """
import os, threading

def flood(where):
    while True:
        os.write(where, b"x" * 65536)

for where in (1, 2):
    threading.Thread(target=flood, args=(where,)).start()
""",
    Ending.OUTPUT_LIMIT,
)

hostile(
    "flood on the report",
    """
import os

while True:
    os.write(3, b"x" * 65536)
""",
    Ending.OUTPUT_LIMIT,
)

hostile(
    "flood that continues after the end",
    """
import atexit, os

def flood():
    while True:
        os.write(1, b"x" * 65536)

atexit.register(flood)
""",
    Ending.OUTPUT_LIMIT,
)

hostile(
    "flood of invalid UTF-8, then a clean exit",
    """
import os

for _ in range(1000):
    os.write(1, bytes([0xFF, 0xFE, 0x00, 0x80]) * 4096)
os._exit(0)
""",
    Ending.OUTPUT_LIMIT,
)


# File descriptors.

hostile(
    "descriptors, all of them",
    """
import os

held = []
for _ in range(5000):
    held.append(os.open("/dev/null", os.O_RDONLY))
print("ESCAPED")
""",
)

hostile(
    "descriptors that were inherited",
    """
import fcntl, os, stat

found = []
for number in range(4, 4096):
    try:
        mode = fcntl.fcntl(number, fcntl.F_GETFL)
    except OSError:
        continue
    # Without namespaces, some may name a folder of the library, which gives no access to it.
    if number < 240 or not mode & os.O_PATH or not stat.S_ISDIR(os.fstat(number).st_mode):
        found.append(number)
print("ESCAPED" if found else "", found)
if not found:
    raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "descriptors for writing are read",
    """
import os

for number in (1, 2, 3):
    try:
        print("ESCAPED", os.read(number, 100))
    except OSError:
        pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "descriptors sent to the same process, in a cycle",
    """
import array, socket

left, right = socket.socketpair()
for _ in range(3):
    one, other = socket.socketpair()
    for end, carried in ((one, other), (other, one)):
        rights = array.array("i", [carried.fileno(), 1, 2, 3])
        end.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)


# Disk space.

hostile(
    "disk, filled with one file",
    """
with open("big", "wb") as file:
    for _ in range(1000):
        file.write(bytes(1 << 20))
print("ESCAPED")
""",
)

hostile(
    "disk, filled with many files",
    """
for number in range(1000):
    with open(f"big{number}", "wb") as file:
        file.write(bytes(1 << 20))
print("ESCAPED")
""",
    without_namespaces="the total size of files on disk is not limited",
)

hostile(
    "disk, filled in the folder for temporary files",
    """
import tempfile

held = []
for _ in range(100):
    held.append(tempfile.TemporaryFile())
    held[-1].write(bytes(4 << 20))
print("ESCAPED")
""",
    without_namespaces="the total size of files on disk is not limited",
)

hostile(
    "disk, filled with names",
    """
for number in range(20_000):
    open(f"empty{number}", "w").close()
print("ESCAPED")
""",
    without_namespaces="the total size of files on disk is not limited",
)

hostile(
    "disk, filled with folders in folders",
    """
import os

for _ in range(6_000):
    os.mkdir("deep")
    os.chdir("deep")
print("ESCAPED")
""",
    without_namespaces="the total size of files on disk is not limited",
)

hostile(
    "disk, a huge sparse file",
    """
with open("sparse", "wb") as file:
    file.truncate(1 << 40)
print("ESCAPED")
""",
)

hostile(
    "disk, space preallocated",
    """
import os

with open("claimed", "wb") as file:
    os.posix_fallocate(file.fileno(), 0, 1 << 30)
print("ESCAPED")
""",
)


# Recursion and nesting.

hostile("recursion without end", "def f(n):\n    return f(n + 1)\n\nf(0)\n")

hostile(
    "recursion without end or limit",
    """
import sys

sys.setrecursionlimit(10**9)

def f(n):
    return f(n + 1)

f(0)
""",
    Ending.MEMORY,
    Ending.TIMEOUT,
)

hostile(
    "recursion in C",
    """
import sys

sys.setrecursionlimit(10**9)

class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x")

    def __repr__(self):
        return repr(self)

repr(Deep())
""",
    Ending.KILLED,
    Ending.MEMORY,
)

hostile(
    "recursion in the repr of nested lists",
    """
nest = []
for _ in range(500_000):
    nest = [nest]
repr(nest)
""",
)

hostile(
    "recursion in pickle",
    """
import pickle

nest = []
for _ in range(500_000):
    nest = [nest]
pickle.dumps(nest)
""",
)

hostile(
    "recursion in json",
    """
import json

json.loads("[" * 1_000_000)
""",
)

hostile(
    "recursion in the compiler",
    """
compile("-" * 1_000_000 + "1", "deep", "exec")
""",
    Ending.MEMORY,
    Ending.EXCEPTION,
    Ending.KILLED,
)

hostile(
    "recursion in the parser of the program",
    "x = " + "(" * 5000 + "1" + ")" * 5000 + "\nprint('ESCAPED')\n",
)

hostile(
    "recursion in the destructor of a long chain",
    """
class Link:
    pass

last = None
for _ in range(300_000):
    link = Link()
    link.next = last
    last = link
del last, link
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
    Ending.KILLED,
)

hostile(
    "null pointer",
    """
import ctypes

print("ESCAPED", ctypes.string_at(0))
""",
    Ending.KILLED,
)


# Other processes.

hostile(
    "killing the parent",
    """
import os, signal

os.kill(os.getppid(), signal.SIGKILL)
print("ESCAPED")
""",
)

hostile(
    "killing everybody",
    """
import os, signal

os.kill(-1, signal.SIGKILL)
print("ESCAPED")
""",
)

hostile(
    "killing the process group",
    """
import os, signal

os.killpg(0, signal.SIGKILL)
print("ESCAPED")
""",
)

hostile(
    "killing every process id",
    """
import os, signal

for process in range(2, 40_000):
    for how in (os.kill, os.killpg):
        try:
            how(process, signal.SIGTERM)
            print("ESCAPED", process)
        except OSError:
            pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
    Ending.KILLED,  # by itself, where its own id is not 1
)

hostile(
    "killing through a descriptor",
    """
import os, signal

handle = os.pidfd_open(os.getpid())
signal.pidfd_send_signal(handle, signal.SIGKILL)
print("ESCAPED")
""",
)

hostile(
    "descriptors stolen from the supervisor",
    """
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
for process in (0, 1, 2, 3):
    handle = libc.syscall(434, process, 0)
    for number in range(16):
        if libc.syscall(438, max(handle, 5), number, 0) >= 0:
            print("ESCAPED")
raise OSError(ctypes.get_errno(), "pidfd_getfd")
""",
)

hostile(
    "signals by F_SETOWN of a file",
    """
import fcntl, os, signal

one, other = os.pipe()
for command, value in ((fcntl.F_SETOWN, os.getppid()), (10, signal.SIGKILL), (15, bytes(8))):
    try:
        fcntl.fcntl(one, command, value)
        print("ESCAPED")
    except OSError:
        pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "tracing",
    """
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
for request in (0, 16, 0x4206):
    for process in (0, 1, 2):
        if libc.ptrace(request, process, 0, 0) == 0:
            print("ESCAPED")
raise OSError(ctypes.get_errno(), "ptrace")
""",
)

hostile(
    "reading the memory of another process",
    """
import ctypes, struct

libc = ctypes.CDLL(None, use_errno=True)
space = ctypes.create_string_buffer(64)
piece = struct.pack("QQ", ctypes.addressof(space), 64)
for process in range(0, 10):
    if libc.process_vm_readv(process, piece, 1, piece, 1, 0) > 0:
        print("ESCAPED")
raise OSError(ctypes.get_errno(), "process_vm_readv")
""",
)

hostile(
    "higher priority than other processes",
    """
import os

os.setpriority(os.PRIO_USER, 0, -20)
print("ESCAPED")
""",
)

hostile(
    "real-time scheduling",
    """
import os

os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
print("ESCAPED")
""",
)


# Secrets.

for _path in (
    "/etc/passwd",
    "/etc/shadow",
    "/root/.ssh/id_rsa",
    "/home",
    "/proc/self/environ",
    "/proc/1/environ",
    "/proc/self/mem",
    "/proc/1/root/etc/passwd",
    "/proc/self/fd/3",
    "/sys/kernel",
    "/dev/mem",
    "/dev/kmsg",
    "/var/run/docker.sock",
):
    hostile(
        f"secret, {_path}",
        f"""
import os

path = {_path!r}
print("ESCAPED", os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(100))
""",
    )

hostile(
    "secret, the environment",
    """
import ctypes, os

environment = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
if os.environ or (environment and environment[0]):
    print("ESCAPED", dict(os.environ))
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "secret, the folders of other runs",
    """
import os

own = {"run", "work", "tmp", "stdin"}
for place in ("/private", "/private/run", "..", "../..", "/tmp", "/tmp/.."):
    for name in os.listdir(place):
        if name not in own:
            print("ESCAPED", place, name)
os.listdir("../../..")
""",
)

hostile(
    "secret, by parent descriptors",
    """
import os

climber = os.open(".", os.O_PATH)
for _ in range(20):
    climber = os.open("..", os.O_PATH, dir_fd=climber)
print("ESCAPED", os.read(os.open("etc/passwd", os.O_RDONLY, dir_fd=climber), 100))
""",
)

hostile(
    "secret, a link to it",
    """
import os

os.symlink("/etc/passwd", "innocent")
print("ESCAPED", open("innocent").read())
""",
)

hostile(
    "secret, a hard link to it",
    """
import os

os.link("/etc/ld.so.cache", "innocent")
print("ESCAPED")
""",
)

hostile(
    "secret, by handle",
    """
import ctypes, platform, struct

libc = ctypes.CDLL(None, use_errno=True)
handle = struct.pack("II8s", 8, 1, struct.pack("Q", 2))
if libc.open_by_handle_at(3, handle, 0) >= 0:
    print("ESCAPED")
raise OSError(ctypes.get_errno(), "open_by_handle_at")
""",
)

hostile(
    "secret, openat2",
    """
import ctypes, struct

libc = ctypes.CDLL(None, use_errno=True)
how = struct.pack("QQQ", 0, 0, 0)
if libc.syscall(437, -100, b"/etc/passwd", how, len(how)) >= 0:
    print("ESCAPED")
raise OSError(ctypes.get_errno(), "openat2")
""",
)

hostile(
    "secret, other packages of this machine",
    """
import msgspec

print("ESCAPED", msgspec)
""",
)

hostile(
    "secret, the sandbox's own project",
    """
import sys

for path in sys.path + [argument for argument in sys.orig_argv if argument.startswith("/")]:
    for file in ("", "/auditcoder/__init__.py", "/local.py", "/../../__init__.py"):
        try:
            open(path + file)
            if file:
                print("ESCAPED", path, file)
        except OSError:
            pass
import auditcoder
print("ESCAPED")
""",
)


# Writing outside the working folder.

for _path in (
    "/owned",
    "/usr/owned",
    "/private/owned",
    "/packages/owned.py",
    "/dev/owned",
    "/etc/ld.so.preload",
    "/var/tmp/owned",
    "/proc/sys/kernel/core_pattern",
):
    hostile(
        f"write to {_path}",
        f"""
with open({_path!r}, "w") as file:
    file.write("owned")
print("ESCAPED")
""",
    )

hostile(
    "write to the standard library",
    """
import os

folder = os.path.dirname(os.__file__)
for name in ("sitecustomize.py", "random.py", "__pycache__/random.cpython-311.pyc"):
    try:
        with open(f"{folder}/{name}", "ab"):
            print("ESCAPED", name)
    except OSError as error:
        refused = error
raise refused
""",
)

hostile(
    "changing modes and names in the standard library",
    """
import os

file = os.__file__
for change in (
    lambda: os.chmod(file, 0o777),
    lambda: os.chown(file, os.getuid(), os.getgid()),
    lambda: os.utime(file, (0, 0)),
    lambda: os.rename(file, file + "x"),
    lambda: os.unlink(file),
    lambda: os.truncate(file, 0),
    lambda: os.symlink("/etc/passwd", file + "x"),
    lambda: os.link(file, file + "x"),
    lambda: os.fchmod(os.open(file, os.O_RDONLY), 0o777),
):
    try:
        change()
        print("ESCAPED")
    except OSError as error:
        refused = error
raise refused
""",
)

hostile(
    "write through a read-only mapping",
    """
import mmap, os

file = os.open(os.__file__, os.O_RDONLY)
held = mmap.mmap(file, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
held[0] = 65
print("ESCAPED")
""",
)

hostile(
    "new device file",
    """
import os, stat

os.mknod("disk", 0o666 | stat.S_IFBLK, os.makedev(8, 0))
print("ESCAPED")
""",
)

hostile(
    "set-user-id program",
    """
import os

with open("shell", "wb") as file:
    file.write(b"#!/bin/sh")
os.chmod("shell", 0o6755)
os.execv("./shell", ["shell"])
""",
)

hostile(
    "program in memory only",
    """
import os

file = os.memfd_create("program")
os.write(file, b"#!/bin/sh")
os.execve(file, ["program"], {})
""",
)


# The isolation layers themselves.

for _name, _call in {
    "chroot": 'libc.chroot(b".")',
    "pivot_root": 'libc.syscall(number(155, 41), b".", b".")',
    "mount": 'libc.mount(b"proc", b".", b"proc", 0, None)',
    "bind mount": 'libc.mount(b"/", b".", None, 4096, None)',
    "remount for writing": 'libc.mount(None, b"/", None, 32 | 4096, None)',
    "unmount": 'libc.umount2(b"/private/run", 2)',
    "new mount interface, open_tree": 'libc.syscall(428, -100, b"/", 1)',
    "new mount interface, fsopen": 'libc.syscall(430, b"proc", 0)',
    "new mount interface, mount_setattr": 'libc.syscall(442, -100, b"/", 0, bytes(32), 32)',
    "unshare users": "libc.unshare(0x10000000)",
    "unshare mounts": "libc.unshare(0x00020000)",
    "unshare descriptors": "libc.unshare(0x400)",
    "setns": "libc.setns(3, 0)",
    "seccomp once more": "libc.prctl(22, 1, 0, 0, 0)",
    "dumpable again": "libc.prctl(4, 1, 0, 0, 0)",
    "child subreaper": "libc.prctl(36, 1, 0, 0, 0)",
    "ambient capabilities": "libc.prctl(47, 2, 21, 0, 0)",
    "traced by anybody": "libc.prctl(0x59616D61, -1, 0, 0, 0)",
    "capset": 'libc.capset(b"\\x22\\x05\\x08\\x20" + bytes(4), b"\\xff" * 24)',
    "setuid": "libc.setuid(0)",
    "setresgid": "libc.setresgid(0, 0, 0)",
    "setgroups": "libc.setgroups(0, None)",
    "keyctl": "libc.syscall(number(250, 219), 0, -3, 1, 0, 0)",
    "bpf": "libc.syscall(number(321, 280), 0, bytes(128), 128)",
    "perf_event_open": ("libc.syscall(number(298, 241), bytes(128), 0, -1, -1, 0)"),
    "userfaultfd": "libc.syscall(number(323, 282), 1)",
    "io_uring": "libc.syscall(425, 8, ctypes.create_string_buffer(120))",
    "personality": "libc.personality(0x0040000)",
    "kexec": "libc.syscall(number(246, 104), 0, 0, 0, 0)",
    "module": "libc.syscall(number(175, 105), None, 0, b'')",
    "reboot": "libc.reboot(0)",
    "host name": "libc.sethostname(b'owned', 5)",
    "swap": "libc.swapon(b'swap', 0)",
    "clock": "libc.clock_settime(0, bytes(16))",
    "accounting": "libc.acct(b'acct')",
    "kernel log": "libc.klogctl(3, ctypes.create_string_buffer(100), 100)",
    "input and output ports": ("libc.syscall(number(172, 105), 3, 0, 0)"),
    "fanotify": "libc.fanotify_init(0, 0)",
    "inotify": "libc.inotify_init()",
    "quota": "libc.quotactl(0x80000700, b'/dev/vda', 0, None)",
    "memory locked": "libc.mlockall(3)",
    "memory policy": "libc.syscall(450, 0, 0, 0, 0)",
    "secret memory": "libc.syscall(447, 0)",
    "landlock of one's own": "libc.syscall(444, None, 0, 1)",
    "modes without following": 'libc.syscall(452, -100, b".", 0o777, 0)',
    "attributes of a path": 'libc.syscall(463, -100, b".", 0, b"user.a", bytes(16), 16)',
    "file attributes, changed": 'libc.syscall(469, -100, b".", bytes(24), 24, 0)',
    "file attributes, read": (
        'libc.syscall(468, -100, b".", ctypes.create_string_buffer(24), 24, 0)'
    ),
    "new mount interface, open_tree_attr": 'libc.syscall(467, -100, b"/", 1, 0, 0)',
    "new mount interface, statmount": (
        "libc.syscall(457, bytes(24), ctypes.create_string_buffer(512), 512, 0)"
    ),
    "new mount interface, listmount": (
        "libc.syscall(458, bytes(24), ctypes.create_string_buffer(512), 64, 0)"
    ),
    "list of namespaces": ("libc.syscall(470, bytes(24), ctypes.create_string_buffer(512), 64, 0)"),
    "security module": (
        "libc.syscall(459, 100, ctypes.create_string_buffer(512),"
        " ctypes.byref(ctypes.c_uint32(512)), 0)"
    ),
    "descriptor of a process": "libc.syscall(434, 1, 0)",
    "memory advice for a process": "libc.syscall(440, 0, 0, 0, 0, 0)",
    "memory sealed": "libc.syscall(462, 0, 0, 0)",
    "shadow stack": "libc.syscall(453, 0, 4096, 0)",
    "timestamp counter": "libc.prctl(26, 2, 0, 0, 0)",
    "survival of the parent": "libc.prctl(1, 0, 0, 0, 0)",
    "scheduling of a core": "libc.prctl(62, 1, 0, 0, 0)",
    "dispatch of system calls": "libc.prctl(59, 1, 0, 0, 0)",
    "lookup of a cookie": "libc.syscall(number(212, 18), 0, 0, 0)",
}.items():
    hostile(
        f"kernel, {_name}",
        f"""
import ctypes, platform

def number(x86, arm):
    return x86 if platform.machine() == "x86_64" else arm

libc = ctypes.CDLL(None, use_errno=True)
if {_call} >= 0:
    print("ESCAPED")
raise OSError(ctypes.get_errno(), "refused")
""",
    )

hostile(
    "kernel, calls of 32 bits",
    r"""
import ctypes, mmap, platform

if platform.machine() != "x86_64":
    ctypes.string_at(0)
page = mmap.mmap(-1, 4096, prot=7)
page.write(b"\xb8\x02\x00\x00\x00\xcd\x80\xc3")  # mov eax, fork; int 0x80; ret
code = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
if code() >= 0:
    print("ESCAPED")
""",
    Ending.KILLED,
)

hostile(
    "kernel, calls of the x32 kind",
    """
import ctypes, platform

if platform.machine() != "x86_64":
    ctypes.string_at(0)
if ctypes.CDLL(None).syscall(0x40000000 + 57) >= 0:
    print("ESCAPED")
""",
    Ending.KILLED,
)

hostile(
    "kernel, typing into the terminal",
    """
import fcntl

for character in b"id\\n":
    for where in (0, 1, 2):
        try:
            fcntl.ioctl(where, 0x5412, bytes([character]))
            print("ESCAPED")
        except OSError as error:
            refused = error
raise refused
""",
)

hostile(
    "kernel, arguments with high bits set",
    """
import ctypes, platform

libc = ctypes.CDLL(None, use_errno=True)
kill = {"x86_64": 62, "aarch64": 129}[platform.machine()]
high = ctypes.c_ulong(1 << 32 | 2)
if libc.syscall(ctypes.c_long(kill), high, ctypes.c_ulong(0)) >= 0:
    print("ESCAPED")
raise OSError(ctypes.get_errno(), "kill")
""",
)


# The network and other channels.

for _family, _type, _protocol in (
    ("AF_INET", "SOCK_STREAM", 0),
    ("AF_INET", "SOCK_DGRAM", 0),
    ("AF_INET", "SOCK_RAW", 1),
    ("AF_INET6", "SOCK_STREAM", 0),
    ("AF_INET6", "SOCK_RAW", 58),
    ("AF_UNIX", "SOCK_STREAM", 0),
    ("AF_UNIX", "SOCK_DGRAM", 0),
    ("AF_NETLINK", "SOCK_RAW", 0),
    ("AF_PACKET", "SOCK_RAW", 768),
    ("AF_VSOCK", "SOCK_STREAM", 0),
    ("AF_ALG", "SOCK_SEQPACKET", 0),
    ("AF_BLUETOOTH", "SOCK_RAW", 1),
    ("AF_CAN", "SOCK_RAW", 1),
    ("AF_TIPC", "SOCK_STREAM", 0),
):
    hostile(
        f"socket, {_family} {_type}",
        f"""
import socket

numbers = {{"AF_BLUETOOTH": 31, "AF_CAN": 29, "AF_TIPC": 30}}
family = getattr(socket, {_family!r}, numbers.get({_family!r}))
print("ESCAPED", socket.socket(family, socket.{_type}, {_protocol}))
""",
    )

hostile(
    "socket, a pair of another family",
    """
import socket

print("ESCAPED", socket.socketpair(30, socket.SOCK_STREAM))
""",
)

hostile(
    "socket, a pair bound to a name",
    """
import socket

one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.bind("\\0meeting")
print("ESCAPED")
""",
)

hostile(
    "socket, a datagram pair that sends elsewhere",
    """
import socket

one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for name in ("/dev/log", "/run/systemd/notify", "/run/systemd/journal/socket", "\\0meeting"):
    try:
        one.sendto(b"hello", name)
        print("ESCAPED", name)
    except OSError as error:
        refused = error
raise refused
""",
)

hostile(
    "socket, DNS lookup",
    """
import socket

print("ESCAPED", socket.getaddrinfo("localhost", 80))
""",
)

hostile(
    "web page fetched",
    """
import urllib.request

print("ESCAPED", urllib.request.urlopen("http://127.0.0.1/").read())
""",
)

hostile(
    "server on this machine",
    """
import http.server

http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
print("ESCAPED")
""",
)


# State left for the next run: each escapes when it runs a second time.

for _name, _calls in {
    "shared memory": (
        "libc.shmget(4711, 4096, 0o666) >= 0",
        "libc.shmget(4711, 4096, 0o1666)",
    ),
    "semaphores": ("libc.semget(4711, 1, 0o666) >= 0", "libc.semget(4711, 1, 0o1666)"),
    "message queue": ("libc.msgget(4711, 0o666) >= 0", "libc.msgget(4711, 0o1666)"),
    "named queue": (
        "libc.mq_open(b'/left', 0) >= 0",
        "libc.mq_open(b'/left', 0o102, 0o666, None)",
    ),
}.items():
    hostile(
        f"left behind, {_name}",
        f"""
import ctypes

libc = ctypes.CDLL("librt.so.1", use_errno=True)
if {_calls[0]}:
    print("ESCAPED")
if {_calls[1]} < 0:
    raise OSError(ctypes.get_errno(), "refused")
print("ESCAPED")
""",
    )

hostile(
    "left behind, named shared memory",
    """
from multiprocessing import shared_memory

shared_memory.SharedMemory("left", create=True, size=4096)
print("ESCAPED")
""",
)

hostile(
    "left behind, files",
    """
import os, tempfile

files = [f"{place}/left" for place in (".", "..", "/tmp", tempfile.gettempdir(), "/private/run")]
if any(map(os.path.exists, files)):
    print("ESCAPED")
for file in files:
    open(file, "w").close()
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
    Ending.EXCEPTION,  # without namespaces, /tmp is not its own
)

hostile(
    "left behind, modules",
    """
import builtins, os, random, sys

for module in (builtins, os, random, sys):
    if hasattr(module, "left"):
        print("ESCAPED")
    module.left = True
os.environ["LEFT"] = "1"
os.umask(0o777)
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "left behind, modules that shadow others",
    """
import os, sys

for name in ("sitecustomize", "usercustomize", "random", "shelve", "json"):
    for folder in (".", "..", "/tmp"):
        with open(f"{folder}/{name}.py", "w") as file:
            file.write("print('ESCAPED')")
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
    Ending.EXCEPTION,  # without namespaces, /tmp is not its own
)


# The judge: early exits with a clean exit code.

for _where, _source, _action in (
    ("a call", "import os\n\ndef answer():\n    os._exit(0)\n", ANSWER),
    ("a test", "import os\n\ndef answer():\n    os._exit(0)\n", CASES),
    ("an assertion", "import os\n\ndef answer():\n    os._exit(0)\n", ASSERTING),
    ("loading, before calls", "import os\n\nos._exit(0)\n", ANSWER),
    ("loading, before tests", "import os\n\nos._exit(0)\n", CASES),
):
    hostile(f"exit 0 in {_where}", _source, Ending.WRONG_EXIT, action=_action)

hostile(
    "leaving in a call",
    "import sys\n\ndef answer():\n    sys.exit(0)\n",
    Ending.WRONG_EXIT,
    action=ANSWER,
)

hostile("exit while loading", "raise SystemExit\n", Ending.WRONG_EXIT, action=CASES)

hostile(
    "exit in the `__str__` of an exception",
    """
import os

class Quiet(Exception):
    def __str__(self):
        os._exit(0)

def answer():
    raise Quiet
""",
    Ending.WRONG_EXIT,
    action=ANSWER,
)

hostile(
    "exit in the `repr` of a value",
    """
import sys

class Quiet:
    def __repr__(self):
        sys.exit(0)

def answer():
    return Quiet()
""",
    Ending.WRONG_EXIT,
    action=ANSWER,
)

hostile(
    "exit from a thread during the call",
    """
import os, threading, time

def answer():
    threading.Timer(0.1, os._exit, (0,)).start()
    time.sleep(3600)
    return 42
""",
    Ending.WRONG_EXIT,
    action=ANSWER,
)

hostile(
    "exit from a finaliser",
    """
import os

class Last:
    def __del__(self):
        os._exit(0)

def answer():
    Last()
    return 42
""",
    Ending.WRONG_EXIT,
    action=ANSWER,
)

hostile(
    "exit code of an int subclass",
    """
class Strange(int):
    def __and__(self, other):
        return "0"

raise SystemExit(Strange(7))
""",
    Ending.WRONG_EXIT,
)

hostile(
    "exit code that is 0 modulo 256",
    "raise SystemExit(1 << 8)\n",
    Ending.OK,
)

hostile(
    "report channel closed",
    """
import os

os.close(3)

def answer():
    return 42
""",
    Ending.WRONG_EXIT,
    action=ANSWER,
)

hostile(
    "report channel replaced by a file",
    """
import os

os.dup2(os.open("report", os.O_RDWR | os.O_CREAT), 3)

def answer():
    return 42
""",
    Ending.WRONG_EXIT,
    action=ANSWER,
)


# The judge: the test framework.

hostile(
    "assertions replaced",
    """
import unittest

unittest.TestCase.assertEqual = lambda *_: None

def answer():
    return 41
""",
    action=RunTests(
        code="""
import unittest

class Judge(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(answer(), 42)
"""
    ),
)

hostile(
    "assertions with replaced code",
    """
import unittest

def nothing(self, *_, **__):
    pass

for name in dir(unittest.TestCase):
    method = getattr(unittest.TestCase, name)
    if name.startswith("assert") and name != "assertEqual" and not method.__closure__:
        method.__code__ = nothing.__code__

def answer():
    return 41
""",
    action=RunTests(
        code="""
import unittest

class Judge(unittest.TestCase):
    def test_true(self):
        self.assertTrue(answer() == 42)
"""
    ),
)

hostile(
    "assertions with replaced code, except one list",
    """
import unittest

def only(self, first, second, msg=None):
    if first != second and isinstance(first, list):
        raise AssertionError

unittest.TestCase.assertEqual.__code__ = only.__code__

def answer():
    return 41
""",
    action=RunTests(
        code="""
import unittest

class Judge(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(answer(), 42)
"""
    ),
)

hostile(
    "assertions replaced during a test only",
    """
import unittest

real = unittest.TestCase.assertEqual

def once(self, *_):
    unittest.TestCase.assertEqual = real

def answer():
    unittest.TestCase.assertEqual = once
    return 41
""",
    action=RunTests(
        code="""
import unittest

class Judge(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(answer(), 42)
"""
    ),
)

hostile(
    "results replaced",
    """
import unittest

unittest.TestResult.addFailure = unittest.TestResult.addSuccess
unittest.case._Outcome.success = True

def answer():
    return 41
""",
    action=RunTests(
        code="""
import unittest

class Judge(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(answer(), 42)
"""
    ),
)

hostile(
    "loader that finds nothing",
    """
import unittest

unittest.TestLoader.getTestCaseNames = lambda *_: []
""",
    action=CASES,
)

hostile(
    "suite that runs nothing, then restored",
    """
import unittest

real = unittest.TestSuite.run

def nothing(self, result, debug=False):
    unittest.TestSuite.run = real
    return result

unittest.TestSuite.run = nothing
""",
    action=CASES,
)

hostile(
    "compiler that skips the tests, then restored",
    """
import builtins

real = builtins.compile

def blind(code, name, *rest, **more):
    builtins.compile = real
    return real("print('ESCAPED')", name, *rest, **more)

builtins.compile = blind
""",
    action=ASSERTING,
)

hostile(
    "built-in names replaced",
    """
import builtins

builtins.isinstance = lambda *_: True
builtins.AssertionError = ValueError
builtins.len = lambda _: 42

def answer():
    return []
""",
    Ending.EXCEPTION,
    Ending.WRONG_EXIT,
    action=RunTests(code="assert len(answer()) == 42\n"),
)


hostile(
    "tests skipped by a tracer",
    """
import sys

def step(frame, event, argument):
    if event == "line" and frame.f_lineno == 2:
        frame.f_lineno = 3
    return step

def enter(frame, event, argument):
    return step if frame.f_code.co_filename == "tests.py" else None

sys.settrace(enter)

def answer():
    return 41
""",
    action=ASSERTING,
)

hostile(
    "locals of the test changed by a tracer",
    """
import ctypes, sys

def step(frame, event, argument):
    if "expected" in frame.f_locals:
        frame.f_locals["expected"] = 41
        frame.f_globals["expected"] = 41
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0)
    return step

sys.settrace(step)

def answer():
    return 41
""",
    Ending.EXCEPTION,
    Ending.WRONG_EXIT,
    action=RunTests(
        code="""
def check():
    expected = 42
    got = answer()
    assert got == expected
    print("ESCAPED")

check()
"""
    ),
)

hostile(
    "expected answer read from the source of the call",
    """
import linecache, re, sys

def answer():
    text = "".join("".join(linecache.getlines(file)) for file in ("call", "tests.py"))
    text += repr(sys._getframe(1).f_code.co_consts)
    if found := re.search("42", text):
        print("ESCAPED")
    return 41
""",
    Ending.OK,
    action=ANSWER,
)

hostile(
    "expected answer searched in memory",
    """
import gc, sys

def answer():
    seen = gc.get_objects()
    frame = sys._getframe()
    while frame := frame.f_back:
        seen += [frame.f_locals, frame.f_globals]
    for thing in seen:
        if isinstance(thing, dict) and "expected" in thing:
            print("ESCAPED", thing["expected"])
    raise LookupError("no answer anywhere")
""",
    Ending.OK,
    action=ANSWER,
)

hostile(
    "module of tests swapped for another",
    """
import sys, types, unittest

class Lenient(unittest.TestCase):
    def assertEqual(self, *_):
        pass

sys.modules["unittest"] = types.ModuleType("unittest")
sys.modules["unittest"].__dict__.update(vars(unittest), TestCase=Lenient)

def answer():
    return 41
""",
    action=RunTests(
        code="""
import unittest

class Judge(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(answer(), 42)
"""
    ),
)

hostile(
    "assertions of the test's own class replaced while it runs",
    """
import sys

def answer():
    type(sys._getframe(1).f_locals["self"]).assertEqual = lambda *_: None
    return 41
""",
    action=RunTests(
        code="""
import unittest

class Judge(unittest.TestCase):
    def test_equal(self):
        got = answer()
        self.assertEqual(got, 42)
"""
    ),
)

hostile(
    "tests stopped after the first",
    """
import sys

def answer():
    frame = sys._getframe()
    while frame := frame.f_back:
        if hasattr(frame.f_locals.get("result"), "stop"):
            frame.f_locals["result"].stop()
    return 42
""",
    Ending.EXCEPTION,
    Ending.WRONG_EXIT,
    action=RunTests(
        code="""
import unittest

class Judge(unittest.TestCase):
    def test_1(self):
        self.assertEqual(answer(), 42)

    def test_2(self):
        self.assertEqual(answer(), 43)
"""
    ),
)

hostile(
    "test case defined by the program",
    """
import unittest

class Judge(unittest.TestCase):
    __module__ = "tests"

    def test_own(self):
        print("ESCAPED")

def answer():
    return 42
""",
    Ending.OK,
    action=RunTests(code="assert answer() == 42\n"),
)


# The judge: reports.

hostile(
    "report forged without a seal",
    """
import json, os

said = [
    {"what": "test", "name": "", "verdict": "passed", "message": "", "frames": []},
    {"what": "done"},
]
for line in said:
    os.write(3, json.dumps(line).encode() + b"\\n")
    os.write(3, b" " + json.dumps(line).encode() + b"\\n")
os._exit(0)
""",
    Ending.WRONG_EXIT,
    action=CASES,
)

hostile(
    "report forged with guessed seals",
    """
import os, secrets

for _ in range(1000):
    os.write(3, f'{secrets.token_hex(16)} {{"what": "done"}}\\n'.encode())
os._exit(0)
""",
    Ending.WRONG_EXIT,
    action=CASES,
)

hostile(
    "report with a stack that breaks its reader",
    """
import os

os.write(3, b'  File "program.py", line ' + b"9" * 5000 + b" in f\\n")
while True:
    pass
""",
    Ending.TIMEOUT,
)

hostile(
    "report with a stack of a million lines",
    """
import os

for _ in range(1000):
    os.write(3, b'  File "program.py", line 1 in f\\n' * 500)
while True:
    pass
""",
    Ending.TIMEOUT,
)

hostile(
    "deeply nested report",
    """
import os, sys

frame = sys._getframe()
while frame := frame.f_back:
    if "job" in frame.f_locals:
        os.write(3, frame.f_locals["job"]["seal"].encode() + b" " + b"[" * 200_000 + b"\\n")
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "report with an infinite line number",
    """
import os, sys

frame = sys._getframe()
while frame := frame.f_back:
    if "report" in frame.f_locals:
        where = {"function": "f", "file": "program.py", "line": float("inf")}
        frame.f_locals["report"](
            "raised", type="E", bases=[], message="", frames=[where]
        )
        break
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "report that is not text",
    """
import os

os.write(3, bytes(range(256)) * 100 + b"\\n" * 1000 + b"\\0" * 1000)
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "exception with an invalid type name",
    """
class Meta(type):
    @property
    def __name__(self):
        return "\\ud800\\n"

class Odd(Exception, metaclass=Meta):
    pass

raise Odd("\\udcff")
""",
    Ending.EXCEPTION,
    Ending.WRONG_EXIT,
)

hostile(
    "exception whose `__str__` raises",
    """
class Mute(Exception):
    def __str__(self):
        raise KeyboardInterrupt

    __repr__ = __str__

raise Mute
""",
    Ending.EXCEPTION,
    Ending.WRONG_EXIT,
)

hostile(
    "exception with a message of a str subclass",
    """
class Text(str):
    def __getitem__(self, key):
        return self

    def encode(self, *_):
        return self

    def decode(self, *_):
        return {"a": object()}

class Liar(Exception):
    def __str__(self):
        return Text("x")

raise Liar
""",
    Ending.EXCEPTION,
    Ending.WRONG_EXIT,
)

hostile(
    "exception with a message of a gigabyte",
    """
class Long(Exception):
    def __str__(self):
        return "x" * (1 << 27)

raise Long
""",
    Ending.EXCEPTION,
    Ending.MEMORY,
)

hostile(
    "exception that is its own cause",
    """
one, other = ValueError("one"), ValueError("other")
one.__cause__, other.__cause__ = other, one
raise one
""",
)

hostile(
    "exceptions in a group a thousand deep",
    """
error = ValueError("x")
for _ in range(1000):
    error = ExceptionGroup("g", [error])
raise error
""",
)

hostile(
    "exception in a thread",
    """
import threading

def fail():
    raise ValueError("in a thread")

threading.Thread(target=fail).start()
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "exception in a finaliser",
    """
class Last:
    def __del__(self):
        raise SystemExit(0)

kept = Last()
del kept
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "exception hook that exits cleanly",
    """
import os, sys

sys.excepthook = lambda *_: os._exit(0)
raise ValueError("never seen")
""",
    Ending.EXCEPTION,
    Ending.OK,
)

hostile(
    "standard output closed and replaced",
    """
import io, os, sys

sys.stdout.close()
os.close(1)
os.close(2)
sys.stdout = io.StringIO()
print("ESCAPED")
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "standard output that cannot be flushed",
    """
import sys

class Broken:
    def write(self, text):
        return len(text)

    def flush(self):
        raise OSError("no")

sys.stdout = sys.stderr = Broken()
print = None
""",
)


# The judge: values.

for _name, _source in {
    "equal to everything": """
class Equal:
    def __eq__(self, other):
        return True
    __hash__ = None

    def __repr__(self):
        return "42"

def answer():
    return Equal()
""",
    "a number that lies": """
class Lie(int):
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__

    def __int__(self):
        return 42
    __index__ = __repr__ = __str__ = __int__

def answer():
    return Lie(41)
""",
    "an object that says it is a number": """
class Lie:
    __class__ = property(lambda self: int)

def answer():
    return Lie()
""",
    "a list that lies": """
class Lie(list):
    def __iter__(self):
        return iter([42])

    def __len__(self):
        return 1

def answer():
    return Lie([41])
""",
    "a huge number": "def answer():\n    return 7 ** 500_000\n",
    "a list that holds itself": "def answer():\n    x = []\n    x.append(x)\n    return x\n",
    "a list a million deep": """
def answer():
    nest = []
    for _ in range(1_000_000):
        nest = [nest]
    return nest
""",
    "text that is no text": """
def answer():
    return ["\\ud800", "\\0", "\\n", {"\\udfff": b"\\xff"}]
""",
    "numbers that are none": """
from decimal import Decimal

def answer():
    return [float("nan"), float("-inf"), complex("nan+infj"), Decimal("sNaN"), Decimal("1e999999")]
""",
    "a fraction that explodes": """
from fractions import Fraction

class Bomb(Fraction):
    def __str__(self):
        return "1e999999999"

Bomb.__name__ = "Fraction"

def answer():
    return Bomb(1, 2)
""",
    "a set of numbers that collide": """
class Odd(int):
    __hash__ = object.__hash__

def answer():
    return {Odd(n * ((1 << 61) - 1)) for n in range(1000)}
""",
    "a type without a name": """
class Meta(type):
    __module__ = property(lambda self: 1 / 0)

class Odd(metaclass=Meta):
    pass

def answer():
    return Odd()
""",
    "an object that does not say what it is": """
class Mute:
    def __getattribute__(self, name):
        raise MemoryError

    def __repr__(self):
        return None

def answer():
    return Mute()
""",
}.items():
    hostile(
        f"value, {_name}",
        _source,
        *(
            (Ending.EXCEPTION, Ending.OK, Ending.MEMORY)
            if "without" in _name or "does not" in _name
            else (Ending.OK,)
        ),
        action=ANSWER,
    )

hostile(
    "value, larger than the report limit",
    """
def answer():
    return "x" * (100 << 20)
""",
    Ending.OUTPUT_LIMIT,
    Ending.MEMORY,
    action=ANSWER,
)

hostile(
    "value, an endless generator",
    """
class Endless(list):
    pass

def answer():
    import itertools
    return list(itertools.count())
""",
    Ending.OK,
    Ending.TIMEOUT,
    Ending.MEMORY,
    action=ANSWER,
)


# Output files.

hostile(
    "artefact, a link to the outside",
    """
import os

os.symlink("/etc/passwd", "out.txt")
os.symlink("/etc", "folder")
""",
    Ending.OK,
    action=RunFiles(inputs={}, artefacts=("out.txt", "folder/passwd")),
)

hostile(
    "artefact, the folder replaced by a link to the outside",
    """
import os

os.chdir("..")
os.rename("work", "gone")
os.symlink(os.path.dirname(os.__file__), "work")
""",
    Ending.OK,
    action=RunFiles(inputs={}, artefacts=("os.py",)),
)

hostile(
    "artefact, a pipe",
    """
import os

os.mkfifo("out.txt")
print("ESCAPED")
""",
    action=RunFiles(inputs={}, artefacts=("out.txt",)),
)

hostile(
    "artefact, a folder",
    "import os\n\nos.mkdir('out.txt')\n",
    Ending.OK,
    action=RunFiles(inputs={}, artefacts=("out.txt", "out.txt/deeper")),
)

hostile(
    "artefact, one file under many names, huge and empty",
    """
import os

with open("0", "wb") as file:
    file.truncate(60 << 20)
for number in range(1, 5):
    os.link("0", str(number))
""",
    Ending.OK,
    Ending.OUTPUT_LIMIT,
    action=RunFiles(inputs={}, artefacts=("0", "1", "2", "3", "4")),
)

hostile(
    "artefact, unreadable",
    """
import os

with open("out.txt", "w") as file:
    file.write("x")
for path in ("out.txt", "."):
    try:
        os.chmod(path, 0)
    except OSError:  # without namespaces, nothing may change modes
        pass
""",
    Ending.OK,
    action=RunFiles(inputs={}, artefacts=("out.txt",)),
)

hostile(
    "artefact, strange names",
    """
for name in ("a\\nb", "\\udcff", " ", "-rf", "a" * 255):
    with open(name, "w") as file:
        file.write("x")
""",
    Ending.OK,
    action=RunFiles(inputs={"in\nput": b"x"}, artefacts=("a\nb", " ", "-rf", "a" * 255)),
)

hostile(
    "artefact, the folder removed",
    """
import os, shutil

for name in os.listdir(".."):
    shutil.rmtree("../" + name, ignore_errors=True)
""",
    Ending.OK,
    action=RunFiles(inputs={"given": b"x"}, artefacts=("given",)),
)


# Further attacks on assertions and reports.

hostile(
    "assertions replaced by `__getattribute__`",
    """
import unittest

def lookup(self, name):
    if name.startswith("assert"):
        return lambda *_, **__: None
    return object.__getattribute__(self, name)

unittest.TestCase.__getattribute__ = lookup

def answer():
    return 41
""",
    action=CASES,
)

hostile(
    "`assertRaises` that accepts everything",
    """
import unittest.case

unittest.case._AssertRaisesContext.__exit__ = lambda *_: True

def answer():
    return 41
""",
    action=CASES,
)

hostile(
    "value that is expensive to decode",
    """
import json

plain = json.dumps
json.dumps = lambda o, **k: '{"fraction": ["1e300000000", null]}' if k else plain(o)

def answer():
    return 41
""",
    Ending.OK,
    action=ANSWER,
)

hostile(
    "kernel, every call above the table, with harmless arguments",
    """
import ctypes, errno

libc = ctypes.CDLL(None, use_errno=True)
allowed = {439, 441, 436, 335, 336, 309, 316, 318, 326, 327, 328, 332, 334}
for number in [*range(303, 318), *range(319, 332), 333, *range(335, 600), 1000, 4096]:
    if number in allowed or number == 324:
        continue
    if libc.syscall(number, 0, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (
        errno.EPERM,
        errno.EOPNOTSUPP,
        errno.ENOSYS,
    ):
        print("ESCAPED", number, ctypes.get_errno())
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "files, a whiteout device by renameat2",
    """
import ctypes, os, stat

libc = ctypes.CDLL(None, use_errno=True)
open("a", "w").close()
libc.syscall(316, -100, b"a", -100, b"b", 4)
for name in os.listdir("."):
    mode = os.lstat(name).st_mode
    if stat.S_ISCHR(mode):
        try:
            os.open(name, os.O_RDWR)
            print("ESCAPED")
        except OSError:
            pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "files, left by blocking the removal of the folder",
    """
import os, shutil

os.chdir("..")
for name in os.listdir("."):
    shutil.rmtree(name, ignore_errors=True)
    try:
        os.unlink(name)
    except OSError:
        pass
pid = os.getpid() - 1
for n in range(1, 40):
    os.mkdir(f".lifted-{n}-{pid}")
    open(f".lifted-{n}-{pid}/x", "w").close()
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "left behind, warm worker's objects",
    """
import atexit, copyreg, datetime, decimal, functools, gc, json, linecache, locale, random
import re, signal, string, sys, threading, typing, unittest, warnings

holders = (
    unittest.TestCase,
    json.JSONEncoder,
    re,
    decimal,
    random,
    string,
    typing,
    datetime,
    functools,
    sys,
    warnings,
    linecache,
    copyreg,
    threading,
)
for h in holders:
    if getattr(h, "left", 0):
        print("ESCAPED", h)
    try:
        h.left = 1
    except TypeError:
        pass
if decimal.getcontext().prec != 28:
    print("ESCAPED")
decimal.getcontext().prec = 5
decimal.DefaultContext.prec = 5
if re.compile("leftbehind123") in getattr(re, "_left", ()):
    print("ESCAPED")
sys.setrecursionlimit(5000)
sys.setswitchinterval(1.0)
gc.set_threshold(1)
gc.freeze()
locale.setlocale(locale.LC_ALL, "C")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.alarm(100)
atexit.register(print, "x")
warnings.filters.clear()
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "left behind, limits, masks and handlers",
    """
import os, signal, resource, sys, gc

if signal.getsignal(signal.SIGUSR2) != signal.SIG_DFL or signal.pthread_sigmask(
    signal.SIG_BLOCK, []
):
    print("ESCAPED")
if os.umask(18) != 18 or gc.get_threshold()[0] == 5 or sys.getrecursionlimit() != 1000:
    print("ESCAPED")
if signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0) or gc.callbacks:
    print("ESCAPED")
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD, signal.SIGTERM])
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
os.umask(0)
gc.set_threshold(5)
sys.setrecursionlimit(77)
gc.callbacks.append(print)
resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "left behind, in the standard streams' buffers and descriptors' flags",
    """
import fcntl, os, sys

for fd in (0, 1, 2, 3):
    if fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND):
        print("ESCAPED", fd)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
sys.stdout.reconfigure(encoding="utf-16", newline="x") if False else None
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "value, long unhashable keys with equal beginnings",
    """
class Key(list):
    __hash__ = lambda self: id(self)
    __eq__ = lambda self, other: self is other


def answer():
    return {Key([[]] * 9000 + [n]): 0 for n in range(490)}
""",
    Ending.OK,
    Ending.MEMORY,
    Ending.TIMEOUT,
    action=CallFunction(calls=("answer()",)),
)

hostile(
    "value, fractions of long numbers",
    """
from fractions import Fraction


def answer():
    return [Fraction((1 << 79000) + 1, (1 << 78990) + 7)] * 390
""",
    Ending.OK,
    Ending.TIMEOUT,
    action=CallFunction(calls=("answer()",)),
)

hostile(
    "value, a dictionary that changes while it is read",
    """
class D(dict):
    def items(self):
        while True:
            yield (1, 1)


def answer():
    d = D(a=1)
    d["self"] = d
    return [d] * 1000
""",
    Ending.OK,
    Ending.TIMEOUT,
    Ending.MEMORY,
    Ending.OUTPUT_LIMIT,
    action=CallFunction(calls=("answer()",)),
)

hostile(
    "value, a DAG that unfolds",
    """
def answer():
    x = [1]
    for _ in range(90):
        x = [x, x]
    return x
""",
    Ending.TIMEOUT,
    Ending.MEMORY,
    Ending.OUTPUT_LIMIT,
    action=CallFunction(calls=("answer()",)),
)

hostile(
    "value, names of a million characters",
    """
C = type("x" * 1000000, (), {"__module__": "y" * 1000000})


def answer():
    return [C() for _ in range(10)]
""",
    Ending.OK,
    Ending.OUTPUT_LIMIT,
    action=CallFunction(calls=("answer()",)),
)

hostile(
    "report, 200,000 lines with the seal",
    """
import os, sys

frame = sys._getframe()
while frame := frame.f_back:
    if "job" in frame.f_locals:
        seal = frame.f_locals["job"]["seal"].encode()
for _ in range(400):
    os.write(3, (seal + b" {}\\n") * 500)
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "report, functions by the million",
    """
import os, sys

frame = sys._getframe()
while frame := frame.f_back:
    if "job" in frame.f_locals:
        seal = frame.f_locals["job"]["seal"].encode()
os.write(
    3, seal + b' {"what":"owned","replaced":[' + b",".join([b'{"name":"x"}'] * 4999) + b"]}\\n"
)
for _ in range(200):
    os.write(
        3,
        seal + b' {"what":"owned","replaced":[' + b",".join([b'{"name":"x"}'] * 4000) + b"]}\\n",
    )
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "report, tests by the ten thousand",
    """
import os, sys

frame = sys._getframe()
while frame := frame.f_back:
    if "job" in frame.f_locals:
        seal = frame.f_locals["job"]["seal"].encode()
line = (
    seal
    + b' {"what":"test","name":"'
    + b"n" * 300
    + b'","verdict":"passed","message":"","frames":[]}\\n'
)
for _ in range(300):
    os.write(3, line * 100)
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "exception, of a class with a name of a million characters and deep frames",
    """
import sys

sys.setrecursionlimit(50000)
E = type("E" * 1000000, (Exception,), {})


def f(n):
    if n == 0:
        raise E("\\n" * 1000000)
    f(n - 1)


f(20000)
""",
    Ending.EXCEPTION,
)

hostile(
    "exception, identifiers of a hundred thousand letters in other scripts",
    """
name = "ж" * 100000
exec(f"def {name}(): raise ValueError\\n{name}()")
""",
    Ending.EXCEPTION,
)

hostile(
    "artefact, sparse and compressible to nothing",
    """
for n in range(3):
    with open(f"{n}", "wb") as f:
        f.truncate(63 << 20)
""",
    Ending.OK,
    Ending.EXCEPTION,
    action=RunFiles(inputs={}, artefacts=("0", "1", "2")),
)

hostile(
    "artefact, replaced by a pipe, a device link and itself",
    """
import os

os.symlink("/dev/zero", "a")
os.symlink("/proc/self/mem", "b")
os.symlink(".", "c")
os.link("a", "d")
""",
    Ending.OK,
    Ending.EXCEPTION,
    action=RunFiles(inputs={}, artefacts=("a", "b", "c/c/c", "d")),
)

hostile(
    "memory, in watches of epoll",
    """
import os, select

fds = [os.pipe()[0] for _ in range(60)]
polls = []
try:
    while True:
        p = select.epoll()
        polls.append(p)
        for fd in fds:
            p.register(fd)
except OSError:
    pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "memory, in mappings by the ten thousand",
    """
import mmap

held = []
try:
    while True:
        held.append(mmap.mmap(-1, 4096, prot=1 + len(held) % 2 * 2))
except (OSError, MemoryError):
    pass
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
    Ending.EXCEPTION,
    Ending.MEMORY,
)

hostile(
    "time, exit that takes long: many threads and mappings",
    """
import threading, mmap, os

held = [bytearray(8 << 20) for _ in range(25)]
e = threading.Event()
for _ in range(50):
    threading.Thread(target=e.wait, daemon=True).start()
os._exit(3)
""",
    Ending.EXCEPTION,
)

hostile(
    "time, timers by the hundred",
    """
import ctypes, signal, time

libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
n = 0
t = ctypes.c_int()
while libc.syscall(222, 1, 0, ctypes.byref(t)) == 0 and n < 100000:
    libc.syscall(223, t, 0, (ctypes.c_long * 4)(0, 1000, 0, 1000), 0)
    n += 1
if n > 1000:
    print("ESCAPED", n)
raise SystemExit(3)
""",
    Ending.WRONG_EXIT,
)

hostile(
    "the interpreter goes on in the supervisor's code",
    """
import os, sys

real = os._exit


def leave(code):
    frame = sys._getframe(1)
    while frame:
        for name in ("channels", "host", "status", "wire", "near", "candidate"):
            if name in frame.f_locals and name not in ("host",):
                value = frame.f_locals[name]
                if getattr(value, "fileno", lambda: -1)() > 3:
                    print("ESCAPED", name)
        frame = frame.f_back
    real(3)


os._exit = leave
""",
    Ending.WRONG_EXIT,
)

# The second run finds what the first left.
CORPUS += [
    program._replace(name=f"{program.name}, again")
    for program in CORPUS
    if program.name.startswith("left behind,")
]
