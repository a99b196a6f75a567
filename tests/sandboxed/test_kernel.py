"""Restrictions take effect in the process that asks for them, and stay."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from auditcoder.sandboxed import kernel


def run(code: str) -> str:
    """Run code in its own process, because restrictions cannot be lifted."""
    start = "import os, resource\nfrom auditcoder.sandboxed import kernel\n"
    done = subprocess.run(
        [sys.executable, "-c", start + code], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or done.stderr.strip().rsplit("\n", 1)[-1]


def test_memory_has_a_soft_limit_with_a_reserve_above_it() -> None:
    code = (
        "kernel.limit(1 << 30, 5.0, 1000, 64)\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_AS)\n"
        "print(soft == 1 << 30, hard - soft == 32 << 20)"
    )
    assert run(code) == "True True"


def test_size_of_files_and_core_dumps_are_limited() -> None:
    code = (
        "kernel.limit(1 << 30, 5.0, 1000, 64)\n"
        "print(resource.getrlimit(resource.RLIMIT_FSIZE), resource.getrlimit(resource.RLIMIT_CORE))"
    )
    assert run(code) == "(1000, 1000) (0, 0)"


def test_descriptors_from_a_number_on_are_closed() -> None:
    code = (
        "kept, gone = os.dup2(1, 10), os.dup2(1, 20)\nkernel.close_from(11)\nos.fstat(10)\n"
        "try: os.fstat(20)\nexcept OSError: print('closed')"
    )
    assert run(code) == "closed"


def test_descriptors_between_two_numbers_are_closed() -> None:
    code = (
        "low, high = os.dup2(1, 10), os.dup2(1, 20)\nkernel.close_from(10, 19)\nos.fstat(20)\n"
        "try: os.fstat(10)\nexcept OSError: print('closed')"
    )
    assert run(code) == "closed"


def test_privileges_cannot_be_gained_after_giving_that_up() -> None:
    code = (
        "kernel.set_no_new_privileges()\n"
        "print([l for l in open('/proc/self/status') if l.startswith('NoNewPrivs')][0].split()[1])"
    )
    assert run(code) == "1"


def test_no_capability_is_left_after_dropping_privileges() -> None:
    code = (
        "status = open('/proc/self/status')\nkernel.drop_privileges(os.getuid())\n"
        "print({l.split()[1] for l in status if l.startswith(('CapPrm', 'CapEff'))})"
    )
    assert run(code) == "{'0000000000000000'}"


@pytest.mark.skipif(not kernel.landlock_version(), reason="the kernel offers no Landlock")
def test_only_files_that_the_rules_name_can_be_opened(tmp_path: Path) -> None:
    for name in ("seen", "opened", "hidden", "own"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    code = (
        f"os.chdir({str(tmp_path)!r})\n"
        "rules = kernel.file_rules(['seen', os.open('opened', os.O_PATH)], 'own', [])\n"
        "kernel.set_no_new_privileges()\nkernel.restrict_files(rules)\n"
        "def attempt(path, mode):\n"
        "    try: open(path, mode).close()\n"
        "    except PermissionError: return 'refused'\n"
        "    return 'open'\n"
        "print(attempt('seen/file', 'r'), attempt('seen/file', 'a'), attempt('own/file', 'a'),"
        " attempt('opened/file', 'r'), attempt('hidden/file', 'r'))"
    )
    assert run(code) == "open refused open open refused"


def test_a_failed_system_call_is_named() -> None:
    with pytest.raises(OSError, match="bind /no/such/place"):
        kernel.bind("/no/such/place", "/no/such/target")


def test_the_address_space_of_the_process_is_measured() -> None:
    size = os.open("/proc/self/statm", os.O_RDONLY)
    assert kernel.address_space(size) > 1 << 20
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(size)
