"""Compares rules for the number and the choice of drafts on recorded drafts, without new tokens.

    auditcoder bench run humaneval+ --methods consensus --drafts 10 --jobs 4 --store pool.db
    auditcoder bench run humaneval+ --recall pool.db --store default.db
    python benchmarks/drafts.py pool.db --runs default.db --data FOLDER [--out FILE]

The method `consensus` requests every draft and records how each did on the given examples and on
the inputs for comparison. This script judges every draft by the hidden tests, and computes what
each rule would have chosen and paid. `--runs` adds whole runs, repairs included.
"""

import argparse
import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EntryReader
from auditcoder.domain.drafts import DraftSlot, Sufficiency, TriedVariant, best, is_enough
from auditcoder.domain.events import DraftsCommitted, ReplyRecorded, RunStarted, VariantTried
from auditcoder.domain.laws import advance
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.repair import Decision
from auditcoder.domain.request import Request
from auditcoder.domain.trace import fold
from auditcoder.domain.usage import total
from auditcoder.domain.values import RunId
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import finished, started
from auditcoder.metrics.statistics import wilson
from auditcoder_bench.experiments import problems_of, sandbox_for
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import Problem
from auditcoder_bench.suites import suite

RESULT = Path(__file__).parent / "results" / "drafts.json"
FIRST = Sufficiency()
NEVER = Sufficiency(examples=1_000_000, others=1_000_000, agreeing=1_000)


class Recorded(NamedTuple):
    """The drafts of one run: what was tried, whether each is right, and what each cost."""

    suite: str
    problem: str
    given: int
    others: int
    slots: tuple[DraftSlot, ...]
    tried: dict[int, TriedVariant]
    right: dict[int, bool]
    tokens: dict[int, int]


class Rule(NamedTuple):
    """A rule for the choice among drafts."""

    slots: tuple[int, ...]
    enough: Sufficiency = FIRST
    votes: bool = True


