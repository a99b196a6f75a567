"""No model is asked more at once, or more often, than it bears."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from auditcoder.adapters.models.paced import PacedModel
from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.domain.request import Request
from tests.conformance.model import HELLO, ModelConformance, answer


class TestPacedModel(ModelConformance):
    @pytest.fixture
    def model(self) -> PacedModel:
        return PacedModel(ScriptedModel([answer] * 10), parallel=2)


def test_no_more_than_so_many_at_once() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def slowly(request: Request) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return answer(request)

    model = PacedModel(ScriptedModel([slowly] * 12), parallel=3)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(model.complete, [HELLO] * 12))
    assert most == 3


def test_no_more_than_so_many_a_minute() -> None:
    now, starts = 0.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    def noting(request: Request) -> str:
        starts.append(now)
        return answer(request)

    model = PacedModel(
        ScriptedModel([noting] * 5), 1, per_minute=30, sleep=sleep, clock=lambda: now
    )
    for _ in range(5):
        model.complete(HELLO)
    assert all(later - earlier >= 2 for earlier, later in pairwise(starts))
