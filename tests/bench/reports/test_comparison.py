"""Comparison reports: suites are not pooled, and methods are compared on the same problems."""

from auditcoder.domain.table import Row, Table
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import RunId
from auditcoder.exports.audit_tables import with_runs
from auditcoder_bench.reports.comparison import Result, results_tables

ORDER = ("direct", "auditcoder")


def result(method: str, problem: int, final: bool, suite: str = "toys", tokens: int = 10) -> Result:
    return Result(
        run=RunId(f"{suite}.{problem}.{method}"),
        suite=suite,
        model="m",
        method=method,
        problem=f"{suite}/{problem}",
        outcome="passed",
        first=final,
        final=final,
        usage=Usage(calls=2, prompt_tokens=tokens, completion_tokens=5),
    )


def cells(table: Table, method: str) -> dict[str, object]:
    (row,) = (row for row in table.rows if row.cells[0] == method)
    return dict(zip(table.columns, row.cells, strict=True))


def test_a_row_has_counts_rate_and_interval() -> None:
    (table,) = results_tables([result("auditcoder", n, n < 7) for n in range(10)], ORDER)
    found = cells(table, "auditcoder")
    assert (found["resolved"], found["of"], found["rate"]) == (7, 10, 0.7)
    assert found["95 % interval"] == "0.40 to 0.89"
    assert (found["tokens"], found["calls"]) == (15, 2)
    assert found["p"] is None


def test_methods_are_compared_only_on_problems_that_both_did() -> None:
    done = [result("auditcoder", n, n == 0) for n in range(3)]
    done += [result("direct", n, True) for n in range(1, 6)]
    (table,) = results_tables(done, ORDER)
    found = cells(table, "direct")
    assert found["of"] == 5
    assert found["only it, only auditcoder"] == "2, 0"
    assert found["p"] == 0.5


def test_suites_are_not_pooled_and_methods_keep_their_order() -> None:
    done = [result(m, 1, True, s) for m in ("auditcoder", "direct") for s in ("b", "a")]
    tables = results_tables(done, ORDER)
    assert [t.name for t in tables] == ["results-a", "results-b"]
    assert [row.cells[0] for row in tables[0].rows] == ["direct", "auditcoder"]
    assert tables[0].rows[0].runs == ("a.1.direct",)


def audit_and_cost(rate: str, calls: int) -> list[Table]:
    """Return an audit table and a cost table."""
    return [
        Table(
            name="audit",
            title="",
            columns=("metric", "n", "rate"),
            rows=(Row(cells=("located", rate, None)),),
        ),
        Table(
            name="cost",
            title="",
            columns=("scope", "phase", "calls"),
            rows=(Row(cells=("repair", "code", calls)), Row(cells=("first", "code", 1))),
            labels=2,
        ),
    ]


def test_a_row_names_the_runs_that_count_in_it() -> None:
    alone = [(RunId("a"), audit_and_cost("0/1", 0)), (RunId("b"), audit_and_cost("0/0", 3))]
    audit, cost = with_runs(audit_and_cost("0/1", 3), alone)
    assert audit.rows[0].runs == ("a",)
    assert [row.runs for row in cost.rows] == [("b",), ("a", "b")]
