"""Measures the throughput of the embedded model with one request at a time and with several.

    python benchmarks/at_once.py [--at-once 4] [--rounds 2] [--out FILE]

The same requests go alternately to a model with one slot and to a model with several slots, each
in its own process. The rate is completion tokens over the whole time, including prompt processing.
The ratio is the result; absolute speeds depend on the machine.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

from auditcoder import __version__
from auditcoder.adapters.models import weights
from auditcoder.adapters.models.embedded import EmbeddedModel
from auditcoder.domain.request import Message, Request, Speaker

RESULTS = Path(__file__).parent / "results" / "at_once.json"
TOKENS = 120
THINGS = (
    "a queue",
    "a matrix",
    "a calendar",
    "a bank account",
    "a tree",
    "a text",
    "a map",
    "dice",
)


def measure(at_once: int) -> float:
    """Return completion tokens per second over all requests."""
    path = weights.pull(weights.QWEN, weights.folder(), lambda _: None)
    model = EmbeddedModel(path, at_once=at_once)

    def ask(thing: str) -> int:
        message = Message(
            speaker=Speaker.USER,
            text=f"Write a Python class for {thing}, with many methods, docstrings and tests.",
        )
        request = Request(messages=(message,), max_tokens=TOKENS, temperature=0.0)
        return model.complete(request).usage.completion_tokens

    ask("warmth")
    started = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        tokens = sum(pool.map(ask, THINGS))
    return tokens / (time.monotonic() - started)


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)), flush=True)
        return
    rates: dict[int, list[float]] = {1: [], options.at_once: []}
    for _ in range(options.rounds):
        for slots, measured in rates.items():
            done = subprocess.run(
                [sys.executable, __file__, "--one", str(slots)], stdout=subprocess.PIPE, check=True
            )
            measured.append(json.loads(done.stdout))
    alone, together = (statistics.median(measured) for measured in rates.values())
    print(f"one at a time {alone:.1f} tokens/s, {options.at_once} at once {together:.1f}")
    print(f"ratio {together / alone:.2f}")
    result = {
        "auditcoder": __version__,
        "xllamacpp": metadata.version("xllamacpp"),
        "model": weights.QWEN.name,
        "weights": weights.QWEN.digest,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "tokens_s": rates,
        "ratio": together / alone,
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
