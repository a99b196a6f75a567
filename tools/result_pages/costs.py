"""Pages about time and memory: overhead, trace, sandbox, judge, audit, model, at_once."""

import statistics

from result_pages.layout import Page, Result, number, provenance_of_benchmark, table


def overhead(result: Result) -> Page:
    """Describe the share of a run that is neither model nor sandbox."""
    rows = [
        (
            f"`{row['task']}`",
            row["events"],
            number(row["seconds"], 2),
            number(row["model"], 2),
            number(row["sandbox"], 3),
            number(row["ours"], 3),
            f"{row['share']:.2%}",
        )
        for row in result["rows"]
    ]
    return Page(
        "Overhead of a run",
        "How much of a run's time is spent neither in the model nor in the sandbox?",
        f"""## Method

`benchmarks/overhead.py` solves three shipped examples on the embedded model with a timer around the
model and around the sandbox. The rest is planning, laws, record and assembly.

{provenance_of_benchmark(result)}

## Results

{
            table(
                ["task", "events", "seconds", "model", "sandbox", "remaining", "share"],
                rows,
            )
        }

Over all three: {result["share"]:.2%}. The goal was under {result["goal"]:.0%}.

## Limits

The embedded model is slow, so the share is small; with a faster model the absolute times count.
Three runs, no intervals. [examples](examples.md) has the same share for twelve runs.
""",
    )


def trace(result: Result) -> Page:
    """Describe what writing and verifying a record costs."""
    rows = [
        (
            number(row["events"]),
            number(row["append_us"]),
            f"{row['append_ratio']:.2f}",
            number(row["verify_us"]),
            f"{row['verify_to_read_and_hash']:.1f}",
            f"{row['verify_to_hash_in_memory']:.0f}",
            number(row["verify_peak_mib"]),
            number(row["writer_growth_mib"], 2),
        )
        for row in result["rows"]
    ]
    linear = result["linear"]
    return Page(
        "Cost of the record",
        "What do a durable append and a verification cost, and do they grow with the record?",
        f"""## Method

`benchmarks/trace.py` writes and verifies one long run with repairs that are opened, judged and
rolled back, and compares with the least that could be done with the same bytes: a bare SQLite
insert with the same settings and commits; reading and hashing every entry and blob. The compared
operations take turns.

{provenance_of_benchmark(result)}

## Results

{
            table(
                [
                    "events",
                    "durable append, µs",
                    "/ bare insert",
                    "verify, µs per event",
                    "/ read and hash",
                    "/ hash in memory",
                    "verifier's peak, MiB",
                    "writer's growth, MiB",
                ],
                rows,
            )
        }

From the smallest size to the largest, an append costs {linear["append_us"] - 1:.0%} more and a
verification {linear["verify_us"] - 1:.0%} more per event. An append is durable: encoded, judged,
hashed, inserted with its blobs, committed to disk.

## Limits

Verification is slow against bare hashing because it parses all code again: ownership is derived,
not believed. Times are of one machine and one run; ratios count.
""",
    )


def sandbox(result: Result) -> Page:
    """Describe what isolation costs."""
    rows = [
        (
            f"`{name}`" if name == "python -I -S" else name,
            number(result["median_ms"][name], 1),
            number(result["p95_ms"][name], 1),
            number(result["ratio_to_ours"][name], 1),
            number(result["runs_a_second_on_all_cores"][name]),
            number(
                result["runs_a_second_on_all_cores"]["auditcoder"]
                / result["runs_a_second_on_all_cores"][name],
                1,
            ),
        )
        for name in result["median_ms"]
    ]
    first, last = result["endurance"][0], result["endurance"][-1]
    endured = table(
        ["runs", "processes", "descriptors", "resident MiB", "mounts", "temporary files"],
        [tuple(point.values()) for point in (first, last)],
    )
    return Page(
        "Cost of the sandbox",
        "What does isolation cost per run, and does the sandbox leak?",
        f"""## Method

`benchmarks/sandbox.py` runs one small program in turn in this sandbox, in a bare interpreter, in a
subprocess with limits, and in bubblewrap, {result["runs"]} times each. The others start without
site packages, which is their best case. Then it runs the program {number(last["runs"])} times.

{provenance_of_benchmark(result)}

## Results

{
            table(
                [
                    "",
                    "median, ms",
                    "95th percentile, ms",
                    "median / auditcoder",
                    "runs per second, all cores",
                    "auditcoder / it",
                ],
                rows,
            )
        }

Before and after {number(last["runs"])} runs:

{endured}

## Limits

One machine, one small program. A bare interpreter gives no isolation; it is the lower bound of
starting one. The file holds medians and percentiles only, so there are no intervals.
""",
    )


