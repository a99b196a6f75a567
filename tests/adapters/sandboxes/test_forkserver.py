"""The sandbox on this machine, with all isolation layers and with fewer."""

import ast
import contextlib
import math
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import auditcoder
from auditcoder.adapters.sandboxes import visible_paths
from auditcoder.adapters.sandboxes.forkserver import LAYERS, LocalSandbox
from auditcoder.domain.errors import SandboxError
from auditcoder.domain.execution import (
    Bounds,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    Returned,
    RunFiles,
    RunProgram,
)
from auditcoder.domain.value_decoder import Array, Scalar, read
from auditcoder.lifecycle.ports import Sandbox
from tests.conformance.sandbox import IsolatedSandboxConformance, SandboxConformance

FULL = "user+pid+ipc+net+uts+mount+landlock+seccomp+rlimits"


def run(sandbox: Sandbox, source: str) -> ExecutionOutcome:
    return sandbox.run(Execution(source=source, action=RunProgram(), bounds=Bounds(seconds=60)))


class TestWithAllLayers(IsolatedSandboxConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls) -> Iterator[Sandbox]:
        with LocalSandbox() as sandbox:
            assert sandbox.kind == FULL
            yield sandbox

    def test_a_program_can_use_locks_in_shared_memory(self, sandbox: Sandbox) -> None:
        source = (
            "from multiprocessing.pool import ThreadPool\n"
            "with ThreadPool(2) as pool: print(*pool.map(str, ['ok']))"
        )
        assert self.run(sandbox, source).stdout == b"ok\n"

    def test_a_signal_to_itself_is_ignored_unless_it_is_handled(self, sandbox: Sandbox) -> None:
        source = (
            "import os, signal\nfor number in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):\n"
            "    os.kill(os.getpid(), number)\n"
            "signal.signal(signal.SIGTERM, lambda *_: print('handled'))\n"
            "os.kill(os.getpid(), signal.SIGTERM)\n"
        )
        outcome = self.run(sandbox, source)
        assert (outcome.ending, outcome.stdout) == (Ending.OK, b"handled\n")

    def test_host_interpreter_and_user_have_other_names(self, sandbox: Sandbox) -> None:
        source = (
            "import json, os, socket, sys\nprint(socket.gethostname(), os.uname().nodename)\n"
            "print(sys.prefix, sys.executable, json.__file__.startswith('/python/lib'))\n"
            "print(os.getpid(), os.getppid(), os.getuid() != int(input()))\n"
        )
        outcome = self.run(sandbox, source, RunProgram(stdin=f"{os.getuid()}\n"))
        assert outcome.stdout.splitlines() == [
            b"sandbox sandbox",
            b"/python /python/bin/python3 True",
            b"1 0 True",
        ]

    def test_attributes_of_its_own_files_can_be_changed(self, sandbox: Sandbox) -> None:
        source = (
            "import os, shutil\nopen('a', 'w').write('x')\nos.chmod('a', 0o600)\n"
            "os.utime('a', (1, 1))\nshutil.copy('a', 'b')\nos.symlink('a', 'link')\n"
            "print(oct(os.stat('a').st_mode), os.stat('a').st_mtime, open('b').read())\n"
            "print(os.readlink('link'), os.statvfs('.').f_blocks > 0)\n"
        )
        assert self.run(sandbox, source).stdout == b"0o100600 1.0 x\na True\n"