def main() -> None:
    """Judge the drafts of a store and write what every rule gives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--data", type=Path, help="a local copy of the data")
    parser.add_argument("--runs", type=Path, help="a store of judged runs of auditcoder")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    with closing(SqliteStore(arguments.store)) as store, ExitStack() as held:
        runs = list(_recorded(store, held, arguments.data))
        manifest = started(store, next(iter(store.runs()))).manifest
    result: dict[str, Any] = {
        "suites": {name: _table(runs, name) for name in _suites(runs)},
        "runs": _whole_runs(arguments.runs) if arguments.runs else [],
        "python": manifest.versions.get("python", ""),
        "model": manifest.model,
        "weights": manifest.weights,
        "sandbox": manifest.sandbox,
        "decoding": manifest.decoding,
    }
    arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, rows in result["suites"].items():
        print(name)
        for row in rows:
            print("  ", row)


def _whole_runs(path: Path) -> list[dict[str, Any]]:
    """Return the result of each judged run: outcome, tokens, repairs, whether it is resolved."""
    rows = []
    with closing(SqliteStore(path)) as store:
        for run in store.runs():
            trace = fold(store.read(run), store.blob)
            (judgement,) = store.judgements(run)
            assert trace.finish is not None
            assert trace.working.assembly is not None
            used = total(billed.reply.usage for billed in trace.replies)
            rows.append(
                {
                    "run": run,
                    "outcome": trace.finish.outcome.value,
                    "resolved": resolved(judgement.of(trace.working.assembly.program)),
                    "tokens": used.prompt_tokens + used.completion_tokens,
                    "repairs": len(trace.history),
                    "accepted": sum(t.decision is Decision.ACCEPTED for t in trace.history),
                }
            )
    return rows


def _suites(runs: list[Recorded]) -> list[str]:
    return sorted({run.suite for run in runs})


def _recorded(store: SqliteStore, held: ExitStack, data: Path | None) -> Iterator[Recorded]:
    problems: dict[str, dict[str, Problem]] = {}
    sandboxes: dict[str, Sandbox] = {}
    for run in store.runs():
        if not finished(store, run):
            continue
        name, problem = run.split(".")[0].replace("-plus", "+"), run.split(".")[1]
        if name not in problems:
            chosen = suite(name)
            problems[name] = {p.id: p for p in problems_of(chosen, data)}
            opened = sandbox_for(chosen, read_settings(), lambda _line: None)
            sandboxes[name] = held.enter_context(closing(opened))
        yield _of_run(store, run, name, problems[name][problem], sandboxes[name])


def _of_run(
    store: SqliteStore, run: RunId, name: str, problem: Problem, sandbox: Sandbox
) -> Recorded:
    ledger, reader = Ledger(), EntryReader()
    given = 0
    tokens: dict[tuple[Any, ...], int] = {}
    right: dict[int, bool] = {}
    tried: dict[int, TriedVariant] = {}
    slots: tuple[DraftSlot, ...] = ()
    for body in store.read(run):
        event = reader.read(body).event
        ledger = advance(ledger, event, store.blob)
        match event:
            case DraftsCommitted():
                slots = event.slots
            case ReplyRecorded(usage=usage):
                request = msgspec.json.decode(store.blob(event.request), type=Request)
                key = request.prompt, request.temperature, request.seed
                used = usage.prompt_tokens + usage.completion_tokens
                tokens[key] = tokens.get(key, 0) + used
            case VariantTried():
                assert ledger.drafting is not None
                last = ledger.drafting.tried[-1]
                assert last.slot is not None
                tried[last.slot] = last
                program = store.blob(event.program).decode()
                right[last.slot] = resolved(judge(sandbox, problem, program))
            case RunStarted():
                given = len(event.task.examples)
            case _:
                pass
    others = len(ledger.examples) - given
    cost = {
        number: tokens.get((slot.prompt, slot.temperature, slot.seed), 0)
        for number, slot in enumerate(slots, start=1)
    }
    print(run, {n: (right.get(n), tried[n].rank.external_passes) for n in tried}, given, flush=True)
    return Recorded(name, problem.id, given, others, slots, tried, right, cost)


def _apply(run: Recorded, rule: Rule) -> tuple[bool, int, int]:
    """Return whether the chosen draft is right, the tokens and the number of drafts."""
    seen: list[TriedVariant] = []
    spent = drafts = 0
    for slot in rule.slots:
        spent, drafts = spent + run.tokens.get(slot, 0), drafts + 1
        if (variant := run.tried.get(slot)) is not None:
            seen.append(variant if rule.votes else replace(variant, outputs=()))
        if is_enough(seen, run.given, run.others, rule.enough):
            break
    chosen = seen[best(seen)].slot if seen else None
    return chosen is not None and run.right[chosen], spent, drafts


def _table(runs: list[Recorded], name: str) -> list[dict[str, Any]]:
    chosen = [run for run in runs if run.suite == name]
    return [_row(title, chosen, rule) for title, rule in _rules(chosen)]


def _rules(runs: list[Recorded]) -> Iterator[tuple[str, Rule]]:
    slots = runs[0].slots
    plain = [n for n, s in enumerate(slots, start=1) if s.prompt == slots[0].prompt]
    other = [n for n in range(1, len(slots) + 1) if n not in plain]
    yield "direct", Rule((1,))
    for count in range(2, len(plain) + 1):
        yield f"first that passes, {count} plain", Rule(tuple(plain[:count]))
    for first in (1, 2, 3, 4):
        for count in range(1, len(other) + 1):
            both = (*plain[:first], *other[:count])
            yield f"first that passes, {first} plain, {count} reasoned", Rule(both)
    for first in (1, 2, 3):
        mixed = list(chain.from_iterable(zip(other, plain[first:], strict=False)))
        for count in (2, 4, 6):
            both = (*plain[:first], *mixed[:count])
            yield f"first that passes, {first} plain, {count} in turn", Rule(both)
    for count in range(2, len(plain) + 1):
        yield f"consensus, {count} plain", Rule(tuple(plain[:count]), NEVER)
        yield f"examples only, {count} plain", Rule(tuple(plain[:count]), NEVER, votes=False)
    every = tuple(range(1, len(slots) + 1))
    yield "consensus, all", Rule(every, NEVER)


def _row(title: str, runs: list[Recorded], rule: Rule) -> dict[str, Any]:
    results = [_apply(run, rule) for run in runs]
    right = sum(ok for ok, _, _ in results)
    interval = wilson(right, len(results))
    assert interval is not None
    return {
        "rule": title,
        "resolved": right,
        "of": len(results),
        "interval": [round(interval.low, 3), round(interval.high, 3)],
        "mean tokens": round(mean(t for _, t, _ in results)),
        "median tokens": median(t for _, t, _ in results),
        "mean drafts": round(mean(d for _, _, d in results), 2),
        "any right": sum(any(run.right.get(s, False) for s in rule.slots) for run in runs),
    }


if __name__ == "__main__":
    main()
