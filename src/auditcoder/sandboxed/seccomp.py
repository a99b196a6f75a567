"""The system calls that a candidate may make, as a filter program. All others are refused.

A candidate may compute, use its private folder, start threads, and use pipes and socket pairs. It
may not start processes or programs, open sockets, trace, mount, or signal another process. Calls by
which programs that share the library's files could signal each other (locks, advice on the page
cache, reads that report what is cached) are refused or have no effect.
"""

import ctypes
import errno
import platform
import struct

_X86, _ARM = 0, 1
_MACHINES = {"x86_64": (_X86, 0xC000003E), "aarch64": (_ARM, 0xC00000B7)}

# name: (number on x86-64, number on aarch64); -1 where the machine has no such call
_ALLOWED: dict[str, tuple[int, int]] = {
    "read": (0, 63),
    "write": (1, 64),
    "open": (2, -1),
    "openat": (257, 56),
    "close": (3, 57),
    "stat": (4, -1),
    "fstat": (5, 80),
    "lstat": (6, -1),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "lseek": (8, 62),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "readv": (19, 65),
    "writev": (20, 66),
    "preadv": (295, 69),
    "pwritev": (296, 70),
    "access": (21, -1),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, -1),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "mkdir": (83, -1),
    "mkdirat": (258, 34),
    "rmdir": (84, -1),
    "unlink": (87, -1),
    "unlinkat": (263, 35),
    "rename": (82, -1),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "link": (86, -1),
    "linkat": (265, 37),
    "symlink": (88, -1),
    "symlinkat": (266, 36),
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "utimensat": (280, 88),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
    "umask": (95, 166),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "fallocate": (285, 47),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "sync_file_range": (277, 84),
    "getdents": (78, -1),
    "getdents64": (217, 61),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "dup": (32, 23),
    "dup2": (33, -1),
    "dup3": (292, 24),
    "pipe": (22, -1),
    "pipe2": (293, 59),
    "sendfile": (40, 71),
    "copy_file_range": (326, 285),
    "splice": (275, 76),
    "tee": (276, 77),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "brk": (12, 214),
    "msync": (26, 227),
    "membarrier": (324, 283),
    "poll": (7, -1),
    "ppoll": (271, 73),
    "select": (23, -1),
    "pselect6": (270, 72),
    "epoll_create": (213, -1),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, -1),
    "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441),
    "eventfd": (284, -1),
    "eventfd2": (290, 19),
    "timerfd_create": (283, 85),
    "timerfd_settime": (286, 86),
    "timerfd_gettime": (287, 87),
    "signalfd": (282, -1),
    "signalfd4": (289, 74),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132),
    "pause": (34, -1),
    "alarm": (37, -1),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    "restart_syscall": (219, 128),
    "timer_create": (222, 107),
    "timer_settime": (223, 110),
    "timer_gettime": (224, 108),
    "timer_getoverrun": (225, 109),
    "timer_delete": (226, 111),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, -1),
    "times": (100, 153),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "get_robust_list": (274, 100),
    "set_tid_address": (218, 96),
    "rseq": (334, 293),
    "arch_prctl": (158, -1),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126),
    "getcpu": (309, 168),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "getpgrp": (111, -1),
    "getpgid": (121, 155),
    "getsid": (124, 156),
    "getpriority": (140, 141),
    "getrlimit": (97, 163),
    "setrlimit": (160, 164),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),  # the C library ignores a refusal and computes with garbage
    "uname": (63, 160),
    "getrandom": (318, 278),
    "wait4": (61, 260),
    "waitid": (247, 95),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "shutdown": (48, 210),
    "getsockopt": (55, 209),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
}

# Refused where files or processes of the machine are visible: changes that Landlock does not
# control, and calls that tell about files and processes of others.
_ONLY_ISOLATED = {
    *("chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat"),
    *("utimensat", "utime", "utimes", "futimesat"),
    *("readlink", "readlinkat", "statfs", "fstatfs"),
    *("getppid", "getpgid", "getsid", "getpriority", "get_robust_list"),
    *("sched_getaffinity", "sched_getparam", "sched_getscheduler"),
    *("clock_gettime", "clock_getres", "clock_nanosleep", "timer_create"),
}

# A run is one process, so its own locks never wait; advice and read-ahead promise nothing.
_WITHOUT_EFFECT = {
    "flock": (73, 32),
    "fadvise64": (221, 223),
    "readahead": (187, 213),
}

