"""No part of a program replaces the code of another part unnoticed, and the culprit is named."""

import sys
from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from auditcoder.domain.assembly import Segment
from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.evidence import Evidence, Verdict
from auditcoder.domain.execution import PROGRAM_FILE, Execution, ExecutionOutcome
from auditcoder.domain.ids import NodeId
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    FilesExample,
    FilesForm,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validation.owned_run import ownership
from auditcoder.lifecycle.validation.program_checks import validate_program
from tests.support.checked_programs import SOLVE, WrittenFunction, written_program
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def function(name: str, *params: str) -> Contract:
    return Contract(name=name, params=tuple(Param(name=p, type="int") for p in params))


TWICE = Contract(name="twice", params=(Param(name="x", type="int"),), returns="int")
STDIO = Task(
    title="T",
    statement="S",
    form=ProgramForm(),
    examples=(StdioExample(input="2\n", output="4\n"),),
)
CALL = Task(
    title="T",
    statement="S",
    form=FunctionForm(entry="solve", signature="def solve(data)"),
    examples=(CallExample(arguments="'2'", result="'4'"),),
)
FILES = Task(
    title="T",
    statement="S",
    form=FilesForm(inputs=("a",), artefacts=("b",)),
    examples=(FilesExample(inputs={"a": "2"}, artefacts={"b": "4"}),),
)
ROOT_CODE = "def solve(data: str) -> str:\n    help_out()\n    return str(twice(int(data)))\n"
ROOTS = {
    "stdio": (STDIO, f"{ROOT_CODE}\n\nif __name__ == '__main__':\n    print(solve(input()))\n"),
    "call": (CALL, ROOT_CODE),
    "files": (
        FILES,
        (
            f"{ROOT_CODE}\n\nif __name__ == '__main__':\n"
            "    open('b', 'w').write(solve(open('a').read()))\n"
        ),
    ),
}
WRONG = "def twice(x):\n    return x + 1\n"
DEFAULT = "def twice(x, factor=1):\n    return x * factor\n"
IN_A_CLASS = (
    "class Twice:\n    def of(self, x):\n        return x + 1\n\n\n"
    "def twice(x):\n    return Twice().of(x)\n"
)
INHERITED = (
    "class Base:\n    def of(self, x):\n        return x + 1\n\n\nclass Sub(Base):\n    pass\n\n\n"
    "def twice(x):\n    return Sub().of(x)\n"
)
LOGGED = "def logged(f):\n    def inner(*a):\n        return f(*a)\n\n    return inner\n\n\n"
NEW = "lambda *_: 4"
ATTACKS = {
    "globals": (WRONG, f"globals()['twice'] = {NEW}"),
    "globals, a builtin": (WRONG, "globals()['twice'] = {2: 4}.get"),
    "globals, a class": (WRONG, "globals()['twice'] = type('twice', (int,), {})"),
    "globals, a partial": (
        WRONG,
        "import functools\nglobals()['twice'] = functools.partial(pow, 2)",
    ),
    "globals, a wrapper": (
        WRONG,
        f"import functools\nglobals()['twice'] = functools.wraps(globals()['twice'])({NEW})",
    ),
    "setattr of the module": (
        WRONG,
        f"import sys\nsetattr(sys.modules[__name__], 'twi' + 'ce', {NEW})",
    ),
    "exec": (WRONG, "exec('def twice(x): return 4', globals())"),
    "exec that claims the file": (
        WRONG,
        "exec(compile('def twice(x): return 4', 'program.py', 'exec'), globals())",
    ),
    "exec that claims a line of the owner": (
        WRONG,
        (
            "text = chr(10) * 6 + 'def twice(x): return 4'\n"
            "exec(compile(text, 'program.py', 'exec'), globals())"
        ),
    ),
    "exec that claims to be a test": (
        WRONG,
        "exec(compile('def twice(x): return 4', 'tests.py', 'exec'), globals())",
    ),
    "the same code with other globals": (
        "FACTOR = 1\n\n\ndef twice(x):\n    return FACTOR * x\n",
        (
            "code = globals()['twice'].__code__\n"
            "globals()['twice'] = type(help_out)(code, {'FACTOR': 2})"
        ),
    ),
    "exec of a global": (WRONG, "exec('global twice\\ndef twice(x): return 4', globals(), {})"),
    "code": (WRONG, f"setattr(globals()['twice'], '__code' + '__', ({NEW}).__code__)"),
    "defaults": (DEFAULT, "setattr(globals()['twice'], '__def' + 'aults__', (2,))"),
    "a method": (IN_A_CLASS, f"setattr(globals()['Twice'], 'o' + 'f', {NEW})"),
    "a method by type": (IN_A_CLASS, f"type.__setattr__(globals()['Twice'], 'of', {NEW})"),
    "a static method": (
        IN_A_CLASS,
        f"setattr(globals()['Twice'], 'of', staticmethod({NEW}))",
    ),
    "a special method": (
        IN_A_CLASS,
        "setattr(globals()['Twice'], '__getattribute__', lambda *_: lambda *_: 4)",
    ),
    "a class": (
        IN_A_CLASS,
        "globals()['Twice'] = type('Twice', (), {'of': lambda *_: 4})",
    ),
    "bases": (
        INHERITED,
        "globals()['Sub'].__bases__ = (type('B', (), {'of': lambda *_: 4}),)",
    ),
    "a method that hides an inherited one": (INHERITED, f"setattr(globals()['Sub'], 'of', {NEW})"),
    "a method that hides an inherited one, by its name": (INHERITED, f"Sub.of = {NEW}"),
    "a property that hides data of instances": (
        (
            "class T:\n    def __init__(self, x):\n        self.x = x\n\n"
            "    def of(self):\n        return self.x + 1\n\n\n"
            "def twice(x):\n    return T(x).of()\n"
        ),
        "setattr(globals()['T'], 'x', property(lambda _: 3, lambda *_: None))",
    ),
    "the closure of a decorated function": (
        f"{LOGGED}@logged\ndef twice(x):\n    return x + 1\n",
        f"globals()['twice'].__closure__[0].cell_contents = {NEW}",
    ),
    "the closure of a decorated method": (
        (
            f"{LOGGED}class T:\n    @logged\n    def of(self, x):\n        return x + 1\n\n\n"
            "def twice(x):\n    return T().of(x)\n"
        ),
        f"globals()['T'].of.__closure__[0].cell_contents = {NEW}",
    ),
    "a context manager": (
        (
            "import contextlib\n\n\n@contextlib.contextmanager\ndef two():\n    yield 1\n\n\n"
            "def twice(x):\n    with two() as t:\n        return x + t\n"
        ),
        "globals()['two'].__closure__[0].cell_contents = lambda: iter([2])",
    ),
    "a lambda": ("twice = lambda x: x + 1\n", f"globals()['twice'] = {NEW}"),
    "an alias": (
        "def double(x):\n    return x + 1\n\n\ntwice = double\n",
        f"globals()['twice'] = {NEW}",
    ),
    "a partial": (
        (
            "import functools\n\n\ndef add(x, y):\n    return x + y\n\n\n"
            "twice = functools.partial(add, 1)\n"
        ),
        f"globals()['twice'] = {NEW}",
    ),
    "the state of a partial": (
        (
            "import functools\n\n\n@(lambda f: functools.partial(f, 1))\n"
            "def twice(y, x):\n    return x + y\n"
        ),
        f"globals()['twice'].__setstate__(({NEW}, (), {{}}, {{}}))",
    ),
    "a method that is a lambda": (
        "class T:\n    of = lambda self, x: x + 1\n\n\ndef twice(x):\n    return T().of(x)\n",
        f"setattr(globals()['T'], 'of', {NEW})",
    ),
    "the code of a generated method": (
        (
            "import dataclasses\n\n\n@dataclasses.dataclass\nclass P:\n    x: int\n\n\n"
            "def twice(x):\n    return P(x).x + 1\n"
        ),
        "def init(self, x):\n    self.x = 3\nglobals()['P'].__init__.__code__ = init.__code__",
    ),
    "the function of a cached property": (
        (
            "import functools\n\n\nclass P:\n    @functools.cached_property\n"
            "    def v(self):\n        return 1\n\n\ndef twice(x):\n    return x + P().v\n"
        ),
        "vars(globals()['P'])['v'].func = lambda _: 2",
    ),
    "what a decorated function says that it wraps": (
        (
            "import functools\n\n\ndef logged(f):\n    @functools.wraps(f)\n"
            "    def inner(*a):\n        return inner.__wrapped__(*a)\n\n    return inner\n\n\n"
            "@logged\ndef twice(x):\n    return x + 1\n"
        ),
        f"setattr(globals()['twice'], '__wrapped__', {NEW})",
    ),
    "an import of another node": (
        "from operator import neg\n\n\ndef twice(x):\n    return neg(x)\n",
        f"globals()['neg'] = {NEW}",
    ),
    "a built-in": (
        "def twice(x):\n    return abs(x)\n",
        f"import builtins\nbuiltins.abs = {NEW}",
    ),
    "a built-in, by a new global name": (
        "def twice(x):\n    return abs(x)\n",
        f"globals()['abs'] = {NEW}",
    ),
    "deleting": (
        "def twice(x):\n    return x + 1\n",
        "import builtins\nsetattr(builtins, 'twice', lambda *_: 4)\nglobals().pop('twice')",
    ),
    "reached by the collector": (
        WRONG,
        (
            "import gc\n"
            "for thing in gc.get_objects():\n"
            "    if getattr(thing, '__name__', '') == 'twice' and hasattr(thing, '__code__'):\n"
            f"        setattr(thing, '__co' + 'de__', ({NEW}).__code__)"
        ),
    ),
}


