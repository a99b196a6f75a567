"""Measures the embedded model: alone, with one busy core, with a cold and a warm prefix cache.

    python benchmarks/model.py [--rounds 2] [--out benchmarks/results/model.json]

For comparison it measures the same weights in the same library with default settings: weights
memory-mapped, threads not pinned. The two alternate, each in its own process. The ratio is the
result.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from auditcoder import __version__
from auditcoder.adapters.models import weights
from auditcoder.adapters.models.embedded import CONTEXT, EmbeddedModel
from auditcoder.domain.request import Message, Request, Speaker

TOKENS = 64
TASK = "Write a Python function that merges two sorted lists, with a docstring and type hints."
SHARED = "".join(
    f"def helper_{n}(values: list[int]) -> int:\n    return sum(values) * {n}\n\n"
    for n in range(60)
)

Ask = Callable[[str, int], tuple[float, int]]
"""Takes a prompt and the maximum reply length; returns seconds and completion tokens."""


def ours(path: Path) -> Ask:
    """Return a function that asks the embedded model as AuditCoder configures it."""
    model = EmbeddedModel(path)

    def ask(text: str, longest: int) -> tuple[float, int]:
        message = Message(speaker=Speaker.USER, text=text)
        reply = model.complete(Request(messages=(message,), max_tokens=longest, temperature=0.0))
        return reply.seconds, reply.usage.completion_tokens

    return ask


def as_it_comes(path: Path) -> Ask:
    """Return a function that asks the library with only weights and context size configured."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = CONTEXT
    params.verbosity = -1
    server = xllamacpp.Server(params)

    def ask(text: str, longest: int) -> tuple[float, int]:
        started = time.monotonic()
        reply = server.handle_chat_completions(
            {
                "messages": [{"role": "user", "content": text}],
                "max_tokens": longest,
                "temperature": 0.0,
            }
        )
        return time.monotonic() - started, int(reply["usage"]["completion_tokens"])

    return ask


WAYS: dict[str, Callable[[Path], Ask]] = {"auditcoder": ours, "as it comes": as_it_comes}


@contextmanager
def busy_core() -> Iterator[None]:
    """Keep one core busy."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        time.sleep(0.5)
        try:
            yield
        finally:
            other.kill()


def measure(way: str) -> dict[str, float]:
    """Measure one configuration in this process."""
    path = weights.pull(weights.QWEN, weights.folder(), lambda _: None)
    started = time.monotonic()
    ask = WAYS[way](path)
    found = {"load_s": time.monotonic() - started}
    ask(TASK, 4)
    found["alone_tokens_s"] = _decoding(ask)
    with busy_core():
        found["beside_busy_core_tokens_s"] = _decoding(ask)
    found["cold_prefix_first_token_s"] = ask(f"{SHARED}What does helper_3 do?", 1)[0]
    found["warm_prefix_first_token_s"] = ask(f"{SHARED}What does helper_7 do?", 1)[0]
    return found


def _decoding(ask: Ask) -> float:
    """Return tokens per second without the time to the first token."""
    first, _ = ask(TASK, 1)
    seconds, tokens = ask(TASK, TOKENS)
    return (tokens - 1) / (seconds - first)


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options.way)), flush=True)
        os._exit(0)  # with default settings the library may crash at exit
    rounds: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(options.rounds):
        for way, results in rounds.items():
            done = subprocess.run(
                [sys.executable, __file__, "--way", way], stdout=subprocess.PIPE, check=True
            )
            results.append(json.loads(done.stdout))
    medians = {
        way: {key: statistics.median(result[key] for result in results) for key in results[0]}
        for way, results in rounds.items()
    }
    mine, theirs = medians["auditcoder"], medians["as it comes"]
    print(f"{'':<30}{'auditcoder':>12}{'as it comes':>13}{'ratio':>8}")
    for key, value in mine.items():
        print(f"{key:<30}{value:>12.2f}{theirs[key]:>13.2f}{value / theirs[key]:>8.2f}")
    result: dict[str, Any] = {
        "auditcoder": __version__,
        "xllamacpp": metadata.version("xllamacpp"),
        "model": weights.QWEN.name,
        "weights": weights.QWEN.digest,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "rounds": options.rounds,
        "median": medians,
        "all": rounds,
    }
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
