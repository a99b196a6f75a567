"""What the errors of the providers' library mean for the caller."""

import re
from typing import Any

from auditcoder.domain.values import Value

MAX_BYTES = 16 << 20
"""Maximum size of a response after it is decompressed."""


class ResponseTooLarge(Exception):
    """A response exceeds the limit of its size."""


class Meaning(Value):
    """What an exception of the library means for the caller."""

    code: str
    advice: str
    retryable: bool = False
    billed: bool = False


_LATER = "try again later; the run can be resumed"
MALFORMED = Meaning(
    code="model.malformed",
    advice="check that the base URL is that of a server with the expected API",
    retryable=True,
    billed=True,
)
_TOO_LARGE = Meaning(
    code="model.too-large",
    advice=f"it has more than {MAX_BYTES >> 20} MB after decompression; check the base URL",
    retryable=True,
    billed=True,
)
_TOO_LONG = Meaning(
    code="model.too-long",
    advice="the request does not fit the model; use one with a longer context",
)
REPLY_LIMIT = Meaning(
    code="model.reply-limit",
    advice="set max_tokens in the provider's section of the configuration, or --max-reply-tokens,"
    " to what the model allows",
)
_MOVED = Meaning(
    code="model.rejected", advice="the server redirects to another address; correct the base URL"
)
_TOO_MANY = re.compile("max_(completion_|output_|new_)?tokens|maxOutputTokens|in the completion")
_OVERFLOW = re.compile("exceed_context_size|context_length_exceeded|maximum context length")


def meaning_of(error: Exception, meanings: list[tuple[type[Exception], Meaning]]) -> Meaning:
    """Return what an exception means; an unknown one means a malformed reply."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ResponseTooLarge):
            return _TOO_LARGE
        cause = cause.__cause__
    status = getattr(error.__cause__, "status_code", None)
    body = str(getattr(error, "body", ""))
    if status in {400, 422} and _TOO_MANY.search(body):
        return REPLY_LIMIT
    if _OVERFLOW.search(body):
        return _TOO_LONG
    if isinstance(status, int) and 300 <= status < 400:
        return _MOVED
    for kind, meaning in meanings:
        if isinstance(error, kind):
            return meaning
    return MALFORMED


def errors_by_kind(known: Any) -> list[tuple[type[Exception], Meaning]]:
    """Return what each exception means, subclasses before their base classes."""

    def permanent(kind: type[Exception], code: str, advice: str) -> tuple[type[Exception], Meaning]:
        return kind, Meaning(code=code, advice=advice)

    def temporary(
        kind: type[Exception], code: str, advice: str = _LATER, *, billed: bool = False
    ) -> tuple[type[Exception], Meaning]:
        return kind, Meaning(code=code, advice=advice, retryable=True, billed=billed)

    slow = "the server is slow or silent; allow more seconds in the configuration, or use another"
    return [
        temporary(known.ModelRateLimitError, "model.rate-limited"),
        permanent(
            known.ModelQuotaExceededError,
            "model.quota",
            "add credit to the account, or use another",
        ),
        temporary(known.ModelUnavailableError, "model.overloaded"),
        temporary(known.ModelServerError, "model.server"),
        temporary(known.ModelRequestTimeout, "model.timeout", slow, billed=True),
        temporary(known.ModelTimeoutError, "model.timeout", slow, billed=True),
        temporary(
            known.ModelConnectionError,
            "model.connection",
            "check the base URL and that the server runs",
            billed=True,
        ),
        permanent(
            known.ModelAuthenticationError,
            "model.key",
            "set the provider's key in the environment or the configuration",
        ),
        permanent(known.ModelNotFoundError, "model.unknown", "check the model's name"),
        (known.ModelContextWindowExceededError, _TOO_LONG),
        permanent(
            known.ModelRequestRejectedError, "model.rejected", "the server rejected the request"
        ),
        permanent(known.UserError, "model.unknown", "name it as `--model provider:name`"),
        permanent(known.ModelHTTPError, "model.rejected", "the server rejected the request"),
    ]
