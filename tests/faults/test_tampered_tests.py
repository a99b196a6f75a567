"""A program that replaces the code that tests it, or forges its reports, does not pass."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.execution import Bounds, Ending, Execution, RunTests
from auditcoder.domain.task import ProgramForm, Task
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import CodeTests, Problem

TESTS = """\
import unittest

class T(unittest.TestCase):
    def setUp(self):
        self.expected = 4

    def test_value(self):
        self.assertEqual(f(2), self.expected)

    def test_error(self):
        with self.assertRaises(ValueError):
            f(-1)
"""
PLAIN = "assert f(2) == 4\n"
WRONG = "def f(x):\n    return 5\n"
BOUNDS = Bounds(seconds=60.0)
ENDLESS = Bounds(seconds=2.0)

VALUES = """\
import unittest

class T(unittest.TestCase):
    def test_1(self):
        self.assertEqual(f(2), 4)

    def test_2(self):
        self.assertEqual(f(3), 6)
"""
FUNCTIONS = "def test_1():\n    assert f(2) == 4\n\ndef test_2():\n    assert f(3) == 6\n"
CLASS = "class TestF:\n    def test_1(self):\n        assert f(2) == 4\n"
SUB_TESTS = """\
import unittest

class T(unittest.TestCase):
    def test_1(self):
        for n in (2, 3):
            with self.subTest(n=n):
                self.assertEqual(f(n), 2 * n)
"""
ASYNC = """\
import unittest

class T(unittest.IsolatedAsyncioTestCase):
    async def test_1(self):
        self.assertEqual(f(2), 4)
"""
FORMS = {
    "methods": VALUES,
    "functions": FUNCTIONS,
    "methods of a plain class": CLASS,
    "sub-tests": SUB_TESTS,
    "an async method": ASYNC,
    "asserts": PLAIN,
}
# Instead of returning a value.
RAISED = {
    "an exception that unittest ignores": "import unittest.case\nraise unittest.case._ShouldStop",
    "a subclass of it": (
        "import unittest.case\n"
        "raise type('E', (unittest.case._ShouldStop, AssertionError, ValueError), {})"
    ),
    "an exception that skips": "import unittest\nraise unittest.SkipTest",
    "an exception for unexpected success": (
        "import unittest.case\nraise unittest.case._UnexpectedSuccess"
    ),
    "the end of a generator": "raise GeneratorExit",
    "the end of an iterator": "raise StopIteration",
    "a comparison that raises": (
        "import unittest.case\n"
        "class Lie:\n"
        "    def __eq__(self, other): raise unittest.case._ShouldStop\n"
        "return Lie()"
    ),
}
EACH_CASE = """\
import gc, unittest
for case in gc.get_objects():
    if isinstance(case, unittest.TestCase) and type(case).__module__ == 'tests':
