"""Pages about time, memory and isolation."""

import statistics

from result_pages.layout import Page, Result, number, provenance_of_benchmark, table, text_table


def overhead(result: Result) -> Page:
    """Describe the share of a run's time outside model and sandbox."""
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

`benchmarks/overhead.py` solves three shipped examples on the embedded model and times the model and
the sandbox. The remaining time is planning, laws, record and assembly.

{provenance_of_benchmark(result)}

## Results

{
            table(
                ["task", "events", "seconds", "model", "sandbox", "remaining", "share"],
                rows,
            )
        }

Share over all three runs: {result["share"]:.2%}. The goal was under {result["goal"]:.0%}.

## Limits

The embedded model is slow, so the share is small; with a faster model it is larger, and the
absolute times matter. Three runs, no intervals. [examples](examples.md) has the same share for
twelve runs.
""",
    )


def trace(result: Result) -> Page:
    """Describe the cost of writing and verifying a record."""
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

`benchmarks/trace.py` writes and verifies one long run whose repairs are opened, decided and rolled
back. It compares with the minimum work on the same bytes: a bare SQLite insert with the same
settings and commits, and reading and hashing every entry and blob. The compared operations
alternate.

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
                    "verifier's peak memory, MiB",
                    "writer's memory growth, MiB",
                ],
                rows,
            )
        }

From the smallest size to the largest, an append costs {linear["append_us"] - 1:.0%} more and a
verification {
            linear["verify_us"] - 1:.0%} more per event. A durable append encodes the event, checks
the laws, hashes, inserts entry and blobs, and commits to disk.

## Limits

Verification is much slower than hashing because it parses all code again: ownership is derived from
the code, not read from the record. Times are from one run on one machine; compare the ratios.
""",
    )


def sandbox(result: Result) -> Page:
    """Describe the cost of isolation."""
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
site packages, which is their best case. Then this sandbox runs it {number(last["runs"])} times.

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
                    "throughput of auditcoder / this",
                ],
                rows,
            )
        }

Resources of the sandbox before and after {number(last["runs"])} runs:

{endured}

## Limits

One machine, one small program. A bare interpreter gives no isolation; its time is the lower bound
of starting a new interpreter. The file has medians and percentiles only, so there are no intervals.
""",
    )


def hostile(result: Result) -> Page:
    """Describe what hostile programs achieve in each sandbox."""
    names = {"full": "full", "container": "as in a container"}
    outcomes = ("contained", "leaked", "stalled the host")
    rows = [
        (name, row["programs"], *(row[outcome] for outcome in outcomes), row["unexpected"])
        for name, row in ((names[key], row) for key, row in result["sandboxes"].items())
    ]
    kinds = [(names[key], f"`{row['sandbox']}`") for key, row in result["sandboxes"].items()]
    achieved = [
        (names[key], attack["program"], attack["result"], attack["reason"] or "unexpected")
        for key, row in result["sandboxes"].items()
        for attack in row["achieved"]
    ]
    return Page(
        "Hostile programs",
        "What do programs achieve that attack the sandbox?",
        f"""## Method

`benchmarks/hostile.py` runs every program of `tests/faults/` once in the full sandbox and once
with the two layers that most containers leave. A program is *contained* if its attack did not
succeed, has *leaked* if it did, and has *stalled the host* if its run or the reading of its results
did not end a minute after its limit, or if the sandbox gave up. The tests run the same programs and
also check how each ends, and that files, processes and the next run are untouched.

{provenance_of_benchmark(result)}

The caller {"was root" if result["root"] else "was not root"}. Digest of the programs:
`{result["corpus"]}`.

{text_table(["sandbox", "layers"], kinds)}

## Results

{table(["sandbox", "programs", *outcomes, "not as documented"], rows)}

Every program that was not contained:

{text_table(["sandbox", "program", "result", "why"], achieved)}

## Limits

