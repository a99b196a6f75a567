"""The judge: verdicts of each kind of hidden test on right, wrong and hostile programs."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.errors import SandboxError
from auditcoder.domain.execution import Bounds
from auditcoder.domain.task import ProgramForm, StdioExample, Task
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench import judge as judge_module
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import (
    CallTest,
    CallTests,
    CodeTests,
    FileTests,
    Hidden,
    Problem,
    StdioTests,
)
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


ENDLESS = Bounds(seconds=2.0)
"""For programs that never end on some input: enough time for what they do on the others."""


def problem(hidden: Hidden, seconds: float = 30.0) -> Problem:
    task = Task(title="It", statement="Do it.", form=ProgramForm())
    return Problem("1", task, hidden, bounds=Bounds(seconds=seconds))


STDIO = problem(
    StdioTests(
        cases=(StdioExample(input="1 2\n", output="3\n"), StdioExample(input="4\n", output="4\n"))
    )
)
CALLS = problem(
    CallTests(
        cases=(
            CallTest(expression="add(1, 2)", result="3"),
            CallTest(expression="add(0, 0)", result="0"),
        )
    )
)
TESTED = (
    "import unittest\n\nclass T(unittest.TestCase):\n"
    "    def test_a(self):\n        self.assertEqual(add(1, 2), 3)\n"
    "    def test_b(self):\n        self.assertEqual(add(0, 0), 0)\n"
)
CODE = problem(CodeTests(code=TESTED))
REMOVABLE = f"{TESTED}\nLIST = [[n] for n in range(9)]\n"
"""Test code that allocates after its class is defined, when a callback can remove the class."""
PLAIN = problem(CodeTests(code="def check(f):\n    assert f(1, 2) == 3\n\ncheck(add)\n"))
ADD = "def add(a, b):\n    return a + b\n"
WRONG_ADD = "def add(a, b):\n    return 3\n"


OVER_FILES = """\
import unittest


def test_it_is_there():
    assert open('b.txt').read()


class TestIt:
    def test_twice(self):
        assert open('b.txt').read() == '42'


class U(unittest.TestCase):
    def test_short(self):
        self.assertLess(len(open('b.txt').read()), 3)
