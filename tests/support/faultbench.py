"""Invented material for FaultBench: a task with answers, a solved program, observed failures."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources
from auditcoder_bench.faultbench import locator_study, published_dataset
from auditcoder_bench.faultbench.observations import FailureEvidence
from auditcoder_bench.faultbench.published_answers import PublishedModel, Subject, subject_of
from auditcoder_bench.suites import SUITES, suite
from auditcoder_bench.suites.suite import DataFile
from tests.support.commands import RunCommand

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


INVENTED = {
    "careless": f"```python\n{WRONG_MEAN}```",
    "hopeless": f"Here you are:\n{WRONG_BOTH}",
    "good": REFERENCE,
    "silent": "",
}
"""Answers to the invented task, by model."""


def publish_invented_answers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Publish the invented answers in `folder/data`, change there, and require no package."""
    data = folder / "data" / "classeval"
    (data / "model_output").mkdir(parents=True)
    (data / "ClassEval_data.json").write_text(json.dumps([ROW, {**ROW, "task_id": "ClassEval_17"}]))
    listed = []
    for model, text in INVENTED.items():
        path = f"classeval/model_output/{model}_class_H_greedy.json"
        rows = [{"task_id": f"ClassEval_{n}", "predict": [text]} for n in (7, 17)]
        (folder / "data" / path).write_text(json.dumps(rows))
        listed.append(PublishedModel(model, "class_H", DataFile(path=path)))
    for module in (published_dataset, locator_study):
        monkeypatch.setattr(module, "PUBLISHED", tuple(listed))
    monkeypatch.setitem(SUITES, "classeval", suite("classeval")._replace(packages=()))
    monkeypatch.chdir(folder)


def build(run: RunCommand, *more: str) -> dict[str, object]:
    """Build the records of the published answers with the command."""
    said = run("faults", "build", "out.jsonl", "--data", "data", "--json", *more)
    assert said.code == Exit.OK, said.err
    found: dict[str, object] = said.json
    return found


TEXT = '''
"""Add up the numbers of a text that lie below a limit."""

import re


def read(text: str) -> list[int]:
    """Read the numbers.

    kind: string
    ensures: all(isinstance(n, int) for n in result)
    example: read("1 2") == [1, 2]
    """
    return [int(word) for word in re.findall("[0-9]+", text)]


def keep(numbers: list[int], limit: int) -> list[int]:
    """Keep the numbers below a limit.

    kind: general
    ensures: all(n < limit for n in result)
    example: keep([1, 5], 5) == [1]
    """
    kept = []
    for number in numbers:
        if number < limit:
            kept.append(number)
    return kept


def total(text: str, limit: int) -> int:
    """Add up."""
    numbers = read(text)
    kept = keep(numbers, limit)
    return sum(kept)


EXAMPLES = (
    ("'1 2 9', 5", "3"),
    ("'5', 5", "0"),
    ("'', 5", "0"),
    ("'4 4 4', 7", "12"),
)
'''.strip()
AGAIN = '''
"""The same."""


def read(text: str) -> list[int]:
    """Read the numbers."""
    return list(map(int, text.split()))


def keep(numbers: list[int], limit: int) -> list[int]:
    """Keep the numbers below a limit."""
    return [n for n in numbers if n < limit]
'''.strip()


def tools(sandbox: Sandbox) -> RunResources:
    """Return resources without a model, with a store in memory."""
    return RunResources(SqliteStore(":memory:"), ScriptedModel(()), sandbox)


def cases(number: int, told: float, seed: int = 0) -> list[FailureEvidence]:
    """Failures with a feature that is at the faulty node with some probability, else anywhere."""
    chance = random.Random(seed)
    found = []
    for place in range(number):
        fault = chance.choice("fgh")
        pointed = fault if chance.random() < told else chance.choice("fgh")
        found.append(
            FailureEvidence(
                id=str(place),
                task=f"task {place % 20}",
                kind="single",
                truth=(fault,),
                features={name: {"RAISED": 1.0} if name == pointed else {} for name in "fgh"},
                swaps=None,
                remote=False,
                traceback="",
                counts={},
                runs=1,
                milliseconds=1.0,
            )
        )
    return found
