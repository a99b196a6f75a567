"""Runs test code on the files that a program left.

It runs in a sandbox of its own, in which the program never ran. It knows functions named `test…`,
parametrised or not, methods of classes named `Test…`, and unittest.

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
"""The test code, and whether each of its tests passes."""


def _passes(call: Callable[..., object], **named: Any) -> bool:
    try:
        call(**named)
    except Exception:
        return False
    return True


def _each_call(name: str, function: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls of a test function: one for each combination of its parameters' values."""
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
    for name, found in list(vars(module).items()):
        if inspect.isfunction(found) and name.startswith("test"):
            for label, named in _each_call(name, found):
                verdicts[label] = _passes(found, **named)
        elif inspect.isclass(found) and issubclass(found, unittest.TestCase):
            for test in unittest.defaultTestLoader.loadTestsFromTestCase(found):
                assert isinstance(test, unittest.TestCase)
                result = test.run()
                label = f"{name}.{test._testMethodName}"  # noqa: SLF001
                verdicts[label] = result is not None and result.wasSuccessful()
        elif inspect.isclass(found) and name.startswith("Test"):
            for method, function in inspect.getmembers(found, inspect.isfunction):
                if method.startswith("test"):
                    for label, named in _each_call(f"{name}.{method}", function):
                        verdicts[label] = _passes(getattr(found(), method), **named)
    return verdicts


if __name__ == "__main__":
    seen = _verdicts(_load())
    with open(VERDICTS, "w") as file:  # noqa: PTH123
        json.dump(seen, file)
