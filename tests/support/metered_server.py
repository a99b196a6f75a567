"""A server with OpenAI's protocol that enforces `max_tokens` and counts reasoning against it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.fault_server import Handler, completion

_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])|\s+\Z")


def tokens_of(text: str) -> list[str]:
    """Split a text into tokens, which together are the text."""
    return _TOKEN.findall(text)


def _asked(messages: list[dict[str, str]]) -> str:
    return next(message["content"] for message in messages if message["role"] == "user")


@dataclass(frozen=True)
class Meter:
    """Answers requests within their `max_tokens`, reasoning first, and reports what it used."""

    answer: Callable[[str], str]
    """The whole reply to the first message of a user."""
    reasoning: int = 0
    """Tokens of reasoning before each reply."""
    rejected_above: int | None = None
    """The server rejects requests for more tokens than this."""
    ends_at: int | None = None
    """The model ends each reply here, whatever is requested."""

    def __call__(self, handler: Handler) -> None:
        """Answer one request."""
        body = handler.body
        allowed = body.get("max_tokens") or body["max_completion_tokens"]
        if self.rejected_above is not None and allowed > self.rejected_above:
            message = f"max_tokens is too large: {allowed}; at most {self.rejected_above}"
            handler.say({"error": {"message": message, "type": "invalid_request_error"}}, 400)
            return
        most = min(allowed, self.ends_at or allowed)
        reasoned = min(self.reasoning, most)
        whole = tokens_of(self.answer(_asked(body["messages"])))
        shown = whole[: most - reasoned]
        reply = completion("".join(shown), "length" if len(shown) < len(whole) else "stop")
        used = len(shown) + reasoned
        prompt = sum(len(tokens_of(message["content"])) for message in body["messages"])
        reply["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": used,
            "total_tokens": prompt + used,
            "completion_tokens_details": {"reasoning_tokens": reasoned},
        }
        handler.say(reply)
