"""The page about the corpus of replies."""

from result_pages.layout import Page, Result, provenance_of_benchmark, share, table, text_table


def replies(result: Result) -> Page:
    """Describe what becomes of the replies of strong models."""
    cases = result["cases"]
    total = sum(row["replies"] for row in cases)
    refused = sum(len(row["refused"]) for row in cases)
    rows = [
        (
            f"`{row['case']}`",
            row["replies"],
            row["kept"],
            row["renamed"],
            len(row["noted"]),
            len(row["refused"]),
            len(row["silent"]),
            "yes" if row["passes"] else "no",
        )
        for row in cases
    ]
    noted = [(f"`{row['case']}`", text) for row in cases for text in row["noted"]]
    features = [(f"`{row['case']}`", ", ".join(row["features"])) for row in cases]
    columns = ["case", "replies", "kept", "renamed", "noted", "refused", "in silence", "passes"]
    return Page(
        "Replies of strong models",
        "What of a plan, a code reply or a repair is kept, renamed, noted as lost, or refused?",
        f"""## Method

`benchmarks/replies.py` plays every case of `tests/data/replies/` through planning, building,
validation and repair, with a scripted model and the real sandbox. Each case is a task with replies
of the kind that strong models write. *Kept* counts the names that nodes own, under any version;
*renamed* those that the program calls by another name, because two nodes have helpers of one name;
*noted* what the record lists as lost; *refused* the replies that were requested again. Lost *in
silence* is every name of a reply and every line of a plan's docstrings that is neither in the
graph, the brief or the code nor noted. The goals are none refused and none in silence.

{provenance_of_benchmark(result)}

Digest of the replies: `{result["corpus"]}`.

## Results

{share(sum(row["passes"] for row in cases), len(cases))} of the cases end with a program that passes
its examples. Of {total} replies, {refused} were refused.

{table(columns, rows)}

What was noted as lost:

{text_table(["case", "loss"], noted)}

What the cases have:

{text_table(["case", "features"], features)}

## Limits

The replies were written by this project. Every one is correct or is followed by its repair; a
reply that is wrong in form is not among them. Whether docstrings were understood is not measured,
only whether their text is there.
""",
    )
