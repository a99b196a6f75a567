"""Tests run beside the candidate, and a candidate that changes unittest is detected."""

import ast
import os
import pickle
import types
from typing import Any

import pytest

from auditcoder.sandboxed.code_checks import has_assertion_or_call, run_tests
from auditcoder.sandboxed.harness_integrity import Tampering


def verdicts(program: str, tests: str) -> list[tuple[str, Any]] | str:
    """Run tests in a process of its own, since a program may change this one's unittest."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result: list[tuple[str, Any]] | str
            try:
                result = _run(program, tests)
            except Tampering as found:
                result = str(found)
            os.write(writer, pickle.dumps(result))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        told = pickle.loads(file.read())
    os.waitpid(child, 0)
    assert isinstance(told, list | str)
    return told


def _run(program: str, tests: str) -> list[tuple[str, Any]]:
    seen: list[tuple[str, Any]] = []

    def report(what: str, **said: Any) -> None:
        seen.append((said["name"], said["verdict"]) if what == "test" else (what, said["count"]))

    module = types.ModuleType("program")
    exec(program, module.__dict__)
    run_tests(tests, module, lambda name, code: types.ModuleType(name), report)
    return seen


CASE = (
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(), 1)"
)


def test_a_test_case_is_reported_with_its_verdict() -> None:
    assert verdicts("def f(): return 1", CASE) == [("planned", 1), ("T.test_a", "passed")]
    assert verdicts("def f(): return 2", CASE) == [("planned", 1), ("T.test_a", "failed")]


def test_code_without_tests_is_one_test_if_it_asserts_something() -> None:
    assert verdicts("def f(): return 1", "assert f() == 1") == [("planned", 1), ("", "passed")]
    assert verdicts("def f(): return 1", "x = 1") == [("planned", 0)]


@pytest.mark.parametrize(
    "program",
    [
        "import unittest\nunittest.TestCase.assertEqual = lambda *a: None",
        "import unittest\nunittest.TestCase.run = lambda *a: None",
        "import unittest\nunittest.TestCase.__getattribute__ = object.__getattribute__",
        "import builtins\nbuiltins.isinstance = lambda *a: True",
        "import sys, types\nsys.modules['unittest'] = types.ModuleType('unittest')",
        "import sys\nsys.settrace(lambda *a: None)",
        "def f():\n    import unittest\n    unittest.TestCase.fail = print\n    return 1",
    ],
)
def test_a_program_that_tampers_with_the_test_framework_is_detected(program: str) -> None:
    found = verdicts(f"{program}\ndef g(): return 1\nf = globals().get('f', g)", CASE)
    assert isinstance(found, str)
    assert "the program" in found


@pytest.mark.parametrize(
    ("code", "recognised"),
    [
        ("assert 1", True),
        ("f()", True),
        ("for x in y:\n    assert x", True),
        ("x = 1", False),
        ("def f(): assert 0", False),
        ("if __name__ == '__main__': f()", False),
    ],
)
def test_only_top_level_assertions_and_calls_are_recognised(code: str, recognised: bool) -> None:
    assert has_assertion_or_call(ast.parse(code).body) is recognised