"""


SUM = "print(sum(map(int, input().split())))\n"
MANY = problem(
    StdioTests(cases=tuple(StdioExample(input=f"{n} 1\n", output=f"{n + 1}\n") for n in range(12)))
)


class TestManyInputsInOneProcess:
    """An input that fails in a shared process runs again alone, so no input affects another."""

    @pytest.mark.parametrize(
        "program",
        [
            SUM,
            f"{SUM}raise SystemExit\n",
            f"import sys\n{SUM}sys.exit(0)\n",
            f"import os, sys\n{SUM}sys.stdout.flush()\nos._exit(0)\n",
            "print(sum(map(int, open(0).read().split())))",
            "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
            "import os\nos.write(1, b'%d' % sum(map(int, os.read(0, 99).split())))",
            f"import atexit\natexit.register(lambda: {SUM.strip()})\n",
            (
                "import threading, time\n"
                f"threading.Thread(target=time.sleep, args=(0.1,)).start()\n{SUM}"
            ),
            f"import os\nif os.path.exists('left'): raise ValueError\nopen('left', 'w')\n{SUM}",
            f"import math\nassert not hasattr(math, 'left')\nmath.left = 1\n{SUM}",
            (
                "import math\nprint('again' if hasattr(math, 'left') else '', end='')\n"
                f"math.left = 1\n{SUM}"
            ),
            f"import sys\nsys.stdout, kept = None, sys.stdout\nsys.stdout = kept\n{SUM}",
            f"import os\nos.chdir('..')\n{SUM}",
            f"if __name__ == '__main__':\n    {SUM}",
        ],
    )
    def test_a_right_program_passes_as_in_separate_processes(
        self, sandbox: Sandbox, program: str
    ) -> None:
        assert resolved(judge(sandbox, MANY, program))

    def test_exactly_the_wrong_inputs_fail(self, sandbox: Sandbox) -> None:
        found = judge(sandbox, MANY, "n, one = map(int, input().split())\nprint(min(n, 5) + one)")
        assert list(found.values()) == [True] * 6 + [False] * 6

    def test_a_crash_fails_only_its_own_input(self, sandbox: Sandbox) -> None:
        found = judge(sandbox, MANY, "n, _ = map(int, input().split())\nprint([1, 2, 3, 4, 5][n])")
        assert list(found.values()) == [True] * 5 + [False] * 7

    def test_an_endless_loop_fails_only_its_own_input(self, sandbox: Sandbox) -> None:
        program = "n, _ = map(int, input().split())\nwhile n == 3:\n    pass\nprint(n + 1)"
        found = judge(sandbox, MANY._replace(bounds=ENDLESS), program)
        assert [name for name, right in found.items() if not right] == ["case-4"]

    def test_a_forged_report_does_not_pass(self, sandbox: Sandbox) -> None:
        program = (
            "import os\nfor n in range(3, 9):\n"
            "    try: os.write(n, b'null\\n\"eA==\"\\n')\n    except OSError: pass\n"
        )
        assert not any(judge(sandbox, MANY, program + SUM.replace("sum", "min")).values())

    def test_only_as_many_lines_of_the_report_are_decoded_as_there_are_inputs(
        self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decoded: list[int] = []
        decode = judge_module._text

        def counting(line: bytes, longest: int) -> str | None:
            decoded.append(len(line))
            return decode(line, longest)

        monkeypatch.setattr(judge_module, "_text", counting)
        program = (
            "import os\n"
            "if os.path.exists('outputs.jsonl'):\n"
            "    open('outputs.jsonl', 'wb').write(b'\\n' * 1000)\n"
            "    os._exit(0)\n"
        )
        assert not any(judge(sandbox, MANY, program).values())
        assert decoded == [0] * 12

    def test_a_line_longer_than_the_longest_output_is_not_decoded(self) -> None:
        assert judge_module._text(b'"MQ=="', longest=6) == "1"
        assert judge_module._text(b'"MQ=="', longest=5) is None


class TestStandardInput:
    def test_each_case_has_its_verdict(self, sandbox: Sandbox) -> None:
        right = "print(sum(map(int, input().split())))"
        assert judge(sandbox, STDIO, right) == {"case-1": True, "case-2": True}
        assert judge(sandbox, STDIO, "print(3)") == {"case-1": True, "case-2": False}

    @pytest.mark.parametrize(
        ("program", "bounds"),
        [
            ("while True: pass", Bounds(seconds=0.5)),
            ("1/0", STDIO.bounds),
            ("print((", STDIO.bounds),
            ("", STDIO.bounds),
            ("import os; os._exit(0)", STDIO.bounds),
        ],
    )
    def test_a_program_without_an_answer_does_not_pass(
        self, sandbox: Sandbox, program: str, bounds: Bounds
    ) -> None:
        assert not any(judge(sandbox, STDIO._replace(bounds=bounds), program).values())

    def test_bytes_that_are_no_text_equal_no_expected_character(self, sandbox: Sandbox) -> None:
        hidden = problem(StdioTests(cases=(StdioExample(input="", output="\ufffd\n"),)))
        assert resolved(judge(sandbox, hidden, "print('\\ufffd')"))
        assert not resolved(judge(sandbox, hidden, "import os\nos.write(1, b'\\xff\\n')"))


class TestCalls:
    def test_values_are_compared_outside_the_sandbox(self, sandbox: Sandbox) -> None:
        assert resolved(judge(sandbox, CALLS, ADD))
        assert judge(sandbox, CALLS, WRONG_ADD) == {"case-1": True, "case-2": False}

    def test_an_object_that_equals_everything_does_not_pass(self, sandbox: Sandbox) -> None:
        liar = (
            "class Yes:\n    def __eq__(self, _):\n        return True\n\n"
            "def add(a, b):\n    return Yes()\n"
        )
        assert not any(judge(sandbox, CALLS, liar).values())


NEVER_ENDS = "    while True: pass\n"
FINALISER = "class Last:\n    def __del__(self{}):\n        {}\nlast = Last()\n"
LAST_IS_SLOW = (
    "import signal, time\ntotal = sum(map(int, input().split()))\n"
    "if total == 4:\n    {}\n    time.sleep(2.2)\nprint(total)\n"
)
FAILING_ALONE = {
    "another number as exit code": f"{SUM}raise SystemExit(0.0)\n",
    "an exit code that equals everything": (
        f"class Any:\n    def __eq__(self, _): return True\n{SUM}raise SystemExit(Any())\n"
    ),
    "a finaliser never ends": f"{FINALISER.format('', 'while True: pass')}{SUM}",
    "a finaliser crashes": (
        f"import ctypes\n{FINALISER.format(', crash=ctypes.string_at', 'crash(0)')}{SUM}"
    ),
    "a finaliser writes": (
        f"import os\n{FINALISER.format(', write=os.write', 'write(1, bytes(1))')}{SUM}"
    ),
    "a generator never closes": (
        f"def last():\n    try: yield\n    finally:\n    {NEVER_ENDS}"
        f"kept = last()\nnext(kept)\n{SUM}"
    ),
    "a call after the last thread never ends": (
        f"import threading\ndef last():\n{NEVER_ENDS}threading._register_atexit(last)\n{SUM}"
    ),
    "standard error is flooded": f"import sys\nsys.stderr.write('x' * (5 << 20))\n{SUM}",
    "the timer is stopped": LAST_IS_SLOW.format("signal.setitimer(signal.ITIMER_REAL, 0)"),
    "the timer's signal is ignored": (
        LAST_IS_SLOW.format("signal.signal(signal.SIGALRM, signal.SIG_IGN)")
    ),
    "the timer's exception is caught": (
        "import time\ntotal = sum(map(int, input().split()))\n"
        "if total == 4:\n    try: time.sleep(9)\n    except: pass\nprint(total)\n"
    ),
    "a module of the library keeps something": (
        "import decimal\nadded = hasattr(decimal, 'left')\ndecimal.left = 1\n"
        f"{SUM.strip()} if added else print(3)\n"
    ),
    "something else is kept": (
        "import functools\nadded = hasattr(functools.partialmethod, 'left')\n"
        f"functools.partialmethod.left = 1\n{SUM.strip()} if added else print(3)\n"
    ),
}
"""Programs that are right on inputs in one process, except that in isolation they fail."""


@pytest.mark.parametrize("name", FAILING_ALONE)
class TestProgramThatFailsInIsolation:
    def test_it_does_not_pass(self, sandbox: Sandbox, name: str) -> None:
        hidden = STDIO._replace(bounds=ENDLESS)
        assert not resolved(judge(sandbox, hidden, FAILING_ALONE[name]))

    def test_it_is_not_right_in_the_batch(self, sandbox: Sandbox, name: str) -> None:
        if name == "something else is kept":
            return  # found by the run in isolation that confirms the batch
        hidden = STDIO.hidden
        assert isinstance(hidden, StdioTests)
        outputs = judge_module._batch_outputs(
            sandbox, STDIO._replace(bounds=ENDLESS), hidden, FAILING_ALONE[name]
        )
        assert outputs != [case.output for case in hidden.cases]


AT_EXIT = "import atexit, os\n@atexit.register\ndef last():\n    {}\n"
ENDINGS = {
    "an exit handler never ends": AT_EXIT.format("while True: pass"),
    "an exit handler exits with another code": AT_EXIT.format("os._exit(3)"),
    "an exit handler aborts": AT_EXIT.format("os.abort()"),
    "an exit handler floods the output": AT_EXIT.format("while True: os.write(1, b'x' * 65536)"),
    "a thread never ends": (
        "import threading\ndef last():\n    while True: pass\n"
        "threading.Thread(target=last).start()\n"
    ),
}
ENDINGS["a hidden thread never ends"] = (
    f"{ENDINGS['a thread never ends']}"
    "import _thread\nthreading.active_count = lambda: 1\nthreading._active.clear()\n"
    "_thread._count = lambda: 0\n"
)
ENDINGS["a hidden exit handler aborts"] = (
    f"{ENDINGS['an exit handler aborts']}atexit._ncallbacks = lambda: 0\n"
)


@pytest.mark.parametrize("ending", ENDINGS)
class TestRightResultWithABadEnding:
    def test_it_does_not_pass_on_standard_input(self, sandbox: Sandbox, ending: str) -> None:
        program = f"{ENDINGS[ending]}{SUM}"
        assert not any(judge(sandbox, STDIO._replace(bounds=ENDLESS), program).values())

    def test_it_does_not_pass_calls(self, sandbox: Sandbox, ending: str) -> None:
        program = f"{ENDINGS[ending]}{ADD}"
        assert not any(judge(sandbox, CALLS._replace(bounds=ENDLESS), program).values())

    @pytest.mark.parametrize("hidden", [CODE, PLAIN])
    def test_it_does_not_pass_test_code(
        self, sandbox: Sandbox, ending: str, hidden: Problem
    ) -> None:
        program = f"{ENDINGS[ending]}{ADD}"
        assert not resolved(judge(sandbox, hidden._replace(bounds=ENDLESS), program))

    def test_it_does_not_pass_tests_of_files(self, sandbox: Sandbox, ending: str) -> None:
        program = f"{ENDINGS[ending]}open('b.txt', 'w').write('42')\n"
        hidden = problem(FileTests(inputs={}, artefacts=("b.txt",), code=(OVER_FILES,)))
        assert not resolved(judge(sandbox, hidden._replace(bounds=ENDLESS), program))


class TestTestCode:
    def test_each_test_has_its_verdict(self, sandbox: Sandbox) -> None:
        assert judge(sandbox, CODE, ADD) == {"T.test_a": True, "T.test_b": True}
        assert judge(sandbox, CODE, WRONG_ADD) == {"T.test_a": True, "T.test_b": False}

    def test_plain_asserts_are_one_test(self, sandbox: Sandbox) -> None:
        assert judge(sandbox, PLAIN, ADD) == {"program": True}
        assert judge(sandbox, PLAIN, "def add(a, b):\n    return 4\n") == {"program": False}

    @pytest.mark.parametrize("hidden", [CODE, PLAIN])
    @pytest.mark.parametrize(
        "program", ["raise SystemExit", "print((", "", f"{ADD}\nimport os; os._exit(0)"]
    )
    def test_a_program_that_exits_before_the_tests_does_not_pass(
        self, sandbox: Sandbox, hidden: Problem, program: str
    ) -> None:
        assert not resolved(judge(sandbox, hidden, program))

    def test_test_code_without_a_test_is_not_passed(self, sandbox: Sandbox) -> None:
        assert judge(sandbox, problem(CodeTests(code="answer = 3\n")), ADD) == {"program": False}

    def test_a_program_that_removes_the_tests_does_not_pass(self, sandbox: Sandbox) -> None:
        remover = (
            "import gc, sys\n\ndef remove(*_):\n"
            "    tests = sys.modules.get('tests')\n"
            "    if hasattr(tests, 'T'):\n        del tests.T\n\n"
            "gc.callbacks.append(remove)\ngc.set_threshold(1)\n"
        )
        hidden = problem(CodeTests(code=REMOVABLE))
        assert judge(sandbox, hidden, f"{remover}{WRONG_ADD}") == {"program": False}


class TestSeveralTestsWithOneName:
    """They pass only together."""

    @pytest.mark.parametrize("order", [(3, 4), (4, 3)])
    def test_in_one_class_that_is_defined_twice(
        self, sandbox: Sandbox, order: tuple[int, int]
    ) -> None:
        body = "        self.assertEqual(add(1, 2), {})\n"
        case = "class T(unittest.TestCase):\n    def test_a(self):\n"
        both = (f"{case}{body.format(n)}kept{n} = T\n" for n in order)
        hidden = problem(CodeTests(code=f"import unittest\n\n{''.join(both)}del T\n"))
        assert judge(sandbox, hidden, ADD) == {"T.test_a": False}

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_in_several_files_of_tests(self, sandbox: Sandbox, order: tuple[int, int]) -> None:
        code = tuple(f"def test_a():\n    assert {n}\n" for n in order)
        hidden = problem(FileTests(inputs={}, artefacts=("b.txt",), code=code))
        results = judge(sandbox, hidden, "open('b.txt', 'w').write('42')")
        assert results == {"program": True, "test_a": False}


class TestFiles:
    HIDDEN = FileTests(
        inputs={"a.txt": b"21"},
        artefacts=("b.txt",),
        code=(OVER_FILES,),
    )

    def test_tests_run_on_the_files_that_the_program_wrote(self, sandbox: Sandbox) -> None:
        right = "open('b.txt', 'w').write(str(2 * int(open('a.txt').read())))"
        results = judge(sandbox, problem(self.HIDDEN), right)
        assert len(results) == 4
        assert resolved(results)

    def test_a_wrong_file_fails_only_the_tests_that_it_violates(self, sandbox: Sandbox) -> None:
        results = judge(sandbox, problem(self.HIDDEN), "open('b.txt', 'w').write('7')")
        assert results == {
            "program": True,
            "test_it_is_there": True,
            "TestIt.test_twice": False,
            "U.test_short": True,
        }

    def test_without_an_output_file_no_test_runs(self, sandbox: Sandbox) -> None:
        assert judge(sandbox, problem(self.HIDDEN), "pass") == {"program": False}

    def test_hidden_tests_that_cannot_run_are_a_sandbox_error(self, sandbox: Sandbox) -> None:
        broken = FileTests(inputs={}, artefacts=("b.txt",), code=("import nothing_like_it",))
        with pytest.raises(SandboxError, match="do not run"):
            judge(sandbox, problem(broken), "open('b.txt', 'w').write('7')")

    @pytest.mark.parametrize(
        ("artefact", "bounds"),
        [
            ("while True: pass", Bounds(seconds=2.0)),
            ("import os\nos.abort()", Bounds(seconds=30.0)),
            ("while True: print('x' * 9999)", Bounds(seconds=30.0, output_bytes=1 << 16)),
            ("kept = bytearray(1 << 31)", Bounds(seconds=30.0, memory_bytes=1 << 28)),
        ],
    )
    def test_a_file_that_exhausts_the_limits_of_the_tests_does_not_pass(
        self, sandbox: Sandbox, artefact: str, bounds: Bounds
    ) -> None:
        program = f"open('b.txt', 'w').write({artefact!r})"
        reading = FileTests(inputs={}, artefacts=("b.txt",), code=("exec(open('b.txt').read())",))
        hidden = problem(reading)._replace(bounds=bounds)
        assert judge(sandbox, hidden, program) == {"program": False}

    def test_the_program_cannot_see_its_hidden_tests(self, sandbox: Sandbox) -> None:
        spy = "import os\nopen('b.txt', 'w').write(' '.join(sorted(os.listdir('.'))))"
        looked = FileTests(
            inputs={"a.txt": b""},
            artefacts=("b.txt",),
            code=("def test_it():\n    assert 'tests' not in open('b.txt').read()\n",),
        )
        assert resolved(judge(sandbox, problem(looked), spy))
