"""Test code is split into tests that each run alone, or stays whole where that is unsafe."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.execution import Bounds, Execution, RunTests, TestVerdict
from auditcoder.lifecycle.intake.suite_split import split_suite
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripted_runs import sandboxed

PROGRAM = "def double(x):\n    return 2 * x if x != 3 else 7\n"
HEAD = "import unittest\nfrom unittest import TestCase\n\n\n"
FIXTURES = (
    HEAD
    + '''CASES = [(1, 2), (2, 4)]
TEXT = """
# not a comment of a test
"""


def checked(x):
    return double(x)


# The base of all tests.
class Base(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.factor = 2

    def setUp(self):
        self.x = 1


class Doubling(Base):
    """About doubling."""

    # The first test.
    def test_one(self):
        """One becomes two.

        And stays so.
        """
        self.assertEqual(checked(self.x), self.factor)

    @unittest.skipIf(False, "never")
    def test_cases(self):
        for x, expected in CASES:
            with self.subTest(x):
                self.assertEqual(checked(x), expected)

    def test_three(self):
        self.assertEqual(checked(3), 6)


class More(Base):
    def test_text(self):
        self.assertIn("not a comment", TEXT)


def test_function():
    assert double(2) == 4


if __name__ == "__main__":
    unittest.main()
'''
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def verdicts(sandbox: Sandbox, code: str) -> dict[str, TestVerdict]:
    run = Execution(source=PROGRAM, action=RunTests(code=code), bounds=Bounds(seconds=5))
    return {test.name: test.verdict for test in sandbox.run(run).tests}


def names(code: str) -> list[str]:
    return [part.name for part in split_suite(code)]


def test_each_test_runs_alone_with_its_fixtures_and_gives_the_same_verdict(
    sandbox: Sandbox,
) -> None:
    whole = verdicts(sandbox, FIXTURES)
    assert set(whole.values()) == {TestVerdict.PASSED, TestVerdict.FAILED}
    parts = split_suite(FIXTURES)
    assert [part.name for part in parts] == [
        "Doubling.test_one",
        "Doubling.test_cases",
        "Doubling.test_three",
        "More.test_text",
        "test_function",
    ]
    for part in parts:
        assert verdicts(sandbox, part.code) == {part.name: whole[part.name]}


def test_a_part_has_the_text_of_its_test_and_no_other() -> None:
    first, cases, *_ = split_suite(FIXTURES)
    assert first.description == "Doubling.test_one: One becomes two."
    assert cases.description == "Doubling.test_cases"
    assert "    # The first test.\n    def test_one(self):" in first.code
    assert "# The first test" not in cases.code
    assert "@unittest.skipIf" in cases.code
    assert "@unittest.skipIf" not in first.code
    for part in (first, cases):
        assert "# The base of all tests.\nclass Base" in part.code
        assert "# not a comment of a test" in part.code
        assert "More" not in part.code
        assert "test_function" not in part.code


def test_tests_of_a_mixin_run_in_the_class_that_inherits_them(sandbox: Sandbox) -> None:
    code = HEAD + (
        "class Mixin:\n    def test_a(self):\n        self.assertEqual(double(self.x), 2)\n"
        "    def test_b(self):\n        self.assertTrue(double(self.x))\n\n\n"
        "class One(Mixin, TestCase):\n    x = 1\n\n\n"
        "class Two(Mixin, TestCase):\n    x = 2\n"
    )
    assert sorted(names(code)) == ["One.test_a", "One.test_b", "Two.test_a", "Two.test_b"]
    found = [verdicts(sandbox, part.code) for part in split_suite(code)]
    assert {n: v for each in found for n, v in each.items()} == verdicts(sandbox, code)


METHODS = "    def test_a(self):\n        pass\n    def test_b(self):\n        pass\n"
A = f"class A(TestCase):\n{METHODS}"


@pytest.mark.parametrize(
    "code",
    [
        "assert double(1) == 2\n",
        "x = 1\n",
        "def broken(:\n",
        f"{A}\ndef load_tests(loader, tests, pattern):\n    return tests\n",
        f"{A}\nfor n in range(3):\n    setattr(A, f'test_{{n}}', lambda self: None)\n",
        f"{A}\nassert double(1) == 2\n",
        f"{A}\nimport random\nrandom.seed(1)\n",
        f"{A}\n@parameterized\ndef test_c():\n    pass\n",
        f"@parameterized_class([])\n{A}",
        f"COUNT = 0\n{A}    def test_c(self):\n        global COUNT\n        COUNT += 1\n",
        f"SEEN = []\n{A}    def test_c(self):\n        SEEN.append(1)\n",
        f"BANK = Bank()\n{A}    def test_c(self):\n        BANK.pay(1)\n",
        f"{A}    def test_c(self):\n        type(self).done = True\n",
        f"if True:\n    class C(TestCase):\n        def test_c(self): pass\n{A}",
        f"{A}\ntest_alias = A\n",
        f"{A}\nclass B(dict):\n    def test_c(self):\n        pass\n",
        f"{A}\nclass B(Imported):\n    def test_c(self):\n        pass\n",
        f"{A}\n{A}",
        f"class Base(TestCase):\n{METHODS}\nclass B(Base):\n    pass\n\ndel Base\n",
    ],
)
def test_code_that_ties_its_tests_together_stays_whole(code: str) -> None:
    assert split_suite(HEAD + code) == ()


@pytest.mark.parametrize(
    "members",
    [
        "    def setUpClass(c):\n        c.b = B()\n    def test_c(self):\n        self.b.p()\n",
        "    seen = []\n    def test_c(self):\n        self.seen.append(1)\n",
        "    seen = {}\n    def test_c(self):\n        self.seen['a'] = 1\n",
        "    bank = Bank()\n    def test_c(self):\n        pay(self.bank)\n",
        "    total = [0]\n    def test_c(self):\n        self.total += [1]\n",
        "    @expand([1, 2])\n    def test_c(self, n):\n        pass\n",
        "    def test_c(self):\n        self.test_a()\n",
        "    test_c = make_test()\n",
        "    for n in range(3):\n        pass\n",
    ],
)
def test_a_class_whose_tests_depend_on_each_other_stays_whole(members: str) -> None:
    code = f"{HEAD}{A}{members}\n\nclass B(TestCase):\n    def test_d(self):\n        pass\n"
    assert names(code) == ["A", "B.test_d"]


def test_classes_of_tests_that_inherit_from_each_other_stay_together() -> None:
    derived = "class B(A):\n    def test_c(self):\n        pass\n"
    code = f"{HEAD}{A}\n\n{derived}\n\ndef test_f():\n    pass\n"
    assert names(code) == ["A and B", "test_f"]


def test_values_that_are_only_read_may_be_shared() -> None:
    code = (
        f"{HEAD}DATA = {{'a': [1]}}\nROOT = Path('x')\n{A}"
        "    wanted = [1, 2]\n"
        "    def test_c(self):\n"
        "        for key, value in DATA.items():\n"
        "            self.assertEqual(double(value), self.wanted[0])\n"
        "        self.assertTrue(ROOT.name)\n"
    )
    assert names(code) == ["A.test_a", "A.test_b", "A.test_c"]


def test_a_test_on_one_line_is_left_out_with_its_body() -> None:
    one = f"{HEAD}class A(TestCase):\n    def test_a(self): pass\n    x = 1; y = 2\n"
    first, second = split_suite(f"{one}def test_b(): pass; double(1)\n")
    assert first.code == one
    assert second.code.split("\n")[:2] == HEAD.split("\n")[:2]
    assert second.code.endswith("\ndef test_b(): pass; double(1)\n")
    assert "class A" not in second.code


def test_a_very_large_file_is_split_quickly_and_a_huge_one_stays_whole() -> None:
    tests = "".join(
        f"    def test_{n}(self):\n        self.assertEqual(double({n}), {2 * n})\n\n"
        for n in range(500)
    )
    parts = split_suite(f"{HEAD}class A(TestCase):\n{tests}")
    assert len(parts) == 500
    assert sum(len(part.code) for part in parts) < 100_000
    shared = "def helper():\n" + "    print('shared by all of them')\n" * 1_000
    assert split_suite(f"{HEAD}{shared}\nclass A(TestCase):\n{tests}") == ()
