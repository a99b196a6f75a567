"""Formats the numbers, tables and provenance of result pages."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

from auditcoder.metrics.statistics import wilson

Result = Mapping[str, Any]
"""The content of one result file."""


class Page(NamedTuple):
    """One page of docs/results."""

    title: str
    question: str
    text: str
    """Everything below the question."""


def number(value: float | None, digits: int = 0) -> str:
    """Format a number with thousands separators; an empty cell if there is none."""
    return "" if value is None else f"{_rounded(value, digits):,.{digits}f}"


def rate(value: float | None) -> str:
    """Format a share or score with three decimals; an empty cell if there is none."""
    return "" if value is None else f"{_rounded(value, 3):.3f}"


def _rounded(value: float, digits: int) -> Decimal:
    """Round half away from zero, as readers expect, instead of half to even."""
    return Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def share(part: int, whole: int) -> str:
    """Format a proportion with its rate and its 95 % Wilson interval."""
    if not whole:
        return "0 of 0"
    return f"{part} of {whole} ({part / whole:.3f}; {interval(part, whole)})"


def interval(part: int, whole: int) -> str:
    """Format the 95 % Wilson interval of a rate; an empty cell if nothing was counted."""
    found = wilson(part, whole)
    return "" if found is None else f"{found.low:.3f} to {found.high:.3f}"


def between(low: float | None, high: float | None) -> str:
    """Format an interval from the result file."""
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def ratio(text: str) -> tuple[int, int]:
    """Parse a proportion such as `15/20`."""
    part, whole = text.split("/")
    return int(part), int(whole)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a Markdown table; every column but the first is aligned to the right."""
    lines = [_line(columns), "|---" + "|---:" * (len(columns) - 1) + "|"]
    return "\n".join([*lines, *(_line(row) for row in rows)])


def text_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a Markdown table of texts, aligned to the left."""
    return "\n".join([_line(columns), "|---" * len(columns) + "|", *(_line(row) for row in rows)])


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def named_table(result: Result, name: str) -> Mapping[str, Any]:
    """Return the table of that name from a result file that holds tables."""
    for found in result["tables"]:
        if found["name"] == name:
            return dict(found)
    raise KeyError(f"no table {name!r} in the result file")


def records(result: Result, name: str) -> list[dict[str, Any]]:
    """Return the rows of a named table, each as a mapping from column to cell."""
    found = named_table(result, name)
    return [dict(zip(found["columns"], row["cells"], strict=True)) for row in found["rows"]]


def record(result: Result, name: str, **labels: str) -> dict[str, Any]:
    """Return the only row with these labels; underscores in a column name mean spaces."""
    wanted = {column.replace("_", " "): value for column, value in labels.items()}
    (found,) = (
        row
        for row in records(result, name)
        if all(row[column] == value for column, value in wanted.items())
    )
    return found


def provenance_of_manifest(manifest: Mapping[str, Any]) -> str:
    """Return model, sandbox and settings of runs, from the manifest in their result file."""
    rows = [
        ("model", f"`{manifest['model']}`"),
        ("SHA-256 of its weights", f"`{manifest['weights']}`"),
        ("decoding", _pairs(manifest["decoding"])),
        ("random seed", manifest.get("seed") or "none; replays use the recorded replies"),
        ("sandbox", f"`{manifest['sandbox']}`"),
        ("versions", _pairs(manifest["versions"])),
        ("settings", _pairs(manifest["settings"])),
        ("prompts", f"{len(manifest['prompts'])} files; their digests are in the result file"),
    ]
    return text_table(["", "value"], rows)


def provenance_of_tables(result: Result) -> str:
    """Return model, sandbox and settings of runs, from the table `manifests`."""
    rows = [
        (row["what"], row["runs"], _inline(row["what"], str(row["is"])))
        for row in records(result, "manifests")
    ]
    return text_table(["", "runs", "value"], rows)


def _inline(what: str, value: str) -> str:
    if value == "None":
        return "none; replays use the recorded replies"
    return f"`{value}`" if what in {"model", "weights", "prompts", "sandbox"} else value


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def provenance_of_benchmark(result: Result) -> str:
    """Return versions and machine of a timing benchmark, as far as its result file has them."""
    versions = dict(result.get("versions", {}))
    for name in ("auditcoder", "python", "xllamacpp"):
        if isinstance(result.get(name), str):
            versions[name] = result[name]
    machine = dict(result.get("machine", {}))
    for name in ("kernel", "cores"):
        if name in result:
            machine[name] = result[name]
    rows: list[tuple[str, object]] = [("versions", _pairs(versions))]
    if machine:
        rows.append(("machine", _pairs(machine)))
    for name, label in (
        ("model", "model"),
        ("weights", "SHA-256 of its weights"),
        ("sandbox", "sandbox"),
    ):
        if isinstance(result.get(name), str):
            rows.append((label, f"`{result[name]}`"))
    return text_table(["", "value"], rows)