# Programs that copy files with their attributes continue on this error.
_NOT_SUPPORTED = {
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "fgetxattr": (193, 10),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "flistxattr": (196, 13),
}

# Decided by their arguments, below.
_CLONE = (56, 220)
_CLONE3 = (435, 435)
_KILL = (62, 129)
_TGKILL = (234, 131)
_IOCTL = (16, 29)
_FCNTL = (72, 25)
_PRCTL = (157, 167)
_PRLIMIT = (302, 261)
_SOCKETPAIR = (53, 199)
_CLOSE_RANGE = (436, 436)
_MADVISE = (28, 233)
_PREADV2 = (327, 286)
_PWRITEV2 = (328, 287)

# Of these, processes are named by the first argument, where 0 is the caller.
_BY_PROCESS = ("getpgid", "getsid", "sched_getparam", "sched_getscheduler", "get_robust_list")
# The first argument is a clock; the negative ones measure processes and threads by their id.
_BY_CLOCK = ("clock_gettime", "clock_getres", "clock_nanosleep", "timer_create")
_FIRST_NEGATIVE = 0x80000000

# The flags of a thread in the C libraries: everything is shared, including descriptors.
_THREAD_FLAGS = (0x3D0F00, 0x7D0F00)
# Streams and sequenced packets, which are unix sockets. A datagram socket could send elsewhere.
_AF_UNIX = 1
_PAIRS = tuple(kind | flags for kind in (1, 5) for flags in (0, 0x800, 0x80000, 0x80800))
# The requests of isatty, non-blocking files and window sizes.
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# Duplicates, flags, the size of a pipe, seals; reading a lock, which nobody can have set. Others
# signal processes, enlarge pipes, or leave a lease or a hint on a file.
_FCNTLS = (0, 1, 2, 3, 4, 5, 36, 1030, 1032, 1034)
# Setting a lock, without effect.
_FCNTL_LOCKS = (6, 7, 37, 38)
# Advice about own memory. Other advice reaches pages that are shared with other processes.
_ADVICE = (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19)
# The name of a thread, and the name of a memory mapping.
_PRCTLS = (15, 16, 0x53564D41)

_LOAD, _RETURN = 0x20, 0x06
_JUMP_ALWAYS, _JUMP_EQ, _JUMP_GE = 0x05, 0x15, 0x35
_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_REFUSE = 0x00050000
_NO_EFFECT = _REFUSE
"""Error number 0: the call returns 0 and does nothing."""
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

_Step = tuple[int, int, int, int]


def supported() -> bool:
    """Whether the system call numbers of this machine are known."""
    return platform.machine() in _MACHINES