"""
EACH_FRAME = """\
import sys
frame = sys._getframe()
while frame := frame.f_back:
"""
ME = "import sys\nme = sys._getframe(1).f_locals['self']\n"
# In the function that is called by a test, which returns 2 * 2 then.
DATA = {
    "the outcome of the test": (
        f"{ME}me._outcome = type('O', (), {{'testPartExecutor': None, 'success': True}})()"
    ),
    "whether the outcome expects a failure": (
        f"{EACH_FRAME}    me = frame.f_locals.get('self')\n"
        "    if hasattr(me, '_outcome'):\n"
        "        me._outcome.expecting_failure = True\n"
        "return 5"
    ),
    "whether later tests expect a failure": (
        f"{ME}type(me).test_2.__unittest_expecting_failure__ = True"
    ),
    "whether later cases expect a failure": (
        f"{EACH_CASE}        case.__dict__['__unittest_expecting_failure__'] = True"
    ),
    "whether later tests are skipped": f"{ME}type(me).test_2.__unittest_skip__ = True",
    "whether the class was set up": f"{ME}type(me)._classSetupFailed = True",
    "whether the run is over": (
        f"{EACH_FRAME}    for thing in frame.f_locals.values():\n"
        "        if hasattr(thing, 'stop'):\n"
        "            thing.stop()\n"
        "        if hasattr(thing, 'broken'):\n"
        "            thing.broken = True\n"
        "        if hasattr(thing, 'finished'):\n"
        "            thing.finished = 1\n"
        "        if hasattr(thing, '_report'):\n"
        "            thing._report('test', name='T.test_2', verdict='passed', message='',"
        " frames=[])"
    ),
    "the reporter of a result": (
        f"{EACH_FRAME}    result = frame.f_locals.get('result')\n"
        "    if hasattr(result, '_report'):\n"
        "        def lie(what, real=result._report, **k): real(what, **k | {'verdict': 'passed'})\n"
        "        result._report = lie\n"
        "        break"
    ),
    "the cases of the suite": (
        "import unittest\n"
        "class Fake(unittest.TestCase):\n"
        "    def runTest(self): pass\n"
        "    def id(self): return 'tests.T.test_2'\n"
        f"{EACH_FRAME}    suite = frame.f_locals.get('self')\n"
        "    if isinstance(suite, unittest.TestSuite):\n"
        "        suite._tests[1:] = [Fake()]"
    ),
    "the method of later cases": f"{EACH_CASE}        case._testMethodName = 'test_1'",
    "the class of later cases": (
        "class Fake(__import__('unittest').TestCase):\n"
        "    def test_1(self): pass\n"
        "    def test_2(self): pass\n"
        f"{EACH_CASE}        case.__class__ = Fake"
    ),
    "the code of later tests": (f"{ME}type(me).test_2.__code__ = (lambda self: None).__code__"),
    "how the test compares": (
        f"{ME}me._type_equality_funcs = {{int: lambda *a, **k: None}}\nreturn 5"
    ),
    "how the test compares a type": (
        f"{ME}me.addTypeEqualityFunc(int, lambda *a, **k: None)\nreturn 5"
    ),
    "how later tests compare": (
        f"{EACH_CASE}        case.addTypeEqualityFunc(int, 'assertIsNotNone')"
    ),
}
# At the top level of the program.
AT_IMPORT = {
    "an assertion": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None",
    "the context of an assertion": (
        "import unittest.case\n"
        "unittest.case._AssertRaisesContext.__exit__ = lambda *a: True\n"
        "unittest.TestCase.assertEqual = lambda *a: None"
    ),
    "running a test": "import unittest\nunittest.TestCase.run = lambda *a: None",
    "a method that runs the test": "import unittest\nunittest.TestCase._callTestMethod = print",
    "a result": "import unittest\nunittest.TestResult.wasSuccessful = lambda *a: True",
    "starting a test": "import unittest\nunittest.TestResult.startTest = lambda *a: None",
    "the suite": "import unittest\nunittest.TestSuite.run = lambda *a: None",
    "the loader": (
        "import unittest\n"
        "unittest.TestLoader.loadTestsFromTestCase = lambda *a: unittest.TestSuite()"
    ),
    "the code of an assertion": (
        "import unittest\nunittest.TestCase.assertEqual.__code__ = (lambda *a, **b: None).__code__"
    ),
    "the code of an inner function": (
        "import unittest.case\n"
        "def testPartExecutor(self, case, *a, **b):\n"
        "    try: yield\n"
        "    except BaseException: pass\n"
        "inner = unittest.case._Outcome.testPartExecutor.__wrapped__\n"
        "inner.__code__ = testPartExecutor.__code__"
    ),
    "a context manager of the library": (
        "import contextlib\ncontextlib._GeneratorContextManager.__exit__ = lambda *a: True"
    ),
    "attribute access of test cases": (
        "import unittest\nunittest.TestCase.__getattribute__ = object.__getattribute__"
    ),
    "an exception": "import builtins\nbuiltins.AssertionError = type('E', (Exception,), {})",
    "isinstance": "import builtins\nbuiltins.isinstance = lambda *a: True",
    "len": "import builtins\nbuiltins.len = lambda *a: 1",
    "print": "import builtins\nbuiltins.print = lambda *a: None",
    "the encoder of reports": (
        "import json\noriginal = json.dumps\n"
        "def dumps(value, **k):\n"
        "    return original(value, **k).replace('failed', 'passed').replace('error', 'passed')\n"
        "json.dumps = dumps"
    ),
    "a method of the encoder of reports": (
        "import json\noriginal = json.JSONEncoder.encode\n"
        "def encode(self, value):\n"
        "    done = original(self, value)\n"
        "    return done.replace('failed', 'passed').replace('error', 'passed')\n"
        "json.JSONEncoder.encode = encode"
    ),
    "a module": "import sys, types\nsys.modules['unittest'] = types.ModuleType('unittest')",
    "a trace function": "import sys\nsys.settrace(lambda *a: None)",
}
HARNESS = "sys._getframe().f_back.f_globals"
# In the function that is called by a test.
IN_A_CALL = {
    "an assertion": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None",
    "a result's method, found as a subclass": (
        "import unittest\n"
        "for kind in unittest.TestResult.__subclasses__():\n"
        "    kind.addFailure = kind.addError = lambda self, test, e: self.addSuccess(test)"
    ),
    "a result's method, found by the collector": (
        "import gc, unittest\n"
        "for thing in gc.get_objects():\n"
        "    if isinstance(thing, unittest.TestResult):\n"
        "        thing.addFailure = thing.addError = lambda test, e: type(thing).addSuccess("
        "thing, test)"
    ),
    "an assertion of one case": (
        "import gc, unittest\n"
        "for thing in gc.get_objects():\n"
        "    if isinstance(thing, unittest.TestCase):\n"
        "        thing.assertEqual = lambda *a: None\n"
        "        thing.assertRaises = __import__('contextlib').nullcontext"
    ),
    "a result's method, found in a frame": (
        "import sys\nframe = sys._getframe()\n"
        "while frame:\n"
        "    kind = frame.f_globals.get('_Result')\n"
        "    if kind:\n"
        "        kind.addFailure = kind.addError = lambda self, test, e: self.addSuccess(test)\n"
        "    frame = frame.f_back"
    ),
    "the code of the harness": (
        "import gc, types\n"
        "def nothing(*a, **k): pass\n"
        "def success(self, test, *a): self.addSuccess(test)\n"
        "for thing in gc.get_objects():\n"
        "    if isinstance(thing, types.FunctionType) and 'sandboxed' in thing.__module__:\n"
        "        if thing.__name__ in {'addFailure', 'addError'}:\n"
        "            thing.__code__ = success.__code__\n"
        "        elif 'nchanged' in thing.__name__ or 'refuse' in thing.__name__:\n"
        "            thing.__code__ = nothing.__code__"
    ),
    "the names of the harness": (
        "import sys\nframe = sys._getframe()\n"
        "while frame:\n"
        "    for name in ('_check_unchanged', '_refuse_added', 'check_unchanged'):\n"
        "        if name in frame.f_globals: frame.f_globals[name] = lambda *a: None\n"
        "    kind = frame.f_globals.get('_Result')\n"
        "    if kind:\n"
        "        kind.addFailure = kind.addError = lambda self, test, e: self.addSuccess(test)\n"
        "    frame = frame.f_back"
    ),
    "the closure of the reporter": (
        "import gc, types\n"
        "for thing in gc.get_objects():\n"
        "    if isinstance(thing, types.FunctionType) and thing.__name__ == 'report':\n"
        "        for name, cell in zip(thing.__code__.co_freevars, thing.__closure__):\n"
        "            if name == 'write':\n"
        "                original = cell.cell_contents\n"
        "                def write(channel, line):\n"
        "                    changed = line.replace(b'failed', b'passed')\n"
        "                    original(channel, changed.replace(b'error', b'passed'))\n"
        "                    return len(line)\n"
        "                cell.cell_contents = write"
    ),
    "leaving": "import sys\nsys.exit(0)",
    "leaving at once": "import os\nos._exit(0)",
}
MATH = "import math\nassert math.isclose(f(2), 4.0)\n"


def _case(body: str, imports: str = "") -> str:
    return (
        f"import unittest\n{imports}\nclass T(unittest.TestCase):\n"
        f"    def test_1(self):\n{indented(indented(body))}\n"
    )


def indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.splitlines())


OUTPUT = _case(
    "out = io.StringIO()\nwith contextlib.redirect_stdout(out): f(2)\n"
    "self.assertEqual(out.getvalue(), '4\\n')",
    "import contextlib, io",
)
MOCKED = _case(
    "seen = Mock()\nf(seen)\nseen.assert_called_once_with(4)", "from unittest.mock import *"
)
PATCHED = _case(
    "with patch('builtins.print') as printed: f(2)\nprinted.assert_called_with(4)",
    "from unittest.mock import patch",
)
CLOSE = "import numpy as np\nassert np.allclose(f(2), 4)\n"
# Tests, and a program that replaces what they use of the library.
LIBRARY = {
    "counting": (
        _case("self.assertCountEqual([f(2)], [4])"),
        "import collections\ncollections._count_elements = lambda m, i: None\n",
    ),
    "capturing logs": (
        _case("with self.assertLogs('x'): f(2)"),
        "import unittest._log\nunittest._log._AssertLogsContext.__exit__ = lambda *a: True\n",
    ),
    "regular expressions": (
        _case("self.assertRegex(str(f(2)), '^4$')"),
        (
            "import re\nclass P:\n    pattern = ''\n    def search(self, *a): return True\n"
            "re.compile = lambda *a: P()\n"
        ),
    ),
    "warnings": (
        _case("with self.assertWarns(UserWarning): f(2)"),
        (
            "import warnings\n"
            "class C:\n"
            "    def __enter__(self):\n"
            "        return [type('W', (), dict(message=UserWarning(), filename='', lineno=1))]\n"
            "    def __exit__(self, *a): pass\n"
            "warnings.catch_warnings = lambda **k: C()\n"
        ),
    ),
    "mocks": (
        MOCKED,
        (
            "import unittest.mock as m\n"
            "m.NonCallableMock.assert_called_once_with = lambda *a, **k: None\n"
        ),
    ),
    "mocks that patch": (
        PATCHED,
        "import unittest.mock as m\nm.NonCallableMock.assert_called_with = lambda *a, **k: None\n",
    ),
    "the module of mocks": (
        MOCKED.replace(".mock import *", " import mock\nfrom unittest.mock import Mock"),
        (
            "import unittest, unittest.mock\n"
            "unittest.mock.Mock.assert_called_once_with = lambda *a, **k: None\n"
        ),
    ),
    "text streams": (
        OUTPUT,
        (
            "import io\nclass S(io.StringIO):\n    def getvalue(self): return '4\\n'\n"
            "io.StringIO = S\n"
        ),
    ),
    "decoding": (
        _case("self.assertEqual(json.loads(json.dumps(f(2))), 4)", "import json"),
        "import json\njson.loads = lambda *a: 4\n",
    ),
    "decoding, in what it calls": (
        _case("self.assertEqual(json.loads(json.dumps(f(2))), 4)", "import json"),
        "import json\njson.decoder.JSONDecoder.decode = lambda *a: 4\n",
    ),
    "copies": (
        _case(
            "given = [3]\nbefore = copy.deepcopy(given)\nf(given)\nself.assertEqual(given, before)",
            "import copy",
        ),
        "import copy\ncopy.deepcopy = lambda x: x\ndef f(x): x.append(1)\n",
    ),
    "copies, in what they call": (
        _case("self.assertEqual(copy.copy([f(2)]), [4])", "import copy"),
        "import copy\ncopy.cls = 1\ncopy.copy.__code__ = (lambda x: [4]).__code__\n",
    ),
    "a function": (MATH, "import math\nmath.isclose = lambda *a: True\n"),
    "a constant": (
        "import math\nassert f(2) == math.tau\n",
        "import math\nmath.tau = 5\n",
    ),
    "a module": (
        MATH,
        (
            "import sys, types\nm = types.ModuleType('math')\nm.isclose = lambda *a: True\n"
            "sys.modules['math'] = m\n"
        ),
    ),
    "a part of a module": (
        _case("self.assertTrue(os.path.isabs(str(f(2))))", "import os"),
        "import os, types\nos.path = types.SimpleNamespace(isabs=lambda p: True)\n",
    ),
    "what finds modules": (
        MATH,
        (
            "import importlib.machinery, sys, types\ndel sys.modules['math']\n"
            "class F:\n"
            "    def find_spec(self, name, *a):\n"
            "        if name == 'math': return importlib.machinery.ModuleSpec(name, self)\n"
            "    def create_module(self, s):\n"
            "        m = types.ModuleType('math'); m.isclose = lambda *a: True; return m\n"
            "    def exec_module(self, m): pass\n"
            "sys.meta_path.insert(0, F())\n"
        ),
    ),
    "how paths are read": (
        "import math\nassert f(2) == 5\n",
        "import sys\nsys.path_hooks.clear()\n",
    ),
    "arrays": (CLOSE, "import numpy\nnumpy.allclose = lambda *a: True\n"),
    "arrays, in what they call": (
        CLOSE,
        (
            "import sys, numpy\nfor name, module in [*sys.modules.items()]:\n"
            "    if name.startswith('numpy.') and name.endswith('core.numeric'):\n"
            "        module.isclose = lambda *a, **k: numpy.bool_(True)\n"
        ),
    ),
    "assertions about arrays": (
        "import numpy as np\nnp.testing.assert_allclose(f(2), 4)\n",
        "import numpy.testing as t\nt._private.utils.assert_array_compare = lambda *a, **k: None\n",
    ),
}
FIND = """\
import sys
done = []
def act(*_):
    T = getattr(sys.modules.get('tests'), 'T', None)
    if T and not done:
        done.append(True)
