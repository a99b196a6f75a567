"""Starting, resuming and replaying runs."""

import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditcoder import __version__, prompts
from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import RunOutcome
from auditcoder.domain.repair import Decision
from auditcoder.domain.request import FREE, GENEROUS, Request, Traits
from auditcoder.domain.values import digest
from auditcoder.lifecycle.locating.evidence_model import weights_digest
from auditcoder.lifecycle.options import Build, LocatorName
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, manifest_for, options_of, start
from tests.support.addition_runs import (
    ADDS,
    ANEW,
    OFF,
    READS,
    REJECTED,
    SILENT,
    SKETCH,
    TAKES,
    TASK,
    decisions,
)
from tests.support.campaigns import EVERY_ENTRY, sized, spread
from tests.support.record_builders import RUN
from tests.support.records import take
from tests.support.scripted_runs import (
    FinishedRun,
    Script,
    ScriptedReplies,
    assert_replays,
    python,
    resume_after,
    run,
    sandboxed,
)
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestInterruptedRun:
    @sized("cuts", EVERY_ENTRY)
    def test_an_interrupted_run_resumes_after_any_entry(self, sandbox: Sandbox, cuts: int) -> None:
        replies: ScriptedReplies = {
            **REJECTED,
            "joint": [python(READS + OFF), python(ADDS)],
        }
        finished = run(sandbox, TASK, replies, SILENT)
        assert decisions(finished) == [Decision.REJECTED, Decision.ACCEPTED]
        asked = len(finished.asked)
        for entries in spread(len(finished.raw.bodies), cuts, 1):
            solution, calls = resume_after(finished, entries, sandbox)
            assert (solution.outcome, solution.program) == (finished.outcome, finished.program)
            assert calls <= asked
            asked = calls
        assert resume_after(finished, len(finished.raw.bodies) - 1, sandbox)[1] == 0

    def test_a_run_with_a_fallback_and_parallel_requests_resumes_after_any_entry(
        self, sandbox: Sandbox
    ) -> None:
        options = sketching(build=Build.NODE, review=False, fallback=True)

        def node(request: Request) -> str:
            asked = request.messages[-1].text
            if "Write `take" in asked:
                return python(TAKES)
            return python(READS if "Write `read_numbers" in asked else OFF)

        replies: ScriptedReplies = {"sketch": SKETCH, "node": node, "redo": ANEW}
        finished = run(sandbox, TASK, replies, options, parallel=4)
        assert finished.outcome is RunOutcome.PASSED
        for entries in range(1, len(finished.raw.bodies)):
            solution, _ = resume_after(finished, entries, sandbox)
            assert solution.program == finished.program


def test_a_resumed_run_keeps_its_recorded_token_limits(sandbox: Sandbox) -> None:
    """The resuming model has tight limits; requests with other limits would not be known."""
    store = SqliteStore(":memory:")
    cases = "solve('1 2') == '3'  # their sum"
    script = Script({**REJECTED, "edge_cases": cases, "joint": [python(READS + ADDS)]})
    model = ScriptedModel([script] * 20, Traits(price=FREE, limits=GENEROUS))
    solution = start(RunResources(store, model, sandbox), TASK, SILENT, RUN)
    finished = FinishedRun(solution, take(store, RUN), tuple(script.asked))
    assert_replays(store, sandbox)
    assert solution.outcome is RunOutcome.PASSED
    for entries in (1, 3):
        again, calls = resume_after(finished, entries, sandbox)
        assert again.program == finished.program
        assert calls > 0


def test_a_manifest_records_the_options_in_the_order_of_earlier_records(sandbox: Sandbox) -> None:
    """Entries are encoded in the order of their keys, so the order is part of their digests."""
    other = ScriptedModel([])
    other.name = "server:other"
    tools = RunResources(SqliteStore(":memory:"), ScriptedModel([]), sandbox, consulted=other)
    options = sketching(
        budget_tokens=5, budget_usd=0.5, seed=0, temperature=1, second_opinions_by="server:other"
    )
    manifest = manifest_for(tools, options)
    assert " ".join(manifest.settings) == (
        "planner build max_repairs fallback differential review locator second_opinions specialists"
        " adjudication max_adjudications edge_cases drafts max_search_runs locator_weights"
        " second_opinions_by second_opinions_weights budget price parallel token_limits"
        " second_opinions_token_limits"
    )
    assert manifest.settings["budget"] == '{"tokens":5,"usd":0.5}'
    assert list(manifest.decoding.items()) == [
        ("temperature", "1"),
        ("repair_temperature", "0.5"),
        ("draft_temperature", "0.8"),
    ]
    assert manifest.seed == 0
    assert options_of(manifest) == options.decided(tools.model.traits)


def test_a_manifest_names_everything_that_made_the_run(sandbox: Sandbox) -> None:
    weights = digest(b"the weights")
    model = ScriptedModel([], Traits(weights=weights))
    manifest = manifest_for(
        RunResources(SqliteStore(":memory:"), model, sandbox), sketching(seed=4)
    )
    assert (manifest.method, manifest.model) == ("auditcoder", model.name)
    assert (manifest.weights, manifest.seed) == (weights, 4)
    assert manifest.sandbox == sandbox.kind
    assert manifest.versions["auditcoder"] == __version__
    assert manifest.versions["python"] == platform.python_version()
    folder = Path(prompts.__file__).parent
    files = {path.relative_to(folder).with_suffix(""): path for path in folder.rglob("*.md")}
    assert manifest.prompts == {str(name): digest(p.read_bytes()) for name, p in files.items()}
    chosen = {"temperature", "repair_temperature", "draft_temperature"}
    assert set(manifest.decoding) == chosen
    assert all(isinstance(value, str) for value in manifest.settings.values())
    assert manifest.settings["locator_weights"] == weights_digest()[:16]
    plain = manifest_for(
        RunResources(SqliteStore(":memory:"), model, sandbox),
        sketching(locator=LocatorName.PAPER_RULES),
    )
    assert plain.settings["locator_weights"] == ""