The programs are those that this project knows. They were written by the project and by testers who
attacked it. A program that measures time or load, to find other runs, is not among them.
""",
    )


def forgeries(result: Result) -> Page:
    """Describe which forgeries of records verify."""
    rows = [
        (f"`{field}`", row["tried"], row["survived"])
        for field, row in result["fields"].items()
        if row["survived"]
    ]
    refused = sum(not row["survived"] for row in result["fields"].values())
    return Page(
        "Forged records",
        "If one field of a legal record is changed and all digests are computed anew, is it found?",
        f"""## Method

`benchmarks/forgeries.py` makes legal records and changes one field of one event at a time to
another value of its type, also to values from elsewhere in the record. All digests are computed
anew, so only the laws can find the change. The records are {result["random_runs"]:,} random runs,
in which every event of a lifecycle occurs in any order that the laws allow, and the recorded runs
{", ".join(f"`{name}`" for name in result["recorded_runs"])}. A test does the same with fewer runs.

{provenance_of_benchmark(result)}

Digest of the laws: `{result["laws"]}`.

## Results

{result["tried"]:,} forgeries of {len(result["fields"])} fields; {result["survived"]:,} verify. Of
fields that [the laws](../reference/laws.md#what-is-believed) do not list as believed,
{len(result["unexpected"])} verify. No forgery of {refused} fields verifies; of these, some do:

{table(["field", "tried", "verify"], rows)}

## Limits

One field of one event is changed. Forgeries of several fields at once, of the order of events and
of content are the subject of single tests. A random run is short and its code is simple.
""",
    )


def judge(result: Result) -> Page:
    """Describe the speed of judging hidden tests."""
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
        "How many hidden tests per second does the judge run, compared with the checkers of APPS"
        " and EvalPlus?",
        f"""## Method

`benchmarks/judge.py` judges the same programs on the same inputs with our judge and the upstream
checker, in turn, in {result["rounds"]} rounds. Only our judge isolates the programs.

{provenance_of_benchmark(result)}

## Results

{
            table(
                ["suite", "mode", "auditcoder", "upstream", "ratio, median", "ratio, range"],
                rows,
            )
        }

Different verdicts: {disagreements}. The goal was a ratio of {result["goals"]["ratio"]:.0f} in one
thread; missed for: {missed or "none"}.

## Limits

For a few wrong programs, starting the sandbox costs more time than it saves: the ratio including
the start is below 1. Notes from the run:

{notes}
""",
    )


def audit(result: Result) -> Page:
    """Describe the cost of computing metrics over many records."""
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

`benchmarks/audit.py` folds records and computes their metrics, in a fresh process per size. It
repeats 36 small records of every kind, so that disk time is not included.

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
        "beside_busy_core_tokens_s": ("tokens per second, with one core busy", 1),
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
        "How fast is the embedded model, compared with the same library with default settings?",
        f"""## Method

`benchmarks/model.py` measures the same weights in the same library twice: as AuditCoder configures
it (weights in memory, threads pinned) and with the library's defaults. The two alternate in
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
        } cores. The configuration only helps while other programs are
busy. Otherwise it gains nothing, and loading weights into memory takes longer than mapping them.
""",
    )


def at_once(result: Result) -> Page:
    """Describe the throughput of concurrent requests to the embedded model."""
    rows = [
        (requests, number(statistics.median(rates), 1), len(rates))
        for requests, rates in result["tokens_s"].items()
    ]
    return Page(
        "Concurrent requests to the embedded model",
        "Do concurrent requests to one embedded model increase its throughput?",
        f"""## Method

`benchmarks/at_once.py` sends the same requests one at a time and several at once, alternately, each
in its own process.

{provenance_of_benchmark(result)}

## Results

{table(["concurrent requests", "tokens per second", "rounds"], rows)}

Ratio: {result["ratio"]:.2f}.

## Limits

Few rounds on {result["cores"]} cores. The rate counts completion tokens only, but its time includes
prompt processing.
""",
    )
