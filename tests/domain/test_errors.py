"""The error classes: their hierarchy, as it is drawn, and what each error carries."""

import re

from auditcoder.domain import errors
from auditcoder.domain.errors import AuditCoderError, EndOfRecord, ModelUnavailable

_DRAWN = re.compile(
    r"^ {4}(?P<indent>(?:│   |    )*)(?:[├└]── )?(?P<name>[A-Z]\w+)\b", re.MULTILINE
)


def drawn_parents() -> dict[str, str]:
    """Return the parent of each error as the docstring draws it."""
    parents: dict[str, str] = {}
    branch: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if not (found := _DRAWN.match(line)):
            continue
        depth = 0 if "── " not in line else len(found["indent"]) // 4 + 1
        del branch[depth:]
        parents[found["name"]] = branch[-1] if branch else "Exception"
        branch.append(found["name"])
    return parents


def test_the_drawn_tree_is_the_class_hierarchy() -> None:
    defined = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert drawn_parents() == {error.__name__: error.__bases__[0].__name__ for error in defined}


def test_every_error_has_one_parent_and_a_docstring() -> None:
    waiting = [AuditCoderError]
    while waiting:
        error = waiting.pop()
        assert len(error.__bases__) == 1
        assert error.__doc__
        waiting.extend(c for c in error.__subclasses__() if c.__module__ == errors.__name__)


def test_an_error_carries_code_message_and_advice() -> None:
    error = AuditCoderError("store.full", "no space left", "free some space")
    assert (error.code, str(error), error.advice) == (
        "store.full",
        "no space left",
        "free some space",
    )


def test_the_end_of_a_record_is_a_divergence() -> None:
    error = EndOfRecord()
    assert error.code == "replay.diverged"
    assert str(error)
    assert error.advice


def test_an_unavailable_model_is_unbilled_unless_stated() -> None:
    plain = ModelUnavailable("model.timeout", "no reply")
    assert (plain.retry_after, plain.billed, plain.attempts) == (None, False, ())
    billed = ModelUnavailable("model.timeout", "no reply", retry_after=2.5, billed=True)
    assert (billed.retry_after, billed.billed) == (2.5, True)
