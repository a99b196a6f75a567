"""A reply to a repair request holds code, or names another part that is at fault."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.repair_reply import FaultElsewhere, RepairReplyFormat
from auditcoder.lifecycle.reply_splitter import SplitReply, SplitReplyFormat
from auditcoder.lifecycle.response_formats import FormatMismatch
from tests.support.scripted_runs import python

ADD = "def add(numbers):\n    return sum(numbers)\n"
FUNCTIONS = {"read": NodeId("S1"), "add": NodeId("S2"), "total": NodeId("S0")}


def read(text: str, finish: FinishReason = FinishReason.STOP) -> SplitReply | FaultElsewhere:
    contract = Contract(name="add", params=(Param(name="numbers", type="list[int]"),))
    others = {name: node for name, node in FUNCTIONS.items() if name != "add"}
    code = SplitReplyFormat({NodeId("S2"): contract}, others, present={NodeId("S2"): ADD})
    shape = RepairReplyFormat(code, NodeId("S2"), ADD, FUNCTIONS)
    return shape.read(Reply(text=text, finish=finish, usage=Usage()))


@pytest.mark.parametrize(
    "text",
    [
        "the fault is elsewhere: S1, because it drops a word",
        "The fault is elsewhere: `read`, because it drops a word.",
        "**The fault is elsewhere:** `read(text)` because it drops a word",
        "The fault lies elsewhere - read: it drops a word",
        "I went through it.\n\nThe fault is elsewhere: Box.read, because it drops a word\n",
        "```\nthe fault is elsewhere: read, because it drops a word\n```",
        f"the fault is elsewhere: S1, because it drops a word\n\nIt stays:\n{python(ADD)}",
    ],
)
def test_a_claim_is_read_in_the_ways_that_models_write_it(text: str) -> None:
    found = read(text)
    assert isinstance(found, FaultElsewhere)
    assert (found.node, found.reason) == (NodeId("S1"), "it drops a word")


@pytest.mark.parametrize(
    ("text", "part", "reason"),
    [
        ("read, because `fare` passes 1; not 2", "S1 (`read`)", "`fare` passes 1; not 2"),
        ("`Box.read`, because it calls `add`.", "S1 (`Box.read`)", "it calls `add`"),
        ("**read**: `x` is **not** `y`", "S1 (`read`)", "`x` is **not** `y`"),
        ("S1 because -1 is lost", "S1", "-1 is lost"),
        ("read, because .5 is lost...", "S1 (`read`)", ".5 is lost"),
    ],
)
def test_the_name_and_the_reason_stay_as_the_model_wrote_them(
    text: str, part: str, reason: str
) -> None:
    found = read(f"the fault is elsewhere: {text}")
    assert isinstance(found, FaultElsewhere)
    assert (found.part, found.reason) == (part, reason)


def test_marks_around_the_whole_claim_are_no_part_of_its_reason() -> None:
    for mark in ("`", "**", "**`"):
        found = read(f"{mark}the fault is elsewhere: read, because `x` is 1.{mark[::-1]}")
        assert isinstance(found, FaultElsewhere)
        assert found.reason == "`x` is 1"


@pytest.mark.parametrize("name", ["Box._has", "self._has", "_has", "`_has`"])
def test_a_member_can_be_blamed_by_its_name_in_the_program_or_in_its_class(name: str) -> None:
    functions = {"open": NodeId("S1"), "split": NodeId("S2"), "Box._has": NodeId("S1")}
    contract = Contract(name="split")
    code = SplitReplyFormat({NodeId("S2"): contract}, {}, present={NodeId("S2"): ADD})
    shape = RepairReplyFormat(code, NodeId("S2"), ADD, functions)
    text = f"the fault is elsewhere: {name}, because it takes any"
    found = shape.read(Reply(text=text, finish=FinishReason.STOP, usage=Usage()))
    assert isinstance(found, FaultElsewhere)
    assert found.node == "S1"


def test_changed_code_is_no_claim() -> None:
    changed = "def add(numbers):\n    return 0\n"
    found = read(f"the fault is elsewhere: read, because of it\n{python(changed)}")
    assert isinstance(found, SplitReply)
    assert "return 0" in found.pieces[NodeId("S2")].source


def test_code_alone_is_read_as_before() -> None:
    assert isinstance(read(python(ADD)), SplitReply)


@pytest.mark.parametrize("name", ["add", "S2", "parse", "S9"])
def test_a_claim_about_itself_or_an_unknown_part_is_rejected_with_the_names(name: str) -> None:
    with pytest.raises(FormatMismatch, match="name one of read, total"):
        read(f"the fault is elsewhere: {name}, because I say so")


def test_a_cut_reply_makes_no_claim() -> None:
    with pytest.raises(FormatMismatch):
        read("the fault is elsewhere: read, because", FinishReason.LENGTH)


@given(st.text(max_size=200))
def test_any_reason_is_read(reason: str) -> None:
    found = read(f"the fault is elsewhere: read, because x{reason}".replace("`", "'"))
    assert isinstance(found, FaultElsewhere)
    assert found.reason
