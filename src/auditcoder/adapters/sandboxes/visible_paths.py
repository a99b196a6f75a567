"""The paths that a candidate may read: the interpreter, its libraries, declared packages."""

import re
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from auditcoder.domain.errors import SandboxError

_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")


def interpreter() -> str:
    """Return the path of the interpreter itself, not of a virtual environment's link to it."""
    base = getattr(sys, "_base_executable", "") or sys.executable
    return str(Path(base).resolve())


def standard_library() -> list[str]:
    """Return the folders of the standard library and of the shared libraries under it."""
    machine = sysconfig.get_config_var("MULTIARCH") or "none"
    shared = [f"/lib/{machine}", f"/usr/lib/{machine}"]
    if not any(Path(path).is_dir() for path in shared):
        shared = ["/lib", "/usr/lib"]
    own = [str(path) for path in (Path(sys.base_prefix) / "lib").glob("libpython*")]
    folders = [
        sysconfig.get_path("stdlib"),
        f"{sys.base_exec_prefix}/lib/python{sysconfig.get_python_version()}",
        *own,
        *shared,
        "/lib64",
        "/usr/lib64",
        "/etc/ld.so.cache",
        "/usr/share/zoneinfo",
    ]
    return [path for path in dict.fromkeys(folders) if Path(path).exists()]


def undeclared_packages() -> list[str]:
    """Return the folders inside the standard library that hold installed packages."""
    folder = Path(sysconfig.get_path("stdlib"))
    return [str(folder / name) for name in ("site-packages", "dist-packages")]


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
