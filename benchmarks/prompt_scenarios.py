"""Small tasks and prepared replies with which every role of the lifecycle is asked.

It uses only interfaces that earlier versions have, too, and runs with their packages.
"""

import json
from collections.abc import Mapping
from typing import Any

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.request import Request
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.values import RunId
from auditcoder.interfaces.factories import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle import options
from auditcoder.lifecycle.options import Build, LocatorName, Options, Planner
from auditcoder.lifecycle.runs import RunResources, start
from auditcoder.prompts import load, roles

SHELVES = Task(
    title="Fullest shelf",
    statement=(
        "A store keeps boxes on shelves. Each line of the input holds the name of a shelf and the"
        " weight of one box on it, separated by a space. Print the name of the shelf with the"
        " largest total weight and that weight, separated by a space. If several shelves carry the"
        " same weight, print the one that comes first in the alphabet. There are at most 100000"
        " lines, and a weight is an integer from 1 to 1000."
    ),
    form=ProgramForm(),
    examples=(
        StdioExample(input="a 3\nb 5\na 4\n", output="a 7\n"),
        StdioExample(input="b 5\na 5\n", output="a 5\n"),
    ),
)
LONGEST = Task(
    title="Longest run",
    statement=(
        "Write `longest_run(values: list[int]) -> int`, which returns the length of the longest"
        " run of equal neighbours. An empty list has the length 0."
    ),
    form=FunctionForm(entry="longest_run", signature="def longest_run(values: list[int]) -> int"),
    examples=(CallExample(arguments="[1, 1, 2, 1, 1, 1]", result="3"),),
)
SKELETON = '''\
class Counter:
    """Counts visits by name."""

    def __init__(self) -> None:
        """Start without visits."""

    def visit(self, name: str) -> None:
        """Count one visit of a name."""

    def most(self) -> str:
        """Return the name with the most visits, the first in the alphabet among equals."""

    def total(self) -> int:
        """Return the number of all visits."""
'''
COUNTER = Task(
    title="Counter",
    statement=SKELETON,
    form=ClassForm(name="Counter", skeleton=SKELETON),
    examples=(
        CodeExample(
            code=(
                "c = Counter()\nc.visit('b')\nc.visit('a')\nc.visit('b')\n"
                "assert c.total() == 3\nassert c.most() == 'b'\n"
            )
        ),
    ),
)

PARSE = '''def read_boxes(data: str) -> list[tuple[str, int]]:
    """Read the shelf and the weight of every box.

    kind: string
    ensures: len(result) <= len(data)
    cost: O(n)
    example: read_boxes("a 3") == [("a", 3)]
    """
    ...
'''
ADD = '''def weights_of(boxes: list[tuple[str, int]]) -> dict[str, int]:
    """Add up the weights of every shelf.

    kind: general
    ensures: len(result) <= len(boxes)
    cost: O(n)
    example: weights_of([("a", 3), ("a", 4)]) == {"a": 7}
    """
    ...
'''
PICK = '''def fullest(weights: dict[str, int]) -> tuple[str, int]:
    """Find the shelf with the largest weight, the first in the alphabet among equals.

    kind: sorting
    requires: len(weights) > 0
    cost: O(n)
    """
    ...
'''
SOLVE = '''def solve(data: str) -> str:
    """Answer the task."""
    name, weight = fullest(weights_of(read_boxes(data)))
    return f"{name} {weight}"
'''
ABOUT = '"""Add up each shelf, then pick.\n\nparts: three steps\n"""\n'
SKETCH = "\n".join([ABOUT, PARSE, ADD, PICK, SOLVE])
READS = (
    "def read_boxes(data):\n    boxes = []\n    for line in data.splitlines():\n"
    "        name, weight = line.split()\n        boxes.append((name, int(weight)))\n"
    "    return boxes\n"
)
ADDS = (
    "def weights_of(boxes):\n    weights = {}\n    for name, weight in boxes:\n"
    "        weights[name] = weights.get(name, 0) + weight\n    return weights\n"
)
PICKS = "def fullest(weights):\n    return max(weights.items(), key=lambda item: {})\n"
LAST, LAST_AGAIN = PICKS.format("(item[1], item[0])"), PICKS.format("(item[1] + 0, item[0])")
RUNS = "def longest_run(values):\n    return len(set(values)){}\n"
VISITS = """class Counter:
    def __init__(self):
        self.visits = {{}}

    def visit(self, name):
        self.visits[name] = self.visits.get(name, 0) + 1

    def most(self):
        return min(self.visits, key=lambda name: (self.visits[name], name)){}

    def total(self):
        return sum(self.visits.values())
"""
CAUSE = json.dumps(
    {
        "cause": "implementation",
        "explanation": "It picks the last of several equal shelves.",
        "hints": ["compare the negative weight"],
        "cost": "",
        "signature": "",
    }
)
"""The cause, for versions that ask for it in a request of its own."""
STATED = "cause: implementation, because it picks the last of several equal shelves"
"""The same for versions that ask for it together with the code."""
SLOW = (
    "def weights_of(boxes):\n"
    "    return {n: sum(w for m, w in boxes if m == n) for n, _ in boxes}\n\n"
    "def small_input(rng):\n    return ([('a', rng.randint(1, 5)) for _ in range(3)],)\n"
)


