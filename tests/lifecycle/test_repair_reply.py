"""A reply to a repair request holds a cause and code, or an answer that needs no code."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.repair_reply import (
    FaultElsewhere,
    RepairAnswer,
    RepairedCode,
    RepairReplyFormat,
)
from auditcoder.lifecycle.reply_splitter import SplitReplyFormat
from auditcoder.lifecycle.response_formats import FormatMismatch
from auditcoder.lifecycle.root_cause import RootCause, StatedCause
from tests.support.scripted_runs import caused, python

ADD = "def add(numbers):\n    return sum(numbers)\n"
CHANGED = "def add(numbers):\n    return 0\n"
FUNCTIONS = {"read": NodeId("S1"), "add": NodeId("S2"), "total": NodeId("S0")}


CONTRACT = Contract(name="add", params=(Param(name="numbers", type="list[int]"),), returns="int")
PLAN = frozenset({RootCause.DECOMPOSITION, RootCause.GLOBAL})


def shape(
    without_code: Collection[RootCause] = (), *, new_header: bool = False
) -> RepairReplyFormat:
    others = {name: node for name, node in FUNCTIONS.items() if name != "add"}
    present = {NodeId("S2"): ADD}
    code = SplitReplyFormat(
        {NodeId("S2"): CONTRACT}, others, present=present, new_header=new_header
    )
    return RepairReplyFormat(code, NodeId("S2"), CONTRACT, ADD, FUNCTIONS, without_code)


def read(
    text: str,
    finish: FinishReason = FinishReason.STOP,
    without_code: Collection[RootCause] = (),
    *,
    new_header: bool = False,
) -> RepairAnswer:
    reply = Reply(text=text, finish=finish, usage=Usage())
    return shape(without_code, new_header=new_header).read(reply)


def source(answer: RepairAnswer) -> str:
    assert isinstance(answer, RepairedCode)
    return answer.code.pieces[NodeId("S2")].source


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
    shape = RepairReplyFormat(code, NodeId("S2"), contract, ADD, functions)
    text = f"the fault is elsewhere: {name}, because it takes any"
    found = shape.read(Reply(text=text, finish=FinishReason.STOP, usage=Usage()))
    assert isinstance(found, FaultElsewhere)
    assert found.node == "S1"


def test_changed_code_is_no_claim() -> None:
    found = read(f"the fault is elsewhere: read, because of it\n{python(CHANGED)}")
    assert "return 0" in source(found)


@pytest.mark.parametrize(
    "before", ["", "Here is the code:\n", "cause:\n", "cause: ?\n", "cause: logic\n", "Cause\n"]
)
def test_a_missing_or_unclear_cause_is_no_reason_to_reject_code(before: str) -> None:
    found = read(before + python(ADD), without_code=PLAN)
    assert source(found) == ADD
    assert isinstance(found, RepairedCode)
    assert found.cause.kind is RootCause.IMPLEMENTATION


@given(st.text(st.characters(exclude_characters="`~")))
def test_no_prose_before_the_code_is_a_reason_to_reject_it(prose: str) -> None:
    found = read(f"{prose}\n{python(ADD)}", new_header=True)
    assert isinstance(found, FaultElsewhere) or source(found) == ADD


def test_the_cause_is_returned_with_the_code() -> None:
    found = read(caused("algorithm", "it sums", ADD))
    assert isinstance(found, RepairedCode)
    assert found.cause == StatedCause(RootCause.ALGORITHM, "it sums")


@pytest.mark.parametrize("code", ["", ADD])
@pytest.mark.parametrize("kind", [RootCause.DECOMPOSITION, RootCause.GLOBAL])
def test_a_fault_of_the_plan_needs_no_new_code(kind: RootCause, code: str) -> None:
    """Code that only repeats the present one is no code."""
    text = caused(kind.value, "it is two things", code)
    assert read(text, without_code=PLAN) == StatedCause(kind, "it is two things")


def test_new_code_is_worth_more_than_a_fault_of_the_plan() -> None:
    found = read(caused("global", "all is wrong", CHANGED), without_code=PLAN)
    assert source(found) == CHANGED
    assert isinstance(found, RepairedCode)
    assert found.cause.kind is RootCause.GLOBAL


def test_a_claim_comes_before_a_fault_of_the_plan() -> None:
    found = read(
        "cause: global, because both differ\nthe fault is elsewhere: read, because it splits",
        without_code=PLAN,
    )
    assert isinstance(found, FaultElsewhere)
    assert found.reason == "it splits"


@pytest.mark.parametrize("kind", list(RootCause))
def test_a_cause_alone_is_rejected_where_nothing_could_follow_from_it(kind: RootCause) -> None:
    without_code = PLAN - {kind}
    with pytest.raises(FormatMismatch, match="there is no ```python block"):
        read(caused(kind.value, "it is so"), without_code=without_code)


def test_a_cut_reply_states_no_fault_of_the_plan() -> None:
    with pytest.raises(FormatMismatch):
        read(caused("global", "it is"), FinishReason.LENGTH, without_code=PLAN)


class TestHeader:
    MORE = "def add(numbers, start):\n    return sum(numbers, start)\n"
    RENAMED = "def add(values):\n    return sum(values)\n"

    @pytest.mark.parametrize("kind", ["implementation", "algorithm", "interface"])
    def test_other_parameters_make_the_cause_the_interface(self, kind: str) -> None:
        found = read(caused(kind, "it needs a start", self.MORE), new_header=True)
        assert source(found) == self.MORE
        assert isinstance(found, RepairedCode)
        assert found.cause == StatedCause(RootCause.INTERFACE, "it needs a start")

    def test_other_parameters_are_rejected_where_the_interface_is_fixed(self) -> None:
        with pytest.raises(FormatMismatch, match=r"\(numbers, start\), not \(numbers\)"):
            read(caused("interface", "it needs a start", self.MORE))

    def test_other_names_are_a_slip_unless_the_cause_is_the_interface(self) -> None:
        with pytest.raises(FormatMismatch, match="begin with `cause: interface"):
            read(caused("implementation", "it is off", self.RENAMED), new_header=True)
        found = read(caused("interface", "they are values", self.RENAMED), new_header=True)
        assert source(found) == self.RENAMED


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