"""
COLLECT = "import gc\ngc.set_threshold(1)\n"
# While the tests are loaded.
WHILE_LOADED = {
    "a callback of the collector": (
        f"{FIND}        T.test_1 = T.test_2 = lambda self: None\n"
        f"{COLLECT}gc.callbacks.append(act)\n"
    ),
    "a callback that removes the tests": (
        f"{FIND}        del sys.modules['tests'].T\n{COLLECT}gc.callbacks.append(act)\n"
    ),
    "a callback that changes constants": (
        f"{FIND}        for test in (T.test_1, T.test_2):\n"
        "            test.__code__ = test.__code__.replace(co_consts=(None, 2, 5))\n"
        f"{COLLECT}gc.callbacks.append(act)\n"
    ),
    "a finalizer": (
        f"{FIND}        T.test_1 = T.test_2 = lambda self: None\n"
        "class Again:\n"
        "    def __init__(self): self.me = self\n"
        "    def __del__(self):\n        act()\n        Again()\n"
        f"{COLLECT}Again()\n"
    ),
    "a signal": (
        f"{FIND}        T.test_1 = T.test_2 = lambda self: None\n"
        "import signal\nsignal.signal(signal.SIGALRM, act)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.00005)\n"
    ),
    "a thread": (
        f"{FIND}        T.test_1 = T.test_2 = lambda self: None\n"
        "import threading\nsys.setswitchinterval(1e-6)\n"
        "def run():\n    while not done: act()\n"
        "threading.Thread(target=run, daemon=True).start()\n"
    ),
}
# Tests that replace parts of the library themselves.
REPLACING = {
    "a function": "import time\ntime.sleep = lambda s: None\nassert f(2) == 4\n",
    "by name": "import time\nsetattr(time, 'sleep', None)\nassert f(2) == 4\n",
    "by a patch that stays": (
        "import time\nfrom unittest.mock import patch\npatch('time.sleep').start()\n"
        "time.sleep(1)\nassert f(2) == 4\n"
    ),
    "standard output": "import io, sys\nsys.stdout = io.StringIO()\nassert f(2) == 4\n",
    "in a test": _case("random.random = lambda: 0.5\nself.assertEqual(f(2), 4)", "import random"),
}
UNUSUAL = """\
import functools, unittest
from unittest.mock import patch
from program import f as test_function

