"""Every statement of a test is attempted, and reported with its line and the names it reads."""

import ast
from typing import Any

from auditcoder.sandboxed.step_rewriter import with_steps


def reported(source: str, tests: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    """Run rewritten code and return each report: how it ended, line, whether simple, names."""
    seen: list[tuple[Any, ...]] = []
    space = {
        "__begun__": lambda: None,
        "__done__": lambda *told: seen.append(("done", *told[:3])),
        "__failed__": lambda *told: seen.append(("failed", *told[:3])),
        "__caught__": BaseException,
    }
    exec(compile(with_steps(source, tests), "tests.py", "exec"), space)
    return seen


def test_statements_after_a_failing_one_still_run() -> None:
    assert reported("x = 1\nassert x == 2\ny = x") == [
        ("done", 1, True, ()),
        ("failed", 2, True, ("x",)),
        ("done", 3, True, ("x",)),
    ]


def test_statements_inside_a_loop_are_steps_of_their_own() -> None:
    ends = [(how, line) for how, line, *_ in reported("for n in (0, 1):\n    1 / n")]
    assert ends == [("failed", 2), ("done", 2), ("done", 1)]


def test_a_block_that_expects_an_error_stays_whole() -> None:
    tree = with_steps("with self.assertRaises(ValueError):\n    f()\n    g()", ())
    assert ast.unparse(tree).count("__begun__") == 1


def test_only_the_named_tests_and_their_set_up_are_rewritten() -> None:
    source = (
        "class T:\n    def setUp(self): a()\n    def test_a(self): b()\n    def test_b(self): c()\n"
    )
    tree = with_steps(source, ("T.test_a",))
    (group,) = tree.body
    assert isinstance(group, ast.ClassDef)
    rewritten = [isinstance(part.body[0], ast.Try) for part in group.body]  # type: ignore[attr-defined]
    assert rewritten == [True, True, False]


def test_imports_definitions_and_returns_are_left_as_they_are() -> None:
    assert reported("import os\ndef f():\n    return 1\nclass C: pass") == []
