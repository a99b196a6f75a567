"""Patience: waits as asked, gives up in the end, and never asks too much at once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from auditcoder.adapters.models.patient import Patience, PatientModel
from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.domain.errors import ModelMisconfigured, ModelUnavailable
from auditcoder.domain.request import Request
from tests.conformance.model import HELLO, ModelConformance, answer


def down(retry_after: float | None = None, *, billed: bool = False) -> ModelUnavailable:
    return ModelUnavailable("model.server", "down", retry_after=retry_after, billed=billed)


class TestPatientModel(ModelConformance):
    @pytest.fixture
    def model(self) -> PatientModel:
        return PatientModel(ScriptedModel([down(), *[answer] * 10]), sleep=lambda _: None)


def test_waits_double_and_vary() -> None:
    slept: list[float] = []
    model = PatientModel(
        ScriptedModel([down(), down(), down(), "fine"]),
        Patience(first_wait=1.0),
        sleep=slept.append,
        chance=lambda: 0.5,
    )
    reply = model.complete(HELLO)
    assert slept == [0.75, 1.5, 3.0]
    assert [attempt.waited for attempt in reply.attempts] == slept


def test_the_servers_own_wish_comes_first() -> None:
    slept: list[float] = []
    model = PatientModel(ScriptedModel([down(7.0), "fine"]), sleep=slept.append)
    model.complete(HELLO)
    assert slept == [7.0]


def test_attempts_are_bounded_and_all_are_told() -> None:
    model = PatientModel(
        ScriptedModel([down(billed=True)] * 9), Patience(attempts=3), sleep=lambda _: None
    )
    with pytest.raises(ModelUnavailable) as given_up:
        model.complete(HELLO)
    assert [attempt.billed for attempt in given_up.value.attempts] == [True] * 3


def test_what_will_not_pass_is_not_tried_again() -> None:
    script = ScriptedModel([ModelMisconfigured("model.key", "no key"), "fine"])
    with pytest.raises(ModelMisconfigured):
        PatientModel(script).complete(HELLO)
    assert len(script.asked) == 1


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

    model = PatientModel(ScriptedModel([slowly] * 12), Patience(parallel=3))
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

    model = PatientModel(
        ScriptedModel([noting] * 5), Patience(per_minute=30), sleep=sleep, clock=lambda: now
    )
    for _ in range(5):
        model.complete(HELLO)
    assert all(later - earlier >= 2 for earlier, later in pairwise(starts))
