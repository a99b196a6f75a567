"""Machines that offer less isolation, as containers do: their kernel refuses some system calls."""

import platform

# System call numbers differ between the architectures.
UNSHARE, MOUNT, PIVOT_ROOT = (272, 165, 155) if platform.machine() == "x86_64" else (97, 40, 41)
LANDLOCK_CREATE_RULESET = 444


def refusing(*calls: int) -> str:
    """Return code that makes the kernel refuse these calls to its process and its children."""
    refused = [f"(0x15, 0, 1, {call}), (0x06, 0, 0, 0x00050001)" for call in calls]
    return (
        "import struct\n"
        "from auditcoder.sandboxed import kernel, seccomp\n"
        f"steps = [(0x20, 0, 0, 0), {', '.join(refused)}, (0x06, 0, 0, 0x7FFF0000)]\n"
        "kernel.set_no_new_privileges()\n"
        "seccomp.install(b''.join(struct.pack('=HBBI', *s) for s in steps))\n"
    )
