"""Whatever a provider allows, a run ends whole or says which limit to raise."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from auditcoder.adapters.models.provider import Endpoint, ProviderModel
from auditcoder.adapters.models.secret import Secret
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import ReplyRecorded, RunOutcome
from auditcoder.domain.request import FREE
from auditcoder.domain.usage import total
from auditcoder.lifecycle.options import AutoSwitch, Build, Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.retry_policy import RetryPolicy
from auditcoder.lifecycle.runs import RunResources, start
from tests.support.adder_task import ADD, GOOD_ADD, GOOD_READ, READ, ROOT, TASK
from tests.support.fault_server import Behaviour, serving
from tests.support.metered_server import Meter, tokens_of
from tests.support.record_builders import RUN
from tests.support.records import take
from tests.support.scripted_runs import FinishedRun, assert_replays, python, sandboxed
from tests.support.sketched_runs import sketching

PADDING = "\n".join(f"# The list is not changed by step {n}." for n in range(60))
"""Comments of a model that writes much."""
ALONE = "def total(text: str) -> int:\n    return sum(map(int, text.split()))\n"
CODE = {
    "read": f"{PADDING}\n{GOOD_READ}",
    "add": f"{PADDING}\n{GOOD_ADD}",
    "total": f"{PADDING}\n{ALONE}",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def long_answer(prompt: str) -> str:
    if "# Your step: the sketch" in prompt:
        return python(READ + ADD + ROOT)
    asked = prompt.rpartition("# Your step")[2]
    return python("\n".join(code for name, code in CODE.items() if f"`{name}" in asked))


def solve(sandbox: Sandbox, meter: Meter, options: Options, most: int | None = None) -> FinishedRun:
    """Solve a task with the metered server; the record verifies and replays."""
    meters: list[Behaviour] = [meter] * 100
    with serving(*meters) as server, closing(SqliteStore(":memory:")) as store:
        endpoint = Endpoint(
            provider="near", name="x", base_url=server.address, price=FREE, max_tokens=most
        )
        model = ProviderModel(endpoint, Secret("sk-1234567890"))
        try:
            tools = RunResources(store, model, sandbox, RetryPolicy(attempts=1))
            solution = start(tools, TASK, options, RUN)
        finally:
            model.close()
        assert_replays(store, sandbox)
        return FinishedRun(solution, take(store, RUN), ())


def replies(finished: FinishedRun) -> list[ReplyRecorded]:
    return finished.all(ReplyRecorded)


@pytest.mark.parametrize("build", Build)
@pytest.mark.parametrize("reasoning", [0, 3000])
@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({}, id="defaults"),
        pytest.param({"code_tokens": 50, "plan_tokens": 50, "reasoning_tokens": 0}, id="grown"),
        pytest.param({"max_reply_tokens": 5000}, id="bounded"),
        pytest.param({"budget_tokens": 60_000}, id="budget"),
    ],
)
def test_a_run_with_enough_room_ends_whole(
    sandbox: Sandbox, build: Build, reasoning: int, limits: dict[str, int]
) -> None:
    options = sketching(build=build, **limits)
    finished = solve(sandbox, Meter(long_answer, reasoning), options)
    assert finished.outcome is RunOutcome.PASSED, finished.reason
    sent = [finished.text_of(reply.reply) for reply in replies(finished)]
    used = total(reply.usage for reply in replies(finished))
    assert used.unmeasured == 0
    shown = sum(len(tokens_of(text)) for text in sent)
    assert used.completion_tokens >= shown
    if reasoning and "plan_tokens" not in limits:
        assert used.completion_tokens == shown + reasoning * len(sent), "reasoning is counted"


@pytest.mark.parametrize("build", Build)
@pytest.mark.parametrize(
    ("reasoning", "limits", "named"),
    [
        pytest.param(0, {"max_reply_tokens": 60}, "raise --max-reply-tokens", id="reply"),
        pytest.param(5000, {"max_reply_tokens": 2000}, "raise --max-reply-tokens", id="reasoning"),
        pytest.param(4000, {"budget_tokens": 9000}, "raise the budget", id="budget"),
    ],
)
def test_a_run_without_enough_room_names_the_limit(
    sandbox: Sandbox, build: Build, reasoning: int, limits: dict[str, int], named: str
) -> None:
    quiet = {"edge_cases": AutoSwitch.OFF, **limits}
    options = sketching(build=build, max_repairs=0, **quiet)
    finished = solve(sandbox, Meter(long_answer, reasoning), options)
    assert finished.outcome is not RunOutcome.PASSED
    assert named in finished.reason


def test_a_model_that_ends_its_replies_by_itself_is_named(sandbox: Sandbox) -> None:
    finished = solve(sandbox, Meter(long_answer, ends_at=400), sketching(max_repairs=0))
    assert "the model had ended it after 400: use a model with longer replies" in finished.reason


def test_a_cut_reply_is_requested_again_with_more_room_and_no_objection(sandbox: Sandbox) -> None:
    finished = solve(sandbox, Meter(long_answer), sketching(code_tokens=200, reasoning_tokens=0))
    rejected = [reply.rejected for reply in replies(finished)]
    assert [text.split(";")[0] for text in rejected if text] == [
        f"the reply was cut at {tokens} tokens" for tokens in (200, 400, 800)
    ]
    requests = [finished.text_of(reply.request) for reply in replies(finished)]
    assert not any("cannot be used" in request for request in requests)
    assert len(set(requests)) == len(requests)


def test_a_reply_of_reasoning_alone_is_named(sandbox: Sandbox) -> None:
    options = sketching(max_repairs=0, max_reply_tokens=2000)
    finished = solve(sandbox, Meter(long_answer, reasoning=5000), options)
    assert "cut at 2000 tokens, all of them reasoning: raise" in finished.reason


def test_a_shorter_reply_is_requested_from_a_server_that_rejects_the_length(
    sandbox: Sandbox,
) -> None:
    finished = solve(sandbox, Meter(long_answer, rejected_above=4096), sketching())
    assert finished.outcome is RunOutcome.PASSED
    first, *later = replies(finished)
    assert [attempt.problem for attempt in first.attempts] == ["model.reply-limit"] * 2
    assert not any(attempt.billed for attempt in first.attempts)
    assert not any(reply.attempts for reply in later), "what the server allows is remembered"


def test_the_limit_of_a_provider_in_the_configuration_is_kept(sandbox: Sandbox) -> None:
    finished = solve(sandbox, Meter(long_answer, rejected_above=4096), sketching(), most=4096)
    assert finished.outcome is RunOutcome.PASSED
    assert not any(reply.attempts for reply in replies(finished))
