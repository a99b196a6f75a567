"""A key is found in a reply in every common encoding, and no error or representation shows it."""

import base64
import pickle

import pytest

from auditcoder.adapters.models.secret import Secret

KEY = "sk-9f8e7d6c5b4a3210"


@pytest.mark.parametrize("quoted", [KEY, KEY[:12], KEY[-9:], f"<{KEY}{KEY}>", KEY[3:14]])
def test_no_long_part_of_a_key_is_shown(quoted: str) -> None:
    shown = Secret(KEY).scrub(f"Incorrect key {quoted} was provided")
    assert shown.startswith("Incorrect key")
    assert shown.endswith("was provided")
    assert not any(KEY[at : at + 8] in shown for at in range(len(KEY) - 7))


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        base64.b64encode(f"a{KEY}".encode()).decode(),
        base64.b64encode(f"ab{KEY}cd".encode()).decode(),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        KEY[1:-1],
        KEY.replace("-", "%2D"),
    ],
)
def test_a_key_is_found_in_common_encodings(text: str) -> None:
    assert Secret(KEY).is_in(f"before {text} after")


@pytest.mark.parametrize(
    "word",
    [
        "root",
        "not-needed",
        "your-api-key-here",
        "sk-no-key-required",
        "1234567890123456",
        "xxxxxxxxxxxxxxxxx1",
        "-" * 16,
        "",
    ],
)
def test_a_placeholder_is_no_key_that_a_reply_could_repeat(word: str) -> None:
    assert not Secret(word).is_in(f"{word} = 2 * x")


def test_a_key_cannot_be_pickled() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret(KEY))


def test_a_key_is_not_shown_by_its_representation() -> None:
    assert KEY not in repr(Secret(KEY))
