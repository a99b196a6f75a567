"""The filter decides as its table says on every architecture; its program is emulated here."""

import errno
import platform
import re
import struct
from pathlib import Path

import pytest

from auditcoder.sandboxed import seccomp

ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
NO_EFFECT = REFUSE
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
OWN = 77
BY_ARGUMENTS = (
    *("_CLONE", "_KILL", "_TGKILL", "_IOCTL", "_FCNTL", "_PRCTL", "_PRLIMIT", "_SOCKETPAIR"),
    *("_CLOSE_RANGE", "_MADVISE", "_PREADV2", "_PWRITEV2"),
)
"""Calls that are allowed for some arguments only."""


def decide(program: bytes, number: int, arch: int, *arguments: int) -> int:
    """Emulate the kernel: return the decision of the filter on one system call."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    value, at = 0, 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, operand)
            case 0x05:
                at += operand
            case 0x15:
                at += yes if value == operand else no
            case 0x35:
                at += yes if value >= operand else no
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(code)


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    return str(request.param)


@pytest.mark.parametrize("isolated", [True, False])
def test_every_system_call_is_decided_as_the_table_says(machine: str, isolated: bool) -> None:
    column, arch = MACHINES[machine]
    program = seccomp.program(OWN, isolated=isolated)
    plain = {
        numbers[column]
        for name, numbers in seccomp._ALLOWED.items()
        if isolated or name not in seccomp._ONLY_ISOLATED
    }
    without_effect = {numbers[column] for numbers in seccomp._WITHOUT_EFFECT.values()}
    not_supported = {numbers[column] for numbers in seccomp._NOT_SUPPORTED.values()}
    special = {getattr(seccomp, name)[column] for name in ("_CLONE3", *BY_ARGUMENTS)}
    if not isolated:
        special |= {
            seccomp._ALLOWED[name][column]
            for name in (
                *("getppid", "sched_getaffinity", "getpriority"),
                *seccomp._BY_PROCESS,
                *seccomp._BY_CLOCK,
            )
        }
    for number in set(range(600)) - special:
        expected = ALLOW if number in plain else REFUSE | errno.EPERM
        if number in without_effect:
            expected = NO_EFFECT
        if number in not_supported:
            expected = REFUSE | errno.EOPNOTSUPP
        assert decide(program, number, arch) == expected, number


def test_the_guide_states_how_many_system_calls_are_allowed() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "sandbox.md"
    (stated,) = re.findall(r"only about (\d+) system calls", guide.read_text(encoding="utf-8"))
    assert abs(len(seccomp._ALLOWED) + len(BY_ARGUMENTS) - int(stated)) <= 5


def test_system_calls_of_another_architecture_kill_the_process(machine: str) -> None:
    program = seccomp.program(OWN, isolated=True)
    assert decide(program, 0, 0x40000003) == KILL  # 32-bit x86
    if machine == "x86_64":
        assert decide(program, 0x40000000, MACHINES[machine][1]) == KILL  # the x32 interface


def test_some_system_calls_are_decided_by_their_arguments(machine: str) -> None:
    column, arch = MACHINES[machine]
    program = seccomp.program(OWN, isolated=True)

    def call(name: str, *arguments: int) -> int:
        return decide(program, getattr(seccomp, name)[column], arch, *arguments)

    refused = REFUSE | errno.EPERM
    assert call("_KILL", OWN, 9) == ALLOW
    assert call("_KILL", 1, 9) == call("_KILL", 2**32 - 1, 9) == call("_KILL", 0, 9) == refused
    assert call("_TGKILL", OWN) == ALLOW
    assert call("_CLONE", 0x3D0F00) == ALLOW
    assert call("_CLONE", 17) == call("_CLONE", 0x3D0F00 | 0x10000000) == refused
    assert call("_CLONE", 0x3D0F00 & ~0x400) == refused  # a thread with descriptors of its own
    assert call("_CLONE3", 0) == REFUSE | errno.ENOSYS
    assert call("_SOCKETPAIR", 1, 1 | 0x80000) == ALLOW
    assert call("_SOCKETPAIR", 1, 2) == refused  # datagrams
    for family in (2, 10, 16, 30, 40):  # the internet, netlink, TIPC, virtual machines
        assert call("_SOCKETPAIR", family, 1) == REFUSE | errno.EAFNOSUPPORT
    assert call("_IOCTL", 0, 0x5401) == ALLOW
    assert call("_IOCTL", 0, 0x5412) == REFUSE | errno.ENOTTY  # injecting terminal input
    assert call("_FCNTL", 0, 3) == ALLOW
    # Signals on events, leases, notices, the size of a pipe, hints on a file.
    for command in (8, 10, 15, 1024, 1025, 1026, 1031, 1035, 1036):
        assert call("_FCNTL", 0, command) == refused
    for lock in (6, 7, 37, 38):
        assert call("_FCNTL", 0, lock) == NO_EFFECT
    assert call("_FCNTL", 0, 5) == ALLOW  # reading a lock
    assert call("_MADVISE", 0, 4096, 4) == ALLOW
    for advice in (12, 20, 21, 100, 101):  # merging, cold, page out, broken memory
        assert call("_MADVISE", 0, 4096, advice) == REFUSE | errno.EINVAL
    for vectored in ("_PREADV2", "_PWRITEV2"):
        assert call(vectored, 3, 0, 1, 0, 0, 0) == ALLOW
        for flag in (1, 8, 0x80):  # polling, only what is cached, without caching
            assert call(vectored, 3, 0, 1, 0, 0, flag) == REFUSE | errno.EOPNOTSUPP
    assert call("_PRCTL", 15) == ALLOW
    assert call("_PRCTL", 38) == refused
    assert call("_CLOSE_RANGE", 3, 9, 0) == ALLOW
    assert call("_CLOSE_RANGE", 3, 9, 2) == refused
    assert call("_PRLIMIT", 0) == ALLOW
    assert call("_PRLIMIT", 1) == refused


def test_without_namespaces_a_process_can_ask_only_about_itself(machine: str) -> None:
    column, arch = MACHINES[machine]
    program = seccomp.program(OWN, isolated=False)

    def call(name: str, *arguments: int) -> int:
        number = seccomp._ALLOWED[name][column]
        return decide(program, number, arch, *arguments)

    refused = REFUSE | errno.EPERM
    assert call("getppid") == NO_EFFECT  # 0, as in a process namespace
    for name in ("getpgid", "getsid", "sched_getparam", "sched_getscheduler", "get_robust_list"):
        assert call(name, 0) == call(name, OWN) == ALLOW
        assert call(name, 1) == call(name, OWN + 1) == refused
    assert call("sched_getaffinity", 0) == ALLOW
    assert call("sched_getaffinity", 1) == REFUSE | errno.ENOSYS
    assert call("getpriority", 0, 0) == ALLOW
    assert call("getpriority", 0, 1) == call("getpriority", 1, 0) == refused
    of_process_1 = 0xFFFFFFFF & (~1 << 3 | 2)
    for name in ("clock_gettime", "clock_getres", "clock_nanosleep", "timer_create"):
        assert call(name, 1) == call(name, 3) == ALLOW
        assert call(name, of_process_1) == REFUSE | errno.EINVAL


def test_dangerous_system_calls_are_not_allowed() -> None:
    """The table lists x86-64 numbers of calls that would break the isolation."""
    dangerous = {
        "socket": 41, "connect": 42, "accept": 43, "bind": 49, "fork": 57, "vfork": 58,
        "execve": 59, "ptrace": 101, "mount": 165, "umount2": 166, "unshare": 272, "setns": 308,
        "process_vm_readv": 310, "memfd_create": 319, "bpf": 321, "execveat": 322,
        "userfaultfd": 323, "io_uring_setup": 425, "pidfd_open": 434, "pidfd_getfd": 438,
        "keyctl": 250, "perf_event_open": 298, "chroot": 161, "pivot_root": 155, "mknod": 133,
        "setsockopt": 54, "shmget": 29, "semget": 64, "msgget": 68, "mq_open": 240,
        "open_by_handle_at": 304, "mincore": 27, "cachestat": 451, "process_madvise": 440,
        "process_mrelease": 448, "kcmp": 312, "sched_getattr": 315, "ioprio_get": 252,
        "init_module": 175, "kexec_load": 246, "reboot": 169,
    }  # fmt: skip
    allowed = {numbers[0] for numbers in seccomp._ALLOWED.values()}
    assert not {name for name, number in dangerous.items() if number in allowed}
