"""An invented task with an invented reference, and classes that somebody might have written."""

from typing import Any

from auditcoder.bench.faultbench.published import Subject, subject_of

REFERENCE = '''\
class Tally:
    """Counts."""

    def __init__(self):
        self.seen = []

    def add(self, number):
        """Take a number in."""
        self.seen.append(number)
        return len(self.seen)

    def mean(self):
        """Say the mean, rounded down."""
        return math.floor(sum(self.seen) / len(self.seen))
'''

TESTS = """\
import unittest


class TallyTestAdd(unittest.TestCase):
    def test_add_1(self):
        self.assertEqual(Tally().add(5), 1)

    def test_add_2(self):
        tally = Tally()
        tally.add(1)
        self.assertEqual(tally.add(1), 2)


class TallyTestMean(unittest.TestCase):
    def test_mean_1(self):
        tally = Tally()
        tally.add(2)
        tally.add(5)
        self.assertEqual(tally.mean(), 3)


class TallyTestMain(unittest.TestCase):
    def test_main(self):
        tally = Tally()
        self.assertEqual(tally.add(4), 1)
        self.assertEqual(tally.mean(), 4)
"""

ROW: dict[str, Any] = {
    "task_id": "ClassEval_7",
    "class_name": "Tally",
    "class_description": "Counts.",
    "skeleton": "import math\nclass Tally:\n    def __init__(self):\n        self.seen = []\n",
    "import_statement": ["import math"],
    "solution_code": REFERENCE,
    "test": TESTS,
    "test_classes": ["TallyTestAdd", "TallyTestMean", " TallyTestMain"],
    "methods_info": [
        {"method_name": "add", "test_class": "TallyTestAdd"},
        {"method_name": "mean", "test_class": "TallyTestMean"},
    ],
}

WRONG_MEAN = REFERENCE.replace("math.floor(", "math.ceil(")
WRONG_BOTH = WRONG_MEAN.replace("return len(self.seen)", "return None")
OTHER_STATE = """\
class Tally:
    def __init__(self):
        self.total = 0
        self.count = 0

    def add(self, number):
        self.total += number
        self.count += 1
        return self.count

    def mean(self):
        return self.total / self.count
"""
NO_IMPORT = (
    REFERENCE.replace("math.floor(", "operator.floordiv(")
    .replace("sum(self.seen) / len", "sum(self.seen), len")
    .replace("return len(self.seen)", "return operator.length_hint(self.seen)")
)


def subject() -> Subject:
    """Return the task as it is read."""
    return subject_of(ROW)
