"""Conformance suite of the sandbox port, for every level of isolation."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from auditcoder.domain.evidence import Frame
from auditcoder.domain.execution import (
    Action,
    Bounds,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    Raised,
    Returned,
    RunFiles,
    RunProgram,
    RunTests,
    TestVerdict,
)
from auditcoder.domain.value_decoder import read
from auditcoder.lifecycle.ports import Sandbox

AMPLE = Bounds(seconds=60.0, memory_bytes=256 << 20)
"""For programs that end: far more time than they need, even on a busy machine."""
ENDLESS = Bounds(seconds=2.0)
"""For programs that never end: enough time for what they do before they hang."""

ORDINARY_PROGRAMS = {
    "threads": "import threading\nthreading.Thread(target=print, args=('ok',)).start()",
    "asyncio": """
import asyncio
async def f():
    await asyncio.sleep(0.01)
    print('ok')
asyncio.run(f())""",
    "temporary files": """
import tempfile
with tempfile.TemporaryFile() as f: f.write(b'x')
print('ok')""",
    "a database in memory": """
import sqlite3
db = sqlite3.connect(':memory:')
db.execute('select 1'); db.close()
print('ok')""",
    "a pair of connected sockets": """
import socket
near, far = socket.socketpair()
near.sendall(b'ok')
print(far.recv(2).decode())""",
    "a pool of threads": """
from concurrent.futures import ThreadPoolExecutor
print(*ThreadPoolExecutor(4).map(str, ['ok']))""",
    "pickling": "import pickle\nclass A: pass\npickle.loads(pickle.dumps(A()))\nprint('ok')",
    "deep recursion in a large stack": """
import sys, threading
sys.setrecursionlimit(10**6)
threading.stack_size(1 << 26)
def f(n): return n and f(n - 1)
t = threading.Thread(target=f, args=(50000,)); t.start(); t.join()
print('ok')""",
    "the library": "import zlib, hashlib, ctypes, zoneinfo, csv, uuid, ssl, email\nprint('ok')",
    "what runs at the end": "import atexit\natexit.register(print, 'ok')",
    "signals to oneself": """
import signal
said = []
signal.signal(signal.SIGALRM, lambda *_: said.append('ok'))
signal.setitimer(signal.ITIMER_REAL, 0.01)
while not said: pass
print(*said)""",
    "files": "open('note.txt', 'w').write('ok')\nprint(open('note.txt').read())",
    "limits of its own": """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))
print('ok')""",
    "its own source": "import inspect\ndef f(): pass\nassert inspect.getsource(f)\nprint('ok')",
    "the number of cores": "import os\nassert os.cpu_count()\nprint('ok')",
    "exceptions": "class E(Exception): pass\ntry: raise E\nexcept E: print('ok')",
    "leaving as at a prompt": "print('ok')\nexit()\nprint('never')",
    "closing its output": "import sys\nprint('ok')\nsys.stdout.close()",
    "what runs when an object goes": """
class A:
    def __del__(self): print('ok')
a = A()""",
    "its own modules": "open('helper.py', 'w').write('x = 1')\nimport helper\nprint('ok')",
    "being interrupted": """
import signal
try: signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt: print('ok')""",
    "time zones": "import zoneinfo\nzoneinfo.ZoneInfo('Europe/Paris')\nprint('ok')",
}

ASYNC_TEST_IN_PLAIN_CLASS = """
import unittest
class T(unittest.TestCase):
    async def test_a(self): assert 0
alias = T
"""
BROKEN_CLASS = """
import unittest
class T(unittest.TestCase):
    @classmethod
    def setUpClass(cls): f.nothing
    def test_a(self): pass
    def test_b(self): pass
"""
OWN_INPUT = """
import builtins, unittest
builtins.input = lambda *a: '3'
class T(unittest.TestCase):
    kind = dict
    @classmethod
    def setUpClass(cls): cls.kind = list
    def test_a(self): self.assertEqual(input(), '3')
