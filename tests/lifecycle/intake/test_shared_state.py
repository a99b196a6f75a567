"""Shared values count as changed unless they can be seen to be only read."""

import ast

import pytest

from auditcoder.lifecycle.intake.shared_state import (
    changes_module_state,
    shares_class_state,
    shares_files,
)


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("DATA = [1]\ndef f():\n    return DATA[0]\n", False),
        ("DATA = [1]\ndef f():\n    DATA.append(2)\n", True),
        ("DATA = [[1]]\ndef f():\n    DATA[0][0] = 2\n", True),
        ("DATA = [1]\ndef f():\n    del DATA[0]\n", True),
        ("DATA = [1]\ndef f():\n    g(DATA)\n", False),
        ("DATA = Made()\ndef f():\n    g(DATA)\n", True),
        ("DATA = Made()\ndef f():\n    g(*DATA)\n", True),
        ("DATA = Made()\ndef f(self):\n    self.assertEqual(1, DATA)\n", False),
        ("DATA = Made()\ndef f():\n    DATA.any()\n", True),
        ("DATA = re.compile('x')\ndef f():\n    DATA.match('x')\n", False),
        ("LIMIT = 3\ndef f():\n    LIMIT.bit_length()\n", False),
        ("class A:\n    pass\ndef f():\n    A.x = 1\n", True),
        ("def f(other):\n    other.x = 1\n", False),
        ("class A:\n    def setUp(self):\n        A.x = 1\n", False),
    ],
)
def test_module_state_is_changed_or_not(code: str, changed: bool) -> None:
    assert changes_module_state(ast.parse(code)) is changed


@pytest.mark.parametrize(
    ("members", "shared"),
    [
        ("x = [1]\n    def test(self):\n        return self.x[0]", False),
        ("x = [1]\n    def test(self):\n        self.x.sort()", True),
        ("x = [1]\n    def setUp(self):\n        self.x.clear()", False),
        ("x = 1\n    def test(self):\n        self.x += 1", False),
        (
            "def setUpClass(cls):\n        cls.x = M()\n    def test(self):\n        self.x.go()",
            True,
        ),
        ("def setUp(self):\n        self.x = M()\n    def test(self):\n        self.x.go()", False),
        ("x = M()\n    def test(self):\n        type(self).x.go()", True),
    ],
)
def test_class_state_is_shared_or_not(members: str, shared: bool) -> None:
    tree = ast.parse(f"class A:\n    {members}\n")
    (holder,) = (part for part in tree.body if isinstance(part, ast.ClassDef))
    assert shares_class_state([holder]) is shared


@pytest.mark.parametrize(
    ("code", "shared"),
    [
        ("def test_a():\n    save('a.json')\ndef test_b():\n    load('a.json')\n", True),
        ("def test_a():\n    save('a.json')\ndef test_b():\n    load('b.json')\n", False),
        ("class A:\n    def setUp(self):\n        open('x/a.TXT')\n", True),
        ("NAME = 'data.csv'\n", True),
        (
            "def test_a():\n    f('e.g. a text. in')\ndef test_b():\n    f('e.g. a text. in')\n",
            False,
        ),
    ],
)
def test_files_are_shared_or_not(code: str, shared: bool) -> None:
    assert shares_files(ast.parse(code)) is shared
