"""Every reason of a diagnosis in the record is shown by an event that the diagnosis cites."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.events import CheckRan, Located
from auditcoder.domain.evidence import CheckKind, Evidence, Verdict
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.task import CallExample, FunctionForm, Task
from auditcoder.lifecycle.locating.diagnosis_input import Clue
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.options import LocatorName
from auditcoder.lifecycle.ports import Sandbox
from tests.support.adder_task import function
from tests.support.scripted_runs import (
    FinishedRun,
    ScriptedReplies,
    python,
    run,
    sandboxed,
    stub,
)
from tests.support.sketched_runs import sketching

NODE = r"S\d+(?:_\d+)*"
OTHERS = rf"(?P<others>{NODE}(?: or of {NODE})*)"
SENTENCES = sorted(
    ((re.compile(re.escape(k.value).replace(r"\{others\}", OTHERS)), k) for k in FeatureKind),
    key=lambda pair: -len(pair[1].value),
)
"""The sentence of each feature, the longest first: some begin with another."""
NO_CLAIM = re.compile(
    rf"next is {NODE} \(\d\.\d\d\)|a check of {OTHERS} alone would tell"
    rf"|{NODE} reads \w+(?:, \w+)*, defined in {NODE}"
)
WOULD_TELL = re.compile(rf"another implementation of {OTHERS} would tell")
OF_CHECKS = {
    FeatureKind.REJECTED: (Verdict.FAILED, "own"),
    FeatureKind.REJECTED_TOO: (Verdict.FAILED, "own"),
    FeatureKind.REJECTED_ABOVE: (Verdict.FAILED, "above"),
    FeatureKind.GREW: (Verdict.FAILED, "own"),
    FeatureKind.ACCEPTED: (Verdict.PASSED, "own"),
}
FROM_OTHERS = {
    FeatureKind.OTHER_HEALS: FeatureKind.HEALS,
    FeatureKind.OTHER_MENDS: FeatureKind.MENDS,
    FeatureKind.OTHERS_IN_VAIN: FeatureKind.TRIED,
    FeatureKind.ALONE_IN_VAIN: FeatureKind.TRIED,
}


class Claim(NamedTuple):
    """One sentence of an explanation about a node."""

    node: str
    kind: FeatureKind
    others: tuple[str, ...]


def claims(explanation: str) -> Iterator[Claim]:
    """Read the sentences of a `weighed` diagnosis; fail on one that is not known."""
    node = ""
    for part in explanation.split("; "):
        if NO_CLAIM.fullmatch(part) or WOULD_TELL.fullmatch(part):
            continue
        headed = re.fullmatch(rf"({NODE}) \(\d\.\d\d\): (.*)", part)
        node = headed[1] if headed else node
        text = headed[2] if headed else part.removeprefix("against it: ")
        while text and text != "nothing in particular":
            found = next(((m, k) for form, k in SENTENCES if (m := form.match(text))), None)
            assert found, f"no feature says {text!r}"
            match, kind = found
            others = match.groupdict().get("others") or ""
            yield Claim(node, kind, tuple(filter(None, others.split(" or of "))))
            text = text[match.end() :].removeprefix(", ")


class CitedEvents:
    """The evidence that a diagnosis cites, and what it shows."""

    def __init__(self, finished: FinishedRun, graph: TaskGraph, cited: tuple[int, ...]) -> None:
        events = finished.raw.events()
        self._evidence = [e.evidence for n in cited if isinstance(e := events[n], CheckRan)]
        assert len(self._evidence) == len(cited), "a diagnosis cites results of checks only"
        self._finished, self._graph = finished, graph

    def about(self, node: str) -> list[Evidence]:
        return [e for e in self._evidence if getattr(e.subject, "node", None) == node]

    def features(self, node: str, *kinds: CheckKind) -> set[FeatureKind]:
        """Return the features that conclusive observations of a node show."""
        shown = set()
        for evidence in self.about(node):
            if evidence.kind in kinds and evidence.verdict.conclusive and evidence.observed:
                clue = msgspec.json.decode(self._finished.raw.blob(evidence.observed), type=Clue)
                kinds_shown = {FeatureKind[n.removesuffix("_FIRST")] for n in clue.features}
                assert any(k.points for k in kinds_shown) == (evidence.verdict is Verdict.FAILED)
                shown |= kinds_shown
        return shown

    def judged(self, node: str, verdict: Verdict) -> bool:
        """Whether a check of a node judged so."""
        failing = verdict is not Verdict.PASSED
        return any(
            e.kind.judges and e.verdict.conclusive and e.verdict.failing == failing
            for e in self.about(node)
        )

    def back(self, claim: Claim) -> bool:
        """Whether a cited event shows what is claimed."""
        node, kind, others = claim
        if kind in FROM_OTHERS:
            shown = [self.features(other, CheckKind.SWAP) for other in others]
            in_vain = FROM_OTHERS[kind] is FeatureKind.TRIED
            alone = kind is not FeatureKind.ALONE_IN_VAIN or self.fails_alone()
            return (
                alone
                and bool(others)
                and all(
                    FROM_OTHERS[kind] in own and not (in_vain and FeatureKind.MENDS_SOME in own)
                    for own in shown
                )
            )
        if kind in OF_CHECKS:
            verdict, whose = OF_CHECKS[kind]
            callers = [n for n in self._graph.ids if node in self._graph.relied_on_by(n)]
            judged = [node] if whose == "own" else callers
            return any(self.judged(n, verdict) for n in judged)
        if kind is FeatureKind.FAILS_ALONE:
            return self.fails_alone()
        return kind in self.features(node, CheckKind.CLUE, CheckKind.SWAP)

    def fails_alone(self) -> bool:
        """Whether a cited observation of the traced run counts one failing test of several."""
        blobs = [e.observed for e in self._evidence if e.kind is CheckKind.CLUE and e.observed]
        clues = [msgspec.json.decode(self._finished.raw.blob(b), type=Clue) for b in blobs]
        return any(c.ran and c.ran.all_failed == 1 and c.ran.all_passed for c in clues)


def assert_reasons_are_cited(finished: FinishedRun) -> int:
    """Check every diagnosis with a target; return the number of claims."""
    count = 0
    for event in finished.all(Located):
        diagnosis = event.diagnosis
        if isinstance(diagnosis, Localised) and diagnosis.rule == "weighed":
            if "it is the only responsibility" in diagnosis.explanation:
                continue
            cited = CitedEvents(finished, finished.graph, diagnosis.evidence)
            for claim in claims(diagnosis.explanation):
                assert cited.back(claim), (claim, diagnosis)
                count += 1
    return count


ROOT = "def total(text: str) -> int:\n    return add(keep(read(text)))\n"
PLAN = (
    stub("read(text: str) -> list[int]", "Read the numbers.", "ensures: len(result) >= 0")
    + stub("keep(numbers: list[int]) -> list[int]", "Keep the even ones.")
    + stub(
        "add(numbers: list[int]) -> int",
        "Add them up.",
        "example: add([1, 2]) == 3",
        "ensures: result == sum(numbers)",
    )
    + ROOT
)
TASK = Task(
    title="Even",
    statement="Add up the even numbers of a text.",
    form=FunctionForm(entry="total", signature="def total(text: str) -> int"),
    examples=(
        CallExample(arguments="'1 2 4'", result="6"),
        CallExample(arguments="'3'", result="0"),
        CallExample(arguments="'6 8'", result="14"),
    ),
)
RIGHT = {
    "read": "def read(text):\n    return [int(word) for word in text.split()]\n",
    "keep": "def keep(numbers):\n    return [n for n in numbers if n % 2 == 0]\n",
    "add": "def add(numbers):\n    return sum(numbers)\n",
}
VERSIONS = {
    "read": (
        RIGHT["read"],
        "def read(text):\n    return list(map(int, text.split()))\n",
        "def read(text):\n    return [int(word) for word in text.split()][1:]\n",
        "def read(text):\n    return text.split()\n",
    ),
    "keep": (
        RIGHT["keep"],
        "def keep(numbers):\n    return [n for n in numbers if not n & 1]\n",
        "def keep(numbers):\n    return [n for n in numbers if n % 2]\n",
        "def keep(numbers):\n    return numbers.even()\n",
        "def keep(numbers: 1 // 0):\n    return numbers\n",
    ),
    "add": (
        RIGHT["add"],
        "def add(numbers):\n    return 0 + sum(numbers)\n",
        "def add(numbers):\n    return sum(numbers[1:])\n",
        "def add(numbers):\n    return sum(numbers) + (len(numbers) > 1)\n",
        "def add(numbers):\n    return None\n",
    ),
}
OPINIONS = {name: (*known, "") for name, known in VERSIONS.items()}


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def failing_run(sandbox: Sandbox, written: dict[str, str], opinions: dict[str, str]) -> FinishedRun:
    known = "\n".join(filter(None, opinions.values()))
    scripted: ScriptedReplies = {
        "sketch": python(PLAN),
        "joint": python("\n".join(written.values())),
        "second_opinion": python(known) if known else "I do not know.",
        "repair_node": lambda request: function(request, *RIGHT.values(), ROOT),
        "replan_branch": python(PLAN),
    }
    return run(sandbox, TASK, scripted, sketching(max_repairs=2), locator=LocatorName.WEIGHED)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    written=st.fixed_dictionaries({n: st.sampled_from(v[:5]) for n, v in VERSIONS.items()}),
    opinions=st.fixed_dictionaries({n: st.sampled_from(v) for n, v in OPINIONS.items()}),
)
def test_every_reason_of_a_diagnosis_is_shown_by_an_event_that_it_cites(
    sandbox: Sandbox, written: dict[str, str], opinions: dict[str, str]
) -> None:
    assert_reasons_are_cited(failing_run(sandbox, written, opinions))


def test_reasons_from_substitutions_are_read_and_backed(sandbox: Sandbox) -> None:
    """The property above is not vacuous: these runs claim what substitutions showed."""
    wrong = {**RIGHT, "keep": VERSIONS["keep"][2]}
    others = {name: known[1] for name, known in VERSIONS.items()}
    healed = failing_run(sandbox, wrong, others)
    assert assert_reasons_are_cited(healed) >= 2
    first = healed.diagnoses[0]
    assert isinstance(first, Localised)
    assert FeatureKind.HEALS in {c.kind for c in claims(first.explanation)}
    in_vain = failing_run(sandbox, wrong, {**others, "keep": VERSIONS["keep"][2]})
    said = [d.explanation for d in in_vain.diagnoses if isinstance(d, Localised)]
    found = [c for text in said for c in claims(text) if c.kind is FeatureKind.OTHERS_IN_VAIN]
    assert found, said
    assert all(set(c.others) == {"S1", "S3"} - {c.node} for c in found)


def test_a_claim_without_a_cited_event_is_found(sandbox: Sandbox) -> None:
    wrong = {**RIGHT, "keep": VERSIONS["keep"][2]}
    others = {name: known[1] for name, known in VERSIONS.items()}
    finished = failing_run(sandbox, wrong, others)
    (diagnosis,) = finished.diagnoses[:1]
    assert isinstance(diagnosis, Localised)
    cited = CitedEvents(finished, finished.graph, diagnosis.evidence)
    for kind in (FeatureKind.HEALS, FeatureKind.REJECTED, FeatureKind.ACCEPTED):
        assert not cited.back(Claim("S1", kind, ()))
    assert not cited.back(Claim("S1", FeatureKind.OTHERS_IN_VAIN, ("S2",)))
    with pytest.raises(AssertionError, match="no feature says"):
        list(claims("S2 (0.94): no other implementation of anything else helps"))
