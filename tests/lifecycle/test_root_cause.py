"""The line of a reply that states the root cause is read however a model writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.lifecycle.root_cause import UNKNOWN_CAUSE, RootCause, StatedCause, read_cause
from tests.support.scripted_runs import python

CODE = python("def add(numbers):\n    return sum(numbers)\n")
SUMS = "it sums, but must multiply"
ALGORITHM = StatedCause(RootCause.ALGORITHM, SUMS)


@pytest.mark.parametrize(
    "line",
    [
        f"cause: algorithm, because {SUMS}",
        f"Cause: Algorithm, because {SUMS}.",
        f"CAUSE: ALGORITHM BECAUSE {SUMS}",
        f"**Cause:** algorithm, because {SUMS}",
        f"**cause: algorithm**, because {SUMS}",
        f"**cause: algorithm, because {SUMS}**",
        f"`cause: algorithm, because {SUMS}`",
        f"- cause: `algorithm` - {SUMS}",
        f"# cause: algorithm — {SUMS}",
        f"> cause \u2013 algorithm: {SUMS}",
        f"cause: an algorithm error; {SUMS}",
        f"The root cause is algorithmic: {SUMS}",
        f"cause: KIND: algorithm, because {SUMS}",
        f"cause = algorithm. {SUMS}.",
    ],
)
@pytest.mark.parametrize("code", [CODE, f"First I add.\n{CODE}", CODE.replace("```", "").strip()])
def test_the_line_is_read_in_the_ways_that_models_write_it(line: str, code: str) -> None:
    if code.startswith("python"):
        code = code.removeprefix("python\n")
    assert read_cause(f"{line}\n\n{code}") == (ALGORITHM, f"\n\n{code}")


@pytest.mark.parametrize("mark", ["", "# ", "**"])
def test_a_line_at_the_beginning_of_the_code_is_read_and_taken_out(mark: str) -> None:
    line = f"{mark}cause: algorithm, because {SUMS}{mark.strip('# ')}"
    inside = CODE.replace("```python\n", f"```python\n{line}\n")
    assert read_cause(inside) == (ALGORITHM, CODE.replace("```python\n", "```python\n\n"))


def test_a_line_behind_the_code_is_read() -> None:
    cause, _ = read_cause(f"{CODE}\ncause: algorithm, because {SUMS}\n")
    assert cause == ALGORITHM


@pytest.mark.parametrize(
    ("line", "explanation"),
    [
        ("cause: the loop starts at 1", "the loop starts at 1"),
        ("**Cause**: `x` is off by one.", "`x` is off by one"),
        ("cause: KIND, because it counts twice", "it counts twice"),
        ("Cause: logic, because it counts twice", "logic, because it counts twice"),
        ("cause: global variables are shared", "global variables are shared"),
        ("cause: interface types differ, because", "interface types differ, because"),
        ("cause:", ""),
        ("cause: implementation", ""),
        ("cause: implementation, because", ""),
        ("cause: implementation\nbecause it counts twice", ""),
    ],
)
def test_without_a_kind_the_implementation_is_assumed_wrong(line: str, explanation: str) -> None:
    cause, rest = read_cause(f"{line}\n{CODE}")
    assert cause == StatedCause(RootCause.IMPLEMENTATION, explanation)
    assert rest.endswith(CODE)


def test_a_line_that_names_a_kind_comes_before_one_that_does_not() -> None:
    cause, _ = read_cause(f"The cause is easy to see.\ncause: algorithm, because {SUMS}\n{CODE}")
    assert cause == ALGORITHM


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        "",
        "The cause of this is in line 3.",
        "Because of it, the sum is wrong.",
        "A cause-and-effect analysis follows.",
        python('def f():\n    cause: str = "algorithm"\n    return cause'),
        python("LIMIT = 1\ncause: algorithm\ndef f(): ..."),
        'class Fault:\n    cause: str = "algorithm"\n',
    ],
)
def test_other_text_states_no_cause_and_stays(text: str) -> None:
    assert read_cause(text) == (UNKNOWN_CAUSE, text)


@given(st.text(), st.sampled_from(list(RootCause)), st.text())
def test_any_text_is_read_and_only_one_line_is_taken_out(
    before: str, kind: RootCause, because: str
) -> None:
    text = f"{before}\ncause: {kind.value}, because {because}\n{CODE}"
    cause, rest = read_cause(text)
    assert isinstance(cause.kind, RootCause)
    assert cause.explanation == "" or any(map(str.isalnum, cause.explanation))
    start = next((i for i, (a, b) in enumerate(zip(text, rest, strict=False)) if a != b), len(rest))
    removed = text[start : start + len(text) - len(rest)]
    assert text[:start] + text[start + len(removed) :] == rest
