"""The paths that a candidate may read: the interpreter, its libraries, declared packages."""

import re
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import auditcoder
from auditcoder.adapters import user_folders
from auditcoder.domain.errors import SandboxError

_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")


def interpreter() -> str:
    """Return the path of the interpreter itself, not of a virtual environment's link to it."""
    base = getattr(sys, "_base_executable", "") or sys.executable
    return str(Path(base).resolve())


def standard_library() -> list[str]:
    """Return the standard library, the interpreter's own and the shared libraries under it."""
    return [library_folder(), *interpreter_files(), *shared_libraries()]


def library_folder() -> str:
    """Return the folder of the standard library."""
    return sysconfig.get_path("stdlib")


def interpreter_files() -> list[str]:
    """Return the interpreter's own shared libraries."""
    return [str(path) for path in (Path(sys.base_prefix) / "lib").glob("libpython*.so*")]


def shared_libraries() -> list[str]:
    """Return the shared libraries of the system, the locale of programs, and the time zones."""
    machine = sysconfig.get_config_var("MULTIARCH") or "none"
    shared = [f"/lib/{machine}", f"/usr/lib/{machine}"]
    if not any(Path(path).is_dir() for path in shared):
        shared = ["/lib", "/usr/lib"]
    loaders = map(str, Path("/lib").glob("ld-*.so*"))
    locales = map(str, Path("/usr/lib/locale").glob("C.[uU]*"))
    others = ["/lib64", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo"]
    paths = [*shared, *loaders, *locales, *others]
    return [path for path in dict.fromkeys(paths) if Path(path).exists()]


def hidden_folders() -> list[str]:
    """Return the folders inside those above that hold installed packages or this project's files.

    Each is named by every path that leads to it from a visible folder.
    """
    visible = [path for path in (library_folder(), *shared_libraries()) if Path(path).is_dir()]
    packages = [
        str(folder)
        for path in visible
        for pattern in ("{name}", "python*/{name}")
        for name in ("site-packages", "dist-packages")
        for folder in Path(path).glob(pattern.format(name=name))
    ]
    ours = [*sys.path, str(Path(auditcoder.__file__).parent), *map(str, _user_folders())]
    own = {library_folder(), *(path for path in sys.path if path.endswith("lib-dynload"))}
    hidden = dict.fromkeys(packages)
    for path in visible:
        place = Path(path).resolve()
        for folder in (Path(entry).resolve() for entry in ours if entry and entry not in own):
            if place in folder.parents:
                hidden[str(Path(path) / folder.relative_to(place))] = None
    return [path for path in hidden if Path(path).is_dir()]


def _user_folders() -> list[Path]:
    folders = (
        user_folders.config_folder(),
        user_folders.data_folder(),
        user_folders.cache_folder(),
    )
    return [Path.cwd(), *(folder for folder in folders if folder)]


def package_files(names: Iterable[str]) -> list[Path]:
    """Return the files and folders of the named packages and of their dependencies."""
    owners = metadata.packages_distributions()
    pending = [owner for name in names for owner in _owners(name, owners)]
    seen: dict[str, None] = {}
    files: dict[Path, None] = {}
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen[name] = None
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # an optional dependency that is not installed
        files.update(dict.fromkeys(_top_level(distribution)))
        pending += [
            match[0]
            for line in distribution.requires or ()
            if "extra ==" not in line and (match := _REQUIREMENT.match(line))
        ]
    return list(files)


def _owners(name: str, owners: object) -> list[str]:
    assert isinstance(owners, dict) or hasattr(owners, "get")
    distributions = owners.get(name)
    if not distributions or find_spec(name) is None:
        raise SandboxError(
            "sandbox.package",
            f"the package {name}, which generated programs may import, is not installed",
            f"run `pip install {name}` in auditcoder's environment, or remove it from `packages`",
        )
    return list(distributions)


def _top_level(distribution: metadata.Distribution) -> list[Path]:
    parts = {Path(file.parts[0]) for file in distribution.files or () if file.parts[0] != ".."}
    places = (Path(str(distribution.locate_file(part))) for part in sorted(parts))
    return [place for place in places if place.exists() and place.name != "__pycache__"]