def check(self, n): self.assertEqual(f(n), 2 * n)
def twice(method):
    @functools.wraps(method)
    def run(self):
        method(self)
        method(self)
    return run

class T(unittest.TestCase):
    test_data = [1, 2]
    assertSame = staticmethod(unittest.TestCase().assertEqual)
    test_lambda = lambda self: check(self, 1)
    test_partial = functools.partialmethod(check, 2)
    @patch("builtins.print")
    def test_patched(self, printed): self.assertSame(f(2), 4)
    @twice
    def test_twice(self): check(self, 3)
    @unittest.skipIf(False, "never")
    def test_kept(self): check(self, 4)

for n in range(3):
    setattr(T, f"test_{n}", lambda self, n=n: check(self, n))
Made = type("Made", (unittest.TestCase,), {"test_made": lambda self: check(self, 5)})
exec("class TestText:\\n    def test_text(self): assert f(1) == 2")
"""
# Right programs, which use the parts of the library that are compared.
HONEST = {
    "copies of context managers": (
        "import contextlib, copy, io\n"
        "def f(x):\n"
        "    for one in (contextlib.nullcontext(), contextlib.suppress(KeyError),"
        " contextlib.closing(io.StringIO())):\n"
        "        copy.copy(one)\n"
        "    return 2 * x\n"
    ),
    "copies of an encoder": (
        "import copy, json\n"
        "class Store:\n"
        "    def __init__(self): self.encoder = json.JSONEncoder(sort_keys=True)\n"
        "def f(x):\n    copy.deepcopy(Store())\n    return 2 * x\n"
    ),
    "an encoder of its own": (
        "import json\n"
        "class E(json.JSONEncoder):\n    def default(self, o): return str(o)\n"
        "def f(x):\n    json.dumps({'a': {1}}, cls=E)\n    return 2 * x\n"
    ),
    "type hints": (
        "import collections, contextlib, typing, unittest\n"
        "def f(x):\n"
        "    for kind in (unittest.TestCase, contextlib.ExitStack, collections.Counter):\n"
        "        typing.get_type_hints(kind)\n"
        "    return 2 * x\n"
    ),
    "mocks": (
        "from unittest.mock import patch\n"
        "def f(x):\n"
        "    with patch('os.getcwd', return_value=2 * x):\n"
        "        import os\n        return os.getcwd()\n"
    ),
    "output that is redirected": (
        "import contextlib, io\n"
        "def f(x):\n"
        "    with contextlib.redirect_stdout(io.StringIO()): print(1)\n"
        "    return 2 * x\n"
    ),
    "subclasses and registrations": (
        "import collections, contextlib\n"
        "class C(collections.Counter): pass\n"
        "class M: pass\n"
        "contextlib.AbstractContextManager.register(M)\n"
        "def f(x): return C('ab' * x).total()\n"
    ),
    "tracing that ended": (
        "import sys\ndef f(x):\n"
        "    sys.settrace(lambda *a: None)\n    sys.settrace(None)\n    return 2 * x\n"
    ),
    "tests of its own": (
        "import unittest\n"
        "class TestMine(unittest.TestCase):\n    def test_a(self): pass\n"
        "def f(x): return 2 * x\n"
        "if __name__ == '__main__': unittest.main()\n"
    ),
    "an event loop": (
        "import asyncio\nasync def g(x): return 2 * x\ndef f(x): return asyncio.run(g(x))\n"
    ),
    "a daemon thread": (
        "import threading, time\n"
        "threading.Thread(target=lambda: time.sleep(100), daemon=True).start()\n"
        "def f(x): return 2 * x\n"
    ),
    "a finder of modules": (
        "import sys\n"
        "class F:\n    def find_spec(self, *a): return None\n"
        "sys.meta_path.append(F())\n"
        "def f(x): return 2 * x\n"
    ),
    "hooks": (
        "import logging, sys, threading, warnings\n"
        "warnings.showwarning = warnings.formatwarning = print\n"
        "sys.excepthook = threading.excepthook = print\n"
        "logging.setLoggerClass(type('L', (logging.Logger,), {}))\n"
        "def f(x): return 2 * x\n"
    ),
    "a time limit": (
        "import signal\n"
        "def late(*_): raise TimeoutError\n"
        "signal.signal(signal.SIGALRM, late)\nsignal.signal(signal.SIGINT, late)\n"
        "signal.alarm(100)\n"
        "def f(x):\n"
        "    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
        "        while True: pass\n"
        "    except TimeoutError: return 2 * x\n"
    ),
    "callbacks of the collector": "import gc\ngc.callbacks.append(id)\ndef f(x): return 2 * x\n",
    "a cache": "import functools\n@functools.cache\ndef f(x): return 2 * x\n",
}
FORGE = """\
import json, os, sys

