"""The rate limiter bounds concurrent requests and requests per minute."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from auditcoder.adapters.models.rate_limited import RateLimitedModel
from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.domain.request import Request
from tests.conformance.model import HELLO, ModelConformance, answer


class TestRateLimitedModel(ModelConformance):
    @pytest.fixture
    def model(self) -> RateLimitedModel:
        return RateLimitedModel(ScriptedModel([answer] * 10), parallel=2)


def test_concurrent_requests_reach_the_limit_and_never_exceed_it() -> None:
    lock, now, most = threading.Lock(), 0, 0
    all_running = threading.Barrier(3)

    def answer_together(request: Request) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        all_running.wait(60)
        with lock:
            now -= 1
        return answer(request)

    model = RateLimitedModel(ScriptedModel([answer_together] * 12), parallel=3)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(model.complete, [HELLO] * 12))
    assert most == 3


def test_requests_start_no_more_often_than_the_rate_allows() -> None:
    now, starts = 0.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    def note_start(request: Request) -> str:
        starts.append(now)
        return answer(request)

    model = RateLimitedModel(
        ScriptedModel([note_start] * 5), 1, per_minute=30, sleep=sleep, clock=lambda: now
    )
    for _ in range(5):
        model.complete(HELLO)
    assert all(later - earlier >= 2 for earlier, later in pairwise(starts))
