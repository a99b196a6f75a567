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
from collections.abc import Callable, Iterable, Iterator
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


def all_by_name(verdicts: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    """Return one verdict for each name: tests that share a name must all pass."""
    joined: dict[str, bool] = {}
    for name, passed in verdicts:
        joined[name] = joined.get(name, True) and passed
    return joined


def _verdicts(module: ModuleType) -> Iterator[tuple[str, bool]]:
    for name, member in list(vars(module).items()):
        if inspect.isfunction(member) and name.startswith("test"):
            for label, named in _parametrisations(name, member):
                yield label, _passes(member, **named)
        elif inspect.isclass(member) and issubclass(member, unittest.TestCase):
            for test in unittest.defaultTestLoader.loadTestsFromTestCase(member):
                assert isinstance(test, unittest.TestCase)
                result = test.run()
                label = f"{name}.{test._testMethodName}"  # noqa: SLF001
                yield label, result is not None and result.wasSuccessful()
        elif inspect.isclass(member) and name.startswith("Test"):
            for method, function in inspect.getmembers(member, inspect.isfunction):
                if method.startswith("test"):
                    for label, named in _parametrisations(f"{name}.{method}", function):
                        yield label, _passes(getattr(member(), method), **named)


if __name__ == "__main__":
    verdicts = all_by_name(_verdicts(_load()))
    with open(VERDICTS, "w") as file:  # noqa: PTH123
        json.dump(verdicts, file)
