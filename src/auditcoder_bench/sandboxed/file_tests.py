"""Runs test code on the files that a program wrote.

It runs in a separate sandbox, so the program cannot interfere with the tests. It supports functions
named `test…`, parametrised or not, methods of classes named `Test…`, and unittest.

This module is sent into the sandbox as text.
"""

import importlib.util
import inspect
import itertools
import json
import unittest
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

TESTS, VERDICTS = "hidden_tests.py", "verdicts.json"
"""Files with the test code, and with a verdict per test."""


def _passes(call: Callable[..., object], **named: Any) -> bool:
    try:
        call(**named)
    except Exception:
        return False
    return True


def _parametrisations(name: str, function: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a label and the arguments for each parametrisation of a test function."""
    marks = [m for m in getattr(function, "pytestmark", ()) if m.name == "parametrize"]
    tables = []
    for mark in marks:
        names, values = mark.args[:2]
        names = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
        tables.append(
            [dict(zip(names, v if len(names) > 1 else [v], strict=False)) for v in values]
        )
    for number, row in enumerate(itertools.product(*tables)):
        named = {k: v for part in row for k, v in part.items()}
        yield (f"{name}[{number}]" if marks else name), named


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hidden_tests", TESTS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _verdicts(module: ModuleType) -> dict[str, bool]:
    verdicts: dict[str, bool] = {}
    for name, member in list(vars(module).items()):
        if inspect.isfunction(member) and name.startswith("test"):
            for label, named in _parametrisations(name, member):
                verdicts[label] = _passes(member, **named)
        elif inspect.isclass(member) and issubclass(member, unittest.TestCase):
            for test in unittest.defaultTestLoader.loadTestsFromTestCase(member):
                assert isinstance(test, unittest.TestCase)
                result = test.run()
                label = f"{name}.{test._testMethodName}"  # noqa: SLF001
                verdicts[label] = result is not None and result.wasSuccessful()
        elif inspect.isclass(member) and name.startswith("Test"):
            for method, function in inspect.getmembers(member, inspect.isfunction):
                if method.startswith("test"):
                    for label, named in _parametrisations(f"{name}.{method}", function):
                        verdicts[label] = _passes(getattr(member(), method), **named)
    return verdicts


if __name__ == "__main__":
    verdicts = _verdicts(_load())
    with open(VERDICTS, "w") as file:  # noqa: PTH123
        json.dump(verdicts, file)
