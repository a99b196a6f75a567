"""What was observed when a program failed is shown apart from checks, and is never a failure."""

import re
from collections.abc import Iterator

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.repair import Decision
from auditcoder.exports.responsibility_record import responsibility_record
from auditcoder.interfaces.cli.observation_view import show_observations
from auditcoder.interfaces.cli.show_command import show_node, show_run
from auditcoder.lifecycle.options import LocatorName
from auditcoder.lifecycle.ports import Sandbox
from tests.support.adder_task import BAD_ADD, GOOD_READ, TASK, script
from tests.support.histories import accept_repair, traced
from tests.support.record_builders import S1_1, S2, check_node, failing, observe_node, repairing
from tests.support.scripted_runs import run, sandboxed
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_after_a_repair_no_observation_is_shown_as_a_failing_check(
    sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = script(GOOD_READ, BAD_ADD)
    finished = run(sandbox, TASK, replies, sketching(), locator=LocatorName.WEIGHED)
    trace, read = finished.solution.trace, finished.raw.blob
    assert [t.decision for t in trace.history] == [Decision.ACCEPTED]
    pointing = [
        w
        for node in finished.graph.ids
        for w in trace.observations_of(node)
        if w.evidence.verdict is Verdict.FAILED
    ]
    assert len(pointing) > 1, "innocent nodes were pointed to, too"
    assert not any(map(trace.stands, pointing))
    show_run(trace, read)
    tree = capsys.readouterr().out.partition("Repair 1")[0]
    assert not re.search(r"of \d+ checks? fail", tree)
    first = trace.history[0].program_before[:12]
    for witness in pointing:
        node = witness.evidence.check.partition(".")[0]
        show_node(trace, finished.graph.by_id[node].id, read)  # type: ignore[index]
        checks, _, observations = capsys.readouterr().out.partition("\nObservations about")
        assert witness.evidence.check not in checks
        assert observations.startswith(f" the failure of program {first}, an earlier one\n")
        line = next(x for x in observations.splitlines() if f" {witness.evidence.check} " in x)
        assert f"event {witness.when.seq}, no longer stands)  points to it" in line


def test_observations_are_shown_with_the_program_that_they_are_about(
    store: SqliteStore, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = failing(store)
    assert recorder.ledger.working.assembly is not None
    program = recorder.ledger.working.assembly.program[:12]
    clue = observe_node(recorder, S2, Verdict.PASSED)
    swap = check_node(recorder, S2, Verdict.UNTRIED)
    show_observations(traced(store), S2)
    assert capsys.readouterr().out.splitlines() == [
        "",
        f"Observations about the failure of program {program}, the present one",
        f"  S2.watched  (clue, event {clue})  does not point to it",
        f"  S2.swap  (swap, event {swap})  not tried",
    ]
    show_observations(traced(store), S1_1)
    assert capsys.readouterr().out == ""


def test_the_record_of_a_node_keeps_checks_and_observations_apart(store: SqliteStore) -> None:
    recorder = failing(store)
    assert recorder.ledger.working.assembly is not None
    program = recorder.ledger.working.assembly.program
    observe_node(recorder, S1_1, Verdict.FAILED)
    validation = responsibility_record(traced(store), S1_1, store.blob)["validation"]
    assert [e["kind"] for e in validation["evidence"]] == [CheckKind.BOUNDARY.value]
    (observed,) = validation["observations"]
    assert (observed["check"], observed["program"]) == ("S1_1.watched", program)
    assert observed["stands"]


def test_an_observation_keeps_the_program_that_failed(store: SqliteStore) -> None:
    recorder = repairing(store)
    assert recorder.ledger.working.assembly is not None
    before = recorder.ledger.working.assembly.program
    observe_node(recorder, S1_1, Verdict.FAILED)
    accept_repair(recorder)
    (observed,) = traced(store).observations_of(S1_1)
    assert observed.program == before
