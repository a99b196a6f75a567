"""`models`: list the models, manage the embedded model's weights, send a test prompt."""

import sys
from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path

from auditcoder.adapters.addresses import without_secrets
from auditcoder.adapters.models import weights
from auditcoder.domain.errors import WeightsUnavailable
from auditcoder.domain.request import FinishReason, Message, Reply, Request, Speaker
from auditcoder.domain.values import Digest, Value, printable, whole
from auditcoder.interfaces.cli.command import Command, CommandGroup, add_model, positive_integer
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import (
    emit_json,
    notice,
    paint,
    say,
    say_table,
)
from auditcoder.interfaces.factories import open_model
from auditcoder.interfaces.progress import show_download
from auditcoder.interfaces.settings import read_settings


class KnownModel(Value):
    """One model, or one provider of models."""

    address: str
    """The value for `--model`."""
    about: str
    default: bool
    ready: bool


class LocalWeights(Value):
    """A file of weights on this machine."""

    name: str
    path: Path
    size: int
    digest: Digest


class ModelsArguments(Value):
    """The arguments of the actions that take none of their own."""

    json: bool = False


class AskArguments(Value):
    """The arguments of `models ask`."""

    text: str
    model: str | None = None
    max_tokens: int = 500
    json: bool = False


def _declare_nothing(parser: ArgumentParser) -> None:
    """Add no arguments: the action has the common flags only."""


def _declare_ask(parser: ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="the prompt; - reads standard input")
    add_model(parser)
    parser.add_argument(
        "--max-tokens",
        metavar="N",
        type=positive_integer,
        default=500,
        help="maximum number of tokens of the reply (default: 500)",
    )


def _list(options: ModelsArguments) -> int:
    settings = read_settings()
    installed = weights.find(weights.QWEN, weights.folder())
    size = f"{weights.QWEN.size / 1e9:.1f} GB"
    state = (
        f"weights at {installed}" if installed else f"{size} to download: `auditcoder models pull`"
    )
    known = [("embedded", f"{weights.QWEN.name}, {state}", installed is not None)]
    for name, provider in settings.providers.items():
        known.append(
            (f"{name}:…", without_secrets(provider.base_url) or "the provider's own address", True)
        )
    known += [
        ("openai:…, anthropic:…, google:…", "and others; needs a key in the environment", True),
        ("manual:FOLDER", "a person or an agent writes the replies in a folder", True),
    ]
    chosen = settings.model
    lines = [
        KnownModel(
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
    say_table(
        (paint("*", "green") if line.default else " ", paint(line.address, "bold"), line.about)
        for line in lines
    )
    return Exit.OK


def _pull(options: ModelsArguments) -> int:
    with show_download(notice) as report:
        path = weights.pull(weights.QWEN, weights.folder(), report)
    return _report_weights(options, path, "is installed")


def _verify(options: ModelsArguments) -> int:
    folder = weights.folder()
    path = weights.find(weights.QWEN, folder)
    if path is None:
        raise WeightsUnavailable(
            "weights.missing",
            f"the weights of {weights.QWEN.name} are not in {folder}",
            "run `auditcoder models pull` to download them",
        )
    if not weights.verify(weights.QWEN, path):
        raise WeightsUnavailable(
            "weights.digest",
            f"checksum mismatch: {path} is not the weights of {weights.QWEN.name}",
            "remove it and run `auditcoder models pull`",
        )
    return _report_weights(options, path, "is intact")


def _report_weights(options: ModelsArguments, path: Path, what: str) -> int:
    known = weights.QWEN
    if options.json:
        emit_json(LocalWeights(name=known.name, path=path, size=known.size, digest=known.digest))
    else:
        say(f"{known.name} {what}: {path}")
        say(f"sha256 {known.digest}")
    return Exit.OK


def _ask(options: AskArguments) -> int:
    settings = read_settings()
    text = options.text
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin else ""
    request = Request(
        messages=(Message(speaker=Speaker.USER, text=whole(text)),),
        max_tokens=options.max_tokens,
        temperature=0.0,
    )
    with closing(open_model(options.model or settings.model, settings, notice)) as model:
        reply = model.complete(request)
    if options.json:
        emit_json(reply)
        return Exit.OK
    for line in reply.text.splitlines():
        say(line)
    ended = "" if reply.finish is FinishReason.STOP else f"; ended by: {reply.finish.value}"
    notice(f"{printable(reply.model)}: {_used(reply)} in {reply.seconds:.1f} s{ended}")
    return Exit.OK


def _used(reply: Reply) -> str:
    used = reply.usage
    if used.unmeasured:
        return "an unknown number of tokens"
    return (
        f"{used.prompt_tokens} tokens read ({used.cached_tokens} from the cache),"
        f" {used.completion_tokens} written"
    )


COMMAND = CommandGroup(
    {
        "list": Command(ModelsArguments, _declare_nothing, _list, "list the models (default)"),
        "pull": Command(
            ModelsArguments, _declare_nothing, _pull, "download the embedded model's weights"
        ),
        "verify": Command(
            ModelsArguments,
            _declare_nothing,
            _verify,
            "compare the embedded model's weights with their checksum",
        ),
        "ask": Command(
            AskArguments, _declare_ask, _ask, "send a test prompt to a model; nothing is recorded"
        ),
    },
    default="list",
)