def test_the_root_holds_the_interpreter_libraries_and_one_writable_folder() -> None:
    """Without Landlock, which would refuse to list it."""
    source = (
        "import os\nshown, writable = set(), set()\n"
        "for place, folders, files in os.walk('/'):\n"
        "    shown |= {os.path.join(place, name) for name in files}\n"
        "    try: os.mkdir(place + '/made')\n"
        "    except OSError: continue\n"
        "    writable.add(place)\n    os.rmdir(place + '/made')\n"
        "print([sorted(shown), sorted(writable)])\n"
    )
    with LocalSandbox(layers=("namespaces", "seccomp")) as sandbox:
        outcome = sandbox.run(
            Execution(
                source=source,
                action=RunProgram(),
                bounds=Bounds(seconds=60, output_bytes=64 << 20),
            )
        )
    assert outcome.ending is Ending.OK, outcome
    shown, writable = ast.literal_eval(outcome.stdout.decode())
    known = ("/python/", "/dev/", "/private/", *visible_paths.shared_libraries())
    assert [path for path in shown if not path.startswith(known) and ".so" not in path] == []
    assert [place for place in writable if not place.startswith("/private/")] == []
    assert writable


class _SharedRoot(SandboxConformance):
    """A sandbox without namespaces, whose library may be reachable by root only."""

    def test_no_descriptor_is_inherited(self, sandbox: Sandbox) -> None:
        """Except for those that only name a folder of the library."""
        source = (
            "import fcntl, os\nfor n in range(1024):\n"
            "    try: mode = fcntl.fcntl(n, fcntl.F_GETFL)\n    except OSError: continue\n"
            "    if n < 240 or not mode & os.O_PATH: print(n)\n"
        )
        assert self.run(sandbox, source).stdout.split() == [b"0", b"1", b"2", b"3"]

    @pytest.mark.skipif(os.getuid() != 0, reason="all runs have the same user")
    def test_a_run_with_a_user_of_its_own_has_at_most_64_threads(self, sandbox: Sandbox) -> None:
        source = (
            "import threading\nthreading.stack_size(1 << 16)\nend = threading.Event()\n"
            "ts = [threading.Thread(target=end.wait) for _ in range(100)]\n"
            "try:\n    for t in ts: t.start()\n"
            "except RuntimeError: print(threading.active_count())\nend.set()\n"
        )
        # A thread that could not start counts as active in some versions of Python.
        assert self.run(sandbox, source).stdout in {b"64\n", b"65\n"}

    @pytest.mark.skipif(os.getuid() != 0, reason="the user keeps its id")
    def test_programs_do_not_run_as_root(self, sandbox: Sandbox) -> None:
        source = "import os\nprint(*os.getresuid(), *os.getresgid(), *os.getgroups())"
        ids = self.run(sandbox, source).stdout.split()
        assert len(ids) == 6
        assert all(int(number) > 0 for number in ids)


