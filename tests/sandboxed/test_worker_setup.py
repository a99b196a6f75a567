"""The first stage of the worker decides on layers, users and visible folders."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from auditcoder.sandboxed import worker_setup

ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="only root can change its user")


@pytest.fixture
def config(tmp_path: Path) -> dict[str, object]:
    library = tmp_path / "library"
    (library / "json").mkdir(parents=True)
    (library / "site-packages").mkdir()
    (library / "os.py").touch()
    package = tmp_path / "packages-of-others" / "numpy"
    package.mkdir(parents=True)
    state = tmp_path / "state"
    state.mkdir()
    return {
        "layers": [],
        "state": str(state),
        "code": str(tmp_path),
        "interpreter": sys.executable,
        "interpreter_files": [],
        "library": str(library),
        "library_name": "lib/python3",
        "shared": ["/lib"],
        "hidden": [str(library / "site-packages")],
        "package_files": [str(package)],
        "packages": ["numpy"],
    }


def test_layers_that_were_not_asked_for_are_named_as_missing(config: dict[str, object]) -> None:
    settings = worker_setup.isolated(config)
    assert settings["layers"] == ["rlimits"]
    assert settings["missing"].keys() >= {"namespaces", "landlock", "seccomp"}


def test_links_lead_to_the_library_and_declared_packages_only(config: dict[str, object]) -> None:
    settings = worker_setup.isolated(config)
    linked = Path(settings["home"], "lib/python3")
    assert {path.name for path in linked.iterdir()} == {"json", "os.py"}
    assert [path.name for path in Path(settings["package_folder"]).iterdir()] == ["numpy"]


def test_hidden_folders_are_left_out_of_what_is_granted(tmp_path: Path) -> None:
    for folder in ("a/b/hidden", "a/b/seen", "a/c", "other"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a/link").symlink_to(tmp_path / "other")
    hidden = [f"{tmp_path}/a/b/hidden"]
    granted = set(worker_setup._without(f"{tmp_path}/a", hidden))
    assert granted == {f"{tmp_path}/a/b/seen", f"{tmp_path}/a/c"}
    assert list(worker_setup._without(f"{tmp_path}/a/c", hidden)) == [f"{tmp_path}/a/c"]
    assert list(worker_setup._without(hidden[0], hidden)) == []


def test_the_loaded_libraries_of_the_process_are_files() -> None:
    loaded = worker_setup._loaded()
    assert any("libc" in path for path in loaded)
    assert all(Path(path).is_file() for path in loaded)


def test_a_file_is_shown_in_the_new_root_only_if_it_exists(tmp_path: Path) -> None:
    worker_setup._show(str(tmp_path), "/no/such/file")
    assert list(tmp_path.iterdir()) == []


@ROOT_ONLY
def test_root_finds_an_unprivileged_user() -> None:
    with tempfile.TemporaryDirectory() as folder:  # unlike pytest's, in a folder open to others
        Path(folder).chmod(0o711)
        uid, uids = worker_setup._unprivileged_ids(folder)
        assert uid > 0
        assert uids > 0
        assert list(Path(folder).iterdir()) == []
    assert os.getuid() == 0


@ROOT_ONLY
def test_an_attempt_as_another_user_has_only_its_rights(tmp_path: Path) -> None:
    (tmp_path / "mine").touch(mode=0o600)
    assert not worker_setup._tried_as(65534, "", lambda: os.access(tmp_path / "mine", os.R_OK))
    assert worker_setup._tried_as(65534, "", lambda: os.getuid() == os.getgid() == 65534)


@ROOT_ONLY
def test_a_process_that_may_not_change_its_user_stays_root_and_says_so(
    config: dict[str, object],
) -> None:
    """As in a container that dropped all capabilities."""
    code = (
        "import json, os, sys\n"
        "from auditcoder.sandboxed import kernel, worker_setup\n"
        "kernel.drop_privileges(0)\n"
        "settings = worker_setup.isolated(json.load(sys.stdin))\n"
        "print(settings['uid'], settings['uids'], 'unprivileged user' in settings['missing'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(config),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0 1 True\n"


def test_a_worker_without_a_configuration_ends(tmp_path: Path) -> None:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    start = Path(worker_setup.__file__).with_name("worker_start.py")
    with near, far:
        near.shutdown(socket.SHUT_WR)
        done = subprocess.run(
            [sys.executable, str(start), str(far.fileno())],
            pass_fds=(far.fileno(),),
            capture_output=True,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode != 0
