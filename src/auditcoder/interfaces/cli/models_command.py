"""`models`: which there are, their weights, and a word with one of them."""

import sys
from argparse import Namespace
from contextlib import closing
from pathlib import Path

from auditcoder.adapters.models import weights
from auditcoder.domain.errors import WeightsUnavailable
from auditcoder.domain.request import Finish, Message, Reply, Request, Speaker
from auditcoder.domain.values import Digest, Value, whole
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import aside, emit_json, paint, plain, say, without_password
from auditcoder.interfaces.opening import open_model
from auditcoder.interfaces.progress import pulling
from auditcoder.interfaces.settings import read_settings


class Known(Value):
    """One model, or one provider of models."""

    address: str
    """What to give to `--model`."""
    about: str
    default: bool
    ready: bool


class Pulled(Value):
    """Weights on this machine."""

    name: str
    path: Path
    size: int
    digest: Digest


def run(options: Namespace) -> int:
    """Do what the action says."""
    actions = {"list": _list, "pull": _pull, "verify": _verify, "ask": _ask}
    return actions[options.action or "list"](options)


def _list(options: Namespace) -> int:
    settings = read_settings()
    here = weights.find(weights.QWEN, weights.folder())
    size = f"{weights.QWEN.size / 1e9:.1f} GB"
    state = f"weights at {here}" if here else f"{size} to fetch: `auditcoder models pull`"
    known = [("embedded", f"{weights.QWEN.name}, {state}", here is not None)]
    for name, provider in settings.providers.items():
        known.append(
            (f"{name}:…", without_password(provider.base_url) or "the provider's own address", True)
        )
    known += [
        ("openai:…, anthropic:…, google:…", "and others: a key in the environment", True),
        ("manual:FOLDER", "a person or an agent answers in a folder", True),
    ]
    chosen = settings.model
    lines = [
        Known(
            address=address,
            about=about,
            default=chosen.split(":")[0] == address.split(":")[0],
            ready=ready,
        )
        for address, about, ready in known
    ]
    if options.json:
        emit_json({"model": chosen, "models": lines})
        return Exit.OK
    width = max(len(line.address) for line in lines)
    for line in lines:
        mark = paint("*", "green") if line.default else " "
        say(f"{mark} {paint(line.address.ljust(width), 'bold')}  {line.about}")
    return Exit.OK


def _pull(options: Namespace) -> int:
    with pulling(aside) as report:
        path = weights.pull(weights.QWEN, weights.folder(), report)
    return _told(options, path, "is here")


def _verify(options: Namespace) -> int:
    folder = weights.folder()
    path = weights.find(weights.QWEN, folder)
    if path is None:
        raise WeightsUnavailable(
            "weights.missing",
            f"the weights of {weights.QWEN.name} are not in {folder}",
            "`auditcoder models pull` fetches them",
        )
    if not weights.verify(weights.QWEN, path):
        raise WeightsUnavailable(
            "weights.digest",
            f"{path} does not hold the weights of {weights.QWEN.name}",
            "remove it; `auditcoder models pull` fetches it anew",
        )
    return _told(options, path, "is whole")


def _told(options: Namespace, path: Path, what: str) -> int:
    known = weights.QWEN
    if options.json:
        emit_json(Pulled(name=known.name, path=path, size=known.size, digest=known.digest))
    else:
        say(f"{known.name} {what}: {path}")
        say(f"sha256 {known.digest}")
    return Exit.OK


def _ask(options: Namespace) -> int:
    settings = read_settings()
    text = options.text
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin else ""
    request = Request(
        messages=(Message(speaker=Speaker.USER, text=whole(text)),),
        max_tokens=options.max_tokens,
        temperature=0.0,
    )
    with closing(open_model(options.model or settings.model, settings, aside)) as model:
        reply = model.complete(request)
    if options.json:
        emit_json(reply)
        return Exit.OK
    for line in reply.text.splitlines():
        say(line)
    ended = "" if reply.finish is Finish.STOP else f"; ended by: {reply.finish.value}"
    aside(f"{plain(reply.model)}: {_used(reply)} in {reply.seconds:.1f} s{ended}")
    return Exit.OK


def _used(reply: Reply) -> str:
    used = reply.usage
    if used.unmeasured:
        return "an unknown number of tokens"
    return (
        f"{used.prompt_tokens} tokens read ({used.cached_tokens} from the cache),"
        f" {used.completion_tokens} written"
    )
