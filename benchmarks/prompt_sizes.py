"""Measures the size of every role's request, before and after a change of the prompts.

    python benchmarks/prompt_sizes.py [--before COMMIT]

Solves the same small tasks with the same prepared replies in both versions, each in a process of
its own, and counts the tokens of every request with the embedded model's tokenizer. The replies
are wrong where needed, so that every role is asked.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
BEFORE = "6c3905c"
"""The last commit before the token limits and the prompts were revised."""
Requests = dict[str, list[tuple[str, str]]]
"""The prompt's name and the text of every request, by scenario."""


def main() -> None:
    """Measure both versions and write the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", default=BEFORE, help="the commit to compare with")
    parser.add_argument("--requests", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.requests:
        from prompt_scenarios import requests

        json.dump(requests(), sys.stdout)
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        archive = _git("archive", options.before, "src")
        tree.mkdir()
        subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
        before, after = _requests(tree), _requests(ROOT)
    count = Tokenizer()
    sizes = {"before": _sizes(before, count), "after": _sizes(after, count)}
    count.close()
    result: dict[str, Any] = {
        "before": _git("rev-parse", options.before).decode().strip(),
        "python": platform.python_version(),
        "model": count.name,
        "roles": [
            {"prompt": name, **{when: sizes[when]["roles"].get(name) for when in sizes}}
            for name in sorted({name for when in sizes for name in sizes[when]["roles"]})
        ],
        "scenarios": [
            {"scenario": name, **{when: sizes[when]["scenarios"].get(name) for when in sizes}}
            for name in sorted({name for when in sizes for name in sizes[when]["scenarios"]})
        ],
    }
    path = HERE / "results" / "prompt_sizes.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    for row in (*result["roles"], *result["scenarios"]):
        print(row)


def _git(*arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True
    ).stdout


def _requests(tree: Path) -> Requests:
    """Run the scenarios with the packages of a source tree."""
    done = subprocess.run(
        [sys.executable, __file__, "--requests"],
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
        check=True,
        stdout=subprocess.PIPE,
    )
    return dict(json.loads(done.stdout))


def _sizes(requests: Requests, count: "Tokenizer") -> dict[str, dict[str, Any]]:
    roles: dict[str, list[int]] = defaultdict(list)
    scenarios: dict[str, dict[str, int]] = {}
    for scenario, asked in requests.items():
        tokens = [count(text) for _, text in asked]
        for (name, _), each in zip(asked, tokens, strict=True):
            roles[name].append(each)
        scenarios[scenario] = {"requests": len(asked), "tokens": sum(tokens)}
    means = {
        name: {"requests": len(each), "tokens": round(sum(each) / len(each))}
        for name, each in roles.items()
    }
    return {"roles": means, "scenarios": scenarios}


class Tokenizer:
    """The embedded model's tokenizer, through the server of its library."""

    def __init__(self) -> None:
        from auditcoder.adapters.models import weights
        from auditcoder.adapters.models.embedded import EmbeddedModel

        path = weights.find(weights.QWEN, weights.folder())
        assert path is not None, "auditcoder models pull"
        self._model = EmbeddedModel(path)
        self._address = self._model.address.removesuffix("/v1")
        self.name = self._model.name

    def __call__(self, text: str) -> int:
        """Return the number of tokens of a text."""
        request = urllib.request.Request(
            f"{self._address}/tokenize",
            data=json.dumps({"content": text}).encode(),
            headers={
                "Authorization": f"Bearer {self._model.key}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request) as response:
            return len(json.load(response)["tokens"])

    def close(self) -> None:
        """Free the model's memory."""
        self._model.close()


if __name__ == "__main__":
    main()
