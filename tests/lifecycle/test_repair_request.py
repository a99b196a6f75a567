"""What a repair request shows: callees with their code, others as stubs, reasons, limits."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.request import Request
from auditcoder.domain.task import CallExample, ClassForm, CodeExample, FunctionForm, Limits, Task
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripted_runs import (
    FinishedRun,
    ScriptedReplies,
    python,
    run,
    sandboxed,
    stub,
)
from tests.support.sketched_runs import sketching

TASK = Task(
    title="Middle",
    statement="Return the sum of the two largest numbers of a text.",
    form=FunctionForm(entry="top", signature="def top(text: str) -> int"),
    examples=(CallExample(arguments="'1 5 3'", result="8"),),
    limits=Limits(seconds=2, memory_mb=64),
)
SKETCH = (
    stub("read(text: str) -> list[int]", "Read the numbers.")
    + stub("largest(numbers: list[int]) -> int", "Find the largest number.")
    + stub("two(numbers: list[int]) -> int", "Add the two largest.", "uses: largest")
    + "def top(text: str) -> int:\n    return two(read(text))\n"
)
READS = "def read(text):\n    return [int(word) for word in text.split()]\n"
LARGEST = "def largest(numbers):\n    return max(numbers)  # the whole list\n"
TWO = "def two(numbers):\n    rest = [n for n in numbers]\n    return {} + largest(rest)\n"
FAULTY = TWO.format("1 // 0")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.fixture(scope="module")
def finished(sandbox: Sandbox) -> FinishedRun:
    fixed = "def two(numbers):\n    return sum(sorted(numbers)[-2:])\n"
    said: ScriptedReplies = {
        "sketch": python(SKETCH),
        "joint": python(f"{READS}\n{LARGEST}\n{FAULTY}"),
        "repair_node": python(fixed),
    }
    return run(sandbox, TASK, said, sketching(review=False))


def test_callees_are_shown_with_their_code_and_others_as_stubs(finished: FinishedRun) -> None:
    text = finished.request("repair_node")
    assert "# Find the largest number.\ndef largest(numbers):\n    return max(numbers)" in text
    assert 'def read(text: str) -> list[int]:\n    """Read the numbers.' in text
    assert "word.split()" not in text
    assert text.count("1 // 0") == 1, "the failing code is shown once"


def test_the_reasons_of_the_diagnosis_are_sentences_with_function_names(
    finished: FinishedRun,
) -> None:
    text = finished.request("repair_node")
    section = text.partition("# Why this code is suspected\n")[2].partition("\n\n")[0]
    assert "`two`" in section
    assert "S3" not in section
    assert section.endswith(".")


def test_the_way_to_name_another_part_is_documented_in_repairs_alone(
    finished: FinishedRun,
) -> None:
    assert "`the fault is elsewhere: NAME, because REASON`" in finished.request("repair_node")
    for name in ("sketch", "joint"):
        assert "elsewhere" not in finished.request(name)


@pytest.mark.parametrize("prompt", ["sketch", "joint", "repair_node"])
def test_every_request_states_the_limits(finished: FinishedRun, prompt: str) -> None:
    assert "Limits of one run: 2 s and 64 MB of memory." in finished.request(prompt)


def test_a_function_alone_is_shown_without_a_sketch_and_blames_nobody(sandbox: Sandbox) -> None:
    whole = "def top(text: str) -> int:\n    return {}\n"
    right = "sum(sorted(map(int, text.split()))[-2:])"
    said: ScriptedReplies = {
        "sketch": python("def top(text: str) -> int:\n    ...\n"),
        "joint": python(whole.format("1 // 0")),
        "repair_node": python(whole.format(right)),
    }
    text = run(sandbox, TASK, said, sketching(review=False)).request("repair_node")
    assert "# The program" not in text
    assert "elsewhere" not in text


def test_methods_that_a_method_calls_are_shown(sandbox: Sandbox) -> None:
    skeleton = (
        "class Box:\n"
        "    def __init__(self):\n        self.items = []\n\n"
        '    def count(self) -> int:\n        """Count the items."""\n\n'
        '    def double(self) -> int:\n        """Return twice the count."""\n'
    )
    task = Task(
        title="Box",
        statement=skeleton,
        form=ClassForm(name="Box", skeleton=skeleton),
        examples=(CodeExample(code="b = Box()\nb.items.append(1)\nassert b.double() == 2"),),
    )
    methods = (
        "class Box:\n    def count(self):\n        return len(self.items)  # all\n\n"
        "    def double(self):\n        return {}\n"
    )
    asked: list[Request] = []

    def repair(request: Request) -> str:
        asked.append(request)
        return python(methods.format("2 * self.count()"))

    said: ScriptedReplies = {
        "methods": python(methods.format("self.count() // 0")),
        "repair_node": repair,
    }
    run(sandbox, task, said, sketching(review=False))
    text = asked[0].messages[1].text
    section = text.partition("# Methods that it calls\n")[2].partition("# The failing")[0]
    assert "return len(self.items)  # all" in section
    assert "__init__" not in section


def test_helpers_of_other_nodes_that_a_method_calls_are_shown(sandbox: Sandbox) -> None:
    skeleton = (
        "class Box:\n"
        "    def __init__(self):\n        self.items = []\n\n"
        '    def count(self) -> int:\n        """Count the items."""\n\n'
        '    def double(self) -> int:\n        """Return twice the count."""\n'
    )
    task = Task(
        title="Box",
        statement=skeleton,
        form=ClassForm(name="Box", skeleton=skeleton),
        examples=(CodeExample(code="b = Box()\nb.items.append(1)\nassert b.double() == 2"),),
    )
    double = "class Box:\n    def double(self):\n        return {}\n"
    methods = (
        f"{double.format('self._size() // 0')}\n"
        "    def count(self):\n        return self._size()\n\n"
        "    def _size(self):\n        return len(self.items)  # all\n"
    )
    said: ScriptedReplies = {
        "methods": python(methods),
        "repair_node": python(double.format("2 * self._size()")),
    }
    finished = run(sandbox, task, said, sketching(review=False))
    text = next(
        r for _, r in finished.asked if "# Your step: the method again" in r.messages[-1].text
    )
    section = text.messages[-1].text.partition("# Methods that it calls\n")[2]
    assert "return len(self.items)  # all" in section.partition("# The failing")[0]
