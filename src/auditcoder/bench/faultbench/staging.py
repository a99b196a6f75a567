"""Staging: solved work, or what was made of it, as a run that has just been validated.

Plan, laws, checks and record are those of any run; only no model is asked.
"""

from datetime import UTC, datetime

from auditcoder.bench.faultbench.material import Solved
from auditcoder.domain.events import BriefCommitted, GraphCommitted
from auditcoder.domain.ids import ROOT
from auditcoder.domain.task import ClassForm
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.asking import Asker
from auditcoder.lifecycle.budget import Purse
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.validating import validate_program, validate_region
from auditcoder.lifecycle.validating.contradictions import drop_contradicted_promises
from auditcoder.lifecycle.workshop import Options, Workshop
from auditcoder.methods.solving import Tools, manifest_for

_OPTIONS = Options(review=False, second_opinions=False)


def stage(tools: Tools, work: Solved) -> Workshop:
    """Take work up to where it is diagnosed if it fails."""
    workshop = put_together(tools, work)
    local = validate_region(workshop, workshop.recorder.ledger.graph.ids)
    validate_program(workshop)
    drop_contradicted_promises(workshop, local)
    return workshop


def put_together(tools: Tools, work: Solved) -> Workshop:
    """Plan it, write the code, and assemble it, as a run does before anything is checked."""
    manifest = manifest_for(tools, _OPTIONS)
    recorder = Recorder.start(tools.store, RunId("staged"), work.task, _now, manifest)
    asker = Asker(tools.model, recorder, Purse(_OPTIONS.budget, None), tools.patience)
    workshop = Workshop(work.task, _OPTIONS, recorder, asker, tools.sandbox)
    recorder.record(BriefCommitted(brief=work.plan.brief))
    recorder.record(GraphCommitted(graph=work.plan.graph, planner=work.plan.planner))
    form = work.task.form
    scope = form.name if isinstance(form, ClassForm) else ""
    for node, source in work.codes.items():
        recorder.write_code(node, source, agent="author", scope="" if node == ROOT else scope)
    recorder.assemble()
    return workshop


def _now() -> datetime:
    return datetime.now(UTC)
