"""Prepares a run from solved work, with or without a fault, up to its validation.

Plan, laws, checks and record are those of an ordinary run, but no model is used.
"""

from datetime import UTC, datetime

from auditcoder.domain.events import BriefCommitted, GraphCommitted
from auditcoder.domain.ids import ROOT
from auditcoder.domain.task import ClassForm
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.budget import BudgetLedger
from auditcoder.lifecycle.model_client import ModelClient
from auditcoder.lifecycle.options import Options, SecondOpinions
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.runs import RunResources, manifest_for
from auditcoder.lifecycle.validation import validate_program, validate_region
from auditcoder.lifecycle.validation.contradicted_checks import drop_contradicted_clauses
from auditcoder_bench.faultbench.injection_targets import SolvedProgram

_OPTIONS = Options(review=False, second_opinions=SecondOpinions.NONE)


def prepare_validated_run(tools: RunResources, work: SolvedProgram) -> RunContext:
    """Prepare a run up to the point where a failure would be diagnosed."""
    context = prepare_assembled_run(tools, work)
    local = validate_region(context, context.recorder.ledger.graph.ids)
    validate_program(context)
    drop_contradicted_clauses(context, local)
    return context


def prepare_assembled_run(tools: RunResources, work: SolvedProgram) -> RunContext:
    """Prepare a run up to the assembled program, before any check."""
    manifest = manifest_for(tools, _OPTIONS)
    recorder = Recorder.start(tools.store, RunId("staged"), work.task, _now, manifest)
    client = ModelClient(
        tools.model, recorder, BudgetLedger(_OPTIONS.budget, None), tools.retry_policy
    )
    context = RunContext(work.task, _OPTIONS, recorder, client, tools.sandbox)
    recorder.record(BriefCommitted(brief=work.plan.brief))
    recorder.record(GraphCommitted(graph=work.plan.graph, planner=work.plan.planner))
    form = work.task.form
    scope = form.name if isinstance(form, ClassForm) else ""
    for node, source in work.codes.items():
        recorder.write_code(node, source, agent="author", scope="" if node == ROOT else scope)
    recorder.assemble()
    return context


def _now() -> datetime:
    return datetime.now(UTC)