def _parts() -> list[dict[str, object]]:
    labels = (
        ("read", "string", None),
        ("add", "general", "read.out"),
        ("pick", "sorting", "add.out"),
    )
    return [
        {
            "label": label,
            "goal": f"Do the step {label}",
            "kind": kind,
            "parent": None,
            "dependencies": [source.split(".")[0]] if source else [],
            "inputs": [{"name": "given", "type": "list", "description": "", "source": source}],
            "outputs": [{"name": "out", "type": "list", "description": ""}],
            "hints": ["mind equal weights"],
            "cost": "O(n)",
            "context": "the steps run one after another",
        }
        for label, kind, source in labels
    ]


def _interface(label: str, name: str, given: str, kind: str, returns: str) -> dict[str, object]:
    return {
        "label": label,
        "name": name,
        "params": [{"name": given, "type": kind, "description": "what came before"}],
        "returns": returns,
        "returns_description": "what comes next",
        "requires": [f"len({given}) >= 0"],
        "ensures": ["len(result) >= 0"],
        "examples": [],
    }


def _case(given: str, expected: str) -> dict[str, str]:
    return {"input": given, "expected_output": expected, "description": "an edge"}


STAGED: dict[str, object] = {
    "parser": {
        "title": "Fullest shelf",
        "description": "Add up the weights of each shelf and print the heaviest one.",
        "input_format": "one box per line: shelf, space, weight",
        "output_format": "the shelf, a space, its weight",
        "time_limit_seconds": None,
        "memory_limit_mb": None,
        "data_ranges": [{"variable": "weight", "minimum": 1, "maximum": 1000}],
        "sample_cases": [_case("a 3\nb 5\na 4\n", "a 7\n"), _case("b 5\na 5\n", "a 5\n")],
    },
    "thinker": {
        "nature": "ties",
        "traps": [{"trap": "keep the last of equal shelves", "why": "the first one is asked for"}],
        "insights": ["one pass is enough"],
        "considered": [{"family": "counting", "pros": "one pass", "cons": "none"}],
        "questions": ["is there always a box?"],
        "assumptions": ["there is always a box"],
        "summary": "Add up, then take the best.",
    },
    "constraint_analyzer": {
        "time": "O(n log n)",
        "space": "O(n)",
        "features": ["weights are small"],
        "reasoning": "100000 lines allow sorting.",
    },
    "algorithm_selector": {
        "category": "simulation",
        "observations": ["weights add up"],
        "choices": [
            {"algorithm": "sorting", "agent": "agent_sorting", "subtask": "pick", "reason": "ties"}
        ],
        "reasoning": ["add up", "compare"],
    },
    "task_decomposer": {"strategy": "Add up, then pick.", "why": "three steps", "parts": _parts()},
    "interface_designer": {
        "interfaces": [
            _interface("read", "read_boxes", "data", "str", "list"),
            _interface("add", "weights_of", "boxes", "list", "dict"),
            _interface("pick", "fullest", "weights", "dict", "tuple"),
        ]
    },
    "test_case_analyzer": {
        "samples": [_case("a 3\nb 5\na 4\n", "a 7\n")],
        "edge_cases": [
            _case("a 1\n", "a 1\n"),
            _case("b 1\na 1\n", "a 1\n"),
            _case("a 9\n", "a 9\n"),
        ],
        "invariants": ["the weight is positive"],
    },
    "plan_reviewer": {"status": "pass", "issues": [], "retry_target": "", "reason": ""},
}


def _python(code: str) -> str:
    return f"```python\n{code.strip()}\n```"


def _code(request: Request, known: Mapping[str, str]) -> str:
    """Return the functions that the last part of a request names."""
    step = request.messages[1].text.rpartition("# Your step")[2]
    wanted = [code for name, code in known.items() if f"`{name}" in step]
    return _python("\n\n".join(wanted or known.values()))


