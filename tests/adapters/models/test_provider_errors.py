"""What the errors of the providers' library mean for the caller."""

import pytest
from pydantic_ai import exceptions

from auditcoder.adapters.models.provider_errors import (
    MALFORMED,
    REPLY_LIMIT,
    ResponseTooLarge,
    errors_by_kind,
    meaning_of,
)

KNOWN = errors_by_kind(exceptions)


class Answered(Exception):
    """The client's error for a response with a status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status_code = status


def rejected(status: int, body: str) -> Exception:
    error = exceptions.ModelHTTPError(status, "x", body)
    error.__cause__ = Answered(status)
    return error


@pytest.mark.parametrize(
    "body",
    [
        "max_tokens is too large: 16000. This model supports at most 4096 completion tokens",
        "Invalid 'max_output_tokens'",
        "`max_new_tokens` must be <= 2048",
        "maximum context length is 8192; you requested 16321 (321 + 16000 in the completion)",
    ],
)
def test_a_reply_that_is_longer_than_a_server_allows_is_its_own_problem(body: str) -> None:
    assert meaning_of(rejected(400, body), KNOWN) == REPLY_LIMIT
    assert "--max-reply-tokens" in REPLY_LIMIT.advice
    assert meaning_of(rejected(500, body), KNOWN) != REPLY_LIMIT


def test_a_prompt_that_is_too_long_is_another_problem() -> None:
    error = rejected(400, "context_length_exceeded")
    assert meaning_of(error, KNOWN).code == "model.too-long"


def test_a_redirect_names_the_base_url() -> None:
    assert "base URL" in meaning_of(rejected(307, ""), KNOWN).advice


def test_an_error_of_an_unknown_kind_means_a_malformed_reply() -> None:
    assert meaning_of(ValueError("?"), KNOWN) is MALFORMED


def test_the_cause_of_an_error_is_found() -> None:
    error = ValueError("?")
    error.__cause__ = ResponseTooLarge()
    assert meaning_of(error, KNOWN).code == "model.too-large"