def program(own_pid: int, *, isolated: bool) -> bytes:
    """Return the filter for a process that sees itself as process `own_pid`.

    `isolated` means that only its own files and processes are visible. Otherwise it may neither
    change modes, owners and times of files, which Landlock does not control, nor read links, nor
    ask about other processes.
    """
    machine, arch = _MACHINES[platform.machine()]
    steps: list[_Step] = [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQ, 1, 0, arch),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == _X86:  # the x32 variants of all calls have other numbers
        steps += [(_JUMP_GE, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL_PROCESS)]
    allowed = [n[machine] for name, n in _ALLOWED.items() if isolated or name not in _ONLY_ISOLATED]
    steps += _allow(_runs(sorted(allowed)))
    steps += _when(_CLONE[machine], _argument_in(0, _THREAD_FLAGS))
    # The flags of clone3 are in memory, which a filter cannot read. On ENOSYS, `clone` is used.
    steps += _when(_CLONE3[machine], [(_RETURN, 0, 0, _REFUSE | errno.ENOSYS)])
    steps += _when(_KILL[machine], _argument_in(0, (own_pid,)))
    steps += _when(_TGKILL[machine], _argument_in(0, (own_pid,)))
    steps += _when(_IOCTL[machine], _argument_in(1, _IOCTLS, errno.ENOTTY))
    steps += _when(
        _FCNTL[machine], [*_if_in(1, _FCNTL_LOCKS, _NO_EFFECT), *_argument_in(1, _FCNTLS)]
    )
    steps += _when(_PRCTL[machine], _argument_in(0, _PRCTLS))
    steps += _when(_PRLIMIT[machine], _argument_in(0, (0, own_pid)))
    steps += _when(
        _SOCKETPAIR[machine], [*_unless(0, _AF_UNIX, errno.EAFNOSUPPORT), *_argument_in(1, _PAIRS)]
    )
    steps += _when(_CLOSE_RANGE[machine], _argument_in(2, (0,)))
    steps += _when(_MADVISE[machine], _argument_in(2, _ADVICE, errno.EINVAL))
    for vectored in (_PREADV2, _PWRITEV2):
        steps += _when(vectored[machine], _argument_in(5, (0,), errno.EOPNOTSUPP))
    for numbers in _WITHOUT_EFFECT.values():
        steps += _when(numbers[machine], [(_RETURN, 0, 0, _NO_EFFECT)])
    for numbers in _NOT_SUPPORTED.values():
        steps += _when(numbers[machine], [(_RETURN, 0, 0, _REFUSE | errno.EOPNOTSUPP)])
    if not isolated:
        steps += _about_itself_only(machine, own_pid)
    steps.append((_RETURN, 0, 0, _REFUSE | errno.EPERM))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _about_itself_only(machine: int, own_pid: int) -> list[_Step]:
    """Return steps for calls that may ask about the process itself, but not about others."""
    own = (0, own_pid)
    steps = _when(_ALLOWED["getppid"][machine], [(_RETURN, 0, 0, _NO_EFFECT)])
    for name in _BY_PROCESS:
        steps += _when(_ALLOWED[name][machine], _argument_in(0, own))
    # Asked about a thread by the C library, which continues on this error.
    affinity = _argument_in(0, own, errno.ENOSYS)
    steps += _when(_ALLOWED["sched_getaffinity"][machine], affinity)
    of_process = [*_unless(0, 0, errno.EPERM), *_argument_in(1, own)]
    steps += _when(_ALLOWED["getpriority"][machine], of_process)
    for name in _BY_CLOCK:
        steps += _when(_ALLOWED[name][machine], _below(0, _FIRST_NEGATIVE, errno.EINVAL))
    return steps


def _allow(runs: list[tuple[int, int]]) -> list[_Step]:
    """Return steps that allow the numbers in `runs` and fall through for others.

    They form a search tree: the kernel evaluates the filter for every call when it is installed.
    """
    if len(runs) == 1:
        first, after = runs[0]
        return [(_JUMP_GE, 0, 2, first), (_JUMP_GE, 1, 0, after), (_RETURN, 0, 0, _ALLOW)]
    middle = len(runs) // 2
    lower, upper = _allow(runs[:middle]), _allow(runs[middle:])
    around = (_JUMP_ALWAYS, 0, 0, len(upper))
    return [(_JUMP_GE, len(lower) + 1, 0, runs[middle][0]), *lower, around, *upper]


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Return the consecutive runs in sorted `numbers` as (first, one after the last)."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if number < 0:
            continue
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs


def _when(number: int, then: list[_Step]) -> list[_Step]:
    """Return steps that execute `then`, which must end in a return, for the call `number`."""
    return [(_JUMP_EQ, 0, len(then), number), *then]


def _argument(which: int) -> _Step:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * which)


def _argument_in(which: int, values: tuple[int, ...], refusal: int = errno.EPERM) -> list[_Step]:
    return [*_if_in(which, values, _ALLOW), (_RETURN, 0, 0, _REFUSE | refusal)]


def _if_in(which: int, values: tuple[int, ...], decision: int) -> list[_Step]:
    """Return steps that decide for these values of an argument and fall through for others."""
    steps = [_argument(which)]
    for value in values:
        steps += [(_JUMP_EQ, 0, 1, value), (_RETURN, 0, 0, decision)]
    return steps


def _unless(which: int, value: int, refusal: int) -> list[_Step]:
    return [_argument(which), (_JUMP_EQ, 1, 0, value), (_RETURN, 0, 0, _REFUSE | refusal)]


def _below(which: int, bound: int, refusal: int) -> list[_Step]:
    return [
        _argument(which),
        (_JUMP_GE, 0, 1, bound),
        (_RETURN, 0, 0, _REFUSE | refusal),
        (_RETURN, 0, 0, _ALLOW),
    ]


class _Program(ctypes.Structure):
    """The kernel's `sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


def install(filter_program: bytes) -> None:
    """Install the filter for this process and its threads. Needs no_new_privs."""
    libc = ctypes.CDLL(None, use_errno=True)
    wrapped = _Program(len(filter_program) // 8, filter_program)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(wrapped), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
