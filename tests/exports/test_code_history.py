"""The history of a node's code: every version, why it was written and what became of it."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.ids import NodeId
from auditcoder.exports.code_history import RecordedVersion, code_history
from auditcoder.lifecycle.ports import Sandbox
from tests.support import adder_task
from tests.support.addition_runs import READS, REJECTED, S1, S2, TASK
from tests.support.scripted_runs import FinishedRun, run, sandboxed


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def history(finished: FinishedRun, node: NodeId) -> tuple[RecordedVersion, ...]:
    return code_history(finished.solution.trace, node, finished.raw.blobs.__getitem__)


def test_an_accepted_version_replaces_the_first(sandbox: Sandbox) -> None:
    replies = adder_task.script(adder_task.GOOD_READ, adder_task.BAD_ADD)
    first, second = history(run(sandbox, adder_task.TASK, replies), S2)
    assert (first.fate, first.why, first.replaced, first.diff) == (
        "replaced",
        "first code",
        None,
        "",
    )
    assert (second.fate, second.why, second.replaced) == (
        "accepted, current",
        "repair 1: it is off",
        1,
    )
    assert second.diff.endswith("-    return sum(numbers[1:])\n+    return sum(numbers)")
    assert first.reply is not None
    assert second.reply is not None
    assert first.reply < first.event < second.reply < second.event


def test_rolled_back_versions_are_each_compared_with_the_restored_code(sandbox: Sandbox) -> None:
    finished = run(sandbox, TASK, REJECTED)
    first, second, third = history(finished, S2)
    assert first.fate == "current"
    assert (second.fate, third.fate) == ("rejected, rolled back",) * 2
    assert (second.transaction, third.transaction) == (1, 2)
    assert (second.replaced, third.replaced) == (1, 1)
    assert "-    return sum(numbers) + 1\n+    return 8" in third.diff
    (only,) = history(finished, S1)
    assert (only.source.strip(), only.fate) == (READS.strip(), "current")