"""


class SandboxConformance:
    """The suite; a subclass provides the fixture `sandbox`."""

    @pytest.fixture(scope="class")
    @classmethod
    def sandbox(cls) -> Iterator[Sandbox]:
        raise NotImplementedError

    def run(
        self,
        sandbox: Sandbox,
        source: str,
        action: Action | None = None,
        bounds: Bounds = AMPLE,
        *,
        watch: bool = False,
    ) -> ExecutionOutcome:
        """Run source code in the sandbox."""
        return sandbox.run(
            Execution(source=source, action=action or RunProgram(), bounds=bounds, watch=watch)
        )

    # A program on standard input.

    def test_a_program_reads_its_input_and_writes_its_output(self, sandbox: Sandbox) -> None:
        outcome = self.run(sandbox, "print(int(input()) * 2)", RunProgram(stdin="21\n"))
        assert (outcome.ending, outcome.exit_code, outcome.signal) == (Ending.OK, 0, None)
        assert (outcome.stdout, outcome.stderr) == (b"42\n", b"")
        assert outcome.sandbox == sandbox.kind
        assert outcome.peak_bytes > 1 << 20
        assert outcome.seconds > 0

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("import sys; print(sys.stdin.read()[::-1])", "é\u20ac\nba\n"),
            ("print(open(0, encoding='utf-8').read()[::-1])", "é\u20ac\nba\n"),
            ("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", "ab\n€é"),
            ("import os; os.write(1, os.read(0, 99))", "ab\n€é"),
            ("print(__name__, __file__)", "__main__ program.py\n"),
            ("import sys; print(sys.argv)", "['program.py', '-x', 'y z']\n"),
            ("def f(): return g()\ndef g(): return 7\nprint(f())", "7\n"),
        ],
    )
    def test_a_program_behaves_as_under_a_plain_interpreter(
        self, sandbox: Sandbox, source: str, expected: str
    ) -> None:
        outcome = self.run(sandbox, source, RunProgram(stdin="ab\n€é", arguments=("-x", "y z")))
        assert outcome.stderr == b""
        assert outcome.stdout.decode() == expected

    @pytest.mark.parametrize("source", ORDINARY_PROGRAMS.values(), ids=ORDINARY_PROGRAMS)
    def test_ordinary_features_of_python_work(self, sandbox: Sandbox, source: str) -> None:
        outcome = self.run(sandbox, source)
        assert (outcome.stdout, outcome.stderr, outcome.ending) == (b"ok\n", b"", Ending.OK)

    # Endings.

    @pytest.mark.parametrize(
        ("source", "ending", "code"),
        [
            ("import sys; sys.exit()", Ending.OK, 0),
            ("import sys; sys.exit(3)", Ending.WRONG_EXIT, 3),
            ("import sys; sys.exit('no')", Ending.WRONG_EXIT, 1),
            ("import os; os._exit(4)", Ending.WRONG_EXIT, 4),
            ("raise SystemExit(-1)", Ending.WRONG_EXIT, 255),
            ("1/0", Ending.EXCEPTION, 1),
            ("def f(:", Ending.EXCEPTION, 1),
            ("raise KeyboardInterrupt", Ending.EXCEPTION, 1),
            ("def f(): f()\nf()", Ending.EXCEPTION, 1),
            ("x = [0] * 10**10", Ending.MEMORY, 1),
            ("raise MemoryError", Ending.MEMORY, 1),
        ],
    )
    def test_every_ending_is_classified(
        self, sandbox: Sandbox, source: str, ending: Ending, code: int
    ) -> None:
        outcome = self.run(sandbox, source)
        assert (outcome.ending, outcome.exit_code) == (ending, code)

    def test_a_fatal_signal_is_reported(self, sandbox: Sandbox) -> None:
        outcome = self.run(sandbox, "import ctypes; ctypes.string_at(0)")
        assert (outcome.ending, outcome.signal, outcome.exit_code) == (Ending.KILLED, 11, None)

    def test_an_exception_is_reported_with_its_frames(self, sandbox: Sandbox) -> None:
        outcome = self.run(sandbox, "def half(x):\n    return 1 / x\n\nhalf(0)\n")
        assert outcome.raised == Raised(
            exception="ZeroDivisionError",
            message="division by zero",
            frames=(
                Frame(function="<module>", line=4, file="program.py"),
                Frame(function="half", line=2, file="program.py"),
            ),
        )
        assert b'File "program.py", line 2, in half\n    return 1 / x' in outcome.stderr
        assert b"harness" not in outcome.stderr

    def test_a_syntax_error_is_reported_with_its_line(self, sandbox: Sandbox) -> None:
        outcome = self.run(sandbox, "x = 1\ny = = 2\n")
        assert outcome.raised is not None
        assert outcome.raised.exception == "SyntaxError"
        assert outcome.raised.frames[-1].line == 2

    def test_a_timeout_is_reported_with_its_frames(self, sandbox: Sandbox) -> None:
        source = "def spin():\n    while True:\n        pass\nspin()\n"
        outcome = self.run(sandbox, source, bounds=ENDLESS)
        assert outcome.ending is Ending.TIMEOUT
        assert outcome.raised is not None
        assert [frame.function for frame in outcome.raised.frames] == ["<module>", "spin"]
        assert outcome.raised.frames[-1].line in {2, 3}

    def test_sleeping_is_a_timeout_too(self, sandbox: Sandbox) -> None:
        outcome = self.run(sandbox, "import time; time.sleep(3600)", bounds=Bounds(seconds=0.3))
        assert outcome.ending is Ending.TIMEOUT
        assert outcome.cpu_seconds < outcome.seconds

    def test_output_before_a_timeout_is_kept(self, sandbox: Sandbox) -> None:
        source = "print('begun', flush=True)\nwhile True: pass"
        outcome = self.run(sandbox, source, bounds=ENDLESS)
        assert outcome.stdout == b"begun\n"

    @pytest.mark.parametrize("stream", ["stdout", "stderr"])
    def test_output_is_bounded_and_truncation_is_reported(
        self, sandbox: Sandbox, stream: str
    ) -> None:
        source = f"import sys\nwhile True: sys.{stream}.write('x' * 1000)"
        outcome = self.run(sandbox, source, bounds=Bounds(seconds=60, output_bytes=5000))
        assert outcome.ending is Ending.OUTPUT_LIMIT
        kept, cut = getattr(outcome, stream), getattr(outcome, f"{stream}_cut")
        assert (kept, cut) == (b"x" * 5000, True)

    def test_output_within_the_limit_is_not_truncated(self, sandbox: Sandbox) -> None:
        bounds = Bounds(seconds=60, output_bytes=5000)
        outcome = self.run(sandbox, "print('x' * 4999)", bounds=bounds)
        assert (outcome.ending, outcome.stdout_cut) == (Ending.OK, False)

    def test_peak_memory_is_measured(self, sandbox: Sandbox) -> None:
        small = self.run(sandbox, "pass")
        large = self.run(sandbox, "x = bytearray(100 << 20)")
        assert 90 << 20 < large.peak_bytes - small.peak_bytes < 120 << 20

    # Calls of a function.

    def test_calls_return_encoded_values(self, sandbox: Sandbox) -> None:
        source = "def f(x, k=2):\n    return {x: [k, (1.5, None)], 'big': 10 ** 30}\n"
        outcome = self.run(sandbox, source, CallFunction(calls=("f(1)", "f('a', k={3})")))
        assert outcome.ending is Ending.OK
        values = [read(call.value) for call in outcome.calls if isinstance(call, Returned)]
        assert values == [
            {1: [2, (1.5, None)], "big": 10**30},
            {"a": [{3}, (1.5, None)], "big": 10**30},
        ]

    def test_a_call_that_raises_does_not_stop_the_next(self, sandbox: Sandbox) -> None:
        source = "def f(x):\n    return 1 // x\n"
        outcome = self.run(sandbox, source, CallFunction(calls=("f(0)", "f()", "f(1)", "f(")))
        assert outcome.ending is Ending.OK
        assert [getattr(call, "exception", "") for call in outcome.calls] == [
            "ZeroDivisionError",
            "TypeError",
            "",
            "SyntaxError",
        ]
        first = outcome.calls[0]
        assert isinstance(first, Raised)
        assert first.frames == (Frame(function="f", line=2, file="program.py"),)

    def test_calls_before_a_timeout_are_kept(self, sandbox: Sandbox) -> None:
        source = "def f(x):\n    while x: pass\n    return x\n"
        action = CallFunction(calls=("f(0)", "f(1)", "f(0)"))
        outcome = self.run(sandbox, source, action, ENDLESS)
        assert outcome.ending is Ending.TIMEOUT
        assert len(outcome.calls) == 1

    def test_exiting_before_all_calls_are_done_is_not_a_success(self, sandbox: Sandbox) -> None:
        source = "import os\ndef f(x):\n    os._exit(0)\n"
        outcome = self.run(sandbox, source, CallFunction(calls=("f(1)",)))
        assert outcome.ending is Ending.WRONG_EXIT
        assert outcome.calls == ()

    def test_a_main_block_does_not_run_for_calls(self, sandbox: Sandbox) -> None:
        source = "def f(): return 1\nif __name__ == '__main__':\n    print('main')\n"
        assert self.run(sandbox, source, CallFunction(calls=("f()",))).stdout == b""

    # Test code.

    def test_unittest_tests_are_reported_one_by_one(self, sandbox: Sandbox) -> None:
        source = (
            "class Counter:\n    def __init__(self): self.n = 0\n    def up(self): self.n += 1\n"
        )
        tests = """
