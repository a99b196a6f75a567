"""Tables of the audit metrics and the cost of a set of runs."""

from collections.abc import Iterable

from msgspec.structs import replace

from auditcoder.domain.table import Cell, Row, Table
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import RunId
from auditcoder.metrics.audit_metrics import Audit, Average, Rate
from auditcoder.metrics.cost_metrics import CostSummary


def with_runs(
    tables: Iterable[Table], alone: Iterable[tuple[RunId, Iterable[Table]]]
) -> list[Table]:
    """Add to every row the runs that contribute to it.

    `alone` has the tables of each single run; a run contributes to the rows that are not empty in
    its own tables.
    """
    contributing: dict[tuple[Cell, ...], list[RunId]] = {}
    for run, own in alone:
        for table in own:
            for row in table.rows:
                if row.cells[table.labels] not in _EMPTY:
                    contributing.setdefault(_row_key(table, row), []).append(run)
    return [
        replace(
            table,
            rows=tuple(
                replace(row, runs=tuple(contributing.get(_row_key(table, row), ())))
                for row in table.rows
            ),
        )
        for table in tables
    ]


_EMPTY = (0, "0/0")


def _row_key(table: Table, row: Row) -> tuple[Cell, ...]:
    return (table.name, *row.cells[: table.labels])


def audit_tables(audit: Audit) -> list[Table]:
    """Return the tables of the audit metrics, and of the localised runs by rule and level."""
    return [_structure(audit), _located(audit)]


def _structure(audit: Audit) -> Table:
    first, final = audit.trace_coverage_first, audit.trace_coverage
    rows = [
        Row(cells=("trace coverage, macro, first", first.number, first.mean, first.median)),
        Row(cells=("trace coverage, macro, final", final.number, final.mean, final.median)),
        *(
            Row(cells=(name, _fraction(rate), rate.rate, None))
            for name, rate in (
                ("trace coverage, leaves, first", audit.leaves_first),
                ("trace coverage, leaves, final", audit.leaves),
                ("graph integrity", audit.graph_integrity),
                ("contract and signature agree", audit.signature_consistency),
                ("localisation coverage", audit.localisation_coverage),
                ("localised repair success", audit.localised_repair_success),
            )
        ),
        Row(cells=("lost statements of replies", audit.losses, None, None)),
        *(
            Row(cells=(name, average.number, average.mean, average.median))
            for name, average in (
                ("drafts of the first code", audit.drafts),
                ("variants tried to choose it", audit.variants),
                ("sandbox runs of diagnosing", audit.diagnosis_runs),
                ("repair region, nodes", audit.region_size),
                ("repair region as selected", audit.selected_size),
                ("changed code, lines", audit.changed_code),
            )
        ),
        *(
            Row(cells=(name, _fraction(rate), rate.rate, None))
            for name, rate in (
                ("test regression", audit.regression),
                ("decision compliance", audit.decision_compliance),
                ("rollback integrity", audit.rollback_integrity),
                ("frozen complement intact", audit.frozen_intact),
                ("chain integrity", audit.chain_integrity),
                ("replay fidelity", audit.replay_fidelity),
            )
        ),
    ]
    return Table(
        name="audit",
        title=f"Audit of {audit.runs} runs, {audit.judged} of them judged",
        columns=("metric", "n", "mean or rate", "median"),
        rows=tuple(rows),
        notes=tuple(_exclusions(audit)),
    )


def _fraction(rate: Rate) -> str:
    return f"{rate.counted.part}/{rate.counted.whole}"


def _exclusions(audit: Audit) -> Iterable[str]:
    for name in audit.__struct_fields__:
        value = getattr(audit, name)
        if isinstance(value, Rate | Average) and value.excluded:
            reasons = "; ".join(f"{number} ({why})" for why, number in value.excluded.items())
            yield f"{name.replace('_', ' ')}: left out {reasons}"


def _located(audit: Audit) -> Table:
    levels = ("high", "medium", "low")
    rows = [
        Row(cells=(rule, sum(counts.values()), *(counts.get(level, 0) for level in levels)))
        for rule, counts in sorted(audit.localised.items())
    ]
    return Table(
        name="located",
        title="Localised runs by rule and level",
        columns=("rule", "runs", *levels),
        rows=tuple(rows),
        notes=(f"abstentions among all diagnoses: {audit.answers.abstained}",),
    )


def cost_tables(cost: CostSummary, most: int | None = 10) -> list[Table]:
    """Return the tables of the cost by scope, path, phase and role.

    `most` is the maximum number of roles; None for all.
    """
    return [_scopes(cost), _paths(cost), _phases(cost), _families(cost), _roles(cost, most)]


_TOKENS = ("calls", "prompt", "completion", "total")


def _tokens(usage: Usage) -> tuple[Cell, ...]:
    return (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.tokens)


def _scopes(cost: CostSummary) -> Table:
    rows = [Row(cells=("total", *_tokens(cost.total), cost.per_task(cost.total), None))]
    for scope, usage in cost.scopes.items():
        repair = cost.per_repair if scope == "repair" else None
        rows.append(Row(cells=(scope, *_tokens(usage), cost.per_task(usage), repair)))
    notes = [f"{cost.runs} runs, {cost.repaired} of which needed repair"]
    if not cost.exact:
        unmeasured = cost.total.unmeasured
        notes.append(f"tokens are lower bounds: {unmeasured} calls did not report theirs")
    return Table(
        name="cost-scope",
        title="Tokens by scope",
        columns=("scope", *_TOKENS, "a run", "a repaired run"),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _paths(cost: CostSummary) -> Table:
    return Table(
        name="cost-path",
        title="Tokens of repair by path",
        columns=("path", "runs", "attempts", *_TOKENS, "an attempt"),
        rows=tuple(
            Row(cells=(name, c.runs, c.attempts, *_tokens(c.usage), c.per_attempt))
            for name, c in cost.paths.items()
        ),
    )


def _phases(cost: CostSummary) -> Table:
    return Table(
        name="cost-phase",
        title="Tokens by phase",
        columns=("scope", "phase", *_TOKENS, "a run"),
        rows=tuple(
            Row(cells=(scope, phase, *_tokens(usage), cost.per_task(usage)))
            for scope, phases in cost.phases.items()
            for phase, usage in phases.items()
        ),
        labels=2,
    )


def _families(cost: CostSummary) -> Table:
    return Table(
        name="cost-family",
        title="Tokens by phase, both scopes together",
        columns=("phase", "total", "share"),
        rows=tuple(
            Row(cells=(name, usage.tokens, cost.share(usage)))
            for name, usage in cost.families.items()
        ),
    )


def _roles(cost: CostSummary, most: int | None) -> Table:
    return Table(
        name="cost-role",
        title="Tokens by role",
        columns=("role", *_TOKENS, "a call", "share"),
        rows=tuple(
            Row(cells=(m.role, *_tokens(m.usage), m.per_call, m.share)) for m in cost.modules(most)
        ),
    )
