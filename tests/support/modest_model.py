"""A model that plans, writes a wrong program and repairs it: in this process or on a server."""

from auditcoder.domain.request import FREE, FinishReason, Reply, Request, Traits
from auditcoder.domain.usage import Usage
from tests.support.fault_server import Handler, completion

DOUBLE = "Write double(x: int) -> int: twice the number.\ndouble(2) == 4"
TASK = """+++
form = "program"
title = "Sum"
[[examples]]
input = "1 2 3\\n"
output = "6\\n"
+++
Print the sum of the numbers.
"""
SKETCH = '''```python
"""Read, then add.

parts: one, because it is one sum.
"""


def total(values: list[int]) -> int:
    """Add all values.

    kind: math
    ensures: result == sum(values)
    cost: O(n)
    example: total([1, 2]) == 3
    """
    ...


def solve(data: str) -> str:
    """Answer the task."""
    values = [int(word) for word in data.split()]
    return str(total(values))
```'''
WRONG = "```python\ndef total(values: list[int]) -> int:\n    return sum(values[1:])\n```"
RIGHT = "```python\ndef total(values: list[int]) -> int:\n    return sum(values)\n```"
CAUSE = "cause: implementation, because it leaves out the first value"
WHOLE = """```python
import sys


def total(values: list[int]) -> int:
    return sum({})


print(total([int(word) for word in sys.stdin.read().split()]))
```"""


def answer(prompt: str, *, wrong: bool = True) -> str:
    """Return the reply of a modest model: a sketch or wrong drafts, wrong code, then the repair."""
    if "# Your step: the program again" in prompt:
        return f"{CAUSE}\n\n{WHOLE.format('values')}"
    if "Write the complete program" in prompt:
        return WHOLE.format("values[1:]" if wrong else "values")
    if "# Your step: the sketch" in prompt:
        if "double" in prompt:
            return "```python\ndef double(x: int) -> int:\n    ...\n```"
        return SKETCH
    if "# Your step: the function again" in prompt:
        return f"{CAUSE}\n\n{RIGHT}"
    if "double" in prompt:
        return "```python\ndef double(x: int) -> int:\n    return 2 * x\n```"
    return WRONG if wrong else RIGHT


class ModestModel:
    """A model in this process."""

    name = "modest"
    traits = Traits(price=FREE)

    def complete(self, request: Request) -> Reply:
        text = answer(request.messages[-1].text)
        usage = Usage(calls=1, prompt_tokens=10, completion_tokens=5)
        return Reply(text=text, finish=FinishReason.STOP, usage=usage, model="modest")

    def close(self) -> None:
        pass


def answer_request(handler: Handler) -> None:
    """Answer a request to the server as `ModestModel` would."""
    handler.say(completion(answer(handler.server.asked[-1]["messages"][-1]["content"])))