class TestWithoutNamespaces(_SharedRoot, IsolatedSandboxConformance):
    """As in a container that forbids namespaces."""

    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls) -> Iterator[Sandbox]:
        with LocalSandbox(layers=("landlock", "seccomp")) as sandbox:
            assert sandbox.kind == "landlock+seccomp+rlimits"
            yield sandbox

    def test_a_working_folder_replaced_by_a_link_is_not_followed(
        self, sandbox: Sandbox, tmp_path: Path
    ) -> None:
        (tmp_path / "secret").write_text("mine")
        source = "import os\nos.chdir('..')\nos.rename('work', 'gone')\n"
        source += f"os.symlink({str(tmp_path)!r}, 'work')"
        action = RunFiles(inputs={}, artefacts=("secret",))
        (artefact,) = self.run(sandbox, source, action).artefacts
        assert artefact.content is None

    @pytest.mark.parametrize(
        "act",
        ["os.chmod(p, 0)", "os.chown(p, 1, 1)", "os.utime(p, (1, 1))", "open(p)", "os.remove(p)"],
    )
    def test_files_outside_the_sandbox_cannot_be_accessed(
        self, sandbox: Sandbox, tmp_path: Path, act: str
    ) -> None:
        path = tmp_path / "mine"
        path.write_text("x")
        before = path.stat()
        outcome = self.run(sandbox, f"import os\np = {str(path)!r}\n{act}")
        assert outcome.ending is Ending.EXCEPTION
        after = path.stat()
        assert (after.st_mode, after.st_uid, after.st_mtime) == (
            before.st_mode,
            before.st_uid,
            before.st_mtime,
        )

    def test_a_signal_to_itself_ends_a_program_as_usual(self, sandbox: Sandbox) -> None:
        outcome = self.run(sandbox, "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
        assert (outcome.ending, outcome.signal) == (Ending.KILLED, signal.SIGTERM)

    def test_attributes_of_its_own_files_are_neither_told_nor_changed(
        self, sandbox: Sandbox
    ) -> None:
        source = (
            "import os, shutil\nopen('a', 'w').write('x')\nos.symlink('a', 'link')\n"
            "for act in (lambda: os.chmod('a', 0o600), lambda: os.utime('a', (1, 1)),\n"
            "            lambda: os.chown('a', os.getuid(), -1), lambda: os.statvfs('.'),\n"
            "            lambda: os.readlink('link'), lambda: os.listxattr('a'),\n"
            "            lambda: shutil.copy('a', 'b')):\n"
            "    try: print(act())\n    except OSError: pass\n"
            "shutil.copyfile('a', 'c')\n"
        )
        outcome = self.run(sandbox, source)
        assert (outcome.ending, outcome.stdout) == (Ending.OK, b"")

    def test_installed_packages_cannot_be_read(self, sandbox: Sandbox) -> None:
        folders = [Path(path) for path in visible_paths.hidden_folders()]
        folders += {Path(msgspec.__file__).parent, Path(pytest.__file__).parent}
        files = [next(folder.rglob("*.py")) for folder in folders if any(folder.rglob("*.py"))]
        assert self._readable(sandbox, [*folders, *files]) == []

    def test_files_of_the_project_and_the_user_cannot_be_read(
        self, sandbox: Sandbox, tmp_path: Path
    ) -> None:
        ours = Path(auditcoder.__file__).parent
        (tmp_path / "hidden_tests.json").write_text("[]")
        places = [ours, ours / "__init__.py", ours / "sandboxed" / "seccomp.py", Path.home()]
        places += [Path.cwd(), Path(__file__), tmp_path, tmp_path / "hidden_tests.json"]
        places += [path for path in Path.cwd().iterdir() if path.is_file()]
        assert self._readable(sandbox, places) == []

    def _readable(self, sandbox: Sandbox, places: list[Path]) -> list[str]:
        source = (
            "import os\nfor place in eval(input()):\n"
            "    try: os.listdir(place) if os.path.isdir(place) else open(place)\n"
            "    except OSError: continue\n"
            "    print(place)\n"
        )
        stdin = f"{list(map(str, places))!r}\n"
        outcome = self.run(sandbox, source, RunProgram(stdin=stdin))
        assert outcome.ending is Ending.OK
        return outcome.stdout.decode().splitlines()

    def test_the_library_can_still_be_listed_and_imported(self, sandbox: Sandbox) -> None:
        source = (
            "import pkgutil, sys\nnames = {m.name for m in pkgutil.iter_modules()}\n"
            "print(len(names & sys.stdlib_module_names) > 200, names & {'pip', 'msgspec'})\n"
            "import xml.dom.minidom, tomllib, difflib, wsgiref.util\n"
        )
        assert self.run(sandbox, source).stdout == b"True set()\n"

    def test_links_and_attributes_of_files_are_not_told(
        self, sandbox: Sandbox, tmp_path: Path
    ) -> None:
        tmp_path.chmod(0o755)
        (tmp_path / "link").symlink_to("/where/nobody/looks")
        with contextlib.suppress(OSError):  # not on every file system
            os.setxattr(tmp_path, "user.note", b"private")
        source = (
            "import os\np = input()\n"
            "for act in (lambda: os.readlink(p + '/link'), lambda: os.listxattr(p),\n"
            "            lambda: os.getxattr(p, 'user.note'), lambda: os.statvfs(p)):\n"
            "    try: print(act())\n    except OSError: pass\n"
        )
        outcome = self.run(sandbox, source, RunProgram(stdin=f"{tmp_path}\n"))
        assert (outcome.ending, outcome.stdout) == (Ending.OK, b"")

    def test_other_processes_are_not_told_about(self, sandbox: Sandbox) -> None:
        source = (
            "import os, time, resource\nprint(os.getppid())\nother = int(input())\n"
            "for act in (os.getpgid, os.getsid, os.sched_getaffinity, os.sched_getscheduler,\n"
            "            os.sched_getparam, lambda p: os.getpriority(os.PRIO_PROCESS, p),\n"
            "            lambda p: os.kill(p, 0), lambda p: time.clock_gettime(~p << 3 | 2),\n"
            "            lambda p: resource.prlimit(p, resource.RLIMIT_CPU), os.pidfd_open):\n"
            "    try: print(act, act(other))\n    except OSError: pass\n"
        )
        outcome = self.run(sandbox, source, RunProgram(stdin=f"{os.getpid()}\n"))
        assert (outcome.ending, outcome.stdout) == (Ending.OK, b"0\n")

    @pytest.mark.system_interpreter
    @pytest.mark.skipif(os.getuid() != 0, reason="this is the case in the other tests")
    def test_without_root_programs_keep_the_users_id_and_the_same_walls(self) -> None:
        interpreter = f"/usr/bin/python3.{sys.version_info.minor}"
        if not Path(interpreter).exists():
            pytest.skip("no interpreter that another user may run")
        code = (
            "import os, sys\nfrom auditcoder.adapters.sandboxes.forkserver import LocalSandbox\n"
            "from auditcoder.domain.execution import *\n"
            "source = 'import os, csv, ctypes, xml.dom.minidom\\nprint(os.getuid())\\n'\n"
            "source += f'for p in {sys.argv[1:]}:\\n try: print(open(p).read(9))\\n'\n"
            "source += ' except OSError: pass'\n"
            "with LocalSandbox(layers=('landlock', 'seccomp')) as s:\n"
            "    print(s.kind, s.run(Execution(source=source, action=RunProgram())).stdout)\n"
        )
        unread = [auditcoder.__file__, msgspec.__file__, __file__, "/etc/passwd"]
        modules = (auditcoder.__file__, msgspec.__file__)
        done = subprocess.run(
            [interpreter, "-c", code, *unread],
            env={"PYTHONPATH": os.pathsep.join(str(Path(file).parents[1]) for file in modules)},
            user=65534,
            group=65534,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == "landlock+seccomp+rlimits b'65534\\n'\n", done.stderr

    def test_a_socket_outside_the_sandbox_cannot_be_reached(
        self, sandbox: Sandbox, tmp_path: Path
    ) -> None:
        address = str(tmp_path / "door")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.bind(address)
            listener.setblocking(False)
            source = (
                "import socket\na, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                f"a.sendto(b'x', {address!r})"
            )
            assert self.run(sandbox, source).ending is Ending.EXCEPTION
            with pytest.raises(BlockingIOError):
                listener.recv(1)

    def test_deeply_nested_folders_are_removed(self, sandbox: Sandbox) -> None:
        source = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nprint('done')"
        assert self.run(sandbox, source).stdout == b"done\n"
        assert self.run(sandbox, "print(1)").ending is Ending.OK


class TestWithLimitsOnly(_SharedRoot):
    """As on a kernel that offers no isolation layer."""

    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls) -> Iterator[Sandbox]:
        with LocalSandbox(layers=()) as sandbox:
            assert sandbox.kind == "rlimits"
            yield sandbox


class TestReproducibility:
    """The lists in the guide of what is the same in every run, and what is not."""

    def outputs(self, source: str, packages: tuple[str, ...] = ()) -> list[bytes]:
        """Return what a program prints in two runs of each of three sandboxes."""
        found = []
        for layers in (LAYERS, ("landlock", "seccomp"), LAYERS):
            with LocalSandbox(packages, layers) as sandbox:
                outcomes = [run(sandbox, source) for _ in range(2)]
            assert {outcome.ending for outcome in outcomes} == {Ending.OK}, outcomes
            found += [outcome.stdout for outcome in outcomes]
        return found

    def test_what_the_guide_lists_is_the_same_in_every_run_worker_and_sandbox(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = (
            "import locale, os, random, sys, time\n"
            "values = ['a', b'b', 3, 2.5, ('x', 1), frozenset({'p', 'q'})]\n"
            "print(list(map(hash, values)), {*'auditcoder'}, {n: {str(n)} for n in range(9)})\n"
            "print(locale.setlocale(locale.LC_ALL), sys.getfilesystemencoding(), sys.flags)\n"
            "print(sys.stdin.encoding, sys.stdout.encoding, time.tzname, time.timezone)\n"
            "print(dict(os.environ), oct(os.umask(0)))\n"
            "print(random.random(), random.sample(range(99), 5), random.gauss(0, 1))\n"
        )
        monkeypatch.setenv("TZ", "Asia/Tokyo")
        monkeypatch.setenv("PYTHONHASHSEED", "7")
        before = os.umask(0o077)
        try:
            outputs = self.outputs(source)
        finally:
            os.umask(before)
        assert len(set(outputs)) == 1, set(outputs)
        assert b"('UTC', 'UTC') 0" in outputs[0]
        assert b"{} 0o22" in outputs[0]

    def test_random_numbers_of_numpy_are_the_same_if_its_module_makes_them(self) -> None:
        outputs = self.outputs("import numpy; print(numpy.random.rand(3))", ("numpy",))
        assert len(set(outputs)) == 1

    @pytest.mark.parametrize(
        "expression",
        [
            "os.urandom(8)",
            "secrets.token_hex(8)",
            "uuid.uuid4()",
            "random.Random().random()",
            "random.SystemRandom().random()",
            "tempfile.mktemp()",
            "time.time_ns()",
        ],
    )
    def test_what_the_guide_lists_as_different_differs(self, expression: str) -> None:
        source = f"import os, random, secrets, tempfile, time, uuid; print({expression})"
        outputs = self.outputs(source)
        assert len(set(outputs)) == len(outputs)

    def test_addresses_differ_between_workers(self) -> None:
        outputs = self.outputs("print(id(object), hash(object))")
        assert len(set(outputs)) > 1


class TestPackagesWithoutNamespaces:
    def test_only_declared_packages_can_be_imported(self) -> None:
        source = (
            "import numpy.linalg as n; print(n.norm([3, 4]), n.__file__.count('site-packages'))\n"
            "import msgspec"
        )
        with LocalSandbox(packages=("numpy",), layers=("landlock", "seccomp")) as sandbox:
            outcome = run(sandbox, source)
        assert outcome.stdout == b"5.0 0\n"
        assert outcome.raised is not None
        assert outcome.raised.exception == "ModuleNotFoundError"


class TestPackages:
    @pytest.fixture(scope="class")
    @classmethod
    def numeric(cls) -> Iterator[Sandbox]:
        with LocalSandbox(packages=("numpy",)) as sandbox:
            yield sandbox

    def test_a_declared_package_can_be_imported(self, numeric: Sandbox) -> None:
        outcome = run(numeric, "import numpy.linalg as n; print(n.norm([3, 4]))")
        assert outcome.stdout == b"5.0\n"

    def test_packages_are_in_a_folder_of_their_own(self, numeric: Sandbox) -> None:
        outcome = run(numeric, "import numpy; print(numpy.__file__)")
        assert outcome.stdout == b"/packages/numpy/__init__.py\n"

    def test_an_undeclared_package_cannot_be_imported(self, numeric: Sandbox) -> None:
        outcome = run(numeric, "import msgspec")
        assert outcome.raised is not None
        assert outcome.raised.exception == "ModuleNotFoundError"

    def test_a_package_cannot_be_modified(self, numeric: Sandbox) -> None:
        outcome = run(numeric, "import numpy; open(numpy.__file__, 'a').write('x')")
        assert outcome.ending is Ending.EXCEPTION

    def test_arrays_are_returned_with_their_type_and_shape(self, numeric: Sandbox) -> None:
        source = "import numpy as np\ndef f(): return np.arange(4, dtype='f4').reshape(2, 2)\n"
        action = CallFunction(calls=("f()",))
        (array,) = numeric.run(Execution(source=source, action=action)).calls
        assert isinstance(array, Returned)
        assert read(array.value) == Array(dtype="float32", shape=(2, 2), items=(0.0, 1.0, 2.0, 3.0))

    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("np.float64(2.0)", 2.0),
            ("np.float32(0.5)", 0.5),
            ("np.longdouble(0.5)", 0.5),
            ("np.int64(7)", 7),
            ("np.uint64(2**63)", 2**63),
            ("np.bool_(True)", True),
            ("np.complex64(1+2j)", 1 + 2j),
            ("[np.int8(1), (np.float64('inf'),)]", [1, (math.inf,)]),
            ("np.datetime64(1, 'ns')", Scalar(dtype="datetime64[ns]", value=1)),
        ],
    )
    def test_numbers_of_numpy_are_returned_as_those_of_python(
        self, numeric: Sandbox, expression: str, value: object
    ) -> None:
        action = CallFunction(calls=(expression,))
        (found,) = numeric.run(Execution(source="import numpy as np", action=action)).calls
        assert isinstance(found, Returned)
        assert read(found.value) == value
        assert type(read(found.value)) is type(value)

    def test_random_numbers_of_packages_are_seeded(self, numeric: Sandbox) -> None:
        source = "import numpy as np; print(np.random.rand())"
        assert run(numeric, source).stdout == run(numeric, source).stdout

    def test_a_package_that_is_not_installed_is_reported(self) -> None:
        with pytest.raises(SandboxError) as refused:
            LocalSandbox(packages=("no_such_package",))
        assert refused.value.code == "sandbox.package"
        assert "pip install no_such_package" in refused.value.advice


