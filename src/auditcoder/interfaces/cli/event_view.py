"""Prints one event of a record whole: its fields, and the content that it refers to."""

import msgspec

from auditcoder.domain.request import Request
from auditcoder.exports.event_content import EventContent, StoredContent
from auditcoder.interfaces.cli.terminal import clock, encode_json, paint, say


def show_event(event: EventContent) -> None:
    """Print an event; nothing is cut."""
    say(f"{paint(f'Event {event.event}', 'bold')}  {event.kind}, {clock(event.at)}")
    for line in encode_json(event.fields).splitlines():
        say(line)
    for content in event.content:
        _show_content(content)


def _show_content(content: StoredContent) -> None:
    say()
    say(f"{paint(content.name, 'bold')}  {content.size:,} bytes, sha256 {content.digest}")
    if content.text is None:
        say("  not text; `--json` has the bytes, encoded as base64")
        return
    text = content.text
    if content.name == "request":
        text = _messages(text) or text
    elif content.name in _ARRAYS:
        text = _items(text) or text
    for line in text.removesuffix("\n").split("\n"):
        say(f"  {line}".rstrip())


_ARRAYS = frozenset({"inputs", "outputs"})
"""Fields of events about drafts that refer to a JSON array."""


def _items(content: str) -> str:
    """Return a JSON array as text: its items, each on a numbered line."""
    try:
        items = msgspec.json.decode(content, type=list[str | None])
    except msgspec.DecodeError:
        return ""
    lines = (msgspec.json.encode(item).decode() for item in items)
    return "\n".join(f"{number:>4}  {line}" for number, line in enumerate(lines, 1)) or "none"


def _messages(content: str) -> str:
    """Return a model request as text: its messages, then its other fields."""
    try:
        request = msgspec.json.decode(content, type=Request)
    except msgspec.DecodeError:
        return ""
    fields = msgspec.to_builtins(request)
    fields.pop("messages")
    messages = "\n\n".join(f"[{m.speaker.value}]\n{m.text}" for m in request.messages)
    return f"{messages}\n\n[settings]\n{msgspec.json.encode(fields).decode()}"
