"""Staging: a solved program as a run that has just been validated, with other code where asked.

Plan, laws, checks and record are those of any run; only no model is asked.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec.structs import replace

from auditcoder.bench.faultbench.material import Solved
from auditcoder.domain.events import BriefCommitted, GraphCommitted
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
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


def stage(
    tools: Tools, solved: Solved, changed: Mapping[NodeId, str], silent: frozenset[NodeId]
) -> Workshop:
    """Take a solved program with some code changed up to where it is diagnosed.

    What is `silent` promises nothing beyond its interface.
    """
    workshop = put_together(tools, solved, changed, silent)
    local = validate_region(workshop, workshop.recorder.ledger.graph.ids)
    validate_program(workshop)
    drop_contradicted_promises(workshop, local)
    return workshop


def put_together(
    tools: Tools, solved: Solved, changed: Mapping[NodeId, str], silent: frozenset[NodeId]
) -> Workshop:
    """Plan it, write the code, and assemble it, as a run does before anything is checked."""
    graph = _silenced(solved.plan.graph, silent)
    manifest = manifest_for(tools, _OPTIONS)
    recorder = Recorder.start(tools.store, RunId("staged"), solved.task, _now, manifest)
    asker = Asker(tools.model, recorder, Purse(_OPTIONS.budget, None), tools.patience)
    workshop = Workshop(solved.task, _OPTIONS, recorder, asker, tools.sandbox)
    recorder.record(BriefCommitted(brief=solved.plan.brief))
    recorder.record(GraphCommitted(graph=graph, planner=solved.plan.planner))
    form = solved.task.form
    scope = form.name if isinstance(form, ClassForm) else ""
    for node, source in {**solved.codes, **changed}.items():
        recorder.write_code(node, source, agent="author", scope="" if node == ROOT else scope)
    recorder.assemble()
    return workshop


def _silenced(graph: TaskGraph, silent: frozenset[NodeId]) -> TaskGraph:
    nodes = tuple(
        replace(node, contract=replace(node.contract, requires=(), ensures=(), examples=()))
        if node.id in silent and node.contract
        else node
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def _now() -> datetime:
    return datetime.now(UTC)