def _shelves(pick: str = LAST) -> dict[str, object]:
    known = {"read_boxes": READS, "weights_of": ADDS, "fullest": pick, "solve": SOLVE}
    again = {**known, "fullest": LAST_AGAIN}
    return {
        "sketch": _python(SKETCH),
        "edge_cases": "solve('a 1') == 'a 1'  # one box\nsolve('b 1\\na 1') == 'a 1'  # equal",
        "joint": lambda request: _code(request, known),
        "node": lambda request: _code(request, known),
        "replan_node": CAUSE,
        "repair_node": lambda request: f"{STATED}\n\n{_code(request, again)}",
        "replan_branch": _python(PICK),
        "redo": _python(SKETCH.replace("read_boxes", "parse").replace("weights_of", "add")),
        "second_opinion": lambda request: _code(request, again),
        "second_opinion_informed": lambda request: _code(request, again),
        "brute_force": _python(SLOW),
        "verdict": json.dumps(
            {"opinions": [{"function": "fullest", "verdict": "reject", "reason": "ties"}]}
        ),
        **{name: json.dumps(answer) for name, answer in STAGED.items()},
    }


def _sole() -> dict[str, object]:
    return {
        "edge_cases": "longest_run([]) == 0  # empty\nlongest_run([4]) == 1  # one",
        "sketch": _python("def longest_run(values: list[int]) -> int:\n    ...\n"),
        "sole": _python(RUNS.format("")),
        "replan_node": CAUSE,
        "repair_node": f"{STATED}\n\n{_python(RUNS.format(' + 0'))}",
        "redo": "nothing",
    }


def _counter() -> dict[str, object]:
    wrong, again = VISITS.format(""), VISITS.format(" + ''")
    return {
        "methods": _python(wrong),
        "method": lambda request: _method(request, wrong),
        "replan_node": CAUSE,
        "repair_method": f"{STATED}\n\n{_python(again)}",
        "second_opinion_methods": _python(again),
    }


def _method(request: Request, code: str) -> str:
    """Return the method of a class that a request names."""
    asked = request.messages[1].text.rpartition("Write the method `")[2].partition("(")[0]
    (found,) = (m for m in code.split("\n\n") if f"def {asked}(" in m)
    return _python(found if found.startswith("class") else f"class Counter:\n{found}")


_PAPER = LocatorName.PAPER_RULES
_NEWER: dict[str, object] = {
    name: getattr(options, kind)(value)
    for name, kind, value in (
        ("edge_cases", "AutoSwitch", "on"),
        ("second_opinions", "SecondOpinions", "informed"),
    )
    if hasattr(options, kind)
}
"""Options that earlier versions lack."""


def _with_sketch(**chosen: Any) -> Options:
    return Options(planner=Planner.SKETCH, **chosen)


SCENARIOS: dict[str, tuple[Task, dict[str, object], Options]] = {
    "sketch, joint, repaired in vain": (SHELVES, _shelves(), _with_sketch(fallback=True)),
    "sketch, node, repaired in vain": (SHELVES, _shelves(), _with_sketch(build=Build.NODE)),
    "sketch, joint, right": (
        SHELVES,
        _shelves(PICKS.format("(item[1], -ord(item[0]))")),
        _with_sketch(),
    ),
    "staged, joint, right": (
        SHELVES,
        _shelves(PICKS.format("(item[1], -ord(item[0]))")),
        Options(planner=Planner.STAGED),
    ),
    "paper's rules, slow reference": (
        SHELVES,
        _shelves(),
        _with_sketch(locator=_PAPER, differential=True, max_repairs=1),
    ),
    "one function": (LONGEST, _sole(), _with_sketch(fallback=True)),
    "class, joint": (COUNTER, _counter(), _with_sketch(max_repairs=1)),
    "class, node": (COUNTER, _counter(), _with_sketch(build=Build.NODE, max_repairs=1)),
}


if _NEWER:
    SCENARIOS["sketch, joint, edge cases, informed opinions"] = (
        SHELVES,
        _shelves(),
        _with_sketch(max_repairs=1, **_NEWER),
    )


def requests() -> dict[str, list[tuple[str, str]]]:
    """Return the name of the prompt and the text of every request, by scenario."""
    names = {load(name).digest: name for name in roles() if name not in {"handbook", "coder"}}
    asked: dict[str, list[tuple[str, str]]] = {}
    sandbox = open_sandbox(read_settings(), lambda _: None)
    for scenario, (task, said, chosen) in SCENARIOS.items():
        sent: list[tuple[str, str]] = []

        def answer(
            request: Request,
            said: Mapping[str, object] = said,
            sent: list[tuple[str, str]] = sent,
        ) -> str:
            name = names[request.prompt] if request.prompt else "other"
            sent.append((name, "\n".join(message.text for message in request.messages)))
            reply = said.get(name, "nothing")
            return str(reply(request) if callable(reply) else reply)

        model = ScriptedModel([answer] * 200)
        start(RunResources(SqliteStore(":memory:"), model, sandbox), task, chosen, RunId("run"))
        asked[scenario] = sent
    sandbox.close()
    return asked
