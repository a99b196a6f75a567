"""A function is timed until a size took long enough."""

from typing import Any

import pytest

from auditcoder.sandboxed import call_timer

measure: Any = call_timer._audit_time


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_timer, "_audit_last", 0.0)


def test_a_quick_function_is_called_three_times_on_fresh_arguments() -> None:
    seen: list[list[int]] = []
    seconds = measure(seen.append, lambda n: ([n],), 4, 60.0)
    assert seen == [[4], [4], [4]]
    assert len({id(items) for items in seen}) == 3
    assert seconds >= 0.0


def test_after_a_size_that_took_too_long_no_larger_one_is_tried() -> None:
    seen: list[int] = []
    call_timer._audit_last = 2.0
    assert measure(seen.append, lambda n: (n,), 2, 1.0) is None
    assert seen == []
