"""The root-cause question, which is asked before anything is rewritten."""

import json

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes, Target
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle.root_cause import UNKNOWN_CAUSE, RootCause, analyse_cause, first_node
from auditcoder.lifecycle.run_context import RunContext
from tests.support.record_builders import RUN, S1, S1_1, S2, failing, standing_failures
from tests.support.records import take
from tests.support.run_contexts import open_run

ANSWER = json.dumps(
    {
        "cause": "algorithm",
        "explanation": "It sums, but must multiply.",
        "hints": ["multiply"],
        "cost": "",
        "signature": "",
    }
)


def failure(context: RunContext) -> Evidence:
    return context.recorder.history.evidence(standing_failures(context.recorder)[-1])


def test_the_answer_names_the_root_cause(store: SqliteStore) -> None:
    with open_run(failing(store), ANSWER) as (context, model):
        cause = analyse_cause(context, AtNode(node=S1_1), failure(context))
    assert (cause.cause, cause.hints) == (RootCause.ALGORITHM, ("multiply",))
    asked = model.asked[0].messages[-1].text
    assert "def f_S1_1(x: int) -> int:" in asked
    assert "not 2" in asked


def test_the_reply_is_recorded_under_the_node(store: SqliteStore) -> None:
    with open_run(failing(store), ANSWER) as (context, _):
        analyse_cause(context, AtNode(node=S1_1), failure(context))
    (reply,) = (e for e in take(store, RUN).events() if isinstance(e, ReplyRecorded))
    assert (reply.node, reply.phase) == (S1_1, Phase.PLANNING)


def test_without_a_usable_reply_the_implementation_is_assumed_wrong(store: SqliteStore) -> None:
    with open_run(failing(store), "no idea", "none at all") as (context, model):
        assert analyse_cause(context, AtNode(node=S1_1), failure(context)) == UNKNOWN_CAUSE
        assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("target", "node"),
    [
        (AtNode(node=S2), S2),
        (AtNodes(nodes=(S1_1, S2)), S1_1),
        (AtBranch(root=S1), S1),
        (AtInterface(provider=S1, consumer=S2), S1),
    ],
)
def test_every_target_has_a_first_node(target: Target, node: NodeId) -> None:
    assert first_node(target) == node