def indented(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.splitlines())


def evidence(
    sandbox: Sandbox, form: str, helper: str, attacked: str, root: str = ""
) -> tuple[list[Evidence], str]:
    """Load a program with the nodes S1 and S2, and run its example; return both and its text."""
    task, usual = ROOTS[form]
    nodes = [WrittenFunction(function("help_out"), helper), WrittenFunction(TWICE, attacked)]
    with written_program(sandbox, nodes, root or usual, task, root_contract=SOLVE) as context:
        return validate_program(context)[:2], context.program


@pytest.mark.parametrize("form", ROOTS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_replacement_in_a_call_does_not_pass_and_is_blamed(
    sandbox: Sandbox, form: str, attack: str
) -> None:
    attacked, does = ATTACKS[attack]
    helper = f"def help_out():\n{indented(does)}    return None\n"
    (loads, example), program = evidence(sandbox, form, helper, attacked)
    assert example.verdict is Verdict.CRASH, example
    assert "was replaced at run time by S1" in example.message
    assert [(f.node, f.file) for f in example.frames] == [("S1", PROGRAM_FILE)]
    line = example.frames[0].line
    assert program.splitlines()[line - 1].strip() in {each.strip() for each in does.splitlines()}
    if form == "call":
        assert loads.verdict is Verdict.PASSED


AGAIN = "def again(x):\n    return x + 1\n\n\n"
UNPLACED = {
    "a thread": (
        WRONG,
        (
            "import threading\n"
            f"thread = threading.Thread(target=globals().update, kwargs={{'twice': {NEW}}})\n"
            "thread.start()\nthread.join()"
        ),
    ),
    "a timer, while the owner runs": (
        f"import time\n\n\n{AGAIN}def twice(x):\n    time.sleep(0.2)\n    return again(x)\n",
        (
            "import threading\n"
            f"threading.Timer(0.05, globals().__setitem__, ('again', {NEW})).start()"
        ),
    ),
    "a callable of the library that the owner calls": (
        f"HOOKS = []\n\n\n{AGAIN}def twice(x):\n    HOOKS[0]()\n    return again(x)\n",
        (
            "import functools\n"
            f"HOOKS.append(functools.partial(globals().__setitem__, 'again', {NEW}))"
        ),
    ),
    "something that the second run does not repeat": (
        WRONG,
        (f"import sys\nif sys.gettrace() is None:\n    globals()['twice'] = {NEW}"),
    ),
}


@pytest.mark.parametrize("form", ROOTS)
@pytest.mark.parametrize("attack", UNPLACED)
def test_a_replacement_that_nobody_was_seen_to_make_is_a_crash_without_a_line(
    sandbox: Sandbox, form: str, attack: str
) -> None:
    attacked, does = UNPLACED[attack]
    helper = f"def help_out():\n{indented(does)}    return None\n"
    (_, example), _ = evidence(sandbox, form, helper, attacked)
    assert example.verdict is Verdict.CRASH, example
    assert example.message.endswith("(S2) was replaced at run time")
    assert example.frames == ()


def test_a_legal_change_does_not_excuse_another_kind_of_change(sandbox: Sandbox) -> None:
    attacked = "def twice(x, n=1):\n    globals()['twice'].__defaults__ = (n,)\n    return x + n\n"
    does = "import sys\nif sys.gettrace() is None:\n    twice.__code__ = (lambda x, n: 4).__code__"
    does = does.replace("twice.__code__ = ", "setattr(globals()['twice'], '__code__', ") + ")"
    helper = f"def help_out():\n{indented(does)}    return None\n"
    (_, example), _ = evidence(sandbox, "call", helper, attacked)
    assert (example.verdict, example.frames) == (Verdict.CRASH, ())


@pytest.mark.parametrize("form", ROOTS)
def test_without_the_replacement_the_example_fails_as_usual(sandbox: Sandbox, form: str) -> None:
    for attacked in (WRONG, DEFAULT, IN_A_CLASS):
        helper = "def help_out():\n    return None\n"
        (_, example), _ = evidence(sandbox, form, helper, attacked)
        assert (example.verdict, example.frames) == (Verdict.FAILED, ())


def test_a_replacement_while_the_program_is_loaded_is_blamed(sandbox: Sandbox) -> None:
    """The root runs last, so its top level can reach the code of every other node."""
    root = f"{ROOT_CODE}\n\nglobals().update(twice={NEW})\n"
    helper = "def help_out():\n    return None\n"
    (loads, example), _ = evidence(sandbox, "call", helper, WRONG, root)
    assert (loads.verdict, example.verdict) == (Verdict.CRASH, Verdict.CRASH)
    assert "replaced at run time by S0" in example.message
    assert [f.node for f in example.frames] == ["S0"]


def test_leaving_at_once_does_not_hide_a_replacement(sandbox: Sandbox) -> None:
    helper = f"def help_out():\n    globals()['twice'] = {NEW}\n"
    root = ROOTS["stdio"][1] + "    import os, sys\n    sys.stdout.flush()\n    os._exit(0)\n"
    (_, example), _ = evidence(sandbox, "stdio", helper, WRONG, root)
    assert example.verdict is Verdict.CRASH
    assert [f.node for f in example.frames] == ["S1"]


RIGHT = "def twice(x):\n    return 2 * x\n"
LEGAL = {
    "plain": RIGHT,
    "recursion": ("def twice(x):\n    return 0 if x == 0 else 2 + twice(x - 1)\n"),
    "a library decorator": (
        "import functools\n\n\n@functools.lru_cache(maxsize=None)\n"
        "def twice(x):\n    return 2 * x\n"
    ),
    "a cache over a plain function": (
        "import functools\n\n\ndef twice(x):\n    return 2 * x\n\n\n"
        "twice = functools.cache(twice)\n"
    ),
    "a decorator of its own": (
        "def logged(f):\n    def inner(*a):\n        return f(*a)\n\n    return inner\n\n\n"
        "@logged\ndef twice(x):\n    return 2 * x\n"
    ),
    "a decorator of another node": "@help_with\ndef twice(x):\n    return 2 * x\n",
    "a class decorator of another node": (
        "@help_with_class\nclass Two:\n    def of(self, x):\n        return 2 * x\n\n\n"
        "def twice(x):\n    return Two().of(x)\n"
    ),
    "an alias": "def double(x):\n    return 2 * x\n\n\ntwice = double\n",
    "a lambda": "twice = lambda x: 2 * x\n",
    "a conditional definition": (
        "import sys\n\n\nif sys.maxsize > 5:\n\n    def twice(x):\n        return 2 * x\n\n"
        "else:\n\n    def twice(x):\n        return x\n"
    ),
    "an optional import": (
        "try:\n    from nowhere_to_be_found import twice\nexcept ImportError:\n\n"
        "    def twice(x):\n        return 2 * x\n"
    ),
    "overloads": (
        "import typing\n\n\n@typing.overload\ndef twice(x: int) -> int: ...\n\n\n"
        "@typing.overload\ndef twice(x: str) -> str: ...\n\n\ndef twice(x):\n    return 2 * x\n"
    ),
    "single dispatch": (
        "import functools\n\n\n@functools.singledispatch\ndef twice(x):\n    return x\n\n\n"
        "@twice.register\ndef _(x: int):\n    return 2 * x\n"
    ),
    "defaults": "def twice(x, factor=2, memo={}, *, extra=(), sign=-1):\n    return factor * x\n",
    "a nested function": (
        "def twice(x):\n    def inner():\n        return 2 * x\n\n    return inner()\n"
    ),
    "a generator": (
        "def twice(x):\n    return sum(each(x))\n\n\ndef each(x):\n    yield x\n    yield x\n"
    ),
    "its own code, replaced at run time": (
        "def twice(x):\n    global twice\n    twice = {}.get\n    return 2 * x\n"
    ),
    "its own code, replaced by a computed name": (
        "def twice(x):\n    globals()['twi' + 'ce'] = None\n    return 2 * x\n"
    ),
    "a dataclass": (
        "import dataclasses\n\n\n@dataclasses.dataclass(slots=True, order=True)\n"
        "class Two:\n    x: int\n\n    def of(self):\n        return 2 * self.x\n\n\n"
        "def twice(x):\n    return Two(x).of()\n"
    ),
    "a named tuple": (
        "import typing\n\n\nclass Two(typing.NamedTuple):\n    x: int\n\n    def of(self):\n"
        "        return 2 * self.x\n\n    def __str__(self):\n        return 'two'\n\n\n"
        "def twice(x):\n    return Two(x).of()\n"
    ),
    "an enumeration": (
        "import enum\n\n\nclass Two(enum.Enum):\n    A = 2\n\n    def __new__(cls, value):\n"
        "        it = object.__new__(cls)\n        it._value_ = value\n        return it\n\n"
        "    def of(self, x):\n        return self.value * x\n\n\n"
        "def twice(x):\n    return Two.A.of(x)\n"
    ),
    "properties and special methods": (
        "import functools\n\n\nclass Two:\n    def __new__(cls, *_):\n"
        "        return super().__new__(cls)\n\n    def __init__(self, x):\n        self._x = x\n\n"
        "    def __init_subclass__(cls):\n        pass\n\n    def __class_getitem__(cls, _):\n"
        "        return cls\n\n    @property\n    def x(self):\n        return self._x\n\n"
        "    @x.setter\n    def x(self, x):\n        self._x = x\n\n"
        "    @functools.cached_property\n    def of(self):\n"
        "        return self.__two() * self.x\n\n"
        "    @staticmethod\n    def __two():\n        return 2\n\n"
        "    @classmethod\n    def made(cls, x):\n        return cls[int](x)\n\n"
        "    half = functools.partialmethod(__init__)\n\n\n"
        "def twice(x):\n    return Two.made(x).of\n"
    ),
    "abstract classes and protocols": (
        "import abc\nimport typing\n\n\nclass Base(abc.ABC):\n    @abc.abstractmethod\n"
        "    def of(self, x): ...\n\n\nclass Of(typing.Protocol):\n    def __init__(self): ...\n\n"
        "    def of(self, x): ...\n\n\nclass Two(Base):\n    def of(self, x):\n"
        "        return 2 * x\n\n\ndef twice(x):\n    return Two().of(x)\n"
    ),
    "a metaclass": (
        "class Meta(type):\n    def __call__(cls, *a):\n        return super().__call__(*a)\n\n\n"
        "class Two(metaclass=Meta):\n    def of(self, x):\n        return 2 * x\n\n\n"
        "def twice(x):\n    return Two().of(x)\n"
    ),
    "an own method, replaced": (
        "class Two:\n    def of(self, x):\n        return 2 * x\n\n\n"
        "Two.of = (lambda of: lambda self, x: of(self, x))(Two.of)\n\n\n"
        "def twice(x):\n    return Two().of(x)\n"
    ),
    "a context manager": (
        "import contextlib\n\n\n@contextlib.contextmanager\ndef two():\n    yield 2\n\n\n"
        "def twice(x):\n    with two() as factor:\n        return factor * x\n"
    ),
    "a counter of its own": (
        "COUNT = 0\n\n\ndef twice(x):\n    global COUNT\n    COUNT += 1\n    return 2 * x\n"
    ),
}
HELPER = (
    "def help_out():\n    return None\n\n\n"
    "def help_with(f):\n    def inner(*a):\n        return f(*a)\n\n    return inner\n\n\n"
    "def help_with_class(kind):\n    for name in ['of']:\n"
    "        setattr(kind, name, help_with(getattr(kind, name)))\n    return kind\n"
)


SUSPICIOUS = {
    "its own code, replaced at run time",
    "its own code, replaced by a computed name",
}
"""Legal programs that may need a second, traced run."""


class TraceCounter:
    """A sandbox that counts its traced runs."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.kind = sandbox.kind
        self.traced = 0

    def run(self, execution: Execution) -> ExecutionOutcome:
        self.traced += execution.trace
        return self._sandbox.run(execution)

    def close(self) -> None:
        """Do nothing: the fixture closes the sandbox."""


@pytest.mark.parametrize("form", ROOTS)
@pytest.mark.parametrize("code", LEGAL)
def test_what_an_owner_does_with_its_own_names_is_legal(
    sandbox: Sandbox, form: str, code: str
) -> None:
    counter = TraceCounter(sandbox)
    seen, _ = evidence(counter, form, HELPER, LEGAL[code])
    assert [e.verdict for e in seen] == [Verdict.PASSED] * 2, [e.message for e in seen]
    assert counter.traced == 0 or code in SUSPICIOUS


UNREADABLE = {
    "a newer character": "\u0242 = 1\n",
    "blocks": "".join("    " * n + "for a in ():\n" for n in range(19)) + "    " * 19 + "pass\n",
    "depth": f"deep = {'-' * 205}1\n",
    "the name of a newer character": "smile = '\\N{GRINNING FACE}'\n",
}
CALL_ROOT = "def solve(data):\n    return str(twice(int(data)))\n"
HIJACK = "def twice(x):\n    return 4\n\n\n"


@pytest.mark.parametrize("form", ROOTS)
@pytest.mark.parametrize("unreadable", UNREADABLE)
def test_code_that_cannot_be_read_does_not_pass_although_it_runs(
    sandbox: Sandbox, form: str, unreadable: str
) -> None:
    """Such code owns nothing, so nothing shows that it replaces the code of another node."""
    root = UNREADABLE[unreadable] + HIJACK + ROOTS[form][1]
    seen, program = evidence(sandbox, form, HELPER, WRONG, root)
    assert [e.verdict for e in seen] == [Verdict.CRASH] * 2
    for each in seen:
        assert "the code of S0 cannot be read, so its owner is unknown: " in each.message
        assert [(f.node, f.file) for f in each.frames] == [("S0", PROGRAM_FILE)]
        assert program.splitlines()[each.frames[0].line - 1] == root.splitlines()[0]


@pytest.mark.parametrize(
    "tests",
    [
        "assert solve('2') == '4'",
        "assert solve('2') == '5'",
        "def test_it(): assert solve('2') == '5'",
        "def test_it(): assert solve('2') == '5'\nraise SystemExit(1)",
        "import os\nos._exit(0)",
    ],
)
def test_no_test_of_code_that_cannot_be_read_passes_or_fails(sandbox: Sandbox, tests: str) -> None:
    task = replace(CALL, examples=(CodeExample(code=tests),))
    nodes = [WrittenFunction(TWICE, UNREADABLE["depth"] + RIGHT)]
    with written_program(sandbox, nodes, CALL_ROOT, task) as context:
        seen = validate_program(context)
        assert [e.verdict for e in seen] == [Verdict.CRASH] * 2
        assert all("S1" in e.message for e in seen) or "_exit" in tests or "Exit" in tests
        assert not context.recorder.ledger.passes()


def test_a_program_that_is_unreadable_as_a_whole_does_not_pass(sandbox: Sandbox) -> None:
    annotations = "from __future__ import annotations\n\n\n"
    nodes = [WrittenFunction(TWICE, f"{annotations}def twice(x: later):\n    return 2 * x\n")]
    root = f"global later\nlater = int\n{CALL_ROOT}"
    with written_program(sandbox, nodes, root, CALL) as context:
        loads, example = validate_program(context)
    assert (loads.verdict, example.verdict) == (Verdict.CRASH, Verdict.CRASH)
    assert "the program cannot be read" in example.message
    assert example.frames == ()


HONEST: dict[str, tuple[str, str]] = {
    "a protocol": (
        "Impl().of(1)",
        (
            "import typing\n\n\nclass P(typing.Protocol):\n    def of(self, x): ...\n\n\n"
            "class Impl(P):\n    def of(self, x):\n        return 2 * x\n\n\n"
            "def twice(x):\n    return Impl().of(x)\n"
        ),
    ),
    "a protocol with a base that has a constructor": (
        "Impl(1).of(1)",
        (
            "import typing\n\n\n@typing.runtime_checkable\nclass P(typing.Protocol):\n"
            "    def of(self, x): ...\n\n\nclass Base:\n    def __init__(self, y):\n"
            "        self.y = y\n\n\nclass Impl(P, Base):\n    def of(self, x):\n"
            "        return 2 * x\n\n\ndef twice(x):\n    assert isinstance(Impl(1), P)\n"
            "    return Impl(1).of(x)\n"
        ),
    ),
    "caches": (
        "cached(3)\ncached.cache_clear()\nplain.cache[1] = 2\nplain(1)\nKind().value",
        (
            "import functools\n\n\n@functools.lru_cache\ndef cached(x):\n    return 2 * x\n\n\n"
            "def plain(x):\n    plain.cache[x] = 2 * x\n    return plain.cache[x]\n\n\n"
            "plain.cache = {}\n\n\nclass Kind:\n    @functools.cached_property\n"
            "    def value(self):\n        return 2\n\n\n"
            "def twice(x):\n    return cached(x) * Kind().value // 2\n"
        ),
    ),
    "a frozen dataclass with slots and generated methods": (
        "sorted([P(2), P(1)])\nhash(P(1))\nrepr(P(1))",
        (
            "import dataclasses\nimport functools\n\n\n"
            "@dataclasses.dataclass(slots=True, frozen=True, order=True)\nclass P:\n    x: int\n"
            "    tags: list = dataclasses.field(default_factory=list, compare=False)\n\n\n"
            "@functools.total_ordering\nclass Q:\n    def __init__(self, x):\n"
            "        self.x = x\n\n    def __eq__(self, other):\n"
            "        return self.x == other.x\n\n    def __lt__(self, other):\n"
            "        return self.x < other.x\n\n\n"
            "def twice(x):\n    assert Q(2) >= Q(1)\n    return 2 * P(x).x\n"
        ),
    ),
    "enumerations, tuples and typed dictionaries": (
        "Colour(1)\nColour['RED']\nFlags(3)\nPoint(1, 2)._replace(x=3)\nMovie(title='a')",
        (
            "import collections\nimport enum\nimport typing\n\n\n"
            "class Colour(enum.Enum):\n    RED = 1\n    BLUE = enum.auto()\n\n\n"
            "class Flags(enum.IntFlag):\n    A = 1\n    B = 2\n\n\n"
            "class Point(typing.NamedTuple):\n    x: int\n    y: int = 0\n\n\n"
            "class Movie(typing.TypedDict):\n    title: str\n\n\n"
            "Pair = collections.namedtuple('Pair', 'a b')\nSize = enum.Enum('Size', 'S M')\n"
            "T = typing.TypeVar('T')\n\n\nclass Box(typing.Generic[T]):\n"
            "    def __init__(self, it: T) -> None:\n        self.it = it\n\n\n"
            "def twice(x):\n    return Pair(2, 3).a * Box[int](x).it * Size.S.value\n"
        ),
    ),
    "abstract classes and registries": (
        (
            "Shape.register(int)\nisinstance(1, Shape)\nshow.register(str, lambda x: 0)\n"
            "show('a')\nclass More(Plugin):\n    pass\nPlugin.known['x'] = 1"
        ),
        (
            "import abc\nimport functools\n\n\nclass Shape(abc.ABC):\n    @property\n"
            "    @abc.abstractmethod\n    def area(self): ...\n\n\nclass Square(Shape):\n"
            "    @property\n    def area(self):\n        return 2\n\n\n"
            "@functools.singledispatch\ndef show(x):\n    return x\n\n\n"
            "class Plugin:\n    known = {}\n\n    def __init_subclass__(cls):\n"
            "        cls.known[cls.__name__] = cls\n        cls.label = cls.__name__\n\n\n"
            "class One(Plugin):\n    pass\n\n\n"
            "def twice(x):\n    return Square().area * show(x)\n"
        ),
    ),
    "descriptors": (
        "thing = Kind()\nthing.size = 3\nthing.size\nKind.late\nthing.late",
        (
            "class Field:\n    def __set_name__(self, kind, name):\n"
            "        self.name = '_' + name\n\n    def __get__(self, it, kind):\n"
            "        return self if it is None else getattr(it, self.name)\n\n"
            "    def __set__(self, it, value):\n        setattr(it, self.name, value)\n\n\n"
            "class Late:\n    def __set_name__(self, kind, name):\n        self.name = name\n\n"
            "    def __get__(self, it, kind):\n        setattr(kind, self.name, 2)\n"
            "        return 2\n\n\nclass Kind:\n    size = Field()\n    late = Late()\n\n\n"
            "def twice(x):\n    return Kind.late * x\n"
        ),
    ),
    "counters, callbacks and weak references": (
        (
            "Kind.count += 1\nKind.callback = len\nKind.notify = staticmethod(print)\n"
            "Kind.limit = None\nLISTENERS.append(print)\nimport weakref\nweakref.ref(Kind())"
        ),
        (
            "LISTENERS = []\n\n\nclass Kind:\n    count = 0\n    callback = None\n\n"
            "    def __init__(self):\n        type(self).count += 1\n        type(self).memo = {}\n"
            "\n\ndef twice(x):\n    Kind()\n    return 2 * x\n"
        ),
    ),
    "decorators with state": (
        "twice(1)\ntwice(1)",
        (
            "import functools\n\n\ndef counted(f):\n    calls = 0\n    seen = None\n\n"
            "    @functools.wraps(f)\n    def inner(*a):\n        nonlocal calls, seen\n"
            "        calls += 1\n        seen = f\n        inner.calls = calls\n"
            "        return f(*a)\n\n    return inner\n\n\n"
            "@counted\ndef twice(x):\n    return 2 * x\n"
        ),
    ),
    "a decorator that replaces what it wraps": (
        "twice(1)",
        (
            "def once(f):\n    def inner(x):\n        nonlocal f\n        f = lambda x: 2 * x\n"
            "        return f(x)\n\n    return inner\n\n\n"
            "@once\ndef twice(x):\n    return x\n"
        ),
    ),
    "names of built-ins in inner scopes, and settings": (
        "import sys\nsys.setrecursionlimit(5000)\nsum = 0\nfor id in range(3):\n    sum += id",
        (
            "import sys\n\n\nclass Kind:\n    list = []\n\n    def print(self, input=2):\n"
            "        return input\n\n\ndef twice(x):\n    sys.setrecursionlimit(4000)\n"
            "    max = Kind().print()\n    return max * x\n"
        ),
    ),
    "global state that is bound late": (
        "return None",
        (
            "handler = None\n\n\ndef twice(x):\n    global handler, made\n"
            "    made = handler = lambda x: 2 * x\n    return handler(x)\n"
        ),
    ),
    "a class that its owner replaces": (
        "return None",
        (
            "class Two:\n    def of(self, x):\n        return x\n\n\ndef twice(x):\n"
            "    globals()['Two'] = type('Two', (), {'of': lambda _, x: 2 * x})\n"
            "    return Two().of(x)\n"
        ),
    ),
    "a metaclass that has every attribute": (
        "Kind.item = Item()\nKind.other = Kind()",
        (
            "class Meta(type):\n    def __getattr__(cls, name):\n        return None\n\n\n"
            "class Item(metaclass=Meta):\n    pass\n\n\nclass Kind(metaclass=Meta):\n"
            "    item = Item()\n\n\nthing = Item()\n\n\n"
            "def twice(x):\n    global thing\n    thing = Item()\n    return 2 * x\n"
        ),
    ),
    "a handler that its owner exchanges": (
        "return None",
        (
            "def slow(x):\n    return x + x\n\n\nhandler = slow\n\n\ndef twice(x):\n"
            "    global handler\n    handler = lambda x: 2 * x\n    return handler(x)\n"
        ),
    ),
    "modules that are imported late, and threads": (
        "import threading\nt = threading.Thread(target=twice, args=(1,))\nt.start()\nt.join()",
        (
            "import xml\n\n\ndef twice(x):\n    global json\n    import json\n"
            "    import xml.dom\n    return 2 * json.loads(str(x))\n"
        ),
    ),
    "generators, coroutines and nested classes": (
        "list(each(2))\nOuter.Inner()",
        (
            "import asyncio\n\n\ndef each(x):\n    yield x\n\n\nasync def later(x):\n"
            "    return 2 * x\n\n\nclass Outer:\n    class Inner:\n        def __init__(self):\n"
            "            super().__init__()\n\n\ndef twice(x):\n    return asyncio.run(later(x))\n"
        ),
    ),
}
"""What another node does first, and honest code."""


class TracedSandbox(TraceCounter):
    """A sandbox that also traces every run that compares, and collects what is not legal."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)
        self.foreign: list[str] = []

    def run(self, execution: Execution) -> ExecutionOutcome:
        if execution.owned:
            outcome = self._sandbox.run(msgspec.structs.replace(execution, trace=True))
            self.foreign += [f"{r}" for r in outcome.replaced or () if not r.own]
        return super().run(execution)


@pytest.mark.parametrize("form", ROOTS)
@pytest.mark.parametrize("code", HONEST)
def test_what_honest_programs_do_at_run_time_is_legal(
    sandbox: Sandbox, form: str, code: str
) -> None:
    does, text = HONEST[code]
    traced = TracedSandbox(sandbox)
    seen, _ = evidence(traced, form, f"def help_out():\n{indented(does)}", text)
    assert [e.verdict for e in seen] == [Verdict.PASSED] * 2, [e.message for e in seen]
    assert traced.foreign == []


@pytest.mark.parametrize("form", ROOTS)
def test_a_program_that_ends_while_it_is_loaded_is_not_blamed(sandbox: Sandbox, form: str) -> None:
    traced = TracedSandbox(sandbox)
    helper = "def help_out():\n    return None\n\n\n1 / 0\n"
    (_, example), _ = evidence(traced, form, helper, RIGHT)
    assert "ZeroDivisionError" in example.message
    assert traced.foreign == []


DEFINED = "def f():\n    return 1\n\n\n"


@pytest.mark.parametrize(
    ("main", "separate"),
    [
        ("if __name__ == '__main__':\n    print(f())\n", True),
        ("x = f()\nprint(x)\n", True),
        ("'text'\nprint(f())\n", True),
        ("'text'\n", False),
        ("if f():\n    x: int = 1\n", False),
        ("if f():\n    global n\n    n = 2\n", False),
        ("g = f\n", False),
        ("if f():\n    def g(): pass\n", False),
    ],
)
def test_statements_that_use_definitions_are_compiled_apart_if_that_is_the_same(
    main: str, separate: bool
) -> None:
    found = ownership(DEFINED + main, ())
    assert found is not None
    assert (found.definitions > 0) is separate
    later = ownership(f"from __future__ import annotations\n{DEFINED}{main}", ())
    assert later is not None
    assert later.definitions == 0


def test_a_program_that_does_not_parse_has_no_owners() -> None:
    assert ownership("def f(", ()) is None


def test_a_default_that_cannot_be_written_in_decimal_has_no_owner() -> None:
    program = f"def twice(x, factor=0x{'f' * 4000}):\n    return x\n"
    assert ownership(program, (Segment(lines=2, node=NodeId("S1"), source=1),)) is None


def test_defaults_are_written_whatever_the_limit_of_the_interpreter() -> None:
    program = f"def twice(x, factor={'7' * 4000}):\n    return x\n"
    limit = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(640)
        owned = ownership(program, (Segment(lines=2, node=NodeId("S1"), source=1),))
        assert owned is not None
        assert owned.units[0].defaults == ("7" * 4000,)
    finally:
        sys.set_int_max_str_digits(limit)