class TestWorker:
    def test_a_killed_worker_is_replaced(self) -> None:
        before = set(_children(os.getpid()))
        with LocalSandbox() as sandbox:
            run(sandbox, "pass")
            for pid in set(_children(os.getpid())) - before:
                os.kill(pid, signal.SIGKILL)
            assert run(sandbox, "print(1)").stdout == b"1\n"

    def test_no_process_is_left_when_the_sandbox_is_closed(self) -> None:
        before = set(_children(os.getpid()))
        sandbox = LocalSandbox()
        sleeping = threading.Thread(
            target=lambda: _run_ignoring_errors(sandbox, "import time; time.sleep(3600)")
        )
        sleeping.start()

        def process_tree() -> set[int]:
            started = set(_children(os.getpid())) - before
            return {pid for child in started for pid in (child, *_descendants(child))}

        wait_until(lambda: len(process_tree()) >= 3)
        running = process_tree()
        sandbox.close()
        sleeping.join(60)
        assert not sleeping.is_alive()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in running))

    def test_no_process_is_left_when_the_caller_is_killed(self) -> None:
        code = (
            "import os, threading, time\n"
            "from auditcoder.adapters.sandboxes.forkserver import LocalSandbox\n"
            "from auditcoder.domain.execution import *\n"
            "s = LocalSandbox()\n"
            "e = Execution(source='import time; time.sleep(3600)', action=RunProgram(),"
            " bounds=Bounds(seconds=600))\n"
            "threading.Thread(target=s.run, args=(e,), daemon=True).start()\n"
            "print('ready', flush=True); time.sleep(3600)\n"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as caller:
            assert caller.stdout is not None
            caller.stdout.readline()
            wait_until(lambda: len(_descendants(caller.pid)) >= 3)
            process_tree = set(_descendants(caller.pid))
            caller.kill()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in process_tree))

    def test_a_closed_sandbox_runs_nothing(self) -> None:
        sandbox = LocalSandbox()
        sandbox.close()
        with pytest.raises(SandboxError, match="closed"):
            run(sandbox, "pass")

    @pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a//b", "", "a/../../b", "x\0y"])
    def test_a_file_name_outside_the_working_folder_is_refused(self, name: str) -> None:
        execution = Execution(source="", action=RunFiles(inputs={name: b""}, artefacts=()))
        with LocalSandbox() as sandbox, pytest.raises(SandboxError) as refused:
            sandbox.run(execution)
        assert refused.value.code == "sandbox.file-name"

    def test_invalid_input_is_not_reported_as_a_sandbox_fault(self) -> None:
        both = Execution(source="", action=RunFiles(inputs={"a": b"", "a/b": b""}, artefacts=()))
        with LocalSandbox() as sandbox:
            with pytest.raises(SandboxError) as refused:
                sandbox.run(both)
            assert refused.value.code == "sandbox.file-name"
            halves = RunProgram(stdin="a\ud800b", arguments=("\udfff",))
            outcome = sandbox.run(Execution(source="print(input())", action=halves))
            assert (outcome.ending, outcome.stdout) == (Ending.OK, b"a?b\n")

    def test_a_host_out_of_file_descriptors_gets_an_error_and_recovers(self) -> None:
        with LocalSandbox() as sandbox:
            before = len(list(Path("/proc/self/fd").iterdir()))
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (before + 3, hard))
            try:
                for _ in range(5):
                    with pytest.raises(SandboxError) as refused:
                        run(sandbox, "pass")
                    assert refused.value.code == "sandbox.fault"
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert len(list(Path("/proc/self/fd").iterdir())) == before
            assert run(sandbox, "print(1)").stdout == b"1\n"

    def test_closing_the_sandbox_in_a_forked_process_does_not_affect_the_parent(self) -> None:
        code = (
            "import os, sys\nfrom auditcoder.adapters.sandboxes.forkserver import LocalSandbox\n"
            "from auditcoder.domain.execution import *\ns = LocalSandbox(layers=())\n"
            "if os.fork() == 0: s.close(); sys.exit(0)\nos.wait()\n"
            "print(s.run(Execution(source='print(1)', action=RunProgram())).stdout)\ns.close()\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout == b"b'1\\n'\n"

    def test_a_candidate_killed_before_it_starts_is_replaced(self) -> None:
        before = set(_children(os.getpid()))
        with LocalSandbox(layers=()) as sandbox:
            (worker,) = set(_children(os.getpid())) - before
            wait_until(lambda: any(map(_children, _children(worker))))
            (supervisor,) = _children(worker)
            for candidate in _children(supervisor):
                os.kill(candidate, signal.SIGKILL)
            assert run(sandbox, "print(1)").stdout == b"1\n"

    def test_a_sandbox_that_is_never_closed_leaves_no_files(self) -> None:
        code = (
            "import tempfile, os\n"
            "from auditcoder.adapters.sandboxes.forkserver import LocalSandbox\n"
            "print(LocalSandbox()._worker._state)\n"
        )
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
        )
        assert not Path(done.stdout.strip()).exists()

    def test_source_with_lone_surrogates_is_an_exception_of_the_candidate(self) -> None:
        with LocalSandbox() as sandbox:
            outcome = run(sandbox, "print('\ud800')")
        assert outcome.ending is Ending.EXCEPTION


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, for at most a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.01)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:
            continue
    return found


def _descendants(pid: int) -> list[int]:
    children = _children(pid)
    return [*children, *(below for child in children for below in _descendants(child))]


def _run_ignoring_errors(sandbox: Sandbox, source: str) -> None:
    with contextlib.suppress(SandboxError):
        sandbox.run(Execution(source=source, action=RunProgram(), bounds=Bounds(seconds=600)))
