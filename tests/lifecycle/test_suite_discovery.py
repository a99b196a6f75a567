"""Tests are found without running the code, by the rule that the sandbox applies."""

import ast
from collections.abc import Iterator

import pytest

from auditcoder.domain.execution import Bounds, Execution, RunTests
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.suite_discovery import discover
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


HEAD = "import unittest\nfrom unittest import TestCase\n"
SUITES = {
    "methods": "class A(TestCase):\n    def test_a(self): pass\n    def help(self): pass\n",
    "inherited": (
        "class A(TestCase):\n    def test_a(self): pass\nclass B(A):\n    def test_b(self): pass\n"
    ),
    "mixin": (
        "class Mixin:\n    def test_m(self): pass\nclass B(Mixin, unittest.TestCase):\n    pass\n"
    ),
    "asynchronous": (
        "class A(unittest.IsolatedAsyncioTestCase):\n    async def test_a(self): pass\n"
    ),
    "plain": (
        "class TestA:\n    def test_a(self): pass\nclass Other:\n    def test_b(self): pass\n"
    ),
    "functions": "def test_a(): pass\ndef test_b(n=1): pass\ndef test_c(n): pass\n",
    "none": "assert True\n",
}


@pytest.mark.parametrize("name", SUITES)
def test_discovery_finds_what_the_sandbox_runs(sandbox: Sandbox, name: str) -> None:
    code = HEAD + SUITES[name]
    run = Execution(source="", action=RunTests(code=code), bounds=Bounds(seconds=5))
    ran = {test.name for test in sandbox.run(run).tests if test.name}
    assert set(discover(ast.parse(code)).tests) == ran