def every_text():
    import gc
    seen, texts, left = set(), set(), [*gc.get_objects()]
    frame = sys._getframe()
    while frame:
        left += [frame.f_globals, frame.f_locals, frame]
        frame = frame.f_back
    while left:
        thing = left.pop()
        if id(thing) not in seen:
            seen.add(id(thing))
            if type(thing) is str and len(thing) in (32, 64):
                texts.add(thing)
            left += gc.get_referents(thing)
    return {t for t in texts if not set(t) - set('0123456789abcdef')}

def forge():
    for seal in every_text():
        reports = [dict(what='planned', count=2)]
        reports += [dict(what='test', name=n, verdict='passed', message='', frames=[])
                    for n in ('T.test_value', 'T.test_error')]
        reports += [dict(what='done', proof=proof) for proof in [*every_text()]]
        for report in [*reports, dict(what='done')]:
            os.write(3, f'{seal} {json.dumps(report)}\\n'.encode())
"""
FORGED = {
    "at once": f"{FORGE}\nforge()\nos._exit(0)\n",
    "in a call": f"{FORGE}\ndef f(x):\n    forge()\n    os._exit(0)\n",
    "by an exit handler": (
        f"{FORGE}\nimport atexit\natexit.register(os._exit, 0)\natexit.register(forge)\n{WRONG}"
    ),
    "by a thread": (
        f"{FORGE}\nimport threading\n"
        f"threading.Thread(target=lambda: (forge(), os._exit(0))).start()\n{WRONG}"
    ),
}
BAD_ENDINGS = {
    "a thread that never ends": (
        "import threading\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()\n"
        "def f(x):\n    if x < 0: raise ValueError\n    return 2 * x\n"
    ),
    "an exit handler that ends the process": (
        "import atexit, os\natexit.register(os._exit, 3)\n"
        "def f(x):\n    if x < 0: raise ValueError\n    return 2 * x\n"
    ),
}


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    with LocalSandbox(("numpy",), layers=()) as opened:
        yield opened


def passes(sandbox: Sandbox, program: str, tests: str, bounds: Bounds = BOUNDS) -> bool:
    """Whether a program passes tests, according to the report of the run and to the judge."""
    outcome = sandbox.run(Execution(source=program, action=RunTests(code=tests), bounds=bounds))
    reported = outcome.ending is Ending.OK and all(
        t.verdict.value == "passed" for t in outcome.tests
    )
    task = Task(title="T", statement="T", form=ProgramForm())
    problem = Problem("1", task, CodeTests(code=tests), bounds=bounds)
    judged = resolved(judge(sandbox, problem, program))
    assert judged <= reported
    return reported


def test_a_right_program_passes(sandbox: Sandbox) -> None:
    right = "def f(x):\n    if x < 0: raise ValueError\n    return 2 * x\n"
    assert passes(sandbox, right, TESTS)
    assert passes(sandbox, right, PLAIN)
    assert not passes(sandbox, WRONG, TESTS)
    assert not passes(sandbox, WRONG, PLAIN)


@pytest.mark.parametrize("attack", AT_IMPORT)
def test_a_replacement_while_the_program_is_loaded_does_not_pass(
    sandbox: Sandbox, attack: str
) -> None:
    assert not passes(sandbox, f"{AT_IMPORT[attack]}\n{WRONG}", TESTS)


@pytest.mark.parametrize("attack", AT_IMPORT)
def test_even_a_right_program_that_replaces_test_code_is_reported(
    sandbox: Sandbox, attack: str
) -> None:
    right = "def f(x):\n    if x < 0: raise ValueError\n    return 2 * x\n"
    tests = RunTests(code=TESTS)
    outcome = sandbox.run(Execution(source=f"{AT_IMPORT[attack]}\n{right}", action=tests))
    assert outcome.ending is not Ending.OK
    assert outcome.raised is None or outcome.raised.exception in {"Tampering", "TypeError"}


@pytest.mark.parametrize("attack", IN_A_CALL)
def test_a_replacement_in_a_call_does_not_pass(sandbox: Sandbox, attack: str) -> None:
    program = f"def f(x):\n{indented(IN_A_CALL[attack])}\n    return 5\n"
    assert not passes(sandbox, program, TESTS)


@pytest.mark.parametrize("attack", IN_A_CALL)
def test_a_replacement_by_another_thread_does_not_pass(sandbox: Sandbox, attack: str) -> None:
    program = (
        f"import threading\ndef attack():\n{indented(IN_A_CALL[attack])}\n"
        "def f(x):\n    thread = threading.Thread(target=attack)\n"
        "    thread.start()\n    thread.join()\n    return 5\n"
    )
    assert not passes(sandbox, program, TESTS)


@pytest.mark.parametrize("attack", FORGED)
@pytest.mark.parametrize("tests", [TESTS, PLAIN])
def test_a_forged_report_does_not_pass(sandbox: Sandbox, attack: str, tests: str) -> None:
    assert not passes(sandbox, FORGED[attack], tests)


@pytest.mark.parametrize("ending", BAD_ENDINGS)
@pytest.mark.parametrize("tests", [TESTS, PLAIN])
def test_a_right_program_with_a_bad_ending_does_not_pass(
    sandbox: Sandbox, ending: str, tests: str
) -> None:
    assert not passes(sandbox, BAD_ENDINGS[ending], tests, ENDLESS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("raised", RAISED)
def test_a_test_passes_only_if_its_body_returned(sandbox: Sandbox, form: str, raised: str) -> None:
    assert not passes(sandbox, f"def f(x):\n{indented(RAISED[raised])}\n", FORMS[form])
    assert passes(sandbox, "def f(x):\n    return 2 * x\n", FORMS[form])


@pytest.mark.parametrize("data", DATA)
def test_replaced_data_of_a_test_does_not_decide_about_it(sandbox: Sandbox, data: str) -> None:
    program = f"def f(x):\n{indented(DATA[data])}\n    return 4\n"
    assert not passes(sandbox, program, VALUES)


@pytest.mark.parametrize("program", HONEST)
def test_a_right_program_is_not_refused_for_using_the_library(
    sandbox: Sandbox, program: str
) -> None:
    assert passes(sandbox, HONEST[program], VALUES)
    assert passes(sandbox, HONEST[program], PLAIN)


@pytest.mark.parametrize("part", LIBRARY)
def test_a_replaced_part_of_the_library_does_not_pass(sandbox: Sandbox, part: str) -> None:
    tests, attack = LIBRARY[part]
    program = attack if "def f(" in attack else f"{attack}{WRONG}"
    assert not passes(sandbox, program, tests)


@pytest.mark.parametrize("change", REPLACING)
def test_tests_may_replace_parts_of_the_library(sandbox: Sandbox, change: str) -> None:
    assert passes(sandbox, "def f(x):\n    return 2 * x\n", REPLACING[change])


@pytest.mark.parametrize("tests", [VALUES, f"{VALUES}\nprint(T)\n"], ids=["alone", "with a call"])
@pytest.mark.parametrize("means", WHILE_LOADED)
def test_tests_that_are_replaced_while_they_are_loaded_do_not_pass(
    sandbox: Sandbox, means: str, tests: str
) -> None:
    assert not passes(sandbox, f"{WHILE_LOADED[means]}{WRONG}", tests)


def test_tests_may_define_themselves_in_unusual_ways(sandbox: Sandbox) -> None:
    assert passes(sandbox, "def f(x):\n    return 2 * x\n", UNUSUAL)