def judge(result: Result) -> Page:
    """Describe how fast hidden tests are judged."""
    modes = {
        "one_thread": "one thread",
        "one_thread_with_start": "one thread, including one sandbox start",
        "all_cores": "all cores",
    }
    rows = []
    for comparison in result["comparisons"]:
        for mode, title in modes.items():
            rates = comparison["rates"][mode]
            by_round = [
                ours / theirs
                for ours, theirs in zip(
                    rates["ours_by_round"], rates["theirs_by_round"], strict=True
                )
            ]
            rows.append(
                (
                    f"{comparison['name']}, {comparison['unit']} per second",
                    title,
                    number(rates["ours"]),
                    number(rates["theirs"]),
                    f"{statistics.median(by_round):.1f}",
                    f"{min(by_round):.1f} to {max(by_round):.1f}",
                )
            )
    missed = ", ".join(
        f"{comparison['name']} ({comparison['rates']['one_thread']['ratio']:.1f})"
        for comparison in result["comparisons"]
        if comparison["rates"]["one_thread"]["ratio"] < result["goals"]["ratio"]
    )
    disagreements = sum(len(comparison["disagreements"]) for comparison in result["comparisons"])
    notes = "\n".join(f"- {note}." for note in result["notes"])
    return Page(
        "Speed of the judge",
        "How many hidden tests per second does the judge run, beside the checkers that come with"
        " APPS and EvalPlus?",
        f"""## Method

`benchmarks/judge.py` judges the same programs on the same inputs with both, in turn,
{result["rounds"]} rounds; ours runs fully isolated.

{provenance_of_benchmark(result)}

## Results

{
            table(
                ["suite", "", "auditcoder", "upstream", "ratio, median", "ratio, range"],
                rows,
            )
        }

Verdicts that differ: {disagreements}. The goal was a ratio of {result["goals"]["ratio"]:.0f} in one
thread; missed by: {missed or "none"}.

## Limits

Where few wrong programs are judged, starting the sandbox costs more than it saves: the ratio
including the start is below 1. Notes of the run:

{notes}
""",
    )


def audit(result: Result) -> Page:
    """Describe what computing metrics over many records costs."""
    rows = [
        (
            number(row["records"]),
            number(row["fold_us"]),
            number(row["count_us"]),
            number(row["us"] / 1000, 2),
            number(row["peak_mib"], 1),
        )
        for row in result["rows"]
    ]
    return Page(
        "Cost of an audit",
        "How do time and memory grow when the metrics of many records are computed?",
        f"""## Method

`benchmarks/audit.py` folds records and computes their metrics in a fresh process per size. The
records are three dozen small ones of every kind, repeated, so that folding and counting are
measured and not the disk.

{provenance_of_benchmark(result)}

## Results

{
            table(
                ["records", "fold, µs", "count, µs", "per record, ms", "peak memory, MiB"],
                rows,
            )
        }

Time per record grew by a factor of {result["growth"]:.3f} (goal: at most
{result["goals"]["growth"]:.1f}), memory by {result["memory_growth_mib"]:.1f} MiB (goal: at most
{result["goals"]["memory_mib"]:.0f}).

## Limits

The records are small and in memory. One run per size, no intervals.
""",
    )


def model(result: Result) -> Page:
    """Describe the speed of the embedded model."""
    ours, theirs = result["median"]["auditcoder"], result["median"]["as it comes"]
    measures = {
        "alone_tokens_s": ("tokens per second, alone", 1),
        "beside_busy_core_tokens_s": ("tokens per second, beside a busy core", 1),
        "cold_prefix_first_token_s": ("first token after 1,400 new prompt tokens, s", 1),
        "warm_prefix_first_token_s": ("first token after a cached prefix, s", 2),
        "load_s": ("loading, s", 1),
    }
    rows = []
    for key, (title, digits) in measures.items():
        spread = [entry[key] for entry in result["all"]["auditcoder"]]
        rows.append(
            (
                title,
                number(ours[key], digits),
                f"{min(spread):.{digits}f} to {max(spread):.{digits}f}",
                number(theirs[key], digits),
                f"{ours[key] / theirs[key]:.2f}",
            )
        )
    return Page(
        "Speed of the embedded model",
        "How fast is the embedded model, beside the same library with its default settings?",
        f"""## Method

`benchmarks/model.py` measures the same weights in the same library twice: as AuditCoder configures
it (weights in memory, threads pinned) and with the library's defaults. Both take turns,
{result["rounds"]} rounds, each in a fresh process.

{provenance_of_benchmark(result)}

## Results

{
            table(
                ["", "auditcoder, median", "range", "library default, median", "ratio"],
                rows,
            )
        }

## Limits

{result["rounds"]} rounds on {
            result["cores"]
        } cores. Alone the configuration gains nothing, and loading into
memory takes longer than mapping; the gain is beside other busy programs.
""",
    )


def at_once(result: Result) -> Page:
    """Describe what concurrent requests to the embedded model gain."""
    rows = [
        (requests, number(statistics.median(rates), 1), len(rates))
        for requests, rates in result["tokens_s"].items()
    ]
    return Page(
        "Concurrent requests to the embedded model",
        "Do several runs gain by sharing one embedded model?",
        f"""## Method

`benchmarks/at_once.py` sends the same requests one at a time and several at once, in turn, each in
a process of its own.

{provenance_of_benchmark(result)}

## Results

{table(["requests at once", "tokens per second", "rounds"], rows)}

Ratio: {result["ratio"]:.2f}.

## Limits

Few rounds on {result["cores"]} cores. Prompt tokens count as time, not as tokens.
""",
    )
