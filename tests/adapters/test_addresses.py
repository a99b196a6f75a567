"""No part of an address that can be a secret is shown."""

import pytest

from auditcoder.adapters.addresses import secrets_in, without_secrets


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://***@host/db"),
        ("http://bob:p@ssword@host/v1", "http://***@host/v1"),
        ("http://me:pa/ss@host/v1", "http://***@host/v1"),
        ("http://token@host/v1", "http://***@host/v1"),
        ("runs.db", "runs.db"),
        ("postgresql://host/db?x=a@b", "postgresql://host/db?x=a@b"),
        ("https://host/v1?api_key=abc&x=1", "https://host/v1?api_key=***&x=1"),
        ("https://host/v1?sig=abc&code=def", "https://host/v1?sig=***&code=***"),
        ("postgresql://host/db?password=abc", "postgresql://host/db?password=***"),
    ],
)
def test_secrets_are_not_shown(address: str, shown: str) -> None:
    assert without_secrets(address) == shown


@pytest.mark.parametrize(
    ("address", "secrets"),
    [
        ("http://bob:password@host/v1", ("bob", "password", "bob:password")),
        ("http://token@host/v1", ("token",)),
        ("http://host/v1?api_key=abc&version=1&code=def", ("abc", "def")),
        ("http://host/v1", ()),
    ],
)
def test_secrets_are_found(address: str, secrets: tuple[str, ...]) -> None:
    assert secrets_in(address) == secrets
