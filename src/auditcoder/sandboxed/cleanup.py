"""Removes the files that a candidate left, whatever their modes, names and depth."""

import contextlib
import os
import stat


def remove(folder: str) -> None:
    """Remove a folder and everything in it, without recursion and without long paths."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(folder).st_mode):
            os.chmod(folder, 0o700)  # noqa: PTH101
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(folder)  # noqa: PTH106


def _empty(top: int) -> None:
    """Empty a folder by moving nested entries to its top first, so that no path grows long.

    They get random names there, which no program can occupy before.
    """
    while names := os.listdir(top):
        for name in names:
            with contextlib.suppress(OSError):
                if not stat.S_ISDIR(os.lstat(name, dir_fd=top).st_mode):
                    os.unlink(name, dir_fd=top)
                    continue
                os.chmod(name, 0o700, dir_fd=top)
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
                try:
                    for below in os.listdir(inner):  # noqa: PTH208 - a descriptor
                        _move_up(below, inner, f".lifted-{os.urandom(16).hex()}", top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
        if os.listdir(top) == names:
            return  # no progress; removing the folder above will fail


def _move_up(name: str, inner: int, lifted: str, top: int) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(name, dir_fd=inner).st_mode):
            os.chmod(name, 0o700, dir_fd=inner)  # a folder that moves must be writable itself
        os.rename(name, lifted, src_dir_fd=inner, dst_dir_fd=top)