import unittest
class CounterTest(unittest.TestCase):
    def setUp(self): self.counter = Counter()
    def test_up(self):
        self.counter.up()
        self.assertEqual(self.counter.n, 1)
    def test_wrong(self): self.assertEqual(self.counter.n, 5)
    def test_broken(self): self.counter.down()
    @unittest.skip("later")
    def test_later(self): pass
    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n): self.assertNotEqual(n, 1)
"""
        outcome = self.run(sandbox, source, RunTests(code=tests))
        assert outcome.ending is Ending.OK
        assert {(t.name.split(" ")[0], t.verdict) for t in outcome.tests} == {
            ("CounterTest.test_up", TestVerdict.PASSED),
            ("CounterTest.test_wrong", TestVerdict.FAILED),
            ("CounterTest.test_broken", TestVerdict.ERROR),
            ("CounterTest.test_later", TestVerdict.SKIPPED),
            ("CounterTest.test_parts", TestVerdict.FAILED),
        }
        wrong = next(t for t in outcome.tests if t.verdict is TestVerdict.FAILED)
        assert wrong.frames[0].file == "tests.py"

    @pytest.mark.parametrize(
        ("code", "planned", "verdicts"),
        [
            ("def test_a(): assert f() == 2\ndef test_b(): assert f() == 3", 2, "passed failed"),
            ("def check(c): assert c() == 3", 0, ""),
            ("", 0, ""),
            ('"""Nothing."""\nimport math', 0, ""),
            ("import unittest\nclass T(unittest.TestCase): pass", 0, ""),
            ("assert f() == 2", 1, "passed"),
            ("for n in (2,): assert f() == n", 1, "passed"),
            ("async def test_a(): assert 0", 1, "error"),
            ("def test_a():\n    assert 0\n    yield", 1, "error"),
            ("test_a = lambda: 1 / 0", 1, "error"),
            ("def test_case(a, b): assert a == b\ntest_case(f(), 2)", 1, "passed"),
            ("META = {}\ndef check(c): assert 0", 0, ""),
            ("def check(): assert 0\nif __name__ == '__main__': check()", 0, ""),
            ("class TestF:\n    def test_a(self): assert f() == 3", 1, "failed"),
            (
                ASYNC_TEST_IN_PLAIN_CLASS,
                1,
                "error",
            ),
        ],
    )
    def test_only_tests_that_ran_can_pass(
        self, sandbox: Sandbox, code: str, planned: int, verdicts: str
    ) -> None:
        outcome = self.run(sandbox, "def f(): return 2\n", RunTests(code=code))
        assert outcome.ending is Ending.OK
        assert outcome.planned == planned
        assert [test.verdict.value for test in outcome.tests] == verdicts.split()

    def test_tests_may_use_all_of_unittest(self, sandbox: Sandbox) -> None:
        tests = """
import logging, unittest
from unittest.mock import Mock, patch
unittest.TestCase.maxDiff = None
class T(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.shared = 1
    def test_mock(self):
        with patch("builtins.print") as printed: f()
        printed.assert_called_once()
    def test_logs(self):
        with self.assertLogs() as caught: logging.warning("x")
        self.assertEqual(len(caught.output), 1)
class A(unittest.IsolatedAsyncioTestCase):
    async def test_async(self): self.assertTrue(True)
"""
        outcome = self.run(sandbox, "def f(): print(1)\n", RunTests(code=tests))
        assert outcome.ending is Ending.OK
        assert [t.verdict for t in outcome.tests] == [TestVerdict.PASSED] * 3, outcome.tests

    @pytest.mark.parametrize(
        ("code", "names"),
        [(BROKEN_CLASS, ["setUpClass (tests.T)"]), (OWN_INPUT, ["T.test_a"])],
    )
    def test_changes_made_by_the_tests_themselves_are_not_tampering(
        self, sandbox: Sandbox, code: str, names: list[str]
    ) -> None:
        outcome = self.run(sandbox, "def f(): return 2\n", RunTests(code=code))
        assert outcome.ending is Ending.OK, outcome
        assert [test.name for test in outcome.tests] == names

    def test_thousands_of_tests_are_reported(self, sandbox: Sandbox) -> None:
        many = "".join(f"    def test_{n}(self): pass\n" for n in range(3000))
        code = f"import unittest\nclass T(unittest.TestCase):\n{many}"
        outcome = self.run(sandbox, "", RunTests(code=code))
        assert (outcome.planned, len(outcome.tests)) == (3000, 3000)

    def test_calls_with_unusual_exceptions_are_all_reported(self, sandbox: Sandbox) -> None:
        source = (
            "def g(): raise ValueError('\\ud800' * 3000)\n"
            "def h(): raise SyntaxError('x', ('program.py', -5, 0, ''))\n"
        )
        outcome = self.run(sandbox, source, CallFunction(calls=("1", "g()", "h()", "2")))
        assert outcome.ending is Ending.OK
        assert len(outcome.calls) == 4

    def test_thousands_of_input_files_are_provided(self, sandbox: Sandbox) -> None:
        given = RunFiles(inputs={f"f{n}": b"" for n in range(5000)}, artefacts=())
        output = self.run(sandbox, "import os; print(len(os.listdir()))", given)
        assert output.stdout == b"5000\n"

    def test_excessively_large_bounds_do_not_fail_the_program(self, sandbox: Sandbox) -> None:
        bounds = Bounds(seconds=60, memory_bytes=1 << 62, file_bytes=1 << 60)
        assert self.run(sandbox, "print(1)", bounds=bounds).stdout == b"1\n"

    def test_plain_asserts_count_as_a_test(self, sandbox: Sandbox) -> None:
        source = "def f(x): return x + 1\n"
        check = "def check(candidate):\n    assert candidate(1) == {}\ncheck(f)\n"
        right = self.run(sandbox, source, RunTests(code=check.format(2)))
        wrong = self.run(sandbox, source, RunTests(code=check.format(3)))
        assert [t.verdict for t in right.tests] == [TestVerdict.PASSED]
        assert (right.ending, wrong.ending) == (Ending.OK, Ending.EXCEPTION)
        assert wrong.tests == ()
        assert wrong.raised is not None
        assert wrong.raised.exception == "AssertionError"

    def test_tests_before_a_timeout_are_kept(self, sandbox: Sandbox) -> None:
        tests = (
            "import unittest\nclass T(unittest.TestCase):\n"
            "    def test_a(self): pass\n    def test_b(self):\n        while True: pass\n"
        )
        outcome = self.run(sandbox, "", RunTests(code=tests), ENDLESS)
        assert outcome.ending is Ending.TIMEOUT
        assert [(t.name, t.verdict) for t in outcome.tests] == [("T.test_a", TestVerdict.PASSED)]

    # Files.

    def test_a_file_program_is_given_files_and_leaves_artefacts(self, sandbox: Sandbox) -> None:
        source = (
            "import os\nrows = open('data/in.csv').read().split()\nos.mkdir('out')\n"
            "open('out/sum.txt', 'w').write(str(sum(map(int, rows))))\n"
        )
        action = RunFiles(
            inputs={"data/in.csv": b"1\n2\n39\n"}, artefacts=("out/sum.txt", "out/none.txt")
        )
        outcome = self.run(sandbox, source, action)
        assert outcome.ending is Ending.OK
        found, absent = outcome.artefacts
        assert (found.name, found.content) == ("out/sum.txt", b"42")
        assert (absent.content, absent.missing) == (None, "No such file or directory")

    def test_a_file_left_open_is_flushed(self, sandbox: Sandbox) -> None:
        action = RunFiles(inputs={}, artefacts=("out",))
        (found,) = self.run(sandbox, "f = open('out', 'w'); f.write('x')", action).artefacts
        assert found.content == b"x"

    def test_the_file_size_limit_covers_all_artefacts_together(self, sandbox: Sandbox) -> None:
        source = "import os\nopen('0', 'wb').truncate(900_000)\nos.link('0', '1')"
        action = RunFiles(inputs={}, artefacts=("0", "1"))
        bounds = Bounds(seconds=60, file_bytes=1_000_000)
        first, second = self.run(sandbox, source, action, bounds).artefacts
        assert len(first.content or b"") == 900_000
        assert second.missing == "it is too large"

    def test_inputs_do_not_count_toward_the_file_size_limit(self, sandbox: Sandbox) -> None:
        given = RunFiles(inputs={"in": bytes(3 << 20)}, artefacts=(), stdin="x" * (2 << 20))
        bounds = Bounds(seconds=60, file_bytes=1 << 20)
        source = "open('out', 'wb').write(bytes(900_000)); print(len(open('in', 'rb').read()))"
        assert self.run(sandbox, source, given, bounds).stdout == b"3145728\n"

    def test_the_working_folder_holds_only_the_input_files(self, sandbox: Sandbox) -> None:
        source = "import os; print(sorted(os.listdir()))"
        action = RunFiles(inputs={"a": b"", "b": b""}, artefacts=())
        assert self.run(sandbox, source, action).stdout == b"['a', 'b']\n"

    # Profiled functions.

    def test_profiled_functions_are_reported_with_calls_and_time(self, sandbox: Sandbox) -> None:
        source = (
            "def outer():\n    for _ in range(5): inner()\ndef inner(): return sum(range(1000))\n"
            "def unused(): pass\nouter()\n"
        )
        outcome = self.run(sandbox, source, watch=True)
        assert outcome.functions is not None
        used = {use.name: use for use in outcome.functions}
        outer, inner = used["outer"], used["inner"]
        assert (outer.calls, outer.line) == (1, 1)
        assert (inner.calls, inner.line) == (5, 3)
        assert outer.seconds == pytest.approx(outer.own_seconds + inner.seconds)
        assert inner.seconds > 0
        assert "unused" not in used

    def test_profiled_functions_are_reported_after_a_timeout(self, sandbox: Sandbox) -> None:
        source = "def inner(): return 1\ndef spin():\n    while True: inner()\nspin()\n"
        outcome = self.run(sandbox, source, bounds=ENDLESS, watch=True)
        assert outcome.ending is Ending.TIMEOUT
        assert outcome.functions is not None
        assert {use.name for use in outcome.functions} >= {"spin", "inner"}

    def test_functions_are_not_reported_unless_requested(self, sandbox: Sandbox) -> None:
        assert self.run(sandbox, "pass").functions is None

    # Determinism and isolation.

    def test_environment_hashes_locale_time_zone_and_random_seed_are_fixed(
        self, sandbox: Sandbox
    ) -> None:
        source = (
            "import os, time, locale, random, sys\n"
            "print(dict(os.environ), hash('auditcoder'), time.tzname, locale.getlocale(),"
            " random.random(), sys.flags.hash_randomization, sys.getdefaultencoding())\n"
        )
        outcomes = {self.run(sandbox, source).stdout for _ in range(3)}
        (output,) = outcomes
        assert output.startswith(b"{}")
        assert b"('UTC', 'UTC')" in output

    def test_no_descriptor_is_inherited(self, sandbox: Sandbox) -> None:
        source = (
            "import os\nfound = []\nfor n in range(1024):\n"
            "    try: os.fstat(n); found.append(n)\n    except OSError: pass\nprint(found)\n"
        )
        # Descriptor 3 is the report channel of the candidate process.
        assert self.run(sandbox, source).stdout == b"[0, 1, 2, 3]\n"

    def test_a_run_leaves_no_state_for_the_next(self, sandbox: Sandbox) -> None:
        leave = (
            "import os, builtins, math\nopen('mine', 'w').write('x')\nmath.pi = 3\nbuiltins.x = 1"
        )
        look = "import os, builtins, math\nprint(os.listdir(), math.pi > 3, hasattr(builtins, 'x'))"
        self.run(sandbox, leave)
        assert self.run(sandbox, look).stdout == b"[] True False\n"

    def test_concurrent_runs_are_isolated_from_each_other(self, sandbox: Sandbox) -> None:
        source = (
            "import os, time\nn = input()\nopen('n', 'w').write(n)\ntime.sleep(0.05)\n"
            "print(open('n').read(), os.listdir())\n"
        )

        def one(n: int) -> bytes:
            return self.run(sandbox, source, RunProgram(stdin=f"{n}\n")).stdout

        with ThreadPoolExecutor(8) as pool:
            output = list(pool.map(one, range(24)))
        assert output == [f"{n} ['n']\n".encode() for n in range(24)]

    def test_the_thread_limit_is_per_run(self, sandbox: Sandbox) -> None:
        source = (
            "import threading, time\n"
            "ts = [threading.Thread(target=time.sleep, args=(0.3,)) for _ in range(16)]\n"
            "for t in ts: t.start()\nfor t in ts: t.join()\n"
        )
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(lambda _: self.run(sandbox, source), range(8)))
        assert {outcome.ending for outcome in outcomes} == {Ending.OK}

    @pytest.mark.parametrize(
        "source",
        [
            "held = []\nfor n in range(20_000_000): held.append([n])",
            "d = {}\nn = 0\nwhile True: d[n] = str(n); n += 1",
            "x = 'x' * 1000\nwhile True: x += x",
        ],
    )
    def test_exhausted_memory_is_reported(self, sandbox: Sandbox, source: str) -> None:
        outcome = self.run(sandbox, source, bounds=Bounds(seconds=60, memory_bytes=64 << 20))
        assert outcome.ending is Ending.MEMORY

    def test_thread_stacks_count_toward_the_address_space(self, sandbox: Sandbox) -> None:
        source = (
            "import threading\nthreading.stack_size(64 << 20)\nend = threading.Event()\n"
            "ts = [threading.Thread(target=end.wait) for _ in range(8)]\n"
            "try:\n    for t in ts: t.start()\n"
            "except RuntimeError as error: print(error)\nend.set()\n"
        )
        small, large = (
            self.run(sandbox, source, bounds=Bounds(seconds=60, memory_bytes=size << 20)).stdout
            for size in (256, 1024)
        )
        assert (small, large) == (b"can't start new thread\n", b"")

    def test_the_interpreter_version_is_that_of_the_caller(self, sandbox: Sandbox) -> None:
        output = self.run(sandbox, "import sys; print(sys.version_info[:3])").stdout
        assert output.decode().strip() == str(tuple(sys.version_info[:3]))


class IsolatedSandboxConformance(SandboxConformance):
    """Further requirements on a sandbox with namespaces or Landlock, not only resource limits."""

    def test_environment_variables_of_the_caller_are_not_visible(
        self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        source = (
            "import os, glob\n"
            "for path in ['/proc/self/environ', '/proc/1/environ']:\n"
            "    try: print(open(path, 'rb').read())\n    except OSError: pass\n"
            "print(dict(os.environ))\n"
        )
        assert b"sk-secret" not in self.run(sandbox, source).stdout

    def test_files_of_the_system_and_its_own_source_cannot_be_read(self, sandbox: Sandbox) -> None:
        source = (
            "import os\n"
            "for path in ('/proc', '/proc/self/status', '/proc/cpuinfo', '/sys', '/sys/kernel',\n"
            "             '/etc', '/etc/passwd', '/etc/hosts', '/', __file__, '/code'):\n"
            "    for read in (os.listdir, open):\n"
            "        try: print(path, read(path))\n        except OSError: pass\n"
        )
        outcome = self.run(sandbox, source)
        assert (outcome.ending, outcome.stdout) == (Ending.OK, b"")

    def test_paths_of_the_machine_are_not_shown(self, sandbox: Sandbox) -> None:
        source = """
import ctypes, email.parser, gc, json, os, sys, sysconfig, traceback
shown = [*map(str, vars(sysconfig).values()), *map(str, sysconfig.get_config_vars().values())]
shown += [sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix, *sys.path, *sys.orig_argv]
shown += [sys._base_executable, str(sys._stdlib_dir), os.getcwd(), *sys.argv]
for module in list(sys.modules.values()):
    found = vars(module)
    shown += [str(found.get(name)) for name in ("__file__", "__cached__", "__path__", "__spec__")]
frame = sys._getframe()
while frame:
    shown += [frame.f_code.co_filename, repr(frame.f_locals)]
    frame = frame.f_back
shown += [f.__code__.co_filename for f in gc.get_objects() if hasattr(f, "__code__")]
try: json.loads("{")
except ValueError: shown += [traceback.format_exc()]
for path in ("maps", "cmdline", "environ", "mountinfo", "mounts", "status", "exe", "cwd", "root"):
    try: shown += [open(f"/proc/self/{path}").read()]
    except OSError: pass
    try: shown += [os.readlink(f"/proc/self/{path}")]
    except OSError: pass
# The file that the process was started from, and before it its arguments and environment.
libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_void_p
started = libc.getauxval(31)
shown += [ctypes.string_at(started - 400, 400).decode("latin-1"), str(ctypes.string_at(started))]
print(len(shown), *shown, sep="\\n")
json.loads("{")
"""
        outcome = self.run(sandbox, source)
        assert outcome.ending is Ending.EXCEPTION, outcome
        assert int(outcome.stdout.split(b"\n")[0]) > 500
        project = str(Path(__file__).parents[2])
        for path in (sys.base_prefix, sys.prefix, project, str(Path.home())):
            assert path.encode() not in outcome.stdout + outcome.stderr, path
